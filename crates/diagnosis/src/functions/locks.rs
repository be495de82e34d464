//! The tables of locks: what threads waited for, and who held it.

use std::sync::Arc;

use model::{Holder, LockCaller, LockRow, LockTable, WaitCounting, Window};

use super::{Arguments, Read};
use crate::evidence::Evidence;
use crate::human::Show;
use crate::measure::{Function, Kind, Measured, Seen, Sign, Taken, absent, known};
use crate::named;
use crate::names::NamePattern;
use crate::provenance::STACKS;

pub(crate) static KIND: Kind = Kind {
    name: "lock",
    documentation: r"
**Locks** in the [tables](../stacks.md#locks) of the stall, the largest number; `{each}` is the lock. The time before is hardly ever known: `baseline_optional = true`.

| | |
|---|---|
| `lock_waiting(…)`, `lock_waiters(…)` | threads on average; most at once |
| `lock_share(…)`, `lock_rate(…)` | of the time of threads that do not idle; waits a second |
| `lock` (needed), `caller` | the name in the table; only waits through such a function |
| `holder` | list: each matches a function of the holder's stack, its name, or what it does in words; of the lock's holder or one further down a chain |

Tables of the server in captures (row locks, metadata locks) are of source `innodb` or `performance_schema`, with waiters and holders; plockstat's share is of the time in waits.
",
    taken: Taken::Stretches,
    each: Some("a lock"),
    names: Some(named::Seen::Threads),
    functions: &[
        known("lock_waiting", Show::Count, |from| {
            Lock::read(from, Counting::Waiting)
        }),
        known("lock_waiters", Show::Count, |from| {
            Lock::read(from, Counting::Waiters)
        }),
        known("lock_share", Show::Percent, |from| {
            Lock::read(from, Counting::Share)
        }),
        known("lock_rate", Show::PerSecond, |from| {
            Lock::read(from, Counting::PerSecond)
        }),
    ],
};

#[derive(Debug)]
struct Lock {
    lock: NamePattern,
    /// A function on the path of those that wait.
    caller: Option<NamePattern>,
    /// Each must be a function of the holder, its name, or a word of what it does. The holder is
    /// the lock's own or one further down the chain.
    holder: Vec<NamePattern>,
    counting: Counting,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counting {
    /// Threads that waited, on average.
    Waiting,
    /// Most threads that waited at once.
    Waiters,
    /// Of the time of all threads that do not idle.
    Share,
    /// Waits a second.
    PerSecond,
}

impl Lock {
    fn read(from: &mut Arguments, counting: Counting) -> Read<Arc<dyn Function>> {
        Ok(Arc::new(Self {
            lock: from.needed("lock")?,
            caller: from.pattern("caller")?,
            holder: from.patterns("holder")?,
            counting,
        }))
    }
}

impl Function for Lock {
    /// Lock tables are made from snapshots of threads.
    fn source(&self) -> &'static str {
        STACKS
    }

    fn words(&self, in_full: bool) -> String {
        let what = match self.counting {
            Counting::Waiting => "the number of threads that waited",
            Counting::Waiters => "the most threads that waited at once",
            Counting::Share => "the share of time in waits",
            Counting::PerSecond => "waits",
        };
        let mut what = format!("{what} for /{}/", self.lock.shown(in_full));
        if let Some(caller) = self.caller.as_ref().filter(|_| in_full) {
            what += &format!(" asked for by /{}/", caller.text());
        }
        if in_full && !self.holder.is_empty() {
            let holder: Vec<&str> = self.holder.iter().map(NamePattern::text).collect();
            what += &format!(", held by a thread in /{}/,", holder.join("/ and /"));
        }
        what
    }

    fn measure(&self, sign: &Sign, evidence: &Evidence) -> Measured {
        // A table of one moment knows who waits and no times.
        let has_times =
            |table: &&LockTable| table.to > table.from || self.counting != Counting::PerSecond;
        let tables = || evidence.incident.stacks.locks.iter().filter(has_times);
        let worst = tables()
            .filter(|table| evidence.tells_of_stall(table.from, table.to))
            .map(|table| (counted(self, evidence, table), source(table)))
            .reduce(|best, one| if one.0.0 > best.0.0 { one } else { best });
        // Tables are made of bursts; before the onset there rarely is one.
        let before = tables()
            .filter(|table| evidence.tells_of_before(table.from, table.to))
            .map(|table| counted(self, evidence, table).0)
            .reduce(f64::max);
        let (seen, each, source) = match worst {
            Some(((value, name), source)) => (Seen::Number(value), name, source),
            None => (absent(STACKS), None, STACKS),
        };
        let mut measured = Measured::over_stall(sign, evidence, seen, before);
        measured.source = Some(source.to_owned());
        measured.each = Some(each.unwrap_or_else(|| "none".to_owned()));
        let are_threads = matches!(self.counting, Counting::Waiters | Counting::Waiting);
        match (are_threads, evidence.is_part("stacks")) {
            (false, _) => measured,
            (true, true) => measured.of_part(sign),
            (true, false) => measured.of_crowd(evidence),
        }
    }

    fn readings(&self, evidence: &Evidence) -> Vec<(Window, f64)> {
        let tables = evidence.incident.stacks.locks.iter();
        tables
            .map(|table| {
                let window = Window::new(table.from, table.to);
                (window, counted(self, evidence, table).0)
            })
            .collect()
    }

    fn asks_for(&self, kind: lexicon::Kind, name: &str) -> bool {
        kind == lexicon::Kind::Latch && self.lock.is_match(name)
    }

    fn is_of_lock(&self, lock: &str) -> bool {
        self.holder.is_empty() && self.lock.is_match(lock)
    }

    fn is_of_holder(&self, holder: &Holder, evidence: &Evidence) -> bool {
        !self.holder.is_empty() && is_it(&self.holder, evidence, holder)
    }
}

/// Where a table is from: what the server tells of its locks is the same source as the rest of what
/// it tells of them.
fn source(table: &LockTable) -> &'static str {
    match &table.depth {
        WaitCounting::Told { by } if by.starts_with("performance_schema") => "performance_schema",
        WaitCounting::Told { by } if by.starts_with("InnoDB") => "innodb",
        _ => STACKS,
    }
}

