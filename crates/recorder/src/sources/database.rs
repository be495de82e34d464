//! What the server tells by SQL: status, processlist, InnoDB's status, settings, digests.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::{Absent, Fact, Millis, Reading, Reason, Sample, SignalKind, SourceData, Unit, Window};
use server::digests::{DigestCoverage, DigestReader};
use server::{Address, ServerError, Session, Waits};

use super::backoff::Backoff;
use super::{Outcome, Reader, State, signals};
use crate::clock::RecorderClock;
use crate::context::Context;
use crate::queries::{QueryWatch, own_signal};
use crate::target::{OwnConnection, Shared};

/// The kept connection for status and what is remembered between readings.
pub(crate) struct DatabaseState {
    shared: Arc<Shared>,
    waits: Waits,
    session: Option<Session>,
    backoff: Backoff,
    variables_seen: Option<server::VariablesSeen>,
    /// The sources that a trigger asks for at once.
    burst: Burst,
    clock: RecorderClock,
    digests: Digests,
    /// Status and sessions are wanted again then, before their time.
    again: Again,
    pace: detect::Pace,
    pub(super) error_log: ErrorLog,
}

/// What was read of the error log by SQL.
#[derive(Debug, Default)]
pub(super) struct ErrorLog {
    pub(super) table: server::ErrorLogTable,
    pub(super) lines: u64,
    pub(super) bytes: u64,
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

impl State for DatabaseState {
    const THREAD: &'static str = "ff-database";
    const IS_SCATTERED: bool = true;

    /// The sessions are looked at right behind the status, and what they tell takes it along.
    fn can_wait(sample: &Sample) -> bool {
        sample.source == "status" && sample.outcome.is_ok()
    }

    fn new(context: &Context) -> Self {
        Self {
            clock: context.clock.clone(),
            digests: Digests {
                reader: DigestReader::new(),
                watch: context.queries.clone(),
                prepared: None,
                read_at: None,
                rest_until: 0,
                statements: 0,
            },
            shared: context.shared.clone(),
            waits: context.waits(),
            session: None,
            backoff: Backoff::new(),
            variables_seen: None,
            burst: Burst::default(),
            again: Again::No,
            pace: detect::Pace::default(),
            error_log: ErrorLog::default(),
        }
    }

    /// Takes note of a trigger: it is one flag, and several sources answer it.
    fn begin_turn(&mut self) {
        if self.shared.burst.swap(false, Ordering::Relaxed) {
            self.burst = Burst {
                innodb: true,
                compression: true,
                digests: true,
            };
        }
    }

    fn wanted_at(&self) -> Option<Millis> {
        match self.again {
            Again::At(at) => Some(at),
            Again::No | Again::Sessions => None,
        }
    }

    fn wants_now(&self, source: &str) -> bool {
        match source {
            "innodb" => self.burst.innodb,
            "digests" => self.burst.digests,
            "status" => matches!(self.again, Again::At(at) if self.clock.now() >= at),
            "processlist" => self.again == Again::Sessions,
            _ => false,
        }
    }
}

impl DatabaseState {
    pub(super) fn is_elsewhere(&self) -> bool {
        self.shared.is_elsewhere()
    }

