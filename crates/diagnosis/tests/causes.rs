//! Each cause is named where it is, and not where only its look-alike is.

use crate::common;
use common::{Story, finding, named, stalls};
use diagnosis::{Level, Verdict};
use model::RunState::Running;

fn rejection<'v>(verdict: &'v Verdict, cause: &str) -> &'v str {
    verdict
        .rejected
        .iter()
        .find(|rejected| rejected.cause == cause)
        .map_or("not rejected", |rejected| rejected.why.as_str())
}

#[test]
fn each_stall_gets_its_cause_and_no_other() {
    for (cause, story) in stalls::all() {
        let verdict = story.verdict();
        let expected: &[(&str, Level)] = match cause {
            "compressed-protocol" => &[
                ("show-warnings-flood", Level::Certain),
                ("compressed-protocol", Level::Certain),
            ],
            cause => &[(cause, Level::Certain)],
        };
        assert_eq!(named(&verdict), expected, "{cause}: {}", verdict.sentence);
        let unknown = &finding(&verdict, cause).unknown;
        assert!(unknown.is_empty(), "{cause}: {unknown:?}");
        // Where the number alone is kept, it tells the level.
        for found in verdict.findings.iter().chain(&verdict.folded) {
            let level = Level::of_confidence(found.confidence);
            assert_eq!(level, found.level, "{cause}: {}", found.cause);
        }
    }
}

#[test]
fn the_sentences_say_what_was_seen() {
    for (story, expected) in [
        (
            stalls::compressed_show_warnings(),
            "Certain: SHOW WARNINGS flood (show-warnings-flood), aggravated by compressed-protocol: \
             SHOW WARNINGS ran at 12.3 k/s, 1230 times as often as before the onset (10/s), a fifth of \
             all statements or more.",
        ),
        (
            stalls::thp_compaction(),
            "Certain: Transparent huge pages: memory compaction (thp-compaction): threads had to \
             compact memory themselves, at 310/s against 0.2/s before the onset.",
        ),
        (
            stalls::max_connections(),
            "Certain: All connections in use (max-connections): 100 % of the connection attempts were \
             refused with 'too many connections'.",
        ),
        (
            stalls::connection_storm(),
            "Certain: Connection storm (connection-storm): new connections arrived at 900/s, against 20/s \
             before the onset.",
        ),
        (
            stalls::small_bufpool(),
            "Certain: InnoDB buffer pool too small for the working set (small-bufpool): 4 % of the page \
             requests missed the buffer pool and had to be read from disk, against 1 % before the onset.",
        ),
        (
            stalls::slow_fsync(),
            "Certain: Slow fsync: commits wait for the disk (slow-fsync): an fsync took 455 ms on \
             average, against 0.999 ms before the onset.",
        ),
        (
            stalls::row_lock_pileup(),
            "Certain: Row locks: sessions queue behind a transaction (row-lock-pileup): 35 sessions at a \
             time waited for a row lock, against 0.1 before the onset.",
        ),
    ] {
        assert_eq!(story.verdict().sentence, expected);
    }
}

#[test]
fn a_steady_flood_is_not_what_changed() {
    let story = stalls::slow_fsync()
        .rate("status.Com_show_warnings", 2_000.0, 1_900.0)
        .rate("status.Questions", 4_000.0, 3_800.0)
        .level("cpu.system_share", 0.3, 0.31);
    let verdict = story.verdict();
    assert_eq!(
        named(&verdict),
        [("slow-fsync", Level::Certain)],
        "{}",
        verdict.sentence
    );
    assert_eq!(
        rejection(&verdict, "show-warnings-flood"),
        "SHOW WARNINGS ran at 1.9 k/s in the stall and at 2 k/s before it: that is the normal load and \
         did not change"
    );
}

