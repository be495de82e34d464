//! The history's thread: opens, appends, retains, recovers, and bears whatever the disk does.
//!
//! Recovery: each open incident of an earlier session becomes an incident file with what the history has of its time. A
//! chunk that makes no sense is read up to that place; it and those after it are left out until the next `fresh` one. A
//! readable file of that name stays. Then the row is deleted.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use model::{Absent, Clock, Fact, Millis, Reason, Sample, Server, SourceData, TimedAbsent};
use store::{
    History, HistoryLimits, IncidentMargins, OpenIncident, Recovered, SessionStart, StoreError,
    read_summary, write_incident,
};

use crate::learned_state::LearnedState;
use crate::notice::{DeletionReason, Notice, Notices};
use crate::retention::{FreeMin, disk_of};
use crate::signals::OWN;

/// How often limits are looked after, milliseconds of the recorder's clock.
const RETAIN_EVERY_MS: Millis = 60_000;

/// A history that becomes smaller by less is not told of: it is one more minute that goes.
const TOLD_BYTES_MIN: u64 = 1 << 20;

/// How long to wait before a disk that refused is tried again.
const RETRY: Duration = Duration::from_secs(30);

/// What the recorder hands to the history.
pub(crate) enum HistoryCommand {
    Samples(Vec<Sample>),
    Server(Server),
    /// The time of day was set.
    Clock(Clock),
    Incident(OpenIncident),
    /// The incident's file is there.
    Written(String),
    /// What is usual for the server, to keep.
    Learnt(Box<LearnedState>),
    Flush(SyncSender<()>),
}

/// How the history begins.
#[derive(Debug, Clone)]
pub(crate) struct HistoryStart {
    pub(crate) path: PathBuf,
    /// Where incidents go.
    pub(crate) dir: PathBuf,
    pub(crate) limits: HistoryLimits,
    /// What the file system must have left: the history is the first to go for it.
    pub(crate) free: FreeMin,
    pub(crate) session: SessionStart,
    /// What a recovered incident covers.
    pub(crate) around: IncidentMargins,
}

/// The history with what must be in it whatever happens meanwhile: written again when the disk
/// works again, or in a new file when the old one is damaged.
pub(crate) struct HistoryThread {
    start: HistoryStart,
    notices: Notices,
    missing: Arc<AtomicU64>,
    history: Option<History>,
    trouble: Option<Instant>,
    facts: BTreeMap<String, String>,
    server: Option<Server>,
    open_incident: Option<OpenIncident>,
    /// The clock is another one than the history's session began with.
    session_due: bool,
    retained_at: Millis,
    now: Millis,
}

impl HistoryThread {
    pub(crate) fn new(start: HistoryStart, notices: Notices, missing: Arc<AtomicU64>) -> Self {
        Self {
            start,
            notices,
            missing,
            history: None,
            trouble: None,
            facts: BTreeMap::new(),
            server: None,
            open_incident: None,
            session_due: false,
            retained_at: 0,
            now: 0,
        }
    }

    /// Works until nobody can send commands any more.
    pub(crate) fn run(mut self, commands: &Receiver<HistoryCommand>) {
        self.try_open();
        while let Ok(command) = commands.recv() {
            self.take_note(&command);
            if self.trouble.is_some_and(|since| since.elapsed() >= RETRY) {
                self.recover_from_trouble();
            }
            self.carry_out(command);
        }
    }

    /// Remembers what must not be lost even when it cannot be written now.
    fn take_note(&mut self, command: &HistoryCommand) {
        match command {
            HistoryCommand::Samples(samples) => {
                for sample in samples {
                    self.now = self.now.max(sample.at);
                    if let Ok(taken) = &sample.outcome {
                        let facts = taken.facts.iter();
                        self.facts
                            .extend(facts.map(|fact| (fact.name.clone(), fact.value.clone())));
                    }
                }
            }
            HistoryCommand::Server(server) => self.server = Some(server.clone()),
            HistoryCommand::Clock(clock) => {
                self.start.session.clock = clock.clone();
                self.session_due = true;
            }
            HistoryCommand::Incident(incident) => self.open_incident = Some(incident.clone()),
            HistoryCommand::Written(id) => {
                self.open_incident.take_if(|open| open.id == *id);
            }
            HistoryCommand::Learnt(_) | HistoryCommand::Flush(_) => {}
        }
    }

    fn carry_out(&mut self, command: HistoryCommand) {
        if let HistoryCommand::Learnt(learnt) = command {
            // Tried again in a minute; what fails here costs the next recorder some minutes.
            let _ = learnt.save(&self.start.dir, &self.start.session.server.label);
            return;
        }
        if let HistoryCommand::Flush(done) = command {
            // At the end of a recording; what fails here is still in the log.
            let _ = self.history.as_ref().map(History::checkpoint);
            let _ = done.try_send(());
            return;
        }
        if matches!(command, HistoryCommand::Clock(_)) {
            if self.trouble.is_none()
                && let Err(error) = self.write_what_must_be_there()
            {
                self.meet_trouble(&error);
            }
            return;
        }
        let history = self.history.as_mut().filter(|_| self.trouble.is_none());
        let Some(history) = history else {
            if let HistoryCommand::Samples(samples) = command {
                self.missing
                    .fetch_add(samples.len() as u64, Ordering::Relaxed);
            }
            return;
        };
        let result = match &command {
            HistoryCommand::Samples(samples) => append(history, samples).and_then(|()| {
                if self.now < self.retained_at + RETAIN_EVERY_MS {
                    return Ok(());
                }
                self.retained_at = self.now;
                history.retain(self.now)?;
                let given = give_room(history, &self.start)?;
                if given >= TOLD_BYTES_MIN {
                    self.notices.send(Notice::Deleted {
                        path: self.start.path.clone(),
                        bytes: given,
                        why: DeletionReason::Space,
                    });
                }
                Ok(())
            }),
            HistoryCommand::Server(server) => history.note_server(server),
            HistoryCommand::Incident(incident) => history.note_incident(incident),
            HistoryCommand::Written(id) => history.forget_incident(id),
            HistoryCommand::Clock(_) | HistoryCommand::Learnt(_) | HistoryCommand::Flush(_) => {
                Ok(())
            }
        };
        if let Err(error) = result {
            if let HistoryCommand::Samples(samples) = command {
                self.missing
                    .fetch_add(samples.len() as u64, Ordering::Relaxed);
            }
            self.meet_trouble(&error);
        }
    }

