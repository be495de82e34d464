//! Leases whose owner is gone: both it and its watchdog were killed, or the machine went down.

use std::path::Path;
use std::time::Duration;

use server::Login;

use crate::general_log::GaveBack;
use crate::give_back::{self, Patience};
use crate::{GiveBackEnd, Journal, JournalError, Lease};

/// How long another process may take that gives the same lease back.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// A lease that was found in the journal.
#[derive(Debug)]
pub struct Leftover {
    /// What is written down.
    pub lease: Lease,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a lease that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Its owner lives: it is in force.
    InForce,
    /// Its owner is gone and nobody has given it back.
    Left,
    /// It was given back just now, or there was nothing left to give back.
    GivenBack(GiveBackEnd),
    /// It could not be given back: why.
    Failed(String),
}

/// The leases in a journal, without touching anything. No directory is no leases.
pub fn leftovers(dir: &Path) -> Result<Vec<Result<Leftover, JournalError>>, JournalError> {
    let Some(journal) = Journal::<Lease>::existing(dir)? else {
        return Ok(Vec::new());
    };
    let found = |lease: Lease| Leftover {
        outcome: if lease.owner.is_alive() {
            Outcome::InForce
        } else {
            Outcome::Left
        },
        lease,
    };
    Ok(journal
        .list()?
        .into_iter()
        .map(|lease| lease.map(found))
        .collect())
}

/// Gives every lease back whose owner is gone. `login` makes the login of a lease (what the user said now, or
/// [`crate::LoginSource::login`]); `patience` bounds each, without it a server is tried until it answers. `tell` is given
/// a line now and then of what is still changed.
pub fn revert_leftovers(
    dir: &Path,
    login: &dyn Fn(&Lease) -> Result<Login, String>,
    patience: &Patience,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Result<Leftover, JournalError>>, JournalError> {
    let Some(journal) = Journal::<Lease>::existing(dir)? else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for lease in journal.list()? {
        let lease = match lease {
            Ok(lease) => lease,
            Err(error) => {
                all.push(Err(error));
                continue;
            }
        };
        let outcome = if lease.owner.is_alive() {
            Outcome::InForce
        } else {
            give_back(&journal, &lease, login, patience, tell).unwrap_or_else(Outcome::Failed)
        };
        all.push(Ok(Leftover { lease, outcome }));
    }
    Ok(all)
}

fn give_back(
    journal: &Journal<Lease>,
    lease: &Lease,
    login: &dyn Fn(&Lease) -> Result<Login, String>,
    patience: &Patience,
    tell: &mut dyn FnMut(&str),
) -> Result<Outcome, String> {
    let login = login(lease)?;
    let in_hand = journal
        .lock_record(&lease.id, Some(LOCK_PATIENCE))
        .map_err(|error| error.to_string())?;
    let back = match in_hand {
        Some(in_hand) => give_back::give_back(in_hand, &login, None, patience, tell)?,
        None => GiveBackEnd::Answered(GaveBack::Back),
    };
    Ok(Outcome::GivenBack(back))
}
