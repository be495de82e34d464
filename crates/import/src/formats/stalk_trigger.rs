//! Why pt-stalk collected.

use lexicon::{Kind, Lexicon};

use crate::format::{Format, Group, Recogniser, sign};
use crate::line::Line;
use crate::read::Read;

pub(crate) static FORMAT: Format = Format {
    id: "stalk_trigger",
    group: Group::Server,
    name: "pt-stalk trigger",
    printed_by: "pt-stalk",
    content: "why it collected",
    recognisers: &[Recogniser::new(120, "", sign::EQUAL, |at| {
        at.text.contains(" pt-stalk ran with --") || at.text.contains(" Check results: ")
    })],
    read,
    ..Format::NONE
};

/// Why pt-stalk collected: `Check results: status(Threads_running)=30, matched=yes, cycles_true=5`.
fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    for line in lines {
        let Some((_, check)) = line.trimmed().split_once(" Check results: ") else {
            continue;
        };
        if let Some(check) = printed(check) {
            read.brought.clone_from(&check);
            read.trigger = Some(format!("pt-stalk: {check}"));
        }
    }
    if read.trigger.is_none() {
        read.skipped
            .push((0, "pt-stalk collected at once, without a trigger".into()));
    }
    read
}

/// What our own export has for the function: behind it stands what was noticed, in words.
const OWN: &str = "freezeframe(";

/// Of a line what pt-stalk prints: `function(variable)=value`, and then pairs. Somebody may have written behind it.
fn printed(check: &str) -> Option<String> {
    const CHARS_MAX: usize = 200;
    let is_pair = |pair: &&str| {
        ["matched=", "cycles_true="]
            .iter()
            .filter_map(|key| pair.strip_prefix(key))
            .any(|value| value.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    };
    let check: String = check.chars().take(CHARS_MAX).collect();
    if check.starts_with(OWN) {
        return Some(check);
    }
    let mut parts = check.split(", ");
    let (call, value) = parts.next()?.rsplit_once('=')?;
    let is_name = |name: &str| !name.contains(|c: char| c.is_whitespace() || "()=".contains(c));
    let named = call.strip_suffix(')').and_then(|call| call.split_once('('));
    let is_call = named.is_some_and(|(function, variable)| is_name(function) && is_name(variable));
    // Some versions print the status variable alone.
    let is_status = || Lexicon::get().lookup(Kind::Status, call).is_some();
    let is_number = value
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b".-".contains(&byte));
    if !is_number || !(is_call || is_status()) {
        return None;
    }
    let pairs: String = parts
        .take_while(is_pair)
        .map(|pair| format!(", {pair}"))
        .collect();
    Some(format!("{call}={value}{pairs}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn what_made_pt_stalk_collect() {
        let read = read(&clean::lines(
            "2026_11_21_12_55_42 Check results: status(Threads_running)=30, matched=yes, cycles_true=5\n2026_11_21_12_55_42 pt-stalk ran with --function=status\n",
        ));
        let words = "status(Threads_running)=30, matched=yes, cycles_true=5";
        assert_eq!(read.trigger, Some(format!("pt-stalk: {words}")));
    }

    #[test]
    fn what_others_write_there_is_no_trigger() {
        let check = "status(Threads_running)=30, matched=yes";
        for (line, trigger) in [
            (
                format!("x Check results: {check}"),
                Some(format!("pt-stalk: {check}")),
            ),
            (
                format!("x Check results: {check}, hunter2"),
                Some(format!("pt-stalk: {check}")),
            ),
            (
                "x Check results: freezeframe(query-probe)=no answer, for 2 s, matched=yes"
                    .to_owned(),
                Some(
                    "pt-stalk: freezeframe(query-probe)=no answer, for 2 s, matched=yes".to_owned(),
                ),
            ),
            (
                format!("x Check results: {check} of hunter2"),
                Some("pt-stalk: status(Threads_running)=30".to_owned()),
            ),
            (
                "x Check results: Threads_running=30, matched=no, cycles_true=0".to_owned(),
                Some("pt-stalk: Threads_running=30, matched=no, cycles_true=0".to_owned()),
            ),
            ("x Check results: acme_pin=4711".to_owned(), None),
            ("x Check results: her password is hunter2".to_owned(), None),
            ("x Check results: password=hunter2".to_owned(), None),
            ("x Check results: status(her password)=30".to_owned(), None),
            ("x Check results: status(a)=hunter2".to_owned(), None),
        ] {
            assert_eq!(read(&clean::lines(&line)).trigger, trigger, "{line}");
        }
    }
}
