//! Stacks of samples: perf script, and folded lines.

use std::collections::HashMap;

use lexicon::{Kind, Lexicon};
use model::{FrameSide, StackFrame};

use crate::format::{Format, Gap, Group, Recogniser, sign};
use crate::format::{Next, Open};
use crate::line::Line;
use crate::read::listing::is_server;
use crate::read::{FRAMES_MAX, Listing, Read, Row, frame};
use crate::symbol;

pub(crate) static FOLDED: Format = Format {
    id: "folded",
    group: Group::Stacks,
    name: "folded stacks",
    printed_by: "stackcollapse scripts, profilers that write for flame graphs",
    content: "samples by whole stack",
    recognisers: &[Recogniser::new(
        200,
        "",
        sign::SEMICOLON | sign::DIGIT,
        |at| is_folded(at.text, at.next),
    )],
    continues: |_, next| next.own.is_none() && folded_stack(next.text).is_some(),
    read: folded,
    ..Format::NONE
};

pub(crate) static PERF_SCRIPT: Format = Format {
    id: "perf_script",
    group: Group::Stacks,
    name: "perf script output",
    printed_by: "`perf script`",
    content: "samples by whole stack",
    recognisers: &[Recogniser::new(490, "", sign::COLON, |at| {
        is_perf_script(at.line, at.text, at.next)
    })],
    continues: is_indented,
    absorbs: is_indented,
    gap: Gap::Lines(4),
    read,
    ..Format::NONE
};

/// Whether it or one of those behind it names functions.
fn is_folded(text: &str, next: &[&str]) -> bool {
    let next = next.iter().map(|line| line.trim());
    let mut stacks = std::iter::once(text).chain(next).map_while(folded_stack);
    stacks.any(has_functions)
}

/// The stack of `a;b;c 12`.
fn folded_stack(text: &str) -> Option<&str> {
    let (stack, count) = text.rsplit_once(' ')?;
    let is_folded = (1..=12).contains(&count.len())
        && count.bytes().all(|byte| byte.is_ascii_digit())
        && stack.matches(';').count() >= 2
        && !stack.contains("; ")
        && stack
            .split(';')
            .all(|frame| !frame.is_empty() && frame.len() < 2000)
        && stack.split(';').skip(1).all(may_be_function);
    is_folded.then_some(stack)
}

/// Names of functions have no blanks but in forms of their languages, and no account's sign: rows of any table are parted by
/// semicolons, and a number may stand at their ends.
fn may_be_function(frame: &str) -> bool {
    let behind_sign = frame.split('@').skip(1);
    let mut behind_sign = behind_sign.filter(|behind| !behind.is_empty());
    let is_version = |behind: &str| {
        let versions = ["plt", "GLIBC", "CXXABI", "Base", "LIBC"];
        versions.iter().any(|begin| behind.starts_with(begin))
    };
    symbol::alone(frame) == frame.trim() && behind_sign.all(is_version)
}

/// Whether the first is a program or a thread of the server's, or most frames behind it have signs that names in programs have,
/// or are known.
fn has_functions(stack: &str) -> bool {
    let is_sign = |c: char| "_`[<(".contains(c);
    let is_function = |frame: &&str| {
        frame.contains(is_sign)
            || frame.contains("::")
            || frame.starts_with("0x")
            || *frame == "main"
            || Lexicon::get().lookup(Kind::Function, frame).is_some()
    };
    let frames = stack.split(';').skip(1);
    stack.split(';').next().is_some_and(is_server)
        || frames.clone().filter(is_function).count() * 2 > frames.count()
}

/// `mysqld 123 [000] 12.345: 1 cycles:` with an indented frame behind it.
fn is_perf_script(line: &str, text: &str, next: &[&str]) -> bool {
    let is_frame = |line: &&str| {
        line.starts_with([' ', '\t'])
            && line.trim().split_once(' ').is_some_and(|(address, _)| {
                address.len() >= 4 && address.bytes().all(|byte| byte.is_ascii_hexdigit())
            })
    };
    !line.starts_with([' ', '\t'])
        && text.ends_with(':')
        && text.contains(": ")
        && next.first().is_some_and(is_frame)
}

