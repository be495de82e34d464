//! What becomes of what the detector tells: a stall begins, goes on, lasts, is over.

use std::sync::atomic::Ordering;

use detect::{Announce, Event};
use model::{EARLIER_MAX, Incident, Millis, Stall, Trigger, Window};

use super::Recorder;
use crate::capture::Capture;
use crate::capture_requests::CapturePromise;
use crate::held::Place;
use crate::notice::Notice;
use crate::queries;

/// When it is told that a stall lasts, milliseconds after its onset; then each time the last of them.
const LASTS_MS: [Millis; 3] = [60_000, 300_000, 600_000];

/// The stall that lasts.
pub(super) struct OngoingStall {
    onset: Millis,
    at: Millis,
    trigger: Trigger,
    is_captured: bool,
    /// Times that it was told to last, and the moment of the next.
    told: usize,
    next: Millis,
}

impl Recorder {
    pub(super) fn handle(&mut self, event: Event) {
        match event {
            Event::Triggered {
                onset,
                at,
                trigger,
                announce,
            } => {
                let is_captured = match announce {
                    _ if self.is_capturing_on_request() => {
                        self.go_on_capturing(onset, at, &trigger)
                    }
                    Announce::New => {
                        self.begin_capture(onset, at, &trigger);
                        true
                    }
                    Announce::SameIncident => self.go_on_capturing(onset, at, &trigger),
                    Announce::OverLimit => false,
                };
                self.lasting = Some(OngoingStall {
                    onset,
                    at,
                    trigger: trigger.clone(),
                    is_captured,
                    told: 0,
                    next: onset + LASTS_MS[0],
                });
                self.begin_stall(&trigger.says, onset);
                if !is_captured {
                    let clock = self.clock.clock();
                    self.notices.send(Notice::Suppressed {
                        onset_wall_ms: clock.wall_ms(onset),
                        trigger_wall_ms: clock.wall_ms(at),
                        trigger: trigger.clone(),
                    });
                }
            }
            Event::Joined { trigger, .. } => {
                if let Some(capture) = &mut self.capture {
                    capture.add(trigger.clone());
                }
                if self
                    .lasting
                    .as_ref()
                    .is_some_and(|lasting| lasting.is_captured)
                {
                    self.notices.send(Notice::Joined(trigger));
                }
                self.note_open();
            }
            Event::Ended { end, at } => self.end(end, at),
        }
    }

    /// The server does not serve its clients.
    fn begin_stall(&self, says: &str, onset: Millis) {
        self.shared.stalled.store(true, Ordering::Relaxed);
        let lasts_ms = self.clock.now().saturating_sub(onset);
        self.pulse.stalled(says, lasts_ms);
    }

    /// An incident is under way that was asked for: what stalls now belongs to it.
    fn is_capturing_on_request(&self) -> bool {
        self.capture
            .as_ref()
            .is_some_and(|capture| capture.asked_until.is_some())
    }

    /// An incident of its own.
    fn begin_capture(&mut self, onset: Millis, at: Millis, trigger: &Trigger) {
        let capture = Capture::from_trigger(&self.label, &self.clock, onset, at, trigger);
        let id = capture.id.clone();
        self.keep_capturing(capture);
        let clock = self.clock.clock();
        self.notices.send(Notice::Triggered {
            id,
            onset_wall_ms: clock.wall_ms(onset),
            trigger_wall_ms: clock.wall_ms(at),
            trigger: trigger.clone(),
        });
    }

    /// Takes all that an incident holds, from now on.
    fn keep_capturing(&mut self, mut capture: Capture) {
        let now = self.clock.now();
        // The stall before may still be in its last seconds: it is complete enough.
        if self.capture.is_some() {
            self.write_incident(now, Place::take_anyway());
        }
        let reach = capture.stall.onset.saturating_sub(self.config.before_ms);
        self.earlier.retain(|stall| stall.to > reach);
        capture.stall.earlier.clone_from(&self.earlier);
        self.shared.burst.store(true, Ordering::Relaxed);
        self.stacks.begin_burst(now);
        if let Some(raw) = self.stacks.first_to_name(now) {
            self.incidents.name_first(raw);
        }
        self.queries.begin_burst(now);
        self.wake.ring();
        self.listen_by_general_log();
        self.capture = Some(capture);
        // On its way to the disk before anybody is told: we may be killed at any moment.
        self.hand_over();
        self.note_open();
    }

