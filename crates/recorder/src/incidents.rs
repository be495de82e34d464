//! Writing incidents, each on a thread of its own: the disk may be what stalls.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use model::Incident;
use store::write_frame;

use crate::notice::{Notice, Notices};
use crate::stacks::{RawEvidence, StackWatch};

/// Incidents that may wait in memory for a disk that refuses them.
const WAITING_MAX: usize = 3;

/// How often such a disk is tried again.
const RETRY: Duration = Duration::from_secs(30);

/// How often a waiting thread looks whether the recording ends.
const NAP: Duration = Duration::from_millis(100);

pub(crate) struct Incidents {
    dir: PathBuf,
    notices: Notices,
    stop: Arc<AtomicBool>,
    stacks: Arc<StackWatch>,
    under_way: Arc<AtomicUsize>,
    written: (Sender<String>, Receiver<String>),
}

impl Incidents {
    pub(crate) fn new(
        dir: &Path,
        notices: Notices,
        stop: Arc<AtomicBool>,
        stacks: Arc<StackWatch>,
    ) -> Self {
        Self {
            dir: dir.to_owned(),
            notices,
            stop,
            stacks,
            under_way: Arc::new(AtomicUsize::new(0)),
            written: channel(),
        }
    }

    /// Tells of an incident whose stall lasts still. Naming its stacks takes time that the
    /// recorder's own thread does not have.
    pub(crate) fn tell_preliminary(&self, mut incident: Incident, raw: RawEvidence) {
        let (stacks, notices) = (self.stacks.clone(), self.notices.clone());
        let thread = std::thread::Builder::new().name("ff-preliminary".to_owned());
        let spawned = thread.spawn(move || {
            incident.stacks = stacks.name(raw);
            notices.send(Notice::Preliminary(Box::new(incident)));
        });
        // Without it there is the incident's own notice later.
        drop(spawned);
    }

    /// Names an incident's stacks and writes it, as often as it takes while we run.
    pub(crate) fn write(&self, mut incident: Incident, raw: RawEvidence) {
        if self.under_way.load(Ordering::Relaxed) >= WAITING_MAX {
            let text = format!("{}: too many incidents wait for the disk", incident.id);
            self.notices.send(Notice::NotWritten(text));
            return;
        }
        self.under_way.fetch_add(1, Ordering::Relaxed);
        let job = Job {
            dir: self.dir.clone(),
            notices: self.notices.clone(),
            stop: self.stop.clone(),
            written: self.written.0.clone(),
        };
        let under_way = self.under_way.clone();
        let thread = std::thread::Builder::new().name("ff-incident".to_owned());
        let stacks = self.stacks.clone();
        let spawned = thread.spawn(move || {
            incident.stacks = stacks.name(raw);
            job.run(incident);
            under_way.fetch_sub(1, Ordering::Relaxed);
        });
        if let Err(error) = spawned {
            self.under_way.fetch_sub(1, Ordering::Relaxed);
            self.notices.send(Notice::NotWritten(error.to_string()));
        }
    }

    /// Ids of incidents whose files are there now.
    pub(crate) fn written(&self) -> Vec<String> {
        self.written.1.try_iter().collect()
    }

    /// Waits for what is under way, at most for `patience`.
    pub(crate) fn wait(&self, patience: Duration) {
        let end = Instant::now() + patience;
        while self.under_way.load(Ordering::Relaxed) > 0 && Instant::now() < end {
            std::thread::sleep(NAP);
        }
    }
}

struct Job {
    dir: PathBuf,
    notices: Notices,
    stop: Arc<AtomicBool>,
    written: Sender<String>,
}

impl Job {
    fn run(&self, incident: Incident) {
        let mut told = false;
        loop {
            let last_time = self.stop.load(Ordering::Relaxed);
            match write_frame(&incident, &self.dir) {
                Ok(path) => {
                    let _ = self.written.send(incident.id.clone());
                    self.notices.send(Notice::Written {
                        path,
                        incident: Box::new(incident),
                        recovered: false,
                    });
                    return;
                }
                Err(error) if !told => {
                    told = true;
                    let text = format!("{error}; kept in memory and tried again");
                    self.notices.send(Notice::NotWritten(text));
                }
                Err(_) => {}
            }
            if last_time {
                return;
            }
            let again = Instant::now() + RETRY;
            while Instant::now() < again && !self.stop.load(Ordering::Relaxed) {
                std::thread::sleep(NAP);
            }
        }
    }
}
