use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, sync_channel};
use std::time::Duration;

use detect::{Detector, Event};
use model::{Absent, Incident, Millis, Reading, Reason, Sample, Server, Taken, Trigger, Unit};
use store::{OpenIncident, SessionStart, StoreError, write_frame};
use thiserror::Error;

use crate::capture::{Capture, host_name};
use crate::clock::RecorderClock;
use crate::config::RecorderConfig;
use crate::in_flight::InFlight;
use crate::ring::Ring;
use crate::table::{SOURCES, index_of};
use crate::target::{Shared, Target};
use crate::worker::{self, Context};
use crate::writer::{Writer, WriterStart};

/// Samples that may wait for the recorder's thread: half a minute of all sources.
const SAMPLES_MAX: usize = 1024;

/// How often the recorder looks at what is in flight, milliseconds.
const BEAT_MS: Millis = 250;

/// What the ring keeps beyond the time before an onset, milliseconds: minutes for a live look.
const RING_SPARE_MS: Millis = 120_000;

/// How long the end of a recording waits for the disk.
const LAST_FLUSH: Duration = Duration::from_secs(5);

/// What a recorder tells while it works.
#[derive(Debug)]
pub enum Notice {
    /// Recording begins.
    Started(Server),
    /// The server's version is known: there is a login.
    Version(String),
    /// A kind of evidence is absent, told the first time.
    Absent(Absent),
    /// A stall: when it began and when it was noticed, wall-clock milliseconds, and why.
    Triggered {
        /// Name of the incident.
        id: String,
        /// First sign.
        onset_wall_ms: i64,
        /// When the recorder was sure.
        trigger_wall_ms: i64,
        /// The rule.
        trigger: Trigger,
    },
    /// Another rule fired within the stall.
    Joined(Trigger),
    /// The incident as known while the stall lasts.
    Preliminary(Box<Incident>),
    /// The stall is over; its last sign, wall-clock milliseconds.
    Ended {
        /// Last sign.
        end_wall_ms: i64,
    },
    /// The incident's file is written.
    Written {
        /// The file.
        path: PathBuf,
        /// What is in it.
        incident: Box<Incident>,
        /// It was rebuilt after an earlier recorder died.
        recovered: bool,
    },
    /// The incident's file could not be written.
    NotWritten(String),
    /// A stall that is not captured because of the limit an hour.
    Suppressed(Trigger),
    /// The history cannot be written.
    HistoryTrouble(String),
    /// The history can be written again.
    HistoryWorks,
    /// Samples were lost because something could not keep up.
    Lost(u64),
    /// Recording has ended.
    Stopped,
}

/// Where notices go. Nobody need listen.
#[derive(Debug, Clone)]
pub(crate) struct Notices {
    label: String,
    sender: Sender<(String, Notice)>,
}

impl Notices {
    pub(crate) fn send(&self, notice: Notice) {
        // A listener that is gone is no reason to stop recording.
        let _ = self.sender.send((self.label.clone(), notice));
    }
}