    /// Somebody wants an incident of the next time, stall or not. It does not count for the limit an
    /// hour; what stalls meanwhile joins it.
    pub(super) fn capture_now(&mut self, now: Millis, for_ms: Millis) -> CapturePromise {
        let for_ms = for_ms.min(self.config.incident_max_ms);
        let until = now.saturating_add(for_ms);
        let trigger = Trigger {
            rule: Stall::REQUESTED.to_owned(),
            says: "an incident was requested".to_owned(),
        };
        let id = match self.capture.as_mut().filter(|capture| capture.is_open(now)) {
            Some(capture) => {
                capture.extend_until(until, trigger);
                capture.id.clone()
            }
            None => {
                let capture = self.requested(now, until, trigger);
                let id = capture.id.clone();
                self.keep_capturing(capture);
                id
            }
        };
        self.note_open();
        self.notices.send(Notice::Asked {
            id: id.clone(),
            for_ms,
        });
        CapturePromise {
            label: self.label.clone(),
            id,
            for_ms,
        }
    }

    /// An incident of its own that was asked for. Of a stall that lasts and is not captured (the limit
    /// an hour, or its incident is as long as it may be) it holds as much as one does.
    fn requested(&mut self, now: Millis, until: Millis, trigger: Trigger) -> Capture {
        let reach = now.saturating_sub(self.config.before_ms);
        let mut capture = match &mut self.lasting {
            Some(lasting) => {
                lasting.is_captured = true;
                let onset = lasting.onset.max(reach);
                Capture::from_trigger(&self.label, &self.clock, onset, now, &lasting.trigger)
            }
            None => Capture::from_trigger(&self.label, &self.clock, now, now, &trigger),
        };
        capture.extend_until(until, trigger);
        capture
    }

    /// One more episode of the incident that is under way; an incident that is as long as it may be
    /// takes none.
    fn go_on_capturing(&mut self, onset: Millis, at: Millis, trigger: &Trigger) -> bool {
        let Some(capture) = &mut self.capture else {
            return false;
        };
        capture.stalls(onset, at, trigger);
        let id = capture.id.clone();
        self.stacks.begin_burst(self.clock.now());
        self.note_open();
        let clock = self.clock.clock();
        self.notices.send(Notice::Again {
            id,
            onset_wall_ms: clock.wall_ms(onset),
            trigger_wall_ms: clock.wall_ms(at),
            trigger: trigger.clone(),
        });
        true
    }

    fn end(&mut self, end: Millis, now: Millis) {
        self.pulse.over();
        self.shared.stalled.store(false, Ordering::Relaxed);
        self.shared.stall_over_at.store(now, Ordering::Relaxed);
        let Some(lasting) = self.lasting.take() else {
            return;
        };
        let mut from = lasting.onset;
        if lasting.is_captured
            && let Some(capture) = &mut self.capture
        {
            capture.stall.end = Some(end);
            from = capture.stall.onset;
        }
        self.earlier.push(Window { from, to: end });
        let over = self.earlier.len().saturating_sub(EARLIER_MAX);
        self.earlier.drain(..over);
        let suppressed =
            (!lasting.is_captured).then(|| Box::new(self.remembered(&lasting, end, now)));
        let clock = self.clock.clock();
        self.notices.send(Notice::Ended {
            onset_wall_ms: clock.wall_ms(lasting.onset),
            end_wall_ms: clock.wall_ms(end),
            suppressed,
        });
        self.note_open();
    }

    /// A stall that is not captured, as the ring has it: enough to say what it was.
    fn remembered(&mut self, lasting: &OngoingStall, end: Millis, now: Millis) -> Incident {
        let mut capture = Capture::from_trigger(
            &self.label,
            &self.clock,
            lasting.onset,
            lasting.at,
            &lasting.trigger,
        );
        capture.stall.end = Some(end);
        let server = self.shared.describe(&self.version);
        let ring = &mut self.ring;
        let mut incident = capture.incident(&self.config, &self.clock, ring, server, now);
        incident.host = self.shared.host();
        incident.queries = queries::counted_around(&incident);
        incident
    }

    /// A stall that does not end is not forgotten.
    pub(super) fn notice_ongoing_stall(&mut self, now: Millis) {
        let Some(lasting) = self.lasting.as_mut().filter(|lasting| now >= lasting.next) else {
            return;
        };
        lasting.told += 1;
        lasting.next = match LASTS_MS.get(lasting.told) {
            Some(after) => lasting.onset + after,
            None => now + LASTS_MS.last().copied().unwrap_or(1),
        };
        let (onset, says) = (lasting.onset, lasting.trigger.says.clone());
        self.notices.send(Notice::Lasts {
            onset_wall_ms: self.clock.clock().wall_ms(onset),
            says,
        });
    }
}
