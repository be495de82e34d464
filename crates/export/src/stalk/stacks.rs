//! Stacks of threads and samples of processors.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::{FrameSide, Millis, OrderBy, StackFrame, ThreadRun};

use super::ticks::Scene;

/// Snapshots of a collection: with 500 threads each has about a megabyte.
const SNAPSHOTS_MAX: u64 = 60;

/// Bytes of stacks of a collection.
const BYTES_MAX: usize = 128 << 20;

/// From one snapshot to the next at the least, in milliseconds.
const APART_MS: u64 = 950;

/// `gdb -ex 'thread apply all bt'`, again and again, each with its moment in front.
///
/// What gdb would print and the incident does not have: addresses, which are 0, arguments, files and
/// lines of source, and the folders of libraries.
pub(super) fn stacktrace(scene: &Scene<'_>) -> String {
    let evidence = &scene.incident.stacks;
    let length = scene.window.to.saturating_sub(scene.window.from);
    let apart = (length / SNAPSHOTS_MAX).max(APART_MS);
    let mut last: Option<Millis> = None;
    let mut out = String::new();
    for note in &evidence.snapshots {
        let inside = note.at >= scene.window.from && note.at <= scene.window.to;
        let is_near = last.is_some_and(|last| note.at < last.saturating_add(apart));
        if !inside || is_near || out.len() > BYTES_MAX {
            continue;
        }
        let mut threads: Vec<&ThreadRun> = evidence
            .runs
            .iter()
            .filter(|run| run.from <= note.at && note.at <= run.to)
            .collect();
        if threads.is_empty() {
            continue;
        }
        last = Some(note.at);
        threads.order_by_key(|run| std::cmp::Reverse(run.tid));
        threads.dedup_by_key(|run| run.tid);
        scene.ts(&mut out, note.at);
        let count = threads.len();
        for (index, run) in threads.into_iter().enumerate() {
            let name = run.name.replace(|c: char| c.is_control() || c == '"', " ");
            let _ = writeln!(
                out,
                "\nThread {} (LWP {} \"{name}\"):",
                count - index,
                run.tid
            );
            frames(scene, run, &mut out);
        }
        out.push('\n');
    }
    out
}

fn frames(scene: &Scene<'_>, run: &ThreadRun, out: &mut String) {
    let user = scene
        .incident
        .stacks
        .table
        .frames_of(run.stack)
        .filter(|frame| frame.side == FrameSide::User);
    let mut number = 0;
    for frame in user {
        let _ = write!(out, "#{number:<2} 0x0000000000000000 in {} ()", word(frame));
        if !frame.image.is_empty() {
            let _ = write!(out, " from {}", frame.image.replace(char::is_control, " "));
        }
        out.push('\n');
        number += 1;
    }
    if number == 0 {
        out.push_str("#0  0x0000000000000000 in ?? ()\n");
    }
}

fn word(frame: &StackFrame) -> String {
    match frame.name.trim() {
        "" => "??".to_owned(),
        name => name.replace(char::is_control, " "),
    }
}

/// Samples as folded stacks. In front of the server's stands its program, as perf has it, and not
/// the thread's name: readers tell by it whose they are.
pub(super) fn folded(scene: &Scene<'_>) -> String {
    let Some(profile) = crate::profile(scene.incident, scene.window) else {
        return String::new();
    };
    let program = match scene.incident.fact("server.program") {
        Some(program) if program.contains("maria") => "mariadbd",
        _ => "mysqld",
    };
    let book = &scene.incident.stacks.table;
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for row in &profile.counts {
        let mut line = match row.server {
            true => program.to_owned(),
            false => element(&row.thread),
        };
        let frames = book.frames_of(row.stack);
        // As perf marks a caller that is not known: a line of two elements is not known as a stack.
        for _ in frames.clone().count()..2 {
            line.push_str(";[unknown]");
        }
        for frame in frames.rev() {
            line.push(';');
            line.push_str(&element(&frame.name));
            if frame.side == FrameSide::Kernel {
                line.push_str("_[k]");
            }
        }
        let sum = lines.entry(line).or_default();
        *sum = sum.saturating_add(row.count);
    }
    lines.iter().fold(String::new(), |mut out, (line, count)| {
        let _ = writeln!(out, "{line} {count}");
        out
    })
}

