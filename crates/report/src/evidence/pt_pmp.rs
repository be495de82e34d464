//! Stacks as pt-pmp of percona-toolkit prints them: `COUNT innermost,…,outermost`.
//!
//! pt-pmp's awk reads gdb's text. What it makes of a frame is repeated here on the line that gdb
//! prints for it (`#0  0x… in NAME () from /…/IMAGE`), with all it does to names, so that the same
//! stacks give the same bytes: `my_const_f` is `my__f`, `operator new` is `operator`. Source:
//! `aggregate_stacktrace` in pt-pmp 3.2.1.
//!
//! Not repeated is what needs a function's parameters, which are not kept: where the first word
//! that gdb prints ends in `(void` or the method is `const`, pt-pmp prints a piece of the
//! parameters (`const*,`) instead of the name; here the name stands.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use model::{FrameSide, StackFrame, StackTable};

use super::groups::StackGroups;
use crate::escape;

/// Columns in which `uniq -c` of GNU coreutils prints its count.
const COUNT_COLUMNS: usize = 7;

/// Libraries whose name for the linker keeps more than the first number.
const KEEP_VERSION: [&str; 2] = ["libssl.so.1.", "libcrypto.so.1."];

/// The groups in pt-pmp's format, counts summed over all snapshots, the largest first and equal
/// ones in falling order of their bytes (`sort -r -n` in the C locale).
///
/// gdb shows user code only, and so do these lines. A thread without a user frame is `??`, as gdb
/// shows a thread whose registers it cannot read.
///
/// gdb prints a library's name beside its functions, and pt-pmp takes it over
/// (`poll(libc.so.6)`), unless gdb has the library's line numbers: `with_lines` are the images of
/// which debug information is installed.
pub fn pt_pmp(groups: &StackGroups, book: &StackTable, with_lines: &HashSet<String>) -> String {
    let mut counts: HashMap<String, u64> = HashMap::new();
    for group in &groups.groups {
        *counts
            .entry(line(book.frames_of(group.stack), with_lines))
            .or_default() += group.count;
    }
    let mut lines: Vec<(u64, String)> = counts
        .into_iter()
        .map(|(line, count)| (count, line))
        .collect();
    lines.sort_unstable_by(|a, b| b.cmp(a));
    lines
        .iter()
        .map(|(count, line)| format!("{count:>COUNT_COLUMNS$} {line}\n"))
        .collect()
}

fn line<'a>(frames: impl Iterator<Item = &'a StackFrame>, with_lines: &HashSet<String>) -> String {
    let mut out = String::new();
    let mut file = String::new();
    let mut frames = frames
        .filter(|frame| frame.side == FrameSide::User)
        .peekable();
    if frames.peek().is_none() {
        return "??".to_owned();
    }
    for frame in frames {
        let name = as_pt_pmp(&gdb_place(frame, with_lines), &mut file);
        if !out.is_empty() {
            out.push(',');
        }
        out.push_str(&name);
    }
    out
}

/// What pt-pmp prints for what gdb prints behind " in ". `file` is the awk variable `tfile`, which keeps its value where
/// the name's first word contains "void" or "const".
fn as_pt_pmp(place: &str, file: &mut String) -> String {
    let mut words = place.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    let second = words.next().unwrap_or_default();
    let last = place
        .split_ascii_whitespace()
        .next_back()
        .unwrap_or_default();
    let mut target = if first.contains("void") || first.contains("const") {
        second.to_owned()
    } else {
        last.clone_into(file);
        first.to_owned()
    };
    if target.contains(['<', '(']) {
        target = shortened(place);
    } else if target.contains("??") {
        let base = last.rsplit('/').next().unwrap_or_default();
        let stem = base.split_once('.').map_or("", |(stem, _)| stem);
        target = format!("{stem}::??");
    }
    match (target.find("@@"), file.strip_prefix('/')) {
        (Some(at), _) => target.truncate(at),
        (None, Some(path)) => {
            let base = path.rsplit('/').next().unwrap_or_default();
            target = format!("{target}({base})");
        }
        (None, None) => {}
    }
    target
}

/// What gdb prints behind " in ": name, empty parameters, and where it is from: the file of the
/// source for what has line numbers, the library for others of a library, nothing for the program.
fn gdb_place(frame: &StackFrame, with_lines: &HashSet<String>) -> String {
    let name = match frame.nameless {
        Some(_) => Cow::Borrowed("??"),
        None => Cow::Owned(escape::terminal(&frame.name)),
    };
    if frame.nameless.is_none() && with_lines.contains(&frame.image) {
        return format!("{name} () at ./source:1");
    }
    match is_library(&frame.image) {
        true => format!("{name} () from /{}", escape::terminal(soname(&frame.image))),
        false => format!("{name} ()"),
    }
}

/// The awk's way with templates, parameters and qualifiers.
pub(super) fn shortened(place: &str) -> String {
    let mut target = place;
    for word in [" from ", " at "] {
        if let Some((before, _)) = target.split_once(word) {
            target = before;
        }
    }
    let mut target = target.to_owned();
    while target.contains(">::") {
        if !remove_innermost(&mut target, '<', '>') {
            break;
        }
    }
    while target.contains('(') {
        if !remove_innermost(&mut target, '(', ')') {
            break;
        }
    }
    remove_qualifiers(&target).replace(' ', "")
}

/// `gsub(/<[^<>]*>/, "")`: removes every innermost pair; whether there was one.
fn remove_innermost(text: &mut String, open: char, close: char) -> bool {
    let mut out = String::with_capacity(text.len());
    let mut opened = None;
    let mut removed = false;
    for character in text.chars() {
        if character == open {
            opened = Some(out.len());
        } else if character == close
            && let Some(at) = opened.take()
        {
            out.truncate(at);
            removed = true;
            continue;
        } else if character == close {
            opened = None;
        }
        out.push(character);
    }
    *text = out;
    removed
}

/// `gsub(/ ?(void|const) ?/, "")`
fn remove_qualifiers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let word = rest.strip_prefix(' ').unwrap_or(rest);
        let behind = word
            .strip_prefix("void")
            .or_else(|| word.strip_prefix("const"));
        rest = match behind {
            Some(behind) => behind.strip_prefix(' ').unwrap_or(behind),
            None => {
                out.push(character);
                rest.get(character.len_utf8()..).unwrap_or_default()
            }
        };
    }
    out
}

fn is_library(image: &str) -> bool {
    image.ends_with(".so") || image.contains(".so.")
}

/// The name by which the linker knows a library, which is what gdb prints: `libstdc++.so.6` for
/// the file `libstdc++.so.6.0.30`. By convention it keeps the first number of the version.
fn soname(image: &str) -> &str {
    if KEEP_VERSION.iter().any(|prefix| image.starts_with(prefix)) {
        return image;
    }
    let Some((stem, version)) = image.split_once(".so.") else {
        return image;
    };
    let first = version.split('.').next().unwrap_or_default();
    image
        .get(..stem.len() + ".so.".len() + first.len())
        .unwrap_or(image)
}
