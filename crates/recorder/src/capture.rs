//! From a trigger to an incident: what is being captured, and when it is complete.

use model::{Incident, Millis, Server, Stall, Timeline, Trigger, Window};

use crate::clock::RecorderClock;
use crate::config::RecorderConfig;
use crate::host::host_name;
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
    /// Somebody asked for it to go on until then. Without a stall that is where it ends.
    pub(crate) asked_until: Option<Millis>,
}

impl Capture {
    /// A stall that began at `onset` and was noticed at `at`.
    pub(crate) fn from_trigger(
        label: &str,
        clock: &RecorderClock,
        onset: Millis,
        at: Millis,
        trigger: &Trigger,
    ) -> Self {
        Self {
            id: incident_id(label, clock.clock().wall_ms(at)),
            stall: Stall {
                onset,
                trigger: at,
                end: None,
                triggers: vec![trigger.clone()],
                earlier: Vec::new(),
            },
            preliminary_given: 0,
            asked_until: None,
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

    /// One more stall in it. What was asked for before is about that one from now on.
    pub(crate) fn stalls(&mut self, onset: Millis, at: Millis, trigger: &Trigger) {
        if self.is_request_only() {
            (self.stall.onset, self.stall.trigger) = (onset, at);
            self.stall.triggers.insert(0, trigger.clone());
        }
        self.stall.end = None;
        self.add(trigger.clone());
    }

    /// Somebody wants to see more.
    pub(crate) fn extend_until(&mut self, until: Millis, trigger: Trigger) {
        let until = until.max(self.asked_until.unwrap_or(0));
        self.asked_until = Some(until);
        if self.is_request_only() {
            self.stall.end = Some(until);
        }
        self.add(trigger);
    }

    /// Nobody has seen a stall in it so far: it was asked for.
    pub(crate) fn is_request_only(&self) -> bool {
        self.stall.is_request_only()
    }

    /// A stall lasts, or somebody wants to see more.
    pub(crate) fn is_open(&self, now: Millis) -> bool {
        self.stall.end.is_none() || self.asked_until.is_some_and(|until| now < until)
    }

    /// When everything that belongs to it is there.
    pub(crate) fn complete_at(&self, config: &RecorderConfig) -> Millis {
        let latest = self.stall.onset.saturating_add(config.incident_max_ms);
        let after_stall = match self.stall.end {
            // Nothing is over, so there is no time after it.
            Some(_) if self.is_request_only() => 0,
            Some(end) => end.saturating_add(config.after_ms),
            None => latest,
        };
        let asked = self.asked_until.unwrap_or(0);
        // What was asked for is given, however long the stall has been.
        after_stall.min(latest).max(asked)
    }

    /// The incident as the ring has it, up to `now`.
    pub(crate) fn incident(
        &self,
        config: &RecorderConfig,
        clock: &RecorderClock,
        ring: &mut Ring,
        server: Server,
        now: Millis,
    ) -> Incident {
        let mut stall = self.stall.clone();
        // An end that was asked for may be ahead.
        stall.end = stall.end.map(|end| end.min(now));
        let mut incident = Incident {
            mentions: Vec::new(),
            known_words: Vec::new(),
            id: self.id.clone(),
            host: host_name(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            server,
            clock: clock.clock(),
            stall,
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

/// The name of an incident of this server that was noticed then, milliseconds since 1970.
pub fn incident_id(label: &str, wall_ms: i64) -> String {
    format!("{label}-{}", stamp(wall_ms))
}

/// `20261120T233015.123Z`: a moment as part of a file name.
fn stamp(wall_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(wall_ms)
        .map(|moment| moment.strftime("%Y%m%dT%H%M%S%.3fZ").to_string())
        .unwrap_or_else(|_| wall_ms.to_string())
}
