//! Making the changes of a plan, and putting them back.

use std::path::Path;
use std::time::Duration;

use thiserror::Error;

use super::change::Undone;
use super::journal::{DoneStep, Entry, FixJournalError, LockedJournal, State, VERSION};
use super::root::Root;
use super::variable::Access;
use super::watch;
use crate::general_log::{now_us, random_id};

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Order {
    /// The cause's id.
    pub cause: String,
    /// The incident that it was found in.
    pub incident: Option<String>,
    /// The tree of files.
    pub root: Root,
    /// The changes, in this order.
    pub steps: Vec<DoneStep>,
    /// For how long; absent: until it is undone.
    pub lease: Option<Duration>,
}

/// What was done.
#[derive(Debug)]
pub struct Applied {
    /// As it is written down.
    pub entry: Entry,
}

/// Why nothing is changed.
#[derive(Debug, Error)]
pub enum FixError {
    /// The journal fails.
    #[error(transparent)]
    Journal(#[from] FixJournalError),
    /// No process could be started that gives the lease back.
    #[error("no watchdog for the lease: {0}; nothing was changed")]
    Watchdog(String),
    /// A change failed, and those before it are back.
    #[error("{0}; what was changed before that is back")]
    Failed(String),
    /// A change failed, and something before it could not be put back.
    #[error("{why}; NOT BACK: {left}; try freezeframe fix --undo {id}")]
    HalfDone {
        /// Why it failed.
        why: String,
        /// What is still changed.
        left: String,
        /// Its entry.
        id: String,
    },
}

/// Makes the changes, all or none. `program` is our own, started again as the watchdog of a lease.
pub fn apply(
    journal: &LockedJournal,
    order: Order,
    mut access: Option<&mut Access>,
    program: &Path,
) -> Result<Applied, FixError> {
    let now = now_us();
    let lease_us = order
        .lease
        .map(|lease| i64::try_from(lease.as_micros()).unwrap_or(i64::MAX));
    let needs_server = order.steps.iter().any(|step| step.change.needs_server());
    let mut entry = Entry {
        version: VERSION,
        id: random_id().map_err(|error| FixError::Failed(error.to_string()))?,
        cause: order.cause,
        incident: order.incident,
        root: order.root.dir().to_owned(),
        server: access
            .as_ref()
            .filter(|_| needs_server)
            .map(|access| access.way().clone()),
        steps: order.steps,
        state: State::Applying,
        taken_us: now,
        deadline_us: lease_us.map(|lease| now.saturating_add(lease)),
        ended_us: None,
        notes: Vec::new(),
    };
    if needs_server && let Some(access) = access.as_deref_mut() {
        access.become_only().map_err(FixError::Failed)?;
    }
    journal.write(&entry)?;
    // Held until everything is changed: its end before that is our death.
    let watchdog = match entry.deadline_us {
        Some(_) => match watch::start(program, journal.journal(), &entry.id, access.as_deref()) {
            Ok(watchdog) => Some(watchdog),
            Err(why) => {
                over(&mut entry, vec![why.clone()]);
                journal.write(&entry)?;
                return Err(FixError::Watchdog(why));
            }
        },
        None => None,
    };
    let id = entry.id.clone();
    let root = order.root;
    // What cannot be put back comes last: until then everything can be.
    let mut order: Vec<usize> = (0..entry.steps.len()).collect();
    let has_undo = |at: &usize| {
        entry
            .steps
            .get(*at)
            .is_some_and(|step| step.change.has_undo())
    };
    order.sort_by_key(|at| !has_undo(at));
    for at in order {
        let Some(step) = entry.steps.get_mut(at) else {
            break;
        };
        if let Err(why) = step.change.make(&root, &id, access.as_deref_mut()) {
            let done = UndoneEntry::of(&mut entry, access, false, true);
            entry.notes.insert(0, why.clone());
            journal.write(&entry)?;
            if done.is_over() {
                journal.forget_watch(&id);
                return Err(FixError::Failed(why));
            }
            return Err(FixError::HalfDone {
                why,
                left: done.left().join("; "),
                id,
            });
        }
    }
    entry.state = match entry.steps.iter().any(|step| step.change.has_undo()) {
        true => State::Applied,
        false => {
            entry.ended_us = Some(now_us());
            State::Done
        }
    };
    journal.write(&entry)?;
    if let Some(watchdog) = watchdog {
        watchdog.leave_alone();
    }
    Ok(Applied { entry })
}

/// What became of each change of an entry that was to be put back, the last one first.
#[derive(Debug)]
pub struct UndoneEntry {
    /// What was changed, and what became of it or why it could not be put back.
    pub steps: Vec<(DoneStep, Result<Undone, String>)>,
}

impl UndoneEntry {
    /// Nothing of ours is left.
    pub fn is_over(&self) -> bool {
        self.steps
            .iter()
            .all(|(_, undone)| undone.as_ref().is_ok_and(Undone::is_over))
    }

    /// What is left, in words.
    pub fn left(&self) -> Vec<String> {
        self.steps
            .iter()
            .filter_map(|(step, undone)| {
                let name = step.change.name();
                match undone {
                    Ok(Undone::Changed { now }) => {
                        Some(format!("{name}: somebody else has set {now} since"))
                    }
                    Err(why) if why.starts_with(&name) => Some(why.clone()),
                    Err(why) => Some(format!("{name}: {why}")),
                    Ok(_) => None,
                }
            })
            .collect()
    }

    /// Puts everything back that can be; the entry says afterwards how far it is.
    fn of(
        entry: &mut Entry,
        mut access: Option<&mut Access>,
        forced: bool,
        interrupted: bool,
    ) -> Self {
        let root = Root::at(&entry.root);
        let mut steps = Vec::new();
        for step in entry.steps.iter().rev() {
            let undone =
                step.change
                    .put_back(&root, &entry.id, access.as_deref_mut(), forced, interrupted);
            if undone.is_err()
                && step.change.needs_server()
                && let Some(access) = access.as_deref_mut()
            {
                access.forget();
            }
            steps.push((step.clone(), undone));
        }
        let all = Self { steps };
        if all.is_over() {
            over(entry, Vec::new());
        } else {
            entry.state = State::Left;
            entry.notes = all.left();
        }
        all
    }
}

fn over(entry: &mut Entry, notes: Vec<String>) {
    entry.state = State::Undone;
    entry.ended_us = Some(now_us());
    entry.notes = notes;
}

/// Puts an entry back. What somebody else has changed since is left as it is unless it is `forced`.
pub fn undo(
    journal: &LockedJournal,
    entry: &mut Entry,
    mut access: Option<&mut Access>,
    forced: bool,
) -> Result<UndoneEntry, FixJournalError> {
    let interrupted = entry.state == State::Applying;
    let ended = access.as_ref().is_some_and(|access| access.has_ended());
    let unreached = match access
        .as_deref_mut()
        .filter(|_| entry.needs_server() && !ended)
    {
        Some(access) => access.become_only().err(),
        None => None,
    };
    if unreached.is_some()
        && let Some(access) = access.as_deref_mut()
    {
        access.forget();
    }
    let done = UndoneEntry::of(entry, access, forced, interrupted);
    journal.write(entry)?;
    if done.is_over() {
        journal.forget_watch(&entry.id);
    }
    Ok(done)
}
