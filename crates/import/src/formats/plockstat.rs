//! Solaris's plockstat: how often and how long threads waited for each lock, by caller.
//!
//! A row has a count and the mean of its times in nanoseconds (`plockstat.c`); with `-s` each row
//! has its own head, and the stack stands behind a histogram of the times.

use std::collections::BTreeMap;

use model::{
    LockCaller, LockRow, LockTable, NamedBy, OrderBy, Reading, StackEnd, StackId, StackTable, Unit,
    WaitCounting,
};

use crate::format::{Format, Gap, Group, Recogniser};
use crate::line::Line;
use crate::read::plockstat::{Counts, Row};
use crate::read::{Read, Tick, counted, frame};

pub(crate) static FORMAT: Format = Format {
    id: "plockstat",
    group: Group::Stacks,
    name: "plockstat table",
    printed_by: "Solaris's plockstat",
    content: "waits by lock and caller",
    recognisers: &[Recogniser::new(80, "MRC", 0, |at| {
        is_plockstat_header(at.text) || is_plockstat_columns(at.text)
    })],
    continues: |_, next| !next.text.is_empty() && next.own.is_none(),
    gap: Gap::Lines(4),
    read,
    ..Format::NONE
};

/// The head of one of plockstat's tables.
fn is_plockstat_header(text: &str) -> bool {
    [
        "Mutex block",
        "Mutex hold",
        "Mutex spin",
        "Mutex unsuccessful spin",
        "R/W reader block",
        "R/W reader hold",
        "R/W writer block",
        "R/W writer hold",
    ]
    .contains(&text)
}

/// The line above the rows of plockstat.
fn is_plockstat_columns(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    matches!(
        words.as_slice(),
        ["Count", "nsec", "Lock"] | ["Count", "nsec", "Lock", "Caller"]
    )
}

/// Rows that are read.
const ROWS_MAX: usize = 20_000;

/// Callers of one lock that are kept, most time first.
const CALLERS_MAX: usize = 20;

/// Functions of a caller that are kept.
const PATH_MAX: usize = 20;

