//! Who waits for whom, from whatever table tells it.

use std::collections::{BTreeMap, HashMap};

use super::{Timestamp, parse_seconds, whole};
use crate::read::rows::{Rows, Table};
use crate::value_notes;

/// Pairs that are kept: a crowd at one row has as many as its square.
const PAIRS_MAX: usize = 200_000;

/// Stands for a blocker that is not told: no connection has this number.
pub(super) const UNKNOWN: u64 = 0;

/// One waits for what another has.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wait {
    pub(crate) lock: String,
    /// The connection, or the transaction where that is all that is told.
    pub(crate) waiter: u64,
    pub(crate) blocker: u64,
    pub(crate) seconds: f64,
}

/// What is known of connections.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// What it does, in a few words.
    pub(crate) doing: HashMap<u64, String>,
    /// What it is called, where its number is none of a connection.
    pub(crate) names: HashMap<u64, String>,
}

impl Known {
    /// The connection of a thread of performance_schema; its own number where none is told.
    pub(super) fn connection(&mut self, thread: u64, threads: &HashMap<u64, u64>) -> u64 {
        if let Some(connection) = threads.get(&thread) {
            return *connection;
        }
        self.names
            .entry(thread)
            .or_insert_with(|| format!("performance_schema's thread {thread}"));
        thread
    }
}

/// The waits of a moment, whose rows are given, and what is known of those that wait and of those that
/// are waited for. `now` is the moment by the server's clock, `threads` are connections by the numbers that
/// performance_schema gives their threads.
pub(super) fn from_rows(
    all: &[&Rows],
    now: Option<f64>,
    threads: &HashMap<u64, u64>,
) -> (Vec<Wait>, Known) {
    let here = |table: Table| all.iter().copied().filter(move |rows| rows.table == table);
    let mut known = Known::default();
    let mut waits = Vec::new();
    let mut connections: HashMap<&str, u64> = HashMap::new();
    let mut since: HashMap<&str, &str> = HashMap::new();
    let mut wants: HashMap<&str, &str> = HashMap::new();
    for rows in here(Table::Transactions) {
        let columns = [
            "trx_id",
            "trx_mysql_thread_id",
            "trx_started",
            "trx_wait_started",
            "trx_query",
            "trx_requested_lock_id",
        ];
        for [id, thread, started, waits_since, query, wanted] in rows.each(columns) {
            let connection = match whole(thread) {
                0 => whole(id),
                thread => thread,
            };
            connections.insert(id, connection);
            since.insert(id, waits_since);
            wants.insert(id, wanted);
            let open = now
                .zip(parse_seconds(started))
                .map(|(now, then)| now - then);
            known.doing.insert(connection, doing(query, open, None));
        }
    }
    let locks = lock_names(here(Table::InnodbLocks));
    let connection = |id: &str| {
        connections
            .get(id)
            .copied()
            .unwrap_or_else(|| whole(id.rsplit(':').next().unwrap_or(id)))
    };
    for rows in here(Table::LockWaitPairs) {
        let columns = ["requesting_trx_id", "requested_lock_id", "blocking_trx_id"];
        for [waiter, lock, blocker] in rows.each(columns) {
            let lock = if lock.is_empty() {
                wants.get(waiter).copied().unwrap_or_default()
            } else {
                lock
            };
            let waited = since
                .get(waiter)
                .and_then(|since| Some(now? - parse_seconds(since)?));
            push(
                &mut waits,
                Wait {
                    lock: locks
                        .get(lock)
                        .cloned()
                        .unwrap_or_else(|| "row lock".to_owned()),
                    waiter: connection(waiter),
                    blocker: connection(blocker),
                    seconds: waited.unwrap_or(0.0),
                },
            );
        }
    }
    for rows in here(Table::LockWaits) {
        joined(rows, &mut waits, &mut known);
    }
    if waits.is_empty() {
        for rows in here(Table::Blockers) {
            blocked(rows, &mut waits, &mut known);
        }
    }
    let data_locks = data_lock_names(here(Table::DataLocks));
    for rows in here(Table::DataLockWaits) {
        let columns = [
            "requesting_engine_lock_id",
            "requesting_thread_id",
            "blocking_thread_id",
        ];
        for [lock, waiter, blocker] in rows.each(columns) {
            let mut connection = |thread: &str| known.connection(whole(thread), threads);
            push(
                &mut waits,
                Wait {
                    lock: data_locks
                        .get(lock)
                        .cloned()
                        .unwrap_or_else(|| "row lock".to_owned()),
                    waiter: connection(waiter),
                    blocker: connection(blocker),
                    seconds: 0.0,
                },
            );
        }
    }
    for rows in here(Table::Threads) {
        let columns = [
            "processlist_id",
            "processlist_command",
            "processlist_time",
            "processlist_info",
        ];
        for [connection, command, time, query] in rows.each(columns) {
            let idle = (command == "Sleep").then(|| time.parse().ok()).flatten();
            if let connection @ 1.. = whole(connection) {
                let entry = known.doing.entry(connection);
                entry.or_insert_with(|| doing(query, None, idle));
            }
        }
    }
    // The joined table and the pairs tell the same waits: what has the better name is kept.
    (without_doubles(waits), known)
}

