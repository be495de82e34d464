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
use crate::view::View;
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
                    "{what} takes {:.1} ms, {:.1} ms usually",
                    us / 1000.0,
                    usual / 1000.0
                )
            })
        })
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

/// "1 session hangs", "3 sessions hang".
pub(crate) fn several(count: f64, one: &str, many: &str) -> String {
    if count == 1.0 {
        format!("1 {one}")
    } else {
        format!("{count:.0} {many}")
    }
}
