//! Causes that are told by stacks, profiles, locks and settings of the host: each is named where it
//! is, and not where only its look-alike is.

use crate::common;
use std::sync::LazyLock;

use common::deep_stalls::{all, host, lock, more, server, waiting};
use common::{Story, finding, named};
use diagnosis::{Catalogue, Level, Verdict, diagnose};
use model::RunState::Sleeping;
use model::{Fact, TimedFact};

/// Each stall's cause, how sure it is, and what is said of it: two tests look at the same verdicts.
static VERDICTS: LazyLock<Vec<(&str, Level, Verdict)>> = LazyLock::new(|| {
    let stalls = all().into_iter();
    stalls
        .map(|(cause, level, story)| (cause, level, story.verdict()))
        .collect()
});

#[test]
fn each_stall_gets_its_cause() {
    let mut wrong = Vec::new();
    for (cause, level, verdict) in VERDICTS.iter() {
        if named(verdict).first() != Some(&(*cause, *level)) {
            wrong.push(format!(
                "{cause}: {:?}: {}",
                named(verdict),
                verdict.sentence
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `max` stands where a control group has no limit, and the period behind it.
#[test]
fn a_group_without_a_limit_is_no_sign_of_one() {
    let limit = |limit: &str| {
        let verdict = host::throttled().fact("cgroup.cpu_max", limit).verdict();
        let finding = finding(&verdict, "cgroup-throttle");
        let mut signs = finding.witnesses.iter();
        let sign = signs.find(|one| one.id == "limit");
        sign.map(|one| one.says.clone())
    };
    assert_eq!(
        limit("10000 100000").as_deref(),
        Some("cpu.max, the limit of the server's control group, is 0.1 CPUs (10000 100000)")
    );
    assert_eq!(limit("max 100000"), None);
}

/// A limit that is set stalls the server at once, and is read a moment later.
#[test]
fn a_setting_that_is_read_changed_soon_after_the_onset_is_a_sign() {
    let has_limit = |after_ms: u64| {
        let story = host::throttled().fact("cgroup.cpu_max", "max 100000");
        let mut incident = story.build();
        incident.facts.push(TimedFact {
            at: incident.stall.onset + after_ms,
            fact: Fact::new("cgroup.cpu_max", "10000 100000"),
        });
        let verdict = diagnose(&incident, Catalogue::builtin());
        let finding = finding(&verdict, "cgroup-throttle");
        finding.witnesses.iter().any(|one| one.id == "limit")
    };
    assert!(has_limit(2_000));
    // Who answers the stall needs longer.
    assert!(!has_limit(20_000));
}

#[test]
fn a_clock_that_was_set_weeks_ago_stalls_nothing_now() {
    let story = Story::healthy()
        .level("clock.wall_offset_ms", -3_600_000.0, -3_600_000.0)
        .rate("status.Innodb_buffer_pool_pages_flushed", 50.0, 0.0);
    let verdict = story.verdict();
    let of_clock = |(cause, _): &(&str, Level)| *cause == "clock-set-back";
    assert!(
        !named(&verdict).iter().any(of_clock),
        "{}",
        verdict.sentence
    );
}

#[test]
fn no_other_cause_is_as_sure() {
    let mut wrong = Vec::new();
    for (cause, _, verdict) in VERDICTS.iter() {
        let others: Vec<_> = named(verdict)
            .into_iter()
            .filter(|(other, level)| other != cause && *level > Level::Possible)
            .collect();
        if !others.is_empty() {
            wrong.push(format!("{cause}: {others:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn why(verdict: &Verdict, cause: &str) -> String {
    let mut rejected = verdict.rejected.iter();
    rejected
        .find(|rejected| rejected.cause == cause)
        .map_or_else(
            || "not rejected".to_owned(),
            |rejected| rejected.why.clone(),
        )
}

#[test]
fn a_busy_server_that_copes_gets_no_finding() {
    // Crowds at the same places, and every statement is through in a few milliseconds.
    for (cause, _, story) in all() {
        let latches = [
            "malloc-arena",
            "timezone-mutex",
            "kernel-mutex",
            "checkpoint-sync-flush",
            "trx-sys-rseg",
            "ahi-latch",
            "btr-index-latch",
            "query-cache",
            "table-open-cache",
            "binlog-group-commit",
            "too-many-running",
            "tcmalloc-central",
            "general-log",
            "spin-tuning",
        ];
        if !latches.contains(&cause) {
            continue;
        }
        let verdict = story
            .rate("status.Questions", 1.0, 45_000.0)
            .rate("status.Com_commit", 1.0, 9_000.0)
            .verdict();
        assert_eq!(named(&verdict), [], "{cause}: {}", verdict.sentence);
        assert!(
            why(&verdict, cause).contains("the server is busy but keeps up"),
            "{cause}: {}",
            why(&verdict, cause)
        );
    }
}

#[test]
fn without_stacks_and_profiles_nothing_is_listed_that_nothing_points_to() {
    let verdict = Story::healthy().without_stacks().verdict();
    assert_eq!(named(&verdict), []);
    assert_eq!(
        verdict.sentence,
        "No known cause fits what was recorded. Seen: SELECT 1 took 3.2 s, the limit is 1 s."
    );
}

#[test]
fn system_time_alone_points_at_nothing_in_particular() {
    let verdict = Story::healthy()
        .without_stacks()
        .level("cpu.system_share", 0.1, 0.7)
        .rate("process.system_ticks", 20.0, 300.0)
        .rate("psi.memory.some_us", 0.0, 200_000.0)
        .verdict();
    assert_eq!(named(&verdict), []);
    assert!(
        !verdict.sentence.contains("Not checked"),
        "{}",
        verdict.sentence
    );
}

#[test]
fn settings_refute() {
    for (cause, story, fact, value) in [
        (
            "ahi-latch",
            server::ahi(),
            "variables.innodb_adaptive_hash_index",
            "OFF",
        ),
        (
            "query-cache",
            server::query_cache(),
            "variables.query_cache_type",
            "OFF",
        ),
        (
            "kernel-mutex",
            server::kernel_mutex(),
            "variables.version",
            "8.0.36",
        ),
        (
            "malloc-arena",
            server::malloc_arena(),
            "server.allocator",
            "jemalloc",
        ),
        (
            "innodb-thread-concurrency",
            host::innodb_queue(),
            "variables.innodb_thread_concurrency",
            "0",
        ),
        (
            "deadlock-detect",
            host::deadlock_search(),
            "variables.innodb_deadlock_detect",
            "OFF",
        ),
        (
            "autoinc-lock",
            host::autoinc(),
            "variables.innodb_autoinc_lock_mode",
            "2",
        ),
        (
            "dns-resolve",
            host::resolver(),
            "variables.skip_name_resolve",
            "ON",
        ),
    ] {
        let verdict = story.fact(fact, value).verdict();
        assert!(
            !named(&verdict).iter().any(|(found, _)| *found == cause),
            "{cause}: {}",
            verdict.sentence
        );
        assert!(
            why(&verdict, cause).contains(value),
            "{cause}: {}",
            why(&verdict, cause)
        );
    }
}

/// The crowd waits for kernel_mutex, and its one holder waits for an arena.
#[test]
fn the_holder_and_not_the_crowd_is_the_root() {
    let story = server::kernel_mutex().locks(
        &[
            common::deep::Lock {
                name: "kernel_mutex",
                waiters: 40,
                path: &["trx_start"],
                holder: Some((
                    "waits for malloc arena main_arena",
                    &[
                        "__lll_lock_wait_private",
                        "_int_malloc",
                        "malloc",
                        "mem_heap_create_block",
                        "lock_rec_create",
                    ],
                )),
            },
            lock("malloc arena main_arena", 2),
        ],
        &[&[0, 1]],
    );
    let verdict = story.verdict();
    let order: Vec<&str> = named(&verdict)
        .into_iter()
        .map(|(cause, _)| cause)
        .collect();
    assert_eq!(
        order,
        ["malloc-arena", "kernel-mutex"],
        "{}",
        verdict.sentence
    );
    let relations = |cause: &str| -> Vec<(String, String)> {
        let relations = &finding(&verdict, cause).relations;
        relations
            .iter()
            .map(|one| (one.kind.clone(), one.cause.clone()))
            .collect()
    };
    let pair = |kind: &str, cause: &str| (kind.to_owned(), cause.to_owned());
    assert_eq!(relations("malloc-arena"), [pair("root-of", "kernel-mutex")]);
    assert_eq!(
        relations("kernel-mutex"),
        [pair("effect-of", "malloc-arena")]
    );
    // It is only possible, and goes first all the same: the chain shows it.
    assert_eq!(finding(&verdict, "malloc-arena").level, Level::Possible);
    assert!(
        verdict
            .sentence
            .contains("followed by kernel-mutex: up to 40 threads waited for kernel_mutex"),
        "{}",
        verdict.sentence
    );
    // Without the chain the usual order holds.
    let verdict = server::kernel_mutex().verdict();
    assert_eq!(named(&verdict), [("kernel-mutex", Level::Certain)]);
}

/// Seen on MySQL 5.5.9: 300 statements of some milliseconds on two processors. Whoever holds the mutex has no processor.
#[test]
fn a_mutex_behind_busy_processors_is_no_cause() {
    let busy = |functions| {
        server::kernel_mutex()
            .samples(&[(95, functions)])
            .level("cpu.busy_share", 0.1, 0.99)
            .level("cpu.system_share", 0.02, 0.05)
            .verdict()
    };
    let verdict = busy(&["row_search_for_mysql", "ha_innobase::index_next"]);
    let turned = verdict.rejected.iter();
    let why: Vec<&str> = turned
        .filter(|one| one.cause == "kernel-mutex")
        .map(|one| one.why.as_str())
        .collect();
    assert_eq!(named(&verdict), []);
    assert!(
        matches!(why[..], [why] if why.starts_with("all processors were busy")),
        "{why:?}"
    );
    // As busy, but with spinning.
    let verdict = busy(&["ut_delay", "mutex_spin_wait", "trx_commit_off_kernel"]);
    assert_eq!(named(&verdict)[0], ("kernel-mutex", Level::Certain));
}

/// Sessions in 'Opening tables' behind the statistics thread, which waits
/// for space in the redo log.
#[test]
fn a_chain_of_three_ends_at_its_root() {
    let story = server::statistics()
        .level("status.Innodb_checkpoint_age", 30e6, 78e6)
        .level("innodb.checkpoint_age_bytes", 30e6, 78e6)
        .locks(
            &[
                common::deep::Lock {
                    name: "dict_sys mutex",
                    waiters: 36,
                    path: &["dict_table_open_on_name"],
                    holder: Some((
                        "waits for space in the redo log (checkpoint)",
                        &[
                            "log_free_check",
                            "que_eval_sql",
                            "dict_stats_save",
                            "dict_stats_thread",
                        ],
                    )),
                },
                lock("space in the redo log (checkpoint)", 3),
            ],
            &[&[0, 1]],
        );
    let verdict = story.verdict();
    let order: Vec<&str> = named(&verdict)
        .into_iter()
        .map(|(cause, _)| cause)
        .collect();
    assert_eq!(
        order,
        ["checkpoint-sync-flush", "persistent-stats"],
        "{}",
        verdict.sentence
    );
}

#[test]
fn one_odd_thread_is_no_crowd() {
    let story = waiting("Sending data").locks(
        &[
            lock("malloc arena main_arena", 2),
            lock("trx_sys mutex", 3),
            lock("metadata lock", 1),
        ],
        &[],
    );
    assert_eq!(named(&story.verdict()), []);
}

/// MySQL 5.1 waits for an ALTER in `open_table` itself; later ones wait below it for latches that have nothing to
/// do with it (seen on MySQL 9.7).
#[test]
fn a_wait_below_open_table_is_none_for_a_ddl() {
    const BEHIND_ALTER: &[&str] = &["pthread_cond_wait", "open_table", "open_tables"];
    const AT_A_LATCH: &[&str] = &[
        "pthread_cond_wait",
        "os_event::wait_low",
        "sync_array_wait_event",
        "trx_allocate_for_background",
        "ha_innobase::open",
        "open_table",
        "open_tables",
    ];
    let named_as = |stack| {
        let story = waiting("Opening tables").threads(&[(36, "mysqld", Sleeping, stack)]);
        named(&story.verdict())
            .iter()
            .any(|(cause, _)| *cause == "mdl-pileup")
    };
    assert!(named_as(BEHIND_ALTER));
    assert!(!named_as(AT_A_LATCH));
}

/// What was under way when the server was stopped takes as long as the stop (seen on MySQL 9.7).
#[test]
fn a_flush_in_a_stopped_server_tells_nothing_of_the_disk() {
    const STOPPED: &[&str] = &["k:do_signal_stop", "poll"];
    let slow = || common::stalls::slow_fsync();
    let causes = |story: Story| -> Vec<String> {
        let verdict = story.verdict();
        let causes = named(&verdict);
        causes
            .iter()
            .map(|(cause, _)| (*cause).to_owned())
            .collect()
    };
    assert!(causes(slow()).contains(&"slow-fsync".to_owned()));
    let stopped = slow().threads(&[(400, "mysqld", model::RunState::Stopped, STOPPED)]);
    assert!(!causes(stopped).contains(&"slow-fsync".to_owned()));
}

/// The processors are busy with other programs: a crowd of statements that hardly use them did not do that.
#[test]
fn processors_that_others_keep_busy_are_no_crowd_of_statements() {
    assert_eq!(
        named(&host::too_many().verdict()),
        [("too-many-running", Level::Certain)]
    );
    let others = host::too_many().rate("process.user_ticks", 60.0, 40.0);
    assert_eq!(named(&others.verdict()), []);
}

/// The first witness of a thread pool's stall is that there is one, which was so before, too.
#[test]
fn the_sentence_tells_what_was_measured_and_not_a_setting() {
    let (_, _, story) = all()
        .into_iter()
        .find(|(cause, _, _)| *cause == "thread-pool-stall")
        .unwrap();
    let sentence = story.verdict().sentence;
    assert!(sentence.contains("SELECT 1 took up to"), "{sentence}");
}

/// Seen on MySQL 5.5.9: the onset lay in the second before 64 clients came, in which nobody asked for anything.
#[test]
fn an_idle_second_of_the_stall_does_not_say_that_the_server_no_longer_copes() {
    let story = all()
        .into_iter()
        .find_map(|(cause, _, story)| (cause == "too-many-running").then_some(story))
        .unwrap()
        .rate("status.Questions", 1.0, 45_000.0);
    let mut incident = story.build();
    let onset = incident.stall.onset;
    let mut change = |name: &str, change: &dyn Fn(usize, f64) -> f64| {
        let series = incident.timeline.series.iter_mut();
        let series = series
            .into_iter()
            .find(|series| series.name == name)
            .unwrap();
        let ticks = &incident.timeline.sources[series.source].ticks;
        let first = ticks.partition_point(|tick| *tick <= onset);
        for (index, value) in series.values.iter_mut().enumerate().skip(first) {
            *value = change(index - first, *value);
        }
    };
    change("status.Questions", &|index, value| {
        value
            - if index < 2 {
                45_000.0 * (index + 1) as f64
            } else {
                90_000.0
            }
    });
    change("status.Threads_running", &|index, value| {
        if index < 2 { 1.0 } else { value }
    });
    let verdict = diagnosis::diagnose(&incident, diagnosis::Catalogue::builtin());
    assert_eq!(named(&verdict), []);
    assert!(why(&verdict, "too-many-running").contains("the server is busy but keeps up"));
}

/// Seen on a replica of MariaDB that follows a busy source with four workers: two or three of them always wait for their
/// turn, and the source's writes are applied as they come.
#[test]
fn workers_of_a_replica_that_take_turns_are_no_stall() {
    let replica = |applied| {
        let story = all()
            .into_iter()
            .find_map(|(cause, _, story)| (cause == "replication-apply").then_some(story))
            .unwrap();
        story
            .rate("replica.received_position", 90_000.0, 90_000.0)
            .rate("replica.applied_position", 90_000.0, applied)
            .verdict()
    };
    assert_eq!(
        named(&replica(0.0)),
        [("replication-apply", Level::Certain)]
    );
    let applies = replica(88_000.0);
    assert_eq!(named(&applies), []);
    let why = why(&applies, "replication-apply");
    assert!(why.contains("take turns"), "{why}");
}

/// Seen beside a queue for a lock: somebody copied a file on the same host, and the server did not wait for the disk.
#[test]
fn a_host_that_always_withholds_as_much_took_nothing_away() {
    // A fifth of what was wanted, before and in the stall: steal is counted only while somebody wants to run.
    let always = |busy: f64, steal: f64| {
        host::steal()
            .level("cpu.busy_share", 0.16, busy)
            .level("cpu.steal_share", 0.04, steal)
    };
    let verdict = always(0.75, 0.2).verdict();
    assert!(named(&verdict).is_empty(), "{}", verdict.sentence);
    let why = why(&verdict, "steal-time");
    assert!(why.contains("demand grew, supply did not fall"), "{why}");
    // As much was wanted as before, and more taken away.
    let taken = always(0.16, 0.24).verdict();
    assert_eq!(
        named(&taken).first().map(|(cause, _)| *cause),
        Some("steal-time")
    );
}

#[test]
fn programs_that_take_what_is_left_take_nothing_from_the_server() {
    let nice = host::other_programs()
        .level("cpu.nice_share", 0.0, 0.9)
        .verdict();
    assert!(named(&nice).is_empty(), "{}", nice.sentence);
    // The server itself is the one that works.
    let own = host::other_programs()
        .rate("process.user_ticks", 60.0, 1_300.0)
        .verdict();
    assert!(
        named(&own)
            .iter()
            .all(|(cause, _)| *cause != "other-programs-cpu"),
        "{}",
        own.sentence
    );
}

#[test]
fn threads_that_wait_for_something_else_do_not_wait_for_a_processor() {
    let locked = host::other_programs()
        .level("cpu.procs_running", 2.0, 90.0)
        .rate("threads.by_name.mysqld.wait_ns", 1e7, 1.5e9)
        .verdict();
    let told = named(&locked);
    assert!(
        told.iter().all(|(cause, _)| *cause != "other-programs-cpu"),
        "{told:?}"
    );
}

#[test]
fn pages_that_wait_to_be_written_are_no_stall_of_a_server_that_does_not_wait_for_them() {
    assert_eq!(
        named(&host::writeback().verdict()),
        [("pagecache-writeback", Level::Certain)]
    );
    let unharmed = Story::healthy()
        .level("meminfo.Dirty", 2e7, 3e9)
        .rate("psi.io.some_us", 20_000.0, 800_000.0)
        .rate("disk.sda.write_bytes", 4e6, 2e8)
        .rate("disk.sda.busy_ms", 150.0, 990.0);
    assert_eq!(named(&unharmed.verdict()), []);
}

/// Three hundred statements at once: some of their threads are always at the lock of the memory map.
#[test]
fn a_few_threads_at_the_memory_map_are_not_what_a_crowd_waits_for() {
    let crowd = host::memory_map_walked().level("status.Threads_running", 2.0, 300.0);
    let named = finding(&crowd.verdict(), "mmap-lock").level;
    assert_eq!(named, Level::Likely);
    let without_a_walk = crowd.samples(&[]);
    assert_eq!(
        finding(&without_a_walk.verdict(), "mmap-lock").level,
        Level::Possible
    );
}

/// Who captured no stacks sees a table's lock only: it is the log's where each statement waits for it.
#[test]
fn a_log_that_is_a_table_is_known_by_its_lock() {
    let first = |output: &str, waits: f64| {
        let verdict = waiting("Waiting for table level lock")
            .rate("status.Questions", 400.0, 300.0)
            .rate("status.Table_locks_waited", 0.0, waits)
            .fact("variables.general_log", "ON")
            .fact("variables.log_output", output)
            .without_stacks()
            .verdict();
        named(&verdict)
            .first()
            .map(|(cause, _)| (*cause).to_owned())
    };
    assert_eq!(first("FILE,TABLE", 290.0).as_deref(), Some("general-log"));
    let pileup = Some("table-lock-pileup");
    assert_eq!(first("FILE", 290.0).as_deref(), pileup);
    assert_eq!(first("TABLE", 20.0).as_deref(), pileup);
}

/// A control group without a limit says "max": it was taken, and nothing can be compared with it.
#[test]
fn a_limit_that_is_a_word_is_told_as_it_is() {
    let verdict = host::thread_limit()
        .fact("cgroup.pids_max", "max")
        .verdict();
    let unknown = &finding(&verdict, "thread-limit").unknown;
    let told = "cgroup.pids_max is \"max\", which is no number";
    assert!(unknown.iter().any(|line| line == told), "{unknown:?}");
    let is_missed = |line: &String| line.contains("pids_max") && line.contains("not in the record");
    assert!(!unknown.iter().any(is_missed), "{unknown:?}");
}

/// The lines are the same in every kernel that inserts one; the timers of newer ones know of it.
#[test]
fn a_leap_second_is_blamed_on_old_kernels_only() {
    let causes = |story: Story| {
        named(&story.verdict())
            .iter()
            .any(|it| it.0 == "leap-second")
    };
    assert!(causes(host::leap_second()));
    let newer = host::leap_second().fact("host.kernel", "5.14.0-362.el9.x86_64");
    assert!(!causes(newer));
    let busier = host::leap_second().rate("status.Questions", 4_000.0, 9_000.0);
    assert!(!causes(busier));
    let other = host::timers_at_once().kernel_log(&["usb 1-1: new device"]);
    assert!(!causes(other));
}

/// A node that is shut down says that it is in no primary component; one whose cluster is whole waits for a slow one.
#[test]
fn who_leaves_a_cluster_has_not_lost_it() {
    let causes = |story: Story| {
        named(&story.verdict())
            .iter()
            .any(|it| it.0 == "quorum-lost")
    };
    assert!(causes(host::non_primary()));
    let alone = Story::healthy().level("status.wsrep_cluster_size", 0.0, 0.0);
    assert!(!causes(alone));
    let shut_down = host::galera().level("status.wsrep_cluster_size", 2.0, 1.0);
    assert!(!causes(shut_down));
    let leaves = Story::healthy().error_log(&[
        "2026-11-01 10:00:06 0 [Note] WSREP: gcomm: closing backend",
        "2026-11-01 10:00:06 0 [Note] WSREP: New COMPONENT: primary = no, bootstrap = no, my_idx = 0, memb_num = 1",
        "2026-11-01 10:00:06 0 [Note] WSREP: Received self-leave message.",
    ]);
    assert!(!causes(leaves));
    assert!(!causes(host::galera()));
    let verdict = host::non_primary().verdict();
    let found = named(&verdict);
    assert!(
        found.iter().all(|it| it.0 != "galera-gr-flow-control"),
        "{found:?}"
    );
}

/// Threads wait in the same place for a mutex that somebody has, and on kernels that wake them.
#[test]
fn a_mutex_that_somebody_holds_has_lost_no_wake_up() {
    let causes = |story: Story| {
        named(&story.verdict())
            .iter()
            .any(|it| it.0 == "futex-wait-bug")
    };
    assert!(causes(host::lost_wakeup()));
    let mended = host::lost_wakeup().fact("host.kernel", "2.6.32-504.16.2.el6.x86_64");
    assert!(!causes(mended));
    let held = host::lost_wakeup().locks(
        &[common::deep_stalls::held(
            "mutex",
            30,
            "mysqld",
            &["buf_page_get_gen"],
        )],
        &[],
    );
    assert!(!causes(held));
}

/// What is known is how many huge pages the host has, and who compacts memory waits for it as well.
#[test]
fn huge_pages_of_other_programs_are_not_the_servers() {
    let level = |story: Story| {
        let verdict = story.verdict();
        let named = named(&verdict);
        named
            .iter()
            .find(|it| it.0 == "thp-allocator-bloat")
            .map(|it| it.1)
    };
    let huge = |bytes: f64| more::huge_heap().level("meminfo.AnonHugePages", bytes, bytes);
    assert_eq!(level(huge(2.7e9)), Some(Level::Likely));
    assert_eq!(level(huge(4.0e9)), Some(Level::Possible));
    assert_eq!(level(huge(9.9e9)), None);
    let compacts = huge(2.7e9).rate("vmstat.compact_stall", 0.0, 400.0);
    assert_eq!(level(compacts), None);
}

/// A report on MySQL 5.5 whose pages get their adaptive hash anew, and sessions that open tables.
#[test]
fn a_page_that_gets_its_hash_anew_is_no_drop() {
    let is_named = |frames: &'static [&'static str]| {
        let verdict = waiting("Opening tables")
            .threads(&[(2, "mysqld", Sleeping, frames)])
            .verdict();
        named(&verdict)
            .iter()
            .any(|it| it.0 == "drop-table-bufpool" && it.1 > Level::Possible)
    };
    assert!(is_named(&[
        "mem_heap_create_block",
        "btr_search_drop_page_hash_index",
        "btr_drop_ahi_for_table",
        "row_drop_table_for_mysql",
    ]));
    assert!(!is_named(&[
        "mem_heap_create_block",
        "btr_search_drop_page_hash_index",
        "btr_search_build_page_hash_index",
        "row_search_for_mysql",
    ]));
}

/// MySQL 5.5 opens the tables in one thread after a crash, and who comes late sees nothing else before.
#[test]
fn a_start_is_one_even_for_who_comes_late() {
    let level = |frames: &'static [&'static str]| {
        let verdict = Story::healthy()
            .threads(&[(1, "mysqld", Sleeping, frames)])
            .level("probe.connect_outcome", 1.0, 1.0)
            .unchanged()
            .verdict();
        let named = named(&verdict);
        let start = named.iter().find(|it| it.0 == "slow-startup");
        start.map(|it| it.1)
    };
    let opens = &[
        "pread64",
        "os_file_pread",
        "fil_load_single_table_tablespaces",
        "recv_init_crash_recovery",
    ];
    assert_eq!(level(opens), Some(Level::Certain));
    // A statement opens a table that a foreign key names, at any time.
    let key = &[
        "pread64",
        "fil_ibd_open",
        "dd_open_table_one_on_name",
        "dd_open_fk_tables",
    ];
    assert_eq!(level(key), None);
}

/// `top` shows it where nobody printed `cpu.stat`: the main thread is ready, other CPUs are idle, and the server hardly runs.
#[test]
fn a_server_that_is_ready_beside_idle_cpus_is_limited_unless_its_group_says_otherwise() {
    let story = |ready: f64, busy: f64| {
        Story::healthy()
            .level("process.ready_share", 0.0, ready)
            .level("process.cpus", 0.1, 0.1)
            .level("cpu.busy_share", 0.2, busy)
    };
    let is_named = |story: Story| {
        let verdict = story.verdict();
        named(&verdict).iter().any(|one| one.0 == "cgroup-throttle")
    };
    assert!(is_named(story(1.0, 0.2)));
    assert!(!is_named(story(0.1, 0.2)), "it runs when it is ready");
    assert!(!is_named(story(1.0, 0.9)), "other programs have the CPUs");
    let counted = story(1.0, 0.2).rate("cgroup.cpu.nr_throttled", 0.0, 0.0);
    assert!(!is_named(counted));
}
