//! Where events of a slow log end and begin.

use super::super::{Rest, is_opening_line, line_end};
use super::{COMMAND, LOOK_AHEAD, QUERY_TIME, TIME, USER};

/// Bytes of a head in which its `# Query_time:` stands. Before it stand the user, the connection and the default
/// database, whose names are at most 255 characters long.
const HEAD_BYTES_MAX: usize = 4096;

/// Bytes of a line in which its first name ends.
const NAME_BYTES_MAX: usize = 64;

/// The end of a statement.
pub(super) enum End {
    At(usize),
    /// It is not among the bytes. Those from this place on are needed to find it.
    Beyond(usize),
}

/// Where a statement ends: before the line that starts the next event, or the lines of a server that opens its log.
pub(super) fn statement_end(bytes: &[u8], from: usize, rest: Rest) -> End {
    let mut at = from;
    while let Some(end) = line_end(bytes, at) {
        let next = bytes.get(end + 1..).unwrap_or_default();
        match next.first() {
            Some(b'#') => {
                if next.len() < LOOK_AHEAD && rest != Rest::Nothing {
                    return End::Beyond(needed(bytes, at, end));
                }
                if next.starts_with(TIME) || next.starts_with(USER) {
                    return End::At(end + 1);
                }
                if bytes.get(last_word(bytes, end)) == Some(&b';') {
                    let starts = match next.starts_with(COMMAND) {
                        true => Some(true),
                        false => starts_measured(bytes, end + 1, rest),
                    };
                    match starts {
                        Some(true) => return End::At(end + 1),
                        Some(false) => {}
                        None => return End::Beyond(needed(bytes, at, end)),
                    }
                }
            }
            Some(b'T') => {
                if next.len() < LOOK_AHEAD && rest != Rest::Nothing {
                    return End::Beyond(needed(bytes, at, end));
                }
                // The line before it names the server.
                let line = bytes.get(at..end).unwrap_or_default();
                if (next.starts_with(b"Tcp port: ") || next.starts_with(b"TCP Port: "))
                    && is_opening_line(line)
                    && at > from
                {
                    return End::At(at);
                }
            }
            None if rest != Rest::Nothing => return End::Beyond(needed(bytes, at, end)),
            None => return End::At(end + 1),
            Some(_) => {}
        }
        at = end + 1;
    }
    match rest {
        Rest::Nothing => End::At(bytes.len()),
        // The line may go on for long, and only its end matters.
        Rest::Follows | Rest::NoRoom => End::Beyond(last_word(bytes, bytes.len())),
    }
}

/// The last byte before a place that is no white space.
fn last_word(bytes: &[u8], end: usize) -> usize {
    let before = bytes.get(..end).unwrap_or_default().trim_ascii_end();
    before.len().saturating_sub(1)
}

/// From where on bytes are needed to tell what the line after this one is.
fn needed(bytes: &[u8], line: usize, end: usize) -> usize {
    last_word(bytes, end).min(line.saturating_sub(1))
}

/// Whether the head of an event without `# Time:` and `# User@Host:` starts here, as logs have it that went through a
/// tool: a `# Name: value`, and a `# Query_time:` in it or in the lines of the head that follow. A comment of a statement
/// has the first, not the second. `None` when it takes more bytes to know.
pub(super) fn starts_measured(bytes: &[u8], at: usize, rest: Rest) -> Option<bool> {
    let follows = bytes.get(at..).unwrap_or_default();
    let seen = follows.get(..HEAD_BYTES_MAX).unwrap_or(follows);
    let start = seen.get(..NAME_BYTES_MAX).unwrap_or(seen);
    if !starts_with_name(start) {
        let is_all =
            start.len() == NAME_BYTES_MAX || start.contains(&b'\n') || rest != Rest::Follows;
        return is_all.then_some(false);
    }
    let mut line_at = 0;
    loop {
        let line = seen.get(line_at..).unwrap_or_default();
        if line.starts_with(QUERY_TIME) {
            return Some(true);
        }
        let is_of_another = line_at > 0
            && [TIME, USER, COMMAND]
                .iter()
                .any(|name| line.starts_with(name));
        if is_of_another || line.first().is_some_and(|byte| *byte != b'#') {
            return Some(false);
        }
        match line_end(seen, line_at) {
            Some(end) => line_at = end + 1,
            None if seen.len() == HEAD_BYTES_MAX || rest != Rest::Follows => return Some(false),
            None => return None,
        }
    }
}

/// `# Name: `.
fn starts_with_name(line: &[u8]) -> bool {
    let Some(line) = line.strip_prefix(b"# ") else {
        return false;
    };
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let length = line.iter().take_while(|byte| is_of_name(byte)).count();
    line.first().is_some_and(u8::is_ascii_uppercase)
        && line
            .get(length..)
            .is_some_and(|rest| rest.starts_with(b": "))
}

/// Whether a line is of an event's head and of nothing else.
pub(in super::super) fn is_head(line: &[u8]) -> bool {
    line.starts_with(b"# ")
        && (line.starts_with(USER)
            || line.starts_with(TIME)
            || line.starts_with(QUERY_TIME)
            || line.starts_with(b"# Thread_id: ")
            || line.starts_with(COMMAND))
}

/// The first place after the first line at which an event starts, so that a log can be cut there.
pub fn slow_border(bytes: &[u8]) -> Option<usize> {
    let mut at = line_end(bytes, 0)? + 1;
    // A head may have both, and the user twice.
    let mut is_in_head = true;
    while let Some(end) = line_end(bytes, at) {
        let line = bytes.get(at..end).unwrap_or_default();
        if line.starts_with(TIME) || line.starts_with(USER) && !is_in_head {
            return Some(at);
        }
        is_in_head = line.starts_with(TIME) || line.starts_with(USER);
        at = end + 1;
    }
    None
}
