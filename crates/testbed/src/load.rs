//! A load of many clients against a server: its pace, duration and result.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use serde::{Deserialize, Serialize};

use crate::client::{self, Done, Load, lock};
use crate::{Error, Latency, Login, Watch};

/// Longest [`Load::duration`].
pub const LOAD_SECONDS_MAX: u64 = 24 * 3600;

/// Most clients of one load; each is a thread and a connection.
pub const CLIENTS_MAX: usize = 4096;

/// How often a waiting load looks at its `stop` flag.
const STOP_POLL: Duration = Duration::from_millis(20);

/// How long clients may take for the statements that they are in when a load is over, before these are ended.
const GRACE: Duration = Duration::from_secs(2);

/// How long the connection that ends them may take for an answer.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Bounds of [`Load::rate_per_second`].
const RATE_MIN: f64 = 0.001;
const RATE_MAX: f64 = 10_000_000.0;

/// Stack of a client's thread: the client library's zlib builds its state on it.
const CLIENT_STACK_BYTES: usize = 1024 * 1024;

/// What came of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadResult {
    /// Statements that were answered without an error.
    pub statements: u64,
    /// Texts of several statements that were answered to their end.
    #[serde(default)]
    pub transactions: u64,
    /// Failures by kind: `server error N` (the server's error number), `timeout`,
    /// `connection refused`, `connection lost`, `other`. Attempts to connect count as well.
    pub errors: BTreeMap<String, u64>,
    /// Texts that a paced load left out because it was behind its schedule by more than
    /// [`crate::CATCH_UP_MAX`].
    pub skipped: u64,
    /// Clients that had not come back when the result was made: a connect over a socket whose
    /// listen queue is full waits without bound (unix(7)). They end when the server does or goes on.
    pub stuck_clients: usize,
    /// From the start to the end, in seconds.
    pub seconds: f64,
    /// [`Self::statements`] by [`Self::seconds`].
    pub per_second: f64,
    /// Of the answered statements.
    pub latency: Latency,
}

/// Runs a load until its duration is over or `stop` is set, and then waits for the clients: what they are in after two
/// seconds is killed; for those that the server does not answer twice [`Load::timeout`] and a second.
pub fn run(load: &Load, stop: &AtomicBool) -> Result<LoadResult, Error> {
    run_all(load, stop, None)
}

/// As [`run`], with a log of what its clients felt. They knock more often than others when they are refused, so that
/// the log tells when the door was open again.
pub fn run_watched(
    load: &Load,
    stop: &AtomicBool,
    watch: &Arc<Watch>,
) -> Result<LoadResult, Error> {
    run_all(load, stop, Some(watch))
}

fn run_all(
    load: &Load,
    stop: &AtomicBool,
    watch: Option<&Arc<Watch>>,
) -> Result<LoadResult, Error> {
    check(load)?;
    let start = Instant::now();
    let shared = Arc::new(load.clone());
    let (running, all_ended) = mpsc::channel::<()>();
    let mut ends: Vec<Sender<()>> = Vec::new();
    let mut clients = Vec::new();
    for number in 0..load.clients {
        let (end_in, end) = mpsc::channel();
        let done = Arc::new(Mutex::new(Done::default()));
        let (load, running, counts) = (shared.clone(), running.clone(), done.clone());
        let watch = watch.cloned();
        thread::Builder::new()
            .name("lab-client".to_owned())
            .stack_size(CLIENT_STACK_BYTES)
            .spawn(move || {
                client::run(&load, number, start, &end, &counts, watch.as_deref());
                lock(&counts).ended = true;
                drop(running);
            })
            .map_err(Error::io("start a client's thread"))?;
        ends.push(end_in);
        clients.push(done);
    }
    drop(running);

    while start.elapsed() < load.duration && !stop.load(Ordering::Relaxed) {
        thread::sleep(STOP_POLL.min(load.duration.saturating_sub(start.elapsed())));
    }
    drop(ends);
    let seconds = start.elapsed().as_secs_f64();
    // Nothing is sent: the wait ends when the last client has, or at its deadline.
    let patience = last_call(load.timeout);
    let grace = patience.min(GRACE);
    if all_ended.recv_timeout(grace) == Err(RecvTimeoutError::Timeout) && grace < patience {
        let (login, waiting) = (load.login.clone(), clients.clone());
        // Not waited for: a connect to the socket of a stopped server does not come back.
        thread::Builder::new()
            .name("lab-ends".to_owned())
            .spawn(move || end_statements(&login, &waiting))
            .map_err(Error::io("start a thread"))?;
        let _ = all_ended.recv_timeout(patience);
    }

    let mut total = Done::default();
    let mut stuck_clients = 0;
    for done in &clients {
        let done = lock(done);
        total.add(&done);
        stuck_clients += usize::from(!done.ended);
    }
    Ok(LoadResult {
        statements: total.statements,
        transactions: total.transactions,
        skipped: total.skipped,
        stuck_clients,
        seconds,
        per_second: total.statements as f64 / seconds,
        latency: total.latency.latency(),
        errors: total.errors,
    })
}

/// Ends what clients still wait for, as an application does that shuts down: a statement that sleeps or waits for a
/// lock would keep them for minutes. A server that lets nobody in is left alone.
fn end_statements(login: &Login, clients: &[Arc<Mutex<Done>>]) {
    let Ok(mut connection) = login.connect(false, KILL_TIMEOUT) else {
        return;
    };
    for done in clients {
        let id = {
            let done = lock(done);
            done.connection.filter(|_| !done.ended)
        };
        if let Some(id) = id {
            // Its statement may have ended meanwhile, and its connection with it.
            let _ = connection.query_drop(format!("KILL {id}"));
        }
    }
}

/// How long clients are waited for when a load is over: each may be in a statement whose answer
/// is read in two halves, or in the handshake after a connect.
fn last_call(timeout: Duration) -> Duration {
    2 * timeout + Duration::from_secs(1)
}

fn check(load: &Load) -> Result<(), Error> {
    let wrong = |what: String| Err(Error::Load(what));
    if load.clients == 0 || load.clients > CLIENTS_MAX {
        return wrong(format!(
            "{} clients; 1 to {CLIENTS_MAX} are possible",
            load.clients
        ));
    }
    if load.duration > Duration::from_secs(LOAD_SECONDS_MAX) {
        return wrong(format!(
            "{:?} is longer than {LOAD_SECONDS_MAX} s",
            load.duration
        ));
    }
    if load.timeout.is_zero() || load.timeout > Duration::from_secs(LOAD_SECONDS_MAX) {
        return wrong(format!("a timeout of {:?} is not possible", load.timeout));
    }
    if load.statements.iter().all(|(weight, _)| *weight == 0) {
        return wrong("no statement with a weight above 0".to_owned());
    }
    match load.rate_per_second {
        Some(rate) if !(RATE_MIN..=RATE_MAX).contains(&rate) => wrong(format!(
            "{rate} statements a second; {RATE_MIN} to {RATE_MAX} are possible"
        )),
        _ => Ok(()),
    }
}