#[test]
fn contention_in_the_allocator_is_no_flood_and_no_compaction() {
    let story = Story::healthy()
        .level("cpu.system_share", 0.1, 0.7)
        .level("cpu.busy_share", 0.35, 1.0)
        .rate("process.system_ticks", 20.0, 500.0)
        .rate("status.Questions", 4_000.0, 2_500.0)
        .busy(&[("select", "Sending data", "app", 40)]);
    let verdict = story.verdict();
    assert_eq!(named(&verdict), []);
    assert!(verdict.sentence.starts_with(
        "No known cause fits what was recorded. Seen: SELECT 1 took 3.2 s, the limit is 1 s."
    ));
    assert!(rejection(&verdict, "thp-compaction").contains("a necessary sign is missing"));
}

#[test]
fn compression_of_another_load_stands_alone() {
    let story = stalls::compressed_show_warnings()
        .rate("status.Com_show_warnings", 10.0, 10.0)
        .busy(&[("select", "Sending data", "app", 30)]);
    let verdict = story.verdict();
    assert_eq!(named(&verdict), [("compressed-protocol", Level::Certain)]);
    let finding = finding(&verdict, "compressed-protocol");
    let ids: Vec<&str> = finding
        .witnesses
        .iter()
        .map(|witness| witness.id.as_str())
        .collect();
    assert_eq!(
        ids,
        [
            "faults-a-statement",
            "compressed-sessions",
            "busy",
            "statements"
        ]
    );
}

#[test]
fn large_sorts_fault_and_are_not_compression() {
    let story = Story::healthy()
        .rate("process.minor_faults", 200.0, 4_000.0 * 40.0)
        .rate("status.Sort_scan", 20.0, 1_500.0)
        .level("cpu.busy_share", 0.35, 1.0)
        .level("cpu.system_share", 0.1, 0.6);
    assert_eq!(
        named(&story.verdict()),
        [("malloc-mmap-threshold", Level::Possible)]
    );
}

#[test]
fn the_bytes_of_uncompressed_answers_are_no_sign() {
    for bytes in [117.0, 110.0, 109.0] {
        let story = stalls::show_warnings_flood()
            .rate("status.Questions", 4_000.0, 12_300.0)
            .rate("status.Bytes_sent", 4_000_000.0, 12_300.0 * bytes);
        let verdict = story.verdict();
        assert_eq!(
            named(&verdict),
            [("show-warnings-flood", Level::Certain)],
            "{bytes}"
        );
    }
}

#[test]
fn a_server_without_huge_pages_has_no_huge_page_stall() {
    for (fact, value, why) in [
        (
            "thp.enabled",
            "never",
            "transparent huge pages are set to never on this host",
        ),
        (
            "thp.server",
            "0",
            "the server runs with transparent huge pages switched off for itself (THP_enabled: 0)",
        ),
    ] {
        let verdict = stalls::thp_compaction().fact(fact, value).verdict();
        assert_eq!(named(&verdict), []);
        assert_eq!(rejection(&verdict, "thp-compaction"), why);
    }
}

#[test]
fn swapping_makes_compaction_less_sure() {
    let verdict = stalls::thp_compaction()
        .rate("vmstat.pswpout", 0.0, 5_000.0)
        .verdict();
    let finding = finding(&verdict, "thp-compaction");
    assert_eq!(finding.level, Level::Likely);
    assert_eq!(finding.against.len(), 1);
    assert_eq!(
        finding.against.first().unwrap().says,
        "pages were swapped at 5 k/s: memory was short everywhere, not only fragmented"
    );
}

/// What holds up the one session of a small application is no smaller a cause than what holds up forty.
#[test]
fn one_session_of_a_pool_of_one_is_a_crowd() {
    const WAITS: &str = "Waiting for table metadata lock";
    let of_one = Story::healthy().busy(&[("update", WAITS, "app", 1)]);
    assert_eq!(named(&of_one.verdict()), [("mdl-pileup", Level::Possible)]);
    // One of twenty is none.
    let of_many = Story::healthy().busy(&[
        ("update", WAITS, "app", 1),
        ("select", "Sending data", "app", 19),
    ]);
    assert_eq!(named(&of_many.verdict()), []);
}

