//! The second process of a lease: it sees the owner die and gives the lease back in its place.
//!
//! It is the same program, started again with a hidden command, in a session of its own, so that Ctrl-C and a closed
//! terminal do not reach it; a service manager's SIGTERM is heard and not obeyed. It is told what it needs on its
//! standard input, the password included, which is nowhere else; the end of that input is the owner's death.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use server::{Address, Login, Session};

use crate::general_log::{free_bytes, remove_log};
use crate::until_back::{DEADLINES, Patience, until_back};
use crate::{Change, Journal, Lease, Say, ServerWay, orders};

/// The hidden command of our program.
pub const COMMAND: &str = "lease-watchdog";

/// How long the owner may be late before the watchdog gives the lease back in its place.
const GRACE: Duration = Duration::from_secs(5);

/// How often the limits of the log are looked at.
const POLL: Duration = Duration::from_millis(200);

/// What a watchdog is told; one line.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Orders {
    journal: PathBuf,
    id: String,
    server: ServerWay,
    user: String,
    password: Option<String>,
    /// When the lease is over at the latest, milliseconds from now.
    over_in_ms: u64,
}

/// A watchdog that runs; it acts when this is dropped and its lease is still in the journal.
#[derive(Debug)]
pub(crate) struct Watchdog {
    child: Child,
    /// Held open: its end is what the watchdog waits for.
    orders: Option<ChildStdin>,
}

impl Watchdog {
    /// Starts one and waits until it is logged in.
    pub(crate) fn start(
        program: &Path,
        journal: &Journal,
        id: &str,
        server: &ServerWay,
        login: &Login,
        over_in: Duration,
    ) -> Result<Self, String> {
        let mut child = Command::new(program)
            .arg0("freezeframe")
            .arg(COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let orders = child.stdin.take();
        let answers = child.stdout.take();
        let mut watchdog = Self { child, orders };
        let told = Orders {
            journal: journal.dir().to_owned(),
            id: id.to_owned(),
            server: server.clone(),
            user: login.user.clone(),
            password: login.password.clone(),
            over_in_ms: u64::try_from(over_in.as_millis()).unwrap_or(u64::MAX),
        };
        orders::give(
            &told,
            watchdog.orders.as_mut(),
            answers,
            "it cannot log in: no answer",
        )?;
        Ok(watchdog)
    }

    /// Whether it has ended, which it does not while its lease is in force.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends it away; the lease must be out of the journal.
    pub(crate) fn dismiss(mut self) {
        self.orders = None;
        let _ = self.child.wait();
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.orders = None;
        // A zombie otherwise, when the lease was never written; when it acts, it may take for ever.
        let _ = self.child.try_wait();
    }
}

/// The watchdog's whole life: `freezeframe lease-watchdog`, which only [`crate::general_log`] starts.
/// `say` is given what there is to tell; the owner's terminal may be closed by then.
pub fn watchdog(say: Say) -> Result<(), String> {
    let (orders, owner) = orders::hear::<Orders>()?;
    let login = Login {
        user: orders.user.clone(),
        password: orders.password.clone(),
        from: "the lease's owner".to_owned(),
    };
    let journal = Journal::open(&orders.journal).map_err(|error| error.to_string())?;
    let address = Address::from(&orders.server.address);
    // Kept, for the time when the server lets nobody in.
    let session = match Session::connect(&address, &login, DEADLINES) {
        Ok(session) => session,
        Err(error) => {
            orders::answer(&format!("the watchdog cannot log in: {error}\n"));
            return Ok(());
        }
    };
    orders::answer(orders::READY);
    wait(&orders, &journal, &owner);
    act(&orders, &journal, &login, session, say)
}

/// Until the owner is dead, or late, or lets the log grow over its limits.
fn wait(orders: &Orders, journal: &Journal, owner: &std::sync::mpsc::Receiver<()>) {
    let until = Instant::now() + Duration::from_millis(orders.over_in_ms).saturating_add(GRACE);
    while owner.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
        if Instant::now() >= until || is_over_limits(journal, &orders.id) {
            return;
        }
    }
}

/// Twice what the owner lets it grow to: it is stopped, or does not look.
fn is_over_limits(journal: &Journal, id: &str) -> bool {
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
    journal: &Journal,
    login: &Login,
    session: Session,
    mut say: Say,
) -> Result<(), String> {
    // Waits while the owner itself gives it back; gone when it has.
    let Some(locked) = journal
        .lock(&orders.id, None)
        .map_err(|error| error.to_string())?
    else {
        return Ok(());
    };
    until_back(
        &locked.lease,
        login,
        Some(session),
        &Patience::endless(),
        &mut say,
    )?;
    let Change::GeneralLog(change) = &locked.lease.change;
    if let Err(error) = remove_log(&change.file_here, &locked.lease.id, locked.lease.taken_us) {
        say(&format!("the log is not removed: {error}"));
    }
    locked.forget().map_err(|error| error.to_string())
}
