//! Each way of taking a snapshot, on a process whose threads are in known places.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod snapshot_support;

use kernel::snapshot::{NoStack, SnapshotError, SnapshotOptions, Snapshotter, Way};
use snapshot_support::{
    Threads, WAYS, assert_own_stack, in_time, index, leader, marks, named, open, open_with,
    options, take_all, waiting,
};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::Duration;

/// Operation of `pthread_cond_wait` in glibc: FUTEX_WAIT_BITSET, private, realtime clock.
const CONDITION_WAIT: u32 = 0x189;
const COUNT: usize = 512;
const DEPTH: u64 = 40;

fn maps(pid: u32) -> Vec<(u64, u64, String)> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
    maps.lines()
        .map(|line| {
            let (range, rest) = line.split_once(' ').unwrap();
            let (from, to) = range.split_once('-').unwrap();
            (hex(from), hex(to), rest.to_owned())
        })
        .collect()
}

#[test]
fn five_hundred_waiting_threads() {
    let threads = Threads::start(COUNT, DEPTH as usize, &[]);
    let maps = maps(threads.pid());
    let mapping = |address: u64| {
        maps.iter()
            .find(|(from, to, _)| (*from..*to).contains(&address))
    };
    for way in WAYS {
        let Some(mut snapshotter) = open(threads.pid(), way) else {
            continue;
        };
        let snapshot = take_all(&mut snapshotter);
        eprintln!(
            "{way:?}: {:?}, {} bytes",
            snapshot.wall,
            snapshot.bytes.len()
        );
        assert_eq!((snapshot.way, snapshot.left_out), (way, 0));
        assert_eq!(snapshot.threads.len(), COUNT + 1);
        assert_eq!(snapshot.stopped > Duration::ZERO, way == Way::Ptrace);
        let indices: HashSet<_> = snapshot.threads.iter().filter_map(index).collect();
        assert_eq!(indices.len(), COUNT);
        assert!(snapshot.threads.is_sorted_by_key(|thread| thread.tid));

        for thread in waiting(&snapshot) {
            assert_eq!(thread.state, 'S');
            assert_own_stack(&snapshot, thread, DEPTH);
            let registers = thread.registers.unwrap();
            assert!(
                mapping(registers.ip).unwrap().2.contains("r-xp"),
                "{thread:?}"
            );
            assert!(
                mapping(registers.sp).unwrap().2.contains("rw-p"),
                "{thread:?}"
            );
            let (_, end, _) = mapping(registers.sp).unwrap();
            let pointer = thread.thread_pointer.unwrap();
            assert!(pointer > registers.sp && pointer < *end, "{thread:?}");
            assert_eq!(registers.bp.is_none(), way == Way::Proc);
            let futex = thread.futex.unwrap();
            assert_eq!(futex.operation, CONDITION_WAIT);
            assert_eq!(thread.syscall.unwrap().arguments[0], futex.address);
            assert!(futex.words.is_some());
            assert_eq!(thread.kernel_stack.is_empty(), way != Way::Bpf);
            // Higher half: addresses of the kernel.
            assert!(thread.kernel_stack.iter().all(|address| address >> 63 == 1));
            let bytes = snapshot.stack_bytes(thread).len() as u64;
            assert!(
                bytes < pointer - registers.sp + 4096,
                "more than the stack: {bytes}"
            );
        }
        // The first thread waits in read(2), for the test.
        let first = leader(&snapshot, threads.pid());
        assert_eq!(first.name, "threads");
        assert!(first.stack.is_ok() && first.stack_whole, "{first:?}");
        assert_eq!(first.futex, None);
    }
}

#[test]
fn the_ways_agree() {
    let threads = Threads::start(16, 5, &[]);
    let mut seen: HashMap<u32, Vec<_>> = HashMap::new();
    for way in [Way::Bpf, Way::Proc] {
        let Some(mut snapshotter) = open(threads.pid(), way) else {
            continue;
        };
        let snapshot = snapshotter.take(false).unwrap();
        for thread in waiting(&snapshot) {
            let registers = thread.registers.unwrap();
            let stack = snapshot.stack_bytes(thread);
            let stack = stack[..stack.len().min(512)].to_vec();
            let what = (
                thread.switches,
                thread.thread_pointer,
                thread.syscall,
                thread.futex,
                (registers.ip, registers.sp),
                stack,
            );
            seen.entry(thread.tid).or_default().push(what);
        }
    }
    for (tid, seen) in seen {
        assert!(seen.iter().all(|it| *it == seen[0]), "{tid}: {seen:x?}");
    }
}

