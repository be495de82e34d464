//! The probes: whether the server answers a statement, and lets a client in.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use kernel::run_delay;
use model::{Absent, ProbeOutcome, Reading, Reason, Sample, SourceData, Unit};
use server::{Address, ProbeResult, Session, Waits};

use super::backoff::Backoff;
use super::{Outcome, Reader, State, signals};
use crate::context::Context;
use crate::target::{OwnConnection, Shared};

/// Unanswered connect probes before the pauses between them grow.
const UNANSWERED_AT_ONCE: u32 = 3;

/// The longest pause between connect probes of a server that does not answer.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// An answer of a trivial statement that takes so long is late.
const LATE: Duration = Duration::from_millis(500);

/// One that takes less is as usual: nobody has to know of it at once.
const USUAL: Duration = Duration::from_millis(50);

/// Whether a probe was answered, and soon.
fn is_usual(sample: &Sample, outcome: &str) -> bool {
    let is_answered = sample.value(outcome) == Some(ProbeOutcome::Ok.code());
    is_answered && sample.took_us < USUAL.as_micros() as u64
}

/// The query probe's kept connection.
pub(crate) struct QueryProbe {
    shared: Arc<Shared>,
    waits: Waits,
    session: Option<Session>,
    backoff: Backoff,
    /// The last answer was late, or there was none.
    was_late: bool,
}

impl State for QueryProbe {
    const THREAD: &'static str = "ff-queryprobe";

    fn can_wait(sample: &Sample) -> bool {
        is_usual(sample, "probe.query_outcome")
    }

    fn new(context: &Context) -> Self {
        Self {
            shared: context.shared.clone(),
            waits: context.waits(),
            session: None,
            backoff: Backoff::new(),
            was_late: false,
        }
    }
}

#[rustfmt::skip]
pub(crate) static QUERY_PROBE: Reader<QueryProbe> = Reader {
    source: "query-probe",
    signals: &[
        signals(&["probe.query_us"], "g, µs", "how long the answer took, without the time in which the recorder had no CPU"),
        signals(&["probe.query_outcome"], "g, code", "[outcomes](#probe-outcomes)"),
    ],
    read: query,
};

