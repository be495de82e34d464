//! `information_schema.INNODB_TRX` as the numbers that an InnoDB status has of transactions, and
//! `SHOW ENGINE INNODB MUTEX`, `INNODB_METRICS`.

use std::collections::{BTreeMap, BTreeSet};

use model::{Reading, Unit};

use super::waits::Wait;
use super::{parse_seconds, whole};
use crate::read::rows::{Rows, Table};

/// Mutexes that are kept.
const MUTEXES_MAX: usize = 200;

/// Where no clock stands beside the rows, an age is from the youngest moment in them: it is at least that. A shorter one
/// says nothing, in seconds.
const AT_LEAST_MIN: f64 = 60.0;

/// The readings of a moment, `now` by the server's clock; `waits` tell of those that wait where no
/// transactions are listed.
pub(super) fn readings(
    tables: &[&Rows],
    waits: &[Wait],
    now: Option<f64>,
    has_clock: bool,
) -> Vec<Reading> {
    let mut out = Vec::new();
    let mut count = |name: &'static str, value: f64| {
        out.push(Reading::gauge(name, Unit::Count, value));
    };
    let longest_wait = waits.iter().map(|wait| wait.seconds).fold(0.0, f64::max);
    let waiters: BTreeSet<u64> = waits.iter().map(|wait| wait.waiter).collect();
    if tables.is_empty() {
        if waiters.is_empty() {
            return out;
        }
        count("innodb.lock_wait_transactions", waiters.len() as f64);
        out.push(Reading::gauge(
            "innodb.lock_wait_seconds_max",
            Unit::Seconds,
            longest_wait,
        ));
        return out;
    }
    let since = |text: &str| now.zip(parse_seconds(text)).map(|(now, then)| now - then);
    let columns = [
        "trx_state",
        "trx_started",
        "trx_wait_started",
        "trx_lock_structs",
    ];
    let (mut active, mut waiting, mut structs) = (0_u64, 0_u64, 0_u64);
    let (mut oldest, mut longest) = (0.0_f64, longest_wait);
    for rows in tables
        .iter()
        .filter(|rows| rows.table == Table::Transactions)
    {
        for [state, started, wait_started, lock_structs] in rows.each(columns) {
            active += 1;
            structs = structs.saturating_add(whole(lock_structs));
            oldest = oldest.max(since(started).unwrap_or(0.0));
            if state == "LOCK WAIT" {
                waiting += 1;
                longest = longest.max(since(wait_started).unwrap_or(0.0));
            }
        }
    }
    count("innodb.active_transactions", active as f64);
    count(
        "innodb.lock_wait_transactions",
        waiting.max(waiters.len() as u64) as f64,
    );
    count("innodb.lock_structs", structs as f64);
    for (name, seconds, is_told) in [
        ("innodb.active_seconds_max", oldest, active == 0),
        // Waits may tell their length themselves.
        (
            "innodb.lock_wait_seconds_max",
            longest,
            waiting == 0 || longest_wait > 0.0,
        ),
    ] {
        if has_clock || is_told || seconds >= AT_LEAST_MIN {
            out.push(Reading::gauge(name, Unit::Seconds, seconds));
        }
    }
    out
}

/// How often threads had to sleep for each mutex since the server's start; of several of one name
/// the sum. `None` where there are no such tables.
pub(super) fn mutexes(tables: &[&Rows]) -> Option<Vec<Reading>> {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for rows in tables {
        for [name, status] in rows.each(["name", "status"]) {
            let waits = ["os_waits=", "waits="].into_iter().find_map(|key| {
                let rest = status.split(key).nth(1)?;
                let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
                digits.parse::<f64>().ok()
            });
            let plain: String = name
                .chars()
                .take(80)
                .map(|c| {
                    if c.is_ascii_alphanumeric() || "_-.".contains(c) {
                        c
                    } else {
                        '_'
                    }
                })
                .collect();
            if let Some(waits) = waits
                && (sums.len() < MUTEXES_MAX || sums.contains_key(&plain))
            {
                *sums.entry(plain).or_default() += waits;
            }
        }
    }
    let readings: Vec<Reading> = sums
        .into_iter()
        .map(|(name, waits)| {
            Reading::counter(format!("innodb_mutex.{name}.os_waits"), Unit::Count, waits)
        })
        .collect();
    (!readings.is_empty()).then_some(readings)
}

/// The length of the history list, as InnoDB's counters tell it where no monitor was printed. A
/// counter that is switched off stands at 0.
pub(super) fn history(tables: &[&Rows]) -> Option<Reading> {
    let columns = ["name", "count", "status", "enabled"];
    tables
        .iter()
        .flat_map(|rows| rows.each(columns))
        .filter(|[name, _, status, enabled]| {
            *name == "trx_rseg_history_len" && *status != "disabled" && *enabled != "0"
        })
        .find_map(|[_, count, ..]| count.parse().ok())
        .map(|length| Reading::gauge("innodb.history_list_length", Unit::Count, length))
}
