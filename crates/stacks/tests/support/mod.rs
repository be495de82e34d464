//! C programs built for a test, and a reader of their threads by /proc alone.
#![allow(dead_code, reason = "each test uses a part of it")]

use kernel::memory::read_memory;
use kernel::snapshot::Registers;
use model::{StackEnd, StackFrame};
use stacks::images::{Images, Process};
use stacks::names::Namer;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// System call numbers of x86-64 in which the programs wait.
pub const READ: u64 = 0;
pub const POLL: u64 = 7;
pub const PAUSE: u64 = 34;
pub const FUTEX: u64 = 202;

const PATIENCE: Duration = Duration::from_secs(20);

/// Says why a test cannot run here.
pub fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

/// A directory for programs; nothing when there is no C compiler, or the machine is not the one whose numbers these are.
pub fn workshop() -> Option<TempDir> {
    if !cfg!(target_arch = "x86_64") {
        skipped("not x86-64");
        return None;
    }
    if !has("cc") {
        skipped("no C compiler");
        return None;
    }
    Some(TempDir::new().unwrap())
}

pub fn has(tool: &str) -> bool {
    Command::new(tool)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

pub fn run(program: &str, arguments: &[&str], directory: &Path) {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Builds a program from C.
pub fn build(directory: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let file = format!("{name}.c");
    std::fs::write(directory.join(&file), source).unwrap();
    let mut arguments = vec!["-o", name, file.as_str()];
    arguments.extend(flags);
    arguments.extend(["-pthread", "-ldl"]);
    run("cc", &arguments, directory);
    directory.join(name)
}

/// A running program, killed at the end of the test.
pub struct Running {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Running {
    /// Starts a program. Its first line says that it is ready.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// The next line as a hexadecimal number.
    pub fn number(&mut self) -> u64 {
        let line = self.line();
        u64::from_str_radix(line.trim_start_matches("0x"), 16).unwrap()
    }

    pub fn say(&mut self, text: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        writeln!(input, "{text}").unwrap();
        input.flush().unwrap();
    }

    /// Ends it now, and waits until it is gone.
    pub fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// The threads of a process, the first one first.
pub fn threads(pid: u32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let mut tids: Vec<u32> = entries
        .map(|entry| {
            entry
                .unwrap()
                .file_name()
                .to_str()
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    tids.sort_unstable();
    tids
}

/// Registers and stack of a thread that waits in a system call; nothing where reading that is refused.
pub fn parked(pid: u32, tid: u32, call: u64, stack_bytes: usize) -> Option<(Registers, Vec<u8>)> {
    let since = Instant::now();
    loop {
        let text = match std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")) {
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                skipped("reading /proc/PID/task/TID/syscall is refused");
                return None;
            }
            text => text.unwrap_or_default(),
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        if let [number, .., sp, ip] = fields.as_slice()
            && number.parse() == Ok(call)
        {
            let hex =
                |field: &str| u64::from_str_radix(field.trim_start_matches("0x"), 16).unwrap();
            let registers = Registers {
                ip: hex(ip),
                sp: hex(sp),
                bp: None,
                lr: None,
            };
            return Some((registers, stack(pid, registers.sp, stack_bytes)));
        }
        assert!(
            since.elapsed() < PATIENCE,
            "thread {tid} is not in system call {call}: {text}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a counter in a process has left zero; false where its memory may not be read.
pub fn counts(pid: u32, address: u64) -> bool {
    let since = Instant::now();
    loop {
        let mut counter = [0; 8];
        if let Err(error) = read_memory(pid, address, &mut counter) {
            skipped(&format!("reading memory: {error}"));
            return false;
        }
        if counter != [0; 8] {
            return true;
        }
        assert!(since.elapsed() < PATIENCE, "the counter stays zero");
    }
}

/// Memory from an address on, as far as it is mapped.
fn stack(pid: u32, sp: u64, limit: usize) -> Vec<u8> {
    let mut bytes = vec![0; limit];
    let mut done = 0;
    while done < limit {
        // By pages: a read that crosses the end of a mapping may fail as a whole.
        let room = (4096 - ((sp as usize + done) & 4095)).min(limit - done);
        match read_memory(pid, sp + done as u64, &mut bytes[done..done + room]) {
            Ok(read) if read > 0 => done += read,
            _ => break,
        }
    }
    bytes.truncate(done);
    bytes
}

/// A stack with names.
#[derive(Debug)]
pub struct Named {
    pub frames: Vec<StackFrame>,
    pub end: StackEnd,
}

impl Named {
    pub fn names(&self) -> Vec<&str> {
        self.frames
            .iter()
            .map(|frame| frame.name.as_str())
            .collect()
    }

    /// Asserts that these functions stand one directly below the other.
    pub fn assert_chain(&self, chain: &[&str]) {
        let names = self.names();
        let there = names.windows(chain.len()).any(|window| window == chain);
        assert!(there, "{chain:?} in {names:?}, {:?}", self.end);
    }
}

/// Unwinds and names one stack.
pub fn unwind(
    process: &mut Process,
    namer: &mut Namer,
    registers: &Registers,
    stack: &[u8],
    whole: bool,
) -> Named {
    let unwound = process.unwind(registers, stack, whole);
    Named {
        frames: unwound
            .addresses
            .iter()
            .map(|address| namer.user(*address).clone())
            .collect(),
        end: unwound.end,
    }
}

/// Opens a process that runs a test's program, and names the stack of one of its threads.
pub fn stack_of(pid: u32, tid: u32, call: u64) -> Option<Named> {
    let images = Images::new();
    let (registers, stack) = parked(pid, tid, call, 64 << 10)?;
    let mut process = Process::open(pid, &images).unwrap();
    Some(unwind(
        &mut process,
        &mut Namer::new(&images),
        &registers,
        &stack,
        false,
    ))
}