#[test]
fn what_did_not_move_comes_without_its_stack() {
    let mut threads = Threads::start(32, 10, &[]);
    for way in [Way::Bpf, Way::Proc] {
        let Some(mut snapshotter) = open(threads.pid(), way) else {
            continue;
        };
        let first = snapshotter.take(true).unwrap();
        assert!(
            first.threads.iter().all(|thread| thread.stack.is_ok()),
            "{first:?}"
        );
        let second = snapshotter.take(true).unwrap();
        assert_eq!(second.threads.len(), first.threads.len());
        for (then, now) in first.threads.iter().zip(&second.threads) {
            assert_eq!(now.stack, Err(NoStack::Unmoved));
            assert_eq!(now.registers.unwrap().sp, then.registers.unwrap().sp);
            assert_eq!((now.syscall, now.futex), (then.syscall, then.futex));
            assert_eq!((now.switches, now.state), (then.switches, then.state));
        }

        // Thread 0 and the one that wakes it.
        threads.wake();
        let third = snapshotter.take(true).unwrap();
        for thread in &third.threads {
            let moved = thread.tid == threads.pid() || index(thread) == Some(0);
            assert_eq!(thread.stack.is_ok(), moved, "{thread:?}");
        }
        assert_own_stack(&third, named(&third, "w-0")[0], 10);
        let fourth = snapshotter.take(false).unwrap();
        assert!(fourth.threads.iter().all(|thread| thread.stack.is_ok()));
        // What the threads alone brought counts as handed over too.
        threads.wake();
        let tid = named(&fourth, "w-0")[0].tid;
        let alone = snapshotter.take_threads(&[tid]).unwrap();
        assert!(alone.threads[0].stack.is_ok());
        let last = snapshotter.take(true).unwrap();
        assert_eq!(named(&last, "w-0")[0].stack, Err(NoStack::Unmoved));
    }
}

#[test]
fn only_some_threads() {
    let threads = Threads::start(64, 3, &[]);
    for way in WAYS {
        let Some(mut snapshotter) = open(threads.pid(), way) else {
            continue;
        };
        let all = snapshotter.take(false).unwrap();
        let wanted = [named(&all, "w-7")[0].tid, named(&all, "w-63")[0].tid];
        let foreign = std::process::id();
        let asked = [wanted[1], foreign, wanted[0]];
        let some = in_time(|| snapshotter.take_threads(&asked).unwrap());
        let tids: Vec<u32> = some.threads.iter().map(|thread| thread.tid).collect();
        assert_eq!(tids, wanted);
        for thread in &some.threads {
            assert_own_stack(&some, thread, 3);
        }
        assert_eq!(snapshotter.take_threads(&[]).unwrap().threads, []);
        assert_eq!(snapshotter.take(false).unwrap().threads.len(), 65);
    }
}

#[test]
fn two_snapshotters_do_not_disturb_each_other() {
    let (here, there) = (Threads::start(8, 2, &[]), Threads::start(9, 3, &[]));
    for way in [Way::Bpf, Way::Proc] {
        let (Some(mut one), Some(mut other)) = (open(here.pid(), way), open(there.pid(), way))
        else {
            continue;
        };
        let mut same = open(here.pid(), way).unwrap();
        for reuse in [false, true, true] {
            let (a, b) = (one.take(reuse).unwrap(), other.take(reuse).unwrap());
            assert_eq!((a.threads.len(), b.threads.len()), (9, 10));
            assert_eq!((a.pid, b.pid), (here.pid(), there.pid()));
        }
        let first = same.take(true).unwrap();
        assert!(first.threads.iter().all(|thread| thread.stack.is_ok()));
    }
}

