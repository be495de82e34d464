//! The InnoDB status parser on the evidence of real stalls, where the corpus is present.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]

use std::path::Path;

use server_text::innodb::{InnodbStatus, SemaphoreWait, parse, redact, semaphore_waits};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");

/// Every file with a status, a part of one, or semaphore waits.
const FILES: [&str; 14] = [
    "actionsky-semaphore-crash-stats-ahi-5540.txt",
    "aneasystone-deadlock-lookalike.md",
    "autoinc-insert-select-pileup.txt",
    "autoinc-pt-osc-wait-57.txt",
    "docker-for-mac-825-5634.txt",
    "docker-mac-page-cleaner-114s-57.txt",
    "github-kernel-mutex-tcmalloc-2013.txt",
    "homeassistant-optimizing-2764s-10610.txt",
    "myluke-long-semaphore-5616.md",
    "nextcloud-row-lock-6075s.txt",
    "owncloud-dict-stats-semaphore-5722.txt",
    "ptk-innodb-ahi-latch-2010.txt",
    "ptk-innodb-kernel-mutex-2010.txt",
    "ptk-innodb-kernel-mutex-prepared-2010.txt",
];

/// The file, or `None` with a word about it where there is no corpus.
fn text(file: &str) -> Option<String> {
    let path = Path::new(CORPUS).join(file);
    if !Path::new(CORPUS).exists() {
        eprintln!("skipped: no corpus at {CORPUS}");
        return None;
    }
    let bytes = std::fs::read(&path).unwrap_or_default();
    assert!(!bytes.is_empty(), "{} is not there", path.display());
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn status(file: &str) -> Option<InnodbStatus> {
    text(file).map(|text| parse(&text))
}

fn count(waits: &[SemaphoreWait], wanted: impl Fn(&SemaphoreWait) -> bool) -> usize {
    waits.iter().filter(|wait| wanted(wait)).count()
}

fn named(name: &str) -> impl Fn(&SemaphoreWait) -> bool {
    move |wait| wait.lock_name.as_deref() == Some(name)
}

fn asked_at(file: &str, line: u32) -> impl Fn(&SemaphoreWait) -> bool {
    move |wait| wait.file == file && wait.line == line
}

#[test]
fn no_other_file_has_a_status() {
    let Ok(entries) = std::fs::read_dir(CORPUS) else {
        eprintln!("skipped: no corpus at {CORPUS}");
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if FILES.contains(&name.as_str()) || !(name.ends_with(".txt") || name.ends_with(".md")) {
            continue;
        }
        let text = String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned();
        assert_eq!(semaphore_waits(&text), [], "{name}");
        assert_eq!(parse(&text), InnodbStatus::default(), "{name}");
    }
}

#[test]
fn a_redacted_text_reads_like_the_original() {
    for file in FILES {
        let Some(text) = text(file) else { return };
        let redacted = redact(&text);
        assert_eq!(parse(&redacted), parse(&text), "{file}");
        assert_eq!(semaphore_waits(&redacted), semaphore_waits(&text), "{file}");
        assert_eq!(redact(&redacted), redacted, "{file}");
        for value in [
            "1993053150409986204",
            "'%l:%i %p'",
            "appointment.datetime), '",
            "'587'",
            "8401395",
            "95439963",
            "2014-12-23 15:47:11.596",
            "000000ddaeee",
            "73757072656d756d",
        ] {
            assert!(!redacted.contains(value), "{value} in {file}");
        }
    }
}

#[test]
fn adaptive_hash_latch_of_5_1() {
    let Some(status) = status("ptk-innodb-ahi-latch-2010.txt") else {
        return;
    };
    assert!(status.complete);
    assert_eq!(status.taken.as_deref(), Some("100831 8:56:28"));
    let waits = &status.semaphore_waits;
    assert_eq!(waits.len(), 8);
    assert_eq!(count(waits, asked_at("row/row0sel.c", 3495)), 3);
    assert_eq!(count(waits, asked_at("btr/btr0sea.c", 1024)), 2);
    let on_the_index = count(waits, |wait| {
        wait.created_file.as_deref() == Some("btr/btr0sea.c")
            && wait.created_line == Some(139)
            && wait.holder_thread.as_deref() == Some("1220999488")
            && wait.holder_mode.as_deref() == Some("exclusive")
            && wait.holder_connection_id == Some(822_913)
    });
    assert_eq!(on_the_index, 7);
    assert_eq!(count(waits, |wait| wait.lock_kind == "X-lock"), 4);
    assert_eq!(count(waits, |wait| wait.lock_kind == "S-lock"), 4);
    assert_eq!(count(waits, |wait| wait.connection_id.is_some()), 8);
    assert_eq!(status.semaphores.mutex.os_waits, Some(1_296_480_180));
    assert_eq!(status.semaphores.rw_shared.os_waits, Some(511_031_480));
    let transactions = &status.transactions;
    assert_eq!(transactions.history_list_length, Some(1282));
    assert_eq!(transactions.trx_id_counter, Some(94_997_420));
    assert_eq!(transactions.active_count, Some(9));
    assert_eq!(transactions.longest_active_seconds, Some(263.0));
    assert!(!transactions.list_cut);
    let blockers: Vec<_> = status
        .blockers
        .iter()
        .map(|blocker| (blocker.connection_id, blocker.row_locks))
        .collect();
    assert_eq!(
        blockers,
        [
            (Some(391_259), 140_495),
            (Some(391_236), 581_344),
            (Some(490_106), 13)
        ]
    );
    assert_eq!(status.pending_io.aio_reads, Some(48));
    assert_eq!(status.pending_io.page_reads, Some(50));
    assert_eq!(status.log.checkpoint_age_bytes(), Some(97_697_195));
    assert_eq!(status.buffer_pool.dirty_pages, Some(94_787));
    assert_eq!(status.buffer_pool.hit_rate_per_1000, Some(999));
    assert_eq!(status.rows.queries_inside, Some(9));
    assert_eq!(status.rows.read_views, Some(10));
    assert_eq!(
        status.adaptive_hash.hash_searches_per_second,
        Some(96_814.19)
    );
}

#[test]
fn kernel_mutex_of_the_plugin() {
    let Some(status) = status("ptk-innodb-kernel-mutex-2010.txt") else {
        return;
    };
    assert!(status.complete);
    let waits = &status.semaphore_waits;
    assert_eq!(waits.len(), 164);
    assert_eq!(count(waits, named("&kernel_mutex")), 30);
    assert_eq!(count(waits, named("&new_index->lock")), 70);
    assert_eq!(count(waits, named("&block->lock")), 48);
    assert_eq!(count(waits, named("&btr_search_latch")), 15);
    assert_eq!(count(waits, named("&space->latch")), 1);
    assert_eq!(count(waits, asked_at("btr/btr0cur.c", 457)), 69);
    assert_eq!(count(waits, asked_at("trx/trx0trx.c", 1621)), 17);
    assert_eq!(count(waits, |wait| wait.seconds == 0.0), 70);
    assert_eq!(count(waits, |wait| wait.seconds == 13.0), 9);
    assert_eq!(count(waits, |wait| wait.seconds > 13.0), 0);
    assert_eq!(count(waits, |wait| wait.ended), 1);
    assert_eq!(status.transactions.history_list_length, Some(255));
    assert_eq!(status.transactions.active_count, Some(1));
    assert_eq!(status.transactions.trx_id_counter, Some(0xF_C593_C7D1));
    assert_eq!(status.pending_io.log_flushes, Some(1));
    assert_eq!(status.pending_io.log_writes, Some(1));
    assert_eq!(status.pending_io.preads, Some(23));
    assert_eq!(status.pending_io.page_writes, Some(63));
    assert_eq!(status.main_thread_state.as_deref(), Some("flushing log"));
    // The server counts it too.
    assert_eq!(status.log.checkpoint_age_bytes(), Some(634_288));
    assert_eq!(status.log.checkpoint_age_max_bytes, Some(325_436_314));
    assert_eq!(status.buffer_pool.total_pages, Some(5_505_023));
    assert_eq!(status.buffer_pool.free_pages, Some(0));
}

#[test]
fn kernel_mutex_with_a_list_that_the_server_cut() {
    let Some(status) = status("ptk-innodb-kernel-mutex-prepared-2010.txt") else {
        return;
    };
    assert!(!status.complete);
    let waits = &status.semaphore_waits;
    assert_eq!(waits.len(), 50);
    assert_eq!(count(waits, |wait| wait.lock_kind == "Mutex"), 50);
    assert_eq!(count(waits, named("&rseg->mutex")), 33);
    assert_eq!(count(waits, named("&kernel_mutex")), 16);
    assert_eq!(count(waits, named("&log_sys->mutex")), 1);
    assert_eq!(count(waits, asked_at("trx/trx0undo.c", 1796)), 23);
    let transactions = &status.transactions;
    assert!(transactions.list_cut);
    assert_eq!(transactions.prepared_count, Some(70));
    assert_eq!(transactions.active_count, Some(71));
    assert_eq!(transactions.history_list_length, Some(426));
    assert_eq!(transactions.longest_active_seconds, Some(4.0));
    assert_eq!(status.blockers.len(), 20);
    assert!(status.blockers.iter().all(|blocker| blocker.prepared));
    assert_eq!(status.rows.read_views, Some(583));
    assert_eq!(status.log.checkpoint_age_bytes(), Some(364_847_981));
}

#[test]
fn long_waits_in_the_error_log_of_5_6() {
    let Some(text) = text("myluke-long-semaphore-5616.md") else {
        return;
    };
    let all = semaphore_waits(&text);
    assert_eq!(all.len(), 43);
    assert_eq!(count(&all, asked_at("btr0cur.cc", 554)), 16);
    assert_eq!(count(&all, asked_at("sync0rw.cc", 297)), 12);
    assert_eq!(count(&all, |wait| wait.seconds == 303.0), 10);
    let mutexes = count(&all, |wait| {
        wait.lock_kind == "Mutex"
            && wait.created_file.as_deref() == Some("sync0sync.cc")
            && wait.created_line == Some(1472)
    });
    assert_eq!(mutexes, 16);
    let waiting_for_readers = count(&all, |wait| {
        wait.lock_kind == "X-lock (wait_ex)"
            && wait.readers == Some(1)
            && wait.holder_thread.as_deref() == Some(wait.thread.as_str())
    });
    assert_eq!(waiting_for_readers, 4);

    let status = parse(&text);
    assert_eq!(status.taken.as_deref(), Some("2015-11-30 20:33:03"));
    assert!(
        !status.complete,
        "an END line before it ends another printout"
    );
    assert_eq!(status.semaphore_waits.len(), 11);
    assert_eq!(status.transactions.history_list_length, Some(2003));
    assert_eq!(status.transactions.longest_active_connection_id, Some(981));
    assert_eq!(status.blockers[0].row_locks, 7_514_649);
    assert!(!status.blockers[1].has_query);
    assert_eq!(status.pending_io.aio_reads, Some(100));
}

#[test]
fn waits_in_parts_of_error_logs() {
    for (file, wait) in [
        (
            "owncloud-dict-stats-semaphore-5722.txt",
            ("row0purge.cc", 862, 241.0, "S-lock", Some("dict0dict.cc")),
        ),
        (
            "docker-for-mac-825-5634.txt",
            (
                "btr0cur.cc",
                256,
                241.0,
                "X-lock (wait_ex)",
                Some("buf0buf.cc"),
            ),
        ),
        (
            "docker-mac-page-cleaner-114s-57.txt",
            ("fts0fts.cc", 3622, 288.0, "", None),
        ),
        (
            "github-kernel-mutex-tcmalloc-2013.txt",
            ("trx/trx0trx.c", 807, 1.0, "Mutex", None),
        ),
    ] {
        let Some(text) = text(file) else { return };
        let found: Vec<_> = semaphore_waits(&text);
        let facts: Vec<_> = found
            .iter()
            .map(|wait| {
                (
                    wait.file.as_str(),
                    wait.line,
                    wait.seconds,
                    wait.lock_kind.as_str(),
                    wait.created_file.as_deref(),
                )
            })
            .collect();
        assert_eq!(facts, [wait], "{file}");
        assert_eq!(parse(&text).semaphore_waits, found, "{file}");
    }
}

#[test]
fn the_holder_of_a_latch_is_named_by_its_connection() {
    let Some(status) = status("actionsky-semaphore-crash-stats-ahi-5540.txt") else {
        return;
    };
    assert_eq!(status.semaphore_waits.len(), 2);
    let wait = &status.semaphore_waits[0];
    assert_eq!((wait.seconds, wait.readers), (934.0, Some(0)));
    assert_eq!(wait.created_file.as_deref(), Some("dict0dict.c"));
    assert_eq!(wait.holder_connection_id, Some(14_075));
    assert!(
        wait.holder_query
            .as_ref()
            .is_some_and(|query| query.ends_with("FROM information_schema.TABLES"))
    );
    assert_eq!(status.buffer_pool.free_pages, Some(0));
}

#[test]
fn pending_writes_beside_a_long_wait() {
    let Some(status) = status("docker-for-mac-825-5634.txt") else {
        return;
    };
    assert_eq!(status.pending_io.preads, Some(0));
    assert_eq!(status.pending_io.pwrites, Some(2));
    assert_eq!(status.taken.as_deref(), Some("2016-10-26 10:28:13"));
}

#[test]
fn a_status_of_mariadb_10_6_cut_in_a_statement() {
    let Some(status) = status("homeassistant-optimizing-2764s-10610.txt") else {
        return;
    };
    assert!(!status.complete);
    assert!(!status.semaphores.listed);
    assert!(status.transactions.list_cut);
    assert_eq!(status.transactions.history_list_length, Some(0));
    assert_eq!(status.transactions.trx_id_counter, Some(2_282_431));
    assert_eq!(
        status.transactions.purge_state.as_deref(),
        Some("running but idle")
    );
    assert_eq!(status.blockers.len(), 1);
    let blocker = &status.blockers[0];
    assert_eq!(blocker.active_seconds, 2764.0);
    assert_eq!(
        (
            blocker.lock_structs,
            blocker.row_locks,
            blocker.undo_entries
        ),
        (363, 60_146, 39_920)
    );
    assert_eq!(blocker.connection_id, Some(834));
    assert!(blocker.has_query);
}

#[test]
fn a_row_lock_wait_and_its_idle_blocker() {
    let Some(status) = status("nextcloud-row-lock-6075s.txt") else {
        return;
    };
    assert_eq!(status.lock_waits.len(), 1);
    let wait = &status.lock_waits[0];
    assert_eq!(wait.trx_id, "14593721");
    assert_eq!(wait.waiting_seconds, Some(74.0));
    assert_eq!(wait.table.as_deref(), Some("cloud_db.oc_filecache"));
    assert_eq!(wait.index.as_deref(), Some("PRIMARY"));
    assert_eq!(status.blockers.len(), 1);
    let blocker = &status.blockers[0];
    assert_eq!((blocker.active_seconds, blocker.row_locks), (6075.0, 2056));
    assert!(!blocker.has_query && !blocker.waits);
}

#[test]
fn waits_for_auto_increment() {
    let Some(status) = status("autoinc-insert-select-pileup.txt") else {
        return;
    };
    assert_eq!(status.lock_waits.len(), 1);
    assert_eq!(status.lock_waits[0].lock_mode.as_deref(), Some("AUTO-INC"));
    assert_eq!(status.transactions.lock_wait_count, Some(1));
}

#[test]
fn deadlocks_are_seen_and_are_not_waits() {
    for (file, taken) in [
        (
            "aneasystone-deadlock-lookalike.md",
            Some("2014-12-23 15:47:11"),
        ),
        ("autoinc-pt-osc-wait-57.txt", None),
    ] {
        let Some(status) = status(file) else { return };
        assert!(status.latest_deadlock.seen, "{file}");
        assert_eq!(status.latest_deadlock.taken.as_deref(), taken, "{file}");
        assert_eq!(status.lock_waits, [], "{file}");
        assert_eq!(status.transactions.active_count, None, "{file}");
    }
}