    /// Loud once, not once a second.
    fn meet_trouble(&mut self, error: &StoreError) {
        if self.trouble.replace(Instant::now()).is_none() {
            self.notices.send(Notice::HistoryTrouble(format!(
                "{error}; the history is not written, recording continues in memory"
            )));
        }
        if error.is_damage()
            && let Some(history) = self.history.take()
            && let Ok(aside) = history.put_aside()
        {
            let text = format!("renamed the damaged history to {}", aside.display());
            self.notices.send(Notice::HistoryTrouble(text));
            self.try_open();
        }
    }

    fn recover_from_trouble(&mut self) {
        self.trouble = Some(Instant::now());
        if self.history.is_none() {
            self.try_open();
        } else if let Err(error) = self.write_what_must_be_there() {
            self.meet_trouble(&error);
        } else {
            self.works_again();
        }
    }

    fn works_again(&mut self) {
        if self.trouble.take().is_some() {
            let missing = self.missing.load(Ordering::Relaxed);
            self.notices.send(Notice::HistoryWorks { missing });
        }
    }

    fn try_open(&mut self) {
        match History::open(&self.start.path, self.start.limits, &self.start.session) {
            Ok((history, note)) => {
                if let Some(note) = note {
                    self.notices.send(Notice::HistoryTrouble(note));
                }
                self.history = Some(history);
                self.session_due = false;
                let result = self
                    .write_recovered()
                    .and_then(|()| self.write_what_must_be_there());
                match result {
                    Ok(()) => self.works_again(),
                    Err(error) => self.meet_trouble(&error),
                }
            }
            Err(error) => self.meet_trouble(&error),
        }
    }

    fn write_what_must_be_there(&mut self) -> Result<(), StoreError> {
        let Some(history) = &mut self.history else {
            return Ok(());
        };
        if self.session_due {
            history.begin_session(&self.start.session)?;
            self.session_due = false;
        }
        let facts = self.facts.iter();
        let facts: Vec<Fact> = facts.map(|(name, value)| Fact::new(name, value)).collect();
        if !facts.is_empty() {
            let sample = Sample {
                source: OWN,
                at: self.now,
                took_us: 0,
                outcome: Ok(SourceData {
                    facts,
                    ..SourceData::default()
                }),
            };
            append(history, &[sample])?;
        }
        if let Some(server) = &self.server {
            history.note_server(server)?;
        }
        match &self.open_incident {
            Some(incident) => history.note_incident(incident),
            None => Ok(()),
        }
    }

    /// Makes files of the incidents that an earlier recorder left unfinished.
    fn write_recovered(&mut self) -> Result<(), StoreError> {
        let Some(history) = &mut self.history else {
            return Ok(());
        };
        for found in history.recover(self.start.around)? {
            let id = found.incident.id.clone();
            let path = self.start.dir.join(format!("{id}.frame"));
            // The recorder died after the file was there and before it could note that. What it
            // wrote from memory is better than what the history has.
            if read_summary(&path).is_err() {
                let incident = with_its_death(found);
                match write_incident(&incident, &self.start.dir) {
                    Ok(path) => self.notices.send(Notice::Written {
                        path,
                        incident: Box::new(incident.into()),
                        recovered: true,
                    }),
                    Err(error) => {
                        // Still in the history: tried again at the next start.
                        self.notices.send(Notice::NotWritten(error.to_string()));
                        continue;
                    }
                }
            }
            history.forget_incident(&id)?;
        }
        Ok(())
    }
}

/// Makes the history smaller by what the file system lacks; by how much it did.
fn give_room(history: &mut History, start: &HistoryStart) -> Result<u64, StoreError> {
    let missing = disk_of(&start.dir).map_or(0, |disk| disk.shortfall(start.free));
    match missing {
        0 => Ok(0),
        missing => history.give_room(missing),
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

fn with_its_death(mut found: Recovered) -> model::Incident {
    let at = found.incident.window.to;
    let mut detail = "the recorder was killed; rebuilt from its history".to_owned();
    if found.damaged_chunks > 0 {
        detail += &format!(", {} parts of which are damaged", found.damaged_chunks);
    }
    found.incident.absent.push(not_recorded(at, &detail));
    let in_memory = "lost with the memory of the recorder that was killed";
    found.incident.absent.push(TimedAbsent {
        absent: Absent::new("stacks, profiles and locks", Reason::NotRecorded, in_memory),
        ..not_recorded(at, "")
    });
    found.incident
}

/// The absence of what came after a recording's end.
pub(crate) fn not_recorded(at: Millis, detail: &str) -> TimedAbsent {
    TimedAbsent {
        first: at,
        last: at,
        count: 1,
        absent: Absent::new("the rest of the stall", Reason::NotRecorded, detail),
    }
}
