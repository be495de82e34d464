//! Rows as plain structs, a struct for each table that batches carry. Fields are as the columns in `tables.rs`, whose
//! words say what they mean; values stand in the columns' order.

mod values;

use crate::table::Table;
use crate::value::Value;

/// A row of one of the fleet's tables.
pub trait Row {
    /// Its table.
    const TABLE: &'static Table;

    /// The values of all columns, in their order.
    fn values(&self) -> Vec<Value>;
}

/// 64 bits that stand for a thing: a server, a stack, a statement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash64(pub u64);

impl std::fmt::Display for Hash64 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A moment, seconds since 1970 UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(pub i64);

impl Seconds {
    /// Of milliseconds, the begun second. What is before 1970 or after 2106 cannot be stored and becomes the nearest.
    pub fn of_ms(ms: i64) -> Self {
        Self(ms.div_euclid(1000).clamp(0, u32::MAX.into()))
    }

    /// The day, days since 1970 UTC.
    pub fn day(self) -> Day {
        Day(self.0.div_euclid(86_400).clamp(0, u16::MAX.into()))
    }
}

/// A moment, milliseconds since 1970 UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub i64);

/// A day, days since 1970 UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(pub i64);

/// The identity of an incident.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IncidentId(pub [u8; 16]);

/// What came of an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictKind {
    /// The first finding is likely or certain.
    Named = 1,
    /// It is possible, or a suspicion.
    Unsure = 2,
    /// There is none.
    NotEnough = 3,
}

/// The part of an incident that a stack was seen in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Before the last minute before the onset.
    Baseline = 0,
    /// The minute before the onset.
    Before = 1,
    /// From onset to end.
    Stall = 2,
    /// After the end.
    After = 3,
}

/// How a stack was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StackKind {
    /// On a processor.
    OnCpu = 1,
    /// A thread that did not run.
    Wait = 2,
    /// It waits for a lock.
    LockWait = 3,
    /// It holds a lock that others wait for.
    LockHold = 4,
}

/// What was done with a remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It was applied.
    Apply = 1,
    /// It was taken back.
    Undo = 2,
}

/// What the comparison before and after said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// It is not done yet.
    Pending = 0,
    /// It helped.
    Proven = 1,
    /// Nothing is proven.
    NotProven = 2,
    /// It became worse.
    Worse = 3,
}

/// A row of `hosts`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostRow {
    /// The server.
    pub host_id: Hash64,
    /// The host's name.
    pub host: String,
    /// Which server on the host: its port or socket.
    pub label: String,
    /// The cluster, empty when nobody said.
    pub cluster: String,
    /// MySQL, MariaDB or Percona.
    pub vendor: String,
    /// The version with its suffix.
    pub version: String,
    /// The kernel's release.
    pub kernel: String,
    /// The server's memory allocator.
    pub allocator: String,
    /// Transparent huge pages.
    pub thp: String,
    /// Processors.
    pub cores: u16,
    /// Memory, bytes.
    pub ram_bytes: u64,
    /// The recorder's version.
    pub recorder_version: String,
    /// What the owner calls it by.
    pub labels: Vec<(String, String)>,
    /// Settings that stalls depend on, by the names of facts.
    pub settings: Vec<(String, String)>,
    /// When this was so.
    pub seen: Seconds,
}

/// A row of `signals`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SignalRow {
    /// The server.
    pub host_id: Hash64,
    /// The signal.
    pub signal: String,
    /// Begin of the minute.
    pub ts: Seconds,
    /// Seconds that have a value.
    pub n: u8,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Mean of the seconds.
    pub mean: f64,
    /// The seconds, or nothing.
    pub seconds: Vec<f64>,
}

/// A row of `incidents`.
#[derive(Debug, Clone, PartialEq)]
pub struct IncidentRow {
    /// The incident.
    pub incident_id: IncidentId,
    /// The server.
    pub host_id: Hash64,
    /// When it began.
    pub onset: Millis,
    /// When the recorder was sure.
    pub detected: Millis,
    /// How long, milliseconds.
    pub duration_ms: u32,
    /// The rule that gave it away first.
    pub trigger: String,
    /// What came of it.
    pub verdict: VerdictKind,
    /// The first finding's cause, or nothing.
    pub cause: String,
    /// Of the first finding, 0 to 1.
    pub confidence: f64,
    /// Its five heaviest functions and its trigger.
    pub shape: Hash64,
    /// What could not be recorded.
    pub absent: Vec<String>,
    /// Settings and state at the onset.
    pub facts: Vec<(String, String)>,
    /// The incident's file.
    pub frame_key: String,
    /// Its size, bytes.
    pub frame_bytes: u64,
    /// Its SHA-256, 64 hexadecimal digits.
    pub frame_sha256: String,
    /// When it was judged, seconds since 1970.
    pub rev: u32,
    /// Its name.
    pub name: String,
    /// The functions of its shape.
    pub heaviest: Vec<String>,
}

