//! The two probes: a whole connection, and a statement on a kept one.

use std::time::{Duration, Instant};

use model::ProbeOutcome;

use crate::{Address, Login, OwnStatements, ServerError, Session, Waits};

/// How a probe went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeResult {
    /// How it ended.
    pub outcome: ProbeOutcome,
    /// How long that took.
    pub took: Duration,
    /// The error, when it did not end well.
    pub error: Option<ServerError>,
}

impl ProbeResult {
    fn new(begin: Instant, result: Result<(), ServerError>) -> Self {
        let took = begin.elapsed();
        match result {
            Ok(()) => Self {
                outcome: ProbeOutcome::Ok,
                took,
                error: None,
            },
            Err(error) => Self {
                outcome: error.outcome,
                took,
                error: Some(error),
            },
        }
    }
}

/// A whole connection: connect, greeting, authentication, quit. It is counted in `own`.
pub fn probe_connect(
    address: &Address,
    login: &Login,
    waits: impl Into<Waits>,
    own: &OwnStatements,
) -> ProbeResult {
    let begin = Instant::now();
    let result = Session::connect(address, login, waits).map(|mut session| session.count_in(own));
    ProbeResult::new(begin, result)
}

/// A question on a kept connection, where there is one. It is gone after any error of the way.
pub fn probe_kept(session: &mut Option<Session>) -> Option<ProbeResult> {
    let begin = Instant::now();
    let result = session.as_mut()?.ping().map(|_| ());
    if result.as_ref().is_err_and(ServerError::is_connection_lost) {
        *session = None;
    }
    Some(ProbeResult::new(begin, result))
}

/// A question on a kept connection; it is made where there is none.
pub fn probe_query(
    session: &mut Option<Session>,
    address: &Address,
    login: &Login,
    waits: impl Into<Waits>,
) -> ProbeResult {
    if let Some(result) = probe_kept(session) {
        return result;
    }
    let begin = Instant::now();
    match Session::connect_quiet(address, login, waits) {
        Ok(open) => *session = Some(open),
        Err(error) => return ProbeResult::new(begin, Err(error)),
    }
    match probe_kept(session) {
        Some(result) => ProbeResult {
            took: begin.elapsed(),
            ..result
        },
        None => ProbeResult::new(begin, Ok(())),
    }
}
