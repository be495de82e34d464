//! One thread puts into the journal all that came while it was busy, with one sync for all of it.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::fleet::gateway::{Added, Arrival, Journal};
use anyhow::{Context, Result};

use super::state::{Part, State, locked};
use crate::fleet::now_ms;

/// Batches of one sync.
const BATCHES_MAX: usize = 256;

/// How long the disk may take, before whoever sent is told so.
const PATIENCE: Duration = Duration::from_secs(30);

struct Pending {
    arrival: Arrival,
    answer: SyncSender<Result<Added, String>>,
}

/// Whoever has a batch for the journal.
#[derive(Clone)]
pub(super) struct Keeper {
    to: SyncSender<Pending>,
}

impl Keeper {
    pub(super) fn start(journal: Arc<Mutex<Journal>>, state: Arc<State>) -> Result<Self> {
        let (to, arrivals) = sync_channel(BATCHES_MAX);
        kernel::own_threads::start("ff-journal", move || keep(&arrivals, &journal, &state))
            .context("cannot start the thread of the journal")?;
        Ok(Self { to })
    }

    /// Puts a batch on the disk.
    ///
    /// # Errors
    ///
    /// Why it is not there. Whether it is there after a long time nobody knows: it is sent again.
    pub(super) fn keep(&self, arrival: Arrival) -> Result<Added, String> {
        let (answer, answered) = sync_channel(1);
        match self.to.try_send(Pending { arrival, answer }) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Ok(Added::Full),
            Err(TrySendError::Disconnected(_)) => return Err("the journal has ended".to_owned()),
        }
        let slow = || Err("the disk of the gateway is too slow".to_owned());
        answered.recv_timeout(PATIENCE).unwrap_or_else(|_| slow())
    }
}

fn keep(arrivals: &Receiver<Pending>, journal: &Mutex<Journal>, state: &State) {
    while let Ok(first) = arrivals.recv() {
        let more = arrivals.try_iter().take(BATCHES_MAX - 1);
        let (batches, answers): (Vec<_>, Vec<_>) = std::iter::once(first)
            .chain(more)
            .map(|pending| (pending.arrival, pending.answer))
            .unzip();
        let added = locked(journal).add(&batches, now_ms() / 1000);
        state.look_at(journal);
        match added {
            Ok(all) => {
                match all.contains(&Added::Full) {
                    true => state.trouble(Part::Journal, FULL),
                    false => state.works(Part::Journal),
                }
                // Who went away meanwhile sends it again.
                for (answer, added) in answers.into_iter().zip(all) {
                    let _ = answer.send(Ok(added));
                }
            }
            Err(error) => {
                state.trouble(Part::Journal, &error.to_string());
                for answer in answers {
                    let _ = answer.send(Err(error.to_string()));
                }
            }
        }
    }
}

/// What is wrong when nothing more can wait.
pub(super) const FULL: &str =
    "the journal is full (journal_mebibytes): the store is away or too slow";
