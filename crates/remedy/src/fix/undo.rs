//! Putting the changes of a plan back.

use super::change::Change;
use super::journal::{DoneStep, Entry, State};
use super::locked::LockedJournal;
use super::root::Root;
use super::undone::Undone;
use super::variable::Access;
use crate::JournalError;
use crate::journal::now_us;

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
                        Some(format!("{name}: somebody else has set it to {now} since"))
                    }
                    Err(why) if why.starts_with(&name) => Some(why.clone()),
                    Err(why) => Some(format!("{name}: {why}")),
                    Ok(_) => None,
                }
            })
            .collect()
    }

    /// Puts everything back that can be; the entry says afterwards how far it is.
    pub(super) fn of(
        entry: &mut Entry,
        mut access: Option<&mut Access>,
        forced: bool,
        interrupted: bool,
    ) -> Self {
        let root = Root::at(&entry.root);
        let restarted = !forced && entry.is_of_another_boot();
        let mut steps = Vec::new();
        for step in entry.steps.iter().rev() {
            let undone = match &step.change {
                Change::KernelSetting(_) if restarted => Ok(Undone::HostRestarted),
                change => {
                    change.put_back(&root, &entry.id, access.as_deref_mut(), forced, interrupted)
                }
            };
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

pub(super) fn over(entry: &mut Entry, notes: Vec<String>) {
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
) -> Result<UndoneEntry, JournalError> {
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
