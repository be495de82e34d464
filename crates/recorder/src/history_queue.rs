//! The recorder's end of the history: a bounded queue to its thread. The recorder never waits; what
//! does not fit is counted.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use model::{Absent, Clock, Millis, Sample, Server, TextKind};
use store::OpenIncident;

use crate::history_thread::{HistoryCommand, HistoryStart, HistoryThread};
use crate::learned_state::LearnedState;
use crate::notice::Notices;

/// Batches that may wait, of about a second each.
const QUEUE_BATCHES: usize = 120;

/// Outside of a stall the history keeps one text of a kind in this time; the ring keeps all.
const TEXT_EVERY_MS: [(TextKind, Millis); 4] = [
    (TextKind::Processlist, 10_000),
    (TextKind::Threads, 60_000),
    (TextKind::InnodbStatus, 60_000),
    (TextKind::Semaphores, 60_000),
];

/// How often the same absence is written down, milliseconds.
const ABSENT_EVERY_MS: Millis = 60_000;

/// Different absences remembered for that.
const ABSENT_MAX: usize = 1000;

pub(crate) struct HistoryQueue {
    queue: SyncSender<HistoryCommand>,
    /// What may not be dropped and found the queue full.
    waiting: VecDeque<HistoryCommand>,
    missing: Arc<AtomicU64>,
    last_text: HashMap<TextKind, Millis>,
    last_absent: HashMap<Absent, Millis>,
}

impl HistoryQueue {
    /// Starts the history's thread, which opens it.
    pub(crate) fn start(start: HistoryStart, notices: Notices) -> std::io::Result<Self> {
        let missing = Arc::new(AtomicU64::new(0));
        let (queue, commands) = sync_channel(QUEUE_BATCHES);
        let keeper = HistoryThread::new(start, notices, missing.clone());
        kernel::own_threads::start("ff-history", move || keeper.run(&commands))?;
        Ok(Self {
            queue,
            waiting: VecDeque::new(),
            missing,
            last_text: HashMap::new(),
            last_absent: HashMap::new(),
        })
    }

    /// Samples that are not in the history although they were taken.
    pub(crate) fn missing(&self) -> u64 {
        self.missing.load(Ordering::Relaxed)
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
        self.send_waiting();
        let count = samples.len() as u64;
        if self
            .queue
            .try_send(HistoryCommand::Samples(samples))
            .is_err()
        {
            self.missing.fetch_add(count, Ordering::Relaxed);
        }
    }

    fn thin_texts(&mut self, sample: &mut Sample) {
        let Ok(taken) = &mut sample.outcome else {
            return;
        };
        taken.texts.retain(|text| {
            let every = TEXT_EVERY_MS
                .iter()
                .find(|(kind, _)| *kind == text.kind())
                .map_or(0, |(_, every)| *every);
            let last = self.last_text.get(&text.kind());
            let keep = last.is_none_or(|last| sample.at >= last + every);
            if keep {
                self.last_text.insert(text.kind(), sample.at);
            }
            keep
        });
    }

    /// The same absence is written down once a minute; the ring counts each.
    fn is_absence_due(&mut self, absent: &Absent, at: Millis) -> bool {
        let last = self.last_absent.get(absent);
        if last.is_some_and(|last| at < last + ABSENT_EVERY_MS) {
            return false;
        }
        if self.last_absent.len() >= ABSENT_MAX {
            self.last_absent.clear();
        }
        self.last_absent.insert(absent.clone(), at);
        true
    }

    pub(crate) fn server(&mut self, server: Server) {
        self.send(HistoryCommand::Server(server));
    }

    /// The time of day was set: what follows belongs to this clock.
    pub(crate) fn clock(&mut self, clock: Clock) {
        self.send(HistoryCommand::Clock(clock));
    }

    pub(crate) fn incident(&mut self, incident: OpenIncident) {
        self.send(HistoryCommand::Incident(incident));
    }

    pub(crate) fn written(&mut self, id: String) {
        self.send(HistoryCommand::Written(id));
    }

    /// Keeps what is usual, when there is room in the queue.
    pub(crate) fn learnt(&mut self, learnt: LearnedState) {
        let _ = self
            .queue
            .try_send(HistoryCommand::Learnt(Box::new(learnt)));
    }

    /// Waits until everything handed over so far is written, at most for `patience`: a disk that
    /// hangs must not hang the end of the recorder.
    pub(crate) fn flush(&mut self, patience: Duration) {
        let (done, wait) = sync_channel(1);
        self.send(HistoryCommand::Flush(done));
        if self.waiting.is_empty() {
            let _ = wait.recv_timeout(patience);
        }
    }

    fn send(&mut self, command: HistoryCommand) {
        self.waiting.push_back(command);
        self.send_waiting();
    }

    fn send_waiting(&mut self) {
        while let Some(command) = self.waiting.pop_front() {
            if let Err(TrySendError::Full(command)) = self.queue.try_send(command) {
                self.waiting.push_front(command);
                return;
            }
        }
    }
}
