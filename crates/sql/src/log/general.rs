//! General logs: of MySQL up to 5.6 and MariaDB (`YYMMDD HH:MM:SS\t  id Command\targument`, the time where the second
//! changes; blanks for the last tab up to MySQL 5.0), and of MySQL 5.7 and later (`2024-01-01T12:00:00.123456Z\t  id
//! Command\targument`). Tabs may have become blanks on the way.

use std::collections::HashMap;

use super::commands::{COMMAND_PREFIX, COMMANDS};
use super::slow::number;
use super::time::timestamp;
use super::{Event, LogTime, Rest, Step, is_opening_line, line_end, trim_statement};

/// Columns that MySQL up to 5.0 gave the command (`%-11.11s`, sql/log.cc): a longer one was cut.
const COMMAND_COLUMNS: usize = 11;

/// Columns of a tab.
const TAB_COLUMNS: usize = 8;

/// Columns of the time and the tab behind it.
const TIME_COLUMNS: usize = 16;

/// The longest start of an event: time, number, command.
const LOOK_AHEAD: usize = 128;

/// Connections whose user and database are known.
const CONNECTIONS_MAX: usize = 65_536;

/// Bytes of a name that are kept; servers allow 80 and 255.
const NAME_BYTES_MAX: usize = 255;

/// Reads a general log. See [`super::Reader`].
#[derive(Debug, Default)]
pub struct GeneralReader {
    time: Option<LogTime>,
    connections: HashMap<u64, Connection>,
    is_in_cut: bool,
    pub(super) stray_bytes: u64,
}

#[derive(Debug, Default)]
struct Connection {
    user: Vec<u8>,
    host: Vec<u8>,
    database: Vec<u8>,
}

/// The start of an event.
struct Start {
    time: Option<LogTime>,
    connection: u64,
    command: &'static str,
    /// Where the argument starts.
    argument: usize,
}

impl GeneralReader {
    /// See [`super::Reader::next`].
    pub fn next<'a>(&'a mut self, bytes: &'a [u8], rest: Rest) -> Step<'a> {
        if self.is_in_cut {
            return self.skip_cut(bytes, rest);
        }
        let Some(start) = start_of(bytes).filter(|_| {
            // The command may be the beginning of a longer one.
            rest != Rest::Follows || bytes.len() >= LOOK_AHEAD || line_end(bytes, 0).is_some()
        }) else {
            return match line_end(bytes, 0) {
                Some(end) => self.stray(bytes, end + 1),
                None if rest == Rest::Follows => Step::More,
                None => {
                    self.is_in_cut = rest == Rest::NoRoom;
                    self.stray(bytes, bytes.len())
                }
            };
        };
        let Some(end) = end_of(bytes, rest) else {
            if rest == Rest::Follows {
                return Step::More;
            }
            self.is_in_cut = true;
            return self.event(bytes, &start, bytes.len(), true);
        };
        self.event(bytes, &start, end, false)
    }

