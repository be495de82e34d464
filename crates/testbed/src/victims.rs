//! Small C programs whose threads hold locks, wait or run in a known way, built at need.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use crate::Error;
use crate::files::{find_program, text_tail};

/// Longest line that a victim prints, bytes: 4,096 thread ids of seven digits, twice.
const LINE_BYTES_MAX: u64 = 256 << 10;

const COMPILER_PACKAGE: &str = "gcc and libc6-dev (Debian, Ubuntu), gcc (Fedora, RHEL)";

/// With optimisation, as servers are built, and with every call as a frame.
const CC_OPTIONS: [&str; 5] = [
    "-O2",
    "-g",
    "-pthread",
    "-Wall",
    "-fno-optimize-sibling-calls",
];

const HEADER: &str = include_str!("victims/victim.h");

struct Source {
    name: &'static str,
    text: &'static str,
    options: &'static [&'static str],
}

/// What each does and takes as arguments stands at the head of its source.
const SOURCES: [Source; 8] = [
    Source {
        name: "convoy",
        text: include_str!("victims/convoy.c"),
        options: &[],
    },
    Source {
        name: "arena",
        text: include_str!("victims/arena.c"),
        options: &[],
    },
    Source {
        name: "idlers",
        text: include_str!("victims/idlers.c"),
        options: &[],
    },
    Source {
        name: "mmap_hog",
        text: include_str!("victims/mmap_hog.c"),
        options: &[],
    },
    Source {
        name: "frames",
        text: include_str!("victims/frames.c"),
        // Not everywhere the usual.
        options: &["-fomit-frame-pointer"],
    },
    Source {
        name: "hammer",
        text: include_str!("victims/hammer.c"),
        options: &[],
    },
    Source {
        name: "pager",
        text: include_str!("victims/pager.c"),
        options: &[],
    },
    Source {
        name: "fragmenter",
        text: include_str!("victims/fragmenter.c"),
        options: &[],
    },
];

/// The names that [`build_victim`] knows.
pub fn victim_names() -> impl Iterator<Item = &'static str> {
    SOURCES.iter().map(|source| source.name)
}

/// Compiles a program with known threads, stacks and locks in `dir`, with `cc`, and says where it
/// is. [`Victim::start`] runs it.
pub fn build_victim(name: &str, dir: &Path) -> Result<PathBuf, Error> {
    let source = SOURCES
        .iter()
        .find(|source| source.name == name)
        .ok_or_else(|| Error::NoSuchVictim(name.to_owned()))?;
    let header = dir.join("victim.h");
    fs::write(&header, HEADER).map_err(Error::io(format!("write {}", header.display())))?;
    let program = dir.join(name);
    compile(source.text, source.options, &program)?;
    Ok(program)
}

/// Compiles C beside what comes of it, with `cc`.
pub(crate) fn compile(text: &str, options: &[&str], output: &Path) -> Result<(), Error> {
    let cc = find_program("cc", COMPILER_PACKAGE)?;
    let source = output.with_extension("c");
    fs::write(&source, text).map_err(Error::io(format!("write {}", source.display())))?;
    let result = Command::new(&cc)
        .args(CC_OPTIONS)
        .args(options)
        .arg("-o")
        .arg(output)
        .arg(&source)
        .stdin(Stdio::null())
        .output()
        .map_err(Error::io(format!("run {}", cc.display())))?;
    if result.status.success() {
        return Ok(());
    }
    Err(Error::Compile {
        name: output.display().to_string(),
        status: result.status,
        output: text_tail(&[result.stdout, result.stderr].concat()),
    })
}

/// A running victim, all its threads where they belong. Dropping it kills it, and so does the end
/// of the thread that started it, however that ends (prctl(2), `PR_SET_PDEATHSIG`).
pub struct Victim {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Victim {
    /// Runs a program of [`build_victim`] and waits until it says where its threads are.
    /// `environment` is set on top of ours.
    pub fn start(
        program: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Self, Error> {
        let mut child = Command::new(program)
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Error::io(format!("run {}", program.display())))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else {
            return Err(Error::NotRunning);
        };
        let mut victim = Self {
            child,
            input: Some(input),
            output: BufReader::new(output),
            line: String::new(),
        };
        victim.line = victim.read_line()?;
        if victim.line.is_empty() {
            return Err(Error::VictimEnded {
                program: program.to_owned(),
                status: victim.wait()?,
            });
        }
        Ok(victim)
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The line of JSON by which it says what is known of it: thread ids by role, names of
    /// functions innermost first, addresses of locks.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// The line of JSON by which it answers a byte of input; one that does not listen never answers.
    pub fn ask(&mut self) -> Result<String, Error> {
        let input = self.input.as_mut().ok_or(Error::NotRunning)?;
        input
            .write_all(b"?")
            .and_then(|()| input.flush())
            .map_err(Error::io("ask a victim"))?;
        self.read_line()
    }

    /// Ends it in order, and gives its line of JSON with totals; empty for one that has none.
    pub fn end(mut self) -> Result<String, Error> {
        self.input = None;
        let totals = self.read_line()?;
        self.wait()?;
        Ok(totals)
    }

    fn read_line(&mut self) -> Result<String, Error> {
        let mut line = String::new();
        self.output
            .by_ref()
            .take(LINE_BYTES_MAX)
            .read_line(&mut line)
            .map_err(Error::io("read what a victim says"))?;
        Ok(line.trim_end().to_owned())
    }

    fn wait(&mut self) -> Result<ExitStatus, Error> {
        self.child.wait().map_err(Error::io("wait for a victim"))
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
