//! Digests of statements: what a server was asked in an interval, by class, whatever method saw it.

use serde::{Deserialize, Serialize};

/// How statements were seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueryMethod {
    /// A slow log.
    SlowLog,
    /// A general log.
    GeneralLog,
    /// The difference of two readings of `performance_schema.events_statements_summary_by_digest`.
    PerformanceSchema,
    /// Packets on the server's port.
    Packets,
    /// The difference of two readings of the status counters `Com_*`.
    StatementCounters,
}

impl QueryMethod {
    /// The way in words, for people.
    pub fn to_text(self) -> &'static str {
        match self {
            Self::SlowLog => "the slow log",
            Self::GeneralLog => "the general log",
            Self::PerformanceSchema => "performance_schema",
            Self::Packets => "packets on the server's port",
            Self::StatementCounters => "the server's counters Com_*",
        }
    }
}

/// What a server was asked in a stretch of time, by class of statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueryDigest {
    /// How the statements were seen; in files and JSON it is the `way`.
    #[serde(rename = "way")]
    pub method: QueryMethod,
    /// The first moment, microseconds since 1970 UTC; absent when nothing tells the time.
    pub from_us: Option<i64>,
    /// The last moment, likewise.
    pub to_us: Option<i64>,
    /// Statements, those of `folded` included.
    pub count: u64,
    /// Statements that ended with an error, where the way tells.
    pub errors: Option<u64>,
    /// The classes: most time first, where the way tells times, else most statements.
    pub classes: Vec<QueryClass>,
    /// Classes over the limit, as one without a fingerprint.
    pub folded: Option<FoldedClasses>,
    /// Statements or packets that were lost on the way.
    pub lost: u64,
    /// What this way does not see, and what could not be read.
    pub blind: Vec<crate::Absent>,
    /// Ways that were tried before this one, and why each was left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<crate::Absent>,
    /// How clients were connected, where the way tells.
    #[serde(default)]
    pub connections: Option<ConnectionMix>,
}

/// How clients were connected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionMix {
    /// Connections of which anything was seen.
    pub seen: u64,
    /// Those by the compressed protocol.
    pub compressed: u64,
    /// Those that are encrypted: what was asked on them is not known.
    pub tls: u64,
    /// Bytes in both directions.
    pub bytes: u64,
    /// Those of them on compressed connections.
    pub bytes_compressed: u64,
    /// Connections that were open before: their users are not known, and what they spoke was guessed.
    pub guessed: u64,
    /// Those of them whose users and databases the server told.
    #[serde(default)]
    pub named: u64,
    /// Statements prepared before, whose texts the server told.
    #[serde(default)]
    pub prepared: u64,
}

/// The measure whose values are not of statements but of connections: how often each that asked a class did. Its count
/// is of connections, its sum of statements.
pub const PER_CONNECTION: &str = "Statements_per_connection";

/// Statements that differ in their literals only.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryClass {
    /// The statement without literals.
    pub fingerprint: String,
    /// Our identity of it: 16 hexadecimal digits.
    pub id: String,
    /// pt-query-digest's identity: the MD5 of its fingerprint, 32 hexadecimal digits; absent where the way gives no
    /// statement that it could be made of, and where that fingerprint has a part of a literal in it.
    pub compat_id: Option<String>,
    /// Its kind, as the processlist's statements are classified (`SELECT`, `SHOW WARNINGS`).
    pub kind: String,
    /// How many statements of the class were seen.
    pub count: u64,
    /// How often with an error, where the way tells.
    pub errors: Option<u64>,
    /// What was measured of each: `Query_time` in seconds, `Rows_sent`, … by the name the slow log gives it. Of packets
    /// besides: `Response_time`, seconds to the first byte of the answer; and [`PER_CONNECTION`].
    pub measures: Vec<QueryMeasure>,
    /// Who asked, most first: user names.
    pub users: Vec<Counted>,
    /// From where, most first: host names or addresses.
    pub hosts: Vec<Counted>,
    /// In which database, most first.
    pub databases: Vec<Counted>,
    /// By which client program, most first: connector names of the connection attributes.
    pub programs: Vec<Counted>,
    /// The first and last moment, microseconds since 1970 UTC.
    pub first_us: Option<i64>,
    /// The last moment it was seen at, microseconds since 1970 UTC.
    pub last_us: Option<i64>,
    /// The slowest one, without literals unless the user asked for them.
    pub sample: Option<String>,
    /// What the log says of that statement besides numbers, a line each: the plan that MariaDB writes, a routine's
    /// name; nothing else unless the user asked for literals. Not of the statement's text, but the plan of a statement may
    /// hold names of tables and indexes.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl QueryClass {
    /// The sum of a measure, by the slow log's name of it.
    pub fn sum(&self, name: &str) -> Option<f64> {
        let named = self.measures.iter().find(|measure| measure.name == name);
        named.map(|measure| measure.sum)
    }
}

/// Something with how often it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// The user, host, database or program.
    pub name: String,
    /// Statements that it sent, or was used by.
    pub count: u64,
}

/// A number that each statement of a class has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryMeasure {
    /// `Query_time` (seconds), `Lock_time` (seconds), `Rows_sent`, `Rows_examined`, `Bytes_sent`, …
    pub name: String,
    /// Statements that have it.
    pub count: u64,
    /// Sum over these statements, in the unit of the measure.
    pub sum: f64,
    /// Smallest, where single statements were seen.
    pub min: Option<f64>,
    /// Largest, where single statements were seen or the method keeps it.
    pub max: Option<f64>,
    /// Half of the statements have no more, within `quantile_error`.
    pub median: Option<f64>,
    /// 95 % of the statements have no more, likewise.
    pub p95: Option<f64>,
    /// 99 % of the statements have no more, likewise.
    pub p99: Option<f64>,
    /// Standard deviation, where single statements were seen.
    pub stddev: Option<f64>,
    /// The largest relative error of the quantiles.
    pub quantile_error: Option<f64>,
    /// For `Query_time`, pt-query-digest's histogram: statements from 1 µs, 10 µs, 100 µs, 1 ms, 10 ms, 100 ms, 1 s and
    /// 10 s on, each up to the next; those below 1 µs are in the first.
    pub decades: Vec<u64>,
}

/// Classes that are told together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct FoldedClasses {
    /// Statements of all classes that are folded.
    pub count: u64,
    /// Their time, seconds, where the way tells.
    pub seconds: Option<f64>,
    /// How many classes, at least: those that were never kept apart cannot be counted.
    pub classes_at_least: u64,
}
