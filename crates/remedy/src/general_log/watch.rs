//! Who gives the general log back when its owner is dead or late.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use server::{Address, Login, Session};

use super::log_directory::free_bytes;
use super::plan::Plan;
use crate::give_back::{DEADLINES, Patience, give_back};
use crate::watchdog::{self, Watchdog};
use crate::{Change, Journal, Lease, Say, ServerLogin};

/// The hidden command of our program.
pub const COMMAND: &str = "lease-watchdog";

/// How long the owner may be late before the watchdog gives the lease back in its place.
const GRACE: Duration = Duration::from_secs(5);

/// How often the limits of the log are looked at.
const POLL: Duration = Duration::from_millis(200);

/// What a watchdog is told; one line.
#[derive(Serialize, Deserialize)]
struct Orders {
    journal: PathBuf,
    id: String,
    server: ServerLogin,
    user: String,
    password: Option<String>,
    /// When the lease is over at the latest, milliseconds from now.
    over_in_ms: u64,
}

/// Starts one and waits until it is logged in.
pub(super) fn start(plan: &Plan, journal: &Journal<Lease>, id: &str) -> Result<Watchdog, String> {
    let orders = Orders {
        journal: journal.dir().to_owned(),
        id: id.to_owned(),
        server: plan.server.clone(),
        user: plan.login.user.clone(),
        password: plan.login.password.clone(),
        over_in_ms: u64::try_from(plan.time_max.as_millis()).unwrap_or(u64::MAX),
    };
    let command = watchdog::command(&plan.program, COMMAND);
    Watchdog::start(command, &orders, "it cannot log in: no answer")
}

/// The watchdog's whole life: `freezeframe lease-watchdog`, which only [`super::GeneralLogLease::take`] starts.
/// `say` is given what there is to tell; the owner's terminal may be closed by then.
pub fn watch(say: Say) -> Result<(), String> {
    let (orders, owner) = watchdog::hear::<Orders>()?;
    let login = Login {
        user: orders.user.clone(),
        password: orders.password.clone(),
        from: "the lease's owner".to_owned(),
        tls: orders.server.login.tls(),
    };
    let journal = Journal::open(&orders.journal).map_err(|error| error.to_string())?;
    let address = Address::from(&orders.server.address);
    // Kept, for the time when the server lets nobody in.
    let session = match Session::connect(&address, &login, DEADLINES) {
        Ok(session) => session,
        Err(error) => {
            watchdog::answer(&format!("the watchdog cannot log in: {error}\n"));
            return Ok(());
        }
    };
    watchdog::answer(watchdog::READY);
    wait(&orders, &journal, &owner);
    act(&orders, &journal, &login, session, say)
}

/// Until the owner is dead, or late, or lets the log grow over its limits.
fn wait(orders: &Orders, journal: &Journal<Lease>, owner: &Receiver<()>) {
    let until = Instant::now() + Duration::from_millis(orders.over_in_ms).saturating_add(GRACE);
    while owner.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
        if Instant::now() >= until || is_over_limits(journal, &orders.id) {
            return;
        }
    }
}

/// Twice what the owner lets it grow to: it is stopped, or does not look.
fn is_over_limits(journal: &Journal<Lease>, id: &str) -> bool {
    let Ok(Some(Lease {
        change: Change::GeneralLog(change),
        ..
    })) = journal.read(id)
    else {
        return false;
    };
    let size = change
        .file_here
        .metadata()
        .map_or(0, |metadata| metadata.len());
    let free = free_bytes(&change.file_here).unwrap_or(u64::MAX);
    size / 2 > change.bytes_max || free < change.free_bytes_min / 2
}

fn act(
    orders: &Orders,
    journal: &Journal<Lease>,
    login: &Login,
    session: Session,
    mut say: Say,
) -> Result<(), String> {
    // Waits while the owner itself gives it back; gone when it has.
    let Some(in_hand) = journal
        .lock_record(&orders.id, None)
        .map_err(|error| error.to_string())?
    else {
        return Ok(());
    };
    let patience = Patience::endless();
    give_back(in_hand, login, Some(session), &patience, &mut say).map(drop)
}