    pub(super) fn ask(
        &mut self,
        what: &str,
        question: impl FnOnce(&mut Session) -> Result<SourceData, ServerError>,
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
        let connect = |addresses| connect_to(&self.shared, addresses, self.waits.clone());
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
    waits: Waits,
) -> Result<Session, ServerError> {
    let mut last = ServerError {
        outcome: model::ProbeOutcome::Refused,
        code: None,
        text: "the server's socket and port are unknown".to_owned(),
    };
    for address in addresses {
        match Session::connect_quiet(&address, shared.login(), waits.clone()) {
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

#[rustfmt::skip]
pub(crate) static STATUS: Reader<DatabaseState> = Reader {
    source: "status",
    signals: &[
        signals(&["status.*"], "either", "every numeric variable of `SHOW GLOBAL STATUS`"),
        signals(&["recorder.statements", "recorder.com.*"], "c", "the recorder's part in the server's `Questions` and `Com_*`"),
    ],
    read: status,
};

fn status(state: &mut DatabaseState) -> Outcome {
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
    taken.readings.extend(
        own.into_iter().map(|(command, count)| {
            Reading::counter(own_signal(&command), Unit::Count, count as f64)
        }),
    );
    Ok(taken)
}

#[rustfmt::skip]
pub(crate) static PROCESSLIST: Reader<DatabaseState> = Reader {
    source: "processlist",
    signals: &[
        signals(&["processlist.sessions", "processlist.active", "processlist.active_2s"], "g", "sessions; that do something; for 2 s or longer (50 at most)"),
        signals(&["processlist.clients", "processlist.in_flight", "processlist.in_flight_unusual"], "g", "clients, without the server's own, replication and what takes long by nature; those in a statement that somebody waits for; of them, those that were not in one most of the time"),
        signals(&["processlist.hung", "processlist.hung_oldest_ms", "processlist.hung_workers", "processlist.hung_writes", "processlist.short_hung_2s"], "g", "in a statement for 1 s or longer whose class is usually faster; age of the oldest; of them, those that finished something in 3 of the 64 samples before; that change data; of a class known to be short, after 2 s"),
        signals(&["processlist.waiting", "processlist.waiting_2s", "processlist.waiting_oldest_ms"], "g", "those of `hung` that say they wait for others, after 1 s and 2 s"),
        signals(&["processlist.finished", "processlist.going", "processlist.since_finish_ms"], "g", "finished a statement since the last sample; of them, in 3 of 64 samples; time since a sample with one"),
        signals(&["processlist.logging_in", "processlist.logging_in_oldest_ms"], "g", "not let in yet; how long the first has been seen"),
        signals(&["processlist.command.*", "processlist.state.*", "processlist.class.*"], "g", "sessions by command, state, class of statement. What is no ASCII letter or digit is `_`; `none` is empty. A name without sessions is absent, not 0"),
    ],
    read: processlist,
};

fn processlist(state: &mut DatabaseState) -> Outcome {
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

#[rustfmt::skip]
pub(crate) static INNODB: Reader<DatabaseState> = Reader {
    source: "innodb",
    signals: &[
        signals(&["innodb.history_list_length", "innodb.active_transactions", "innodb.lock_wait_transactions", "innodb.prepared_transactions", "innodb.lock_structs", "innodb.pending_log_flushes", "innodb.pending_log_writes", "innodb.pending_checkpoint_writes", "innodb.pending_fsyncs", "innodb.pending_aio_reads", "innodb.pending_aio_writes", "innodb.pending_preads", "innodb.pending_pwrites", "innodb.pending_reads", "innodb.pending_writes", "innodb.checkpoint_age_bytes", "innodb.checkpoint_age_max_bytes", "innodb.log_unflushed_bytes", "innodb.buffer_pool_pages", "innodb.free_buffers_pages", "innodb.dirty_pages", "innodb.hit_rate_per_1000", "innodb.change_buffer_pages", "innodb.queries_inside", "innodb.queries_in_queue", "innodb.read_views", "innodb.semaphore_wait_seconds_max", "innodb.active_seconds_max", "innodb.lock_wait_seconds_max", "innodb.semaphore_waits"], "g", "numbers of the InnoDB status"),
    ],
    read: innodb,
};

fn innodb(state: &mut DatabaseState) -> Outcome {
    state.burst.innodb = false;
    state.ask("innodb status", server::innodb_status)
}

pub(crate) static VARIABLES: Reader<DatabaseState> = Reader {
    source: "variables",
    signals: &[],
    read: variables,
};

/// All variables where any of them changed; the ring knows which (`ring.rs`).
fn variables(state: &mut DatabaseState) -> Outcome {
    let mut seen = state.variables_seen.take();
    let outcome = state.ask("variables", |session| {
        Ok(SourceData {
            facts: server::variables(session, &mut seen)?,
            ..SourceData::default()
        })
    });
    state.variables_seen = seen;
    outcome
}

#[rustfmt::skip]
pub(crate) static COMPRESSION: Reader<DatabaseState> = Reader {
    source: "compression",
    signals: &[
        signals(&["sessions.counted", "sessions.compressed"], "g", "sessions known to performance_schema, and compressed ones; once, at the trigger"),
    ],
    read: compression,
};

fn compression(state: &mut DatabaseState) -> Outcome {
    if !std::mem::take(&mut state.burst.compression) {
        return Ok(SourceData::default());
    }
    state.ask("compressed sessions", server::compressed_sessions)
}

#[rustfmt::skip]
pub(crate) static DIGESTS: Reader<DatabaseState> = Reader {
    source: "digests",
    signals: &[
        signals(&["digests.statements"], "c", "statements counted by performance_schema"),
        signals(&["digests.read_ms"], "g, ms", "time to read them"),
    ],
    read: digests,
};

/// What was asked since the last reading goes to the incident; the sample tells how much it was.
fn digests(state: &mut DatabaseState) -> Outcome {
    let at = state.clock.now();
    let wanted = std::mem::take(&mut state.burst.digests);
    if at < state.digests.rest_until && !wanted {
        return Ok(SourceData::default());
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
        Ok(SourceData::default())
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
        let missed = digests
            .reader
            .coverage()
            .is_some_and(DigestCoverage::is_more);
        let window = Window { from, to: now };
        state.shared.learn_times(window, &digest);
        digests.watch.add_counted(window, digest, missed);
    }
    taken.readings = vec![
        Reading {
            name: "digests.statements".into(),
            unit: Unit::Count,
            kind: SignalKind::Counter,
            value: digests.statements as f64,
        },
        Reading::gauge("digests.read_ms", Unit::Milliseconds, took as f64),
    ];
    Ok(taken)
}
