//! What the texts say, and that they fit.

use model::{LockRow, StackTable, ThreadSnapshot, WaitCounting};
use report::evidence::{
    locks_json::LocksInput,
    locks_text::{LocksTextOptions, locks_text},
    profile_diff::RankBy,
    stacks_text::StacksTextOptions,
};

use crate::evidence::{assert_fits, data, diff, locks, profile, stacks};

#[test]
fn a_loaded_server_fits_every_width() {
    let server = data::server();
    let two = [server.snapshot.clone(), server.snapshot.clone()];
    let (calm, stall) = (data::profile(false), data::profile(true));
    for width in [40, 60, 80, 120, 200] {
        for snapshots in [&two[..1], &two[..]] {
            assert_fits(
                &stacks(snapshots, &server.book, &server.sessions, width),
                width,
            );
        }
        assert_fits(&profile(&stall, width), width);
        for by in [
            RankBy::Own,
            RankBy::Total,
            RankBy::OwnTime,
            RankBy::TotalTime,
        ] {
            assert_fits(&diff(&calm, &stall, by, width), width);
        }
        for exact in [false, true] {
            assert_fits(&locks(&data::locks(exact), width), width);
        }
    }
}

#[test]
fn a_group_of_threads() {
    let server = data::server();
    let text = stacks(
        std::slice::from_ref(&server.snapshot),
        &server.book,
        &server.sessions,
        80,
    );
    assert!(
        text.starts_with(
            "pid 4242: 500 threads in 30 groups\n\
         Recorded with BPF task iterator, nothing stopped; capture 5.35 ms; no thread was\n\
         stopped; 97.6% of the stacks complete (488 of 500). 2 threads left out: over the\n\
         limit, or ended meanwhile.\n\n\
         231 threads, 46.2% -------------------------------------------------------------\n  \
         state     sleeping in futex 0x7f3a12345678 (FUTEX_WAIT_BITSET)\n"
        ),
        "{text}"
    );
    let group = text
        .split("\n\n")
        .find(|part| part.starts_with("8 threads"))
        .unwrap();
    assert_eq!(
        group,
        "8 threads, 1.6% ----------------------------------------------------------------
  state     running
  threads   mariadbd ×8 (5159, 5160, 5161, 5162, 5163 and 3 more)
  sessions  2 INSERT up to 16.5 s, 2 SELECT up to 8.75 s, 1 COMMIT 15.5 s, 1
            Sleep 15 min 5 s, 1 UPDATE 4.81 s
            id 10453: Query, INSERT, 16.5 s, Commit
            id 10448: Query, INSERT, 16.5 s, Commit
            id 10449: Query, COMMIT, 15.5 s, Commit
            id 10455: Query, SELECT, 8.75 s, Sending data
            id 10450: Query, SELECT, 8.7 s, Sending data
  means     _int_free: malloc and its libraries, work: Returns memory to its
            arena under its lock; other threads of the arena wait.
      _int_free  libc.so.6
      my_free  mariadbd
      mysql_execute_command
      mysql_parse
      dispatch_command
      do_command
      do_handle_one_connection
      handle_one_connection
      mariadbd+0xd0a1c0  (no symbol)
      libc.so.6+0x89140  (no symbol)
      clone3"
    );
    for line in [
        "  state     sleeping in futex at 60 addresses (FUTEX_WAIT_BITSET)\n",
        "  state     uninterruptible in fdatasync\n",
        "  [k] io_schedule\n",
        "      cut here: deeper than the bytes that were copied\n",
        "      no frames: not permitted\n",
        "      std::_Rb_tree<std::__…ptions> > >::_M_get_insert_hint_unique_pos  mariadbd\n",
        "WITHOUT A NAME\n  - 1 function in libc.so.6 (no symbol): no symbol at this address: debug\n",
    ] {
        assert!(text.contains(line), "{line}");
    }
}

