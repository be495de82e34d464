//! The programs with known threads: that they are what they say.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use testbed::{Error, Victim, build_victim, victim_names};

const DEADLINE: Duration = Duration::from_secs(10);

fn start(name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Victim {
    let dir = tempfile::tempdir().unwrap();
    let program = build_victim(name, dir.path()).unwrap();
    Victim::start(&program, arguments, environment).unwrap()
}

/// The numbers under a key of the victim's line; a test of its own for the line's form.
fn numbers(line: &str, key: &str) -> Vec<u64> {
    let (_, rest) = line.split_once(&format!("\"{key}\":")).unwrap();
    let end = rest.find(if rest.starts_with('[') { ']' } else { ',' });
    let list = rest.get(..end.unwrap_or(rest.len())).unwrap();
    let list = list.trim_matches(['[', ']', '}']);
    list.split(',').map(|n| n.parse().unwrap()).collect()
}

fn number(line: &str, key: &str) -> u64 {
    numbers(line, key)[0]
}

fn task(victim: &Victim, tid: u64) -> PathBuf {
    Path::new("/proc").join(format!("{}/task/{tid}", victim.pid()))
}

/// State and name of a thread.
fn state(victim: &Victim, tid: u64) -> (char, String) {
    let stat = std::fs::read_to_string(task(victim, tid).join("stat")).unwrap();
    let (before, after) = stat.rsplit_once(") ").unwrap();
    let name = before.split_once('(').unwrap().1.to_owned();
    (after.chars().next().unwrap(), name)
}

/// Number and first argument of the system call a thread is in.
fn syscall(victim: &Victim, tid: u64) -> Option<(u64, u64)> {
    let text = match std::fs::read_to_string(task(victim, tid).join("syscall")) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("skipped: /proc/PID/task/TID/syscall: {error}");
            return None;
        }
    };
    let mut words = text.split_whitespace();
    let number = words.next()?.parse().ok()?;
    let first = words.next()?.strip_prefix("0x")?;
    Some((number, u64::from_str_radix(first, 16).ok()?))
}

#[cfg(target_arch = "x86_64")]
const FUTEX: u64 = 202;
#[cfg(target_arch = "aarch64")]
const FUTEX: u64 = 98;

#[test]
fn a_convoy_waits_for_its_mutex() {
    let victim = start("convoy", &["12"], &[]);
    let line = victim.line().to_owned();
    assert_eq!(number(&line, "pid"), u64::from(victim.pid()));
    let waiters = numbers(&line, "waiters");
    assert_eq!(waiters.len(), 12);
    let mutex = number(&line, "mutex");
    for tid in &waiters {
        assert_eq!(state(&victim, *tid), ('S', "convoy-waiter".to_owned()));
        if let Some(call) = syscall(&victim, *tid) {
            assert_eq!(call, (FUTEX, mutex));
        }
    }
    let holder = number(&line, "holder");
    assert_eq!(state(&victim, holder), ('S', "convoy-holder".to_owned()));
    if let Some((number, _)) = syscall(&victim, holder) {
        assert_ne!(number, FUTEX);
    }
    let totals = victim.end().unwrap();
    assert_eq!(number(&totals, "taken"), 0);
}

#[test]
fn a_convoy_that_moves_counts() {
    let victim = start("convoy", &["4", "500"], &[]);
    assert_eq!(number(victim.line(), "holder"), 0);
    thread::sleep(Duration::from_millis(300));
    let totals = victim.end().unwrap();
    let taken = number(&totals, "taken");
    assert!(taken > 0);
    assert_eq!(number(&totals, "held_us"), 500 * taken);
}

#[test]
fn arena_workers_work() {
    let tunables = "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0";
    let victim = start("arena", &["6"], &[("GLIBC_TUNABLES", tunables)]);
    let workers = numbers(victim.line(), "workers");
    assert_eq!(workers.len(), 6);
    for tid in workers {
        assert_eq!(state(&victim, tid).1, "arena-worker");
    }
    thread::sleep(Duration::from_millis(100));
    let totals = victim.end().unwrap();
    assert!(number(&totals, "allocations") > 1000, "{totals}");
}

