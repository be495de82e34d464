//! The server's own time in the kernel, when its clients feel it.

use model::Millis;

use super::stops::COMPLETIONS_MIN;
use super::{Now, Sign, TWO_SAMPLES_MS};

/// The processors have no more to give where so much of them is in use.
const USED_UP_SHARE: f64 = 0.95;

/// System CPU counts there from this part of its limit on,
const USED_UP_OF_MIN: f64 = 0.6;

/// or from this part in a flood of small statements, which has to share the processors with the clients that
/// send it,
const FLOOD_OF_MIN: f64 = 0.3;

/// so that the server has this share of them. Where its threads wait for more than they get, others have the rest, and the
/// limit is less by as much: programs beside it may have a share of their own.
const FLOOD_HAS: f64 = 0.5;

/// This part of the limit is the least: who gets next to nothing floods nobody.
const FLOOD_LEAST: f64 = 0.5;

/// So many times as many statements as usual are a flood. Neighbours of the host do not make the server do more.
const FLOOD_TIMES: f64 = 2.0;

/// How many times its usual value it must be there.
const USED_UP_TIMES: f64 = 5.0;

/// And an answer takes so long there where it is no flood, milliseconds. Where the processors are used up, a statement
/// waits for its turn behind whatever else runs, which is up to some milliseconds (a slice of the kernel's scheduler
/// is 3 ms).
const USED_UP_ANSWER_MS: Millis = 5;

/// The share was high for so long before answers are known to be slow, at the most, milliseconds: what
/// was high for longer was not felt.
const FELT_AFTER_MS: Millis = 5000;

/// What the rule remembers.
#[derive(Debug, Default)]
pub(crate) struct System {
    before: Option<Millis>,
    /// Begin of the time that the last share is of.
    since: Millis,
    /// Since when the share is high.
    high: Option<Millis>,
}

pub(super) fn check(now: &Now<'_>, memory: &mut System) -> Sign {
    let at = now.sample.at;
    let is_of_this_second = |before: Millis| at < before.saturating_add(TWO_SAMPLES_MS);
    match now.sample.source {
        "process" => memory.since = memory.before.replace(at).unwrap_or(at),
        // What they tell is of the same second as the share, and known a little later.
        "threads" | "status"
            if now.sample.outcome.is_ok() && memory.before.is_some_and(is_of_this_second) => {}
        _ => return Sign::Unclear,
    }
    let since = memory.since;
    let (Some(share), Some(usual)) = (now.view.own_system_share, now.usual.system.median()) else {
        return Sign::Unclear;
    };
    let config = now.config;
    let ordinary = config
        .system_share_min
        .max(usual * config.system_times_usual);
    let is_flooded = is_flooded(now);
    let mut enter = ordinary;
    // Beside what has a share of its own, or within a limit of its own, the server has none left before the host has.
    let is_queued = now.nearly_queues();
    if now.view.busy_share.unwrap_or(0.0) >= USED_UP_SHARE || is_queued {
        let part = match (is_flooded, is_queued) {
            (true, true) => {
                let has = now.view.own_share().unwrap_or(FLOOD_HAS) / FLOOD_HAS;
                FLOOD_OF_MIN * has.clamp(FLOOD_LEAST, 1.0)
            }
            (true, false) => FLOOD_OF_MIN,
            (false, _) => USED_UP_OF_MIN,
        };
        let used_up = config.system_share_min * part;
        enter = enter.min(used_up.max(usual * USED_UP_TIMES));
    }
    // Else it may be a neighbour that uses the processors up.
    let is_own = share >= ordinary || is_flooded;
    let answer_limit_ms = match is_own {
        true => config.answer_limit_ms,
        false => config.answer_limit_ms.max(USED_UP_ANSWER_MS),
    };
    // Half-way back to the usual, so that a share dancing on the limit stays one stall.
    if share < (usual + enter) / 2.0 {
        memory.high = None;
        return Sign::Good { since };
    }
    let high = *memory.high.get_or_insert(since);
    let queues = || is_own.then(|| now.queues()).flatten();
    match now.slow_answer_of(answer_limit_ms).or_else(queues) {
        Some(felt) if share >= enter => Sign::Bad {
            since: high.max(at.saturating_sub(FELT_AFTER_MS)),
            says: format!(
                "{felt}; the server spends {:.0} % of all CPUs in the kernel, {:.0} % usually (limit {:.0} %)",
                share * 100.0,
                usual * 100.0,
                enter * 100.0
            ),
        },
        _ => Sign::Unclear,
    }
}

/// More than usual completes, and by far.
fn is_flooded(now: &Now<'_>) -> bool {
    let usual = now.usual.completions.median();
    let work = now.view.work_at(now.sample.at);
    work.zip(usual)
        .is_some_and(|(work, usual)| work.completions >= COMPLETIONS_MIN.max(usual * FLOOD_TIMES))
}
