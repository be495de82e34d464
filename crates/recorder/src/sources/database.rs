use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::{Absent, Fact, Kind, Millis, Reading, Reason, Taken, Unit, Window};
use server::digests::{Asked, DigestReader};
use server::{Address, Deadlines, ServerError, Session};

use super::Outcome;
use super::backoff::Backoff;
use crate::clock::RecorderClock;
use crate::queries::{OWN_COMMANDS, QueryWatch};
use crate::target::{OwnConnection, Shared};

/// The kept connection for status and what is remembered between readings.
pub(crate) struct DatabaseState {
    shared: Arc<Shared>,
    deadlines: Deadlines,
    session: Option<Session>,
    backoff: Backoff,
    variables: HashMap<String, String>,
    /// The sources that a trigger asks for at once.
    burst: Burst,
    clock: RecorderClock,
    digests: Digests,
    /// Status and sessions are wanted again then, before their time.
    again: Again,
    pace: detect::Pace,
}

/// A look between two regular ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Again {
    #[default]
    No,
    /// At this moment.
    At(Millis),
    /// The status has been read for it.
    Sessions,
}

/// So long after a look at which the sessions seem to be held they are looked at again, milliseconds.
const AGAIN_MS: Millis = 450;

#[derive(Default)]
struct Burst {
    innodb: bool,
    compression: bool,
    digests: bool,
}

/// The statements by class, as the server counts them.
struct Digests {
    reader: DigestReader,
    watch: Arc<QueryWatch>,
    /// The connection that was prepared for it, and whether the server counts.
    prepared: Option<(u64, Result<(), Absent>)>,
    /// The last reading.
    read_at: Option<Millis>,
    /// A large table is read less often.
    rest_until: Millis,
    statements: u64,
}

/// A reading is paid for with so many times its length of rest: the server works on it for 0.5 % of
/// the time at the most.
const REST_TIMES: Millis = 200;

/// The thread that receives what the source of a replica writes: its command in MariaDB; its states in MySQL, before
/// 8.0.26 and since.
const RECEIVING: [&str; 5] = [
    "processlist.command.Slave_IO",
    "processlist.state.Waiting_for_master_to_send_event",
    "processlist.state.Queueing_master_event_to_the_relay_log",
    "processlist.state.Waiting_for_source_to_send_event",
    "processlist.state.Queueing_source_event_to_the_relay_log",
];

impl DatabaseState {
    pub(crate) fn new(
        shared: Arc<Shared>,
        deadlines: Deadlines,
        clock: RecorderClock,
        watch: Arc<QueryWatch>,
    ) -> Self {
        Self {
            clock,
            digests: Digests {
                reader: DigestReader::new(),
                watch,
                prepared: None,
                read_at: None,
                rest_until: 0,
                statements: 0,
            },
            shared,
            deadlines,
            session: None,
            backoff: Backoff::new(),
            variables: HashMap::new(),
            burst: Burst::default(),
            again: Again::No,
            pace: detect::Pace::default(),
        }
    }

    /// Takes note of a trigger: it is one flag, and several sources answer it.
    pub(crate) fn look_for_burst(&mut self) {
        if self.shared.burst.swap(false, Ordering::Relaxed) {
            self.burst = Burst {
                innodb: true,
                compression: true,
                digests: true,
            };
        }
    }

    /// Whether a source is wanted before its time.
    pub(crate) fn wants_now(&self, source: &str) -> bool {
        match source {
            "innodb" => self.burst.innodb,
            "digests" => self.burst.digests,
            "status" => matches!(self.again, Again::At(at) if self.clock.now() >= at),
            "processlist" => self.again == Again::Sessions,
            _ => false,
        }
    }

    fn ask(
        &mut self,
        what: &str,
        question: impl FnOnce(&mut Session) -> Result<Taken, ServerError>,
    ) -> Outcome {
        if let Some(error) = self.backoff.waiting() {
            return Err(error.absent(what));
        }
        let mut fresh = false;
        if self.session.is_none() {
            match self.connect() {
                Ok(session) => {
                    self.shared
                        .set_own_connection(OwnConnection::Status, session.id());
                    self.session = Some(session);
                    fresh = true;
                }
                Err(error) => {
                    self.backoff.failed(&error);
                    return Err(error.absent(what));
                }
            }
        }
        let Some(session) = self.session.as_mut() else {
            return Err(Absent::new(what, Reason::NoConnection, "not connected"));
        };
        let version = if fresh {
            server::version(session).ok()
        } else {
            None
        };
        match question(session) {
            Ok(mut taken) => {
                // A connection alone is no success: a server may accept and never answer.
                self.backoff.succeeded();
                taken
                    .facts
                    .extend(version.map(|version| Fact::new("server.version", version)));
                Ok(taken)
            }
            Err(error) => {
                if error.is_connection_lost() {
                    self.session = None;
                    self.backoff.failed(&error);
                }
                Err(error.absent(what))
            }
        }
    }

    fn connect(&self) -> Result<Session, ServerError> {
        let connect = |addresses| connect_to(&self.shared, addresses, self.deadlines);
        let error = match connect(self.shared.addresses()) {
            Ok(session) => return Ok(session),
            Err(error) => error,
        };
        if error.outcome == model::ProbeOutcome::TooManyConnections {
            // A full server may still have room at its admin_port or extra_port.
            return connect(self.shared.extra_addresses()).map_err(|_| error);
        }
        Err(error)
    }
}

