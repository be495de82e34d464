//! Slow burn: nothing ever jumps, and after an hour everything is slow.

use super::{Now, Sign};

pub(super) fn check(now: &Now<'_>) -> Sign {
    let at = now.sample.at;
    if now.sample.source != "processlist" {
        return Sign::Unclear;
    }
    let Some((each, before)) = now.usual.burn.now_and_before() else {
        return Sign::Unclear;
    };
    let config = now.config;
    let limit = (before * config.burn_times_hour_ago).max(config.burn_limit_ms as f64 / 1000.0);
    if each >= limit {
        Sign::Bad {
            since: at.saturating_sub(120_000),
            says: format!(
                "a statement takes {:.0} ms, {:.1} ms an hour ago (limit {:.0} ms)",
                each * 1000.0,
                before * 1000.0,
                limit * 1000.0
            ),
        }
    } else if each < limit * 0.6 {
        Sign::Good { since: at }
    } else {
        Sign::Unclear
    }
}
