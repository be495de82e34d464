//! The status of a replica (`SHOW REPLICA STATUS`, in the words of all generations): how far it is
//! behind, and whether its threads run.

use model::{Reading, SignalKind, SourceData, Unit};

use crate::{ServerError, Session};

/// Channels of one status that are read.
const CHANNELS_MAX: usize = 1_000;

/// Characters of a state that are told.
const STATE_CHARS: usize = 80;

/// The statements by generation: MariaDB since 10.0, with named connections; MySQL since 8.0.22; all before, and
/// MySQL 5. Which of them a server knows is found out once.
const STATEMENTS: [&str; 3] = [
    "SHOW ALL SLAVES STATUS",
    "SHOW REPLICA STATUS",
    "SHOW SLAVE STATUS",
];

/// ER_PARSE_ERROR: the server does not know the statement.
const PARSE_ERROR: u16 = 1064;

/// What one channel of a status tells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplicaChannel {
    behind_seconds: Option<f64>,
    receives: Option<bool>,
    applies: Option<bool>,
    relay_bytes: Option<f64>,
    received_position: Option<f64>,
    applied_position: Option<f64>,
    state: String,
}

impl ReplicaChannel {
    /// Takes a column of the status; others than the known ones are left out.
    pub fn field(&mut self, name: &str, value: &str) {
        let runs = || match value {
            "Yes" => Some(true),
            // "Connecting", "Preparing": not yet.
            "NULL" | "" => None,
            _ => Some(false),
        };
        // The words before and after MySQL 8.0.22 and MariaDB 10.5.
        let name = name
            .to_ascii_lowercase()
            .replace("replica_", "slave_")
            .replace("source", "master");
        match name.as_str() {
            // dolphie has it twice, once without a value.
            "seconds_behind_master" => {
                self.behind_seconds = value.parse().ok().or(self.behind_seconds);
            }
            "slave_io_running" => self.receives = runs(),
            "slave_sql_running" => self.applies = runs(),
            "relay_log_space" => self.relay_bytes = value.parse().ok(),
            "read_master_log_pos" => self.received_position = value.parse().ok(),
            "exec_master_log_pos" => self.applied_position = value.parse().ok(),
            "slave_sql_running_state" => self.state = value.chars().take(STATE_CHARS).collect(),
            _ => {}
        }
    }

    /// Whether it is one of a status, not of another table.
    pub fn is_some(&self) -> bool {
        self.applies.is_some() || self.receives.is_some() || self.behind_seconds.is_some()
    }

    /// What the applier says of itself; empty when it says nothing.
    pub fn state(&self) -> &str {
        &self.state
    }
}

/// The signals of a status: of several channels the worst, because one thread that stands still is what matters.
pub fn replica_readings(channels: &[ReplicaChannel]) -> Vec<Reading> {
    let max = |pick: fn(&ReplicaChannel) -> Option<f64>| {
        channels.iter().filter_map(pick).reduce(f64::max)
    };
    let all = |pick: fn(&ReplicaChannel) -> Option<bool>| {
        let mut known = channels.iter().filter_map(pick).peekable();
        known.peek()?;
        Some(if known.all(|runs| runs) { 1.0 } else { 0.0 })
    };
    let behind = max(|channel| channel.behind_seconds);
    let values = [
        ("replica.seconds_behind", Unit::Seconds, behind),
        ("replica.receives", Unit::Code, all(|one| one.receives)),
        ("replica.applies", Unit::Code, all(|one| one.applies)),
        (
            "replica.relay_log_bytes",
            Unit::Bytes,
            max(|channel| channel.relay_bytes),
        ),
    ];
    // The source's next binary log begins at 4 again: that is how a counter is reset.
    let sum = |pick: fn(&ReplicaChannel) -> Option<f64>| {
        channels
            .iter()
            .filter_map(pick)
            .reduce(|one, other| one + other)
    };
    let counters = [
        (
            "replica.received_position",
            sum(|channel| channel.received_position),
        ),
        (
            "replica.applied_position",
            sum(|channel| channel.applied_position),
        ),
    ];
    let gauges = values
        .into_iter()
        .map(|(name, unit, value)| (name, unit, SignalKind::Gauge, value));
    let counters = counters
        .into_iter()
        .map(|(name, value)| (name, Unit::Bytes, SignalKind::Counter, value));
    gauges
        .chain(counters)
        .filter_map(|(name, unit, kind, value)| {
            Some(Reading {
                name: name.into(),
                unit,
                kind,
                value: value.filter(|value| value.is_finite())?,
            })
        })
        .collect()
}

/// Asks a server for its status as a replica, in the words that it knows.
#[derive(Debug, Default)]
pub struct ReplicaReader {
    /// The index in [`STATEMENTS`].
    known: usize,
}

impl ReplicaReader {
    /// The status as signals; of a server that is no replica only that it has no channels (`replica.channels`).
    ///
    /// It waits for whoever starts or stops the replication, which may be long: so it has a connection of its own.
    pub fn read(&mut self, session: &mut Session) -> Result<SourceData, ServerError> {
        loop {
            let statement = STATEMENTS.get(self.known).copied().unwrap_or_default();
            let rows = match session.rows(statement, CHANNELS_MAX) {
                Ok((rows, _)) => rows,
                Err(error)
                    if error.code == Some(PARSE_ERROR) && self.known + 1 < STATEMENTS.len() =>
                {
                    self.known += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let channels: Vec<ReplicaChannel> = rows
                .iter()
                .map(|row| {
                    let mut channel = ReplicaChannel::default();
                    for (name, value) in row.fields() {
                        channel.field(name, value);
                    }
                    channel
                })
                .collect();
            let count = Reading::gauge("replica.channels", Unit::Count, channels.len() as f64);
            let mut readings = replica_readings(&channels);
            readings.push(count);
            return Ok(SourceData {
                readings,
                ..SourceData::default()
            });
        }
    }
}
