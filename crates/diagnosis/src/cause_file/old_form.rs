//! Signs in the form of before functions: a `kind`, and keys of its own. For one release they are read as the call that
//! means the same.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Reader;
use crate::embedded;

/// The kinds and their keys, from `old-kinds.toml`.
#[derive(Deserialize)]
struct OldForm {
    kind: BTreeMap<String, OldKind>,
    /// Keys whose argument has another name.
    renamed: BTreeMap<String, String>,
    /// Values that are now a flag, or nothing: key, value, flag.
    flags: Vec<[String; 3]>,
}

#[derive(Deserialize)]
struct OldKind {
    /// What it counted, with the function that does so.
    counting: Vec<[String; 2]>,
    keys: Vec<String>,
}

static OLD_FORM: LazyLock<OldForm> =
    LazyLock::new(|| embedded::read(include_str!("../../old-kinds.toml")));

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
    let Some(OldKind { counting, keys }) = OLD_FORM.kind.get(name) else {
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
    let given = sign.remove("counting");
    let word = given.as_ref().and_then(|word| word.get_ref().as_str());
    let mut counted = counting.iter();
    let Some([_, function]) = counted.find(|[old, _]| Some(old.as_str()) == word) else {
        let words: Vec<&str> = counting.iter().map(|[old, _]| old.as_str()).collect();
        let problem = format!("must be one of {} for this kind", words.join(", "));
        return note(given.as_ref().unwrap_or(&kind), "counting", problem);
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
    for key in keys {
        let Some(value) = sign.remove(key.as_str()) else {
            continue;
        };
        let argument = OLD_FORM.renamed.get(key).unwrap_or(key);
        let text = written(value.get_ref());
        let mut flags = OLD_FORM.flags.iter();
        match flags.find(|[old, is, _]| old == key && *is == text) {
            Some([_, _, flag]) if flag.is_empty() => {}
            Some([_, _, flag]) => arguments.push(flag.clone()),
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
