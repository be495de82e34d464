//! The values of each row, in the order of its table's columns.

use super::{
    Day, FindingRow, FrameRow, Hash64, HealthRow, HostRow, IncidentId, IncidentRow, Millis,
    QueryRow, QueryTextRow, RemedyRow, Row, Seconds, SignalRow, StackFramesRow, StackRow,
    WitnessRow,
};
use crate::table::Table;
use crate::tables;
use crate::value::Value;

impl From<Hash64> for Value {
    fn from(hash: Hash64) -> Self {
        Self::Unsigned(hash.0)
    }
}

impl From<IncidentId> for Value {
    fn from(id: IncidentId) -> Self {
        Self::Id(id.0)
    }
}

impl From<Seconds> for Value {
    fn from(at: Seconds) -> Self {
        Self::Signed(at.0)
    }
}

impl From<Millis> for Value {
    fn from(at: Millis) -> Self {
        Self::Signed(at.0)
    }
}

impl From<Day> for Value {
    fn from(day: Day) -> Self {
        Self::Signed(day.0)
    }
}

fn unsigned(value: impl Into<u64>) -> Value {
    Value::Unsigned(value.into())
}

fn words(words: &[String]) -> Value {
    Value::List(
        words
            .iter()
            .map(|word| Value::from(word.as_str()))
            .collect(),
    )
}

fn pairs(pairs: &[(String, String)]) -> Value {
    let pairs = pairs.iter();
    Value::Map(
        pairs
            .map(|(key, value)| (key.as_str().into(), value.as_str().into()))
            .collect(),
    )
}

impl Row for HostRow {
    const TABLE: &'static Table = &tables::HOSTS;

    fn values(&self) -> Vec<Value> {
        vec![
            self.host_id.into(),
            self.host.as_str().into(),
            self.label.as_str().into(),
            self.cluster.as_str().into(),
            self.vendor.as_str().into(),
            self.version.as_str().into(),
            self.kernel.as_str().into(),
            self.allocator.as_str().into(),
            self.thp.as_str().into(),
            unsigned(self.cores),
            unsigned(self.ram_bytes),
            self.recorder_version.as_str().into(),
            pairs(&self.labels),
            pairs(&self.settings),
            self.seen.into(),
        ]
    }
}

impl Row for SignalRow {
    const TABLE: &'static Table = &tables::SIGNALS;

    fn values(&self) -> Vec<Value> {
        vec![
            self.host_id.into(),
            self.signal.as_str().into(),
            self.ts.into(),
            unsigned(self.n),
            Value::Float(self.min),
            Value::Float(self.max),
            Value::Float(self.mean),
            Value::Floats(self.seconds.clone()),
        ]
    }
}

impl Row for IncidentRow {
    const TABLE: &'static Table = &tables::INCIDENTS;

    fn values(&self) -> Vec<Value> {
        vec![
            self.incident_id.into(),
            self.host_id.into(),
            self.onset.into(),
            self.detected.into(),
            unsigned(self.duration_ms),
            self.trigger.as_str().into(),
            Value::Signed(self.verdict as i64),
            self.cause.as_str().into(),
            Value::Float(self.confidence),
            self.shape.into(),
            words(&self.absent),
            pairs(&self.facts),
            self.frame_key.as_str().into(),
            unsigned(self.frame_bytes),
            self.frame_sha256.as_str().into(),
            unsigned(self.rev),
            self.name.as_str().into(),
            words(&self.heaviest),
        ]
    }
}

impl Row for FindingRow {
    const TABLE: &'static Table = &tables::FINDINGS;

    fn values(&self) -> Vec<Value> {
        let witnesses = || self.witnesses.iter();
        let side = |witness: &WitnessRow| Value::Signed(if witness.is_for { 1 } else { -1 });
        vec![
            self.incident_id.into(),
            self.host_id.into(),
            self.onset.into(),
            self.cause.as_str().into(),
            unsigned(self.rank),
            Value::Float(self.score),
            Value::List(witnesses().map(|one| one.kind.as_str().into()).collect()),
            Value::List(witnesses().map(side).collect()),
            Value::List(
                witnesses()
                    .map(|one| one.reference.as_str().into())
                    .collect(),
            ),
            Value::Floats(witnesses().map(|one| one.value).collect()),
            unsigned(self.rev),
        ]
    }
}

impl Row for StackRow {
    const TABLE: &'static Table = &tables::STACKS;

    fn values(&self) -> Vec<Value> {
        vec![
            self.host_id.into(),
            self.incident_id.into(),
            self.ts.into(),
            Value::Signed(self.phase as i64),
            Value::Signed(self.kind as i64),
            self.stack_id.into(),
            unsigned(self.samples),
            unsigned(self.ns),
        ]
    }
}

impl Row for StackFramesRow {
    const TABLE: &'static Table = &tables::STACK_FRAMES;

    fn values(&self) -> Vec<Value> {
        let frames = self.frames.iter().copied().map(Value::from);
        vec![
            self.stack_id.into(),
            Value::List(frames.collect()),
            self.seen.into(),
        ]
    }
}

impl Row for FrameRow {
    const TABLE: &'static Table = &tables::FRAMES;

    fn values(&self) -> Vec<Value> {
        vec![
            self.frame_id.into(),
            self.build_id.as_str().into(),
            unsigned(self.offset),
            self.module.as_str().into(),
            self.function.as_str().into(),
            self.seen.into(),
        ]
    }
}

impl Row for QueryRow {
    const TABLE: &'static Table = &tables::QUERIES;

    fn values(&self) -> Vec<Value> {
        let hist = self.hist.iter();
        vec![
            self.host_id.into(),
            self.ts.into(),
            self.digest.into(),
            unsigned(self.n),
            unsigned(self.sum_us),
            unsigned(self.max_us),
            unsigned(self.lock_us),
            unsigned(self.rows_examined),
            unsigned(self.errors),
            Value::Map(
                hist.map(|(from, n)| (unsigned(*from), unsigned(*n)))
                    .collect(),
            ),
        ]
    }
}

impl Row for QueryTextRow {
    const TABLE: &'static Table = &tables::QUERY_TEXTS;

    fn values(&self) -> Vec<Value> {
        vec![
            self.digest.into(),
            self.text.as_str().into(),
            self.first_seen.into(),
        ]
    }
}

impl Row for RemedyRow {
    const TABLE: &'static Table = &tables::REMEDIES;

    fn values(&self) -> Vec<Value> {
        vec![
            self.host_id.into(),
            self.at.into(),
            self.remedy.as_str().into(),
            self.cause.as_str().into(),
            Value::Signed(self.action as i64),
            Value::Signed(self.proof as i64),
            unsigned(self.rev),
        ]
    }
}

impl Row for HealthRow {
    const TABLE: &'static Table = &tables::RECORDER_HEALTH;

    fn values(&self) -> Vec<Value> {
        vec![
            self.host_id.into(),
            self.ts.into(),
            unsigned(self.lost),
            unsigned(self.spooled_bytes),
            unsigned(self.cpu_ms),
            words(&self.absent),
        ]
    }
}
