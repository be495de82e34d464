//! Events as owned values.

use sql::digest::{Digester, LogDigest, Options, Order};
use sql::log::{LogKind, LogTime, Reader, Rest, Step, log_kind};

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) statement: String,
    pub(crate) is_command: bool,
    pub(crate) is_cut: bool,
    pub(crate) time: Option<LogTime>,
    pub(crate) user: String,
    pub(crate) host: String,
    pub(crate) database: String,
    pub(crate) connection: Option<u64>,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) notes: Vec<String>,
}

impl Seen {
    pub(crate) fn attribute(&self, name: &str) -> &str {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        &found.unwrap_or_else(|| panic!("no {name} in {self:?}")).1
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// All events of a log that is given `step` bytes at a time, and the bytes of none.
pub(crate) fn read_by(log: &[u8], kind: LogKind, step: usize) -> (Vec<Seen>, u64) {
    let mut reader = Reader::new(kind);
    let mut seen = Vec::new();
    let (mut from, mut to) = (0, step.min(log.len()));
    // Each step gets forward; a reader that does not is a reader that hangs.
    for _ in 0..10 * (log.len() + 10) {
        if from >= log.len() {
            return (seen, reader.stray_bytes());
        }
        let rest = if to == log.len() {
            Rest::Nothing
        } else {
            Rest::Follows
        };
        match reader.next(&log[from..to], rest) {
            Step::Event(event, used) => {
                assert!(
                    used > 0 && from + used <= to,
                    "{used} bytes of {}",
                    to - from
                );
                seen.push(Seen {
                    statement: text(event.statement),
                    is_command: event.is_command,
                    is_cut: event.is_cut,
                    time: event.time,
                    user: text(event.user.unwrap_or_default()),
                    host: text(event.host.unwrap_or_default()),
                    database: text(event.database.unwrap_or_default()),
                    connection: event.connection,
                    attributes: event
                        .attributes
                        .iter()
                        .map(|(name, value)| (text(name), text(value)))
                        .collect(),
                    notes: event.notes.iter().map(text).collect(),
                });
                from += used;
            }
            Step::Skipped(used) => {
                assert!(
                    used > 0 && from + used <= to,
                    "{used} bytes of {}",
                    to - from
                );
                from += used;
            }
            Step::More => {
                assert!(to < log.len(), "more than there is");
                to = (to + step).min(log.len());
            }
        }
        to = to.max((from + 1).min(log.len()));
    }
    panic!("the reader does not get forward");
}

pub(crate) fn read(log: &str) -> Vec<Seen> {
    let kind = log_kind(log.as_bytes()).expect("a log");
    read_by(log.as_bytes(), kind, log.len().max(1)).0
}

/// Feeds a log to a digest.
pub(crate) fn feed(digester: &mut Digester, log: &[u8], kind: LogKind) -> Option<Vec<u8>> {
    let mut reader = Reader::new(kind);
    let mut from = 0;
    while from < log.len() {
        match reader.next(&log[from..], Rest::Nothing) {
            Step::Event(event, used) => {
                digester.add(&event);
                from += used;
            }
            Step::Skipped(used) => from += used,
            Step::More => panic!("more than there is"),
        }
    }
    reader.database().map(<[u8]>::to_vec)
}

pub(crate) fn digest(log: &str, options: Options) -> LogDigest {
    let kind = log_kind(log.as_bytes()).expect("a log");
    let mut digester = Digester::new(options);
    feed(&mut digester, log.as_bytes(), kind);
    let way = match kind {
        LogKind::Slow => model::QueryMethod::SlowLog,
        LogKind::General => model::QueryMethod::GeneralLog,
    };
    digester.finish(way, &Order::Usual, None, false)
}
