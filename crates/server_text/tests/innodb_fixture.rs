//! The InnoDB status parser on what a MariaDB 10.11.19 printed, with the lock monitor on, while one
//! idle transaction blocked two others. The statements hold lines that look like InnoDB's own.

use server_text::innodb::{parse, redact, signals};

const STATUS: &str = include_str!("fixtures/innodb-status-mariadb-10.11.txt");

/// Stands in the literals and in the rows.
const SECRET: &str = "FFTOKEN";

/// The same, as record dumps print it.
const SECRET_HEX: &str = "4646544f4b454e";

fn has_secret(text: &str) -> bool {
    text.contains(SECRET) || text.to_ascii_lowercase().contains(SECRET_HEX)
}

#[test]
fn waits_and_their_blocker() {
    let status = parse(STATUS);
    assert!(status.complete);
    let waits: Vec<_> = status
        .lock_waits
        .iter()
        .map(|wait| {
            (
                wait.trx_id.as_str(),
                wait.waiting_seconds,
                wait.connection_id,
                wait.query_id,
            )
        })
        .collect();
    assert_eq!(
        waits,
        [
            ("60", Some(1.491_083), Some(27), Some(64)),
            ("59", Some(1.495_780), Some(25), Some(63)),
        ]
    );
    for wait in &status.lock_waits {
        assert_eq!(wait.table.as_deref(), Some("shop.accounts"));
        assert_eq!(wait.index.as_deref(), Some("PRIMARY"));
        assert_eq!(wait.lock_mode.as_deref(), Some("X locks rec but not gap"));
        assert_eq!(wait.state.as_deref(), Some("starting index read"));
        assert_eq!(
            wait.query.as_deref(),
            Some("update accounts set balance = ?, owner = ? where id = ? and owner <> ?")
        );
    }
    let idle: Vec<_> = status
        .blockers
        .iter()
        .filter(|blocker| !blocker.has_query)
        .map(|blocker| {
            (
                blocker.trx_id.as_str(),
                blocker.row_locks,
                blocker.undo_entries,
            )
        })
        .collect();
    assert_eq!(idle, [("57", 4, 3)]);
    assert_eq!(status.blockers.len(), 4);
    assert!(
        status
            .blockers
            .iter()
            .all(|blocker| blocker.active_seconds == 2.0),
        "the transaction of 999 seconds is a line of a literal"
    );
    let summary = &status.transactions;
    assert!(!summary.list_cut);
    assert_eq!(summary.active_count, Some(4));
    assert_eq!(summary.lock_wait_count, Some(2));
    assert_eq!(summary.lock_structs, Some(8));
    assert_eq!(summary.history_list_length, Some(0));
    assert_eq!(status.main_thread_state.as_deref(), Some("sleeping"));
    assert!(status.latest_deadlock.seen);
    assert_eq!(
        status.latest_deadlock.taken.as_deref(),
        Some("2026-11-20 23:40:14")
    );
}

#[test]
fn only_what_the_text_tells_is_a_signal() {
    let signals = signals(&parse(STATUS));
    let value = |wanted: &str| {
        let mut found = signals.iter().filter(|(name, _)| *name == wanted);
        let value = found.next().map(|(_, value)| *value);
        assert_eq!(found.next(), None, "{wanted} is there twice");
        value
    };
    assert_eq!(value("innodb.lock_wait_transactions"), Some(2.0));
    assert_eq!(value("innodb.lock_wait_seconds_max"), Some(1.495_780));
    assert_eq!(value("innodb.active_transactions"), Some(4.0));
    assert_eq!(value("innodb.active_seconds_max"), Some(2.0));
    assert_eq!(value("innodb.history_list_length"), Some(0.0));
    assert_eq!(value("innodb.pending_fsyncs"), Some(0.0));
    assert_eq!(value("innodb.buffer_pool_pages"), Some(2028.0));
    assert!(value("innodb.checkpoint_age_bytes").is_some_and(|age| age > 0.0));
    for absent in [
        "innodb.semaphore_waits",
        "innodb.semaphore_wait_seconds_max",
        "innodb.pending_log_flushes",
        "innodb.pending_aio_reads",
        "innodb.queries_inside",
    ] {
        assert_eq!(value(absent), None, "MariaDB 10.11 does not print {absent}");
    }
}

#[test]
fn redaction_leaves_no_literal_and_no_value() {
    assert!(has_secret(STATUS));
    let redacted = redact(STATUS);
    assert!(!has_secret(&redacted), "{redacted}");
    assert_eq!(parse(&redacted), parse(STATUS));
    assert_eq!(redact(&redacted), redacted);
    // Up to the backslash: behind it the session's sql_mode decides what is a string.
    assert!(redacted.contains("\nupdate shop.notes set n = sleep(?), t = ?, u = ?\nTABLE LOCK"));
    assert!(redacted.contains("\n 4: len 30; hex ?; asc ?;;\n"));
    assert!(redacted.contains("\ninsert into child values (?, ?)\nForeign key constraint fails"));
}

#[test]
fn redaction_changes_nothing_else() {
    let redacted = redact(STATUS);
    let kept: Vec<_> = redacted
        .lines()
        .filter(|line| !line.contains('?'))
        .collect();
    let mut original = STATUS.lines();
    for line in &kept {
        assert!(original.any(|other| other == *line), "{line}");
    }
    assert!(kept.len() > 100);
}

#[test]
fn a_status_from_mysqls_batch_mode_is_the_same() {
    let escaped = STATUS
        .replace('\\', "\\\\")
        .replace('\t', "\\t")
        .replace('\n', "\\n");
    assert_eq!(parse(&escaped), parse(STATUS));
    assert!(!has_secret(&redact(&escaped)));
}

#[test]
fn a_status_that_a_client_stores_is_a_literal() {
    let quoted = STATUS.replace('\\', r"\\").replace('\'', "''");
    let store = format!("insert into history values ('{SECRET}\n{quoted}', '{SECRET}')");
    let text = STATUS.replace(
        "---TRANSACTION 57,",
        &format!(
            "---TRANSACTION 61, ACTIVE 7 sec\n\
             MariaDB thread id 30, OS thread handle 12, query id 70 localhost root Update\n\
             {store}\n---TRANSACTION 57,"
        ),
    );
    let redacted = redact(&text);
    assert!(!has_secret(&redacted), "{redacted}");
    let status = parse(&text);
    assert!(status.complete);
    assert_eq!(status.transactions.longest_active_seconds, Some(7.0));
    assert_eq!(parse(&redacted).buffer_pool, status.buffer_pool);
    assert_eq!(status.buffer_pool, parse(STATUS).buffer_pool);
}

#[test]
fn no_cut_brings_a_secret_out() {
    for (at, _) in STATUS.char_indices().step_by(29) {
        let (head, tail) = STATUS.split_at(at);
        let redacted = redact(head);
        assert!(!has_secret(&redacted), "cut at {at}: {redacted}");
        parse(head);
        parse(tail);
        redact(tail);
    }
    // A cut inside the literal would make its lines those of InnoDB.
    let plain = STATUS.replace("TABLE LOCK table `FFTOKEN`", "TABLE LOCK table `x`");
    for (at, _) in plain.char_indices().step_by(29) {
        let (_, tail) = plain.split_at(at);
        let redacted = redact(tail);
        assert!(!has_secret(&redacted), "cut at {at}: {redacted}");
    }
}
