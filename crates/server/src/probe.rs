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

/// A question on a kept connection. The connection is gone after any error of the way.
pub fn probe_query(
    session: &mut Option<Session>,
    address: &Address,
    login: &Login,
    waits: impl Into<Waits>,
) -> ProbeResult {
    let begin = Instant::now();
    let result = match session {
        Some(open) => open.ping().map(|_| ()),
        None => match Session::connect_quiet(address, login, waits) {
            Ok(mut open) => {
                let result = open.ping().map(|_| ());
                *session = Some(open);
                result
            }
            Err(error) => Err(error),
        },
    };
    if result.as_ref().is_err_and(ServerError::is_connection_lost) {
        *session = None;
    }
    ProbeResult::new(begin, result)
}