#[test]
fn direct_reclaim_is_no_compaction() {
    let reclaim = stalls::thp_compaction()
        .rate("vmstat.compact_stall", 0.2, 0.4)
        .rate("vmstat.allocstall_normal", 0.0, 900.0);
    let of_server = reclaim
        .clone()
        .samples(&[(60, &["k:shrink_lruvec", "k:try_to_free_pages", "read"])])
        .threads(&[(
            3,
            "mysqld",
            Running,
            &["k:shrink_lruvec", "k:try_to_free_pages", "read"],
        )]);
    let named_by = |story: Story| {
        let verdict = story.verdict();
        named(&verdict)
            .first()
            .map(|(cause, level)| (cause.to_string(), *level))
    };
    let direct = |level| Some(("direct-reclaim".to_owned(), level));
    assert_eq!(named_by(of_server), direct(Level::Certain));
    // The profile of the server shows none: others wait for memory.
    assert_eq!(named_by(reclaim), direct(Level::Possible));
}

#[test]
fn other_refusals_are_not_a_full_server() {
    for outcome in [1.0, 2.0, 4.0, 5.0] {
        let verdict = Story::healthy()
            .level("probe.connect_outcome", 0.0, outcome)
            .verdict();
        assert_eq!(named(&verdict), [], "outcome {outcome}");
    }
}

#[test]
fn a_pool_that_uses_all_connections_harms_nobody() {
    let verdict = Story::healthy()
        .level("status.Threads_connected", 151.0, 151.0)
        .level("processlist.sessions", 149.0, 149.0)
        .verdict();
    assert_eq!(named(&verdict), []);
}

#[test]
fn slow_or_many_connections_alone_are_no_storm() {
    let slow = Story::healthy().level("probe.connect_us", 900.0, 5_000_000.0);
    assert_eq!(named(&slow.verdict()), []);
    let many = Story::healthy().rate("status.Connections", 20.0, 900.0);
    assert_eq!(named(&many.verdict()), []);
    let always = stalls::connection_storm().rate("status.Connections", 800.0, 900.0);
    assert_eq!(
        named(&always.verdict()),
        [("tcp-accept-overflow", Level::Certain)]
    );
}

#[test]
fn a_cold_buffer_pool_is_not_a_small_one() {
    let verdict = stalls::small_bufpool()
        .level("status.Innodb_buffer_pool_pages_free", 6_000.0, 3_000.0)
        .verdict();
    assert_eq!(named(&verdict), []);
    assert_eq!(
        rejection(&verdict, "small-bufpool"),
        "36.6 % of the buffer pool was free throughout: the pool is still being filled, it is not too small"
    );
}

#[test]
fn misses_that_the_page_cache_serves_are_no_stall() {
    let verdict = Story::healthy()
        .rate("status.Innodb_buffer_pool_reads", 900.0, 9_000.0)
        .verdict();
    assert_eq!(named(&verdict), []);
}

#[test]
fn waiting_for_a_replica_is_not_slow_fsync() {
    let verdict = Story::healthy()
        .rate("status.Questions", 4_000.0, 20.0)
        .level("status.Threads_running", 4.0, 40.0)
        .busy(&[("commit", "Waiting for semi-sync ACK from slave", "app", 40)])
        .verdict();
    // The processlist says it in so many words.
    assert_eq!(named(&verdict), [("semisync-ack", Level::Likely)]);
}

/// Seen on MariaDB 10.6: one reading of five met a pending fsync, of which there was one a second.
#[test]
fn a_single_pending_fsync_among_few_is_not_slow_fsync() {
    let verdict = Story::healthy()
        .rate("status.Innodb_data_fsyncs", 3.0, 1.0)
        .level("status.Innodb_data_pending_fsyncs", 0.0, 0.24)
        .verdict();
    assert_eq!(named(&verdict), []);
}

/// Seen on MySQL 9.7 while it warmed up: one reading of a slice met two pending fsyncs, the others none.
#[test]
fn a_single_reading_of_several_pending_fsyncs_is_not_slow_fsync() {
    let verdict = Story::healthy()
        .rate("status.Innodb_data_fsyncs", 3.0, 0.5)
        .level("status.Innodb_data_pending_fsyncs", 0.0, 0.0)
        .once("status.Innodb_data_pending_fsyncs", 66, 3.0)
        // Who only reads changes no rows.
        .rate("status.Innodb_rows_inserted", 300.0, 0.0)
        .rate("status.Innodb_rows_updated", 300.0, 0.0)
        .rate("status.Innodb_rows_deleted", 300.0, 0.0)
        .verdict();
    assert_eq!(named(&verdict), []);
}

