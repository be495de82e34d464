//! Statements off the wire as events of a digest.

use std::net::IpAddr;

use model::{Absent, ConnectionMix, QueryDigest, QueryWay};
use server::wire::{Statement, StatementKind};
use sql::digest::{Digester, LogDigest, Options, Order};
use sql::log::{Event, LogTime};

use super::capture::Captured;

/// Classes that the recorder keeps apart, and bytes for them.
const CLASSES_MAX: usize = 2_000;
const BYTES_MAX: usize = 6 << 20;

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
            .finish(QueryWay::Packets, &Order::Usual, None, false);
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
fn connection_mix(captured: &Captured) -> ConnectionMix {
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