/// Why recording cannot begin.
#[derive(Debug, Error)]
pub enum RecorderError {
    /// The history cannot be opened.
    #[error("cannot keep a history: {0}")]
    History(#[from] StoreError),
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// Records one server.
pub struct Recorder {
    config: RecorderConfig,
    clock: RecorderClock,
    shared: Arc<Shared>,
    in_flight: Arc<InFlight>,
    samples: Receiver<Sample>,
    lost: Arc<AtomicU64>,
    told_lost: u64,
    stop: Arc<AtomicBool>,
    notices: Notices,
    label: String,
    detector: Detector,
    ring: Ring,
    writer: Option<Writer>,
    batch: Vec<Sample>,
    batch_since: Millis,
    capture: Option<Capture>,
    written: (Sender<String>, Receiver<String>),
    version: String,
    told_absent: Vec<(String, Reason)>,
    overdue: Vec<bool>,
}

impl Recorder {
    /// Starts the readers. `stop` ends the recording; notices carry the target's label.
    pub fn start(
        target: Target,
        config: RecorderConfig,
        stop: Arc<AtomicBool>,
        notices: Sender<(String, Notice)>,
    ) -> Result<Self, RecorderError> {
        let label = target.label.clone();
        let notices = Notices {
            label: label.clone(),
            sender: notices,
        };
        let clock = RecorderClock::start();
        let shared = Arc::new(Shared::new(target));
        let in_flight = Arc::new(InFlight::new());
        let lost = Arc::new(AtomicU64::new(0));
        let server = shared.describe("");
        let mut writer = None;
        if let Some(limits) = config.history {
            let start = WriterStart {
                path: config.dir.join(format!("history-{label}.db")),
                limits,
                session: SessionStart {
                    clock: clock.clock().clone(),
                    host: host_name(),
                    tool_version: env!("CARGO_PKG_VERSION").to_owned(),
                    server: server.clone(),
                },
                around_ms: (config.before_ms, config.after_ms),
            };
            let (started, recovered) = Writer::start(start, lost.clone(), notices.clone())?;
            for found in recovered {
                write_recovered(found, &config, &started, &notices);
            }
            writer = Some(started);
        }
        let (sender, samples) = sync_channel(SAMPLES_MAX);
        let context = Context {
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
            detector: Detector::new(config.detect.clone()),
            config,
            clock,
            shared,
            in_flight,
            samples,
            lost,
            told_lost: 0,
            stop,
            notices,
            label,
            ring: Ring::default(),
            writer,
            batch: Vec::new(),
            batch_since: 0,
            capture: None,
            written: std::sync::mpsc::channel(),
            version: String::new(),
            told_absent: Vec::new(),
            overdue: vec![false; SOURCES.len()],
        })
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
            if let Some(writer) = &self.writer {
                writer.server(self.shared.describe(&self.version));
            }
        }
    }

    /// Everything that is due by time and not by a sample.
    fn beat(&mut self) {
        let now = self.clock.now();
        self.watch_in_flight(now);
        if let Some(capture) = &mut self.capture {
            if now >= capture.complete_at(&self.config) {
                self.write_incident(now);
            } else if !capture.preliminary_given
                && now >= capture.stall.trigger + self.config.preliminary_ms
            {
                capture.preliminary_given = true;
                if let Some(incident) = self.incident(now) {
                    self.notices.send(Notice::Preliminary(Box::new(incident)));
                }
            }
        }
        while let Ok(id) = self.written.1.try_recv() {
            if let Some(writer) = &self.writer {
                writer.written(id);
            }
        }
        let keep_from = match &self.capture {
            Some(capture) => capture.stall.onset.saturating_sub(self.config.before_ms),
            None => now.saturating_sub(self.config.before_ms + RING_SPARE_MS),
        };
        self.ring.forget_before(keep_from);
        if now >= self.batch_since + 1000 {
            self.hand_over();
        }
        let lost = self.lost.load(Ordering::Relaxed);
        if lost > self.told_lost {
            self.notices.send(Notice::Lost(lost - self.told_lost));
            self.told_lost = lost;
            self.take_own(vec![Reading::counter(
                "recorder.lost_samples",
                Unit::Count,
                lost as f64,
            )]);
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
            if overdue && !was {
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
            } => {
                // The stall before may still be in its last seconds: it is complete enough.
                if self.capture.is_some() {
                    self.write_incident(at);
                }
                let Some(capture) = Capture::begin(&self.label, &self.clock, &event) else {
                    return;
                };
                self.shared.burst.store(true, Ordering::Relaxed);
                let clock = self.clock.clock();
                self.notices.send(Notice::Triggered {
                    id: capture.id.clone(),
                    onset_wall_ms: clock.wall_ms(onset),
                    trigger_wall_ms: clock.wall_ms(at),
                    trigger: trigger.clone(),
                });
                self.capture = Some(capture);
                self.hand_over();
                self.note_open();
            }
            Event::Joined { trigger, .. } => {
                if let Some(capture) = &mut self.capture {
                    capture.stall.triggers.push(trigger.clone());
                }
                self.notices.send(Notice::Joined(trigger));
                self.note_open();
            }
            Event::Ended { end, .. } => {
                let end_wall_ms = self.clock.clock().wall_ms(end);
                if let Some(capture) = &mut self.capture {
                    capture.stall.end = Some(end);
                    self.notices.send(Notice::Ended { end_wall_ms });
                }
                self.note_open();
            }
            Event::Suppressed { trigger, .. } => self.notices.send(Notice::Suppressed(trigger)),
        }
    }