/// Waiters that one row of blockers stands for, at the most.
const BLOCKED_MAX: u64 = 10_000;

/// `who_blocks: thread 7 from web:4711`, `num_waiters: 5`: pt-stalk's first query, where the second
/// one, which tells the waiters and what they wait for, is missing.
fn blocked(rows: &Rows, waits: &mut Vec<Wait>, known: &mut Known) {
    let columns = ["who_blocks", "idle_in_trx", "max_wait_time", "num_waiters"];
    for [who, idle, longest, waiters] in rows.each(columns) {
        let mut words = who.split_whitespace().skip_while(|word| *word != "thread");
        let Some(blocker) = words.nth(1).map(whole).filter(|blocker| *blocker > 0) else {
            continue;
        };
        if let Some(idle) = idle.parse::<f64>().ok().filter(|idle| *idle > 0.0) {
            let entry = known.doing.entry(blocker);
            entry.or_insert_with(|| doing("", None, Some(idle)));
        }
        let lock = format!("row lock of connection {blocker}");
        for number in 0..whole(waiters).min(BLOCKED_MAX) {
            // Nothing is told of who waits; numbers from the end are no connection's.
            let wait = Wait {
                lock: lock.clone(),
                waiter: (u64::MAX - blocker.saturating_mul(BLOCKED_MAX)).saturating_sub(number),
                blocker,
                seconds: if number == 0 {
                    longest.parse().unwrap_or(0.0)
                } else {
                    0.0
                },
            };
            push(waits, wait);
        }
    }
}

/// pt-stalk's join, and `sys.innodb_lock_waits`.
fn joined(rows: &Rows, waits: &mut Vec<Wait>, known: &mut Known) {
    let columns = [
        "waiting_thread",
        "waiting_pid",
        "wait_time",
        "wait_age_secs",
        "wait_age",
        "waiting_query",
        "waiting_table_lock",
        "locked_table",
        "locked_index",
        "blocking_thread",
        "blocking_pid",
        "blocking_query",
        "idle_in_trx",
        "blocking_host",
    ];
    for [
        thread,
        pid,
        time,
        age_seconds,
        age,
        query,
        table,
        locked,
        index,
        by,
        by_pid,
        by_query,
        idle,
        host,
    ] in rows.each(columns)
    {
        let (waiter, blocker) = (whole(thread).max(whole(pid)), whole(by).max(whole(by_pid)));
        let seconds = [time, age_seconds]
            .into_iter()
            .find_map(|text| text.parse::<f64>().ok())
            .or_else(|| clock(age))
            .unwrap_or(0.0);
        known
            .doing
            .entry(waiter)
            .or_insert_with(|| doing(query, None, None));
        let idle = idle.parse::<f64>().ok().filter(|idle| *idle > 0.0);
        let mut what = doing(by_query, None, idle);
        // A name of a host has no blanks: behind one stands what somebody noted.
        if let Some(host) = host
            .split_whitespace()
            .next()
            .filter(|host| host.len() <= 200)
        {
            what.push_str(" (from ");
            what.push_str(host);
            what.push(')');
        }
        known.doing.insert(blocker, what);
        let table = if table.is_empty() { locked } else { table };
        push(
            waits,
            Wait {
                lock: row_lock(table, index),
                waiter,
                blocker,
                seconds,
            },
        );
    }
}

/// `00:01:05`.
fn clock(text: &str) -> Option<f64> {
    text.split(':').try_fold(0.0, |sum, part| {
        Some(sum * 60.0 + part.parse::<f64>().ok()?)
    })
}

fn push(waits: &mut Vec<Wait>, wait: Wait) {
    let is_wait = wait.waiter != wait.blocker && wait.waiter != 0;
    if is_wait && waits.len() < PAIRS_MAX {
        waits.push(wait);
    }
}

fn without_doubles(waits: Vec<Wait>) -> Vec<Wait> {
    let mut best: BTreeMap<(u64, u64), Wait> = BTreeMap::new();
    for wait in waits {
        let key = (wait.waiter, wait.blocker);
        match best.get_mut(&key) {
            Some(known) => {
                let seconds = known.seconds.max(wait.seconds);
                if wait.lock.len() > known.lock.len() {
                    *known = wait;
                }
                known.seconds = seconds;
            }
            None => {
                best.insert(key, wait);
            }
        }
    }
    best.into_values().collect()
}