    fn stray(&mut self, bytes: &[u8], end: usize) -> Step<'static> {
        let line = bytes.get(..end).unwrap_or_default();
        if !is_opening_line(line) && !line.trim_ascii().is_empty() {
            self.stray_bytes += end as u64;
        }
        Step::Skipped(end)
    }

    fn skip_cut(&mut self, bytes: &[u8], rest: Rest) -> Step<'static> {
        match end_of(bytes, rest) {
            Some(end) => {
                self.is_in_cut = false;
                Step::Skipped(end)
            }
            None => match memchr::memrchr(b'\n', bytes) {
                Some(0) => Step::More,
                Some(end) if bytes.len() - end <= LOOK_AHEAD => Step::Skipped(end),
                _ if bytes.is_empty() => Step::More,
                _ => Step::Skipped(bytes.len()),
            },
        }
    }

    fn event<'a>(
        &'a mut self,
        bytes: &'a [u8],
        start: &Start,
        end: usize,
        is_cut: bool,
    ) -> Step<'a> {
        self.time = start.time.or(self.time);
        let argument = bytes.get(start.argument..end).unwrap_or_default();
        let argument = match is_cut {
            true => argument,
            false => trim_statement(argument),
        };
        let command = start.command.get(COMMAND_PREFIX..).unwrap_or_default();
        let is_statement = matches!(command, "Query" | "Execute");
        self.follow(start.connection, command, argument);
        let known = self.connections.get(&start.connection);
        let named = |name: &'a Vec<u8>| Some(name.as_slice()).filter(|name| !name.is_empty());
        let event = Event {
            statement: if is_statement {
                argument
            } else {
                start.command.as_bytes()
            },
            is_command: !is_statement,
            is_cut,
            time: self.time,
            user: known.and_then(|known| named(&known.user)),
            host: known.and_then(|known| named(&known.host)),
            database: known.and_then(|known| named(&known.database)),
            database_unknown: false,
            connection: Some(start.connection),
            ..Event::default()
        };
        Step::Event(event, end)
    }

    /// Who is connected, and to which database.
    fn follow(&mut self, id: u64, command: &str, argument: &[u8]) {
        match command {
            "Connect" | "Change user" => {
                if argument.starts_with(b"Access denied")
                    || self.connections.len() >= CONNECTIONS_MAX
                        && !self.connections.contains_key(&id)
                {
                    return;
                }
                self.connections.insert(id, Connection::of(argument));
            }
            "Init DB" => {
                if let Some(connection) = self.connections.get_mut(&id) {
                    keep(&mut connection.database, argument);
                }
            }
            "Query" => {
                if argument.len() > 4
                    && argument
                        .get(..4)
                        .is_some_and(|word| word.eq_ignore_ascii_case(b"use "))
                    && let Some(connection) = self.connections.get_mut(&id)
                {
                    let name = argument.get(4..).unwrap_or_default().trim_ascii();
                    let name = name.strip_prefix(b"`").unwrap_or(name);
                    keep(
                        &mut connection.database,
                        name.strip_suffix(b"`").unwrap_or(name),
                    );
                }
            }
            // What an event says of its own connection must still be there for it.
            "Quit" if self.connections.len() >= CONNECTIONS_MAX / 2 => {
                self.connections.remove(&id);
            }
            _ => {}
        }
    }
}

impl Connection {
    /// `root@localhost on test using Socket`, `root@localhost as anonymous on `, `root@localhost`.
    fn of(argument: &[u8]) -> Self {
        let mut connection = Self::default();
        let end = [&b" as anonymous"[..], b" on"]
            .into_iter()
            .filter_map(|word| memchr::memmem::find(argument, word))
            .min();
        let (who, rest) = argument.split_at(end.unwrap_or(argument.len()));
        let at = memchr::memrchr(b'@', who).unwrap_or(who.len());
        keep(&mut connection.user, who.get(..at).unwrap_or_default());
        // A host has no blanks; behind one may stand what somebody noted.
        let host = who.get(at + 1..).unwrap_or_default();
        let host = host.split(u8::is_ascii_whitespace).next();
        keep(&mut connection.host, host.unwrap_or_default());
        if let Some(on) = memchr::memmem::find(rest, b" on ") {
            let database = rest.get(on + 4..).unwrap_or_default();
            let end = memchr::memmem::find(database, b" using ").unwrap_or(database.len());
            let database = database.get(..end).unwrap_or_default();
            // `on  using Socket`: no database.
            if !database.starts_with(b"using ") {
                keep(&mut connection.database, database.trim_ascii());
            }
        }
        connection
    }
}

fn keep(field: &mut Vec<u8>, name: &[u8]) {
    field.clear();
    field.extend_from_slice(name.get(..NAME_BYTES_MAX).unwrap_or(name));
}

/// Whether a line starts an event.
pub(super) fn starts_event(line: &[u8]) -> bool {
    start_of(line).is_some()
}

