//! Giving a lease back to a server that may not answer: again and again until it is back, and loudly.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use server::{Address, Deadlines, Login, Session};

use crate::general_log::{GaveBack, give_back_once, remove_log};
use crate::{Change, Lease, LockedRecord};

/// How often it is said that something is still changed.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// Pauses between two attempts, the last one again and again.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(50),
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_secs(1),
];

/// How long a server may take for one answer before another connection is tried. Long, because each attempt that is
/// given up may leave a session behind in a stalled server.
pub(crate) const DEADLINES: Deadlines = Deadlines {
    connect: Duration::from_secs(5),
    answer: Duration::from_secs(60),
};

/// How long a server is tried.
#[derive(Debug, Clone, Default)]
pub struct Patience {
    time: Option<Duration>,
    stop: Option<Arc<AtomicBool>>,
}

impl Patience {
    /// Until it answers.
    pub fn endless() -> Self {
        Self::default()
    }

    /// So long.
    pub fn within(time: Duration) -> Self {
        Self {
            time: Some(time),
            stop: None,
        }
    }

    /// The same, or until this is set.
    pub fn or_until(mut self, stop: &Arc<AtomicBool>) -> Self {
        self.stop = Some(stop.clone());
        self
    }

    fn is_over(&self, begin: Instant) -> bool {
        self.time.is_some_and(|time| begin.elapsed() >= time)
            || self
                .stop
                .as_ref()
                .is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// How often it is looked whether somebody stopped it.
const STOP_POLL: Duration = Duration::from_millis(100);

/// How a lease ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GiveBackEnd {
    /// The server was asked.
    Answered(GaveBack),
    /// The server's process has ended, and with it what was set.
    ServerEnded,
    /// The server does not answer, for this reason, and whoever waited was told to end: the watchdog goes on.
    Left(String),
}

/// The statements that a person would give.
pub fn by_hand(lease: &Lease) -> String {
    let Change::GeneralLog(change) = &lease.change;
    let statements = change.previous.giving_back();
    format!("{};", statements.join("; "))
}

/// Gives back what is in hand, removes its log and forgets it.
pub(crate) fn give_back(
    in_hand: LockedRecord<Lease>,
    login: &Login,
    session: Option<Session>,
    patience: &Patience,
    tell: &mut dyn FnMut(&str),
) -> Result<GiveBackEnd, String> {
    let lease = &in_hand.record;
    let back = give_back_until_done(lease, login, session, patience, tell)?;
    let Change::GeneralLog(change) = &lease.change;
    // A file that is not ours to remove is told and is no reason to keep the lease.
    if let Err(error) = remove_log(&change.file_here, &lease.id, lease.taken_us) {
        tell(&format!("cannot remove the log: {error}"));
    }
    in_hand.forget().map_err(|error| error.to_string())?;
    Ok(back)
}

/// Tries until it is back, or until `patience` is over: then the last error. Every ten seconds `tell` is given a line
/// with what is still on and how to switch it off by hand.
pub(crate) fn give_back_until_done(
    lease: &Lease,
    login: &Login,
    session: Option<Session>,
    patience: &Patience,
    tell: &mut dyn FnMut(&str),
) -> Result<GiveBackEnd, String> {
    let given_up = Arc::new(AtomicBool::new(false));
    let (sender, events) = channel();
    let worker = Worker {
        lease: lease.clone(),
        login: login.clone(),
        given_up: given_up.clone(),
    };
    let spawned = kernel::own_threads::start("ff-give-back", move || worker.run(session, &sender));
    if let Err(error) = spawned {
        return Err(format!("cannot start a thread: {error}"));
    }
    let begin = Instant::now();
    let mut next_tell = begin + TELL_EVERY;
    let mut why = "no answer yet".to_owned();
    loop {
        let mut until = match patience.time {
            Some(time) => next_tell.min(begin + time),
            None => next_tell,
        };
        if patience.stop.is_some() {
            until = until.min(Instant::now() + STOP_POLL);
        }
        match events.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Ok(back)) => return Ok(back),
            Ok(Err(error)) => why = error,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err("the attempt failed".to_owned()),
        }
        if patience.is_over(begin) {
            given_up.store(true, Ordering::Relaxed);
            return Err(why);
        }
        if Instant::now() >= next_tell {
            next_tell += TELL_EVERY;
            tell(&format!(
                "THE GENERAL LOG IS STILL ON at {}, for {} s now ({why}); still trying to switch it off; by hand: {}",
                Address::from(&lease.server.address),
                begin.elapsed().as_secs(),
                by_hand(lease)
            ));
        }
    }
}

struct Worker {
    lease: Lease,
    login: Login,
    given_up: Arc<AtomicBool>,
}

impl Worker {
    fn run(&self, session: Option<Session>, events: &Sender<Result<GiveBackEnd, String>>) {
        let mut session = session;
        let mut pauses = PAUSES.into_iter();
        let mut pause = Duration::ZERO;
        loop {
            let result = self.attempt(session.take());
            let is_over = result.is_ok();
            if events.send(result).is_err() || is_over || self.given_up.load(Ordering::Relaxed) {
                return;
            }
            pause = pauses.next().unwrap_or(pause);
            std::thread::sleep(pause);
        }
    }

    fn attempt(&self, session: Option<Session>) -> Result<GiveBackEnd, String> {
        let Change::GeneralLog(change) = &self.lease.change;
        if let Some(mut session) = session {
            // Without an answer on the old connection a new one is tried.
            if let Ok(back) = give_back_once(&mut session, change) {
                return Ok(GiveBackEnd::Answered(back));
            }
        }
        let is_gone = || {
            self.lease
                .server
                .process
                .is_some_and(|process| !process.is_alive())
        };
        if is_gone() {
            return Ok(GiveBackEnd::ServerEnded);
        }
        let address = Address::from(&self.lease.server.address);
        let mut session = Session::connect(&address, &self.login, DEADLINES)
            .map_err(|error| error.to_string())?;
        give_back_once(&mut session, change).map(GiveBackEnd::Answered)
    }
}
