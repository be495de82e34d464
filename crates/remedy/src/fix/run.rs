//! Making the changes of a plan.

use std::path::Path;
use std::time::Duration;

use model::OrderBy;
use thiserror::Error;

use super::journal::{DoneStep, Entry, State, boot};
use super::locked::LockedJournal;
use super::public::{PublicError, PublicPlace};
use super::root::Root;
use super::undo::{UndoneEntry, over};
use super::variable::Access;
use super::watch;
use crate::JournalError;
use crate::journal::{Record, now_us, random_id};

/// What is to be done.
#[derive(Debug, Clone)]
pub struct ApplyRequest {
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
    /// The user who asked the helper for it.
    pub asked_by: Option<u32>,
    /// Who is told of it.
    pub public: Option<PublicPlace>,
}

/// What was done.
#[derive(Debug)]
pub struct Applied {
    /// As it is written down.
    pub entry: Entry,
    /// Why nobody was told of it, where somebody was to be.
    pub untold: Option<PublicError>,
}

/// Why nothing is changed.
#[derive(Debug, Error)]
pub enum FixError {
    /// The journal fails.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// No process could be started that gives the lease back.
    #[error("cannot start the lease's watchdog: {0}; nothing was changed")]
    Watchdog(String),
    /// A change failed, and those before it are back.
    #[error("{0}; earlier changes were undone")]
    Failed(String),
    /// A change failed, and something before it could not be put back.
    #[error("{why}; NOT UNDONE: {left}; try freezeframe fix --undo {id}")]
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
    order: ApplyRequest,
    mut access: Option<&mut Access>,
    program: &Path,
) -> Result<Applied, FixError> {
    let now = now_us();
    let lease_us = order
        .lease
        .map(|lease| i64::try_from(lease.as_micros()).unwrap_or(i64::MAX));
    let needs_server = order.steps.iter().any(|step| step.change.needs_server());
    let mut entry = Entry {
        version: Entry::FORM.version,
        id: random_id().map_err(FixError::Failed)?,
        cause: order.cause,
        incident: order.incident,
        root: order.root.dir().to_owned(),
        server: access
            .as_ref()
            .filter(|_| needs_server)
            .map(|access| access.server_login().clone()),
        steps: order.steps,
        state: State::Applying,
        taken_us: now,
        deadline_us: lease_us.map(|lease| now.saturating_add(lease)),
        ended_us: None,
        notes: Vec::new(),
        asked_by: order.asked_by,
        boot: boot(&order.root),
        public: order.public,
        proof: None,
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
    order.order_by_key(|at| !has_undo(at));
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
    // The fix is applied: from now on the end of the pipe means nothing.
    drop(watchdog);
    Ok(Applied {
        untold: journal.untold(),
        entry,
    })
}