/// A kept connection to the first of these that lets us in.
pub(crate) fn connect_to(
    shared: &Shared,
    addresses: Vec<Address>,
    deadlines: Deadlines,
) -> Result<Session, ServerError> {
    let mut last = ServerError {
        outcome: model::ProbeOutcome::Refused,
        code: None,
        text: "no socket or port of the server is known".to_owned(),
    };
    for address in addresses {
        match Session::connect_quiet(&address, shared.login(), deadlines) {
            Ok(mut session) => {
                session.count_in(&shared.own);
                return Ok(session);
            }
            Err(error) => {
                if error.outcome == model::ProbeOutcome::AccessDenied {
                    shared.was_denied(&address);
                }
                last = ServerError {
                    text: format!("{address}: {}", error.text),
                    ..error
                };
            }
        }
    }
    Err(last)
}

pub(crate) fn status(state: &mut DatabaseState) -> Outcome {
    state.again = match state.again {
        Again::At(at) if state.clock.now() >= at => Again::Sessions,
        _ => Again::No,
    };
    let at = state.clock.now();
    let mut taken = state.ask("status", server::status)?;
    state.pace.observe(at, &taken.readings);
    let own = state.shared.own.by_command();
    let all = state.shared.own.questions();
    taken.readings.push(Reading::counter(
        "recorder.statements",
        Unit::Count,
        all as f64,
    ));
    taken
        .readings
        .extend(own.into_iter().map(|(command, count)| {
            let name = format!("{OWN_COMMANDS}{command}");
            Reading::counter(name, Unit::Count, count as f64)
        }));
    Ok(taken)
}

pub(crate) fn processlist(state: &mut DatabaseState) -> Outcome {
    let own = state.shared.own_connections();
    let (shared, at) = (state.shared.clone(), state.clock.now());
    let outcome = state.ask("processlist", |session| {
        server::processlist(session, &own, |rows| {
            shared.look_at_sessions(at, rows, &own)
        })
    });
    // Not after a look that was one itself: the next second comes soon.
    let is_regular = std::mem::take(&mut state.again) == Again::No;
    if is_regular && outcome.is_ok() && state.shared.sessions_look_held(state.pace.is_worse()) {
        state.again = Again::At(at + AGAIN_MS);
    }
    let follows = outcome.as_ref().is_ok_and(|taken| {
        let mut names = taken.readings.iter().map(|reading| &*reading.name);
        names.any(|name| RECEIVING.contains(&name))
    });
    if follows {
        state.shared.follows.store(true, Ordering::Relaxed);
    }
    outcome
}

pub(crate) fn innodb(state: &mut DatabaseState) -> Outcome {
    state.burst.innodb = false;
    state.ask("innodb status", server::innodb_status)
}

/// All variables at first, then only those that changed.
pub(crate) fn variables(state: &mut DatabaseState) -> Outcome {
    let mut taken = state.ask("variables", |session| {
        Ok(Taken {
            facts: server::variables(session)?,
            ..Taken::default()
        })
    })?;
    taken.facts.retain(|fact| {
        let before = state
            .variables
            .insert(fact.name.clone(), fact.value.clone());
        before.as_ref() != Some(&fact.value)
    });
    Ok(taken)
}

pub(crate) fn compression(state: &mut DatabaseState) -> Outcome {
    if !std::mem::take(&mut state.burst.compression) {
        return Ok(Taken::default());
    }
    state.ask("compressed sessions", server::compressed_sessions)
}

/// What was asked since the last reading goes to the incident; the sample tells how much it was.
pub(crate) fn digests(state: &mut DatabaseState) -> Outcome {
    let at = state.clock.now();
    let wanted = std::mem::take(&mut state.burst.digests);
    if at < state.digests.rest_until && !wanted {
        return Ok(Taken::default());
    }
    let mut reader = std::mem::take(&mut state.digests.reader);
    let mut prepared = state.digests.prepared.take();
    let mut read = None;
    let outcome = state.ask("statement digests", |session| {
        let id = session.id();
        if prepared.as_ref().is_none_or(|(of, _)| *of != id) {
            prepared = Some((id, DigestReader::prepare(session)));
        }
        if let Some((_, Ok(()))) = &prepared {
            read = reader.next(session)?;
        }
        Ok(Taken::default())
    });
    let digests = &mut state.digests;
    digests.reader = reader;
    let off = prepared.as_ref().and_then(|(_, on)| on.clone().err());
    digests.prepared = prepared;
    let mut taken = outcome?;
    if let Some(absent) = off {
        return Err(absent);
    }
    let now = state.clock.now();
    let took = now.saturating_sub(at);
    digests.rest_until = now + took * REST_TIMES;
    let from = digests.read_at.replace(now);
    if let (Some(digest), Some(from)) = (read, from) {
        digests.statements += digest.count;
        let missed = digests.reader.asked().is_some_and(Asked::is_more);
        let window = Window { from, to: now };
        state.shared.learn_times(window, &digest);
        digests.watch.add_counted(window, digest, missed);
    }
    taken.readings = vec![
        Reading {
            name: "digests.statements".into(),
            unit: Unit::Count,
            kind: Kind::Counter,
            value: digests.statements as f64,
        },
        Reading::gauge("digests.read_ms", Unit::Milliseconds, took as f64),
    ];
    Ok(taken)
}
