//! Rows of a list of clients that a mail or a web page wrapped in front of their last columns.

use std::borrow::Cow;

use crate::formats::processlist;
use crate::line::Line;
use crate::tables;

/// Lines that one row is put together of, at the most.
const LINES_MAX: usize = 30;

/// Bytes of one row that more is added to.
const BYTES_MAX: usize = 16 << 10;

/// Columns of the list, and those behind the command's.
const COLUMNS: usize = 8;
const TO_COMMAND: usize = 5;

/// Puts rows together that begin as one of the list does and do not reach its last column.
pub(crate) fn join(lines: &mut Vec<Line<'_>>) {
    if !lines.iter().any(|line| is_row_start(line.trimmed())) {
        return;
    }
    let mut joined = Vec::with_capacity(lines.len());
    let mut rest = lines.as_slice();
    while let Some((line, behind)) = rest.split_first() {
        let (line, taken) = match is_row_start(line.trimmed()) {
            true => row(line, behind).unwrap_or_else(|| (line.clone(), 0)),
            false => (line.clone(), 0),
        };
        joined.push(line);
        rest = behind.get(taken..).unwrap_or_default();
    }
    *lines = joined;
}

/// `| 2073 | app | localhost | shop | Query |`: up to the command or a little further.
fn is_row_start(text: &str) -> bool {
    let id = text.strip_prefix('|').map(str::trim_ascii_start);
    let is_numbered = id.is_some_and(|id| id.starts_with(|c: char| c == '+' || c.is_ascii_digit()));
    if !is_numbered || memchr::memchr_iter(b'|', text.as_bytes()).count() > COLUMNS + 1 {
        return false;
    }
    if !text.contains(" | ") {
        return false;
    }
    let cells = tables::cells(text);
    (TO_COMMAND..COLUMNS).contains(&cells.len())
        && cells.first().is_some_and(|id| id.parse::<u64>().is_ok())
        && cells
            .get(4)
            .is_some_and(|command| processlist::is_command(command))
}

/// The row, and how many of the lines behind belong to it: those to the bar at its end, or, where
/// there is none, to its last column. Nothing where they do not make one.
fn row<'a>(begin: &Line<'a>, behind: &[Line<'a>]) -> Option<(Line<'a>, usize)> {
    let mut text = begin.text.to_string();
    let mut whole = None;
    for (taken, line) in (1..).zip(behind.iter().take(LINES_MAX)) {
        let part = line.trimmed();
        if part.is_empty() || part.starts_with(['|', '+']) || text.len() > BYTES_MAX {
            break;
        }
        text.push(' ');
        text.push_str(part);
        if whole.is_none() && processlist::is_processlist_row(&tables::cells(text.trim())) {
            whole = Some((text.len(), taken));
        }
        if whole.is_some() && part.ends_with('|') {
            whole = Some((text.len(), taken));
            break;
        }
    }
    let (length, taken) = whole?;
    text.truncate(length);
    let row = Line {
        number: begin.number,
        text: Cow::Owned(text),
    };
    Some((row, taken))
}

#[cfg(test)]
mod tests {
    use crate::clean;

    fn texts(text: &str) -> Vec<(usize, String)> {
        let lines = clean::lines(text);
        lines
            .iter()
            .map(|line| (line.number, line.text.to_string()))
            .collect()
    }

    #[test]
    fn rows_are_whole_again() {
        let text = "| 2073 | app | localhost | shop | Query |\n4 | Copying to tmp table | SELECT a.*,\nMAX(b) AS c FROM d |\n\
            | 2078 | app | localhost | shop | Query | 5 | Sending\ndata | SELECT\nprose\n";
        let whole = [
            (
                1,
                "| 2073 | app | localhost | shop | Query | 4 | Copying to tmp table | SELECT a.*, MAX(b) AS c FROM d |",
            ),
            (
                4,
                "| 2078 | app | localhost | shop | Query | 5 | Sending data | SELECT",
            ),
            (6, "prose"),
            (7, ""),
        ];
        assert_eq!(texts(text), whole.map(|(at, text)| (at, text.to_owned())));
    }

    #[test]
    fn what_makes_no_row_is_left() {
        for text in [
            "| 2073 | app | localhost | shop | Query |\nand so on\nand on",
            "| 2073 | app | localhost | shop | Query |\n| 2074 | app |",
            "| 7 | app | web1 | shop | Query | 12 | update | UPDATE t |\nprose | a",
        ] {
            let lines: Vec<String> = texts(text).into_iter().map(|(_, text)| text).collect();
            assert_eq!(lines.join("\n"), text);
        }
    }
}
