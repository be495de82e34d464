//! Fixes that were interrupted, and leases that nobody watches any more: what a killed process leaves to the next one.

use super::journal::{Entry, FixJournal, State};
use super::locked::LockedJournal;
use super::undo::{UndoneEntry, undo};
use super::variable::Access;
use crate::JournalError;

/// An entry that was left behind.
#[derive(Debug)]
pub struct Unsettled {
    /// As it is written down.
    pub entry: Entry,
    /// What became of it; absent when it was only looked at.
    pub undone: Option<UndoneEntry>,
}

/// What the next start has to put back, without touching anything. Somebody who is at work on it now counts as well.
pub fn unsettled(journal: &FixJournal) -> Result<Vec<Entry>, JournalError> {
    let entries = journal.list()?.into_iter().filter_map(Result::ok);
    Ok(entries
        .filter(|entry| match entry.state {
            State::Applying => true,
            State::Applied | State::Left => {
                entry.deadline_us.is_some() && !journal.is_watched(&entry.id)
            }
            State::Undone | State::Done => false,
        })
        .collect())
}

/// Puts back what was interrupted, and leases that nobody watches. `login` makes the way in to an entry's server.
pub fn settle(
    journal: &LockedJournal,
    login: &dyn Fn(&Entry) -> Result<Access, String>,
) -> Result<Vec<Unsettled>, JournalError> {
    let mut all = Vec::new();
    for mut entry in unsettled(journal.journal())? {
        let mut access = entry.needs_server().then(|| login(&entry));
        let access = match &mut access {
            Some(Ok(access)) => Some(access),
            // What needs no server is put back all the same.
            Some(Err(_)) | None => None,
        };
        let undone = undo(journal, &mut entry, access, false)?;
        all.push(Unsettled {
            entry,
            undone: Some(undone),
        });
    }
    Ok(all)
}
