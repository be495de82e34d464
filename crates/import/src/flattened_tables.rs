//! Tables whose line ends were lost: converters of web pages make blanks of them.
//!
//! ```text
//! mysql> show processlist; +----+------+ | Id | Info | +----+------+ | 1 | NULL | | 2 | SELECT 1 | +----+------+
//! ```

use std::borrow::Cow;

use crate::line::{Line, has_words};

/// Shortest rule, in bytes: `+---+`.
const RULE_BYTES_MIN: usize = 5;

/// The text has a rule that does not end its line.
pub(crate) fn may_be_in(text: &str) -> bool {
    has_words(text, "-+ |")
}

/// Lines that hold a rule and more are several: the rule, its rows, and what stands around them.
pub(crate) fn unfold(lines: &mut Vec<Line<'_>>) {
    let mut unfolded = Vec::with_capacity(lines.len());
    for line in lines.drain(..) {
        let parts = parts(line.trimmed());
        if parts.len() < 2 {
            unfolded.push(line);
            continue;
        }
        unfolded.extend(parts.into_iter().map(|text| Line {
            number: line.number,
            text: Cow::Owned(text.to_owned()),
        }));
    }
    *lines = unfolded;
}

/// The lines that a line was; nothing, or one, where it holds no rule beside rows.
fn parts(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    if !may_be_in(line) {
        return parts;
    }
    let mut columns = 0;
    let mut rest = line;
    while let Some((at, length)) = rule(rest) {
        let (before, behind) = rest.split_at(at);
        rows(before, columns, &mut parts);
        let (rule, behind) = behind.split_at(length);
        columns = rule.matches('+').count() - 1;
        parts.push(rule);
        rest = behind;
    }
    rows(rest, columns, &mut parts);
    parts
}

/// Where the next rule begins, and its length: a word of `+` and `-` alone.
fn rule(text: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(found) = text.get(from..)?.find("+-") {
        let at = from + found;
        let length = text.get(at..)?.find(|c| c != '+' && c != '-');
        let length = length.unwrap_or(text.len() - at);
        let is_word = text.get(..at)?.ends_with([' ', '\t']) || at == 0;
        let ends = text.get(at + length..)?;
        if is_word
            && length >= RULE_BYTES_MIN
            && text.get(at..at + length)?.ends_with("-+")
            && (ends.is_empty() || ends.starts_with([' ', '\t']))
        {
            return Some((at, length));
        }
        from = at + length;
    }
    None
}

/// Rows of so many cells each, or what else is between rules.
fn rows<'a>(text: &'a str, columns: usize, parts: &mut Vec<&'a str>) {
    let mut rest = text.trim_ascii();
    while columns > 0 && rest.starts_with('|') {
        let bars = rest.match_indices('|').map(|(at, _)| at + 1);
        let Some(end) = bars.clone().nth(columns) else {
            break;
        };
        let (row, behind) = rest.split_at(end);
        let next = behind.trim_ascii_start();
        // A cell with a bar in it: where the row ends is not known.
        if !(next.is_empty() || (next.starts_with('|') && next.len() < behind.len())) {
            break;
        }
        parts.push(row);
        rest = next;
    }
    if !rest.is_empty() {
        parts.push(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn a_table_in_one_line_has_its_rows() {
        let line = "mysql> show processlist; +----+---+------+ | Id |...| Info | +----+---+------+ | 1 |...| | | 2 |...| a-+b +-c | +----+---+------+ 2 rows in set";
        let rule = "+----+---+------+";
        assert_eq!(
            parts(line),
            [
                "mysql> show processlist;",
                rule,
                "| Id |...| Info |",
                rule,
                "| 1 |...| |",
                "| 2 |...| a-+b +-c |",
                rule,
                "2 rows in set",
            ]
        );
        assert_eq!(parts("+---+ | 1 |"), ["+---+", "| 1 |"]);
    }

    #[test]
    fn a_cell_with_a_bar_leaves_the_rest_in_one_line() {
        assert_eq!(
            parts("+---+---+ | 1 | a | | 2 | b || c | | 3 | d | +---+---+"),
            [
                "+---+---+",
                "| 1 | a |",
                "| 2 | b || c | | 3 | d |",
                "+---+---+"
            ]
        );
    }

    #[test]
    fn other_lines_are_left() {
        for line in ["", "+----+---+", "| 1 | a |", "a -+ | b", "x+---+ | 1 |"] {
            assert!(parts(line).len() < 2, "{line}");
        }
    }
}
