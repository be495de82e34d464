//! The rules. Each looks at the present moment and says whether it sees a sign of a stall.

mod burn;
mod doors;
mod probe;
mod slow;
mod stops;
mod system;
mod user;
mod waits;

use model::{Millis, Sample};

use crate::Config;
use crate::usual::Usual;
use crate::view::{Queue, View};
use probe::Probe;
use user::User;

/// What a rule makes of a moment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sign {
    /// A sign, seen from this moment on, and what users feel, in words.
    Bad { since: Millis, says: String },
    /// Clearly no sign, since this moment.
    Good { since: Millis },
    /// Between the limits, nearer to a sign than to none: a stall goes on, and none begins.
    Lasting,
    /// Nothing to judge by, or too little: everything stays as it was. In particular a
    /// reading that failed never resets a rule.
    Unclear,
}

/// A new connection takes a thread and some round trips: slow from here on, milliseconds.
const CONNECT_LIMIT_MS: Millis = 20;

/// Less than two samples of each second, so that the jitter of a beat does not ask for a third,
/// milliseconds.
const TWO_SAMPLES_MS: Millis = 1500;

/// So many of the server's threads wait for a processor at a time where it is no chance. How many are few depends on what
/// the others use, and the time that a statement takes by it tells that.
const QUEUE_MIN: f64 = 4.0;

/// Whose work takes so many times as long as without waiting is not served, whatever is usual,
const STRETCH_MAX: f64 = 20.0;

/// unless it was half as bad before: programs beside the server may keep it waiting all the time.
const STRETCH_MAX_TIMES: f64 = 2.0;

/// What a rule may look at.
pub(crate) struct Now<'a> {
    pub(crate) sample: &'a Sample,
    pub(crate) view: &'a View,
    pub(crate) usual: &'a Usual,
    pub(crate) config: &'a Config,
}

impl Now<'_> {
    /// A trivial statement, or a new connection, takes several times as long as usual: in words.
    pub(crate) fn slow_answer(&self) -> Option<String> {
        self.slow_answer_of(self.config.answer_limit_ms)
    }

    /// The same, of a trivial statement that takes so long at least, milliseconds.
    pub(crate) fn slow_answer_of(&self, answer_limit_ms: Millis) -> Option<String> {
        let (view, usual, config) = (self.view, self.usual, self.config);
        [
            (
                "SELECT 1",
                view.answer_us(),
                usual.answer_us.median(),
                answer_limit_ms,
            ),
            (
                "a new connection",
                view.connect_us(),
                usual.connect_us.median(),
                CONNECT_LIMIT_MS,
            ),
        ]
        .into_iter()
        .find_map(|(what, us, usual, limit_ms)| {
            let (us, usual) = (us?, usual?);
            let limit = (usual * config.answer_times_usual).max(limit_ms as f64 * 1000.0);
            (us >= limit).then(|| {
                format!(
                    "{what} takes {:.1} ms, {} usually",
                    us / 1000.0,
                    in_ms(usual / 1000.0)
                )
            })
        })
    }

    /// The server's own threads wait for processors, so that whatever it is asked takes several times as long as usual: in
    /// words. It needs no probe, whose time depends on how soon the recorder gets a processor itself.
    pub(crate) fn queues(&self) -> Option<String> {
        let (queue, usual, limit) = self.queue(self.view.queue_at(self.sample.at)?)?;
        (queue.stretch() >= limit).then(|| {
            format!(
                "every request takes {:.0} times as long as without waiting, {usual:.1} times usually: {:.0} threads wait for a CPU",
                queue.stretch(),
                queue.waiting
            )
        })
    }

    /// Half of the way to that, in the last reading.
    pub(crate) fn nearly_queues(&self) -> bool {
        let queue = self.view.last_queue_at(self.sample.at);
        queue
            .and_then(|queue| self.queue(queue))
            .is_some_and(|(queue, _, limit)| queue.stretch() >= limit / 2.0)
    }

    /// A run queue in which several of the server's threads wait, how many times as long its work takes usually, and how many
    /// times are too many.
    fn queue(&self, queue: Queue) -> Option<(Queue, f64, f64)> {
        let usual = self.usual.stretch.median()?;
        let whatever_is_usual = STRETCH_MAX.max(usual * STRETCH_MAX_TIMES);
        let limit = (usual * self.config.answer_times_usual).min(whatever_is_usual);
        (queue.waiting >= QUEUE_MIN).then_some((queue, usual, limit))
    }
}

/// A rule with what it remembers.
pub(crate) enum Rule {
    Probe(Probe),
    Stops,
    Waits,
    Slow(slow::Recent),
    Stuck,
    System(system::System),
    Doors { refused_before: bool },
    Logins,
    Greetings,
    AcceptQueue { before: Option<Millis> },
    Burn,
    User(User),
}

