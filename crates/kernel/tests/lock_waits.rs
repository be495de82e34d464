//! Futex waits and kernel lock waits of programs whose waits are known.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod lock_waits_victim;

use std::time::Duration;

use kernel::lock_waits::{KERNEL_LOCK_WRITE, WaitCounter, WaitError, WaitTotals};
use lock_waits_victim::{Victim, count_for, open, options};

const SECOND: Duration = Duration::from_secs(1);

/// Threads that waited on average: time waited over the window.
fn waiting(totals: &WaitTotals, address: u64) -> f64 {
    let row = totals.waits.iter().find(|r| r.address == address);
    row.map_or(0.0, |r| r.total.as_secs_f64() / totals.wall.as_secs_f64())
}

#[test]
fn a_convoy_waits_as_long_as_its_holders_hold() {
    let victim = Victim::start(&["convoy"]);
    let Some(counter) = open(&options(victim.pid())) else {
        return;
    };
    let (samples, totals) = count_for(counter, SECOND);
    eprintln!("{:#?}", totals.waits);
    eprintln!("cost {:?}, samples {}", totals.cost, samples.len());
    let mutex = victim.said["mutex"][0];
    let row = totals.waits.iter().find(|r| r.address == mutex).unwrap();
    assert_eq!(totals.waits[0].address, mutex, "the most time is there");
    // Three of the four wait at any time, but for the moments of waking.
    let average = waiting(&totals, mutex);
    assert!((2.0..=3.1).contains(&average), "{average}");
    assert!((3..=4).contains(&row.waiters_max), "{}", row.waiters_max);
    assert!(row.max >= Duration::from_millis(5), "{:?}", row.max);
    assert!(row.waits > row.still_waiting, "some were over");
    assert_eq!(
        row.histogram.iter().map(|n| u64::from(*n)).sum::<u64>(),
        row.waits
    );
    assert_eq!(totals.events, totals.waits.iter().map(|r| r.waits).sum());
    assert_eq!((totals.overflow, totals.untracked), (0, 0));
    assert_eq!(totals.switched_off_after, None);

    // Every wait of a slow convoy carries its stack, and the way to the lock is on it.
    let ours: Vec<_> = samples.iter().filter(|s| s.address == mutex).collect();
    assert!(!ours.is_empty());
    let step = victim.said["convoy_step"][0];
    for sample in &ours {
        let words = sample.stack.chunks_exact(8);
        let on_the_way = words
            .map(|w| u64::from_ne_bytes(w.try_into().unwrap()))
            .any(|w| (step..step + 64).contains(&w));
        assert!(on_the_way, "the return address of convoy_step");
        assert!(sample.registers.ip != 0 && sample.registers.sp != 0);
        assert!(
            sample.thread_pointer > sample.registers.sp,
            "glibc keeps it above the stack"
        );
        assert_eq!(sample.one_in, 1);
    }
    let over = ours.iter().filter(|s| !s.still_waiting);
    assert!(over.clone().all(|s| s.waited <= row.max));
    assert!(over.count() > 0, "ends are joined with begins");
    assert!(
        ours.len() as u64 + totals.lost_samples <= row.waits
            && ours.len() as u64 + 4 + totals.lost_samples >= row.waits,
        "{} samples of {} waits",
        ours.len(),
        row.waits
    );
}

#[test]
fn idlers_are_waits_of_their_condition_variable() {
    let victim = Victim::start(&["idlers"]);
    let Some(counter) = open(&options(victim.pid())) else {
        return;
    };
    let (_, totals) = count_for(counter, SECOND);
    let cond = &victim.said["cond"];
    let at_cond = |a: u64| (cond[0]..cond[1]).contains(&a);
    let rows = totals.waits.iter().filter(|r| at_cond(r.address));
    let waited: Duration = rows.clone().map(|r| r.total).sum();
    let average = waited.as_secs_f64() / totals.wall.as_secs_f64();
    assert!((5.0..=6.1).contains(&average), "six idle: {average}");
    assert!(rows.clone().map(|r| r.waits).sum::<u64>() > 6);
    assert!(rows.map(|r| r.still_waiting).sum::<u64>() >= 5);
}

#[test]
fn a_thread_that_waits_all_the_time_is_counted_though_it_never_switches() {
    let victim = Victim::start(&["stuck"]);
    let Some(counter) = open(&options(victim.pid())) else {
        return;
    };
    let (_, totals) = count_for(counter, SECOND);
    let mutex = victim.said["mutex"][0];
    let row = totals.waits.iter().find(|r| r.address == mutex).unwrap();
    assert_eq!((row.waits, row.still_waiting, row.waiters_max), (1, 1, 1));
    assert!((0.9..=1.0).contains(&waiting(&totals, mutex)));
    assert!(row.max == row.total);
}

