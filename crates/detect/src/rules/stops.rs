//! The work stops: far fewer statements complete than usual, while sessions are inside theirs.

use model::Millis;

use super::waits::is_working;
use super::{Now, Sign, seconds, several};
use crate::view::{Crowd, Work};

/// Statements a second below which "completions fell" says nothing: our own are never counted
/// exactly.
pub(super) const COMPLETIONS_MIN: f64 = 5.0;

/// Sessions that finish something in a second, below which "nobody finishes" says nothing.
const FINISHED_MIN: f64 = 0.3;

/// So many should have finished something meanwhile.
const FINISHED_MISSED_MIN: f64 = 1.0;

/// So many of them where no chance may look like it: who hangs is not known to work, or others had
/// been answered after the oldest began.
const MISSED_MIN: f64 = 3.0;

/// The work flows again from this share of the usual.
const FLOWS_SHARE: f64 = 0.5;

/// The oldest statement of a stall that stops the work began this long before it is seen, at the
/// most, milliseconds: what is older ran before, whatever it waited for.
const OLDEST_MAX_MS: f64 = 60_000.0;

pub(super) fn check(now: &Now<'_>) -> Sign {
    let at = now.sample.at;
    if !now.view.is_of_crowd(now.sample) {
        return Sign::Unclear;
    }
    let Some(crowd) = now.view.crowd_at(at) else {
        return Sign::Unclear;
    };
    let work = now.view.work_at(at);
    let usual = now.usual.completions.median();
    let stopped = match (work, usual) {
        (Some(work), Some(usual)) if usual >= COMPLETIONS_MIN => {
            work.completions <= usual * now.config.completions_share
        }
        _ => is_dry(now, &crowd) || is_drying(now, &crowd) || is_exhausted(&crowd),
    };
    if stopped && somebody_hangs(now, &crowd, usual) && !is_working(now, &crowd) {
        let oldest = crowd.oldest_ms.min(OLDEST_MAX_MS);
        return Sign::Bad {
            since: at.saturating_sub(oldest as Millis),
            says: says(&crowd, work, usual),
        };
    }
    flows(now, &crowd, work, usual)
}

/// What users feel, in a sentence.
fn says(crowd: &Crowd, work: Option<Work>, usual: Option<f64>) -> String {
    let hang = match crowd.hung {
        1.0 => format!(
            "1 of {} hangs",
            several(crowd.clients, "session", "sessions")
        ),
        hung => format!(
            "{hung:.0} of {} hang",
            several(crowd.clients, "session", "sessions")
        ),
    };
    let oldest = seconds(crowd.oldest_ms);
    match (work, usual) {
        (Some(work), Some(usual)) if usual >= COMPLETIONS_MIN => format!(
            "{:.0} of {usual:.0} statements a second completed, {hang}, the oldest for {oldest}",
            work.completions
        ),
        _ => format!("no statement completed, {hang}, the oldest for {oldest}"),
    }
}

/// No client got anything done since the oldest statement began, and some should have.
fn is_dry(now: &Now<'_>, crowd: &Crowd) -> bool {
    let Some(usual) = now.usual.finished.mean() else {
        return false;
    };
    // Who finished was seen up to a second later.
    let since_finish = crowd.since_finish_ms.unwrap_or(f64::INFINITY);
    usual >= FINISHED_MIN
        && since_finish + 1000.0 >= crowd.oldest_ms
        && crowd.finished == 0.0
        && usual * crowd.oldest_ms / 1000.0
            >= match crowd.hung_workers >= 1.0 {
                true => FINISHED_MISSED_MIN,
                // A job that begins with many sessions, and a moment in which nobody else asks.
                false => MISSED_MIN,
            }
}

/// Every session that there is hangs, and each of them usually works: nobody can be served.
fn is_exhausted(crowd: &Crowd) -> bool {
    crowd.finished == 0.0 && crowd.hung_workers >= 2.0 && crowd.hung_workers >= crowd.clients
}

/// Nobody is answered any more, after one client after another began to hang. A quiet time beside one
/// long statement is none.
fn is_drying(now: &Now<'_>, crowd: &Crowd) -> bool {
    let (Some(usual), Some(since_finish_ms)) = (now.usual.finished.mean(), crowd.since_finish_ms)
    else {
        return false;
    };
    let missed = usual * since_finish_ms / 1000.0;
    let asked = (usual * crowd.oldest_ms / 1000.0).min(crowd.clients);
    usual >= FINISHED_MIN
        && crowd.finished == 0.0
        && missed >= MISSED_MIN
        && crowd.hung_workers >= 2.0
        && crowd.hung_workers >= asked * now.config.hung_share
}

/// The sessions that usually do the work hang, or as many of any as there should have been
/// statements meanwhile.
fn somebody_hangs(now: &Now<'_>, crowd: &Crowd, usual: Option<f64>) -> bool {
    let share = now.config.hung_share;
    let workers = crowd.hung_workers + crowd.going;
    if crowd.hung_workers >= 1.0 && crowd.hung_workers >= workers * share {
        return true;
    }
    let usual = usual.or(now.usual.finished.mean()).unwrap_or(0.0);
    let missed = (usual * crowd.oldest_ms / 1000.0).min(crowd.clients);
    crowd.hung >= 2.0 && crowd.hung.max(crowd.in_flight) >= missed * share
}

fn flows(now: &Now<'_>, crowd: &Crowd, work: Option<Work>, usual: Option<f64>) -> Sign {
    let at = now.sample.at;
    if now.view.waits(at) {
        return Sign::Unclear;
    }
    let from = work.map_or(at.saturating_sub(1000), |work| work.since);
    let (completes, since) = match (work, usual) {
        (Some(work), Some(usual)) if usual >= COMPLETIONS_MIN => {
            // So long it takes to complete that many.
            let ms = work.completions / usual * 1000.0;
            let since = work.at.saturating_sub(ms as Millis).max(work.since);
            (work.completions >= usual * FLOWS_SHARE, since)
        }
        _ => (crowd.finished >= 1.0, from.midpoint(at)),
    };
    let nobody_old = crowd.hung == 0.0;
    let most_go_on = crowd.going > 0.0 && crowd.hung_workers < crowd.going;
    if (nobody_old && (completes || crowd.in_flight == 0.0 || crowd.finished >= 1.0))
        || (completes && most_go_on)
    {
        Sign::Good { since }
    } else {
        Sign::Unclear
    }
}
