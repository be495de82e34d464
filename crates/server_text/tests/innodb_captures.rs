//! The InnoDB status parser on the project's captures (`captures/`): statuses and parts of them as people paste them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy does not see that helpers of tests are test code"
)]

use std::path::{Path, PathBuf};

use server_text::innodb::{InnodbStatus, SemaphoreWait, parse, redact, semaphore_waits};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures")
}

fn text(file: &str) -> String {
    let bytes = std::fs::read(folder().join(file)).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// All captures with their names.
fn captures() -> Vec<(String, String)> {
    let names = std::fs::read_dir(folder()).unwrap();
    names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".yaml"))
        .map(|name| {
            let text = text(&name);
            (name, text)
        })
        .collect()
}

fn count(waits: &[SemaphoreWait], wanted: impl Fn(&SemaphoreWait) -> bool) -> usize {
    waits.iter().filter(|wait| wanted(wait)).count()
}

fn asked_at(file: &str, line: u32) -> impl Fn(&SemaphoreWait) -> bool {
    move |wait| wait.file == file && wait.line == line
}

fn created_at(file: &str, line: u32) -> impl Fn(&SemaphoreWait) -> bool {
    move |wait| wait.created_file.as_deref() == Some(file) && wait.created_line == Some(line)
}

/// Lines of a status begin with them, or have them in it.
const SIGNS: [&str; 14] = [
    " has waited at ",
    "OS WAIT ARRAY",
    "RW-shared",
    "INNODB MONITOR",
    "---TRANSACTION",
    "History list",
    "Trx id counter",
    "DEADLOCK",
    "Log sequence",
    "Pending ",
    "Ibuf: ",
    "buffer pool",
    "Buffer pool",
    "InnoDB",
];

#[test]
fn a_capture_without_a_sign_of_a_status_has_none() {
    let mut seen = 0;
    for (name, text) in captures() {
        if SIGNS.iter().any(|sign| text.contains(sign)) {
            continue;
        }
        assert_eq!(semaphore_waits(&text), [], "{name}");
        assert_eq!(parse(&text), InnodbStatus::default(), "{name}");
        seen += 1;
    }
    assert!(seen >= 80, "{seen} captures");
}

#[test]
fn a_redacted_capture_reads_like_the_original() {
    for (name, text) in captures() {
        let redacted = redact(&text);
        assert_eq!(parse(&redacted), parse(&text), "{name}");
        assert_eq!(semaphore_waits(&redacted), semaphore_waits(&text), "{name}");
        assert_eq!(redact(&redacted), redacted, "{name}");
    }
}

#[test]
fn what_users_wrote_is_removed() {
    for (file, values) in [
        (
            "row-lock-pileup-insert-intention-mariadb-106.txt",
            &[
                "'thumbs'",
                "c1-55713290418",
                "2022-12-02 14:21:00",
                "\"asset\"",
                "73757072656d756d",
            ][..],
        ),
        (
            "innodb-thread-concurrency-status-56.txt",
            &["481220", "77120"],
        ),
    ] {
        let text = text(file);
        let redacted = redact(&text);
        for value in values {
            assert!(text.contains(value), "{value} is not in {file}");
            assert!(!redacted.contains(value), "{value} in {file}");
        }
    }
}

#[test]
fn long_waits_of_5_0_for_the_adaptive_hash_latch() {
    let waits = semaphore_waits(&text("ahi-latch-nobody-releases-50.log"));
    assert_eq!(waits.len(), 7);
    assert_eq!(count(&waits, created_at("btr0sea.c", 139)), 5);
    assert_eq!(count(&waits, created_at("srv0srv.c", 872)), 2);
    assert_eq!(count(&waits, asked_at("btr0sea.c", 1383)), 2);
    assert_eq!(count(&waits, |wait| wait.lock_kind == "X-lock"), 2);
    assert_eq!(count(&waits, |wait| wait.lock_kind == "S-lock"), 3);
    assert_eq!(count(&waits, |wait| wait.lock_kind == "Mutex"), 2);
    // The thread that is named as the writer waits itself until the readers are gone, and there are none.
    let for_readers = count(&waits, |wait| {
        wait.holder_mode.as_deref() == Some("wait exclusive")
            && wait.readers == Some(0)
            && wait.holder_thread.as_deref() == Some("1201064288")
    });
    assert_eq!(for_readers, 5);
    let longest = waits.iter().map(|wait| wait.seconds).fold(0.0, f64::max);
    assert_eq!(longest, 844.0);
}

#[test]
fn a_latch_that_its_own_reader_keeps_from_its_writer() {
    let waits = semaphore_waits(
        "--Thread 139620154 has waited at btr0cur.cc line 311 for 262.00 seconds the semaphore:\n\
         X-lock (wait_ex) on RW-latch at 0x7efb4c created in file buf0buf.cc line 1071\n\
         a writer (thread id 139620154) has reserved it in mode  wait exclusive\n\
         number of readers 1, waiters flag 1, lock_word: ffffffffffffffff\n\
         Last time read locked in file btr0sea.cc line 920\n\
         Last time write locked in file /src/storage/innobase/btr/btr0cur.cc line 311\n",
    );
    let [wait] = waits.as_slice() else {
        panic!("{waits:?}");
    };
    assert_eq!(wait.lock_kind, "X-lock (wait_ex)");
    assert_eq!(wait.readers, Some(1));
    assert_eq!(wait.holder_thread.as_deref(), Some(wait.thread.as_str()));
}

