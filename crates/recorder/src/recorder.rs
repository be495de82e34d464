use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, sync_channel};
use std::time::Duration;

use detect::{ASKED, Announce, Detector, Event};
use model::{
    Absent, Incident, Millis, ProbeOutcome, Reading, Reason, Sample, Taken, Trigger, Unit, Window,
};
use store::{Around, OpenIncident, SessionStart};
use thiserror::Error;

use crate::capture::{Capture, host_name};
use crate::clock::RecorderClock;
use crate::config::RecorderConfig;
use crate::general_log::Listening;
use crate::in_flight::InFlight;
use crate::incidents::Incidents;
use crate::keeper::{KeeperStart, not_recorded};
use crate::learnt::Learnt;
use crate::notice::{Notice, Notices};
use crate::pulse::Pulse;
use crate::queries::{self, QueryWatch};
use crate::ring::Ring;
use crate::stacks::{RawEvidence, StackWatch};
use crate::table::{SOURCES, index_of};
use crate::target::{Shared, Target};
use crate::worker::{self, Context};
use crate::writer::Writer;

/// Samples that may wait for the recorder's thread: half a minute of all sources.
const SAMPLES_MAX: usize = 1024;

/// How often the ring is measured for others, milliseconds.
const PULSE_RING_MS: Millis = 2000;

/// How often the recorder looks at what is in flight, milliseconds.
const BEAT_MS: Millis = 250;

/// What the ring keeps beyond the time before an onset, milliseconds: minutes for a live look.
const RING_SPARE_MS: Millis = 120_000;

/// When a trigger's signal that nothing brought is told, milliseconds: after the slowest source.
const UNKNOWN_AFTER_MS: Millis = 35_000;

/// How long an incident is that somebody asked for, milliseconds: what runs once in ten seconds comes
/// twice in it.
const ASKED_MS: Millis = 30_000;

/// How often what is usual is written down, milliseconds.
const LEARNT_EVERY_MS: Millis = 60_000;

/// When the verdict is renewed while a stall lasts, milliseconds after the trigger, after the first
/// one: evidence that takes long to gather is there by then.
const RENEWED_MS: [Millis; 4] = [30_000, 120_000, 300_000, 540_000];

/// When it is told that a stall lasts, milliseconds after its onset; then each time the last of them.
const LASTS_MS: [Millis; 3] = [60_000, 300_000, 600_000];

/// How long the end of a recording waits for the disk.
const LAST_FLUSH: Duration = Duration::from_secs(5);

