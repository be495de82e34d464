//! What rows of the server's tables tell together: who waits for whom, how long transactions are
//! open, what sessions do, what was workload.

mod digests;
mod locks;
mod metadata;
mod sessions;
mod transactions;
mod waits;

use std::collections::BTreeMap;

use model::{LockTable, Millis, OrderBy, SourceData};

use crate::read::Timestamp;
use crate::read::rows::Rows;
use crate::read::rows::Table;
use crate::read::{Read, Workload};

/// From one print without a time to the next, in milliseconds: what pt-stalk leaves between them.
const BEAT_MS: Millis = 1000;

/// Lock tables that are made: those of the moments with most waits.
const LOCK_TABLES_MAX: usize = 5;

impl Timestamp {
    fn from_rows(rows: &Rows) -> Self {
        Self {
            at: rows.at,
            after: match rows.at {
                Some(_) => 0,
                None => rows.nth.saturating_mul(BEAT_MS),
            },
        }
    }
}

/// What was made of the rows.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    /// Signals, texts and statements.
    pub(crate) read: Read,
    /// Who waited for whom; `from` and `to` are set when the moments are known.
    pub(crate) locks: Vec<(Timestamp, LockTable)>,
}

/// Reads the rows of all captures together.
pub(crate) fn join(all: &[Rows], book: &mut model::StackTable) -> Joined {
    let mut joined = Joined::default();
    let read = &mut joined.read;
    let mut timestamps: BTreeMap<Timestamp, Vec<&Rows>> = BTreeMap::new();
    for rows in all {
        timestamps
            .entry(Timestamp::from_rows(rows))
            .or_default()
            .push(rows);
    }
    let threads = waits::thread_ids(all);
    let mut clock = waits::Clock::default();
    for (timestamp, here) in timestamps {
        let all = here.as_slice();
        let here = |table: Table| all.iter().copied().filter(move |rows| rows.table == table);
        let sessions: Vec<&Rows> = here(Table::Threads).collect();
        for rows in &sessions {
            let taken = sessions::processlist(rows);
            read.take("processlist", timestamp.at, timestamp.after, taken);
        }
        let mutexes: Vec<&Rows> = here(Table::Mutexes).collect();
        if let Some(readings) = transactions::mutexes(&mutexes) {
            let taken = SourceData {
                readings,
                ..SourceData::default()
            };
            read.take("mutexes", timestamp.at, timestamp.after, taken);
        }
        let transactions: Vec<&Rows> = here(Table::Transactions).collect();
        let now = clock.now(timestamp, &transactions);
        let (mut waits, mut known) = waits::from_rows(all, now, &threads);
        let readings = transactions::readings(&transactions, &waits, now, timestamp.at.is_some());
        if !readings.is_empty() {
            let taken = SourceData {
                readings,
                ..SourceData::default()
            };
            read.take("innodb", timestamp.at, timestamp.after, taken);
        }
        let metrics: Vec<&Rows> = here(Table::Metrics).collect();
        if let Some(reading) = transactions::history(&metrics) {
            let taken = SourceData {
                readings: vec![reading],
                ..SourceData::default()
            };
            read.take("innodb", timestamp.at, timestamp.after, taken);
        }
        let mut metadata = metadata::waits(all, &mut known, &threads);
        for table in [
            locks::table(&mut waits, &known, "InnoDB's tables of lock waits", book),
            locks::table(
                &mut metadata,
                &known,
                "performance_schema.metadata_locks",
                book,
            ),
        ]
        .into_iter()
        .flatten()
        {
            joined.locks.push((timestamp, table));
        }
    }
    let crowd = |table: &LockTable| -> u64 { table.locks.iter().map(|row| row.waits).sum() };
    joined
        .locks
        .order_by_key(|(_, table)| std::cmp::Reverse(crowd(table)));
    joined.locks.truncate(LOCK_TABLES_MAX);
    joined.locks.order_by_key(|(timestamp, _)| *timestamp);
    let digests = all.iter().filter(|rows| rows.table == Table::Digests);
    let tables: Vec<&Rows> = digests.collect();
    let ms = |us: Option<i64>| us.map(|us| us / 1000);
    joined.read.workload = digests::from_prints(&tables)
        .into_iter()
        .map(|(timestamp, digest, length)| Workload {
            from: ms(digest.from_us).or(timestamp.at),
            to: ms(digest.to_us).or(timestamp.at),
            length,
            digest,
        })
        .collect();
    joined
}