#[test]
fn waits_of_5_7_in_parts_of_statuses() {
    for (file, all, longest, latch) in [
        (
            "change-buffer-merge-57-fr.md",
            3,
            7.0,
            ("ibuf0ibuf.cc", 521, 2),
        ),
        (
            "fil-system-open-files-status-57.txt",
            5,
            0.0,
            ("fil0fil.cc", 1725, 5),
        ),
        (
            "fts-aux-cache-sync-semaphores-57.txt",
            3,
            38.0,
            ("fts0fts.cc", 617, 3),
        ),
        (
            "hot-page-counter-innodb-status-57.txt",
            5,
            0.0,
            ("buf0buf.cc", 1460, 5),
        ),
        (
            "rename-pending-io-hang-57.log",
            5,
            241.0,
            ("dict0dict.cc", 1180, 3),
        ),
        (
            "persistent-stats-analyze-600s-analysis-57.md",
            1,
            256.0,
            ("dict0dict.cc", 301, 1),
        ),
    ] {
        let text = text(file);
        let waits = semaphore_waits(&text);
        assert_eq!(waits.len(), all, "{file}");
        assert_eq!(parse(&text).semaphore_waits, waits, "{file}");
        let found = waits.iter().map(|wait| wait.seconds).fold(0.0, f64::max);
        assert_eq!(found, longest, "{file}");
        let (created, line, times) = latch;
        assert_eq!(count(&waits, created_at(created, line)), times, "{file}");
    }
}

#[test]
fn names_modes_and_counters_of_5_7() {
    let status = parse(&text("change-buffer-merge-57-fr.md"));
    let names: Vec<_> = status
        .semaphore_waits
        .iter()
        .filter_map(|wait| wait.lock_name.as_deref())
        .collect();
    assert_eq!(names, ["IBUF", "IBUF", "IBUF_PESSIMISTIC_INSERT"]);
    assert_eq!(status.change_buffer_pages, Some(1_047_712));

    let waits = semaphore_waits(&text("rename-pending-io-hang-57.log"));
    let modes: Vec<_> = waits
        .iter()
        .filter_map(|wait| wait.holder_mode.as_deref())
        .collect();
    assert_eq!(modes, ["SX", "exclusive"]);

    let status = parse(&text("hot-page-counter-innodb-status-57.txt"));
    assert!(status.semaphores.listed && !status.complete);
    assert_eq!(status.semaphores.reservation_count, Some(911_830_472));
    assert_eq!(status.semaphores.rw_excl.os_waits, Some(811_430_021));
    assert_eq!(status.semaphores.rw_sx.rounds, Some(61_012));
}

#[test]
fn history_of_8_4() {
    let status = parse(&text("purge-lag-history-63m-84.txt"));
    let transactions = &status.transactions;
    assert!(!status.complete && !transactions.list_cut);
    assert_eq!(transactions.history_list_length, Some(63_881_295));
    assert_eq!(transactions.trx_id_counter, Some(91_740_226_817));
    assert_eq!(transactions.purge_state.as_deref(), Some("running"));
    assert_eq!(transactions.active_count, Some(1));
    assert_eq!(status.pending_io.log_flushes, Some(0));
    assert_eq!(status.rows.read_views, Some(1));
    assert_eq!(status.main_thread_state.as_deref(), Some("sleeping"));
}

#[test]
fn who_sleeps_before_innodb_and_who_is_inside_of_5_6() {
    let status = parse(&text("innodb-thread-concurrency-status-56.txt"));
    assert_eq!(status.transactions.active_count, Some(5));
    assert_eq!(status.transactions.longest_active_seconds, Some(260.0));
    assert_eq!(
        status.transactions.longest_active_connection_id,
        Some(118_760)
    );
    let asleep = status
        .active
        .iter()
        .filter(|one| one.state.as_deref() == Some("sleeping before entering InnoDB"))
        .count();
    assert_eq!(asleep, 3);
    assert_eq!(status.rows.queries_inside, Some(8));
    assert_eq!(status.rows.queries_in_queue, Some(183));
    assert_eq!(status.blockers, []);
}

#[test]
fn a_row_lock_wait_of_mariadb_and_its_idle_blocker() {
    let status = parse(&text("row-lock-pileup-insert-intention-mariadb-106.txt"));
    let [wait] = status.lock_waits.as_slice() else {
        panic!("{:?}", status.lock_waits);
    };
    assert_eq!(wait.trx_id, "61880");
    assert_eq!(wait.waiting_seconds, Some(9.142_077));
    assert_eq!(wait.table.as_deref(), Some("suite_test.job_queue"));
    assert_eq!(wait.index.as_deref(), Some("job_queue_lock_token"));
    assert_eq!(wait.lock_mode.as_deref(), Some("X insert intention"));
    let idle: Vec<_> = status
        .blockers
        .iter()
        .filter(|blocker| !blocker.has_query && !blocker.waits)
        .map(|blocker| {
            (
                blocker.connection_id,
                blocker.active_seconds,
                blocker.row_locks,
            )
        })
        .collect();
    assert_eq!(idle, [(Some(91), 31.0, 3)]);
    assert!(!status.semaphores.listed);
}

#[test]
fn one_transaction_of_many_rows() {
    let status = parse(&text("delete-one-transaction-prose-pt.md"));
    let [blocker] = status.blockers.as_slice() else {
        panic!("{:?}", status.blockers);
    };
    assert_eq!(blocker.active_seconds, 877.0);
    assert_eq!(
        (
            blocker.lock_structs,
            blocker.row_locks,
            blocker.undo_entries
        ),
        (94_410, 13_077_512, 13_077_431)
    );
    assert!(blocker.has_query);
}
