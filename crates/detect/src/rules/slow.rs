//! Statements come back, and each takes long.

use std::collections::VecDeque;

use model::Millis;

use super::{Now, Sign, TWO_SAMPLES_MS, in_ms, several};
use crate::config::Room;
use crate::view::{Crowd, is_second_look, number};

/// Statements a second that are usual, below which the time of one is not known well enough.
const COMPLETIONS_MIN: f64 = 10.0;

/// So many times as many statements as usual must be under way at once.
const CROWD_TIMES: f64 = 2.0;

/// Samples that are judged together when few sessions run.
const SAMPLES_MAX: usize = 8;

/// So many statements seen under way, in samples that follow each other, are no chance where everybody
/// who works is in one and less completes.
const SEEN_MIN_FELL: f64 = 3.0;

/// And so many where as much completes as ever. A tenth of all looks may find a statement under way on a
/// healthy server, three in a row happen each hour, and eight in a row never.
const SEEN_MIN: f64 = 8.0;

/// From this share of what usually completes on, nothing has become less.
const USUAL_SHARE: f64 = 0.8;

/// One look is a moment: clients that go away together are all in their last statement, and less completes.
const LOOKS_MIN: usize = 2;

/// Where a trivial statement still takes long though processors have room, so many samples in a row tell that statements
/// come back quickly again: of a lock that is held every other moment, each third sample finds it free.
const LOOKS_QUICK: usize = 3;

/// What was slow for so long and made no stall is how the server works, milliseconds: it is learnt.
const DOUBT_MS: Millis = 10_000;

/// The processors have no more to give where so much of them is in use.
const USED_UP_SHARE: f64 = 0.95;

/// Processors have room where less of them than this is in use. A statement then waits for something else than its
/// turn, and less of a wait is a sign ([`crate::Config::statement_room_limit_ms`]),
const ROOM_SHARE: f64 = 0.9;

/// while so many sessions are in statements, and half of all or a trivial statement takes long as well. Of some reports
/// and a dump neither is true.
const ROOM_CROWD: f64 = 4.0;

/// So long a trivial statement takes then on the average, milliseconds: it needs nothing but a moment of a processor.
const ROOM_ANSWER_MS: Millis = 5;

/// One sample.
#[derive(Debug, Clone, Copy)]
struct Observation {
    /// Begin of the second that it tells of.
    since: Millis,
    /// When it was taken.
    at: Millis,
    /// Sessions in statements.
    in_flight: f64,
    /// Those of them that usually are in none.
    unusual: f64,
    /// Statements completed a second.
    completions: f64,
    /// The processors have room, and a crowd is in statements all the same.
    room: Option<Room>,
}

/// The last samples.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    samples: VecDeque<Observation>,
    /// When the last of them was taken.
    at: Option<Millis>,
    /// The first of those in a row that were slow, though it may be too little to tell.
    slow_since: Option<Millis>,
    /// How long it must last, milliseconds.
    pub(super) hold_ms: Millis,
}

impl Recent {
    /// Whether statements were slow when it last looked, and no longer than it takes to be sure: nothing is learnt of such
    /// a moment. One look that finds a crowd would make it the half of a usual that is known for half a minute.
    pub(super) fn doubts(&self, now: Millis) -> bool {
        self.slow_since
            .is_some_and(|since| now < since.saturating_add(DOUBT_MS))
    }