/// Connections by the numbers that performance_schema gives their threads, of any moment.
pub(super) fn thread_ids(all: &[Rows]) -> HashMap<u64, u64> {
    let mut ids = HashMap::new();
    for rows in all {
        let columns = match rows.table {
            Table::Threads => ["thread_id", "processlist_id"],
            Table::MetadataLocks => ["owner_thread_id", "processlist_id"],
            _ => continue,
        };
        for [thread, connection] in rows.each(columns) {
            let (thread, connection) = (whole(thread), whole(connection));
            if thread > 0 && connection > 0 {
                ids.insert(thread, connection);
            }
        }
    }
    ids
}

fn lock_names<'a>(tables: impl Iterator<Item = &'a Rows>) -> HashMap<&'a str, String> {
    tables
        .flat_map(|rows| rows.each(["lock_id", "lock_table", "lock_index"]))
        .map(|[id, table, index]| (id, row_lock(table, index)))
        .collect()
}

fn data_lock_names<'a>(tables: impl Iterator<Item = &'a Rows>) -> HashMap<&'a str, String> {
    let columns = [
        "engine_lock_id",
        "object_schema",
        "object_name",
        "index_name",
    ];
    tables
        .flat_map(|rows| rows.each(columns))
        .map(|[id, schema, table, index]| (id, row_lock(&format!("{schema}.{table}"), index)))
        .collect()
}

/// `row lock on shop.orders (PRIMARY)`.
fn row_lock(table: &str, index: &str) -> String {
    let plain = |name: &str| -> String {
        value_notes::name_alone(name)
            .chars()
            .filter(|c| *c != '`' && *c != '"' && !c.is_control())
            .take(150)
            .collect()
    };
    match (plain(table), plain(index)) {
        (table, _) if table.is_empty() => "row lock".to_owned(),
        (table, index) if index.is_empty() => format!("row lock on {table}"),
        (table, index) => format!("row lock on {table} ({index})"),
    }
}

/// How far the server's clock is ahead of ours, as far as the prints so far tell, in seconds.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// Of the clock that captures tell, and of the one that begins with the first print.
    printed: Option<f64>,
    counted: Option<f64>,
}

impl Clock {
    /// When a print of the transactions was taken, by the server's clock: no earlier than the youngest
    /// moment that it tells, and as much after an earlier print as their own times say. To be asked of
    /// each moment in turn.
    pub(super) fn now(&mut self, timestamp: Timestamp, transactions: &[&Rows]) -> Option<f64> {
        let (ahead, ours) = match timestamp.at {
            Some(at) => (&mut self.printed, at as f64 / 1000.0),
            None => (&mut self.counted, timestamp.after as f64 / 1000.0),
        };
        let prints = transactions.iter();
        let times = prints.flat_map(|rows| rows.each(["trx_started", "trx_wait_started"]));
        let times = times.flatten().filter_map(parse_seconds);
        let before = ahead.map(|ahead| ours + ahead);
        let now = times.chain(before).reduce(f64::max)?;
        *ahead = Some(now - ours);
        Some(now)
    }
}

/// What a connection does, without literals.
fn doing(query: &str, open: Option<f64>, idle: Option<f64>) -> String {
    const WORDS_MAX: usize = 120;
    let mut words = match (query.is_empty(), idle) {
        (true, Some(idle)) => {
            format!("has run no statement for {idle:.0} s in its open transaction")
        }
        (true, None) => "runs no statement in its open transaction".to_owned(),
        (false, _) => {
            let statement = sql::without_remark(super::before_cut(query));
            // A sentence in its place is none.
            let statement = match sql::may_begin(statement) {
                true => sql::redact_in_any_mode(statement),
                false => "?".to_owned(),
            };
            let mut short: String = statement.chars().take(WORDS_MAX).collect();
            if short.len() < statement.len() {
                short.push('…');
            }
            format!("runs {short}")
        }
    };
    if let Some(open) = open.filter(|open| *open >= 1.0) {
        words.push_str(&format!(" (open for {open:.0} s)"));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_behind_a_name_is_none_of_it() {
        for (table, index, lock) in [
            (
                "`shop`.`my orders`  <-- Alice, hunter2",
                "PRIMARY // hunter2",
                "row lock on shop.my orders (PRIMARY)",
            ),
            ("shop.orders # hunter2", "", "row lock on shop.orders"),
            ("  ", "", "row lock"),
        ] {
            assert_eq!(row_lock(table, index), lock);
        }
        assert_eq!(doing("the one of Alice, hunter2", None, None), "runs ?");
        assert_eq!(doing("select 'x'", None, None), "runs select ?");
    }
}