impl Rule {
    pub(crate) fn all(config: &Config) -> Vec<Self> {
        let mut rules = vec![
            Self::Probe(Probe::query()),
            Self::Probe(Probe::connect()),
            Self::Stops,
            Self::Waits,
            Self::Slow(slow::Recent::default()),
            Self::Stuck,
            Self::System(system::System::default()),
            Self::Doors {
                refused_before: false,
            },
            Self::Logins,
            Self::Greetings,
            Self::AcceptQueue { before: None },
            Self::Burn,
        ];
        rules.extend(
            config
                .user
                .iter()
                .map(|trigger| Self::User(User::new(trigger))),
        );
        rules
    }

    pub(crate) fn id(&self) -> &'static str {
        match self {
            Self::Probe(probe) => probe.id,
            Self::Stops => "work-stops",
            Self::Waits => "work-waits",
            Self::Slow(_) => "statements-slow",
            Self::Stuck => "sessions-stuck",
            Self::System(_) => "system-cpu",
            Self::Doors { .. } | Self::Logins | Self::Greetings | Self::AcceptQueue { .. } => {
                "not-let-in"
            }
            Self::Burn => "slow-burn",
            Self::User(_) => "user",
        }
    }

    /// How long the signs must last, milliseconds.
    pub(crate) fn hold_ms(&self, config: &Config) -> Millis {
        match self {
            Self::Probe(probe) if probe.gone => config.restart_ms,
            Self::Probe(_) => config.probe_hold_ms,
            // The age of what hangs has been looked at.
            Self::Stops
            | Self::Waits
            | Self::Stuck
            | Self::Logins
            | Self::Greetings
            | Self::Burn => 0,
            // Who was refused has been refused.
            Self::Doors { .. } => 0,
            Self::Slow(recent) => recent.hold_ms,
            Self::System(_) | Self::AcceptQueue { .. } => TWO_SAMPLES_MS,
            Self::User(user) => user.hold_ms(),
        }
    }

    /// Work is slow and nobody hangs: such a state can become the usual one.
    pub(crate) fn is_soft(&self) -> bool {
        matches!(
            self,
            Self::Slow(_) | Self::Stuck | Self::System(_) | Self::Burn
        )
    }

    /// Whether it says something of the server by itself: while it does, nothing is learnt.
    pub(crate) fn is_built_in(&self) -> bool {
        !matches!(self, Self::User(_))
    }

    /// Whether it doubts that all is well, though it says nothing yet.
    pub(crate) fn doubts(&self, now: Millis) -> bool {
        matches!(self, Self::Slow(recent) if recent.doubts(now))
    }

    pub(crate) fn check(&mut self, now: &Now<'_>) -> Sign {
        match self {
            Self::Probe(probe) => probe.check(now),
            Self::Stops => stops::check(now),
            Self::Waits => waits::check(now),
            Self::Slow(recent) => recent.check(now),
            Self::Stuck => slow::stuck(now),
            Self::System(memory) => system::check(now, memory),
            Self::Doors { refused_before } => doors::check(now, refused_before),
            Self::Logins => doors::logins(now),
            Self::Greetings => doors::greetings(now),
            Self::AcceptQueue { before } => doors::accept_queue(now, before),
            Self::Burn => burn::check(now),
            Self::User(user) => user.check(now.sample),
        }
    }

    /// The server or the clock was started anew.
    pub(crate) fn restart(&mut self) {
        match self {
            Self::Slow(recent) => *recent = slow::Recent::default(),
            Self::System(memory) => *memory = system::System::default(),
            Self::Doors { refused_before } => *refused_before = false,
            Self::AcceptQueue { before } => *before = None,
            Self::User(user) => user.restart(),
            Self::Probe(probe) => probe.restart(),
            _ => {}
        }
    }
}

/// Seconds, for people.
pub(crate) fn seconds(ms: f64) -> String {
    format!("{:.1} s", ms / 1000.0)
}

/// A usual time in words: what rounds to nothing took some time all the same.
pub(crate) fn in_ms(ms: f64) -> String {
    match ms < 0.05 {
        true => "less than 0.1 ms".to_owned(),
        false => format!("{ms:.1} ms"),
    }
}

/// "1 session hangs", "3 sessions hang".
pub(crate) fn several(count: f64, one: &str, many: &str) -> String {
    if count == 1.0 {
        format!("1 {one}")
    } else {
        format!("{count:.0} {many}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_usually_takes_no_time() {
        for (ms, words) in [
            (0.0, "less than 0.1 ms"),
            (0.049, "less than 0.1 ms"),
            (0.06, "0.1 ms"),
            (0.31, "0.3 ms"),
        ] {
            assert_eq!(in_ms(ms), words);
        }
    }
}
