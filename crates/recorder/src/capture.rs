//! From a trigger to an incident: what is being captured, and when it is complete.

use detect::Event;
use model::{Incident, Millis, Server, Stall, Timeline, Trigger, Window};

use crate::clock::RecorderClock;
use crate::config::RecorderConfig;
use crate::ring::Ring;

/// Rules named in an incident: a trigger of the user may come and go for as long as one lasts.
const TRIGGERS_MAX: usize = 20;

/// A stall that is being captured.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) id: String,
    pub(crate) stall: Stall,
    /// Verdicts given while the stall lasts.
    pub(crate) preliminary_given: usize,
}

impl Capture {
    /// Begins with a trigger, after this stall.
    pub(crate) fn begin(
        label: &str,
        clock: &RecorderClock,
        event: &Event,
        previous: Option<Window>,
    ) -> Option<Self> {
        let Event::Triggered {
            onset, at, trigger, ..
        } = event
        else {
            return None;
        };
        let mut capture = Self::of(label, clock, *onset, *at, trigger);
        capture.stall.previous = previous;
        Some(capture)
    }

    /// A stall that began at `onset` and was noticed at `at`.
    pub(crate) fn of(
        label: &str,
        clock: &RecorderClock,
        onset: Millis,
        at: Millis,
        trigger: &Trigger,
    ) -> Self {
        Self {
            id: format!("{label}-{}", stamp(clock.clock().wall_ms(at))),
            stall: Stall {
                onset,
                trigger: at,
                end: None,
                triggers: vec![trigger.clone()],
                previous: None,
            },
            preliminary_given: 0,
        }
    }

    /// Another rule, or one more episode. The same rule again says nothing new.
    pub(crate) fn add(&mut self, trigger: Trigger) {
        let triggers = &mut self.stall.triggers;
        let is_new = triggers
            .iter()
            .all(|known| known.rule != trigger.rule || trigger.rule == "user");
        if is_new && triggers.len() < TRIGGERS_MAX {
            triggers.push(trigger);
        }
    }

    /// When everything that belongs to it is there.
    pub(crate) fn complete_at(&self, config: &RecorderConfig) -> Millis {
        let latest = self.stall.onset.saturating_add(config.incident_max_ms);
        match self.stall.end {
            Some(end) => end.saturating_add(config.after_ms).min(latest),
            None => latest,
        }
    }

    /// The incident as the ring has it, up to `now`.
    pub(crate) fn incident(
        &self,
        config: &RecorderConfig,
        clock: &RecorderClock,
        ring: &Ring,
        server: Server,
        now: Millis,
    ) -> Incident {
        let mut incident = Incident {
            id: self.id.clone(),
            host: host_name(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            server,
            clock: clock.clock().clone(),
            stall: self.stall.clone(),
            window: Window {
                from: self.stall.onset.saturating_sub(config.before_ms),
                to: now,
            },
            timeline: Timeline::default(),
            texts: Vec::new(),
            facts: Vec::new(),
            stacks: model::StackEvidence::default(),
            queries: Vec::new(),
            absent: Vec::new(),
        };
        ring.fill(&mut incident);
        incident
    }
}

/// The host's name, as the kernel knows it.
pub fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map(|name| name.trim().to_owned())
        .unwrap_or_default()
}

/// `20261120T233015.123Z`: a moment as part of a file name.
fn stamp(wall_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(wall_ms)
        .map(|moment| moment.strftime("%Y%m%dT%H%M%S%.3fZ").to_string())
        .unwrap_or_else(|_| wall_ms.to_string())
}
