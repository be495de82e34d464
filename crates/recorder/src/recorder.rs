//! The recorder's own thread: takes what the sources bring, and does what is due by time.

mod complete;
mod overdue;
mod stalls;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, sync_channel};
use std::time::Duration;

use detect::Detector;
use model::{Absent, Millis, Reading, Reason, Sample, SourceData, Unit, Window};
use store::{IncidentMargins, OpenIncident, SessionStart};
use thiserror::Error;

use self::stalls::OngoingStall;
use crate::capture::Capture;
use crate::capture_requests::CaptureRequests;
use crate::clock::RecorderClock;
use crate::config::RecorderConfig;
use crate::context::Context;
use crate::general_log::Listening;
use crate::history_queue::HistoryQueue;
use crate::history_thread::{HistoryStart, not_recorded};
use crate::in_flight::InFlight;
use crate::incidents::Incidents;
use crate::learned_state::LearnedState;
use crate::notice::{Notice, Notices};
use crate::pulse::Pulse;
use crate::queries::QueryWatch;
use crate::quiet::Quiet;
use crate::ring::Ring;
use crate::signals::OWN;
use crate::sources;
use crate::sources::own::OwnReader;
use crate::stacks::{RecentStacks, StackWatch};
use crate::target::{Shared, Target};
use crate::wake::Wake;

/// Samples that may wait for the recorder's thread: half a minute of all sources. Their places are memory from the
/// beginning, and of a server on another host fewer sources are read.
const SAMPLES_MAX: usize = 1024;
const SAMPLES_MAX_ELSEWHERE: usize = 256;

/// How often the ring is measured for others, milliseconds.
const PULSE_RING_MS: Millis = 2000;

/// How often the recorder looks at what is in flight, milliseconds.
const BEAT_MS: Millis = 250;

/// What the ring keeps beyond the time before an onset, milliseconds: minutes for a live look.
const RING_SPARE_MS: Millis = 120_000;

/// When a trigger's signal that nothing brought is told, milliseconds: after the slowest source.
const UNKNOWN_AFTER_MS: Millis = 35_000;

/// How often it is said of a server on another host that this one tells nothing of it, milliseconds: more often than an
/// incident looks back.
const ELSEWHERE_EVERY_MS: Millis = 20_000;

/// How often it is looked whether the time of day was set, milliseconds: each time begins a new part of the history.
const CLOCK_EVERY_MS: Millis = 15_000;

/// How often what is usual is written down, milliseconds.
const LEARNT_EVERY_MS: Millis = 60_000;

/// How long the end of a recording waits for the disk.
const LAST_FLUSH: Duration = Duration::from_secs(5);

/// Why recording cannot begin.
#[derive(Debug, Error)]
pub enum RecorderError {
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// What a recorder's loop tells whoever watches over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heartbeat {
    /// It came around, four times a second.
    Goes {
        /// Samples taken since the start.
        samples: u64,
    },
    /// It ends, and writes what it has.
    Stops,
}