#[test]
fn idlers_wait_on_their_condition_variable() {
    let victim = start("idlers", &["50", "30"], &[]);
    let line = victim.line().to_owned();
    let idlers = numbers(&line, "idlers");
    assert_eq!((idlers.len(), number(&line, "depth")), (50, 30));
    let condition = number(&line, "condition");
    for tid in idlers {
        assert_eq!(state(&victim, tid), ('S', "idler".to_owned()));
        if let Some((number, address)) = syscall(&victim, tid) {
            assert_eq!(number, FUTEX);
            // sizeof (pthread_cond_t) is 48: one of its words.
            assert!((condition..condition + 48).contains(&address));
        }
    }
}

#[test]
fn hogs_map_and_sleepers_sleep() {
    let victim = start("mmap_hog", &["2", "5", "4"], &[]);
    let line = victim.line().to_owned();
    assert_eq!(number(&line, "bytes"), 4 << 20);
    for tid in numbers(&line, "sleepers") {
        assert_eq!(state(&victim, tid), ('S', "sleeper".to_owned()));
    }
    assert_eq!(numbers(&line, "hogs").len(), 2);
    thread::sleep(Duration::from_millis(300));
    let totals = victim.end().unwrap();
    assert!(number(&totals, "mappings") > 0, "{totals}");
}

#[test]
fn frames_sleep_while_threads_come_and_go() {
    let victim = start("frames", &["3", "2"], &[]);
    let line = victim.line().to_owned();
    for key in ["alloca", "signalled", "plain"] {
        let tids = numbers(&line, key);
        assert_eq!(tids.len(), 3);
        for tid in tids {
            assert_eq!(state(&victim, tid), ('S', key.to_owned()));
        }
    }
    thread::sleep(Duration::from_millis(200));
    let totals = victim.end().unwrap();
    assert!(number(&totals, "born") > 10, "{totals}");
}

#[test]
fn a_hammer_takes_turns_and_counts() {
    let mut victim = start("hammer", &["20000"], &[]);
    let line = victim.line().to_owned();
    assert_eq!(numbers(&line, "workers").len(), 2);
    assert!(number(&line, "futex") > 0);
    let before = victim.ask().unwrap();
    let begin = Instant::now();
    let mut after = victim.ask().unwrap();
    while number(&after, "turns") < number(&before, "turns") + 1000 {
        assert!(begin.elapsed() < DEADLINE, "{before} {after}");
        thread::sleep(Duration::from_millis(10));
        after = victim.ask().unwrap();
    }
    assert!(number(&after, "cpu_ns") > number(&before, "cpu_ns"));
    let totals = victim.end().unwrap();
    assert!(number(&totals, "turns") >= number(&after, "turns"));
}

#[test]
fn nothing_is_left_of_a_victim() {
    let dir = tempfile::tempdir().unwrap();
    let program = build_victim("idlers", dir.path()).unwrap();
    let dropped = Victim::start(&program, &["2"], &[]).unwrap();
    let pid = dropped.pid();
    drop(dropped);
    assert!(!Path::new("/proc").join(pid.to_string()).exists());

    // Its starter ends and nobody drops it: a process that is killed but not waited for has no
    // command line.
    let starter = thread::spawn(move || {
        let victim = Victim::start(&program, &["2"], &[]).unwrap();
        let pid = victim.pid();
        std::mem::forget(victim);
        pid
    });
    let cmdline = PathBuf::from(format!("/proc/{}/cmdline", starter.join().unwrap()));
    let begin = Instant::now();
    while std::fs::read(&cmdline).is_ok_and(|line| !line.is_empty()) {
        assert!(begin.elapsed() < DEADLINE, "it outlived its starter");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_cannot_be_built_or_run_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let error = build_victim("nobody", dir.path()).unwrap_err();
    assert!(matches!(error, Error::NoSuchVictim(_)), "{error}");
    assert_eq!(victim_names().count(), 8);
    let program = build_victim("convoy", dir.path()).unwrap();
    let Err(error) = Victim::start(&program, &["-1"], &[]) else {
        unreachable!("a convoy of -1 threads");
    };
    assert!(matches!(error, Error::VictimEnded { .. }), "{error}");
}
