//! Builds and runs the programs of `victim.c`, and ends them.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use kernel::lock_waits::{WaitCounter, WaitError, WaitOptions, WaitSample, WaitTotals};

fn build(out: &Path) {
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/lock_waits_victim/victim.c"
    );
    let built = Command::new("cc")
        .args(["-O1", "-g", "-pthread", "-o"])
        .arg(out)
        .arg(source)
        .status()
        .expect("cc is there");
    assert!(built.success(), "victim.c compiles");
}

/// A running victim; killed when it goes out of scope.
pub struct Victim {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    #[allow(dead_code, reason = "the measurements do not ask")]
    /// What it printed before "ready": numbers by name.
    pub said: HashMap<String, Vec<u64>>,
    _directory: tempfile::TempDir,
}

impl Victim {
    pub fn start(arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let program = directory.path().join("victim");
        build(&program);
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the victim starts");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let mut said = HashMap::new();
        loop {
            let mut line = String::new();
            let read = output.read_line(&mut line).expect("readable");
            assert!(read > 0, "the victim ended early");
            if line.trim() == "ready" {
                break;
            }
            let mut words = line.split_whitespace();
            let name = words.next().expect("a name").to_owned();
            said.insert(name, words.map(|w| w.parse().expect("a number")).collect());
        }
        let input = child.stdin.take();
        Self {
            child,
            input,
            output,
            said,
            _directory: directory,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its counter now, and the processor time it used, nanoseconds.
    #[allow(dead_code, reason = "only the measurements ask")]
    pub fn count(&mut self) -> (u64, u64) {
        let input = self.input.as_mut().expect("piped");
        input.write_all(b"?").expect("it reads");
        input.flush().expect("it reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it answers");
        let mut numbers = line
            .split_whitespace()
            .map(|w| w.parse().expect("a number"));
        (
            numbers.next().expect("a count"),
            numbers.next().expect("a time"),
        )
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
        let mut rest = Vec::new();
        let _rest = self.output.read_to_end(&mut rest);
    }
}

pub fn options(pid: u32) -> WaitOptions {
    WaitOptions {
        pid,
        futexes: true,
        kernel_locks: false,
        stacks_per_second_max: 2000,
        events_per_second_max: 1_000_000,
        stack_bytes: 8192,
    }
}

/// Opens a counter; `None`, with a word on stderr, where the system refuses it.
pub fn open(options: &WaitOptions) -> Option<WaitCounter> {
    match WaitCounter::open(options) {
        Ok(counter) => Some(counter),
        Err(
            e @ (WaitError::NotPermitted { .. }
            | WaitError::KernelLacks { .. }
            | WaitError::PidNamespace
            | WaitError::Unsupported),
        ) => {
            eprintln!("skipped: {e}");
            None
        }
        Err(e) => panic!("open: {e}"),
    }
}

#[allow(dead_code, reason = "the measurements do it their way")]
/// Counts for so long; also the samples, of which there may be more in the totals.
pub fn count_for(mut counter: WaitCounter, duration: Duration) -> (Vec<WaitSample>, WaitTotals) {
    let mut samples = Vec::new();
    let until = Instant::now() + duration;
    while Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
        counter.poll(&mut |s| samples.push(s));
    }
    let totals = counter.finish().expect("the tables can be read");
    samples.extend(totals.samples.iter().cloned());
    (samples, totals)
}
