//! What is made of a capture: a verdict while the stall lasts, and the incident when all of it is there.

use std::time::{Duration, Instant};

use model::{Incident, Millis};

use super::Recorder;
use crate::held::Place;
use crate::queries;
use crate::stacks::RawEvidence;

/// When the verdict is renewed while a stall lasts, milliseconds after the trigger, after the first
/// one: evidence that takes long to gather is there by then.
const RENEWED_MS: [Millis; 5] = [5_000, 30_000, 120_000, 300_000, 540_000];

/// How long a complete incident waits for a place in memory, milliseconds. Who takes verdicts may hang.
const PLACE_WAIT_MS: Millis = 30_000;

/// The same at the end of a recording.
const LAST_PLACE_WAIT: Duration = Duration::from_secs(3);
const NAP: Duration = Duration::from_millis(20);

impl Recorder {
    /// Writes the incident that is complete, and gives a verdict that is due.
    pub(super) fn go_on_with_capture(&mut self, now: Millis) {
        let Some(capture) = &mut self.capture else {
            return;
        };
        let complete_at = capture.complete_at(&self.config);
        if now >= complete_at {
            let is_late = now >= complete_at + PLACE_WAIT_MS;
            let place = Place::take().or_else(|| is_late.then(Place::take_anyway));
            if let Some(place) = place {
                self.write_incident(now, place);
            }
            return;
        }
        let (first_ms, trigger) = (self.config.preliminary_ms, capture.stall.trigger);
        let is_due = |given: usize| {
            preliminary_after(given, first_ms).is_some_and(|after| now >= trigger + after)
        };
        if !capture.is_open(now) || !is_due(capture.preliminary_given) {
            return;
        }
        let Some(place) = Place::take() else {
            return;
        };
        // One that had to wait is the next one as well.
        while is_due(capture.preliminary_given) {
            capture.preliminary_given += 1;
        }
        if let Some((incident, raw)) = self.incident(now) {
            self.incidents.announce_preliminary(incident, raw, place);
        }
    }

    /// The incident as it is now, and its stacks, which have no names yet.
    pub(super) fn incident(&mut self, now: Millis) -> Option<(Incident, RawEvidence)> {
        let capture = self.capture.as_ref()?;
        let server = self.shared.describe(&self.version);
        let ring = &mut self.ring;
        let mut incident = capture.incident(&self.config, &self.clock, ring, server, now);
        incident.host = self.shared.host();
        incident.queries = queries::counted_around(&incident);
        incident
            .queries
            .extend(self.queries.between(incident.window));
        let raw = self.stacks.evidence(incident.window);
        Some((incident, raw))
    }

    pub(super) fn write_incident(&mut self, now: Millis, place: Place) {
        if let Some((incident, raw)) = self.incident(now) {
            self.capture = None;
            self.incidents.write(incident, raw, place);
        }
    }
}

/// A place for the incident that the end of a recording leaves: as many end together as are recorded.
pub(super) fn last_place() -> Place {
    let end = Instant::now() + LAST_PLACE_WAIT;
    loop {
        match Place::take() {
            Some(place) => return place,
            None if Instant::now() >= end => return Place::take_anyway(),
            None => std::thread::sleep(NAP),
        }
    }
}

/// When the verdict is given that follows so many, milliseconds after the trigger.
fn preliminary_after(given: usize, first_ms: Millis) -> Option<Millis> {
    match given.checked_sub(1) {
        None => Some(first_ms),
        Some(index) => RENEWED_MS.get(index).copied(),
    }
}