    /// The time of a statement is that of the queue (Little's law): those that run, by those that
    /// complete in a second.
    pub(super) fn check(&mut self, now: &Now<'_>) -> Sign {
        let at = now.sample.at;
        if now.sample.source != "processlist" {
            return Sign::Unclear;
        }
        let (Some(crowd), Some(work)) = (now.view.crowd_at(at), now.view.work_at(at)) else {
            return Sign::Unclear;
        };
        // A second look is made because many were seen in statements: it is no chance sample.
        if self.at.is_some_and(|last| is_second_look(last, at)) {
            return Sign::Unclear;
        }
        self.at = Some(at);
        let (since, in_flight) = (work.since, crowd.in_flight);
        self.samples.push_back(Observation {
            since,
            at,
            in_flight,
            unusual: crowd.in_flight_unusual,
            completions: work.completions,
            room: room(now, &crowd),
        });
        while self.samples.len() > SAMPLES_MAX {
            self.samples.pop_front();
        }
        let (Some(usual), Some(usual_in_flight), Some(usual_each)) = (
            now.usual.completions.median(),
            now.usual.in_flight.mean(),
            now.usual.each_seconds(),
        ) else {
            return Sign::Unclear;
        };
        if usual < COMPLETIONS_MIN {
            return Sign::Unclear;
        }
        let usual_limit = usual_each * now.config.statement_times_usual;
        let limit_of = |observation: &Observation| {
            let limit_ms = match observation.room {
                Some(room) => now.config.statement_room_limit_ms(room),
                None => now.config.statement_limit_ms as f64,
            };
            usual_limit.max(limit_ms / 1000.0)
        };
        let slow = |observation: &Observation| {
            observation.in_flight >= 1.0
                && observation.in_flight >= usual_in_flight * CROWD_TIMES
                && observation.in_flight / observation.completions >= limit_of(observation)
        };
        let together: Vec<&Observation> = self
            .samples
            .iter()
            .rev()
            .take_while(|observation| slow(observation))
            .collect();
        self.slow_since = match together.is_empty() {
            true => None,
            false => self.slow_since.or(Some(at)),
        };
        let fell = work.completions <= usual / 2.0 && all_who_work(now, in_flight);
        let enough = if fell { SEEN_MIN_FELL } else { SEEN_MIN };
        let seen: f64 = together.iter().map(|observation| observation.unusual).sum();
        let is_crowd = in_flight >= now.config.stuck_above_usual;
        let is_usual = work.completions >= usual * USUAL_SHARE;
        if seen >= enough
            && (together.len() >= LOOKS_MIN || is_crowd)
            && let Some(first) = together.last()
        {
            self.hold_ms = match now.slow_answer() {
                // Another source says the same; while as much completes as ever, it may be of the same moment.
                Some(_) if !is_usual => 0,
                Some(_) => TWO_SAMPLES_MS,
                None if fell || (is_crowd && !is_usual) => TWO_SAMPLES_MS,
                // Some long statements that begin together look like slow ones for a moment, and so do two hundred
                // clients that all send at the same moments.
                None => TWO_SAMPLES_MS + 1000,
            };
            let sum = |of: fn(&Observation) -> f64| together.iter().copied().map(of).sum::<f64>();
            let each = sum(|observation| observation.in_flight)
                / sum(|observation| observation.completions).max(1.0);
            return Sign::Bad {
                since: first.since,
                says: format!(
                    "a statement takes {:.0} ms, {} usually; {}, \
                     {:.0} statements a second completed, {usual:.0} usually",
                    each * 1000.0,
                    in_ms(usual_each * 1000.0),
                    several(in_flight, "session runs one", "sessions run one"),
                    work.completions
                ),
            };
        }
        let is_quick = |observation: &&Observation| {
            observation.in_flight < usual_in_flight * CROWD_TIMES
                || observation.in_flight / observation.completions.max(0.1)
                    < limit_of(observation) / 2.0
        };
        let quick: Vec<&Observation> = self.samples.iter().rev().take_while(is_quick).collect();
        match quick.last() {
            Some(first) if quick.len() >= LOOKS_QUICK || !has_room(now) || !answers_late(now) => {
                Sign::Good {
                    since: first.since.midpoint(first.at),
                }
            }
            Some(_) => Sign::Unclear,
            None => Sign::Lasting,
        }
    }
}

fn has_room(now: &Now<'_>) -> bool {
    now.view.used_share().is_some_and(|used| used < ROOM_SHARE)
}

/// Whether the processors have room though a crowd is in statements, and who waits then.
fn room(now: &Now<'_>, crowd: &Crowd) -> Option<Room> {
    if !has_room(now) || crowd.in_flight < ROOM_CROWD {
        return None;
    }
    if answers_late(now) {
        return Some(Room::AllWait);
    }
    (crowd.in_flight >= crowd.clients / 2.0).then_some(Room::ManyWait)
}

/// The last probes took long on the average. Where a lock is held every other moment, most of them may be quick.
fn answers_late(now: &Now<'_>) -> bool {
    let (Some(us), Some(usual)) = (now.view.mean_answer_us(), now.usual.answer_us.median()) else {
        return false;
    };
    us >= (usual * now.config.answer_times_usual).max(ROOM_ANSWER_MS as f64 * 1000.0)
}

/// Of the sessions that usually finish something each moment, as many are in a statement as must hang for
/// the work to have stopped. A load that fell leaves them idle.
fn all_who_work(now: &Now<'_>, in_flight: f64) -> bool {
    let usual = now.usual.finished.median().unwrap_or(0.0);
    in_flight >= (usual * now.config.hung_share).max(1.0)
}

/// Many sessions are in their statements for long, and that has an effect on others.
pub(super) fn stuck(now: &Now<'_>) -> Sign {
    let at = now.sample.at;
    let (Some(stuck), Some(usual)) = (
        number(now.sample, "processlist.active_2s"),
        now.usual.stuck.median(),
    ) else {
        return Sign::Unclear;
    };
    let limit = (usual * 2.0).max(usual + now.config.stuck_above_usual);
    if stuck >= limit {
        let Some(effect) = effect(now) else {
            return Sign::Unclear;
        };
        return Sign::Bad {
            // They began so long ago, which is also how long the sign has lasted.
            since: at.saturating_sub(2000),
            says: format!(
                "{stuck:.0} sessions run a statement for 2 s or longer, {usual:.0} usually; {effect}"
            ),
        };
    }
    if stuck < (usual + limit) / 2.0 {
        Sign::Good {
            since: at.saturating_sub(500),
        }
    } else {
        Sign::Unclear
    }
}

/// What others feel of the many.
fn effect(now: &Now<'_>) -> Option<String> {
    if let Some(felt) = now.slow_answer().or_else(|| now.queues()) {
        return Some(felt);
    }
    let at = now.sample.at;
    if let (Some(work), Some(usual)) = (now.view.work_at(at), now.usual.completions.median())
        && usual >= COMPLETIONS_MIN
        && work.completions <= usual / 2.0
    {
        return Some(format!(
            "{:.0} of {usual:.0} statements a second completed",
            work.completions
        ));
    }
    if now
        .view
        .crowd_at(at)
        .is_some_and(|crowd| crowd.waiting > 0.0)
    {
        return Some("they wait for others".to_owned());
    }
    let busy = now.view.busy_share?;
    if busy >= USED_UP_SHARE {
        return Some("no CPU is idle".to_owned());
    }
    let used = now.view.used_share()?;
    (used >= USED_UP_SHARE).then(|| "the server's CPU quota is used up".to_owned())
}