/// Why recording cannot begin.
#[derive(Debug, Error)]
pub enum RecorderError {
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// Records one server.
pub struct Recorder {
    config: RecorderConfig,
    clock: RecorderClock,
    shared: Arc<Shared>,
    stacks: Arc<StackWatch>,
    queries: Arc<QueryWatch>,
    in_flight: Arc<InFlight>,
    samples: Receiver<Sample>,
    lost: Arc<AtomicU64>,
    told_lost: u64,
    told_missing: u64,
    stop: Arc<AtomicBool>,
    /// Somebody wants an incident now.
    asked: Arc<AtomicBool>,
    notices: Notices,
    label: String,
    detector: Detector,
    ring: Ring,
    writer: Option<Writer>,
    batch: Vec<Sample>,
    batch_since: Millis,
    capture: Option<Capture>,
    /// The stall that lasts, captured or not.
    lasting: Option<Lasting>,
    learnt_due: Millis,
    /// The last stall that is over.
    previous: Option<Window>,
    incidents: Incidents,
    unknown_told: bool,
    version: String,
    told_absent: Vec<(String, Reason)>,
    overdue: Vec<bool>,
    pulse: Arc<Pulse>,
    pulse_due: Millis,
}

/// The stall that lasts.
struct Lasting {
    onset: Millis,
    at: Millis,
    trigger: Trigger,
    is_captured: bool,
    /// Times that it was told to last, and the moment of the next.
    told: usize,
    next: Millis,
}

impl Recorder {
    /// Starts the readers. `stop` ends the recording; notices carry the target's label.
    pub fn start(
        target: Target,
        mut config: RecorderConfig,
        stop: Arc<AtomicBool>,
        notices: Sender<(String, Notice)>,
    ) -> Result<Self, RecorderError> {
        let label = target.label.clone();
        let notices = Notices {
            label: label.clone(),
            sender: notices,
        };
        // What is written already cannot get one more episode.
        let hysteresis = &mut config.detect.hysteresis;
        hysteresis.same_incident_ms = hysteresis.same_incident_ms.min(config.after_ms);
        let learnt = Learnt::of(&config.dir, &label);
        let clock = RecorderClock::start();
        let shared = Arc::new(Shared::new(target));
        shared.know_classes(&learnt.statements);
        let in_flight = Arc::new(InFlight::new());
        let lost = Arc::new(AtomicU64::new(0));
        let server = shared.describe("");
        let writer = match config.history {
            Some(limits) => Some(Writer::start(
                KeeperStart {
                    path: config.dir.join(format!("history-{label}.db")),
                    dir: config.dir.clone(),
                    limits,
                    session: SessionStart {
                        clock: clock.clock().clone(),
                        host: host_name(),
                        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
                        server: server.clone(),
                    },
                    around: Around {
                        before_ms: config.before_ms,
                        after_ms: config.after_ms,
                        longest_ms: config.incident_max_ms,
                    },
                },
                notices.clone(),
            )?),
            None => None,
        };
        let (sender, samples) = sync_channel(SAMPLES_MAX);
        let stacks = Arc::new(StackWatch::new());
        let queries = Arc::new(QueryWatch::default());
        let context = Context {
            stacks: stacks.clone(),
            queries: queries.clone(),
            clock: clock.clone(),
            shared: shared.clone(),
            in_flight: in_flight.clone(),
            samples: sender,
            lost: lost.clone(),
            stop: stop.clone(),
        };
        worker::start(&context, &config)?;
        notices.send(Notice::Started(server));
        Ok(Self {
            detector: Detector::with_learnt(config.detect.clone(), &learnt.usual),
            incidents: Incidents::new(&config.dir, notices.clone(), stop.clone(), stacks.clone()),
            config,
            clock,
            shared,
            stacks,
            queries,
            in_flight,
            samples,
            lost,
            told_lost: 0,
            told_missing: 0,
            stop,
            asked: Arc::default(),
            notices,
            label,
            ring: Ring::default(),
            writer,
            batch: Vec::new(),
            batch_since: 0,
            capture: None,
            lasting: None,
            learnt_due: LEARNT_EVERY_MS,
            previous: None,
            unknown_told: false,
            version: String::new(),
            told_absent: Vec::new(),
            overdue: vec![false; SOURCES.len()],
            pulse: Arc::new(Pulse::default()),
            pulse_due: 0,
        })
    }

    /// How this recorder does, for others to look at.
    pub fn pulse(&self) -> Arc<Pulse> {
        self.pulse.clone()
    }

    /// Set it, and an incident begins, stall or not.
    pub fn asked(&self) -> Arc<AtomicBool> {
        self.asked.clone()
    }

