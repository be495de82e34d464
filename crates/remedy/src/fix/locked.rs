//! The journal in hand: what is written down is told to those who may know of it.

use std::cell::RefCell;
use std::fs::File;
use std::time::Duration;

use super::journal::{Entry, FixJournal};
use super::public::{PublicError, publish};
use crate::{Journal, JournalError};

impl Journal<Entry> {
    /// Waits until nobody else applies or undoes anything, up to `patience`.
    pub fn lock(&self, patience: Option<Duration>) -> Result<LockedJournal, JournalError> {
        Ok(LockedJournal {
            _lock: self.lock_all(patience)?,
            journal: self.clone(),
            untold: RefCell::new(None),
        })
    }
}

/// The journal while nobody else changes anything; let go when it is dropped or we die.
#[derive(Debug)]
pub struct LockedJournal {
    journal: FixJournal,
    _lock: File,
    /// Why nobody was told of what was written last.
    untold: RefCell<Option<PublicError>>,
}

impl LockedJournal {
    /// The journal.
    pub fn journal(&self) -> &FixJournal {
        &self.journal
    }

    /// Writes an entry down: when this returns it is on disk. Who may know of it is told, which changes nothing when it
    /// fails.
    pub fn write(&self, entry: &Entry) -> Result<(), JournalError> {
        self.journal.write(entry)?;
        self.untold.replace(publish(entry).err());
        Ok(())
    }

    /// Why nobody was told of the entry that was written last, when that failed.
    pub fn untold(&self) -> Option<PublicError> {
        self.untold.take()
    }

    /// A lease is over: nobody watches it any more.
    pub(super) fn forget_watch(&self, id: &str) {
        // Only an empty file; left behind it does no harm.
        let _ = std::fs::remove_file(self.journal.watch_path(id));
    }
}
