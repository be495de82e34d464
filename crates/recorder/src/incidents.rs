//! Writing incidents, each on a thread of its own: the disk may be what stalls.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use model::Incident;
use store::write_incident;

use crate::held::{HeldIncident, Place};
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
    under_way: Arc<Mutex<Vec<String>>>,
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
            under_way: Arc::new(Mutex::new(Vec::new())),
            written: channel(),
        }
    }

    /// Names stacks only so that the symbol tables are read: that takes a second and more where processors are short, and
    /// the first verdict on the stall would come later by as much.
    pub(crate) fn name_first(&self, raw: RawEvidence) {
        // Of many servers that stall at once some read them later.
        let Some(place) = Place::take() else { return };
        let stacks = self.stacks.clone();
        let spawned = kernel::own_threads::start("ff-names", move || {
            drop(stacks.name(raw));
            drop(place);
        });
        // Without it the first verdict reads them.
        drop(spawned);
    }

    /// Tells of an incident whose stall lasts still. Naming its stacks takes time that the
    /// recorder's own thread does not have.
    pub(crate) fn announce_preliminary(
        &self,
        mut incident: Incident,
        raw: RawEvidence,
        place: Place,
    ) {
        let (stacks, notices) = (self.stacks.clone(), self.notices.clone());
        let spawned = kernel::own_threads::start("ff-preliminary", move || {
            incident.stacks = stacks.name(raw);
            let held = HeldIncident::new(incident, place);
            notices.send(Notice::Preliminary(Box::new(held)));
        });
        // Without it there is the incident's own notice later.
        drop(spawned);
    }

    /// Names an incident's stacks and writes it, as often as it takes while we run.
    pub(crate) fn write(&self, mut incident: Incident, raw: RawEvidence, place: Place) {
        if locked(&self.under_way).len() >= WAITING_MAX {
            self.notices.send(Notice::IncidentLost {
                id: incident.id,
                error: "too many incidents wait for the disk".to_owned(),
            });
            return;
        }
        let id = incident.id.clone();
        locked(&self.under_way).push(id.clone());
        let job = Job {
            dir: self.dir.clone(),
            notices: self.notices.clone(),
            stop: self.stop.clone(),
            written: self.written.0.clone(),
        };
        let (under_way, own) = (self.under_way.clone(), id.clone());
        let stacks = self.stacks.clone();
        let spawned = kernel::own_threads::start("ff-incident", move || {
            incident.stacks = stacks.name(raw);
            job.run(incident, place);
            locked(&under_way).retain(|id| *id != own);
        });
        if let Err(error) = spawned {
            locked(&self.under_way).retain(|known| *known != id);
            let error = error.to_string();
            self.notices.send(Notice::IncidentLost { id, error });
        }
    }

    /// Ids of incidents whose files are there now.
    pub(crate) fn written(&self) -> Vec<String> {
        self.written.1.try_iter().collect()
    }

    /// Waits for what is under way, at most for `patience`; what is not there then is lost.
    pub(crate) fn wait(&self, patience: Duration) {
        let end = Instant::now() + patience;
        while !locked(&self.under_way).is_empty() && Instant::now() < end {
            std::thread::sleep(NAP);
        }
        for id in locked(&self.under_way).iter() {
            self.notices.send(Notice::IncidentLost {
                id: id.clone(),
                error: format!("the disk did not accept it within {} s", patience.as_secs()),
            });
        }
    }
}

/// Incidents that have no file yet.
fn locked(under_way: &Mutex<Vec<String>>) -> MutexGuard<'_, Vec<String>> {
    under_way.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Job {
    dir: PathBuf,
    notices: Notices,
    stop: Arc<AtomicBool>,
    written: Sender<String>,
}

impl Job {
    fn run(&self, incident: Incident, place: Place) {
        let mut told = false;
        loop {
            let last_time = self.stop.load(Ordering::Relaxed);
            match write_incident(&incident, &self.dir) {
                Ok(path) => {
                    let _ = self.written.send(incident.id.clone());
                    self.notices.send(Notice::Written {
                        path,
                        incident: Box::new(HeldIncident::new(incident, place)),
                        recovered: false,
                    });
                    return;
                }
                // The recording ends: whoever started it must know that there is no file.
                Err(error) if last_time => {
                    let error = error.to_string();
                    let id = incident.id;
                    self.notices.send(Notice::IncidentLost { id, error });
                    return;
                }
                Err(error) if !told => {
                    told = true;
                    let text = format!("{error}; kept in memory, trying again");
                    self.notices.send(Notice::NotWritten(text));
                }
                Err(_) => {}
            }
            let again = Instant::now() + RETRY;
            while Instant::now() < again && !self.stop.load(Ordering::Relaxed) {
                std::thread::sleep(NAP);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use model::Window;

    use super::*;

    fn incident() -> Incident {
        Incident {
            id: "3306-x".to_owned(),
            window: Window { from: 0, to: 1 },
            ..Incident::default()
        }
    }

    #[test]
    fn what_cannot_be_written_at_the_end_is_lost_and_said() {
        let file = std::env::temp_dir().join(format!("freezeframe-no-dir-{}", std::process::id()));
        std::fs::write(&file, "").unwrap();
        let (sender, told) = channel();
        let notices = Notices {
            label: "3306".to_owned(),
            sender,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let job = Job {
            dir: file.clone(),
            notices,
            stop: stop.clone(),
            written: channel().0,
        };
        let writing = std::thread::spawn(move || job.run(incident(), Place::take_anyway()));
        let Ok((_, Notice::NotWritten(error))) = told.recv() else {
            panic!("nothing was said of the first attempt");
        };
        assert!(error.contains("trying again"), "{error}");
        stop.store(true, Ordering::Relaxed);
        let Ok((_, Notice::IncidentLost { id, error })) = told.recv() else {
            panic!("nothing was said of the last attempt");
        };
        assert!(id == "3306-x" && !error.is_empty(), "{id}: {error}");
        writing.join().unwrap();
        std::fs::remove_file(file).unwrap();
    }
}
