//! What a comparison of before and after said of a fix, written down with it.

use std::path::Path;
use std::time::Duration;

use super::journal::{FixJournal, State};
use super::public::Proof;
use crate::JournalError;

/// How long another process may be at work on the journal.
const PATIENCE: Duration = Duration::from_secs(2);

/// Writes down what was said of a fix of this journal; whether it was. Only where somebody is told of the fix: a journal
/// has no use for it.
///
/// # Errors
///
/// When the journal is not ours, or another process is at work on it.
pub fn note_proof(dir: &Path, id: &str, proof: Proof) -> Result<bool, JournalError> {
    let Some(journal) = FixJournal::existing(dir)? else {
        return Ok(false);
    };
    let locked = journal.lock(Some(PATIENCE))?;
    let Some(mut entry) = journal.read(id)? else {
        return Ok(false);
    };
    // A time that says too little takes nothing back of what an earlier one said.
    let says_nothing = proof == Proof::NotProven && entry.proof.is_some();
    if entry.public.is_none()
        || entry.state == State::Applying
        || entry.proof == Some(proof)
        || says_nothing
    {
        return Ok(false);
    }
    entry.proof = Some(proof);
    locked.write(&entry)?;
    Ok(true)
}
