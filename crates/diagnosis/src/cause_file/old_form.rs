//! Signs in the form of before functions: a `kind`, and keys of its own. For one release they are read as the call that
//! means the same.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Reader;

/// Kinds, with what they counted and the function that does so, and with their keys.
const KINDS: [(&str, &str, &str); 8] = [
    (
        "processlist",
        "sessions=sessions share=sessions_share",
        "class state command user statement min_sessions",
    ),
    (
        "stacks",
        "threads=threads share=threads_share",
        "frames direct state thread",
    ),
    (
        "profile",
        "share=profile_share cpus=profile_cpus",
        "functions under where side of min_samples",
    ),
    (
        "lock",
        "waiting=lock_waiting waiters=lock_waiters share=lock_share per_second=lock_rate",
        "lock caller holder",
    ),
    (
        "statements",
        "share=statements_share time=statements_time per_second=statements_rate",
        "class statement way min_statements",
    ),
    (
        "semaphores",
        "waits=latch_waits share=latch_waits_share seconds=latch_wait_seconds",
        "lock lock_kind asked_at created_at last_locked_at holder_query min_seconds min_waits",
    ),
    ("log", "lines=log_lines largest=log_largest", "log line"),
    (
        "innodb",
        "lines=innodb_lines largest=innodb_largest",
        "section line",
    ),
];

/// Keys whose argument has another name.
const RENAMED: [(&str, &str); 4] = [
    ("functions", "function"),
    ("frames", "stack"),
    ("where", "self"),
    ("of", "machine"),
];

/// Values that are now a flag, or nothing.
const FLAGS: [(&str, &str, &str); 7] = [
    ("where", "'self'", "self"),
    ("where", "'anywhere'", ""),
    ("of", "'machine'", "machine"),
    ("of", "'server'", ""),
    ("side", "'any'", ""),
    ("direct", "true", "direct"),
    ("direct", "false", ""),
];

/// A key of the old form, for mistakes in its value.
pub(super) struct OldKey {
    /// Where the sign's kind stands.
    pub(super) sign: usize,
    /// Empty for the kind itself.
    pub(super) argument: String,
    pub(super) key: String,
    pub(super) at: usize,
}

/// Writes all signs of a file anew that have a kind.
pub(super) fn translate(reader: &Reader, file: &mut DeTable) {
    for list in ["witness", "against"] {
        let Some(DeValue::Array(signs)) = file.get_mut(list).map(Spanned::get_mut) else {
            continue;
        };
        for sign in signs.iter_mut() {
            if let DeValue::Table(sign) = sign.get_mut() {
                sign_of_kind(reader, sign);
            }
        }
    }
}

fn sign_of_kind(reader: &Reader, sign: &mut DeTable) {
    let Some(kind) = sign.remove("kind") else {
        return;
    };
    let place = kind.span();
    let note = |at: &Spanned<DeValue>, key, problem: String| {
        reader.note(reader.error(at.span().start, Some(key), problem));
        // What was not translated is not told again as missing.
        reader.taken_out.borrow_mut().push("measure".to_owned());
    };
    let name = match kind.get_ref() {
        DeValue::String(name) if matches!(name.as_ref(), "measure" | "fact") => return,
        DeValue::String(name) => name.as_ref(),
        _ => "",
    };
    let Some((_, counted, keys)) = KINDS.iter().find(|(known, ..)| *known == name) else {
        let problem = "is of the old form, and none of its kinds: write a function in measure";
        return note(&kind, "kind", problem.to_owned());
    };
    if let Some(measure) = sign.get("measure") {
        return note(
            measure,
            "measure",
            format!("cannot stand beside kind = {name:?}"),
        );
    }
    let counting = sign.remove("counting");
    let word = counting.as_ref().and_then(|word| word.get_ref().as_str());
    let counted = || counted.split(' ').filter_map(|one| one.split_once('='));
    let Some((_, function)) = counted().find(|(old, _)| Some(*old) == word) else {
        let words: Vec<&str> = counted().map(|(old, _)| old).collect();
        let problem = format!("must be one of {} for this kind", words.join(", "));
        return note(counting.as_ref().unwrap_or(&kind), "counting", problem);
    };
    let mut arguments: Vec<String> = Vec::new();
    let remember = |argument: &str, key: &str, value: &Spanned<DeValue>| {
        reader.old_keys.borrow_mut().push(OldKey {
            sign: place.start,
            argument: argument.to_owned(),
            key: key.to_owned(),
            at: value.span().start,
        });
    };
    remember("", "kind", &kind);
    for key in keys.split(' ') {
        let Some(value) = sign.remove(key) else {
            continue;
        };
        let renamed = RENAMED.iter().find(|(old, _)| *old == key);
        let argument = renamed.map_or(key, |(_, new)| new);
        let text = written(value.get_ref());
        let mut flags = FLAGS.iter();
        match flags.find(|(old, is, _)| *old == key && *is == text) {
            Some((_, _, "")) => {}
            Some((_, _, flag)) => arguments.push((*flag).to_owned()),
            None => arguments.push(format!("{argument} = {text}")),
        }
        remember(argument, key, &value);
    }
    let call = format!("{function}({})", arguments.join(", "));
    sign.insert(
        Spanned::new(place.clone(), "measure".into()),
        Spanned::new(place, DeValue::String(call.into())),
    );
}

/// A value as an expression has it.
fn written(value: &DeValue) -> String {
    match value {
        DeValue::String(text) => format!("'{}'", text.replace('\'', "''")),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(is) => is.to_string(),
        DeValue::Array(list) => {
            let texts: Vec<String> = list.iter().map(|one| written(one.get_ref())).collect();
            format!("[{}]", texts.join(", "))
        }
        DeValue::Datetime(_) | DeValue::Table(_) => "''".to_owned(),
    }
}
