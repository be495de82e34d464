use model::{LockTable, StackId, WaitCounting};
use stacks::locks::{AddressTotals, ExactWaits, LockSymbols, WaitSample, exact_table};

use crate::notation::{Story, assert_consistent, row};

fn totals(address: u64, waits: u64, total_us: f64, max_us: f64, waiters_max: u32) -> AddressTotals {
    AddressTotals {
        address,
        operation: 0x80,
        waits,
        total_us,
        max_us,
        waiters_max,
    }
}

fn sample(address: u64, stack: StackId, waited_us: f64) -> WaitSample {
    WaitSample {
        tid: 1,
        address,
        stack,
        waited_us,
    }
}

fn table(story: &Story, totals: &[AddressTotals], samples: &[WaitSample]) -> LockTable {
    let waits = ExactWaits {
        from: 1000,
        to: 2000,
        events: totals.iter().map(|totals| totals.waits).sum(),
        stack_every: 10,
        cost_us: 77,
        switched_off_after_ms: Some(900),
        totals,
        samples,
    };
    let table = exact_table(&waits, &story.observed(), &LockSymbols::default());
    assert_consistent(&table);
    table
}

#[test]
fn counts_stay_exact_and_are_divided_by_samples() {
    let mut story = Story::of(&["tid 1 R | f\ntid 2 R | f\ntid 3 S in recvfrom | recv < f"]);
    let one = story.stack("__lll_lock_wait < pthread_mutex_lock < a");
    let two = story.stack("__lll_lock_wait < pthread_mutex_lock < b");
    let table = table(
        &story,
        &[totals(0x10, 1000, 50_000.0, 900.0, 7)],
        &[
            sample(0x10, one, 10.0),
            sample(0x10, one, 20.0),
            sample(0x10, two, 70.0),
        ],
    );
    let lock = row(&table.locks, "0x10");
    assert_eq!((lock.waits, lock.waiters_max), (1000, 7));
    assert!((lock.total_us - 50_000.0).abs() < 1e-6);
    assert!((lock.max_us - 900.0).abs() < 1e-6);
    let mut callers: Vec<(&str, u64, u64)> = lock
        .callers
        .iter()
        .map(|caller| {
            (
                caller.path[0].as_str(),
                caller.waits,
                caller.total_us as u64,
            )
        })
        .collect();
    callers.sort_unstable();
    assert_eq!(callers, [("a", 666, 15_000), ("b", 334, 35_000)]);
    // Two threads that do not idle, for one second.
    assert!((lock.share - 0.025).abs() < 1e-9);
    assert_eq!(
        table.depth,
        WaitCounting::Exact {
            events: 1000,
            stack_every: 10,
            cost_us: 77,
            switched_off_after_ms: Some(900)
        }
    );
    assert_eq!(table.idle_threads, 1);
}

#[test]
fn idling_is_left_out_and_unknown_is_no_contention() {
    let mut story = Story::of(&[
        "tid 1 S futex 0x40 owner 2 | __lll_lock_wait < pthread_mutex_lock < seen_only_here\ntid 2 R | g",
    ]);
    let idle = story.stack("pthread_cond_wait < os_event_wait_low < srv_worker_thread");
    let condition = story.stack("pthread_cond_wait < my_own_queue");
    let table = table(
        &story,
        &[
            totals(0x20, 10, 1e6, 1e6, 1),
            totals(0x28, 5, 1e3, 1e3, 1),
            totals(0x30, 7, 1e3, 1e3, 1),
            totals(0x40, 8, 1e3, 1e3, 2),
        ],
        &[sample(0x20, idle, 5.0), sample(0x28, condition, 5.0)],
    );
    assert_eq!(table.locks.len(), 1, "{:?}", table.locks);
    let lock = row(&table.locks, "0x40");
    assert_eq!(lock.callers[0].path, ["seen_only_here"]);
    assert_eq!(lock.holders[0].tid, 2);
    assert_eq!(table.chains.len(), 1);
    assert_eq!(row(&table.conditions, "0x28").waits, 5);
    assert_eq!(row(&table.conditions, "0x30").waits, 7);
    assert!(
        table
            .absent
            .iter()
            .any(|absent| absent.what == "callers" && absent.detail.starts_with("7 waits"))
    );
}

#[test]
fn one_address_may_serve_two_purposes_and_one_lock_two_addresses() {
    let mut story = Story::of(&[]);
    let row_lock =
        story.stack("pthread_cond_wait < os_event_wait_low < lock_wait_suspend_thread < x");
    let idle = story.stack("pthread_cond_wait < os_event_wait_low < srv_worker_thread");
    let table = table(
        &story,
        &[
            totals(0x28, 100, 4e5, 9e4, 1),
            totals(0x2c, 50, 1e5, 5e4, 1),
            totals(0x128, 10, 1e4, 1e3, 1),
        ],
        &[
            sample(0x28, row_lock, 300.0),
            sample(0x28, idle, 100.0),
            sample(0x2c, row_lock, 10.0),
            sample(0x128, row_lock, 10.0),
        ],
    );
    let lock = row(&table.locks, "row lock");
    assert_eq!((lock.waits, lock.address), (110, 0));
    assert!((lock.total_us - (3e5 + 1e5 + 1e4)).abs() < 1e-6);
    assert!(
        (lock.max_us - 9e4).abs() < 1e-6,
        "the longest is its, whose samples are the longest"
    );
    assert!(
        table
            .absent
            .iter()
            .any(|absent| absent.what == "holders and shares")
    );
}

#[test]
fn two_operations_at_one_address_are_one_lock() {
    let mut story = Story::of(&[]);
    let stack = story.stack("__lll_lock_wait < pthread_mutex_lock < a");
    let table = table(
        &story,
        &[
            totals(0x10, 3, 30.0, 20.0, 2),
            totals(0x10, 4, 40.0, 15.0, 5),
        ],
        &[sample(0x10, stack, 1.0)],
    );
    let lock = row(&table.locks, "0x10");
    assert_eq!(
        (
            lock.waits,
            lock.waiters_max,
            lock.total_us as u64,
            lock.max_us as u64
        ),
        (7, 5, 70, 20)
    );
}
