//! What is kept of a sweep: a line of JSON for each stall, each alarm and each piece of healthy time.

use serde::{Deserialize, Serialize};
use testbed::ServerKind;

use super::cells::Cell;
use super::client_latency::ClientStall;
use super::notices::Notice;
use crate::product::program;

/// A stall that is felt this long, seconds, must nearly always be noticed.
pub(super) const LONG_S: f64 = 4.5;

/// One that is felt this long, seconds, often. What is shorter is told of, and promised nowhere.
pub(super) const SHORT_S: f64 = 1.5;

/// At least one client must hang in this share of a stall, or it was only a slow moment here and there.
pub(super) const SHARE_MIN: f64 = 0.5;

/// One line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(super) enum Line {
    Stall(Box<Stall>),
    FalseAlarm(Alarm),
    Healthy(Healthy),
    Watched(Watched),
}

/// From where a line is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct From {
    /// Version of the program that recorded.
    pub(super) version: String,
    /// When its file was made: that of a build. RFC 3339.
    pub(super) build: String,
    /// The server, by [`ServerKind::need`].
    pub(super) server: String,
    /// The stage: its directory.
    pub(super) stage: String,
}

/// One cell, once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Stall {
    #[serde(flatten)]
    pub(super) from: From,
    pub(super) cell: Cell,
    /// From when to when it was done, wall-clock milliseconds.
    pub(super) done_ms: (i64, i64),
    /// From the end of the felt stall before, seconds; None: it was the first one.
    pub(super) distance_s: Option<f64>,
    /// What its users felt. None: nobody hung.
    pub(super) felt: Option<ClientStall>,
    /// The usual time of an answer, milliseconds.
    pub(super) usual_ms: f64,
    /// Something of its own was told of it.
    pub(super) noticed: bool,
    /// What was told of an earlier stall went on over it.
    pub(super) merged: bool,
    pub(super) pieces: usize,
    pub(super) delay_s: Option<f64>,
    pub(super) onset_error_s: Option<f64>,
    pub(super) end_error_s: Option<f64>,
    pub(super) rule: Option<String>,
    pub(super) says: Option<String>,
    /// Processes that wanted to run on this machine when it was over, a processor.
    pub(super) machine_load: f64,
}

/// Something told of nothing that anybody felt.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Alarm {
    #[serde(flatten)]
    pub(super) from: From,
    /// What was going on.
    pub(super) beside: String,
    pub(super) onset_ms: i64,
    pub(super) trigger_ms: i64,
    pub(super) end_ms: Option<i64>,
    pub(super) rule: String,
    pub(super) says: String,
}

/// One piece of healthy work.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Healthy {
    #[serde(flatten)]
    pub(super) from: From,
    pub(super) item: String,
    pub(super) seconds: f64,
    pub(super) false_alarms: usize,
    /// Told while the users hung as well.
    pub(super) felt: usize,
    /// Why it was not done.
    pub(super) skipped: Option<String>,
}

/// Time of a stage in which nothing was done to its server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Watched {
    #[serde(flatten)]
    pub(super) from: From,
    pub(super) seconds: f64,
}

/// How long a stall was felt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Length {
    /// Nobody hung, or only here and there.
    NotFelt,
    /// Shorter than [`SHORT_S`].
    Moment,
    /// About two seconds.
    Short,
    /// About five seconds or more.
    Long,
}

impl Stall {
    pub(super) fn length(&self) -> Length {
        match &self.felt {
            None => Length::NotFelt,
            Some(felt) if felt.share < SHARE_MIN => Length::NotFelt,
            Some(felt) if felt.seconds() < SHORT_S => Length::Moment,
            Some(felt) if felt.seconds() < LONG_S => Length::Short,
            Some(_) => Length::Long,
        }
    }

    /// It was felt as long as a promise needs.
    pub(super) fn counts(&self) -> bool {
        self.length() >= Length::Short
    }
}

impl From {
    pub(super) fn here(kind: ServerKind, stage: &str) -> Self {
        let made = program()
            .ok()
            .and_then(|program| program.metadata().ok()?.modified().ok())
            .and_then(|time| jiff::Timestamp::try_from(time).ok());
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            build: made.map_or_else(String::new, |made| {
                made.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
            }),
            server: kind.need().to_owned(),
            stage: stage.to_owned(),
        }
    }
}

impl Line {
    /// What somebody should look at.
    pub(super) fn is_failure(&self) -> bool {
        match self {
            Self::Stall(stall) => stall.counts() && !stall.noticed,
            Self::FalseAlarm(_) => true,
            Self::Healthy(_) | Self::Watched(_) => false,
        }
    }
}

impl Alarm {
    pub(super) fn new(from: &From, beside: String, told: &Notice) -> Self {
        Self {
            from: from.clone(),
            beside,
            onset_ms: told.onset_ms,
            trigger_ms: told.trigger_ms,
            end_ms: told.end_ms,
            rule: told.rule.clone(),
            says: told.says.clone(),
        }
    }
}