/// Who is told, on the recorder's own thread: it must not wait for anything.
type Watcher = Box<dyn FnMut(Heartbeat) + Send>;

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
    wake: Arc<Wake>,
    quiet: Arc<Quiet>,
    /// What it costs itself, where it reads that.
    own: Option<OwnReader>,
    /// Who wants an incident now.
    asked: Arc<CaptureRequests>,
    notices: Notices,
    label: String,
    detector: Detector,
    ring: Ring,
    writer: Option<HistoryQueue>,
    batch: Vec<Sample>,
    batch_since: Millis,
    capture: Option<Capture>,
    /// The stall that lasts, captured or not.
    lasting: Option<OngoingStall>,
    learnt_due: Millis,
    clock_due: Millis,
    elsewhere_due: Millis,
    /// The last stall that is over.
    earlier: Vec<Window>,
    incidents: Incidents,
    unknown_told: bool,
    version: String,
    told_absent: Vec<(String, Reason)>,
    overdue: Vec<bool>,
    pulse: Arc<Pulse>,
    pulse_due: Millis,
    /// Samples taken.
    taken: u64,
    watcher: Option<Watcher>,
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
        let learnt = LearnedState::load(&config.dir, &label);
        let clock = RecorderClock::start();
        let shared = Arc::new(Shared::new(target));
        shared.know_classes(&learnt.statements);
        let in_flight = Arc::new(InFlight::new());
        let lost = Arc::new(AtomicU64::new(0));
        let server = shared.describe("");
        let writer = match config.history {
            Some(limits) => Some(HistoryQueue::start(
                HistoryStart {
                    path: config.dir.join(format!("history-{label}.db")),
                    dir: config.dir.clone(),
                    limits,
                    free: config.retention.free,
                    session: SessionStart {
                        clock: clock.clock(),
                        host: shared.host(),
                        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
                        server: server.clone(),
                    },
                    around: IncidentMargins {
                        before_ms: config.before_ms,
                        after_ms: config.after_ms,
                        longest_ms: config.incident_max_ms,
                    },
                },
                notices.clone(),
            )?),
            None => None,
        };
        let wake = Arc::new(Wake::default());
        let quiet = Arc::new(Quiet::default());
        let (sender, samples) = sync_channel(match shared.is_elsewhere() {
            true => SAMPLES_MAX_ELSEWHERE,
            false => SAMPLES_MAX,
        });
        let stacks = Arc::new(StackWatch::new());
        let queries = Arc::new(QueryWatch::default());
        let context = Context {
            stacks: stacks.clone(),
            queries: queries.clone(),
            clock: clock.clone(),
            shared: shared.clone(),
            deadlines: config.deadlines,
            in_flight: in_flight.clone(),
            samples: sender,
            lost: lost.clone(),
            stop: stop.clone(),
            wake: wake.clone(),
            quiet: quiet.clone(),
        };
        let own = OwnReader::start(&context);
        sources::start(&context)?;
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
            wake,
            quiet,
            own,
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
            clock_due: CLOCK_EVERY_MS,
            elsewhere_due: 0,
            earlier: Vec::new(),
            unknown_told: false,
            version: String::new(),
            told_absent: Vec::new(),
            overdue: vec![false; model::SOURCES.len()],
            pulse: Arc::new(Pulse::default()),
            pulse_due: 0,
            taken: 0,
            watcher: None,
        })
    }

    /// How this recorder does, for others to look at.
    pub fn pulse(&self) -> Arc<Pulse> {
        self.pulse.clone()
    }

    /// What it has in memory of the server's threads, for others to look at.
    pub fn recent_stacks(&self) -> RecentStacks {
        RecentStacks::new(self.stacks.clone(), self.clock.clone())
    }

    /// Where an incident is asked for, stall or not.
    pub fn capture_requests(&self) -> Arc<CaptureRequests> {
        self.asked.clone()
    }

    /// Lets somebody watch over its loop: on the recorder's own thread, which must not wait for it.
    pub fn watched_by(&mut self, watcher: Watcher) {
        self.watcher = Some(watcher);
    }

    fn notify_watcher(&mut self, beating: Heartbeat) {
        if let Some(watcher) = &mut self.watcher {
            watcher(beating);
        }
    }

    /// Records until it is stopped. A stall that is being captured then is written as it is.
    pub fn run(mut self) {
        let mut next_beat = self.clock.now() + BEAT_MS;
        while !self.stop.load(Ordering::Relaxed) {
            let wait = next_beat.saturating_sub(self.clock.now());
            match self.samples.recv_timeout(Duration::from_millis(wait)) {
                Ok(sample) => {
                    let captured = self.capture.is_some();
                    self.take_quiet();
                    self.take(sample);
                    // A whole number of beats from here the first verdict is due.
                    if !captured && self.capture.is_some() {
                        next_beat = self.clock.now() + BEAT_MS;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.clock.now() >= next_beat {
                next_beat = self.clock.now() + BEAT_MS;
                self.beat();
            }
        }
        self.wake.ring();
        self.notify_watcher(Heartbeat::Stops);
        self.finish();
    }

    fn take_quiet(&mut self) {
        for sample in self.quiet.take() {
            self.take(sample);
        }
    }

    fn take(&mut self, sample: Sample) {
        // Not what the recorder tells of itself: only what came from a reader.
        self.taken += u64::from(sample.source != OWN);
        self.note(sample);
    }

    fn note(&mut self, mut sample: Sample) {
        self.ring.add(&mut sample);
        self.pulse.sample(&sample);
        self.notice_news(&sample);
        let events = self.detector.observe(&sample);
        for event in events {
            self.handle(event);
        }
        if self.batch.is_empty() {
            self.batch_since = sample.at;
        }
        self.batch.push(sample);
    }

    fn notice_news(&mut self, sample: &Sample) {
        let (absences, has_facts) = match &sample.outcome {
            Ok(taken) => (&taken.absent[..], !taken.facts.is_empty()),
            Err(absent) => (std::slice::from_ref(absent), false),
        };
        for absent in absences {
            let key = (absent.what.clone(), absent.reason);
            if !self.told_absent.contains(&key) {
                self.told_absent.push(key);
                self.notices.send(Notice::Absent(absent.clone()));
            }
        }
        if has_facts
            && let Some(version) = self.ring.fact("server.version")
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
        self.take_quiet();
        let now = self.clock.now();
        if let Some(sample) = self.own.as_mut().and_then(|own| own.next(now)) {
            self.take(sample);
        }
        for request in self.asked.take() {
            let promise = self.capture_now(now, request.for_ms);
            // Who asked may be gone.
            let _ = request.answer.send(promise);
        }
        self.update_pulse(now);
        self.notify_watcher(Heartbeat::Goes {
            samples: self.taken,
        });
        self.watch_in_flight(now);
        self.go_on_with_capture(now);
        self.notice_ongoing_stall(now);
        self.notice_elsewhere(now);
        self.keep_learnt(now);
        self.follow_clock(now);
        self.note_written();
        self.notice_unknown_signals(now);
        let keep_from = match &self.capture {
            Some(capture) => capture.stall.onset.saturating_sub(self.config.before_ms),
            None => now.saturating_sub(self.config.before_ms + RING_SPARE_MS),
        };
        self.ring.forget_before(keep_from);
        let stalling = self
            .capture
            .as_ref()
            .is_some_and(|capture| capture.is_open(now));
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
        let missing = self.writer.as_ref().map_or(0, HistoryQueue::missing);
        if missing > self.told_missing {
            self.told_missing = missing;
            let name = "recorder.history_missing_samples";
            self.take_own(vec![Reading::counter(name, Unit::Count, missing as f64)]);
        }
    }

    fn update_pulse(&mut self, now: Millis) {
        self.pulse.beat();
        if now < self.pulse_due {
            return;
        }
        self.pulse_due = now + PULSE_RING_MS;
        let [series, values, texts, absent] = self.ring.size();
        self.pulse.ring(series, values, texts, absent);
    }

    /// Of a server on another host nothing of this one is evidence, and each incident says so.
    fn notice_elsewhere(&mut self, now: Millis) {
        if !self.shared.is_elsewhere() || now < self.elsewhere_due {
            return;
        }
        self.elsewhere_due = now + ELSEWHERE_EVERY_MS;
        let shared = self.shared.clone();
        for row in model::SOURCES.iter().filter(|row| shared.misses(row)) {
            self.note(missed(row.name, now));
        }
    }

    /// What is recorded after the time of day was set is kept under the time that is right, as the restart of a recorder
    /// would do. A stall that is being captured keeps the time that it began with.
    fn follow_clock(&mut self, now: Millis) {
        if now < self.clock_due || self.capture.is_some() {
            return;
        }
        self.clock_due = now + CLOCK_EVERY_MS;
        if !self.clock.follow_wall() {
            return;
        }
        self.hand_over();
        if let Some(writer) = &mut self.writer {
            writer.clock(self.clock.clock());
        }
    }

    fn keep_learnt(&mut self, now: Millis) {
        if now < self.learnt_due {
            return;
        }
        self.learnt_due = now + LEARNT_EVERY_MS;
        let learnt = LearnedState {
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
    fn notice_unknown_signals(&mut self, now: Millis) {
        if self.unknown_told || now < UNKNOWN_AFTER_MS {
            return;
        }
        self.unknown_told = true;
        for trigger in &self.config.detect.user {
            for signal in trigger.signals() {
                if !self.ring.has_signal(&signal) {
                    self.notices.send(Notice::UnknownSignal {
                        trigger: trigger.text.clone(),
                        signal,
                    });
                }
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

    fn take_own(&mut self, readings: Vec<Reading>) {
        self.take(Sample {
            source: OWN,
            at: self.clock.now(),
            took_us: 0,
            outcome: Ok(SourceData {
                readings,
                ..SourceData::default()
            }),
        });
    }

    fn listen_by_general_log(&self) {
        let Some(permit) = &self.config.general_log else {
            return;
        };
        // Its file would be on that host.
        if self.shared.is_elsewhere() {
            return;
        }
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

    fn finish(mut self) {
        self.take_quiet();
        let now = self.clock.now();
        let place = self.capture.is_some().then(complete::last_place);
        if let Some(place) = place
            && let Some((mut incident, raw)) = self.incident(now)
        {
            if incident.stall.end.is_none() {
                let detail = "the recorder was stopped during the stall";
                incident.absent.push(not_recorded(now, detail));
            }
            self.incidents.write(incident, raw, place);
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

/// What is said of a source of this host, of a server on another one.
pub(crate) fn missed(source: &'static str, at: Millis) -> Sample {
    let detail = "the server runs on another host";
    Sample {
        source,
        at,
        took_us: 0,
        outcome: Err(Absent::new(source, Reason::Unsupported, detail)),
    }
}
