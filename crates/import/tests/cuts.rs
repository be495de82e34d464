//! Captures are cut: by an editor, a mail, a full disk. Wherever they are, what is left gives a
//! result or one clear line.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use import::{Input, import};

/// Parts of a capture between which it is cut.
const CUTS: usize = 12;

/// A sample up to so many bytes is cut at each of them.
const SHORT_BYTES: usize = 128;

/// Of the cuts of longer ones, each so many-th is made; `make check` makes fewer, by `FREEZEFRAME_CUTS`.
const SOME: usize = 6;

/// Generous: reading takes milliseconds. What takes longer grows faster than its input.
const PATIENCE: Duration = Duration::from_secs(60);

/// Threads that are kept at the most, however many a capture says there were.
const THREADS_MAX: usize = 400_000;

/// A capture of each format, made up, and two of several: `tests/samples`, where the search for input
/// that breaks a reader begins, too.
fn samples() -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    paths
        .iter()
        .map(|path| (name(path), std::fs::read(path).unwrap()))
        .collect()
}

/// The samples, and the project's captures.
fn captures() -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_none_or(|end| end != "yaml"))
        .collect();
    paths.sort();
    let mut captures = samples();
    for path in paths {
        captures.push((path.display().to_string(), std::fs::read(&path).unwrap()));
    }
    captures
}

/// Reads a section of a capture and looks at what came of it.
fn read(name: &str, bytes: &[u8]) {
    let begin = Instant::now();
    let imported = import(&[Input { path: "x", bytes }]);
    assert!(begin.elapsed() < PATIENCE, "{name}: {} bytes", bytes.len());
    assert!(!imported.parts.is_empty(), "{name}: nothing is said");
    let lines = bytes.split(|byte| *byte == b'\n').count();
    for part in &imported.parts {
        let (from, to) = part.lines.unwrap_or((1, 1));
        assert!(from <= to && to <= lines, "{name}: {part:?}");
        // A result, or why there is none, in one line.
        assert!(
            !part.brought.is_empty() || part.skipped.is_some(),
            "{name}: {part:?}"
        );
        let said = part.skipped.as_deref().unwrap_or_default();
        assert!(!said.contains('\n'), "{name}: {part:?}");
    }
    let has_result = imported.parts.iter().any(|part| !part.brought.is_empty());
    assert_eq!(
        has_result,
        imported.incident.is_some(),
        "{name}: {:?}",
        imported.parts
    );
    if let Some(incident) = imported.incident {
        // What is kept is of the order of what was read.
        assert!(incident.stacks.runs.len() <= THREADS_MAX, "{name}");
        let text: usize = incident
            .texts
            .iter()
            .map(|timed| timed.text.body().len())
            .sum();
        assert!(
            text <= bytes.len() * 12 + 10_000,
            "{name}: {text} bytes of {}",
            bytes.len()
        );
    }
}

/// Whether this cut of this text is made. All are where only `PROPTEST_CASES` is set, as by `make fuzz`, and else some: the
/// same ones each time, of one text others than of the next, so that together they lie everywhere.
fn is_made(text: usize, cut: usize) -> bool {
    let asked = std::env::var("FREEZEFRAME_CUTS");
    let usual = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => 1,
        None => SOME,
    };
    let some = asked.ok().and_then(|some| some.parse().ok());
    (text + cut).is_multiple_of(some.unwrap_or(usual))
}

#[test]
fn a_capture_cut_anywhere_gives_a_result_or_a_clear_line() {
    for (index, (name, bytes)) in captures().into_iter().enumerate() {
        read(&name, &bytes);
        for cut in (1..CUTS).filter(|cut| is_made(index, *cut)) {
            // Not a round share of the length: cuts lie within lines as often as not.
            let at = (bytes.len() * cut / CUTS + cut * 7) % bytes.len().max(1);
            let (head, tail) = bytes.split_at(at);
            read(&name, head);
            read(&name, tail);
        }
    }
}

#[test]
fn short_captures_are_cut_at_every_byte() {
    for (index, (name, bytes)) in samples().into_iter().enumerate() {
        let is_short = bytes.len() <= SHORT_BYTES;
        for at in (0..=bytes.len()).filter(|at| is_short || is_made(index, *at)) {
            let (head, tail) = bytes.split_at(at);
            read(&name, head);
            read(&name, tail);
        }
    }
}

#[test]
fn a_capture_with_damaged_bytes_is_read_around_them() {
    for (name, mut bytes) in captures() {
        let step = (bytes.len() / 40).max(1);
        for (index, byte) in bytes.iter_mut().enumerate() {
            if index % step == step / 2 {
                *byte = 0xfe;
            }
        }
        read(&name, &bytes);
    }
}

#[test]
fn a_few_lines_cannot_fill_the_memory() {
    // Each line of pt-pmp's output says how many threads there were.
    let text = "99999 poll(libc.so.6),vio_io_wait,main\n\nand then\nthis again:\n\n".repeat(300);
    read("pt-pmp", text.as_bytes());
}
