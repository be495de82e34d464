//! Statements wait for others, whatever the rest gets done.

use model::Millis;

use super::{Now, Sign, seconds, several};
use crate::view::Crowd;

/// A transaction that waits for a row is known to have waited between two and three seconds when it
/// is first told, milliseconds.
const ROW_WAIT_MS: Millis = 2400;

/// What hangs for longer has hung before it was seen, whatever it is, milliseconds.
const AGE_MAX_MS: f64 = 60_000.0;

/// Ages that fit a wait of that length, milliseconds.
const ROW_WAIT_AGES_MS: std::ops::RangeInclusive<f64> = 1500.0..=4500.0;

/// What hangs now is not what such statements usually take: only what was seen so long ago, milliseconds.
const LEARNT_LATE_MS: Millis = 15_000;

/// Rows a second from which statements that run long are at work.
const ROWS_MIN: f64 = 1000.0;

/// And how many times the usual rows that must be.
const ROWS_TIMES: f64 = 2.0;

/// A server that uses so much of a processor runs what was asked of it.
const AT_WORK_CPUS: f64 = 0.5;

/// Statements a second below which one that hangs for a second is all that can be seen of a stall
/// for a while: the others have not come yet.
const QUIET_MAX: f64 = 30.0;

/// So many at once that wait for a second are no chance.
const SEVERAL: f64 = 3.0;

/// Statements that changed data in the last minutes, from which their time is known where one hangs. The more
/// hang at once, the fewer must have been seen to be short: on a server with a statement a second twenty take
/// most of a minute.
const WRITES_MIN: f64 = 20.0;

/// So many that hang are enough for the least number of those.
const WRITES_HUNG_MAX: f64 = 4.0;

pub(super) fn check(now: &Now<'_>) -> Sign {
    let at = now.sample.at;
    let crowd = now.view.crowd_at(at);
    match now.sample.source {
        "processlist" => {}
        // Without the sessions the status must do.
        "status" if crowd.is_none() => {}
        _ => return Sign::Unclear,
    }
    let rows = now.view.rows_waiting.unwrap_or(0.0);
    let Some(crowd) = crowd else {
        return match now.view.rows_waiting {
            Some(rows) if rows > 0.0 => Sign::Bad {
                since: at.saturating_sub(ROW_WAIT_MS),
                says: waits_for_rows(rows),
            },
            Some(_) => Sign::Good {
                since: at.saturating_sub(500),
            },
            None => Sign::Unclear,
        };
    };
    let is_quiet = now
        .usual
        .completions
        .median()
        .is_none_or(|usual| usual < QUIET_MAX);
    let waiting = if is_quiet || crowd.waiting >= SEVERAL {
        crowd.waiting
    } else {
        crowd.waiting_long
    };
    if waiting > 0.0 {
        return Sign::Bad {
            since: at.saturating_sub(crowd.waiting_oldest_ms as Millis),
            says: format!(
                "{} for others, the oldest for {}",
                several(waiting, "statement waits", "statements wait"),
                seconds(crowd.waiting_oldest_ms)
            ),
        };
    }
    if rows > 0.0 {
        let age = match ROW_WAIT_AGES_MS.contains(&crowd.oldest_ms) {
            true => crowd.oldest_ms as Millis,
            false => ROW_WAIT_MS,
        };
        return Sign::Bad {
            since: at.saturating_sub(age),
            says: waits_for_rows(rows),
        };
    }
    if crowd.short_hung > 0.0 {
        return Sign::Bad {
            since: at.saturating_sub(crowd.oldest_ms as Millis),
            says: format!(
                "{} of a kind that takes milliseconds, the oldest for {}",
                several(crowd.short_hung, "statement hangs", "statements hang"),
                seconds(crowd.oldest_ms)
            ),
        };
    }
    let hung_writes = is_quiet || crowd.hung_writes >= SEVERAL;
    if hung_writes
        && crowd.hung_writes > 0.0
        && writes_are_short(now, &crowd)
        && !is_working(now, &crowd)
    {
        return Sign::Bad {
            since: at.saturating_sub(crowd.oldest_ms.min(AGE_MAX_MS) as Millis),
            says: format!(
                "{} data, which takes milliseconds, for {}",
                several(crowd.hung_writes, "statement changes", "statements change"),
                seconds(crowd.oldest_ms)
            ),
        };
    }
    if now.view.waits(at) {
        return Sign::Unclear;
    }
    Sign::Good {
        since: at.saturating_sub(500),
    }
}

/// Before the oldest one hung, data was changed often enough, and it never took a second.
fn writes_are_short(now: &Now<'_>, crowd: &Crowd) -> bool {
    let enough = WRITES_MIN / crowd.hung_writes.clamp(1.0, WRITES_HUNG_MAX);
    let ago = |ms: Millis| now.sample.at.saturating_sub(ms);
    let known = now.usual.writes.sum_until(ago(crowd.oldest_ms as Millis));
    known >= enough && now.usual.hung_writes.sum_until(ago(LEARNT_LATE_MS)) == 0.0
}

/// One or two statements that read or write rows as fast as they can, and wait for nobody, are at
/// work.
pub(super) fn is_working(now: &Now<'_>, crowd: &Crowd) -> bool {
    let at = now.sample.at;
    let Some(rows) = now.view.work_at(at).and_then(|work| work.rows) else {
        // Without a login what the server uses of the processors must tell.
        let own_cpus = now.view.own_cpus.filter(|_| now.view.work.is_none());
        return crowd.hung <= 2.0 && own_cpus.is_some_and(|cpus| cpus >= AT_WORK_CPUS);
    };
    let usual = now.usual.rows.median().unwrap_or(0.0);
    crowd.hung <= 2.0 && !now.view.waits(at) && rows >= ROWS_MIN.max(usual * ROWS_TIMES)
}

fn waits_for_rows(rows: f64) -> String {
    format!(
        "{} for a row that another one holds, for 2 s or longer",
        several(rows, "transaction waits", "transactions wait")
    )
}