    /// Writes down that an incident is under way, for the case that we are killed.
    fn note_open(&self) {
        if let (Some(capture), Some(writer)) = (&self.capture, &self.writer) {
            writer.incident(OpenIncident {
                id: capture.id.clone(),
                stall: capture.stall.clone(),
            });
        }
    }

    fn incident(&self, now: Millis) -> Option<Incident> {
        let capture = self.capture.as_ref()?;
        let server = self.shared.describe(&self.version);
        Some(capture.incident(&self.config, &self.clock, &self.ring, server, now))
    }

    /// Writes the incident's file on a thread of its own: the disk may be what stalls.
    fn write_incident(&mut self, now: Millis) {
        let Some(incident) = self.incident(now) else {
            return;
        };
        self.capture = None;
        let notices = self.notices.clone();
        let dir = self.config.dir.clone();
        let written = self.written.0.clone();
        let thread = std::thread::Builder::new().name("ff-incident".to_owned());
        let spawned = thread.spawn(move || {
            let id = incident.id.clone();
            if write_and_tell(incident, &dir, &notices, false) {
                let _ = written.send(id);
            }
        });
        if let Err(error) = spawned {
            self.notices.send(Notice::NotWritten(error.to_string()));
        }
    }

    fn finish(mut self) {
        let now = self.clock.now();
        if let Some(mut incident) = self.incident(now) {
            if incident.stall.end.is_none() {
                incident.absent.push(not_recorded(
                    now,
                    "the recorder was stopped while it lasted",
                ));
            }
            let id = incident.id.clone();
            if write_and_tell(incident, &self.config.dir, &self.notices, false)
                && let Some(writer) = &self.writer
            {
                writer.written(id);
            }
        }
        self.hand_over();
        while let Ok(id) = self.written.1.try_recv() {
            if let Some(writer) = &self.writer {
                writer.written(id);
            }
        }
        if let Some(writer) = &self.writer {
            writer.flush(LAST_FLUSH);
        }
        self.notices.send(Notice::Stopped);
    }
}

fn write_recovered(
    mut found: store::Recovered,
    config: &RecorderConfig,
    writer: &Writer,
    notices: &Notices,
) {
    let at = found.incident.window.to;
    let mut detail = "the recorder was killed; rebuilt from its history".to_owned();
    if found.damaged_chunks > 0 {
        detail += &format!(", {} parts of which are damaged", found.damaged_chunks);
    }
    found.incident.absent.push(not_recorded(at, &detail));
    let id = found.incident.id.clone();
    if write_and_tell(found.incident, &config.dir, notices, true) {
        writer.written(id);
    }
}

fn not_recorded(at: Millis, detail: &str) -> model::TimedAbsent {
    model::TimedAbsent {
        first: at,
        last: at,
        count: 1,
        absent: Absent::new("the rest of the stall", Reason::NotRecorded, detail),
    }
}

fn write_and_tell(
    incident: Incident,
    dir: &std::path::Path,
    notices: &Notices,
    recovered: bool,
) -> bool {
    match write_frame(&incident, dir) {
        Ok(path) => {
            notices.send(Notice::Written {
                path,
                incident: Box::new(incident),
                recovered,
            });
            true
        }
        Err(error) => {
            notices.send(Notice::NotWritten(error.to_string()));
            false
        }
    }
}
