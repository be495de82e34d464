use std::sync::Arc;

use model::{Absent, ProbeOutcome, Reading, Reason, Taken, Unit};
use server::{Address, Deadlines, ProbeResult, Session};

use super::database::Backoff;
use crate::table::Outcome;
use crate::target::{OwnConnection, Shared};

/// The query probe's kept connection.
pub(crate) struct QueryProbe {
    shared: Arc<Shared>,
    deadlines: Deadlines,
    session: Option<Session>,
    backoff: Backoff,
}

impl QueryProbe {
    pub(crate) fn new(shared: Arc<Shared>, deadlines: Deadlines) -> Self {
        Self {
            shared,
            deadlines,
            session: None,
            backoff: Backoff::new(),
        }
    }
}

pub(crate) fn query(state: &mut QueryProbe) -> Outcome {
    if state.session.is_none()
        && let Some(error) = state.backoff.waiting()
    {
        // Nothing was tried: the outcome before still stands, and is not counted twice.
        return Err(error.absent("query probe"));
    }
    let Some(address) = state.shared.addresses().into_iter().next() else {
        let detail = "no socket or port of the server is known";
        return Err(Absent::new("query probe", Reason::NoConnection, detail));
    };
    let result = server::probe_query(
        &mut state.session,
        &address,
        state.shared.login(),
        state.deadlines,
    );
    match (&result.error, &state.session) {
        (Some(error), None) => state.backoff.failed(error),
        _ => state.backoff.succeeded(),
    }
    let id = state.session.as_ref().map_or(0, Session::id);
    state
        .shared
        .set_own_connection(OwnConnection::QueryProbe, id);
    Ok(taken(&result, ["probe.query_us", "probe.query_outcome"]))
}

/// The connect probe.
pub(crate) struct ConnectProbe {
    shared: Arc<Shared>,
    deadlines: Deadlines,
    backoff: Backoff,
    /// Addresses at which the login is refused although another one takes it.
    denied: Vec<Address>,
}

impl ConnectProbe {
    pub(crate) fn new(shared: Arc<Shared>, deadlines: Deadlines) -> Self {
        Self {
            shared,
            deadlines,
            backoff: Backoff::new(),
            denied: Vec::new(),
        }
    }
}

pub(crate) fn connect(state: &mut ConnectProbe) -> Outcome {
    if let Some(error) = state.backoff.waiting()
        && error.outcome == ProbeOutcome::AccessDenied
    {
        return Err(error.absent("connect probe"));
    }
    let addresses = state.shared.connect_addresses();
    let open = addresses
        .iter()
        .find(|address| !state.denied.contains(address));
    let Some(address) = open.or(addresses.first()) else {
        let detail = "no socket or port of the server is known";
        return Err(Absent::new("connect probe", Reason::NoConnection, detail));
    };
    let result = server::probe_connect(address, state.shared.login(), state.deadlines);
    match &result.error {
        Some(error) if error.outcome == ProbeOutcome::AccessDenied => {
            // A login of the local socket is often unknown over TCP: try the next way, and only
            // when all are refused wait long.
            if state.denied.contains(address) || addresses.len() == 1 {
                state.denied.clear();
                state.backoff.failed(error);
            } else {
                state.denied.push(address.clone());
            }
        }
        Some(_) => {}
        None => state.backoff.succeeded(),
    }
    let mut taken = taken(&result, ["probe.connect_us", "probe.connect_outcome"]);
    taken.facts.push(model::Fact::new(
        "probe.connect_address",
        address.to_string(),
    ));
    Ok(taken)
}

fn taken(result: &ProbeResult, [latency, outcome]: [&'static str; 2]) -> Taken {
    let mut taken = Taken {
        readings: vec![
            Reading::gauge(latency, Unit::Microseconds, result.took.as_micros() as f64),
            Reading::gauge(outcome, Unit::Code, result.outcome.code()),
        ],
        ..Taken::default()
    };
    if let Some(error) = &result.error {
        taken.absent.push(error.absent("probe answer"));
    }
    taken
}
