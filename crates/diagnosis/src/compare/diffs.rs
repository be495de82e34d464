//! What else differs: settings, statements, functions, locks.

use std::collections::{BTreeMap, BTreeSet};

use model::{Incident, LockTable, Measure, Millis, OrderBy, Profile};

use super::{Change, SettingChange, Subject};
use crate::cause::Cause;
use crate::measure::Test;

/// Rows of each table.
const ROWS_MAX: usize = 12;

/// Differing settings that are told, at the most.
const SETTINGS_MAX: usize = 40;

/// Facts that are another one each time, or are told elsewhere.
const RESTLESS: [&str; 6] = [
    "pid",
    "pseudo_thread_id",
    "gtid",
    "timestamp",
    "last_insert_id",
    "rand_seed",
];

/// Kinds of statements below this many a second are noise.
const STATEMENTS_MIN: f64 = 0.05;

impl Subject<'_> {
    /// Whether what was taken over a stretch of time is of this side: its middle lies in it.
    fn holds(&self, from: Millis, to: Millis) -> bool {
        self.window.contains(from.midpoint(to))
    }
}

/// The facts that differ at the end of the sides, those that the cause names first.
pub(super) fn settings(
    sides: [(&Incident, Millis); 2],
    cause: Option<&Cause>,
) -> Vec<SettingChange> {
    let named: BTreeSet<&str> = cause
        .into_iter()
        .flat_map(|cause| cause.witnesses.iter().chain(&cause.against))
        .filter_map(|sign| match &sign.test {
            Test::Fact(test) => Some(test.name.as_str()),
            Test::Signals(test) => test.expression.first_fact(),
            _ => None,
        })
        .collect();
    let sides = sides.map(|(incident, end)| {
        let mut last: BTreeMap<&str, &str> = BTreeMap::new();
        for timed in &incident.facts {
            if timed.at <= end || !last.contains_key(timed.fact.name.as_str()) {
                last.insert(&timed.fact.name, &timed.fact.value);
            }
        }
        last
    });
    let [first, second] = &sides;
    let names: BTreeSet<&str> = first.keys().chain(second.keys()).copied().collect();
    let mut found: Vec<SettingChange> = names
        .into_iter()
        .filter(|name| first.get(name) != second.get(name))
        // Facts that one recorder reads and the other does not are no change.
        .filter(|name| {
            (first.contains_key(name) && second.contains_key(name)) || named.contains(name)
        })
        .filter(|name| named.contains(name) || !RESTLESS.iter().any(|part| name.contains(part)))
        .map(|name| SettingChange {
            name: name.to_owned(),
            before: first.get(name).map(|value| (*value).to_owned()),
            after: second.get(name).map(|value| (*value).to_owned()),
            of_cause: named.contains(name),
        })
        .collect();
    found.order_by_key(|one| !one.of_cause);
    found.truncate(SETTINGS_MAX);
    found
}

/// Kinds of statements by what the server counted (`Com_*`), a second.
pub(super) fn statements(before: &Subject, after: &Subject) -> Vec<Change> {
    let sides = [before, after].map(|subject| {
        let timeline = &subject.incident.timeline;
        let rates = timeline.matching("status.Com_*").filter_map(|series| {
            let name = series.name.strip_prefix("status.Com_")?;
            let rate = timeline.measure(series, Measure::Rate, subject.window)?;
            Some((name.replace('_', " "), rate))
        });
        rates.collect()
    });
    changes(sides, STATEMENTS_MIN)
}

/// Functions by their own share of the samples of the server.
pub(super) fn functions(before: &Subject, after: &Subject) -> Vec<Change> {
    let sides = [before, after].map(|subject| {
        let stacks = &subject.incident.stacks;
        let mut counts: BTreeMap<String, f64> = BTreeMap::new();
        let mut all = 0.0;
        let inside = |profile: &&Profile| subject.holds(profile.from, profile.to);
        let profiles = stacks.profiles.iter().filter(inside);
        let rows = profiles.flat_map(|profile| &profile.counts);
        for row in rows.filter(|row| row.server) {
            all += row.count as f64;
            let innermost = stacks.table.frames_of(row.stack).next();
            let name = innermost.map_or("(no frames)", |frame| frame.name.as_str());
            *counts.entry(name.to_owned()).or_default() += row.count as f64;
        }
        for share in counts.values_mut() {
            *share /= all;
        }
        counts
    });
    changes_of_both(sides, 0.002)
}

/// Locks by the number of threads that waited for them, on average.
pub(super) fn locks(before: &Subject, after: &Subject) -> Vec<Change> {
    let sides = [before, after].map(|subject| {
        let mut waited: BTreeMap<String, f64> = BTreeMap::new();
        let mut looked_us = 0.0;
        let inside = |table: &&LockTable| subject.holds(table.from, table.to);
        for table in subject.incident.stacks.locks.iter().filter(inside) {
            looked_us += table.to.saturating_sub(table.from) as f64 * 1000.0;
            for row in &table.locks {
                *waited.entry(row.name.clone()).or_default() += row.total_us;
            }
        }
        if looked_us > 0.0 {
            for waiting in waited.values_mut() {
                *waiting /= looked_us;
            }
        }
        waited
    });
    changes_of_both(sides, 0.005)
}

/// As [`changes`]; nothing when one side has nothing of the kind, which is no change.
fn changes_of_both(sides: [BTreeMap<String, f64>; 2], least: f64) -> Vec<Change> {
    match sides.iter().any(BTreeMap::is_empty) {
        true => Vec::new(),
        false => changes(sides, least),
    }
}

fn changes([before, after]: [BTreeMap<String, f64>; 2], least: f64) -> Vec<Change> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut found: Vec<Change> = names
        .into_iter()
        .map(|name| Change {
            name: name.clone(),
            before: before.get(name).copied().unwrap_or(0.0),
            after: after.get(name).copied().unwrap_or(0.0),
        })
        .filter(|one| one.before.max(one.after) >= least)
        .collect();
    let size = |one: &Change| (one.after - one.before).abs();
    // Of equal ones the first by name, as they stand.
    found.order_by(|one, other| size(other).total_cmp(&size(one)));
    found.truncate(ROWS_MAX);
    found
}
