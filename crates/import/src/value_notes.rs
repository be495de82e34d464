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

#[cfg(test)]
mod tests {
    use super::*;

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
