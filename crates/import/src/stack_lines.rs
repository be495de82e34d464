//! Lines of stacks, as debuggers and other tools print them.

use model::{FrameSide, StackFrame};

use crate::read::frame;
use crate::symbol;

/// `Thread 3 (Thread 0x7f… (LWP 9)):`, `Thread 3 (LWP 9):`, `TID 9:`; systemd-coredump's
/// `Stack trace of thread 9:`.
pub(crate) fn is_thread_head(text: &str) -> bool {
    let number = |rest: &str, end: &str| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0 && rest.get(digits..).is_some_and(|rest| rest.starts_with(end))
    };
    text.strip_prefix("Thread ")
        .is_some_and(|rest| number(rest, " (") || number(rest, ":"))
        || text
            .strip_prefix("TID ")
            .or_else(|| text.strip_prefix("Stack trace of thread "))
            .is_some_and(|rest| number(rest, ":"))
}

/// A row of gdb's `info threads`, `* 20   Thread 0x7f00 (LWP 913) "mysqld" 0x7f52 in poll () from /lib64/libc.so.6`: what
/// tells of the thread, and the frame that it is in.
pub(crate) fn listed_thread(text: &str) -> Option<(&str, &str)> {
    let row = text.strip_prefix('*').unwrap_or(text).trim_start();
    let digits = row
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
        .count();
    let thread = row.get(digits..)?;
    let target = thread.trim_start();
    if digits == 0 || target.len() == thread.len() {
        return None;
    }
    let end = if target.starts_with("Thread 0x") {
        target.find(')')? + 1
    } else {
        target.strip_prefix("LWP ")?.find(' ')? + "LWP ".len()
    };
    let mut frame = target.get(end..)?.trim_start();
    if let Some(name) = frame.strip_prefix('"') {
        frame = name.split_once('"')?.1.trim_start();
    }
    let head = text.get(..text.len() - frame.len())?;
    (head.contains("LWP ") && looks_like_frame(frame)).then_some((head, frame))
}

/// `#12 rest`, also where the blanks in front of the address were lost (`#120x00007f…`), or the address itself was
/// left out (`#12 in rest`).
pub(crate) fn frame_number(text: &str) -> Option<(usize, &str)> {
    let rest = text.strip_prefix('#')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let is_glued = digits > 1 && rest.get(digits - 1..)?.starts_with("0x");
    let digits = digits - usize::from(is_glued);
    let number = rest.get(..digits)?.parse().ok()?;
    let rest = rest.get(digits..)?;
    let is_frame = is_glued || rest.starts_with([' ', '\t']);
    let rest = rest.trim_start();
    is_frame.then(|| (number, rest.strip_prefix("in ").unwrap_or(rest)))
}

/// `0x00 in f (…)`, `f (a=1) at x.c:3`, `0x00 f - /lib/x.so`; no sentence.
pub(crate) fn looks_like_frame(rest: &str) -> bool {
    rest.starts_with("0x")
        || rest.starts_with("<signal handler")
        || rest.split_once(" (").is_some_and(|(name, _)| {
            !name.trim_end_matches(" const").contains(". ") && is_function(name)
        })
        || rest.ends_with("()")
}

/// A frame, also one of which nothing but the name was published.
pub(crate) fn is_frame(rest: &str) -> bool {
    looks_like_frame(rest) || is_bare(rest)
}

/// `trx_allocate_for_mysql`, `ha_innobase::info`, `nanosleep from /lib64/libc.so.6`: what no prose has.
pub(crate) fn is_bare(rest: &str) -> bool {
    let (name, library) = match rest.split_once(" from /") {
        Some((name, library)) => (name, Some(library)),
        None => (rest, None),
    };
    !name.contains(' ')
        && is_function(name)
        && (library.is_some() || name.contains('_') || name.contains("::"))
}

/// The first of the lines is frame 1: a name behind `#0` alone is none.
pub(crate) fn is_first(lines: &[&str]) -> bool {
    lines
        .first()
        .and_then(|line| frame_number(line.trim()))
        .is_some_and(|(number, rest)| number == 1 && is_frame(rest))
}

