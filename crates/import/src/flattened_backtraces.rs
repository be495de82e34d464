//! Backtraces whose line ends were lost: forms and trackers make one line of a whole thread.

use crate::line::has;
use crate::stack_lines;

/// Frames in a row by which a line is known as several.
const FRAMES_MIN: usize = 3;

/// A frame's number in a line.
struct Mark {
    at: usize,
    number: usize,
}

/// The line, or its parts: heads of threads and frames, and what stands in front of them.
pub(crate) fn parts(line: &str) -> impl Iterator<Item = &str> {
    let mut from = 0;
    let ends = breaks(line).into_iter().chain([line.len()]);
    ends.map(move |to| {
        let part = line.get(from..to).unwrap_or_default();
        from = to;
        part
    })
}

/// Where a part begins behind another.
fn breaks(line: &str) -> Vec<usize> {
    if !has(line, b'#') || !line.contains(" #") {
        return Vec::new();
    }
    let marks = in_order(marks(line));
    let behind = |nth: usize| marks.get(nth + 1).map_or(line.len(), |next| next.at);
    let frames = marks.iter().enumerate().filter(|(nth, mark)| {
        let text = line.get(mark.at..behind(*nth)).unwrap_or_default();
        stack_lines::frame_number(text.trim()).is_some_and(|(_, rest)| stack_lines::is_frame(rest))
    });
    if marks.len() < FRAMES_MIN || frames.count() * 2 < marks.len() {
        return Vec::new();
    }
    let last = marks.last().map_or(0, |mark| mark.at);
    let heads = line.match_indices("Thread ").map(|(at, _)| at);
    let mut breaks: Vec<usize> = heads
        .filter(|at| {
            *at < last
                && begins_word(line, *at)
                && line.get(*at..).is_some_and(stack_lines::is_thread_head)
        })
        .chain(marks.iter().map(|mark| mark.at))
        .filter(|at| *at > 0)
        .collect();
    breaks.sort_unstable();
    breaks
}

/// All that look like a frame's number.
fn marks(line: &str) -> Vec<Mark> {
    let all = line.match_indices('#').map(|(at, _)| at);
    all.filter(|at| begins_word(line, *at))
        .filter_map(|at| {
            let (number, _) = stack_lines::frame_number(line.get(at..)?)?;
            Some(Mark { at, number })
        })
        .collect()
}

/// Those of stacks, each of which counts up: what is between them is text of a frame.
fn in_order(marks: Vec<Mark>) -> Vec<Mark> {
    let mut stacks: Vec<Vec<Mark>> = Vec::new();
    for mark in marks {
        // A lone number in between was a part of a frame's text.
        let goes_on = |stack: &Vec<Mark>| {
            stack
                .last()
                .is_some_and(|last| last.number + 1 == mark.number)
        };
        if let [.., before, lone] = stacks.as_slice()
            && lone.len() == 1
            && !goes_on(lone)
            && goes_on(before)
        {
            stacks.pop();
        }
        match stacks.last_mut() {
            Some(stack)
                if stack
                    .last()
                    .is_some_and(|last| last.number + 1 == mark.number) =>
            {
                stack.push(mark);
            }
            Some(stack) if mark.number > 0 && stack.len() > 1 => {}
            _ => stacks.push(vec![mark]),
        }
    }
    let longest = stacks.iter().map(Vec::len).max().unwrap_or(0);
    if longest < FRAMES_MIN {
        return Vec::new();
    }
    stacks
        .into_iter()
        .filter(|stack| stack.len() > 1 || stack.iter().all(|mark| mark.number == 0))
        .flatten()
        .collect()
}

fn begins_word(line: &str, at: usize) -> bool {
    line.get(..at)
        .is_some_and(|before| before.is_empty() || before.ends_with([' ', '\t']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(line: &str) -> Vec<&str> {
        parts(line).map(str::trim_end).collect()
    }

    #[test]
    fn threads_in_one_line_are_lines() {
        let line = "so it is: Thread 902 (Thread 16376 (LWP 22113)): #3 mutex_spin_wait (file_name=0x8b \"a #1 b\", line=220) at sync0sync.c:565 #4 trx_allocate_for_mysql #5 ha_innobase::info #6 openfrm Thread 1 (LWP 5): #0 0x00 in select () from /lib/libc.so.6 #1 0x01 in main ()";
        assert_eq!(
            all(line),
            [
                "so it is:",
                "Thread 902 (Thread 16376 (LWP 22113)):",
                "#3 mutex_spin_wait (file_name=0x8b \"a #1 b\", line=220) at sync0sync.c:565",
                "#4 trx_allocate_for_mysql",
                "#5 ha_innobase::info",
                "#6 openfrm",
                "Thread 1 (LWP 5):",
                "#0 0x00 in select () from /lib/libc.so.6",
                "#1 0x01 in main ()",
            ]
        );
    }

    #[test]
    fn numbers_in_prose_are_none() {
        for line in [
            "",
            "it fixes #1 and #2 and #3 at once",
            "see #12 #13 #14",
            "#2  0x03 in c (p=1) at c.h:63#3 d (q=1) at d.h:9",
            "#0  0x01 in a () #1 more",
        ] {
            assert_eq!(all(line), [line]);
        }
    }
}
