//! Folded stacks (Brendan Gregg's FlameGraph): `thread;outermost;…;innermost COUNT`, a line each.

use std::collections::BTreeMap;

use model::{FrameSide, Profile, ProfileCount, StackEnd, StackFrame, StackId, StackTable};

use super::groups::StackGroups;
use crate::escape;

/// Marks a kernel frame, as stackcollapse does.
const KERNEL_SUFFIX: &str = "_[k]";
/// What stands for a name that is empty, as perf prints it.
const UNKNOWN: &str = "[unknown]";
/// Image of kernel frames whose module is not known.
const KERNEL_IMAGE: &str = "[kernel]";
/// Frames of one line that are read.
const FRAMES_MAX: usize = 4096;
/// Samples of one file: numbers up to here are exact in every reader.
pub(crate) const SAMPLES_MAX: u64 = 1 << 53;

/// A line of a folded file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct FoldedError {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: FoldedProblem,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldedProblem {
    /// No blank: there is no count.
    #[error("no count at its end")]
    NoCount,
    /// The last word is no whole number from 0 on.
    #[error("the count is no whole number: {0}")]
    BadCount(String),
    /// The counts of the file up to here add up to more than 2^53.
    #[error("the counts add up to more than 2^53")]
    TooMany,
    /// More than 4096 frames.
    #[error("more than 4096 frames")]
    TooDeep,
}

/// A profile as folded lines, in the order of their bytes; `server_only` leaves out what is not
/// the server's.
pub fn folded_profile(profile: &Profile, book: &StackTable, server_only: bool) -> String {
    let rows = profile
        .counts
        .iter()
        .filter(|row| row.server || !server_only)
        .map(|row| (row.thread.as_str(), row.stack, row.count));
    folded(rows, book)
}

/// Groups of threads as folded lines, in the order of their bytes: counts are threads, summed over
/// all snapshots.
pub fn folded_stacks(groups: &StackGroups, book: &StackTable) -> String {
    let rows = groups.groups.iter().flat_map(|group| {
        group.threads.iter().map(|thread| {
            (
                thread.name.as_str(),
                group.stack,
                u64::from(thread.snapshots),
            )
        })
    });
    folded(rows, book)
}

fn folded<'a>(rows: impl Iterator<Item = (&'a str, StackId, u64)>, book: &StackTable) -> String {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for (thread, stack, count) in rows {
        if count == 0 {
            continue;
        }
        let mut line = element(thread);
        for frame in book.frames_of(stack).rev() {
            line.push(';');
            line.push_str(&element(&frame.name));
            if frame.side == FrameSide::Kernel {
                line.push_str(KERNEL_SUFFIX);
            }
        }
        let sum = lines.entry(line).or_default();
        *sum = sum.saturating_add(count);
    }
    lines
        .iter()
        .map(|(line, count)| format!("{line} {count}\n"))
        .collect()
}

/// A name as an element: a separator in it becomes a colon, as in stackcollapse; control
/// characters become visible.
fn element(name: &str) -> String {
    match name.trim() {
        "" => UNKNOWN.to_owned(),
        name => escape::terminal(name).replace(';', ":"),
    }
}

/// Reads folded lines back: the first element is the thread's name, `_[k]` marks kernel frames.
/// All of it counts as the server's, all stacks as complete. Empty lines are skipped.
///
/// # Errors
///
/// The first line that is no folded stack, with its number.
pub fn parse_folded(text: &str) -> Result<(StackTable, Vec<ProfileCount>), FoldedError> {
    let mut book = StackTable::default();
    let mut counts: BTreeMap<(StackId, String), u64> = BTreeMap::new();
    let mut left = SAMPLES_MAX;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let (thread, stack, count) =
            parse_line(line, &mut book, &mut left).map_err(|problem| FoldedError {
                line: index + 1,
                problem,
            })?;
        *counts.entry((stack, thread)).or_default() += count;
    }
    let counts = counts
        .into_iter()
        .map(|((stack, thread), count)| ProfileCount {
            stack,
            thread,
            server: true,
            count,
        })
        .collect();
    Ok((book, counts))
}

fn parse_line(
    line: &str,
    book: &mut StackTable,
    left: &mut u64,
) -> Result<(String, StackId, u64), FoldedProblem> {
    let (names, count) = line
        .rsplit_once(char::is_whitespace)
        .ok_or(FoldedProblem::NoCount)?;
    let count: u64 = count
        .parse()
        .map_err(|_| FoldedProblem::BadCount(escape::terminal(count)))?;
    *left = left.checked_sub(count).ok_or(FoldedProblem::TooMany)?;
    let mut elements = names.trim_end().split(';');
    let thread = elements.next().unwrap_or_default().to_owned();
    let elements: Vec<&str> = elements.collect();
    if elements.len() > FRAMES_MAX {
        return Err(FoldedProblem::TooDeep);
    }
    let frames = elements.iter().rev().map(|element| frame(element));
    Ok((thread, book.intern(frames, StackEnd::Complete), count))
}