/// A witness of a finding.
#[derive(Debug, Clone, PartialEq)]
pub struct WitnessRow {
    /// The source of the evidence.
    pub kind: String,
    /// It speaks for the finding, not against it.
    pub is_for: bool,
    /// Its id in the cause's file.
    pub reference: String,
    /// The measured number, NaN where there is none.
    pub value: f64,
}

/// A row of `findings`.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingRow {
    /// The incident.
    pub incident_id: IncidentId,
    /// The server.
    pub host_id: Hash64,
    /// The incident's onset.
    pub onset: Millis,
    /// The cause.
    pub cause: String,
    /// Place in the verdict, from 0.
    pub rank: u8,
    /// Confidence, 0 to 1.
    pub score: f64,
    /// Its witnesses.
    pub witnesses: Vec<WitnessRow>,
    /// As the incident's.
    pub rev: u32,
}

/// A row of `stacks`.
#[derive(Debug, Clone, PartialEq)]
pub struct StackRow {
    /// The server.
    pub host_id: Hash64,
    /// The incident.
    pub incident_id: IncidentId,
    /// The incident's onset.
    pub ts: Seconds,
    /// The part of the incident.
    pub phase: Phase,
    /// How it was seen.
    pub kind: StackKind,
    /// The stack.
    pub stack_id: Hash64,
    /// Samples, or snapshots that show it.
    pub samples: u32,
    /// Time, nanoseconds.
    pub ns: u64,
}

/// A row of `stack_frames`.
#[derive(Debug, Clone, PartialEq)]
pub struct StackFramesRow {
    /// The stack.
    pub stack_id: Hash64,
    /// Its frames, innermost first.
    pub frames: Vec<Hash64>,
    /// When it was seen last.
    pub seen: Day,
}

/// A row of `frames`.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameRow {
    /// The frame.
    pub frame_id: Hash64,
    /// Build of a place without a name.
    pub build_id: String,
    /// Place in the image of a frame without a name.
    pub offset: u64,
    /// File name of the image.
    pub module: String,
    /// The function.
    pub function: String,
    /// When it was seen last.
    pub seen: Day,
}

/// A row of `queries`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryRow {
    /// The server.
    pub host_id: Hash64,
    /// When the class was seen first in that time.
    pub ts: Seconds,
    /// The class.
    pub digest: Hash64,
    /// Statements.
    pub n: u32,
    /// Their time, microseconds.
    pub sum_us: u64,
    /// The longest, microseconds.
    pub max_us: u32,
    /// Waits for locks, microseconds.
    pub lock_us: u64,
    /// Rows read.
    pub rows_examined: u64,
    /// Statements that ended with an error.
    pub errors: u32,
    /// Statements by the power of ten of their time.
    pub hist: Vec<(u8, u32)>,
}

/// A row of `query_texts`.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTextRow {
    /// The class.
    pub digest: Hash64,
    /// The statement, redacted.
    pub text: String,
    /// When it was seen.
    pub first_seen: Seconds,
}

/// A row of `remedies`.
#[derive(Debug, Clone, PartialEq)]
pub struct RemedyRow {
    /// The server.
    pub host_id: Hash64,
    /// When.
    pub at: Seconds,
    /// The change.
    pub remedy: String,
    /// The cause it is against.
    pub cause: String,
    /// Applied or undone.
    pub action: Action,
    /// What before and after said.
    pub proof: Proof,
    /// Seconds since 1970: a later row replaces an earlier.
    pub rev: u32,
}

/// A row of `recorder_health`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HealthRow {
    /// The server.
    pub host_id: Hash64,
    /// When.
    pub ts: Seconds,
    /// Samples and rows lost.
    pub lost: u32,
    /// What waits for the fleet, bytes.
    pub spooled_bytes: u64,
    /// Processor time, milliseconds.
    pub cpu_ms: u32,
    /// Sources that cannot be read.
    pub absent: Vec<String>,
}