/// What a view of the sys schema leaves of a statement up to where it was cut. These views keep the begin and the end of a
/// longer one: `INSERT INTO users VALUES (1, 'al ... 2', 'secret', 5)`. The end may begin within a string, and then all its
/// strings are read as what stands between them.
fn before_cut(statement: &str) -> &str {
    statement.split(" ... ").next().unwrap_or_default()
}

/// A whole number, 0 where there is none.
fn whole(text: &str) -> u64 {
    text.trim().parse().unwrap_or(0)
}

/// Seconds of `2026-11-21 06:25:01.5` since an unknown day: for differences.
fn parse_seconds(text: &str) -> Option<f64> {
    let (date, time) = text.trim().split_once([' ', 'T'])?;
    let mut date = date.splitn(3, '-').map(str::parse::<i64>);
    let mut next = || date.next()?.ok();
    let (year, month, day) = (next()?, next()?, next()?);
    let mut time = time.splitn(3, ':').map(str::parse::<f64>);
    let mut next = || time.next()?.ok();
    let (hour, minute, second) = (next()?, next()?, next()?);
    if !(1970..3000).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days of the civil calendar since 1970 (Howard Hinnant, "chrono-compatible low-level date algorithms").
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    Some((days - 719_468) as f64 * 86_400.0 + hour * 3600.0 + minute * 60.0 + second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;
    use crate::formats::rows;

    fn joined(text: &str) -> Joined {
        let mut book = model::StackTable::default();
        join(&(rows::FORMAT.read)(&clean::lines(text)).rows, &mut book)
    }

    #[test]
    fn what_is_noted_behind_a_digest_is_none_of_it() {
        for note in [
            "<-- Alice, hunter2",
            "// hunter2",
            "=> hunter2 of Alice",
            "Alice says hunter2",
        ] {
            let text = format!(
                "***** 1. row *****\nSCHEMA_NAME: shop  <-- Alice\nDIGEST: abc\nDIGEST_TEXT: UPDATE `users` SET `pin` = ? WHERE NAME = ?  {note}\n\
                 COUNT_STAR: 100\nSUM_TIMER_WAIT: 40000000000000\n"
            );
            let told = format!("{:?}", joined(&text).read.workload[0].digest);
            let statement = "update users set pin = ? where name = ?";
            assert!(told.contains(statement), "{told}");
            for word in ["hunter2", "Alice", "alice"] {
                assert!(!told.contains(word), "{word}: {told}");
            }
        }
    }

    fn value(joined: &Joined, name: &str) -> Option<f64> {
        let all = joined.read.ticks.iter().flat_map(|tick| &tick.readings);
        all.filter(|one| one.name == name)
            .map(|one| one.value)
            .next()
    }

    #[test]
    fn dates_are_seconds() {
        assert_eq!(parse_seconds("1970-01-01 00:00:01.5"), Some(1.5));
        assert_eq!(parse_seconds("2024-02-29 12:00:00"), Some(1_709_208_000.0));
        assert_eq!(parse_seconds("0000-00-00 00:00:00"), None);
    }

    #[test]
    fn transactions_and_their_waits() {
        let text = "***** 1. row *****\n trx_id: 10\n trx_state: RUNNING\n trx_started: 2026-01-01 10:00:00\n trx_requested_lock_id: NULL\n trx_wait_started: NULL\n trx_mysql_thread_id: 7\n trx_query: NULL\n trx_lock_structs: 4\n\
            ***** 2. row *****\n trx_id: 11\n trx_state: LOCK WAIT\n trx_started: 2026-01-01 10:01:00\n trx_requested_lock_id: 11:5:4:2\n trx_wait_started: 2026-01-01 10:01:40\n trx_mysql_thread_id: 8\n trx_query: update orders set a = 'x' where id = 5\n trx_lock_structs: 2\n\
            ***** 1. row *****\n lock_id: 11:5:4:2\n lock_trx_id: 11\n lock_mode: X\n lock_table: `shop`.`orders`\n lock_index: PRIMARY\n\
            ***** 1. row *****\n requesting_trx_id: 11\n requested_lock_id: 11:5:4:2\n blocking_trx_id: 10\n blocking_lock_id: 10:5:4:2\n";
        let joined = joined(text);
        assert_eq!(value(&joined, "innodb.lock_wait_transactions"), Some(1.0));
        assert_eq!(value(&joined, "innodb.active_transactions"), Some(2.0));
        assert_eq!(value(&joined, "innodb.lock_structs"), Some(6.0));
        // No clock of the print: the youngest moment in it is the nearest.
        assert_eq!(value(&joined, "innodb.active_seconds_max"), Some(100.0));
        let (_, table) = &joined.locks[0];
        let row = &table.locks[0];
        assert_eq!(row.name, "row lock on shop.orders (PRIMARY)");
        assert_eq!((row.waits, row.waiters_max), (1, 1));
        let holder = &row.holders[0];
        assert_eq!(holder.tid, 7);
        assert_eq!(
            holder.doing,
            "runs no statement in its open transaction (open for 100 s)"
        );
        assert_eq!(table.chains[0].links.len(), 1);
    }

    #[test]
    fn a_chain_leads_to_who_waits_for_nobody() {
        let row = |n: u32, waiting: u32, blocking: u32, query: &str| {
            format!(
                "***** {n}. row *****\nwaiting_trx_id: {waiting}0\nwaiting_thread: {waiting}\nwait_time: {n}\nwaiting_query: {query}\nwaiting_table_lock: `a`.`t{blocking}`\nblocking_trx_id: {blocking}0\nblocking_thread: {blocking}\nblocking_host: web\nidle_in_trx: 0\nblocking_query: NULL\n"
            )
        };
        let text = [
            row(1, 5, 4, "select 1 from x where a = 'secret'"),
            row(2, 6, 4, "select 2"),
            row(3, 4, 3, "update y"),
        ]
        .concat();
        let joined = joined(&text);
        let (_, table) = &joined.locks[0];
        let chain: Vec<(&str, u32, u32)> = table.chains[0]
            .links
            .iter()
            .map(|link| {
                (
                    link.lock.as_str(),
                    link.waiters,
                    link.holder.as_ref().unwrap().tid,
                )
            })
            .collect();
        assert_eq!(
            chain,
            [("row lock on a.t4", 2, 4), ("row lock on a.t3", 1, 3)]
        );
        assert!(!table.chains[0].circular);
        assert!(!format!("{table:?}").contains("secret"));
    }

    #[test]
    fn who_blocks_is_known_without_the_waiters() {
        let text = "***** 1. row *****\n   who_blocks: thread 7 from web:4711\n  idle_in_trx: 9\nmax_wait_time: 30\n  num_waiters: 5\n";
        let joined = joined(text);
        let row = &joined.locks[0].1.locks[0];
        assert_eq!(
            (row.waits, row.holders.len(), row.holders[0].tid),
            (5, 1, 7)
        );
        assert_eq!(row.max_us, 30e6);
        assert_eq!(
            row.holders[0].doing,
            "has run no statement for 9 s in its open transaction"
        );
        assert_eq!(value(&joined, "innodb.lock_wait_transactions"), Some(5.0));
    }

    #[test]
    fn counters_of_innodb_tell_the_history() {
        let boxes = "+------+-------+\n| NAME | COUNT |\n+------+-------+\n| purge_invoked | 41190 |\n| trx_rseg_history_len | 730114209 |\n+------+-------+\n";
        let rows = "***** 1. row *****\n NAME: trx_rseg_history_len\n SUBSYSTEM: transaction\n COUNT: 730114209\n STATUS: enabled\n";
        let name = "innodb.history_list_length";
        for text in [boxes, rows] {
            assert_eq!(value(&joined(text), name), Some(730_114_209.0), "{text}");
        }
        let off = rows.replace("enabled", "disabled");
        assert_eq!(value(&joined(&off), name), None);
    }

    #[test]
    fn a_metadata_lock_has_its_holder() {
        let row = |n: u32, id: u32, kind: &str, status: &str| {
            format!(
                "***** {n}. row *****\nprocesslist_id: {id}\nOBJECT_TYPE: TABLE\nOBJECT_SCHEMA: shop\nOBJECT_NAME: orders\nOBJECT_INSTANCE_BEGIN: 1\nLOCK_TYPE: {kind}\nLOCK_DURATION: TRANSACTION\nLOCK_STATUS: {status}\nOWNER_THREAD_ID: 9{id}\n"
            )
        };
        let text = [
            row(1, 3, "SHARED_READ", "GRANTED"),
            row(2, 4, "EXCLUSIVE", "PENDING"),
            row(3, 5, "SHARED_READ", "PENDING"),
        ]
        .concat();
        let joined = joined(&text);
        let (_, table) = &joined.locks[0];
        let row = &table.locks[0];
        assert_eq!(row.name, "metadata lock on shop.orders");
        assert_eq!(row.waits, 2);
        assert_eq!(row.holders[0].tid, 3);
        assert_eq!(row.holders[0].name, "connection 3");
    }

    #[test]
    fn the_end_of_a_statement_that_was_cut_in_its_middle_is_not_told() {
        let cut = "INSERT INTO users VALUES (1, 'al ... e', 'hunter2', 'Berlin')";
        for statement in [
            cut.to_owned(),
            cut.replace("'al", "'a', b"),
            cut.replace(", 'al", ""),
        ] {
            let waits = format!(
                "wait_started\twait_age\tlocked_table\twaiting_pid\twaiting_query\tblocking_pid\tblocking_query\n\
                 2020-01-01 00:00:00\t00:00:09\t`shop`.`users`\t5\t{statement}\t6\t{statement}\n"
            );
            let told = format!("{:?}", joined(&waits).locks);
            assert!(told.contains("runs INSERT INTO users VALUES"), "{told}");
            assert!(
                !told.contains("hunter2") && !told.contains("Berlin"),
                "{told}"
            );
            let view = format!(
                "thd_id\tconn_id\tuser\tdb\tcommand\tstate\ttime\tcurrent_statement\n\
                 9\t5\tapp@web\tshop\tQuery\tupdate\t9\t{statement}\n"
            );
            let told = format!("{:?}", joined(&view).read.texts);
            assert!(
                !told.contains("hunter2") && !told.contains("Berlin"),
                "{told}"
            );
        }
    }

    #[test]
    fn names_of_get_lock_are_apart_and_not_told() {
        let head = "OBJECT_TYPE\tOBJECT_SCHEMA\tOBJECT_NAME\tLOCK_DURATION\tLOCK_STATUS\tOWNER_THREAD_ID\n";
        let row = |name: &str, status: &str, thread: u32| {
            format!("USER LEVEL LOCK\tNULL\t{name}\tEXPLICIT\t{status}\t{thread}\n")
        };
        let rows = [
            row("card-4111", "GRANTED", 4),
            row("card-4111", "PENDING", 5),
            row("other", "GRANTED", 6),
        ];
        let joined = joined(&[head.to_owned(), rows.concat()].concat());
        let (_, table) = &joined.locks[0];
        let [lock] = table.locks.as_slice() else {
            panic!("{:?}", table.locks);
        };
        assert_eq!((lock.name.as_str(), lock.waits), ("user lock", 1));
        assert_eq!(lock.holders.len(), 1);
    }

    #[test]
    fn waits_without_their_holder_are_waits() {
        let head = "OBJECT_TYPE\tOBJECT_SCHEMA\tOBJECT_NAME\tLOCK_DURATION\tLOCK_STATUS\tOWNER_THREAD_ID\n";
        let row = |thread: u32| format!("TABLE\tshop\torders\tTRANSACTION\tPENDING\t{thread}\n");
        let joined = joined(&[head, &row(4), &row(5), &row(6), &row(7)].concat());
        let (_, table) = &joined.locks[0];
        let lock = &table.locks[0];
        assert_eq!(
            (lock.waits, lock.waiters_max, lock.holders.len()),
            (4, 4, 0)
        );
        let link = &table.chains[0].links[0];
        assert_eq!((link.waiters, link.holder.is_none()), (4, true));
    }

    #[test]
    fn two_prints_of_digests_tell_what_was_asked_between() {
        let print = |count: u32, seen: &str| {
            format!(
                "SCHEMA_NAME\tDIGEST\tDIGEST_TEXT\tCOUNT_STAR\tSUM_TIMER_WAIT\tFIRST_SEEN\tLAST_SEEN\nshop\tab12\tSHOW WARNINGS\t{count}\t{count}000\t2026-11-21 10:00:00\t{seen}\n"
            )
        };
        let (early, late) = (
            print(10, "2026-11-21 10:00:05.500000"),
            print(70, "2026-11-21 10:00:15.500000"),
        );
        for text in [format!("{early}\n{late}"), format!("{late}\n{early}")] {
            let joined = joined(&text);
            let workload = &joined.read.workload[0];
            assert_eq!((workload.digest.count, workload.length), (60, Some(10_000)));
        }
    }

    #[test]
    fn digests_are_classes() {
        let text = "SCHEMA_NAME\tDIGEST\tDIGEST_TEXT\tCOUNT_STAR\tSUM_TIMER_WAIT\tSUM_ERRORS\n\
            shop\tab12\tSHOW WARNINGS\t1000\t2000000000000\t0\nshop\tcd34\tSELECT * FROM `t` WHERE `a` = ?\t10\t1000000000000\t1\n";
        let joined = joined(text);
        let digest = &joined.read.workload[0].digest;
        assert_eq!(digest.count, 1010);
        assert_eq!(digest.classes[0].kind, "SHOW WARNINGS");
        assert_eq!(digest.classes[0].sum("Query_time"), Some(2.0));
        assert_eq!((digest.from_us, digest.to_us), (None, None));
    }
}
