//! How far a replica is behind, and whether its threads run.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use model::{Reason, SourceData};
use server::{ReplicaReader, ServerError, Session, Waits};

use super::backoff::Backoff;
use super::database::connect_to;
use super::{Outcome, Reader, State, signals};
use crate::context::Context;
use crate::target::{OwnConnection, Shared};

const WHAT: &str = "replica status";

/// A server that is no replica, or does not tell, is asked again after so long; sooner when the processlist shows that it
/// has become one.
const REST: Duration = Duration::from_secs(60);

/// The connection that asks a replica how far it is. One of its own, on a thread of its own: the status waits for STOP
/// REPLICA, which waits for the transaction that is being applied, and nothing else may wait behind that. There is
/// none while the server is no replica.
pub(crate) struct ReplicaState {
    shared: Arc<Shared>,
    waits: Waits,
    session: Option<Session>,
    backoff: Backoff,
    reader: ReplicaReader,
    rest_until: Option<Instant>,
    /// The server answered that it is no replica.
    is_none: bool,
}

impl State for ReplicaState {
    const THREAD: &'static str = "ff-replica";

    fn new(context: &Context) -> Self {
        Self {
            shared: context.shared.clone(),
            waits: context.waits(),
            session: None,
            backoff: Backoff::new(),
            reader: ReplicaReader::default(),
            rest_until: None,
            is_none: false,
        }
    }
}

impl ReplicaState {
    fn ask(&mut self) -> Result<SourceData, ServerError> {
        if self.session.is_none() {
            let session = connect_to(&self.shared, self.shared.addresses(), self.waits.clone())?;
            self.keep(Some(session));
        }
        match &mut self.session {
            Some(session) => self.reader.read(session),
            None => Ok(SourceData::default()),
        }
    }

    fn keep(&mut self, session: Option<Session>) {
        let id = session.as_ref().map_or(0, Session::id);
        self.shared.set_own_connection(OwnConnection::Replica, id);
        self.session = session;
    }

    fn rest(&mut self) {
        self.keep(None);
        self.rest_until = Some(Instant::now() + REST);
    }
}

#[rustfmt::skip]
pub(crate) static REPLICA: Reader<ReplicaState> = Reader {
    source: "replica",
    signals: &[
        signals(&["replica.channels"], "g", "connections to sources; 0: no replica (asked once a minute)"),
        signals(&["replica.seconds_behind", "replica.relay_log_bytes"], "g", "of the channel with the most; the first is absent while the source is not reached"),
        signals(&["replica.received_position", "replica.applied_position"], "c, bytes", "in the source's binary log, summed over channels; it restarts with each new log"),
        signals(&["replica.receives", "replica.applies"], "g, code", "1: these threads run on all channels; 0: one is stopped"),
    ],
    read: replica,
};

fn replica(state: &mut ReplicaState) -> Outcome {
    let follows = state.shared.follows.swap(false, Ordering::Relaxed);
    let rests = state.rest_until.is_some_and(|until| Instant::now() < until);
    if rests && !(follows && state.is_none) {
        return Ok(SourceData::default());
    }
    state.rest_until = None;
    if let Some(error) = state.backoff.waiting() {
        return Err(error.absent(WHAT));
    }
    match state.ask() {
        Ok(taken) => {
            state.backoff.succeeded();
            state.is_none = taken.readings.len() < 2;
            if state.is_none {
                state.rest();
            }
            Ok(taken)
        }
        Err(error) => {
            state.is_none = false;
            let absent = error.absent(WHAT);
            if error.is_connection_lost() {
                state.keep(None);
                state.backoff.failed(&error);
            } else {
                state.rest();
            }
            Err(match absent.reason {
                Reason::Permission => model::Absent {
                    detail: format!(
                        "{} (REPLICATION CLIENT, on MariaDB SLAVE MONITOR)",
                        absent.detail
                    ),
                    ..absent
                },
                _ => absent,
            })
        }
    }
}