#[test]
fn a_flood_switches_it_off() {
    let victim = Victim::start(&["pingpong"]);
    let mut few = options(victim.pid());
    few.events_per_second_max = 500;
    let Some(mut counter) = open(&few) else {
        return;
    };
    let mut ignored = 0;
    let mut off = None;
    for _ in 0..200 {
        std::thread::sleep(Duration::from_millis(10));
        counter.poll(&mut |_| ignored += 1);
        off = counter.switched_off();
        if off.is_some() {
            break;
        }
    }
    let after = off.expect("500 waits a second are nothing to it");
    std::thread::sleep(Duration::from_millis(100));
    let totals = counter.finish().unwrap();
    assert_eq!(totals.switched_off_after, Some(after));
    assert_eq!(totals.wall, after, "the window ended there");
    // 50 in 100 ms, in at most the windows that began until then.
    let windows = after.as_millis() as u64 / 100 + 2;
    assert!(totals.events <= 50 * windows + 2, "{}", totals.events);
    let turn = victim.said["turn"][0];
    assert!(totals.waits.iter().any(|r| r.address == turn));
}

#[test]
fn samples_keep_to_their_rate_and_say_how_many_they_stand_for() {
    let victim = Victim::start(&["pingpong"]);
    let mut few = options(victim.pid());
    few.stacks_per_second_max = 100;
    few.stack_bytes = 1024;
    let Some(counter) = open(&few) else {
        return;
    };
    let (samples, totals) = count_for(counter, SECOND);
    let windows = totals.wall.as_millis() / 100 + 2;
    assert!(samples.len() as u128 <= 10 * windows, "{}", samples.len());
    assert!(samples.len() > 10, "{}", samples.len());
    assert!(samples.iter().all(|s| s.stack.len() <= 1024));
    assert!(samples.iter().any(|s| s.one_in > 1));
    assert!(totals.events > 1000, "{}", totals.events);
}

#[test]
fn more_addresses_than_there_is_room_for_are_one_row() {
    let victim = Victim::start(&["many"]);
    let mut few = options(victim.pid());
    few.stacks_per_second_max = 100;
    // 6,000 timeouts of 20 µs and more, by two threads: on a busy machine they take longer.
    for seconds in [3, 10, 30] {
        let Some(counter) = open(&few) else {
            return;
        };
        let (_, totals) = count_for(counter, SECOND * seconds);
        let rows = totals.waits.iter().filter(|r| r.address != 0).count();
        assert!(rows <= 4096, "{rows}");
        assert_eq!(
            rows == 4096,
            totals.overflow > 0,
            "{rows} rows, {} over",
            totals.overflow
        );
        if totals.overflow > 0 {
            let row = totals.waits.iter().find(|r| r.address == 0).unwrap();
            assert_eq!(row.waits, totals.overflow);
            assert!(row.total > Duration::ZERO);
            return;
        }
    }
    panic!("there was room for all");
}

#[test]
fn mappers_wait_for_the_mmap_lock() {
    let victim = Victim::start(&["mappers"]);
    let mut both = options(victim.pid());
    both.kernel_locks = true;
    let Some(counter) = open(&both) else {
        return;
    };
    let (_, totals) = count_for(counter, SECOND);
    for row in totals.kernel_locks.iter().take(8) {
        eprintln!("{row:x?}");
    }
    let mmap: Vec<_> = totals
        .kernel_locks
        .iter()
        .filter(|r| r.is_mmap_lock)
        .collect();
    assert!(!mmap.is_empty(), "{} rows", totals.kernel_locks.len());
    let theirs: u64 = mmap.iter().map(|r| r.server_waits).sum();
    assert!(theirs > 0);
    assert!(mmap.iter().any(|r| r.flags & KERNEL_LOCK_WRITE != 0));
    let named = mmap.iter().filter(|r| !r.stack.is_empty());
    assert!(named.count() > 0, "stacks come with them");
    // No wait is longer than the window: what keying spin locks by thread makes of them.
    for row in &totals.kernel_locks {
        assert!(row.max <= totals.wall, "{row:x?}");
        assert!(row.total >= row.max && row.server_waits <= row.waits);
    }
}

#[test]
fn what_is_no_process_is_refused() {
    let mut nobody = options(u32::MAX);
    let error = WaitCounter::open(&nobody).err().expect("refused");
    assert!(
        matches!(error, WaitError::NoProcess { .. } | WaitError::PidNamespace),
        "{error}"
    );
    // The same for a thread's id.
    let victim = Victim::start(&["stuck"]);
    let tasks = std::fs::read_dir(format!("/proc/{}/task", victim.pid())).unwrap();
    nobody.pid = tasks
        .filter_map(|t| t.unwrap().file_name().to_str()?.parse().ok())
        .find(|tid| *tid != victim.pid())
        .expect("a second thread");
    let error = WaitCounter::open(&nobody).err().expect("refused");
    assert!(
        matches!(error, WaitError::NoProcess { .. } | WaitError::PidNamespace),
        "{error}"
    );
}
