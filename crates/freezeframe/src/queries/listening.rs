//! What all ways to listen to a server have in common.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use model::{Absent, QueryDigest};
use recorder::Target;
use server::{Address, Deadlines};

use crate::args::Queries;
use crate::config::Config;
use crate::live::Stop;

/// How long the server may take to let us in before it counts as one that answers nobody.
const ENTRANCE: Deadlines = Deadlines {
    connect: Duration::from_secs(2),
    answer: Duration::from_secs(2),
};

/// How often the end is looked for.
pub(super) const POLL: Duration = Duration::from_millis(50);

/// What a way gives: the digest and what it cost, in words.
pub(super) struct LiveDigest {
    pub(super) digest: QueryDigest,
    /// Sums over all classes, where single statements were seen.
    pub(super) total: Option<model::QueryClass>,
    pub(super) cost: String,
    /// A change of ours could not be put back yet.
    pub(super) is_left: bool,
}

/// Why a way gives nothing: it is not possible here, and the next one may be; or the user has to know.
pub(super) enum Unavailable {
    Possible(Absent),
    Error(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Unavailable {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// What the ways have in common.
pub(super) struct Listening<'a> {
    pub(super) args: &'a Queries,
    pub(super) config: Config,
    pub(super) target: Target,
    pub(super) time: Duration,
    pub(super) stop: Stop,
}

/// Waits for the time that was asked for, or Ctrl-C.
pub(super) fn wait(listening: &Listening<'_>, begin: Instant) {
    wait_for(listening, begin, listening.time);
}

/// The same for another time.
pub(super) fn wait_for(listening: &Listening<'_>, begin: Instant, time: Duration) {
    while !listening.stop.is_set() {
        match time.checked_sub(begin.elapsed()) {
            Some(left) if !left.is_zero() => std::thread::sleep(left.min(POLL)),
            _ => return,
        }
    }
}

/// Whether the server lets anybody in: one that does not is asked nothing more.
pub(super) fn answers(listening: &Listening<'_>, address: &Address) -> Result<(), Absent> {
    let waits = ENTRANCE.or_until(listening.stop.flag());
    server::probe_connect(
        address,
        &listening.target.login,
        waits,
        &server::OwnStatements::default(),
    )
    .error
    .map_or(Ok(()), |error| Err(error.absent("the server")))
}

/// An absolute path, for who reads it later from another directory.
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