fn start_of(line: &[u8]) -> Option<Start> {
    let line = line.get(..LOOK_AHEAD).unwrap_or(line);
    let (time, at) = match line.first()? {
        b'\t' | b' ' => (None, 0),
        b'0'..=b'9' => {
            let (time, end) = timestamp(line)?;
            (Some(time), end)
        }
        _ => return None,
    };
    let blanks = blanks(line, at);
    let has_tab = line.get(at..at + blanks)?.contains(&b'\t');
    // Where the tabs were lost, a time that is not told again leaves its room.
    if blanks == 0 || time.is_none() && !has_tab && blanks < TIME_COLUMNS {
        return None;
    }
    let at = at + blanks;
    let rest = line.get(at..)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let connection = number(rest.get(..digits)?)?;
    let at = at + digits;
    if line.get(at) != Some(&b' ') {
        return None;
    }
    let (command, argument) = command(line, at + 1)?;
    Some(Start {
        time,
        connection,
        command,
        argument,
    })
}

/// The command that stands at a place, and where its argument starts.
fn command(line: &[u8], at: usize) -> Option<(&'static str, usize)> {
    let rest = line.get(at..)?;
    let name = |command: &'static str| command.as_bytes().get(COMMAND_PREFIX..);
    // Nearly all are a known word and a tab, which is told at once.
    let tab = rest
        .iter()
        .position(|byte| matches!(byte, b'\t' | b'\n' | b'\r'))
        .unwrap_or(rest.len());
    let word = rest.get(..tab)?.trim_ascii_end();
    if let Some(command) = COMMANDS.into_iter().find(|known| name(known) == Some(word)) {
        return Some((
            command,
            at + tab + usize::from(rest.get(tab) == Some(&b'\t')),
        ));
    }
    let whole = COMMANDS.into_iter().filter_map(|command| {
        let length = rest.strip_prefix(name(command)?)?.len();
        let end = line.len() - length;
        Some((command, end, argument(line, at, end)?))
    });
    // `Connect` is the start of `Connect Out`.
    if let Some((command, _, argument)) = whole.max_by_key(|(_, end, _)| *end) {
        return Some((command, argument));
    }
    COMMANDS.into_iter().find_map(|command| {
        let cut = name(command)?.get(..COMMAND_COLUMNS)?;
        let argument = argument(line, at, at + cut.len())?;
        rest.starts_with(cut).then_some((command, argument))
    })
}

/// Where the argument of a command in this place starts. A tab is before it; in logs of MySQL up to 5.0 blanks up to the
/// end of the command's column; in those whose tabs were lost blanks up to where the tab led. One blank alone is of a
/// longer command, or all this is of a text.
fn argument(line: &[u8], at: usize, end: usize) -> Option<usize> {
    match line.get(end) {
        None | Some(b'\n' | b'\r') => return Some(end),
        Some(b'\t') => return Some(end + 1),
        _ => {}
    }
    let start = end + blanks(line, end);
    let is_last = || matches!(line.get(start), None | Some(b'\n' | b'\r'));
    let is_of_tab = || {
        start.is_multiple_of(TAB_COLUMNS) && !line.get(..at).unwrap_or_default().contains(&b'\t')
    };
    (start > end && (start - at > COMMAND_COLUMNS || is_of_tab() || is_last())).then_some(start)
}

fn blanks(line: &[u8], from: usize) -> usize {
    let rest = line.get(from..).unwrap_or_default();
    rest.iter()
        .take_while(|byte| matches!(byte, b'\t' | b' '))
        .count()
}

/// Where an event ends: before the next one, or before the lines of a server that opens its log.
fn end_of(bytes: &[u8], rest: Rest) -> Option<usize> {
    let mut at = 0;
    while let Some(end) = line_end(bytes, at) {
        let next = bytes.get(end + 1..).unwrap_or_default();
        let line = line_end(next, 0);
        if line.is_none() && next.len() < LOOK_AHEAD && rest != Rest::Nothing {
            return None;
        }
        if next.is_empty() {
            break;
        }
        let next = next
            .get(..line.unwrap_or(next.len()).min(LOOK_AHEAD))
            .unwrap_or_default();
        let may_start = matches!(next.first(), Some(b'\t' | b' ' | b'0'..=b'9'));
        if may_start && starts_event(next)
            || next.ends_with(b"started with:") && is_opening_line(next)
        {
            return Some(end + 1);
        }
        at = end + 1;
    }
    (rest == Rest::Nothing).then_some(bytes.len())
}
