//! The history's thread. The recorder hands it samples through a bounded queue and never waits:
//! what does not fit is counted.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use model::{Absent, Millis, Sample, Server, TextKind};
use store::{History, HistoryLimits, OpenIncident, Recovered, SessionStart, StoreError};

use crate::recorder::{Notice, Notices};

/// Batches that may wait, of about a second each.
const QUEUE_BATCHES: usize = 120;

/// How often limits are looked after, milliseconds of the recorder's clock.
const RETAIN_EVERY_MS: Millis = 60_000;

/// How long to wait before a disk that refused to write is tried again.
const RETRY: Duration = Duration::from_secs(30);

/// Outside of a stall the history keeps one text of a kind in this time; the ring keeps all.
const TEXT_EVERY_MS: [(TextKind, Millis); 3] = [
    (TextKind::Processlist, 10_000),
    (TextKind::Threads, 60_000),
    (TextKind::InnodbStatus, 60_000),
];

/// How often the same absence is written down, milliseconds.
const ABSENT_EVERY_MS: Millis = 60_000;

/// Different absences remembered for that.
const ABSENT_MAX: usize = 1000;

enum Command {
    Samples(Vec<Sample>),
    Server(Server),
    Incident(OpenIncident),
    Written(String),
    Flush(SyncSender<()>),
}

/// The recorder's end of the queue.
pub(crate) struct Writer {
    queue: SyncSender<Command>,
    lost: Arc<AtomicU64>,
    last_text: HashMap<TextKind, Millis>,
    last_absent: HashMap<Absent, Millis>,
}

/// How the writer begins.
pub(crate) struct WriterStart {
    pub(crate) path: PathBuf,
    pub(crate) limits: HistoryLimits,
    pub(crate) session: SessionStart,
    /// What a recovered incident covers, before its onset and after its end.
    pub(crate) around_ms: (Millis, Millis),
}

impl Writer {
    /// Opens the history, takes out what an earlier recorder left unfinished, and starts the
    /// thread.
    pub(crate) fn start(
        start: WriterStart,
        lost: Arc<AtomicU64>,
        notices: Notices,
    ) -> Result<(Self, Vec<Recovered>), StoreError> {
        let (history, note) = History::open(&start.path, start.limits, &start.session)?;
        if let Some(note) = note {
            notices.send(Notice::HistoryTrouble(note));
        }
        let recovered = history.recover(start.around_ms.0, start.around_ms.1)?;
        let (queue, commands) = sync_channel(QUEUE_BATCHES);
        std::thread::Builder::new()
            .name("ff-history".to_owned())
            .spawn(move || run(history, &commands, &notices))
            .map_err(|source| StoreError::Io {
                path: start.path,
                source,
            })?;
        let writer = Self {
            queue,
            lost,
            last_text: HashMap::new(),
            last_absent: HashMap::new(),
        };
        Ok((writer, recovered))
    }

    /// Hands samples over. `stalled` keeps every text.
    pub(crate) fn samples(&mut self, mut samples: Vec<Sample>, stalled: bool) {
        for sample in &mut samples {
            if !stalled {
                self.thin_texts(sample);
            }
            let at = sample.at;
            if let Ok(taken) = &mut sample.outcome {
                taken
                    .absent
                    .retain(|absent| self.is_absence_due(absent, at));
            }
        }
        samples.retain(|sample| match &sample.outcome {
            Ok(_) => true,
            Err(absent) => self.is_absence_due(absent, sample.at),
        });
        let count = samples.len() as u64;
        if !self.send(Command::Samples(samples)) {
            self.lost.fetch_add(count, Ordering::Relaxed);
        }
    }

    fn thin_texts(&mut self, sample: &mut Sample) {
        let Ok(taken) = &mut sample.outcome else {
            return;
        };
        taken.texts.retain(|text| {
            let every = TEXT_EVERY_MS
                .iter()
                .find(|(kind, _)| *kind == text.kind)
                .map_or(0, |(_, every)| *every);
            let last = self.last_text.get(&text.kind);
            let keep = last.is_none_or(|last| sample.at >= last + every);
            if keep {
                self.last_text.insert(text.kind, sample.at);
            }
            keep
        });
    }

    /// The same absence is written down once a minute; the ring counts each.
    fn is_absence_due(&mut self, absent: &Absent, at: Millis) -> bool {
        if self
            .last_absent
            .get(absent)
            .is_some_and(|last| at < last + ABSENT_EVERY_MS)
        {
            return false;
        }
        if self.last_absent.len() >= ABSENT_MAX {
            self.last_absent.clear();
        }
        self.last_absent.insert(absent.clone(), at);
        true
    }

    pub(crate) fn server(&self, server: Server) {
        self.send(Command::Server(server));
    }

    pub(crate) fn incident(&self, incident: OpenIncident) {
        self.send(Command::Incident(incident));
    }

    pub(crate) fn written(&self, id: String) {
        self.send(Command::Written(id));
    }

    /// Waits until everything handed over so far is written, at most for `patience`.
    pub(crate) fn flush(&self, patience: Duration) {
        let (done, wait) = sync_channel(1);
        if self.send(Command::Flush(done)) {
            // A disk that hangs must not hang the end of the recorder.
            let _ = wait.recv_timeout(patience);
        }
    }

    fn send(&self, command: Command) -> bool {
        !matches!(
            self.queue.try_send(command),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_))
        )
    }
}

fn run(mut history: History, commands: &Receiver<Command>, notices: &Notices) {
    let mut trouble: Option<Instant> = None;
    let mut retained_at: Millis = 0;
    while let Ok(command) = commands.recv() {
        let result = match command {
            Command::Samples(_) if trouble.is_some_and(|since| since.elapsed() < RETRY) => continue,
            Command::Samples(samples) => {
                let now = samples.last().map_or(0, |sample| sample.at);
                append(&mut history, &samples).and_then(|()| {
                    if trouble.take().is_some() {
                        notices.send(Notice::HistoryWorks);
                    }
                    if now < retained_at + RETAIN_EVERY_MS {
                        return Ok(());
                    }
                    retained_at = now;
                    history.retain(now)
                })
            }
            Command::Server(server) => history.note_server(&server),
            Command::Incident(incident) => history.note_incident(&incident),
            Command::Written(id) => history.forget_incident(&id),
            Command::Flush(done) => {
                let _ = done.try_send(());
                Ok(())
            }
        };
        if let Err(error) = result {
            // Loud once, not once a second.
            if trouble.is_none() {
                notices.send(Notice::HistoryTrouble(format!(
                    "{error}; the history stands still, recording goes on in memory"
                )));
            }
            trouble = Some(Instant::now());
        }
    }
}

/// Appends; when the disk is full the oldest goes to make room.
fn append(history: &mut History, samples: &[Sample]) -> Result<(), StoreError> {
    match history.append(samples) {
        Err(error) if error.is_disk_full() => {
            if history.make_room()? {
                history.append(samples)
            } else {
                Err(error)
            }
        }
        result => result,
    }
}
