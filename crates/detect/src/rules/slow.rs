//! Statements come back, and each takes long.

use std::collections::VecDeque;

use model::Millis;

use super::{Now, Sign, TWO_SAMPLES_MS};
use crate::view::{is_second_look, number};

/// Statements a second that are usual, below which the time of one is not known well enough.
const COMPLETIONS_MIN: f64 = 10.0;

/// So many times as many statements as usual must be under way at once.
const CROWD_TIMES: f64 = 2.0;

/// Samples that are judged together when few sessions run: one session may be in a statement by
/// chance whenever it is looked at, but not three times in a row.
const SAMPLES_MAX: usize = 3;

/// Sessions seen in statements in those samples.
const SEEN_MIN: f64 = 3.0;

/// The processors have no more to give where so much of them is in use.
const USED_UP_SHARE: f64 = 0.95;

/// The last samples.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    /// Begin, sessions in statements, statements completed.
    samples: VecDeque<(Millis, f64, f64)>,
    /// When the last of them was taken.
    at: Option<Millis>,
    /// How long it must last, milliseconds.
    pub(super) hold_ms: Millis,
}

impl Recent {
    /// The time of a statement is that of the queue (Little's law): those that run, by those that
    /// complete in a second.
    pub(super) fn look(&mut self, now: &Now<'_>) -> Sign {
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
        self.samples.push_back((since, in_flight, work.completions));
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
        let limit = (now.config.statement_limit_ms as f64 / 1000.0)
            .max(usual_each * now.config.statement_times_usual);
        let slow = |(_, in_flight, completions): &(Millis, f64, f64)| {
            *in_flight >= 1.0
                && *in_flight >= usual_in_flight * CROWD_TIMES
                && in_flight / completions >= limit
        };
        let together: Vec<_> = self
            .samples
            .iter()
            .rev()
            .take_while(|sample| slow(sample))
            .collect();
        let seen: f64 = together.iter().map(|(_, in_flight, _)| in_flight).sum();
        if seen >= SEEN_MIN
            && let Some((first, _, _)) = together.last()
        {
            let fell = work.completions <= usual / 2.0;
            self.hold_ms = match now.slow_answer() {
                // Another source says the same.
                Some(_) => 0,
                None if fell || in_flight >= now.config.stuck_above_usual => TWO_SAMPLES_MS,
                // Some long statements that begin together look like slow ones for a moment.
                None => TWO_SAMPLES_MS + 1000,
            };
            let completions: f64 = together.iter().map(|(_, _, completions)| completions).sum();
            let each = seen / completions.max(1.0);
            return Sign::Bad {
                since: *first,
                says: format!(
                    "a statement takes {:.0} ms, {:.1} ms usually; {in_flight:.0} sessions are in one, \
                     {:.0} of {usual:.0} statements a second completed",
                    each * 1000.0,
                    usual_each * 1000.0,
                    work.completions
                ),
            };
        }
        let half =
            |in_flight: f64, completions: f64| in_flight / completions.max(0.1) < limit / 2.0;
        if in_flight < usual_in_flight * CROWD_TIMES || half(in_flight, work.completions) {
            Sign::Good {
                since: since.midpoint(at),
            }
        } else {
            Sign::Unclear
        }
    }
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
                "{stuck:.0} sessions are in their statements for 2 s or longer, {usual:.0} usually; {effect}"
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
    if let Some(felt) = now.slow_answer() {
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
    (busy >= USED_UP_SHARE).then(|| "no processor is left".to_owned())
}