fn frame(element: &str) -> StackFrame {
    let (name, side) = match element.strip_suffix(KERNEL_SUFFIX) {
        Some(name) => (name, FrameSide::Kernel),
        None => (element, FrameSide::User),
    };
    let name = if name.is_empty() { UNKNOWN } else { name };
    let image = match side {
        FrameSide::Kernel => KERNEL_IMAGE,
        FrameSide::User => "",
    };
    StackFrame {
        name: name.to_owned(),
        image: image.to_owned(),
        side,
        nameless: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{
        groups::group_snapshots,
        testing::{NASTY, kernel, snapshot, thread, user},
    };

    fn profile(counts: Vec<ProfileCount>) -> Profile {
        Profile {
            from: 0,
            to: 1000,
            hz: 99,
            processors: 2,
            counts,
            lost: 0,
        }
    }

    fn count(stack: StackId, thread: &str, server: bool, count: u64) -> ProfileCount {
        ProfileCount {
            stack,
            thread: thread.to_owned(),
            server,
            count,
        }
    }

    #[test]
    fn outermost_first_and_kernel_marked() {
        let mut book = StackTable::default();
        let stack = book.intern(
            [kernel("clear_page"), user("operator new"), user("main")],
            StackEnd::Complete,
        );
        let idle = book.intern([user("poll"), user("main")], StackEnd::Complete);
        let empty = book.intern([], StackEnd::Refused);
        let profile = profile(vec![
            count(stack, "mysqld", true, 3),
            count(idle, "mysqld", true, 4),
            count(stack, "mysqld", true, 2),
            count(idle, "cron", false, 1),
            count(empty, "", true, 1),
            count(idle, "none", true, 0),
        ]);
        assert_eq!(
            folded_profile(&profile, &book, false),
            "[unknown] 1\ncron;main;poll 1\nmysqld;main;operator new;clear_page_[k] 5\n\
             mysqld;main;poll 4\n"
        );
        assert!(!folded_profile(&profile, &book, true).contains("cron"));
    }

    #[test]
    fn threads_are_counts() {
        let mut book = StackTable::default();
        let stack = book.intern([user("poll"), user("main")], StackEnd::Complete);
        let one = snapshot(vec![thread(1, stack), thread(2, stack)]);
        let groups = group_snapshots(&[one.clone(), one], &book);
        assert_eq!(folded_stacks(&groups, &book), "mysqld;main;poll 4\n");
    }

    #[test]
    fn what_is_written_is_read() {
        let mut book = StackTable::default();
        let stack = book.intern(
            [
                kernel("k"),
                user("operator new"),
                user("a 12"),
                user("main"),
            ],
            StackEnd::Complete,
        );
        let nasty = book.intern([user(NASTY), kernel(NASTY), user("")], StackEnd::TooDeep);
        let written = folded_profile(
            &profile(vec![
                count(stack, "my thread", true, 3),
                count(nasty, NASTY, true, 7),
            ]),
            &book,
            false,
        );
        assert_eq!(written.lines().count(), 2);
        assert!(!written.replace('\n', "").chars().any(char::is_control));
        let (read_book, counts) = parse_folded(&written).unwrap();
        let again = folded_profile(&profile(counts.clone()), &read_book, false);
        assert_eq!(again, written);
        let plain = counts.iter().find(|row| row.thread == "my thread").unwrap();
        let names: Vec<_> = read_book
            .frames_of(plain.stack)
            .map(|frame| (frame.name.as_str(), frame.side))
            .collect();
        assert_eq!(
            names,
            [
                ("k", FrameSide::Kernel),
                ("operator new", FrameSide::User),
                ("a 12", FrameSide::User),
                ("main", FrameSide::User)
            ]
        );
    }

    #[test]
    fn errors_have_their_line() {
        let wrong = |text: &str| parse_folded(text).unwrap_err().to_string();
        assert_eq!(wrong("a;b 1\n\na;b\n"), "line 3: no count at its end");
        assert_eq!(wrong("a;b -1"), "line 1: the count is no whole number: -1");
        assert_eq!(
            wrong("a 1\nb \u{1b}[2J"),
            "line 2: the count is no whole number: \\x1b[2J"
        );
        assert_eq!(
            wrong("a 99999999999999999999999"),
            "line 1: the count is no whole number: 99999999999999999999999"
        );
        assert_eq!(
            wrong("a 9007199254740992\nb 0\na 1"),
            "line 3: the counts add up to more than 2^53"
        );
        assert_eq!(
            wrong(&format!("{} 1", "f;".repeat(5000))),
            "line 1: more than 4096 frames"
        );
        assert_eq!(parse_folded("").unwrap().1, []);
        assert_eq!(parse_folded("t 5\r\n").unwrap().1[0].count, 5);
    }
}
