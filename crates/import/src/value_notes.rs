//! What people type behind a number when they show it to others.

/// What such a note begins with, behind a blank.
const BEGINS: [&str; 6] = ["--", "//", "#", "<-", "←", "("];

/// The number in front of a note: `34117   -- this one holds it` → `34117`. All other values stay.
pub(crate) fn without(value: &str) -> &str {
    let end = value.bytes().position(|byte| !byte.is_ascii_digit());
    let Some((number, note)) = end.and_then(|end| value.split_at_checked(end)) else {
        return value;
    };
    let is_number = !number.is_empty() && note.starts_with(char::is_whitespace);
    let note = note.trim_start();
    match is_number && BEGINS.iter().any(|begin| note.starts_with(begin)) {
        true => number,
        false => value,
    }
}

/// A name in front of a note: `shop.orders  <-- this one` → `shop.orders`.
pub(crate) fn name_alone(name: &str) -> &str {
    without_behind(name, |_| true).trim()
}

/// The words in front of a note: `updating  <-- ours` → `updating`. `is_kept`: whether they are what stands there; of any
/// other value all stays.
pub(crate) fn without_behind(value: &str, is_kept: impl Fn(&str) -> bool) -> &str {
    // There are millions of states, and hardly one with a letter that a sign begins with.
    let begins = |byte: u8| {
        BEGINS
            .iter()
            .any(|sign| sign.as_bytes().first() == Some(&byte))
    };
    if !value.bytes().any(begins) {
        return value;
    }
    // A bracket is a part of many values.
    let signs = BEGINS.iter().filter(|sign| **sign != "(");
    let ends = signs.filter_map(|sign| {
        let mut places = value.match_indices(*sign).map(|(at, _)| at);
        places.find(|at| {
            let before = value.get(..*at).unwrap_or_default();
            before.ends_with(char::is_whitespace)
        })
    });
    let head = ends.min().and_then(|end| value.get(..end));
    let head = head.map(str::trim_end);
    head.filter(|head| is_kept(head)).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_behind_words_goes_where_they_are_what_stands_there() {
        let is_state = |text: &str| text == "updating";
        for note in [
            " -- Alice, hunter2",
            "  <--- ours",
            " // a",
            "\t# a",
            " \u{2190} a",
        ] {
            let value = format!("updating{note}");
            assert_eq!(without_behind(&value, is_state), "updating", "{value}");
        }
        for value in [
            "updating",
            "updating (x)",
            "updating--x",
            "",
            "-- x",
            "deleting -- x",
        ] {
            assert_eq!(without_behind(value, is_state), value);
        }
    }

    #[test]
    fn a_note_is_no_part_of_a_number() {
        for value in [
            "34117   -- this one holds it",
            "34117\t// here",
            "34117 # 🙂",
            "34117 <--- look",
            "34117 ←",
            "34117 (the dump)",
        ] {
            assert_eq!(without(value), "34117", "{value}");
        }
        for value in [
            "34117",
            "",
            "-- a",
            "34117-- a",
            "2026-11-21 06:25:01",
            "KILL 34117 -- a",
            "5 lock struct(s)",
        ] {
            assert_eq!(without(value), value);
        }
    }
}