fn is_indented(_: &Open, next: &Next<'_>) -> bool {
    next.line.starts_with([' ', '\t']) && !next.text.is_empty()
}

/// Different stacks that are kept.
const STACKS_MAX: usize = 50_000;

/// `comm pid/tid [cpu] time: period event:` and indented frames, innermost first.
fn read(lines: &[Line<'_>]) -> Read {
    let mut counts: HashMap<(String, Vec<StackFrame>), u64> = HashMap::new();
    let mut order: Vec<(String, Vec<StackFrame>)> = Vec::new();
    let mut comm = String::new();
    let mut frames: Vec<StackFrame> = Vec::new();
    let mut times: Option<(f64, f64)> = None;
    let mut left_out: u64 = 0;
    let mut end = |comm: &str, frames: &mut Vec<StackFrame>| {
        let frames = std::mem::take(frames);
        if frames.is_empty() {
            return;
        }
        let key = (comm.to_owned(), frames);
        if let Some(count) = counts.get_mut(&key) {
            *count += 1;
        } else if counts.len() < STACKS_MAX {
            order.push(key.clone());
            counts.insert(key, 1);
        } else {
            left_out += 1;
        }
    };
    for line in lines {
        let text = line.trimmed();
        if text.is_empty() || text.starts_with('#') {
            end(&comm, &mut frames);
        } else if line.text.starts_with([' ', '\t']) {
            if frames.len() < FRAMES_MAX
                && let Some(frame) = script_frame(text)
            {
                frames.push(frame);
            }
        } else {
            end(&comm, &mut frames);
            comm = command(text);
            if let Some(at) = time(text) {
                let (from, to) = times.unwrap_or((at, at));
                times = Some((from.min(at), to.max(at)));
            }
        }
    }
    end(&comm, &mut frames);
    let rows: Vec<Row> = order
        .into_iter()
        .map(|key| {
            let count = counts.get(&key).copied().unwrap_or(0);
            let (thread, frames) = key;
            let server = is_server(&thread) || frames.iter().any(|frame| is_server(&frame.image));
            Row {
                frames,
                server,
                thread,
                count,
            }
        })
        .collect();
    let seconds = times.map(|(from, to)| to - from);
    to_read(rows, seconds.filter(|seconds| *seconds > 0.0), left_out)
}

/// Samples of so many seconds, and how many of further stacks there were.
fn to_read(rows: Vec<Row>, seconds: Option<f64>, left_out: u64) -> Read {
    let samples: u64 = rows.iter().map(|row| row.count).sum();
    let mut read = Read {
        brought: format!("{samples} samples of {} stacks", rows.len()),
        ..Read::default()
    };
    if left_out > 0 {
        let why = format!("{left_out} samples of stacks over {STACKS_MAX}");
        read.skipped.push((0, why.into()));
    }
    if !rows.is_empty() {
        read.listings.push(Listing {
            rows,
            callers: Vec::new(),
            seconds,
        });
    }
    read
}

/// The words in front of the process id; a name may hold blanks.
fn command(text: &str) -> String {
    let is_id = |word: &str| {
        let id = word.split('/').next().unwrap_or(word);
        !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit())
    };
    let words: Vec<&str> = text
        .split_whitespace()
        .take_while(|word| !is_id(word))
        .collect();
    words.join(" ")
}

/// `123.456789:`.
fn time(text: &str) -> Option<f64> {
    text.split_whitespace()
        .filter_map(|word| word.strip_suffix(':'))
        .find(|word| word.contains('.'))
        .and_then(|word| word.parse().ok())
}

/// `7f00 pthread_cond_wait+0x12 (/lib/libpthread.so.0)`.
fn script_frame(text: &str) -> Option<StackFrame> {
    let (address, rest) = text.split_once(' ')?;
    if !address.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let (symbol, image) = rest.trim().rsplit_once(" (").unwrap_or((rest.trim(), ""));
    let image = image.trim_end_matches(')');
    let symbol = match symbol.rsplit_once("+0x") {
        Some((name, offset)) if offset.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
        _ => symbol,
    };
    let is_kernel = image.starts_with("[kernel")
        || image.starts_with("[guest")
        || image.contains("vmlinux")
        || image.ends_with(".ko");
    let symbol = if symbol == "[unknown]" { "" } else { symbol };
    Some(if is_kernel {
        frame(symbol, "[kernel]", FrameSide::Kernel)
    } else {
        frame(symbol, image, FrameSide::User)
    })
}

