//! Who gives a lease of a fix back when its time is over.
//!
//! Two processes of the same program watch each other and the time: the first is started by who applies the fix, in a
//! session of its own; it starts the second one, which holds a pipe whose end is the first one's death. Whichever is
//! killed, the other one takes its place and starts another, so a lease outlives the terminal that it was taken in and
//! any one SIGKILL. When both are killed at once, the lock that they hold on the lease's watch file is gone with them,
//! and the next start gives the lease back.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use server::Login;

use super::journal::{FixJournal, State, watch_lock};
use super::undo::undo;
use super::variable::Access;
use crate::journal::now_us;
use crate::watchdog::{self, Watchdog};
use crate::{JournalError, ServerLogin};

/// The hidden command of our program.
pub const COMMAND: &str = "fix-watchdog";

/// How often it is looked whether the time is over; the wall clock may be set meanwhile.
const POLL: Duration = Duration::from_millis(200);

/// Pause between two attempts at a server that does not answer.
const RETRY: Duration = Duration::from_secs(2);

/// What a watchdog is told; one line.
#[derive(Clone, Serialize, Deserialize)]
struct Orders {
    journal: PathBuf,
    id: String,
    server: Option<ServerLogin>,
    user: String,
    password: Option<String>,
    /// The second one: it begins when its input ends.
    second: bool,
}

/// Starts one and waits until it watches.
pub(super) fn start(
    program: &Path,
    journal: &FixJournal,
    id: &str,
    access: Option<&Access>,
) -> Result<Watchdog, String> {
    let dir = std::path::absolute(journal.dir()).map_err(|error| error.to_string())?;
    start_with(
        program,
        &Orders {
            journal: dir,
            id: id.to_owned(),
            server: access.map(|access| access.server_login().clone()),
            user: access.map_or_else(String::new, |access| access.login().user.clone()),
            password: access.and_then(|access| access.login().password.clone()),
            second: false,
        },
    )
}

fn start_with(program: &Path, orders: &Orders) -> Result<Watchdog, String> {
    let mut command = watchdog::command(program, COMMAND);
    // It outlives the terminal.
    command.stderr(Stdio::null()).current_dir("/");
    Watchdog::start(command, orders, "it does not answer")
}

/// The watchdog's whole life: `freezeframe fix-watchdog`, which only [`super::apply`] and itself start.
pub fn watch(program: &Path) -> Result<(), String> {
    let (mut orders, parent) = watchdog::hear::<Orders>()?;
    let journal = FixJournal::open(&orders.journal).map_err(|error| error.to_string())?;
    let _watched = watch_lock(&journal, &orders.id).map_err(|error| error.to_string())?;
    let mut partner = None;
    if orders.second {
        watchdog::answer(watchdog::READY);
        // Until the first one dies. It does not before the lease is over, unless it is killed.
        let _ = parent.recv();
        orders.second = false;
    } else {
        // It is ready when there are two.
        partner = Some(second(program, &orders)?);
        watchdog::answer(watchdog::READY);
        wait_for_applied(&journal, &orders, &parent);
    }
    if partner.is_none() && is_open(&journal, &orders.id) {
        partner = second(program, &orders).ok();
    }
    while is_running(&journal, &orders.id) {
        std::thread::sleep(POLL);
        if partner.as_mut().is_none_or(Watchdog::has_ended) {
            // Without one it is tried again at the next look.
            partner = second(program, &orders).ok();
        }
    }
    give_back(&journal, &orders)
}

fn second(program: &Path, orders: &Orders) -> Result<Watchdog, String> {
    let second = Orders {
        second: true,
        ..orders.clone()
    };
    start_with(program, &second)
}

/// Until who applies the fix is done, or dead.
fn wait_for_applied(journal: &FixJournal, orders: &Orders, parent: &Receiver<()>) {
    while parent.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
        if !state_is(journal, &orders.id, State::Applying) {
            return;
        }
    }
}

fn state_is(journal: &FixJournal, id: &str, state: State) -> bool {
    matches!(journal.read(id), Ok(Some(entry)) if entry.state == state)
}

fn is_open(journal: &FixJournal, id: &str) -> bool {
    matches!(journal.read(id), Ok(Some(entry)) if entry.is_open())
}

/// Whether the lease is in force and its time not over. One that was interrupted, and one whose file cannot be read,
/// is not.
fn is_running(journal: &FixJournal, id: &str) -> bool {
    matches!(journal.read(id), Ok(Some(entry))
        if entry.state == State::Applied && entry.deadline_us.is_some_and(|deadline| now_us() < deadline))
}

/// Tries until everything is back. What somebody else has changed since is theirs.
fn give_back(journal: &FixJournal, orders: &Orders) -> Result<(), String> {
    let text = |error: JournalError| error.to_string();
    loop {
        {
            let locked = journal.lock(None).map_err(text)?;
            let Some(mut entry) = journal
                .read(&orders.id)
                .map_err(text)?
                .filter(super::Entry::is_open)
            else {
                return Ok(());
            };
            let mut access = orders.server.clone().map(|way| {
                let login = Login {
                    user: orders.user.clone(),
                    password: orders.password.clone(),
                    from: "the lease's owner".to_owned(),
                    tls: way.login.tls(),
                };
                Access::new(way, login)
            });
            let done = undo(&locked, &mut entry, access.as_mut(), false).map_err(text)?;
            if done.steps.iter().all(|(_, undone)| undone.is_ok()) {
                return Ok(());
            }
        }
        std::thread::sleep(RETRY);
    }
}
