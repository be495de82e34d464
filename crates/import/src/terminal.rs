//! Tables in boxes that a terminal broke at its width: each row is on as many lines as the border above it.

use std::borrow::Cow;

use crate::line::Line;

/// Lines that one row is on, at the most.
const LINES_MAX: usize = 12;

/// Narrower is no terminal, in characters.
const WIDTH_MIN: usize = 30;

/// There is a border that goes on in the next line.
pub(crate) fn may_be_in(lines: &[Line<'_>]) -> bool {
    let mut pairs = lines.iter().zip(lines.iter().skip(1));
    pairs.any(|(line, next)| {
        let is_open = line.text.ends_with('-') && next.text.starts_with(['-', '+']);
        is_open || (line.text.ends_with('+') && next.text.starts_with('-'))
    })
}

/// Puts the rows below such a border together; all others stay.
pub(crate) fn join(lines: &mut Vec<Line<'_>>) {
    let mut joined = Vec::with_capacity(lines.len());
    let mut rest = lines.as_slice();
    while let Some((line, behind)) = rest.split_first() {
        match broken(rest) {
            None => {
                joined.push(line.clone());
                rest = behind;
            }
            Some((count, width)) => {
                while let Some(row) = row(rest, count, width) {
                    joined.push(row);
                    rest = rest.get(count..).unwrap_or_default();
                }
            }
        }
    }
    *lines = joined;
}

fn is_border(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'+' | b'-'))
}

/// On how many lines the border is that begins here, and their width; nothing where it is on one.
fn broken(lines: &[Line<'_>]) -> Option<(usize, usize)> {
    let first = lines.first()?.text.trim_ascii_end();
    if !first.starts_with("+-") || !is_border(first) || first.len() < WIDTH_MIN {
        return None;
    }
    let mut count = 0_usize;
    for line in lines.iter().take(LINES_MAX) {
        let part = line.text.trim_ascii_end();
        let is_next = count == 0 || !part.starts_with("+-") || part.len() < first.len();
        if !is_border(part) || !is_next || part.len() > first.len() {
            break;
        }
        count += 1;
        if part.len() < first.len() {
            break;
        }
    }
    let last = lines.get(count.checked_sub(1)?)?.text.trim_ascii_end();
    // A row's lines follow, or it is no border of a table.
    let behind = lines.get(count).map_or("", |line| line.text.as_ref());
    (count > 1 && last.ends_with('+') && behind.starts_with('|')).then_some((count, first.len()))
}

/// The row, or the border, that begins here.
fn row<'a>(lines: &[Line<'a>], count: usize, width: usize) -> Option<Line<'a>> {
    let begin = lines.first()?;
    if !begin.text.starts_with(['|', '+']) {
        return None;
    }
    let mut text = String::new();
    for line in lines.get(..count)? {
        let missing = width.saturating_sub(line.text.chars().count());
        text.push_str(&line.text);
        text.extend(std::iter::repeat_n(' ', missing));
    }
    let text = text.trim_ascii_end();
    text.ends_with(['|', '+']).then(|| Line {
        number: begin.number,
        text: Cow::Owned(text.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use crate::clean;

    fn texts(text: &str) -> Vec<String> {
        let lines = clean::lines(text);
        lines.iter().map(|line| line.text.to_string()).collect()
    }

    #[test]
    fn rows_are_whole_again() {
        let text = "\
+----+-------+------------------
----+--------+
| Id | User  | State
    | Info   |
+----+-------+------------------
----+--------+
| 12 | agent | Waiting for table
 flush | SELECT |
+----+-------+------------------
----+--------+
2 rows in set (0.00 sec)";
        assert_eq!(
            texts(text),
            [
                "+----+-------+----------------------+--------+",
                "| Id | User  | State                | Info   |",
                "+----+-------+----------------------+--------+",
                "| 12 | agent | Waiting for table flush | SELECT |",
                "+----+-------+----------------------+--------+",
                "2 rows in set (0.00 sec)",
            ]
        );
    }

    #[test]
    fn other_borders_are_left() {
        for text in [
            "+----+-------+------------------------------+\n| Id | User | Info |\n+----+-------+------------------------------+\n| 1 | a | b |",
            "+---------------------------------------------\n+-----\ntext",
            "+-----------------------------------------\n------------------------------+\nprose",
        ] {
            assert_eq!(texts(text).join("\n"), text);
        }
    }
}
