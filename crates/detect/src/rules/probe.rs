//! Probes: a trivial statement on a kept connection, and a whole connection.

use model::{Millis, ProbeOutcome};

use super::{Now, Sign};
use crate::view::number;

/// The kernel killed the server this recently, milliseconds: its being gone is no restart.
const KILLED_MS: Millis = 60_000;

/// A connect whose first packet is lost is answered after a second, when the kernel sends it again (RFC 6298, section 2:
/// one second; include/net/tcp.h, `TCP_TIMEOUT_INIT`). One that takes less than this, milliseconds, tells of the server
/// only when something else does, too.
const LOST_PACKET_MS: Millis = 1200;

/// One client that logs in for so long is such a witness, milliseconds.
const LOGIN_MS: f64 = 500.0;

pub(crate) struct Probe {
    pub(crate) id: &'static str,
    source: &'static str,
    what: &'static str,
    /// It begins with a connect.
    connects: bool,
    latency: &'static str,
    outcome: &'static str,
    waiting: &'static str,
    /// The server answered once, if only to refuse the login; before that there is nothing that could have stalled.
    armed: bool,
    /// The last sign is that the server is not there, as in a restart.
    pub(crate) gone: bool,
    kills: Option<f64>,
    killed_at: Option<Millis>,
    /// When the last probe came back. One that is said to wait since before that was this one: who
    /// tells of what is missing may have looked just before it came.
    back_at: Option<Millis>,
    /// The last one was late.
    was_late: bool,
}

impl Probe {
    pub(super) fn query() -> Self {
        Self {
            id: "query-probe",
            source: "query-probe",
            what: "SELECT 1",
            connects: false,
            latency: "probe.query_us",
            outcome: "probe.query_outcome",
            waiting: "probe.query_waiting_us",
            armed: false,
            gone: false,
            kills: None,
            killed_at: None,
            back_at: None,
            was_late: false,
        }
    }

    pub(super) fn connect() -> Self {
        Self {
            id: "connect-probe",
            source: "connect-probe",
            what: "a new connection",
            connects: true,
            latency: "probe.connect_us",
            outcome: "probe.connect_outcome",
            waiting: "probe.connect_waiting_us",
            ..Self::query()
        }
    }

    /// The server or the clock was started anew.
    pub(super) fn restart(&mut self) {
        self.back_at = None;
        self.was_late = false;
    }

    /// How long one must take that tells of the server, microseconds. `was_late`: the one before.
    fn limit_us(&self, now: &Now<'_>, was_late: bool) -> f64 {
        let limit_ms = now.config.probe_limit_ms;
        let limit_ms = match self.connects && !was_late && !others_wait(now) {
            true => limit_ms.max(LOST_PACKET_MS),
            false => limit_ms,
        };
        limit_ms as f64 * 1000.0
    }

    pub(super) fn check(&mut self, now: &Now<'_>) -> Sign {
        let sample = now.sample;
        let at = sample.at;
        // Neither tells of a probe, and to look through five hundred readings for it takes time.
        if matches!(sample.source, "status" | "processlist") {
            return Sign::Unclear;
        }
        if let Some(kills) = number(sample, "cgroup.memory.oom_kill") {
            if self.kills.is_some_and(|before| kills > before) {
                self.killed_at = Some(at);
            }
            self.kills = Some(kills);
        }
        let limit_ms = now.config.probe_limit_ms;
        let since = |us: f64| at.saturating_sub((us / 1000.0) as Millis);
        if let Some(us) = number(sample, self.waiting) {
            let is_back = self.back_at.is_some_and(|back| since(us) < back);
            if !self.armed || is_back || us < self.limit_us(now, self.was_late) {
                return Sign::Unclear;
            }
            self.gone = false;
            return Sign::Bad {
                since: since(us),
                says: format!(
                    "{} has had no answer for {:.1} s (limit {} ms)",
                    self.what,
                    us / 1e6,
                    limit_ms
                ),
            };
        }
        let Some(outcome) = number(sample, self.outcome).and_then(ProbeOutcome::from_code) else {
            return Sign::Unclear;
        };
        // One that is given up may still be waited for.
        if outcome != ProbeOutcome::TimedOut {
            self.back_at = Some(at);
        }
        let us = number(sample, self.latency).unwrap_or(0.0).max(0.0);
        let was_late = self.was_late;
        self.was_late = us >= limit_ms as f64 * 1000.0;
        // A refused login is an answer too: its absence tells, without a login, of a server that
        // stands still.
        if matches!(outcome, ProbeOutcome::Ok | ProbeOutcome::AccessDenied) {
            self.armed = true;
        }
        if !self.armed {
            return Sign::Unclear;
        }
        if outcome.is_stall_sign() {
            let was_killed = self
                .killed_at
                .is_some_and(|killed| at < killed.saturating_add(KILLED_MS));
            self.gone =
                matches!(outcome, ProbeOutcome::Refused | ProbeOutcome::Lost) && !was_killed;
            return Sign::Bad {
                since: since(us),
                says: format!("{}: {}", self.what, outcome.to_text()),
            };
        }
        // The answer itself is the end of the silence, however late it came.
        let answered = Sign::Good { since: at };
        if us < limit_ms as f64 * 500.0 {
            return answered;
        }
        if us < self.limit_us(now, was_late) {
            return Sign::Unclear;
        }
        self.gone = false;
        Sign::Bad {
            since: since(us),
            says: format!(
                "{} took {:.0} ms (limit {} ms)",
                self.what,
                us / 1000.0,
                limit_ms
            ),
        }
    }

    /// Whether a sample is one of this probe's own answers, late as it may be: from then on the
    /// server answers.
    pub(crate) fn is_answer(&self, sample: &model::Sample) -> bool {
        sample.source == self.source
            && number(sample, self.outcome).and_then(ProbeOutcome::from_code)
                == Some(ProbeOutcome::Ok)
    }
}

/// Somebody else waits, too: in a statement, for a login, or for the trivial statement.
fn others_wait(now: &Now<'_>) -> bool {
    let crowd = now.view.crowd_at(now.sample.at);
    crowd.is_some_and(|crowd| {
        crowd.hung > 0.0 || (crowd.logging_in > 0.0 && crowd.logging_in_oldest_ms >= LOGIN_MS)
    }) || now.slow_answer().is_some()
}
