//! Lines of the error log and of InnoDB's status that an editor or a mail broke in two or three.

use std::borrow::Cow;

use crate::formats::server_text;
use crate::line::{Line, has_words};

/// Messages that are looked at by what they say at their end, by words near their begin and how they end. Sources:
/// `buf0flu.cc` of MySQL 5.7 and MariaDB, of MySQL 8.0; `sync0arr.c` of 5.0 to 5.5, `sync0arr.cc`.
const MESSAGES: [(&str, End); 6] = [
    (
        "InnoDB: page_cleaner: 1000ms",
        End::Text("during the time.)"),
    ),
    ("[InnoDB] Page cleaner took", End::Text(" pages")),
    (" has waited at ", End::Text(" semaphore:")),
    ("-latch at 0x", End::Place),
    ("Mutex at 0x", End::Place),
    (" has reserved it in", End::Text(" exclusive")),
];

/// How a message ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Text(&'static str),
    /// A line of a source file, with what may stand behind it.
    Place,
}

impl End {
    fn is_in(self, text: &str) -> bool {
        match self {
            Self::Text(end) => text.contains(end),
            Self::Place => has_place(text),
        }
    }

    /// The text reaches it with its last line.
    fn is_reached(self, text: &str) -> bool {
        match self {
            Self::Text(end) => text.ends_with(end),
            Self::Place => has_place(text),
        }
    }
}

/// `created in file trx0purge.c line 214`.
fn has_place(text: &str) -> bool {
    let behind = text.split_once(" line ").map(|(_, behind)| behind);
    behind.is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit()))
}

/// Lines that one message is put together of, at the most.
const LINES_MAX: usize = 3;

/// Longest message, in bytes.
const BYTES_MAX: usize = 400;

/// The text has a word of such a message.
pub(crate) fn may_be_in(text: &str) -> bool {
    has_words(text, "cleaner") || has_words(text, " has waited at ")
}

/// Puts messages together whose end is on one of the next lines; all others stay.
pub(crate) fn join(lines: &mut Vec<Line<'_>>) {
    if !lines.iter().any(|line| message_end(&line.text).is_some()) {
        return;
    }
    let mut joined = Vec::with_capacity(lines.len());
    let mut rest = lines.as_slice();
    while let Some((line, behind)) = rest.split_first() {
        let whole = message_end(&line.text).and_then(|end| message(line, behind, end));
        let (line, taken) = whole.unwrap_or_else(|| (line.clone(), 0));
        joined.push(line);
        rest = behind.get(taken..).unwrap_or_default();
    }
    *lines = joined;
}

/// What a message ends with that begins on the line and does not end there.
fn message_end(line: &str) -> Option<End> {
    let (_, end) = MESSAGES.iter().find(|(begin, _)| line.contains(begin))?;
    (line.len() < BYTES_MAX && !end.is_in(line)).then_some(*end)
}

/// The message, and how many of the lines behind belong to it.
fn message<'a>(begin: &Line<'a>, behind: &[Line<'a>], end: End) -> Option<(Line<'a>, usize)> {
    let mut text = begin.trimmed().to_owned();
    for (taken, line) in (1..LINES_MAX).zip(behind) {
        let part = line.trimmed();
        if part.is_empty() || part.len() > BYTES_MAX || server_text::is_server_line(part) {
            return None;
        }
        text.push(' ');
        text.push_str(part);
        if end.is_reached(&text) {
            let whole = Line {
                number: begin.number,
                text: Cow::Owned(text),
            };
            return Some((whole, taken));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::clean;

    fn texts(text: &str) -> Vec<(usize, String)> {
        let lines = clean::lines(text);
        let text = |line: &crate::line::Line<'_>| (line.number, line.text.to_string());
        lines.iter().map(text).collect()
    }

    #[test]
    fn messages_are_whole_again() {
        let text = "\t[Note]\u{a0}InnoDB:\u{a0}page_cleaner:\u{a0}1000ms\u{a0}intended\u{a0}loop took\u{a0}9000ms.\u{a0}\n\
            \t\tThe\u{a0}settings might not be optimal.\n(flushed=12\u{a0}and\u{a0}evicted=0,\u{a0}during\u{a0}the\u{a0}time.)\u{a0}\t\n\
            2026-11-21T06:25:01Z 0 [Warning] [MY-011953] [InnoDB] Page cleaner took\n9000ms to flush 20 and evict 0 pages\nend";
        assert_eq!(
            texts(text),
            [
                (
                    1,
                    "[Note] InnoDB: page_cleaner: 1000ms intended loop took 9000ms. The settings might not be optimal. (flushed=12 and evicted=0, during the time.)"
                ),
                (
                    4,
                    "2026-11-21T06:25:01Z 0 [Warning] [MY-011953] [InnoDB] Page cleaner took 9000ms to flush 20 and evict 0 pages"
                ),
                (6, "end"),
            ]
            .map(|(number, text)| (number, text.to_owned()))
        );
    }

    #[test]
    fn waits_for_latches_are_whole_again() {
        let text = "--Thread 1164536160 has waited at row0vers.c line 107\nfor 813.00 seconds the semaphore:\n\
            S-lock on RW-latch at 0x2aaabdefecd8 created in file\ntrx0purge.c line 214\n\
            a writer (thread id 11408) has reserved it in\nmode  wait exclusive\nnumber of readers 1, waiters flag 1";
        let whole: Vec<String> = texts(text).into_iter().map(|(_, text)| text).collect();
        assert_eq!(
            whole,
            [
                "--Thread 1164536160 has waited at row0vers.c line 107 for 813.00 seconds the semaphore:",
                "S-lock on RW-latch at 0x2aaabdefecd8 created in file trx0purge.c line 214",
                "a writer (thread id 11408) has reserved it in mode  wait exclusive",
                "number of readers 1, waiters flag 1",
            ]
        );
    }

    #[test]
    fn what_makes_no_message_stays() {
        let begin = "[Note] InnoDB: page_cleaner: 1000ms intended loop took 9000ms.";
        for behind in [
            "and so on",
            "\nThe settings might not be optimal. (flushed=1 and evicted=0, during the time.)",
            "InnoDB: page_cleaner: 1000ms intended loop took 8000ms. The settings might not be optimal. (flushed=1 and evicted=0, during the time.)",
            "1\n2\n3\n4 during the time.)",
        ] {
            let text = format!("{begin}\n{behind}");
            let lines: Vec<String> = texts(&text).into_iter().map(|(_, text)| text).collect();
            assert_eq!(lines.join("\n"), text);
        }
    }
}