    /// Records until it is stopped. A stall that is being captured then is written as it is.
    pub fn run(mut self) {
        let mut next_beat = self.clock.now() + BEAT_MS;
        while !self.stop.load(Ordering::Relaxed) {
            let wait = next_beat.saturating_sub(self.clock.now());
            match self.samples.recv_timeout(Duration::from_millis(wait)) {
                Ok(sample) => self.take(sample),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.clock.now() >= next_beat {
                next_beat = self.clock.now() + BEAT_MS;
                self.beat();
            }
        }
        self.finish();
    }

    fn take(&mut self, mut sample: Sample) {
        self.ring.add(&mut sample);
        self.pulse.sample(&sample);
        self.tell_news(&sample);
        let events = self.detector.observe(&sample);
        for event in events {
            self.handle(event);
        }
        if self.batch.is_empty() {
            self.batch_since = sample.at;
        }
        self.batch.push(sample);
    }

    fn tell_news(&mut self, sample: &Sample) {
        let absences: &[Absent] = match &sample.outcome {
            Ok(taken) => &taken.absent,
            Err(absent) => std::slice::from_ref(absent),
        };
        for absent in absences {
            let key = (absent.what.clone(), absent.reason);
            if !self.told_absent.contains(&key) {
                self.told_absent.push(key);
                self.notices.send(Notice::Absent(absent.clone()));
            }
        }
        if let Some(version) = self.ring.fact("server.version")
            && version != self.version
        {
            self.version = version.to_owned();
            self.notices.send(Notice::Version(self.version.clone()));
            if let Some(writer) = &mut self.writer {
                writer.server(self.shared.describe(&self.version));
            }
        }
    }

    /// Everything that is due by time and not by a sample.
    fn beat(&mut self) {
        let now = self.clock.now();
        if self.asked.swap(false, Ordering::Relaxed) {
            let event = self.detector.ask(now, now + ASKED_MS);
            self.handle(event);
        }
        self.tell_pulse(now);
        self.watch_in_flight(now);
        if let Some(capture) = &mut self.capture {
            if now >= capture.complete_at(&self.config) {
                self.write_incident(now);
            } else if capture.stall.end.is_none()
                && preliminary_after(capture.preliminary_given, self.config.preliminary_ms)
                    .is_some_and(|after| now >= capture.stall.trigger + after)
            {
                capture.preliminary_given += 1;
                if let Some((incident, raw)) = self.incident(now) {
                    self.incidents.tell_preliminary(incident, raw);
                }
            }
        }
        self.tell_lasting(now);
        self.keep_learnt(now);
        self.note_written();
        self.tell_unknown_signals(now);
        let keep_from = match &self.capture {
            Some(capture) => capture.stall.onset.saturating_sub(self.config.before_ms),
            None => now.saturating_sub(self.config.before_ms + RING_SPARE_MS),
        };
        self.ring.forget_before(keep_from);
        let stalling = self
            .capture
            .as_ref()
            .is_some_and(|capture| capture.stall.end.is_none());
        self.stacks.beat(now, stalling, keep_from);
        self.queries.beat(now, stalling, keep_from);
        if now >= self.batch_since + 1000 {
            self.hand_over();
        }
        let lost = self.lost.load(Ordering::Relaxed);
        self.pulse.lost(lost);
        if lost > self.told_lost {
            self.notices.send(Notice::Lost(lost - self.told_lost));
            self.told_lost = lost;
            self.take_own(vec![Reading::counter(
                "recorder.lost_samples",
                Unit::Count,
                lost as f64,
            )]);
        }
        let missing = self.writer.as_ref().map_or(0, Writer::missing);
        if missing > self.told_missing {
            self.told_missing = missing;
            let name = "recorder.history_missing_samples";
            self.take_own(vec![Reading::counter(name, Unit::Count, missing as f64)]);
        }
    }

    fn tell_pulse(&mut self, now: Millis) {
        self.pulse.beat();
        if now < self.pulse_due {
            return;
        }
        self.pulse_due = now + PULSE_RING_MS;
        let [series, values, texts, absent] = self.ring.size();
        self.pulse.ring(series, values, texts, absent);
    }

    /// A stall that does not end is not forgotten.
    fn tell_lasting(&mut self, now: Millis) {
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

    fn keep_learnt(&mut self, now: Millis) {
        if now < self.learnt_due {
            return;
        }
        self.learnt_due = now + LEARNT_EVERY_MS;
        let learnt = Learnt {
            usual: self.detector.learnt(),
            statements: self.shared.learnt_classes(),
        };
        if let Some(writer) = &mut self.writer {
            writer.learnt(learnt);
        }
    }

    fn note_written(&mut self) {
        if let Some(writer) = &mut self.writer {
            for id in self.incidents.written() {
                writer.written(id);
            }
        }
    }

    /// A mistyped trigger would be silent for ever.
    fn tell_unknown_signals(&mut self, now: Millis) {
        if self.unknown_told || now < UNKNOWN_AFTER_MS {
            return;
        }
        self.unknown_told = true;
        for trigger in &self.config.detect.user {
            if !self.ring.has_signal(trigger.signal()) {
                self.notices.send(Notice::UnknownSignal {
                    trigger: trigger.text.clone(),
                    signal: trigger.signal().to_owned(),
                });
            }
        }
    }

    fn hand_over(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let batch = std::mem::take(&mut self.batch);
        if let Some(writer) = &mut self.writer {
            writer.samples(batch, self.capture.is_some());
        }
    }

    /// What does not come back is evidence while it is missing: a hanging probe is a signal, any
    /// other source an absence, once per reading.
    fn watch_in_flight(&mut self, now: Millis) {
        let mut waiting = Vec::new();
        for (source, name) in [
            ("query-probe", "probe.query_waiting_us"),
            ("connect-probe", "probe.connect_waiting_us"),
        ] {
            let since = index_of(source).and_then(|index| self.in_flight.since(index));
            if let Some(since) = since
                && now >= since + self.config.detect.probe_limit_ms
            {
                let us = (now - since) as f64 * 1000.0;
                waiting.push(Reading::gauge(name, Unit::Microseconds, us));
            }
        }
        if !waiting.is_empty() {
            self.take_own(waiting);
        }
        for (index, source) in SOURCES.iter().enumerate() {
            let since = self.in_flight.since(index);
            let overdue = since.is_some_and(|since| now >= since + source.deadline_ms);
            let was = std::mem::replace(&mut self.overdue[index], overdue);
            if !overdue || was {
                continue;
            }
            self.pulse.missed_deadline();
            if let Some(readings) = unanswered_probe(source.name, now - since.unwrap_or(now)) {
                self.take(Sample {
                    source: source.name,
                    at: now,
                    took_us: source.deadline_ms * 1000,
                    outcome: Ok(Taken {
                        readings,
                        ..Taken::default()
                    }),
                });
            } else {
                let detail = format!("no answer for {} ms", source.deadline_ms);
                self.take(Sample {
                    source: source.name,
                    at: now,
                    took_us: source.deadline_ms * 1000,
                    outcome: Err(Absent::new(source.name, Reason::Deadline, detail)),
                });
            }
        }
    }

    fn take_own(&mut self, readings: Vec<Reading>) {
        self.take(Sample {
            source: "recorder",
            at: self.clock.now(),
            took_us: 0,
            outcome: Ok(Taken {
                readings,
                ..Taken::default()
            }),
        });
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Triggered {
                onset,
                at,
                ref trigger,
                announce,
            } => {
                let is_captured = match announce {
                    Announce::New => self.begin_capture(&event),
                    Announce::SameIncident => self.go_on_capturing(onset, at, trigger),
                    Announce::OverLimit => false,
                };
                self.lasting = Some(Lasting {
                    onset,
                    at,
                    trigger: trigger.clone(),
                    is_captured,
                    told: 0,
                    next: onset + LASTS_MS[0],
                });
                // Who asks for an incident says nothing of the server.
                if trigger.rule != ASKED {
                    self.begin_stall(&trigger.says, onset);
                }
                if !is_captured {
                    let clock = self.clock.clock();
                    self.notices.send(Notice::Suppressed {
                        onset_wall_ms: clock.wall_ms(onset),
                        trigger_wall_ms: clock.wall_ms(at),
                        trigger: trigger.clone(),
                    });
                }
            }
            Event::Joined { at, trigger } => {
                if trigger.rule != ASKED && !self.shared.stalled.load(Ordering::Relaxed) {
                    self.begin_stall(&trigger.says, at);
                }
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

    /// An incident of its own.
    fn begin_capture(&mut self, event: &Event) -> bool {
        let Event::Triggered {
            onset, at, trigger, ..
        } = event
        else {
            return false;
        };
        // The stall before may still be in its last seconds: it is complete enough.
        if self.capture.is_some() {
            self.write_incident(*at);
        }
        let reach = onset.saturating_sub(self.config.before_ms);
        let previous = self.previous.filter(|stall| stall.to > reach);
        let Some(capture) = Capture::begin(&self.label, &self.clock, event, previous) else {
            return false;
        };
        self.shared.burst.store(true, Ordering::Relaxed);
        self.stacks.begin_burst(self.clock.now());
        self.queries.begin_burst(self.clock.now());
        self.listen_by_general_log();
        let id = capture.id.clone();
        self.capture = Some(capture);
        // On its way to the disk before anybody is told: we may be killed at any moment.
        self.hand_over();
        self.note_open();
        let clock = self.clock.clock();
        self.notices.send(Notice::Triggered {
            id,
            onset_wall_ms: clock.wall_ms(*onset),
            trigger_wall_ms: clock.wall_ms(*at),
            trigger: trigger.clone(),
        });
        true
    }

    /// One more episode of the incident that is under way; an incident that is as long as it may be
    /// takes none.
    fn go_on_capturing(&mut self, onset: Millis, at: Millis, trigger: &Trigger) -> bool {
        let Some(capture) = &mut self.capture else {
            return false;
        };
        capture.stall.end = None;
        capture.add(trigger.clone());
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
        let Some(lasting) = self.lasting.take() else {
            return;
        };
        if lasting.is_captured {
            if let Some(capture) = &mut self.capture {
                capture.stall.end = Some(end);
            }
            let from = match &self.capture {
                Some(capture) => capture.stall.onset,
                None => lasting.onset,
            };
            self.previous = Some(Window { from, to: end });
        }
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
    fn remembered(&self, lasting: &Lasting, end: Millis, now: Millis) -> Incident {
        let mut capture = Capture::of(
            &self.label,
            &self.clock,
            lasting.onset,
            lasting.at,
            &lasting.trigger,
        );
        capture.stall.end = Some(end);
        let server = self.shared.describe(&self.version);
        let mut incident = capture.incident(&self.config, &self.clock, &self.ring, server, now);
        incident.queries = queries::counted_around(&incident);
        incident
    }

    fn listen_by_general_log(&self) {
        let Some(permit) = &self.config.general_log else {
            return;
        };
        let listening = Listening {
            shared: self.shared.clone(),
            queries: self.queries.clone(),
            clock: self.clock.clone(),
            notices: self.notices.clone(),
            stop: self.stop.clone(),
        };
        listening.begin(permit);
    }

    /// Writes down that an incident is under way, for the case that we are killed.
    fn note_open(&mut self) {
        if let (Some(capture), Some(writer)) = (&self.capture, &mut self.writer) {
            writer.incident(OpenIncident {
                id: capture.id.clone(),
                stall: capture.stall.clone(),
            });
        }
    }

    /// The incident as it is now, and its stacks, which have no names yet.
    fn incident(&self, now: Millis) -> Option<(Incident, RawEvidence)> {
        let capture = self.capture.as_ref()?;
        let server = self.shared.describe(&self.version);
        let mut incident = capture.incident(&self.config, &self.clock, &self.ring, server, now);
        incident.queries = queries::counted_around(&incident);
        incident
            .queries
            .extend(self.queries.between(incident.window));
        let raw = self.stacks.evidence(incident.window);
        Some((incident, raw))
    }

    fn write_incident(&mut self, now: Millis) {
        if let Some((incident, raw)) = self.incident(now) {
            self.capture = None;
            self.incidents.write(incident, raw);
        }
    }

    fn finish(mut self) {
        let now = self.clock.now();
        if let Some((mut incident, raw)) = self.incident(now) {
            if incident.stall.end.is_none() {
                let detail = "the recorder was stopped while it lasted";
                incident.absent.push(not_recorded(now, detail));
            }
            self.incidents.write(incident, raw);
        }
        self.hand_over();
        self.incidents.wait(LAST_FLUSH);
        self.note_written();
        if let Some(writer) = &mut self.writer {
            writer.flush(LAST_FLUSH);
        }
        self.notices.send(Notice::Stopped);
    }
}

/// When the verdict is given that follows so many, milliseconds after the trigger.
fn preliminary_after(given: usize, first_ms: Millis) -> Option<Millis> {
    match given.checked_sub(1) {
        None => Some(first_ms),
        Some(index) => RENEWED_MS.get(index).copied(),
    }
}

/// The readings of a probe that is not back at its deadline: it has timed out, and the answer that
/// may still come is a reading of its own.
fn unanswered_probe(source: &str, waited_ms: Millis) -> Option<Vec<Reading>> {
    let (latency, outcome) = match source {
        "query-probe" => ("probe.query_us", "probe.query_outcome"),
        "connect-probe" => ("probe.connect_us", "probe.connect_outcome"),
        _ => return None,
    };
    Some(vec![
        Reading::gauge(latency, Unit::Microseconds, waited_ms as f64 * 1000.0),
        Reading::gauge(outcome, Unit::Code, ProbeOutcome::TimedOut.code()),
    ])
}