#[test]
fn the_holder_of_a_mutex_stands_at_its_futex() {
    let threads = Threads::start(1, 1, &["lock"]);
    for way in WAYS {
        let Some(mut snapshotter) = open(threads.pid(), way) else {
            continue;
        };
        for reuse in [false, true] {
            let snapshot = in_time(|| snapshotter.take(reuse).unwrap());
            let owner = named(&snapshot, "owner")[0].tid;
            let blocked = named(&snapshot, "blocked");
            assert_eq!(blocked.len(), 4);
            for thread in blocked {
                // Lock word: taken, with waiters; then the count, then the owner.
                assert_eq!(thread.futex.unwrap().words.unwrap()[..3], [2, 0, owner]);
            }
        }
    }
}

#[test]
fn limits() {
    let threads = Threads::start(100, 300, &[]);
    for way in WAYS {
        let small = SnapshotOptions {
            threads_max: 10,
            stack_bytes_max: 2048,
            deep: false,
            kernel_stacks: false,
            ..options(way)
        };
        let Some(mut snapshotter) = open_with(threads.pid(), &small) else {
            continue;
        };
        let snapshot = take_all(&mut snapshotter);
        assert_eq!((snapshot.threads.len(), snapshot.left_out), (10, 91));
        for thread in waiting(&snapshot) {
            assert_eq!(snapshot.stack_bytes(thread).len(), 2048);
            let depths: Vec<u64> = marks(snapshot.stack_bytes(thread))
                .iter()
                .map(|mark| mark.1)
                .collect();
            assert_eq!(depths.first(), Some(&300), "{depths:?}");
            assert!(!depths.contains(&0) && !thread.stack_whole);
            assert!(thread.kernel_stack.is_empty());
        }

        let deep = SnapshotOptions {
            deep: true,
            ..small.clone()
        };
        let mut snapshotter = open_with(threads.pid(), &deep).unwrap();
        let snapshot = take_all(&mut snapshotter);
        assert!(waiting(&snapshot).next().is_some());
        for thread in waiting(&snapshot) {
            let depths: Vec<u64> = marks(snapshot.stack_bytes(thread))
                .iter()
                .map(|mark| mark.1)
                .collect();
            assert_eq!(depths.first(), Some(&300), "{depths:?}");
            assert_eq!(depths.last(), Some(&0), "{depths:?}");
            assert!(thread.stack_whole);
        }

        let hurried = SnapshotOptions {
            deadline: Duration::ZERO,
            ..options(way)
        };
        let late = Snapshotter::open(threads.pid(), &hurried)
            .unwrap()
            .take(false)
            .unwrap();
        assert_eq!(late.threads.len(), 101);
        for thread in &late.threads {
            assert_eq!(thread.stack, Err(NoStack::Deadline));
        }
        assert!(late.bytes.len() < 101 * 1024, "{}", late.bytes.len());

        // More than one 4 KiB page, and more than fits in one of the kernel's buffers twice.
        let large = SnapshotOptions {
            stack_bytes_max: usize::MAX,
            ..options(way)
        };
        let whole = take_all(&mut Snapshotter::open(threads.pid(), &large).unwrap());
        for thread in waiting(&whole) {
            assert_own_stack(&whole, thread, 300);
        }
    }
}

#[test]
fn a_process_that_ends() {
    for way in WAYS {
        let mut threads = Threads::start(4, 1, &[]);
        let Some(mut snapshotter) = open(threads.pid(), way) else {
            continue;
        };
        threads.end();
        let error = snapshotter.take(false).unwrap_err();
        assert!(
            matches!(error, SnapshotError::Gone { .. }),
            "{way:?}: {error}"
        );
        let error = Snapshotter::open(threads.pid(), &options(way)).unwrap_err();
        assert!(
            matches!(error, SnapshotError::Gone { .. }),
            "{way:?}: {error}"
        );
    }
}

#[test]
fn stopping_needs_to_be_asked_for() {
    let threads = Threads::start(1, 1, &[]);
    let gentle = SnapshotOptions {
        only: Some(Way::Ptrace),
        ..SnapshotOptions::default()
    };
    match Snapshotter::open(threads.pid(), &gentle).unwrap_err() {
        SnapshotError::NoWay { refused, .. } => assert_eq!(refused[0].0, Way::Ptrace),
        other => panic!("{other}"),
    }
}
