use model::WaitCounting;

use crate::notation::{Story, row};

fn waiter(tid: u32, address: &str, moved: u32) -> String {
    format!(
        "tid {tid} S futex {address} moved {moved} | __lll_lock_wait < pthread_mutex_lock < f{tid} < g\n"
    )
}

#[test]
fn an_unmoved_thread_is_one_wait_and_a_moved_one_is_two() {
    let story = Story::of(&[
        &(waiter(1, "0x10", 5) + &waiter(2, "0x10", 5)),
        &(waiter(1, "0x10", 5) + &waiter(2, "0x10", 6)),
        &(waiter(1, "0x10", 5) + "tid 2 R moved 7 | g"),
        &(waiter(1, "0x20", 9) + &waiter(2, "0x10", 8)),
    ]);
    let table = story.table();
    assert_eq!((table.from, table.to), (1000, 1300));
    assert_eq!(
        table.depth,
        WaitCounting::Sampled {
            snapshots: 4,
            interval_ms: 100.0
        }
    );
    let first = row(&table.locks, "0x10");
    assert_eq!((first.waits, first.waiters_max), (4, 2));
    assert!(
        (first.total_us - 600_000.0).abs() < 1.0,
        "six threads in snapshots of 100 ms"
    );
    assert!((first.max_us - 300_000.0).abs() < 1.0);
    assert!((first.mean_us() - 150_000.0).abs() < 1.0);
    let of_one = first
        .callers
        .iter()
        .find(|caller| caller.path == ["f1", "g"])
        .unwrap();
    assert_eq!((of_one.waits, of_one.max_us as u64), (1, 300_000));
    let second = row(&table.locks, "0x20");
    assert_eq!((second.waits, second.total_us as u64), (1, 100_000));
    // Two threads, none idle, 400 ms: 800 ms of thread time.
    assert!((first.share - 0.75).abs() < 1e-9);
    assert!((second.share - 0.125).abs() < 1e-9);
}

#[test]
fn a_thread_that_was_not_seen_in_between_waited_twice() {
    let story = Story::of(&[&waiter(1, "0x10", 5), "tid 9 R | g", &waiter(1, "0x10", 5)]);
    assert_eq!(story.table().locks[0].waits, 2);
}

#[test]
fn snapshots_stand_for_the_time_around_them() {
    let mut story = Story::default();
    story.at(10_000, &waiter(1, "0x10", 1));
    // The order in which they are given does not matter.
    story.at(0, &waiter(1, "0x20", 0));
    story.at(1_000, "tid 1 R | g");
    let table = story.table();
    assert_eq!(row(&table.locks, "0x10").total_us as u64, 9_000_000);
    assert_eq!(row(&table.locks, "0x20").total_us as u64, 1_000_000);
    assert_eq!((table.from, table.to), (0, 10_000));
}

#[test]
fn a_single_snapshot_tells_who_and_no_times() {
    let table = Story::of(&[&(waiter(1, "0x10", 5)
        + &waiter(2, "0x10", 5)
        + "tid 3 R | g\ntid 4 S in recvfrom | recv < x")])
    .table();
    let only = row(&table.locks, "0x10");
    assert_eq!(
        (only.waits, only.waiters_max, only.total_us as u64),
        (2, 2, 0)
    );
    assert!((only.share - 2.0 / 3.0).abs() < 1e-9);
    assert_eq!(table.idle_threads, 1);
}

#[test]
fn nothing_observed_is_an_empty_table() {
    let table = Story::of(&[]).table();
    assert!(table.locks.is_empty() && table.chains.is_empty() && table.absent.is_empty());
    let table = Story::of(&[""]).table();
    assert_eq!(table.idle_threads, 0);
}

#[test]
fn what_is_too_much_is_put_together_and_said() {
    let many: String = (0..300)
        .map(|n| {
            format!(
                "tid {} S futex {:#x} | __lll_lock_wait < pthread_mutex_lock < g{n}\n",
                n + 1,
                0x1000 + 64 * n
            )
        })
        .collect();
    let callers: String = (0..50)
        .map(|n| {
            format!(
                "tid {} S futex 0x10 | __lll_lock_wait < pthread_mutex_lock < f{n}\n",
                n + 1000
            )
        })
        .collect();
    let text = many + &callers;
    let table = Story::of(&[&text, &text]).table();
    assert_eq!(table.locks.len(), stacks::locks::ROWS_MAX);
    assert_eq!(table.locks.last().unwrap().name, "(102 more)");
    assert_eq!(table.locks.iter().map(|row| row.waits).sum::<u64>(), 350);
    let most = row(&table.locks, "0x10");
    assert_eq!(most.callers.len(), stacks::locks::CALLERS_MAX);
    assert_eq!(most.callers.last().unwrap().path, ["(31 more call paths)"]);
    assert_eq!(most.waits, 50);
}
