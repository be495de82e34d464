//! Who makes the changes, who watches, and who comes too late.

use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use remedy::watchdog::{self, Watchdog};
use remedy::{Journal, ProcessId, Say, random_id};
use serde::{Deserialize, Serialize};

use super::{COMMAND, HostChange, HostEntry, HostError, NumberedChange};

/// Pauses between two attempts to put something back that would not go.
const RETRY: Duration = Duration::from_secs(1);

/// So often it is tried; after that it is left in the journal for the next start.
const ATTEMPTS: usize = 60;

/// What a watchdog is told; one line.
#[derive(Debug, Serialize, Deserialize)]
struct Orders {
    journal: PathBuf,
    id: String,
    program: PathBuf,
    /// When it is over at the latest, milliseconds from now.
    over_in_ms: u64,
}

/// Changes of the host that end with this value, and with our process at the latest.
#[derive(Debug)]
pub struct HostLease {
    program: PathBuf,
    say: Say,
    journal: Journal<HostEntry>,
    entry: HostEntry,
    /// Absent when it was sent away.
    watchdog: Option<Watchdog>,
    next: u64,
}

impl HostLease {
    /// Starts the watchdog (`program` is ourselves); nothing is changed yet. After `over_in` everything goes back,
    /// whatever we are doing. `say` is given what was left as somebody else has set it.
    pub fn begin(
        program: &Path,
        dir: &Path,
        over_in: Duration,
        say: Say,
    ) -> Result<Self, HostError> {
        let journal = Journal::<HostEntry>::open(dir)?;
        let id = random_id().map_err(|why| HostError::Failed {
            what: "a number for the lease".to_owned(),
            why,
        })?;
        let orders = Orders {
            journal: journal.dir().to_owned(),
            id: id.clone(),
            program: program.to_owned(),
            over_in_ms: u64::try_from(over_in.as_millis()).unwrap_or(u64::MAX),
        };
        let mut command = watchdog::command(program, COMMAND);
        command.current_dir("/");
        let watchdog = Watchdog::start(command, &orders, "it does not answer")
            .map_err(HostError::Unwatched)?;
        Ok(Self {
            program: program.to_owned(),
            say,
            journal,
            entry: HostEntry {
                id,
                owner: ProcessId::own(),
                changes: Vec::new(),
            },
            watchdog: Some(watchdog),
            next: 0,
        })
    }

    /// Writes a change down and makes it. The number is for [`Self::put_back`].
    pub fn make(&mut self, change: HostChange) -> Result<u64, HostError> {
        if self.watchdog.as_mut().is_none_or(Watchdog::has_ended) {
            return Err(HostError::Unwatched("the watchdog has ended".to_owned()));
        }
        let _lock = self.journal.lock_all(None)?;
        self.exclude_others(&change)?;
        let number = self.next;
        self.next += 1;
        let what = change.name();
        self.entry.changes.push(NumberedChange {
            number,
            change: change.clone(),
        });
        self.journal.write(&self.entry)?;
        match change.make() {
            Ok(()) => Ok(number),
            Err(why) => {
                // Half of it may be made.
                let _ = self.put_back_locked(number);
                Err(HostError::Failed { what, why })
            }
        }
    }

    /// Two experiments with one setting would each take the other one's for what was there before.
    fn exclude_others(&self, change: &HostChange) -> Result<(), HostError> {
        for other in self.journal.list()? {
            let other = other?;
            let same = other
                .changes
                .iter()
                .any(|numbered| numbered.change.name() == change.name());
            if same {
                return Err(HostError::Taken {
                    what: change.name(),
                    owner: other.owner.pid,
                });
            }
        }
        Ok(())
    }

    /// Puts one change back.
    pub fn put_back(&mut self, number: u64) -> Result<(), HostError> {
        let _lock = self.journal.lock_all(None)?;
        self.put_back_locked(number)
    }

    fn put_back_locked(&mut self, number: u64) -> Result<(), HostError> {
        let mut changes = self.entry.changes.iter();
        let Some(found) = changes.find(|one| one.number == number) else {
            return Ok(());
        };
        back(&found.change, &self.program, self.say)?;
        self.entry.changes.retain(|one| one.number != number);
        Ok(self.journal.write(&self.entry)?)
    }

    /// Everything back, and the watchdog away.
    pub fn end(mut self) -> Result<(), HostError> {
        self.give_back()
    }

    fn give_back(&mut self) -> Result<(), HostError> {
        let result = give_back(&self.journal, &self.entry.id, &self.program, self.say);
        if result.is_ok() {
            self.entry.changes.clear();
        }
        result
    }
}

impl Drop for HostLease {
    fn drop(&mut self) {
        // What fails here the watchdog tries again.
        let _ = self.give_back();
        if let Some(watchdog) = self
            .watchdog
            .take()
            .filter(|_| self.entry.changes.is_empty())
        {
            watchdog.dismiss();
        }
    }
}

fn back(change: &HostChange, program: &Path, say: Say) -> Result<(), HostError> {
    match change.put_back(program) {
        Ok(None) => Ok(()),
        Ok(Some(left)) => {
            say(&left);
            Ok(())
        }
        Err(why) => Err(HostError::Failed {
            what: change.name(),
            why,
        }),
    }
}

/// Puts back what a lease has changed, the last change first, and forgets it. What fails stays written down.
fn give_back(
    journal: &Journal<HostEntry>,
    id: &str,
    program: &Path,
    say: Say,
) -> Result<(), HostError> {
    let _lock = journal.lock_all(None)?;
    let Some(mut entry) = journal.read(id)? else {
        return Ok(());
    };
    let mut first = None;
    for one in entry.changes.clone().iter().rev() {
        match back(&one.change, program, say) {
            Ok(()) => entry.changes.retain(|other| other.number != one.number),
            Err(error) => first = first.or(Some(error)),
        }
    }
    match first {
        None => Ok(journal.forget(id)?),
        Some(error) => {
            journal.write(&entry)?;
            Err(error)
        }
    }
}

/// Puts back what experiments left whose process and watchdog were both killed.
pub fn give_back_left(program: &Path, dir: &Path, say: Say) -> Result<(), HostError> {
    let journal = Journal::<HostEntry>::open(dir)?;
    for entry in journal.list()? {
        let entry = entry?;
        if !entry.owner.is_alive() {
            give_back(&journal, &entry.id, program, say)?;
        }
    }
    Ok(())
}

/// The watchdog's whole life: `freezeframe host-watchdog`, which only [`HostLease::begin`] starts.
pub fn watch(say: Say) -> Result<(), String> {
    let (orders, owner) = watchdog::hear::<Orders>()?;
    let journal = Journal::open(&orders.journal).map_err(|error| error.to_string())?;
    watchdog::answer(watchdog::READY);
    let over = Duration::from_millis(orders.over_in_ms);
    // Whether its end or the time comes first, it is over.
    let _: Result<(), RecvTimeoutError> = owner.recv_timeout(over);
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        match give_back(&journal, &orders.id, &orders.program, say) {
            Ok(()) => return Ok(()),
            Err(error) => last = error.to_string(),
        }
        std::thread::sleep(RETRY);
    }
    Err(format!("NOT PUT BACK: {last}"))
}
