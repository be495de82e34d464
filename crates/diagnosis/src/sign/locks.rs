//! Signs that look at the tables of locks: what threads waited for, and who held it.

use model::{Depth, Holder, LockCaller, LockRow, LockTable, Window};

use super::{Number, Outcome, Seen, absent, over_stall};
use crate::catalogue::{STACKS, Sign};
use crate::deep::{LockCounting, LockTest};
use crate::evidence::{Capture, Evidence};
use crate::human::Show;
use crate::names::NamePattern;

pub(super) fn test(sign: &Sign, test: &LockTest, evidence: &Evidence) -> Outcome {
    // A table of one moment knows who waits and no times.
    let has_times =
        |table: &&LockTable| table.to > table.from || test.counting != LockCounting::PerSecond;
    let tables = || evidence.incident.stacks.locks.iter().filter(has_times);
    let worst = tables()
        .filter(|table| evidence.tells_of_stall(table.from, table.to))
        .map(|table| (counted(test, evidence, table), source(table)))
        .reduce(|best, one| if one.0.0 > best.0.0 { one } else { best });
    // Tables are made of bursts; before the onset there rarely is one.
    let before = tables()
        .filter(|table| evidence.tells_of_before(table.from, table.to))
        .map(|table| counted(test, evidence, table).0)
        .reduce(f64::max);
    let (what, show) = what(test);
    let (seen, each, source) = match worst {
        Some(((value, name), source)) => (Seen::Number(value), name, source),
        None => (absent(STACKS), None, STACKS),
    };
    let number = Number {
        seen,
        baseline: before,
        what,
        show,
        each: Some(each.unwrap_or_else(|| "none".to_owned())),
        source,
    };
    let is_part = matches!(test.counting, LockCounting::Waiters | LockCounting::Waiting)
        && evidence.is_part(Capture::Stacks);
    if !is_part {
        return over_stall(sign, &test.limits, &test.only_if, evidence, number);
    }
    let limits = evidence.limits(&test.limits, Capture::Stacks);
    match over_stall(sign, &limits, &test.only_if, evidence, number) {
        Outcome::Holds(mut witness) => {
            witness.conclusive = false;
            Outcome::Holds(witness)
        }
        other => other,
    }
}

/// Where a table is from: what the server tells of its locks is the same source as the rest of what
/// it tells of them.
fn source(table: &LockTable) -> &'static str {
    match &table.depth {
        Depth::Told { by } if by.starts_with("performance_schema") => "performance_schema",
        Depth::Told { by } if by.starts_with("InnoDB") => "innodb",
        _ => STACKS,
    }
}

/// The number in each lock table of the record.
pub(crate) fn numbers(test: &LockTest, evidence: &Evidence) -> Vec<(Window, f64)> {
    let tables = evidence.incident.stacks.locks.iter();
    tables
        .map(|table| {
            let window = Window {
                from: table.from,
                to: table.to,
            };
            (window, counted(test, evidence, table).0)
        })
        .collect()
}

/// What is counted, in words.
pub(crate) fn what(test: &LockTest) -> (String, Show) {
    let (what, show) = match test.counting {
        LockCounting::Share => ("the share of time in waits", Show::Percent),
        LockCounting::Waiters => ("the most threads that waited at once", Show::Count),
        LockCounting::Waiting => ("the number of threads that waited", Show::Count),
        LockCounting::PerSecond => ("waits", Show::PerSecond),
    };
    (format!("{what} for /{}/", test.lock.short()), show)
}

/// The number in one table, and the lock with most of it.
fn counted(test: &LockTest, evidence: &Evidence, table: &LockTable) -> (f64, Option<String>) {
    let micros = table.to.saturating_sub(table.from).max(1) as f64 * 1000.0;
    let rows = table.locks.iter().chain(&table.conditions);
    let mut sum = 0.0;
    let mut largest = 0.0;
    let mut name = None;
    for row in rows.filter(|row| test.lock.is_match(&row.name)) {
        if !test.holder.is_empty() && !is_held(&test.holder, evidence, table, row) {
            continue;
        }
        let part = part(test, row);
        let value = part
            * match test.counting {
                LockCounting::Share => row.share,
                LockCounting::Waiters => f64::from(row.waiters_max),
                LockCounting::Waiting if table.to <= table.from => f64::from(row.waiters_max),
                LockCounting::Waiting => row.total_us / micros,
                LockCounting::PerSecond => row.waits as f64 * 1e6 / micros,
            };
        if value > largest {
            largest = value;
            name = Some(row.name.clone());
        }
        sum += value;
    }
    // Crowds at different locks were largest at different moments: they do not add up.
    match test.counting {
        LockCounting::Waiters => (largest, name),
        _ => (sum, name),
    }
}

/// The part of a row's time that came from the caller that is asked for.
fn part(test: &LockTest, row: &LockRow) -> f64 {
    let Some(caller) = &test.caller else {
        return 1.0;
    };
    let sum = |matching: bool, of: fn(&LockCaller) -> f64| -> f64 {
        row.callers
            .iter()
            .filter(|one| !matching || one.path.iter().any(|name| caller.is_match(name)))
            .map(of)
            .sum()
    };
    // Without times the number of waits says as much.
    let measures: [fn(&LockCaller) -> f64; 2] = [|one| one.total_us, |one| one.waits as f64];
    measures
        .into_iter()
        .find(|of| sum(false, *of) > 0.0)
        .map_or(0.0, |of| sum(true, of) / sum(false, of))
}

/// Whether a holder of the lock, or one further down a chain from it, is the one that is asked for.
fn is_held(
    patterns: &[NamePattern],
    evidence: &Evidence,
    table: &LockTable,
    row: &LockRow,
) -> bool {
    let further = table.chains.iter().flat_map(|chain| {
        let from = chain.links.iter().position(|link| link.lock == row.name);
        let links = from.and_then(|from| chain.links.get(from..));
        links.unwrap_or_default().iter()
    });
    let chained = further.filter_map(|link| link.holder.as_ref());
    row.holders
        .iter()
        .chain(chained)
        .any(|holder| is_it(patterns, evidence, holder))
}

/// Whether a holder is the one that is asked for.
pub(crate) fn is_it(patterns: &[NamePattern], evidence: &Evidence, holder: &Holder) -> bool {
    patterns.iter().all(|pattern| {
        pattern.is_match(&holder.doing)
            || pattern.is_match(&holder.name)
            || evidence
                .frames
                .path(std::slice::from_ref(pattern))
                .is_of(holder.stack)
    })
}