/// The server's functions with all that they called, of which no stacks are known, as `perf report` lists them: an import has such
/// where somebody kept the listing only. Their own samples are those of [`folded`].
pub(super) fn perf_report(scene: &Scene<'_>) -> String {
    let evidence = &scene.incident.stacks;
    let Some(profile) = crate::profile(scene.incident, scene.window) else {
        return String::new();
    };
    let all = profile.samples();
    let callers = evidence.callers.iter().filter(|callers| {
        let profile = evidence.profiles.get(callers.profile);
        profile.is_some_and(|profile| {
            profile.from <= scene.window.to && profile.to >= scene.window.from
        })
    });
    let mut rows = String::new();
    let callers = callers.flat_map(|callers| &callers.counts);
    for row in callers.filter(|row| row.server) {
        let Some(frame) = evidence.table.frames_of(row.stack).next() else {
            continue;
        };
        let image = match frame.image.trim() {
            "" => "-".to_owned(),
            image => one_word(image),
        };
        let mark = match frame.side {
            FrameSide::Kernel => 'k',
            FrameSide::User => '.',
        };
        let share = row.count as f64 * 100.0 / all.max(1) as f64;
        let _ = writeln!(
            rows,
            "{share:>10.4}%     0.00%  mysqld  {image}  [{mark}] {}",
            word(frame)
        );
    }
    match rows.is_empty() {
        true => rows,
        false => format!(
            "# Samples: {all} of event 'cpu-clock'\n# Children      Self  Command  Shared Object  Symbol\n{rows}"
        ),
    }
}

/// Samples by the function that ran, as opreport lists them: pt-sift shows the first rows.
pub(super) fn opreport(scene: &Scene<'_>) -> String {
    let Some(profile) = crate::profile(scene.incident, scene.window) else {
        return String::new();
    };
    let book = &scene.incident.stacks.table;
    let mut functions: BTreeMap<(String, String), u64> = BTreeMap::new();
    for row in &profile.counts {
        let function = match book.frames_of(row.stack).next() {
            Some(frame) => {
                let image = match (frame.side, frame.image.is_empty()) {
                    (FrameSide::Kernel, true) => "vmlinux",
                    (FrameSide::User, true) => "-",
                    (_, false) => frame.image.as_str(),
                };
                (one_word(image), word(frame))
            }
            None => ("-".to_owned(), "(no symbols)".to_owned()),
        };
        let sum = functions.entry(function).or_default();
        *sum = sum.saturating_add(row.count);
    }
    let all: u64 = functions.values().copied().fold(0, u64::saturating_add);
    if all == 0 {
        return String::new();
    }
    let mut rows: Vec<_> = functions.into_iter().collect();
    rows.order_by(|(a, a_count), (b, b_count)| b_count.cmp(a_count).then_with(|| a.cmp(b)));
    let mut out = String::from("samples  %        image name               symbol name\n");
    for ((image, name), count) in rows {
        let share = count as f64 * 100.0 / all as f64;
        let _ = writeln!(out, "{count:<8} {share:<8.4} {image:<24} {name}");
    }
    out
}

/// A name in a column of words.
fn one_word(name: &str) -> String {
    name.replace(|c: char| c.is_whitespace() || c.is_control(), "_")
}

/// A name between separators.
fn element(name: &str) -> String {
    match name.trim() {
        "" => "[unknown]".to_owned(),
        name => name.replace(|c: char| c == ';' || c.is_control(), ":"),
    }
}