/// The number in one table, and the lock with most of it.
fn counted(test: &Lock, evidence: &Evidence, table: &LockTable) -> (f64, Option<String>) {
    let micros = table.to.saturating_sub(table.from).max(1) as f64 * 1000.0;
    let rows = table.locks.iter().chain(&table.conditions);
    let mut sum = 0.0;
    let mut largest = 0.0;
    let mut name = None;
    let rows = rows.filter(|row| test.lock.is_match(&row.name));
    for row in rows.filter(|row| is_held(&test.holder, evidence, table, row)) {
        let part = part(test, row);
        let value = part
            * match test.counting {
                Counting::Share => row.share,
                Counting::Waiters => f64::from(row.waiters_max),
                Counting::Waiting if table.to <= table.from => f64::from(row.waiters_max),
                Counting::Waiting => row.total_us / micros,
                Counting::PerSecond => row.waits as f64 * 1e6 / micros,
            };
        if value > largest {
            largest = value;
            name = Some(row.name.clone());
        }
        sum += value;
    }
    // Crowds at different locks were largest at different moments: they do not add up.
    match test.counting {
        Counting::Waiters => (largest, name),
        _ => (sum, name),
    }
}

/// The part of a row's time that came from the caller that is asked for.
fn part(test: &Lock, row: &LockRow) -> f64 {
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

/// Whether a holder of the lock, or one further down a chain from it, is the one that is asked for, if one is.
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
    let mut holders = row.holders.iter().chain(chained);
    patterns.is_empty() || holders.any(|holder| is_it(patterns, evidence, holder))
}

/// Whether a holder is the one that is asked for.
fn is_it(patterns: &[NamePattern], evidence: &Evidence, holder: &Holder) -> bool {
    patterns.iter().all(|pattern| {
        pattern.is_match(&holder.doing)
            || pattern.is_match(&holder.name)
            || evidence
                .frames
                .path(std::slice::from_ref(pattern), false)
                .is_of(holder.stack)
    })
}