#[test]
fn several_snapshots_and_limits() {
    let server = data::server();
    let mut later = server.snapshot.clone();
    later.wall_us = 7350;
    later.stopped_us = 120;
    for thread in later.threads.iter_mut().take(100) {
        thread.switches += 1;
    }
    let snapshots = [server.snapshot.clone(), later];
    let text = report::evidence::stacks_text::stacks_text(
        &report::evidence::stacks_json::StacksInput {
            pid: 4242,
            snapshots: &snapshots,
            book: &server.book,
            sessions: &server.sessions,
            took: None,
        },
        &StacksTextOptions {
            groups_max: 1,
            frames_max: 3,
            ..StacksTextOptions::default()
        },
    );
    for part in [
        "pid 4242: 500 threads on average of 2 snapshots, in 30 groups\n",
        "capture took 6.35 ms on\naverage, 7.35 ms at most; longest stop of a thread 120 µs;",
        "231 threads on average (462 in 2 snapshots), 46.2% ---",
        "  moved     131 of 231 threads not since the first snapshot\n",
        "  [k] do_futex\n      … 16 more frames\n\n29 more groups with 269 threads on average",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn nothing_is_said_as_such() {
    let empty = ThreadSnapshot {
        threads: Vec::new(),
        left_out: 0,
        ..data::server().snapshot
    };
    let book = StackTable::default();
    let sessions = std::collections::HashMap::new();
    assert_eq!(stacks(&[], &book, &sessions, 80), "pid 4242: no snapshot\n");
    let text = stacks(&[empty], &book, &sessions, 80);
    assert!(
        text.starts_with("pid 4242: 0 threads in 0 groups\n"),
        "{text}"
    );
    let mut nothing = data::profile(false);
    nothing.0.counts.clear();
    assert!(profile(&nothing, 80).starts_with("0 samples in 60 s"));
    let compared = diff(&nothing, &nothing, RankBy::Own, 80);
    assert!(compared.contains("A has no samples, so nothing can be compared.\n"));
    let mut no_locks = data::locks(true);
    let table = &mut no_locks.0;
    table.locks.clear();
    table.conditions.clear();
    table.kernel_locks.clear();
    table.chains.clear();
    table.absent.clear();
    table.idle_threads = 0;
    table.to = table.from;
    table.depth = WaitCounting::Exact {
        events: 0,
        stack_every: 0,
        cost_us: 0,
        switched_off_after_ms: None,
    };
    assert_eq!(
        locks(&no_locks, 80),
        "pid 4242: 0 locks waited for in 0 s\n\
         Exact: every wait was counted and timed, 0 waits; callers were not recorded; the\n\
         kernel does not report the cost of counting.\n\nLOCKS\n  \
         No thread was seen waiting for a lock.\n"
    );
}

#[test]
fn a_profile_reads_like_opreport() {
    let text = profile(&data::profile(true), 80);
    assert!(
        text.starts_with(
            "1,813 samples in 10 s (181/s at 99 Hz), 1.83 of 2 CPUs busy\n\
             86.6% kernel, 13.4% user; 88.3% the server's; the CPUs were idle for 8.43% of\n\
             the time; 100% of the stacks complete; 3 samples lost.\n\n\
             SAMPLES    SELF   TOTAL  IMAGE      FUNCTION\n    \
             620   34.2%   34.2%  [kernel]   isolate_migratepages_block\n    \
             390   21.5%   21.5%  [kernel]   clear_page_erms\n    \
             310   17.1%   17.1%  [kernel]   compaction_alloc\n    \
             210   11.6%   62.9%  [kernel]   compact_zone\n"
        ),
        "{text}"
    );
    assert!(text.contains(
        "SAMPLES   SHARE  KERNEL  THREADS\n  \
         1,600   88.3%   85.0%  mariadbd  (server)\n    \
         210   11.6%  100.0%  kcompactd0\n"
    ));
    assert!(text.contains("  - 8.83% of the samples, in mariadbd: no symbol at this address"));
    assert!(
        text.contains(
            "\nMEANINGS\n  \
             - isolate_migratepages_block: the kernel's memory: allocation, compaction,\n    \
             huge pages, page faults, work: Compaction looks for pages that can be moved;\n    \
             hot when memory is in pieces.\n"
        ),
        "{text}"
    );
}

#[test]
fn an_idle_session_beside_the_stalled_one() {
    let (calm, stall) = (data::profile(false), data::profile(true));
    assert_eq!(RankBy::usual(&calm.0, &stall.0), RankBy::OwnTime);
    let text = diff(&calm, &stall, RankBy::OwnTime, 80);
    for part in [
        "CPUs idle                         99.7%         8.4%    -91.3 pp\n",
        "A has only 31 samples: its shares are rough, one sample is 3.23%.\n",
        "B was 351 times as busy as A, so the shares are of all CPU time, with idle time.\n",
        " +31.3 pp    0.0%   31.3%     0.0%    31.3%  isolate_migratepages_block\n \
         +19.7 pp    0.0%   19.7%     0.0%    19.7%  clear_page_erms  [kernel]\n \
         +15.7 pp    0.0%   15.7%     0.0%    15.7%  compaction_alloc  [kernel]\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let by_samples = diff(&calm, &stall, RankBy::Own, 80);
    assert!(
        by_samples
            .contains(" -42.8 pp   51.6%    8.8%    51.6%     8.8%  mariadbd+0xe4c210  mariadbd\n")
    );
    assert!(by_samples.contains("B was 351 times as busy as A, so its shares are of very little"));
    let narrow = diff(&calm, &stall, RankBy::OwnTime, 50);
    assert!(
        narrow.contains("\nCPUs idle: 99.7% to 8.4% (-91.3 pp)\n"),
        "{narrow}"
    );
    let wide = diff(&calm, &stall, RankBy::TotalTime, 120);
    assert!(wide.contains("  1616.2 ms/s  "), "{wide}");
    let same = diff(&stall, &stall, RankBy::Own, 80);
    assert!(same.contains(" 28\nunchanged, not shown.\n"), "{same}");
}

#[test]
fn locks_with_callers_holders_and_the_chain() {
    let text = locks(&data::locks(false), 80);
    for part in [
        "Sampled: 100 snapshots, one every 50 ms. Counts and times are estimates (~); a\n\
         wait shorter than 50 ms is seen with the probability of its length.\n",
        "WHO WAITS FOR WHOM\n  \
         - 57 threads wait for kernel_mutex, held by thread 4711 (mysqld, by its\n    \
         stack), which waits for malloc arena main_arena with 2 others, held by\n    \
         thread 4712 (mysqld, by the lock's owner field), which runs.\n",
        "WAITERS    WAITS     TOTAL      MEAN       MAX   SHARE  LOCK\n     \
         57   ~1,240   ~41.2 s  ~33.2 ms   ≥2.42 s   31.7%  kernel_mutex\n",
        " <0.001%  rocksdb::InstrumentedMu…\n                                                        \
         ta::a_name_that_is_longe\n",
        "\nkernel_mutex\n  \
         named by the call path of the waiting threads, at 0x7f3a12345678\n  \
         - ~31 s in ~900 waits: trx_commit_off_kernel < trx_commit_for_mysql <\n",
        "  held by thread 4711 (mysqld), known by its stack, in 12 snapshots: waits for\n          \
         malloc arena main_arena\n      \
         _int_free  libc.so.6\n      \
         free\n      \
         ut_free  mariadbd\n",
        "no stack was recorded",
        "  131 threads wait for work.\n",
        "  21,340   20,991     1.1 s   51.5 µs     31 ms  mmap_lock\n    \
         rwsem_down_write_slowpath < down_write_killable < vm_mmap_pgoff\n",
        "  - exact counts of waits: not permitted: needs CAP_BPF and CAP_PERFMON: setcap\n",
        "\nMEANINGS\n  - kernel_mutex: begin, commit, rollback, waits: Threads wait for the one mutex\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let exact = locks(&data::locks(true), 80);
    for part in [
        "Exact: every wait was counted and timed, 1,234,567 waits; callers are from one\n\
         wait in 64; counting cost 131 ms (4.68% of one CPU). Counting stopped after\n\
         2.8 s, because the rate of events was above the limit.\n",
        "     57    1,240    41.2 s   33.2 ms    2.42 s   31.7%  kernel_mutex\n",
    ] {
        assert!(exact.contains(part), "{part}\n{exact}");
    }
    assert!(!exact.contains('~') && !exact.contains('≥'));
    let narrow = locks(&data::locks(false), 50);
    assert!(
        narrow.contains("\nkernel_mutex\n    waiters 57, waits ~1,240, total ~41.2 s, mean\n"),
        "{narrow}"
    );
}

#[test]
fn locks_that_matter_lead_and_the_rest_is_summed() {
    let (mut table, book) = data::locks(true);
    let row = table.locks[0].clone();
    let held = table.chains[0].clone();
    table.locks = (0..40)
        .map(|at: u32| LockRow {
            name: format!("lock {at}"),
            total_us: 1e6 / f64::from(1 << at.min(20)),
            waits: 10,
            ..row.clone()
        })
        .collect();
    table.chains = (0..9)
        .map(|at| {
            let mut chain = held.clone();
            chain.links.truncate(1);
            chain.links[0].holder = None;
            chain.links[0].lock = format!("lock {at}");
            chain
        })
        .collect();
    table.chains.push(held);
    let text = locks_text(
        &LocksInput {
            pid: 4242,
            table: &table,
            book: &book,
        },
        &LocksTextOptions {
            limit: 20,
            ..LocksTextOptions::default()
        },
    );
    for part in [
        "WHO WAITS FOR WHOM\n  \
         - 57 threads wait for kernel_mutex, held by thread 4711",
        "  - Unknown who holds lock 0 (57 threads), lock 1 (57 threads), lock 2 (57\n    \
         threads), lock 3 (57 threads), lock 4 (57 threads), lock 5 (57 threads) and\n    \
         3 more locks.\n",
        " lock 6\n  33 more locks with 15.6 ms in 330 waits not shown.\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let details = text.split("CALLERS AND HOLDERS").nth(1).unwrap();
    assert!(details.contains("\nlock 4\n") && !details.contains("\nlock 5\n"));
    assert!(text.lines().count() < 120, "{text}");
}
