//! Statements off the wire as events of a digest.

use std::net::IpAddr;
use std::time::Duration;

use model::{Absent, ConnectionMix, Counted, QueryClass, QueryDigest, QueryMethod};
use sql::digest::{Digester, LogDigest, Options, Order};
use sql::log::{Event, LogTime};

use super::{Connections, Statement, StatementKind};

/// The class that is a signal of its own, as [`sql::statement_class`] names it.
pub const SHOW_WARNINGS: &str = "show warnings";

/// Senders that are named.
const SENDERS_MAX: usize = 3;

/// Classes that the recorder keeps apart, and bytes for them.
const CLASSES_MAX: usize = 2_000;
const BYTES_MAX: usize = 6 << 20;

/// What a capture was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Captured {
    /// When it began, microseconds since 1970 UTC.
    pub from_us: i64,
    /// When it ended.
    pub to_us: i64,
    /// Packets that were read.
    pub packets: u64,
    /// Packets that found no room, or could not be read.
    pub lost: u64,
    /// The connections.
    pub connections: Connections,
    /// What capturing and decoding took of a processor, without what the kernel does for each packet.
    pub cpu: Duration,
}

/// Sums statements up by class, in bounded memory.
pub struct Collector {
    digester: Digester,
    /// The latest client, and its address as text: the next one is mostly of the same host.
    client: Option<IpAddr>,
    host: String,
    command: String,
}

impl Default for Collector {
    /// As the recorder has it.
    fn default() -> Self {
        Self::new(Options {
            classes_max: CLASSES_MAX,
            bytes_max: BYTES_MAX,
            ..Options::default()
        })
    }
}

impl Collector {
    /// An empty one, for what these options choose.
    pub fn new(options: Options) -> Self {
        Self {
            digester: Digester::new(Options {
                per_connection: true,
                ..options
            }),
            client: None,
            host: String::new(),
            command: String::new(),
        }
    }

    /// Counts a statement.
    pub fn take(&mut self, statement: &Statement<'_>) {
        use std::fmt::Write;
        let client = statement.client.ip();
        if self.client != Some(client) {
            self.client = Some(client);
            self.host.clear();
            // Writing to a string does not fail.
            let _ = write!(self.host, "{client}");
        }
        let is_command = match statement.kind {
            StatementKind::Query => false,
            StatementKind::Execute => statement.text.is_empty(),
            StatementKind::Connect | StatementKind::Prepare | StatementKind::Administrator(_) => {
                true
            }
        };
        if is_command {
            // pt-query-digest's words for what is no statement.
            self.command.clear();
            self.command.push_str("administrator command: ");
            self.command.push_str(statement.kind.name());
        }
        let sent = Some(statement.bytes_out).filter(|bytes| *bytes > 0);
        self.digester.add(&Event {
            statement: if is_command {
                self.command.as_bytes()
            } else {
                statement.text
            },
            is_command,
            is_cut: statement.cut,
            time: Some(LogTime::Utc(statement.at_us)),
            user: statement.user.map(str::as_bytes),
            host: Some(self.host.as_bytes()),
            database: statement.database.map(str::as_bytes),
            connection: Some(statement.connection),
            program: statement.program.map(str::as_bytes),
            numbers: &[
                ("Query_time", statement.whole_us),
                ("Response_time", statement.response_us),
                ("Rows_sent", statement.rows),
                ("Rows_affected", statement.affected),
                ("Bytes_sent", sent),
                ("Last_errno", Some(statement.error.unwrap_or(0).into())),
            ],
            ..Event::default()
        });
    }

    /// What was counted, to be told otherwise than by [`Self::finish`]; [`complete`] adds what the capture knows.
    pub fn into_digester(self) -> Digester {
        self.digester
    }

    /// What a capture saw, most time first, without literals.
    pub fn finish(self, captured: &Captured, blind: Vec<Absent>) -> QueryDigest {
        let mut told = self
            .digester
            .finish(QueryMethod::Packets, &Order::Usual, None, false);
        complete(&mut told, captured, blind);
        told.digest
    }
}

/// Adds what a capture knows to what its statements say.
pub fn complete(told: &mut LogDigest, captured: &Captured, blind: Vec<Absent>) {
    let digest = &mut told.digest;
    (digest.from_us, digest.to_us) = (Some(captured.from_us), Some(captured.to_us));
    digest.errors = digest.errors.or(Some(0));
    digest.lost = captured.lost;
    digest.blind.extend(blind);
    digest.connections = Some(connection_mix(captured));
}

/// How clients were connected.
pub fn connection_mix(captured: &Captured) -> ConnectionMix {
    let seen = captured.connections;
    ConnectionMix {
        seen: seen.seen,
        compressed: seen.compressed,
        tls: seen.tls,
        bytes: seen.bytes,
        bytes_compressed: seen.bytes_compressed,
        guessed: seen.guessed,
        named: seen.named.min(seen.guessed),
        prepared: seen.prepared,
    }
}

/// Whether a statement is one, by its first words.
pub fn is_show_warnings(text: &[u8]) -> bool {
    text.get(..SHOW_WARNINGS.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(SHOW_WARNINGS.as_bytes()))
}

/// "orm at 10.0.0.7 with Connector/J (98 %)", most first; empty when nobody sent any.
pub fn senders(classes: &[QueryClass]) -> String {
    let flood = classes
        .iter()
        .filter(|class| class.kind.eq_ignore_ascii_case(SHOW_WARNINGS));
    let mut told = Vec::new();
    for class in flood {
        for (word, names) in [
            ("user", &class.users),
            ("host", &class.hosts),
            ("program", &class.programs),
        ] {
            let named = names.iter().filter(|one| !one.name.is_empty());
            let words: Vec<String> = named
                .take(SENDERS_MAX)
                .map(|one| format!("{} ({})", one.name, percent(one, class.count)))
                .collect();
            if !words.is_empty() {
                told.push(format!("{word} {}", words.join(", ")));
            }
        }
    }
    told.truncate(SENDERS_MAX);
    told.join("; ")
}

fn percent(part: &Counted, whole: u64) -> String {
    format!("{:.0} %", part.count as f64 * 100.0 / whole.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senders_are_told_with_their_share() {
        let counted = |name: &str, count| Counted {
            name: name.to_owned(),
            count,
        };
        let class = QueryClass {
            kind: "SHOW WARNINGS".to_owned(),
            count: 200,
            users: vec![counted("orm", 150), counted("", 50)],
            hosts: vec![counted("10.0.0.7", 200)],
            ..QueryClass::default()
        };
        let other = QueryClass {
            kind: "SELECT".to_owned(),
            count: 9,
            users: vec![counted("app", 9)],
            ..QueryClass::default()
        };
        assert_eq!(senders(std::slice::from_ref(&other)), "");
        assert_eq!(
            senders(&[other, class]),
            "user orm (75 %); host 10.0.0.7 (100 %)"
        );
    }
}
