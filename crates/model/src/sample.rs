//! What one run of one source brings: readings, facts, texts, absences.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{Absent, Millis, SignalKind, Text, Unit};

/// One value of one signal.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The signal's name: source area, dot, the owner's own name (`vmstat.compact_stall`).
    pub name: Cow<'static, str>,
    /// What the value counts.
    pub unit: Unit,
    /// Whether the value is of a counter or is a level.
    pub kind: SignalKind,
    /// The value. Counters fit 2^53 exactly.
    pub value: f64,
}

impl Reading {
    /// A reading of a counter: it only grows while its owner lives.
    pub fn counter(name: impl Into<Cow<'static, str>>, unit: Unit, value: f64) -> Self {
        Self {
            name: name.into(),
            unit,
            kind: SignalKind::Counter,
            value,
        }
    }

    /// A reading of a level, which may rise and fall.
    pub fn gauge(name: impl Into<Cow<'static, str>>, unit: Unit, value: f64) -> Self {
        Self {
            name: name.into(),
            unit,
            kind: SignalKind::Gauge,
            value,
        }
    }
}

/// Something that seldom changes: a setting, a version, a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Where it is from and its name there (`variables.max_connections`, `thp.enabled`).
    pub name: String,
    /// Its value, as its owner writes it.
    pub value: String,
}

impl Fact {
    /// A fact.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }
}

/// What one run of a source brought.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SourceData {
    /// Values of signals, all of one moment.
    pub readings: Vec<Reading>,
    /// Records that are kept as texts: a processlist, lines of a log.
    pub texts: Vec<Text>,
    /// Facts; a fact that is as it was before may be left out.
    pub facts: Vec<Fact>,
    /// Parts of the source that could not be taken, when others could.
    pub absent: Vec<Absent>,
}

/// One run of one source.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The source's name in the table of sources.
    pub source: &'static str,
    /// When the values were true: the reading's end.
    pub at: Millis,
    /// How long the reading took, in microseconds.
    pub took_us: u64,
    /// What it brought, or why there is nothing.
    pub outcome: Result<SourceData, Absent>,
}

impl Sample {
    /// The value of a signal in this sample.
    pub fn value(&self, name: &str) -> Option<f64> {
        let taken = self.outcome.as_ref().ok()?;
        taken
            .readings
            .iter()
            .find(|reading| reading.name == name)
            .map(|reading| reading.value)
    }
}
