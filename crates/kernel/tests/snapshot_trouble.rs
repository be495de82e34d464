//! Snapshots of processes that make it hard.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod snapshot_support;

use kernel::snapshot::{NoStack, RawThread, Way};
use snapshot_support::{Threads, WAYS, assert_own_stack, leader, named, open, waiting};
use std::fs;
use std::thread;
use std::time::Duration;

/// Snapshots of each victim, by each way.
const PASSES: usize = 15;
const TRIES: usize = 4000;

/// ptrace gives up on threads that do not stop in time.
fn late(thread: &RawThread) -> bool {
    thread.stack == Err(NoStack::Deadline)
}

/// On a processor or, seen from /proc, on the way to one.
fn runs(thread: &RawThread) -> bool {
    thread.stack == Err(NoStack::OnProcessor)
}

#[test]
fn threads_that_come_and_go() {
    let threads = Threads::start(200, 10, &["churn"]);
    for way in WAYS {
        let Some(mut snapshotter) = open(threads.pid(), way) else {
            continue;
        };
        let mut left_out = 0;
        for pass in 0..PASSES {
            let snapshot = snapshotter.take(pass % 3 == 2).unwrap();
            left_out += snapshot.left_out;
            assert!(snapshot.threads.is_sorted_by(|a, b| a.tid < b.tid));
            assert_eq!(waiting(&snapshot).count(), 200, "{way:?}");
            assert!(!named(&snapshot, "churn").is_empty());
            for thread in waiting(&snapshot).filter(|thread| !late(thread)) {
                if thread.stack == Err(NoStack::Unmoved) {
                    assert!(pass % 3 == 2 && way != Way::Ptrace);
                } else {
                    assert_own_stack(&snapshot, thread, 10);
                }
            }
        }
        eprintln!("{way:?}: {left_out} threads ended before they were read");
    }
}

/// A thread that ends while the kernel's iterator is at it must not hide those behind it.
#[test]
fn no_end_of_a_thread_ends_the_pass() {
    const RELAY: usize = 200;
    let threads = Threads::start(1, 1, &["relay"]);
    for way in [Way::Bpf, Way::Proc] {
        let Some(mut snapshotter) = open(threads.pid(), way) else {
            continue;
        };
        for _ in 0..10 * PASSES {
            let snapshot = snapshotter.take(false).unwrap();
            let seen = snapshot.threads.len() + snapshot.left_out as usize;
            assert!(seen >= RELAY, "{way:?}: {seen}");
        }
    }
}

#[test]
fn a_thread_that_holds_mmap_lock() {
    let threads = Threads::start(100, 10, &["map"]);
    for way in WAYS {
        let Some(mut snapshotter) = open(threads.pid(), way) else {
            continue;
        };
        for _ in 0..PASSES {
            let snapshot = snapshotter.take(false).unwrap();
            assert_eq!(snapshot.threads.len(), 102);
            for thread in waiting(&snapshot).filter(|thread| !late(thread)) {
                assert_own_stack(&snapshot, thread, 10);
            }
        }
    }
}

#[test]
fn a_thread_that_runs() {
    let threads = Threads::start(2, 2, &["spin"]);
    for way in WAYS {
        let Some(mut snapshotter) = open(threads.pid(), way) else {
            continue;
        };
        // On a busy machine it has to wait for a processor, but not for ever.
        let mut ran = 0;
        for pass in 0..TRIES {
            let snapshot = snapshotter.take(pass % 2 == 1).unwrap();
            let spin = named(&snapshot, "spin")[0];
            assert_eq!(spin.state, 'R');
            if runs(spin) {
                ran += 1;
                assert!(spin.kernel_stack.is_empty());
                assert_eq!((spin.registers, spin.syscall), (None, None));
            } else if spin.stack.is_ok() {
                assert_eq!(spin.syscall, None);
            }
            if ran > 0 || (way == Way::Ptrace && pass >= PASSES) {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(ran == 0, way == Way::Ptrace);
    }
}

#[test]
fn a_first_thread_that_has_ended() {
    let threads = Threads::start(20, 2, &["leave"]);
    for way in WAYS {
        let Some(mut snapshotter) = open(threads.pid(), way) else {
            continue;
        };
        let snapshot = snapshotter.take(false).unwrap();
        assert_eq!(snapshot.threads.len(), 22);
        let first = leader(&snapshot, threads.pid());
        assert_eq!(first.state, 'Z');
        assert_eq!(first.stack, Err(NoStack::Gone));
        assert_eq!(waiting(&snapshot).count(), 20);
    }
}

#[test]
fn no_thread_stays_stopped() {
    let mut threads = Threads::start(50, 2, &["map"]);
    let Some(mut snapshotter) = open(threads.pid(), Way::Ptrace) else {
        return;
    };
    for _ in 0..PASSES {
        let snapshot = snapshotter.take(false).unwrap();
        for thread in &snapshot.threads {
            let path = format!("/proc/{}/task/{}/status", threads.pid(), thread.tid);
            let status = fs::read_to_string(path).unwrap();
            assert!(status.contains("TracerPid:\t0\n"), "{thread:?}");
            assert!(!status.contains("State:\tt"), "{thread:?}");
        }
    }
    threads.wake();
}