fn read(lines: &[Line<'_>]) -> Read {
    let mut rows: Vec<Row> = Vec::new();
    let mut counts = None;
    let mut read = Read::default();
    let mut in_stack = false;
    for line in lines {
        let text = line.trimmed();
        if is_plockstat_header(text) {
            counts = Some(match text.ends_with("hold") {
                true => Counts::Holds,
                false => Counts::Waits,
            });
            in_stack = false;
        } else if is_plockstat_columns(text) {
            // Who pastes one lock often leaves out whether it was waited for or held.
            counts.get_or_insert(Counts::Waits);
            in_stack = false;
        } else if text.starts_with("Count") || text.starts_with("---") {
            in_stack = false;
        } else if text.contains("Distribution --- count") {
            in_stack = true;
        } else if in_stack {
            let name = text.rsplit(' ').next().unwrap_or_default();
            if let Some(row) = rows.last_mut()
                && is_function(name)
            {
                // The row names one of these functions; the stack has all.
                if row.path.len() == 1
                    && row
                        .path
                        .first()
                        .is_some_and(|first| *first != function(name))
                    && !name.starts_with("libc")
                {
                    row.path.clear();
                }
                if row.path.len() < PATH_MAX
                    && row.path.last().is_none_or(|last| *last != function(name))
                {
                    row.path.push(function(name));
                }
            }
        } else if let (Some(counts), Some(row)) = (counts, row(text)) {
            if rows.len() < ROWS_MAX {
                rows.push(Row { counts, ..row });
            }
        } else if !text.is_empty() && read.skipped.len() < 100 {
            read.skipped
                .push((line.number, "not a row of plockstat's table".into()));
        }
    }
    let waits: u64 = count(&rows, Counts::Waits);
    let holds: u64 = count(&rows, Counts::Holds);
    let mut brought = Vec::new();
    for (number, one, several) in [(waits, "wait", "waits"), (holds, "hold", "holds")] {
        if number > 0 {
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            brought.push(counted(number, one, several));
        }
    }
    read.brought = brought.join(", ");
    read.ticks.extend((holds > 0).then(|| taken(&rows, holds)));
    read.plockstat = rows;
    read
}

/// How often locks were taken, and of that the allocator's.
fn taken(rows: &[Row], holds: u64) -> Tick {
    let of_allocator: Vec<Row> = rows
        .iter()
        .filter(|row| is_allocator(&row.lock))
        .cloned()
        .collect();
    let readings = [
        ("plockstat.holds", holds),
        (
            "plockstat.allocator_holds",
            count(&of_allocator, Counts::Holds),
        ),
    ];
    let readings = readings.map(|(name, count)| Reading::gauge(name, Unit::Count, count as f64));
    Tick {
        source: "plockstat",
        at: None,
        after: 0,
        readings: readings.into(),
    }
}

fn count(rows: &[Row], counts: Counts) -> u64 {
    rows.iter()
        .filter(|row| row.counts == counts)
        .map(|row| row.count)
        .fold(0, u64::saturating_add)
}

/// ``  563 12345 libc.so.1`libc_malloc_lock   libc.so.1`malloc+0x38``. Pages that make links of what
/// looks like a host leave the libraries' names out: ``563 12345`libc_malloc_lock`malloc+0x38``.
fn row(text: &str) -> Option<Row> {
    if let Some((numbers, names)) = text.split_once('`')
        && numbers.split_whitespace().count() == 2
        && numbers.ends_with(|c: char| c.is_ascii_digit())
        && let Some((lock, caller)) = names.split_once('`')
        && !lock.contains(char::is_whitespace)
    {
        return row(&format!("{numbers} `{lock} `{caller}"));
    }
    let mut words = text.split_whitespace();
    let count: u64 = words.next()?.parse().ok()?;
    let mean_ns: f64 = words.next()?.parse().ok()?;
    let lock = words.next()?;
    // Names of C++ hold blanks.
    let caller = words.collect::<Vec<_>>().join(" ");
    let is_row =
        mean_ns.is_finite() && mean_ns >= 0.0 && (lock.contains('`') || lock.starts_with("0x"));
    is_row.then(|| Row {
        counts: Counts::Waits,
        lock: lock.to_owned(),
        count,
        mean_ns,
        path: if caller.is_empty() {
            Vec::new()
        } else {
            vec![function(&caller)]
        },
    })
}

/// A frame beside the histogram; older versions print the module with the first ones only.
fn is_function(name: &str) -> bool {
    name.contains('`')
        || name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// ``libc.so.1`malloc+0x38`` is `malloc`, and ``libstdc++.so.6`_Znwm+0x2b`` is `operator new`.
fn function(name: &str) -> String {
    let name = name.rsplit('`').next().unwrap_or(name);
    let bare = match name.rfind("+0x") {
        Some(at) => name.get(..at).unwrap_or(name),
        None => name,
    };
    match bare.starts_with("_Z") {
        true => stacks::shorten::shorten(bare),
        false => bare.chars().take(500).collect(),
    }
}

/// The lock is one of an allocator: that of libc, of libumem, of mtmalloc.
fn is_allocator(lock: &str) -> bool {
    let (library, name) = lock.rsplit_once('`').unwrap_or(("", lock));
    ["libc_malloc_lock", "__malloc_lock"].contains(&name)
        || library.contains("malloc")
        || library.contains("libumem")
}

/// The lock's name as it is called here.
fn lock_name(lock: &str) -> (String, NamedBy) {
    let name = lock.rsplit_once('`').map_or(lock, |(_, name)| name);
    if is_allocator(lock) {
        return (format!("malloc lock {name}"), NamedBy::Told);
    }
    match name.starts_with("0x") {
        true => (name.to_owned(), NamedBy::Address),
        false => (name.to_owned(), NamedBy::Told),
    }
}

/// The table of locks: `None` where nothing was waited for. What was held is told in words only: who
/// has a lock long, or often, holds up nobody as long as nobody waits.
pub(crate) fn table(rows: &[Row], book: &mut StackTable) -> Option<LockTable> {
    let mut locks: BTreeMap<String, LockRow> = BTreeMap::new();
    let mut events: u64 = 0;
    for row in rows.iter().filter(|row| row.counts == Counts::Waits) {
        let (name, named_by) = lock_name(&row.lock);
        let total_us = row.count as f64 * row.mean_ns / 1000.0;
        events = events.saturating_add(row.count);
        let lock = locks.entry(name.clone()).or_insert_with(|| LockRow {
            name,
            named_by,
            address: 0,
            waiters_max: 0,
            waits: 0,
            total_us: 0.0,
            max_us: 0.0,
            share: 0.0,
            callers: Vec::new(),
            holders: Vec::new(),
        });
        lock.waits = lock.waits.saturating_add(row.count);
        lock.total_us += total_us;
        lock.max_us = lock.max_us.max(row.mean_ns / 1000.0);
        caller(lock, row, total_us, book);
    }
    let all: f64 = locks.values().map(|lock| lock.total_us).sum();
    let mut locks: Vec<LockRow> = locks.into_values().collect();
    for lock in &mut locks {
        // Of the time in waits: how long the threads worked is not told.
        lock.share = if all > 0.0 { lock.total_us / all } else { 0.0 };
        lock.callers
            .order_by(|a, b| b.total_us.total_cmp(&a.total_us));
        lock.callers.truncate(CALLERS_MAX);
    }
    locks.order_by(|a, b| b.total_us.total_cmp(&a.total_us));
    (!locks.is_empty()).then(|| LockTable {
        from: 0,
        to: 0,
        depth: WaitCounting::Told {
            by: "plockstat".to_owned(),
        },
        locks,
        conditions: Vec::new(),
        idle_threads: 0,
        chains: Vec::new(),
        kernel_locks: Vec::new(),
        absent: Vec::new(),
    })
}

fn caller(lock: &mut LockRow, row: &Row, total_us: f64, book: &mut StackTable) {
    match lock.callers.iter_mut().find(|one| one.path == row.path) {
        Some(one) => {
            one.waits = one.waits.saturating_add(row.count);
            one.total_us += total_us;
            one.max_us = one.max_us.max(row.mean_ns / 1000.0);
        }
        None => lock.callers.push(LockCaller {
            path: row.path.clone(),
            stack: stack(&row.path, book),
            waits: row.count,
            total_us,
            max_us: row.mean_ns / 1000.0,
        }),
    }
}

fn stack(path: &[String], book: &mut StackTable) -> StackId {
    let frames: Vec<model::StackFrame> = path
        .iter()
        .map(|name| frame(name, "", model::FrameSide::User))
        .collect();
    book.intern(frames, StackEnd::FrameLimit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    const TABLES: &str = "Mutex block\n\nCount     nsec Lock                         Caller\n-------------------------------------------------------------------------------\n\
        563  1000000 libc.so.1`libc_malloc_lock   libc.so.1`malloc+0x38\n\
        437  2000000 libc.so.1`libc_malloc_lock   libstdc++.so.6`operator new(unsigned long)+0x1c\n\
        10   5000 mysqld`LOCK_open             mysqld`open_table+0x4\n\
        2     4000 0x8123450                    mysqld`f+0x1\n\n\
        Mutex hold\n\nCount     nsec Lock                         Caller\n-------------------------------------------------------------------------------\n\
        3600000     900 libc.so.1`libc_malloc_lock   libstdc++.so.6`operator new+0x1c\n";

    #[test]
    fn waits_are_summed_by_lock_and_caller() {
        let read = read(&clean::lines(TABLES));
        assert!(read.skipped.is_empty(), "{:?}", read.skipped);
        assert_eq!(read.brought, "1012 waits, 3600000 holds");
        let mut book = StackTable::default();
        let table = table(&read.plockstat, &mut book).unwrap();
        let lock = &table.locks[0];
        assert_eq!(lock.name, "malloc lock libc_malloc_lock");
        assert_eq!((lock.waits, lock.total_us), (1000, 1_437_000.0));
        assert_eq!(lock.callers[0].path, ["operator new(unsigned long)"]);
        assert!(lock.share > 0.99);
        assert_eq!(table.locks[2].named_by, NamedBy::Address);
    }

    #[test]
    fn holds_alone_are_no_waits() {
        let text = TABLES.split("Mutex hold").nth(1).unwrap();
        let read = read(&clean::lines(&format!("Mutex hold\n{text}")));
        assert_eq!(read.brought, "3600000 holds");
        assert_eq!(read.values("plockstat.allocator_holds"), [3_600_000.0]);
        assert!(table(&read.plockstat, &mut StackTable::default()).is_none());
    }

    /// As people paste it, and as a page shows it that made links of the libraries' names.
    #[test]
    fn names_are_read_mangled_and_without_their_libraries() {
        let text = "Mutex hold\nCount nsec Lock Caller\n---\n\
            2711902 1064 libc.so.1`libc_malloc_lock libstdc++.so.6.0.3`_Znwm+0x2b\n\
            2 402118093 0x1a40c60 mysqld`_ZN8Pack_map7releaseEv+0x1a\n";
        let linked = text
            .replace(" libc.so.1", "")
            .replace(" libstdc++.so.6.0.3", "");
        for text in [text, &linked] {
            let read = read(&clean::lines(text));
            assert!(read.skipped.is_empty(), "{:?}", read.skipped);
            assert_eq!(read.brought, "2711904 holds");
            assert_eq!(read.values("plockstat.allocator_holds"), [2_711_902.0]);
            let paths: Vec<_> = read.plockstat.iter().map(|row| &row.path[0]).collect();
            assert_eq!(paths, ["operator new", "Pack_map::release"]);
        }
    }

    /// One lock, pasted without its section.
    #[test]
    fn a_lock_alone_is_read_with_the_stack_beside_its_histogram() {
        let text = "Count     nsec Lock\n   40   500000 mysqld`some_mutex\n\n      nsec ---- Distribution --- count    Stack\n      2048 |@@@                |    10    libc.so.1`mutex_lock_impl\n      4096 |@@@@@              |    20    libc.so.1`mutex_lock\n     16384 |@@                 |     8    inner_function\n   1048576 |                   |     2    outer_function\n   2097152 |                   |     0\n----------------------------------------------------------------\n";
        let read = super::read(&crate::clean::lines(text));
        assert_eq!(read.brought, "40 waits");
        let mut book = StackTable::default();
        let table = table(&read.plockstat, &mut book).unwrap();
        assert_eq!(table.locks[0].name, "some_mutex");
        let path = &read.plockstat[0].path;
        assert_eq!(
            path,
            &[
                "mutex_lock_impl",
                "mutex_lock",
                "inner_function",
                "outer_function"
            ]
        );
    }

    #[test]
    fn stacks_of_s_are_paths() {
        let text = "Mutex block\n\n-------\nCount     nsec Lock                         Caller\n    5  100000 libc.so.1`libc_malloc_lock   mysqld`f+0x1\n\n      nsec ---- Time Distribution --- count Stack\n     65536 |@@@@@@@@@@@@@@@@@@@@@@@@|     5 libc.so.1`mutex_lock_impl+0x10\n                                            libc.so.1`malloc+0x3\n                                            mysqld`f+0x1\n";
        let read = read(&clean::lines(text));
        assert_eq!(read.plockstat.len(), 1);
        assert!(read.plockstat[0].path.contains(&"malloc".to_owned()));
    }
}
