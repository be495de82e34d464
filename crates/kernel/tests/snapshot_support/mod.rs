//! A process with threads in known places, and what its stacks must hold.

#![allow(dead_code, reason = "each test program uses a part")]

use kernel::snapshot::{
    NoStack, RawSnapshot, RawThread, SnapshotError, SnapshotOptions, Snapshotter, Way,
};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

pub const WAYS: [Way; 3] = [Way::Bpf, Way::Proc, Way::Ptrace];

/// The process; ends with this value.
pub struct Threads {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    _directory: tempfile::TempDir,
}

impl Threads {
    pub fn start(count: usize, depth: usize, extras: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("threads");
        let source = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/snapshot_support/threads.c"
        );
        // Without frame pointers, as distributions build servers' libraries.
        let compiled = Command::new("cc")
            .args(["-O1", "-fomit-frame-pointer", "-pthread", "-o"])
            .args([program.as_os_str(), source.as_ref()])
            .status()
            .unwrap();
        assert!(compiled.success());
        let mut process = Command::new(program)
            .args([count.to_string(), depth.to_string()])
            .args(extras)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut threads = Self {
            process,
            input,
            output,
            _directory: directory,
        };
        assert_eq!(threads.line(), "ready");
        threads.settle();
        threads
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Wakes thread 0 and waits until it sleeps again.
    pub fn wake(&mut self) {
        self.input.as_mut().unwrap().write_all(b"wake\n").unwrap();
        assert_eq!(self.line(), "woken");
        self.settle();
    }

    /// Waits until the first thread, which says a line and then listens for one, does listen.
    fn settle(&self) {
        let stat = format!("/proc/{0}/task/{0}/stat", self.pid());
        while std::fs::read_to_string(&stat).unwrap().contains(") R ") {
            std::thread::yield_now();
        }
    }

    /// Ends it now.
    pub fn end(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub fn options(way: Way) -> SnapshotOptions {
    SnapshotOptions {
        only: Some(way),
        force_stop: way == Way::Ptrace,
        deadline: Duration::from_secs(60),
        ..SnapshotOptions::default()
    }
}

/// `None`, with a word on stderr, where the system does not allow this way.
pub fn open(pid: u32, way: Way) -> Option<Snapshotter> {
    open_with(pid, &options(way))
}

pub fn open_with(pid: u32, options: &SnapshotOptions) -> Option<Snapshotter> {
    match Snapshotter::open(pid, options) {
        Ok(snapshotter) => {
            assert_eq!(Some(snapshotter.way()), options.only);
            Some(snapshotter)
        }
        Err(SnapshotError::NoWay { refused, .. }) => {
            eprintln!("skipped: {refused:?}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// All threads.
pub fn take_all(snapshotter: &mut Snapshotter) -> RawSnapshot {
    in_time(|| snapshotter.take(false).unwrap())
}

/// ptrace gives up on a thread that does not stop in time, as on a busy machine it may not, so a snapshot is taken again
/// until all of them did.
pub fn in_time(mut take: impl FnMut() -> RawSnapshot) -> RawSnapshot {
    for _ in 0..100 {
        let snapshot = take();
        let late = |thread: &RawThread| thread.stack == Err(NoStack::Deadline);
        if !snapshot.threads.iter().any(late) {
            return snapshot;
        }
    }
    panic!("some thread never stops in time");
}

/// The index of a waiting thread, by its name.
pub fn index(thread: &RawThread) -> Option<u64> {
    thread.name.strip_prefix("w-")?.parse().ok()
}

pub fn waiting(snapshot: &RawSnapshot) -> impl Iterator<Item = &RawThread> {
    snapshot
        .threads
        .iter()
        .filter(|thread| index(thread).is_some())
}

/// The thread that `main` runs in. It need not have the smallest thread id: ids begin anew after
/// `kernel.pid_max`.
pub fn leader(snapshot: &RawSnapshot, pid: u32) -> &RawThread {
    let mut threads = snapshot.threads.iter();
    threads.find(|thread| thread.tid == pid).unwrap()
}

pub fn named<'a>(snapshot: &'a RawSnapshot, name: &str) -> Vec<&'a RawThread> {
    let threads = snapshot.threads.iter();
    threads.filter(|thread| thread.name == name).collect()
}

/// Marks found on a stack: index of the thread and depth of the frame, innermost first.
pub fn marks(stack: &[u8]) -> Vec<(u64, u64)> {
    let words = stack
        .as_chunks()
        .0
        .iter()
        .map(|word| u64::from_ne_bytes(*word));
    let marks = words.filter(|word| word >> 40 == 0x00C0_FFEE);
    marks
        .map(|word| (word >> 16 & 0xff_ffff, word & 0xffff))
        .collect()
}

/// The stack is this thread's own, and whole: four marks of each frame, innermost first.
pub fn assert_own_stack(snapshot: &RawSnapshot, thread: &RawThread, depth: u64) {
    let index = index(thread).unwrap();
    let mut expected: Vec<(u64, u64)> = (0..=depth).rev().map(|depth| (index, depth)).collect();
    let mut found = marks(snapshot.stack_bytes(thread));
    // Copies of a mark in registers are saved on the stack by the functions called.
    found.dedup();
    expected.dedup();
    assert_eq!(found, expected, "{thread:?}");
    assert!(thread.stack_whole, "{thread:?}");
}
