//! Scans of this test's own threads.

#![allow(clippy::print_stdout, reason = "tests tell what they skip or measure")]
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests count as plain code for clippy

use kernel::roots::ProcRoot;
use kernel::tasks::{THREADS_MAX, TaskScanner, ThreadSample};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

fn own_scan(scanner: &mut TaskScanner) -> kernel::tasks::ThreadScan {
    scanner.scan(std::process::id()).unwrap()
}

#[test]
fn five_hundred_threads() {
    const THREADS: usize = 500;
    const SCANS: u32 = 20;
    let barrier = Arc::new(Barrier::new(THREADS + 1));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let barrier = Arc::clone(&barrier);
            let body = move || {
                barrier.wait();
                barrier.wait();
            };
            let small = thread::Builder::new().stack_size(64 << 10);
            small.name("a (b) c".to_owned()).spawn(body).unwrap()
        })
        .collect();
    barrier.wait();

    let mut scanner = TaskScanner::new(ProcRoot::default());
    own_scan(&mut scanner); // grows the kernel's caches
    let start = Instant::now();
    let scans: Vec<_> = (0..SCANS).map(|_| own_scan(&mut scanner)).collect();
    let elapsed = start.elapsed();
    let read: usize = scans.iter().map(|scan| scan.threads.len()).sum();
    println!(
        "{:.2} ms a scan, {:.2} us a thread",
        elapsed.as_secs_f64() * 1e3 / f64::from(SCANS),
        elapsed.as_secs_f64() * 1e6 / read as f64
    );
    // On a busy machine some are still between the two barriers.
    let mut last = own_scan(&mut scanner);
    let deadline = Instant::now() + Duration::from_secs(10);
    let is_up = |t: &ThreadSample| t.comm == "a (b) c" && t.state != 'S';
    while last.threads.iter().any(is_up) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
        last = own_scan(&mut scanner);
    }
    barrier.wait();
    for thread in threads {
        thread.join().unwrap();
    }

    let named: Vec<_> = last
        .threads
        .iter()
        .filter(|t| t.comm == "a (b) c")
        .collect();
    assert_eq!(named.len(), THREADS);
    let tids: HashSet<_> = named.iter().map(|t| t.tid).collect();
    assert_eq!(tids.len(), THREADS);
    assert!(
        named
            .iter()
            .all(|t| t.state == 'S' && t.start_time_ticks > 0)
    );
    assert_eq!(last.over_limit, 0);
}

#[test]
fn a_busy_thread_uses_time_and_an_idle_one_does_not() {
    let stop = Arc::new(AtomicBool::new(false));
    let spawn = |name: &str, body: fn(&AtomicBool)| {
        let stop = Arc::clone(&stop);
        let builder = thread::Builder::new().name(name.to_owned());
        builder.spawn(move || body(&stop)).unwrap()
    };
    let busy = spawn("scan-busy", |stop| {
        while !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    });
    let idle = spawn("scan-idle", |stop| {
        while !stop.load(Ordering::Relaxed) {
            thread::park();
        }
    });

    let mut scanner = TaskScanner::new(ProcRoot::default());
    let mut run_ns = |name: &str| {
        let scan = own_scan(&mut scanner);
        scan.threads
            .iter()
            .find(|t| t.comm == name)
            .map(|t| t.run_ns)
    };
    thread::sleep(Duration::from_millis(50));
    let (busy_before, idle_before) = (run_ns("scan-busy").unwrap(), run_ns("scan-idle").unwrap());
    thread::sleep(Duration::from_millis(200));
    let (busy_after, idle_after) = (run_ns("scan-busy").unwrap(), run_ns("scan-idle").unwrap());
    stop.store(true, Ordering::Relaxed);
    idle.thread().unpark();
    busy.join().unwrap();
    idle.join().unwrap();

    match busy_before.zip(busy_after) {
        Some((before, after)) => assert!(after > before + 1_000_000, "{before} {after}"),
        None => println!("skipped: this kernel does not count run time"),
    }
    if let Some((before, after)) = idle_before.zip(idle_after) {
        assert!(after - before < 1_000_000, "{before} {after}");
    }
}

#[test]
fn some_threads_have_the_times_of_a_scan_and_those_that_ended_are_left_out() {
    let mut scanner = TaskScanner::new(ProcRoot::default());
    let scan = own_scan(&mut scanner);
    let first = scan.threads.first().unwrap();
    let own = first.tid;
    let (pid, gone) = (std::process::id(), u32::MAX - 1);
    let stats = scanner.sched_stats(pid, &[own, gone]).unwrap();
    let run_ns: Vec<_> = stats
        .iter()
        .map(|(tid, stat)| (*tid, stat.run_ns))
        .collect();
    match first.run_ns {
        Some(before) => assert!(
            matches!(run_ns[..], [(tid, ns)] if tid == own && ns >= before),
            "{run_ns:?} {before}"
        ),
        None => assert_eq!(run_ns, []),
    }
    assert_eq!(scanner.sched_stats(pid, &[]).unwrap(), []);
    assert!(scanner.sched_stats(gone, &[own]).is_err());
}

#[test]
fn threads_that_come_and_go_are_no_error() {
    let stop = Arc::new(AtomicBool::new(false));
    let churn = {
        let stop = Arc::clone(&stop);
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let few: Vec<_> = (0..8).map(|_| thread::spawn(thread::yield_now)).collect();
                few.into_iter().for_each(|t| t.join().unwrap());
            }
        })
    };
    let mut scanner = TaskScanner::new(ProcRoot::default());
    let scans: Vec<_> = (0..100).map(|_| own_scan(&mut scanner)).collect();
    stop.store(true, Ordering::Relaxed);
    churn.join().unwrap();
    assert!(scans.iter().all(|scan| scan.threads.len() >= 2));
}

#[test]
fn threads_over_the_limit_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let task = dir.path().join("77/task");
    for tid in 1..=THREADS_MAX + 5 {
        std::fs::create_dir_all(task.join(tid.to_string())).unwrap();
    }
    let stat = "9 (x) S 1 1 1 0 -1 0 5 0 6 0 7 8 0 0 20 0 1 0 55 0 0 0\n";
    for tid in 1..=THREADS_MAX + 5 {
        if tid % 100 == 0 {
            std::fs::write(task.join(tid.to_string()).join("stat"), stat).unwrap();
        }
    }
    let scan = TaskScanner::new(ProcRoot::at(dir.path())).scan(77).unwrap();
    assert_eq!(scan.over_limit, 5);
    assert_eq!(scan.threads.len() + scan.vanished, THREADS_MAX);
    let thread = scan.threads.first().unwrap();
    assert_eq!((thread.utime_ticks, thread.stime_ticks), (7, 8));
    assert_eq!((thread.run_ns, thread.wait_ns), (None, None));
}

#[test]
fn a_process_that_is_gone() {
    let error = TaskScanner::new(ProcRoot::default())
        .scan(u32::MAX)
        .unwrap_err();
    assert!(error.is_gone(), "{error}");
}