#[test]
fn a_disk_that_completes_nothing_is_seen() {
    let verdict = stalls::slow_fsync()
        .rate("disk.sda.reads", 30.0, 0.0)
        .rate("disk.sda.writes", 300.0, 0.0)
        .rate("disk.sda.flushes", 100.0, 0.0)
        .rate("disk.sda.flush_ms", 200.0, 0.0)
        .level("disk.sda.in_flight", 1.0, 9.0)
        .rate("status.Innodb_data_fsyncs", 300.0, 0.0)
        .verdict();
    let finding = finding(&verdict, "slow-fsync");
    assert_eq!(finding.level, Level::Certain);
    let says: Vec<&str> = finding
        .witnesses
        .iter()
        .map(|witness| witness.says.as_str())
        .collect();
    assert!(
        says.contains(
            &"disk sda completed almost nothing while 9 or more requests were in progress"
        ),
        "{says:?}"
    );
}

#[test]
fn a_full_redo_log_makes_slow_fsync_less_sure() {
    let verdict = stalls::slow_fsync()
        .level("status.Innodb_checkpoint_age", 30e6, 78e6)
        .verdict();
    assert_eq!(
        named(&verdict),
        [
            ("slow-fsync", Level::Likely),
            ("checkpoint-sync-flush", Level::Possible)
        ]
    );
}

#[test]
fn the_slow_disk_is_named_among_several() {
    let verdict = stalls::slow_fsync()
        .rate("disk.nvme0n1.flushes", 5_000.0, 5_000.0)
        .rate("disk.nvme0n1.flush_ms", 500.0, 500.0)
        .rate("disk.nvme0n1.reads", 10.0, 10.0)
        .rate("disk.nvme0n1.writes", 5_000.0, 5_000.0)
        .rate("disk.nvme0n1.write_ms", 500.0, 500.0)
        .verdict();
    let finding = finding(&verdict, "slow-fsync");
    let flush = finding
        .witnesses
        .iter()
        .find(|witness| witness.id == "disk-flush")
        .unwrap();
    assert_eq!(
        flush.says,
        "disk sda took 450 ms for a flush, against 2 ms before the onset"
    );
    assert_eq!(flush.signals, ["disk.sda.flush_ms", "disk.sda.flushes"]);
}

#[test]
fn metadata_locks_are_not_row_locks() {
    let verdict = stalls::row_lock_pileup()
        .busy(&[("select", "Waiting for table metadata lock", "app", 40)])
        .verdict();
    assert_eq!(named(&verdict), [("mdl-pileup", Level::Certain)]);
    assert_eq!(
        rejection(&verdict, "row-lock-pileup"),
        "100 % of the busy sessions waited for a metadata lock, not for rows"
    );
}

#[test]
fn cpus_that_the_server_uses_make_row_locks_less_sure() {
    let busy = |server_ticks: f64| {
        stalls::row_lock_pileup()
            .level("cpu.busy_share", 0.35, 0.99)
            .rate("process.user_ticks", 20.0, server_ticks)
            .rate("process.system_ticks", 5.0, 10.0)
            .fact("host.cpus", "16")
            .verdict()
    };
    let named_so = |level| [("row-lock-pileup", level)];
    assert_eq!(named(&busy(1_500.0)), named_so(Level::Likely));
    // Compilers use them, or a backup.
    assert_eq!(named(&busy(30.0)), named_so(Level::Certain));
}

#[test]
fn long_selects_are_not_row_locks() {
    let verdict = Story::healthy()
        .rate("status.Questions", 4_000.0, 30.0)
        .level("status.Threads_running", 4.0, 40.0)
        .busy(&[("select", "Sending data", "app", 40)])
        .verdict();
    assert_eq!(named(&verdict), []);
    assert!(rejection(&verdict, "row-lock-pileup").starts_with("a necessary sign is missing"));
}