/// A name of C or C++, as debuggers write it.
pub(crate) fn is_function(name: &str) -> bool {
    let name = name.trim();
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || "_~?(<{.$[:".contains(c));
    begins
        && name.len() <= 2000
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "_:~<>,&* ()[]{}?.$@+-=!/|^%'#".contains(c))
        && !name.contains(": ")
}

/// A function's name without blanks but those of C++.
pub(crate) fn is_symbol(name: &str) -> bool {
    let one_word = !name.contains(' ')
        || name.starts_with("operator ")
        || name.contains('<')
        || name.contains("(anonymous namespace)")
        || name.ends_with(" const");
    one_word && is_function(name) && name.contains(|c: char| c.is_alphabetic() || c == '?')
}

/// `0x00 in f<T>::g (this=…) at file.cc:3`, `f () from /lib/libc.so.6`, `0x00 f - /lib/libc.so.6`.
pub(crate) fn printed_frame(text: &str) -> Option<StackFrame> {
    let text = text.trim();
    let after_address = match text.split_once(' ') {
        Some((address, rest)) if address.starts_with("0x") => {
            let rest = rest.trim_start();
            rest.strip_prefix("in ").unwrap_or(rest)
        }
        _ => text,
    };
    // eu-stack: `- 1` says that the address is behind the call.
    let after_address = after_address
        .strip_prefix("- 1 ")
        .unwrap_or(after_address)
        .trim();
    if let Some((name, image)) = of_coredump(after_address) {
        return Some(frame(name, image, FrameSide::User));
    }
    // A line of prose between two frames is taken for the rest of the first.
    let name = symbol::alone(name_of(after_address));
    let rest = after_address.get(name.len()..).unwrap_or_default();
    let image = rest
        .rsplit_once(" from ")
        .or_else(|| rest.rsplit_once(" - "))
        .map_or("", |(_, image)| image.trim());
    let image = image.split_whitespace().next().unwrap_or(image);
    // Behind the same words prose has any other word.
    let is_file = image.starts_with(['/', '.', '[']) || image.contains(".so");
    let image = if is_file { image } else { "" };
    // quickstack writes the place in the source where gdb has the library.
    let image = match image.rsplit_once(':') {
        Some((_, line)) if !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()) => "",
        _ => image,
    };
    if name.starts_with("<signal handler") {
        return None;
    }
    (!name.is_empty() || !image.is_empty()).then(|| frame(name, image, FrameSide::User))
}

/// The function in front of its arguments.
fn name_of(text: &str) -> &str {
    let mut depth = 0_i32;
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let before = text.get(..at).unwrap_or_default();
        let of_operator = before.ends_with("operator")
            || before.ends_with("operator<")
            || before.ends_with("operator>")
            || before.ends_with("operator-");
        match byte {
            b'<' if !of_operator => depth += 1,
            b'>' if !of_operator && !before.ends_with('-') => depth -= 1,
            b'(' if depth <= 0 => {
                let rest = text.get(at..).unwrap_or_default();
                if rest.starts_with("(anonymous namespace)") {
                    at += "(anonymous namespace)".len();
                    continue;
                }
                if rest.starts_with("()") && before.ends_with("operator") {
                    at += 2;
                    continue;
                }
                if at > 0 {
                    return before.trim_end();
                }
            }
            b' ' if depth <= 0 => {
                let rest = text.get(at..).unwrap_or_default();
                if [" - /", " from /", " at "]
                    .iter()
                    .any(|end| rest.starts_with(end))
                {
                    return before.trim_end();
                }
            }
            _ => {}
        }
        at += 1;
    }
    text.trim_end()
}

/// systemd-coredump's `start_thread (libc.so.6 + 0x71148)`, `n/a (libc.so.6 + 0x71148)`: function and
/// image.
fn of_coredump(text: &str) -> Option<(&str, &str)> {
    let (name, place) = text.strip_suffix(')')?.rsplit_once(" (")?;
    let (image, offset) = place.split_once(" + 0x")?;
    let is_offset = !offset.is_empty() && offset.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_offset.then_some((if name == "n/a" { "" } else { name }, image))
}
