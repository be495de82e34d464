//! Where events of a slow log end and begin.

use super::super::{Rest, is_opening_line, line_end};
use super::{COMMAND, LOOK_AHEAD, TIME, USER};

/// The end of a statement.
pub(super) enum End {
    At(usize),
    /// It is not among the bytes.
    Beyond,
}

/// Where a statement ends: before the line that starts the next event, or the lines of a server that opens its log.
pub(super) fn statement_end(bytes: &[u8], from: usize, rest: Rest) -> End {
    let mut at = from;
    while let Some(end) = line_end(bytes, at) {
        let next = bytes.get(end + 1..).unwrap_or_default();
        match next.first() {
            Some(b'#') => {
                if next.len() < LOOK_AHEAD && rest != Rest::Nothing {
                    break;
                }
                let is_whole = || {
                    bytes
                        .get(..end)
                        .unwrap_or_default()
                        .trim_ascii_end()
                        .ends_with(b";")
                };
                if next.starts_with(TIME)
                    || next.starts_with(USER)
                    || next.starts_with(COMMAND) && is_whole()
                {
                    return End::At(end + 1);
                }
            }
            Some(b'T') => {
                if next.len() < LOOK_AHEAD && rest != Rest::Nothing {
                    break;
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
            None if rest != Rest::Nothing => break,
            None => return End::At(end + 1),
            Some(_) => {}
        }
        at = end + 1;
    }
    match rest {
        Rest::Nothing => End::At(bytes.len()),
        Rest::Follows | Rest::NoRoom => End::Beyond,
    }
}

/// Whether a line is of an event's head and of nothing else.
pub(in super::super) fn is_head(line: &[u8]) -> bool {
    line.starts_with(b"# ")
        && (line.starts_with(USER)
            || line.starts_with(TIME)
            || line.starts_with(b"# Query_time: ")
            || line.starts_with(b"# Thread_id: ")
            || line.starts_with(COMMAND))
}

/// The first place after the first line at which an event starts, so that a log can be cut there.
pub fn slow_border(bytes: &[u8]) -> Option<usize> {
    let mut at = line_end(bytes, 0)? + 1;
    let mut is_after_time = true;
    while let Some(end) = line_end(bytes, at) {
        let line = bytes.get(at..end).unwrap_or_default();
        if line.starts_with(TIME) || line.starts_with(USER) && !is_after_time {
            return Some(at);
        }
        is_after_time = line.starts_with(TIME);
        at = end + 1;
    }
    None
}