/// `thread;outermost;…;innermost count`.
fn folded(lines: &[Line<'_>]) -> Read {
    let mut rows: Vec<Row> = Vec::new();
    let mut left_out: u64 = 0;
    for line in lines {
        let Some((stack, count)) = line.trimmed().rsplit_once(' ') else {
            continue;
        };
        let Ok(count) = count.parse::<u64>() else {
            continue;
        };
        if rows.len() >= STACKS_MAX {
            left_out = left_out.saturating_add(count);
            continue;
        }
        let mut parts = stack.split(';');
        let thread = parts.next().unwrap_or_default().trim().to_owned();
        let mut frames: Vec<StackFrame> = parts.take(FRAMES_MAX).map(folded_frame).collect();
        frames.reverse();
        rows.push(Row {
            server: is_server(&thread),
            frames,
            thread,
            count,
        });
    }
    // Stacks of one program, whose name is not in front.
    if !rows.iter().any(|row| row.server) {
        for row in &mut rows {
            row.server = true;
        }
    }
    to_read(rows, None, left_out)
}

/// `f_[k]` is the kernel's.
fn folded_frame(part: &str) -> StackFrame {
    match part.strip_suffix("_[k]") {
        Some(name) => frame(name, "[kernel]", FrameSide::Kernel),
        None => frame(
            part.strip_suffix("_[i]").unwrap_or(part),
            "",
            FrameSide::User,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn equal_stacks_are_counted() {
        let sample = "my thread 12/13 [001] 5.25: 1 cycles:\n\tffff81 do_futex+0x12 ([kernel.kallsyms])\n\t7f00 f<int>+0x1 (/usr/sbin/mysqld)\n\n";
        let read_ = read(&clean::lines(&[sample, sample].concat()));
        let rows = &read_.listings[0].rows;
        assert_eq!(
            (
                rows.len(),
                rows[0].count,
                rows[0].thread.as_str(),
                rows[0].server
            ),
            (1, 2, "my thread", true)
        );
        assert_eq!(rows[0].frames[0].side, FrameSide::Kernel);
        assert_eq!(rows[0].frames[1].name, "f<>");
    }

    #[test]
    fn a_table_with_semicolons_is_no_stack() {
        assert!(is_folded("perl;main;a 3", &["mysqld;main;poll 7"]));
        assert!(!is_folded("perl;main;a 3", &["a 3", "mysqld;main;poll 7"]));
        for row in [
            "4711;Alice Miller;Hauptstrasse 12",
            "4711;Miller;Ringweg 12",
            "4711;alice@example.com;hunter2 12",
            "order;alice_miller@example.com;order_no 12",
            "2026-11-30;shop;orders 12",
            "Miller;Alice;a_b;4111 1111 1111 1111",
        ] {
            assert!(!folded_stack(row).is_some_and(has_functions), "{row}");
        }
        for stack in [
            "mysqld;start_thread;handle_one_connection;futex_wait_[k] 40",
            "mysqld;start_thread;poll 5",
            "mysqld;main;poll 7",
            "java;Main::run;std::vector<int, long>::push_back;f() const 7",
            "conn worker;__clone;memcpy@plt;memcpy@@GLIBC_2.14 7",
            "mysqld-4711;[libc.so.6];[unknown];operator new(unsigned long) 7",
        ] {
            assert!(folded_stack(stack).is_some_and(has_functions), "{stack}");
        }
    }

    #[test]
    fn folded_lines_are_turned_round() {
        let read = folded(&clean::lines(
            "mysqld;start_thread;f;do_futex_[k] 7\nperl;a;b 3\n",
        ));
        let rows = &read.listings[0].rows;
        assert_eq!(
            (
                rows[0].frames[0].name.as_str(),
                rows[0].count,
                rows[0].server
            ),
            ("do_futex", 7, true)
        );
        assert!(!rows[1].server);
    }
}