fn query(state: &mut QueryProbe) -> Outcome {
    if state.session.is_none()
        && let Some(error) = state.backoff.waiting()
    {
        // Nothing was tried: the outcome before still stands, and is not counted twice.
        return Err(error.absent("query probe"));
    }
    let before = run_delay::so_far();
    let Some(mut result) = ask(state) else {
        let detail = "the server's socket and port are unknown";
        return Err(Absent::new("query probe", Reason::NoConnection, detail));
    };
    result.took = result.took.saturating_sub(run_delay::since(before));
    let is_late = result.outcome == ProbeOutcome::TimedOut || result.took >= LATE;
    if state.was_late && !is_late {
        state.shared.revivals.fetch_add(1, Ordering::Relaxed);
    }
    state.was_late = is_late;
    if let Some(session) = &mut state.session {
        session.count_in(&state.shared.own);
    }
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

/// Asks by the kept connection, or by a new one on the first way that lets us in: a login of the socket is often unknown
/// over TCP. Nothing else is a reason for another way: it would hide what clients feel.
fn ask(state: &mut QueryProbe) -> Option<ProbeResult> {
    if let Some(result) = server::probe_kept(&mut state.session) {
        return Some(result);
    }
    let mut refused = None;
    for address in state.shared.addresses() {
        let result = server::probe_query(
            &mut state.session,
            &address,
            state.shared.login(),
            state.waits.clone(),
        );
        if result.outcome != ProbeOutcome::AccessDenied {
            return Some(result);
        }
        state.shared.was_denied(&address);
        refused = Some(result);
    }
    refused
}

/// The connect probe.
pub(crate) struct ConnectProbe {
    shared: Arc<Shared>,
    waits: Waits,
    backoff: Backoff,
    pause: Pause,
    /// Addresses at which the login is refused although another one takes it.
    denied: Vec<Address>,
}

impl State for ConnectProbe {
    const THREAD: &'static str = "ff-connectprobe";

    fn can_wait(sample: &Sample) -> bool {
        is_usual(sample, "probe.connect_outcome")
    }

    fn new(context: &Context) -> Self {
        Self {
            shared: context.shared.clone(),
            waits: context.waits(),
            backoff: Backoff::new(),
            pause: Pause::default(),
            denied: Vec::new(),
        }
    }
}

#[rustfmt::skip]
pub(crate) static CONNECT_PROBE: Reader<ConnectProbe> = Reader {
    source: "connect-probe",
    signals: &[
        signals(&["probe.connect_us"], "g, µs", "how long the login took, without the time in which the recorder had no CPU"),
        signals(&["probe.connect_outcome"], "g, code", "[outcomes](#probe-outcomes)"),
    ],
    read: connect,
};

fn connect(state: &mut ConnectProbe) -> Outcome {
    if let Some(error) = state.backoff.waiting()
        && error.outcome == ProbeOutcome::AccessDenied
    {
        return Err(error.absent("connect probe"));
    }
    let revivals = state.shared.revivals.load(Ordering::Relaxed);
    if !state.pause.is_over(Instant::now(), revivals) {
        return Ok(SourceData::default());
    }
    state.pause.revivals = revivals;
    let before = run_delay::so_far();
    let Some((address, mut result)) = knock(state) else {
        let detail = "the server's socket and port are unknown";
        return Err(Absent::new("connect probe", Reason::NoConnection, detail));
    };
    result.took = result.took.saturating_sub(run_delay::since(before));
    let is_unanswered = result.outcome == ProbeOutcome::TimedOut;
    state.pause.begin(Instant::now(), is_unanswered);
    match &result.error {
        // All ways refuse us: that is tried again after a long time only, and from the first way on.
        Some(error) if error.outcome == ProbeOutcome::AccessDenied => {
            state.denied.clear();
            state.backoff.failed(error);
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

/// One attempt: on the first way that did not refuse us, and on the next one at once where it does now. A login of the local
/// socket is often unknown over TCP.
fn knock(state: &mut ConnectProbe) -> Option<(Address, ProbeResult)> {
    let mut ways = state.shared.connect_addresses();
    if ways.iter().all(|way| state.denied.contains(way)) {
        // The server has other ways than it had.
        state.denied.clear();
    }
    ways.retain(|way| !state.denied.contains(way));
    let mut last = None;
    for way in ways {
        let own = &state.shared.own;
        let result = server::probe_connect(&way, state.shared.login(), state.waits.clone(), own);
        if result.outcome != ProbeOutcome::AccessDenied {
            return Some((way, result));
        }
        state.denied.push(way.clone());
        last = Some((way, result));
    }
    last
}

/// Unanswered attempts in a row, and when the next one may be made. Each leaves a connection in the accept queue of a
/// frozen server, where clients need the room.
#[derive(Debug, Default)]
struct Pause {
    unanswered: u32,
    next: Option<Instant>,
    /// The server's revivals before the last attempt: after another one it is tried at once, or nobody would know for a
    /// minute that it lets clients in again.
    revivals: u64,
}

impl Pause {
    fn is_over(&self, now: Instant, revivals: u64) -> bool {
        self.next.is_none_or(|next| now >= next) || revivals != self.revivals
    }

    fn begin(&mut self, now: Instant, is_unanswered: bool) {
        self.unanswered = if is_unanswered {
            self.unanswered + 1
        } else {
            0
        };
        self.next = pause_after(self.unanswered).map(|pause| now + pause);
    }
}

/// The pause after so many unanswered attempts: none at first, then doubling up to a minute.
fn pause_after(unanswered: u32) -> Option<Duration> {
    let beyond = unanswered.checked_sub(UNANSWERED_AT_ONCE)?;
    Some(Duration::from_secs(2 << beyond.min(5)).min(PAUSE_MAX))
}

fn taken(result: &ProbeResult, [latency, outcome]: [&'static str; 2]) -> SourceData {
    let mut taken = SourceData {
        readings: vec![
            Reading::gauge(latency, Unit::Microseconds, result.took.as_micros() as f64),
            Reading::gauge(outcome, Unit::Code, result.outcome.code()),
        ],
        ..SourceData::default()
    };
    if let Some(error) = &result.error {
        taken.absent.push(error.absent("probe answer"));
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_of_frozen_server_leaves_room_in_the_smallest_accept_queue() {
        let probe = Duration::from_secs(3);
        let (mut time, mut probes) = (Duration::ZERO, 0u32);
        while time < Duration::from_secs(3600) {
            probes += 1;
            time += probe + pause_after(probes).unwrap_or(Duration::from_secs(1));
        }
        // MariaDB's default back_log is 80, MySQL's is at least 50.
        assert!((20..66).contains(&probes), "{probes}");
    }

    #[test]
    fn a_server_that_answers_again_is_tried_at_once() {
        let now = Instant::now();
        let mut pause = Pause::default();
        for _ in 0..8 {
            pause.begin(now, true);
        }
        let later = now + Duration::from_secs(30);
        assert!(!pause.is_over(later, 0));
        assert!(pause.is_over(later, 1));
        pause.begin(now, false);
        assert!(pause.is_over(now, 0));
    }
}
