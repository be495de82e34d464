//! Programs in C that do a known thing, built by the test.

use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use tempfile::TempDir;

/// A running `processors.c`; killed at the end of the test, however it ends.
pub struct Victim {
    child: Child,
    input: Option<ChildStdin>,
    /// Where its function's code is.
    pub function: Range<u64>,
    _directory: TempDir,
}

impl Victim {
    /// Starts it; `prefix` is a command that runs it, such as `setpriv` with arguments, or empty.
    pub fn start_by(prefix: &[&str], mode: &str, threads: u32) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("victim");
        build("processors.c", &program);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(directory.path(), open).unwrap();
        let mut words = prefix.to_vec();
        let program = program.to_str().unwrap().to_owned();
        let count = threads.to_string();
        words.extend([program.as_str(), mode, &count]);
        let mut child = Command::new(words.first().unwrap())
            .args(words.get(1..).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = child.stdout.take().unwrap();
        let mut victim = Self {
            child,
            input,
            function: 0..0,
            _directory: directory,
        };
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).unwrap();
        let (from, to) = line.trim().split_once(' ').unwrap();
        let address = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
        victim.function = address(from)..address(to);
        assert!(!victim.function.is_empty());
        victim
    }

    #[allow(dead_code, reason = "not every test starts it as itself")]
    pub fn start(mode: &str, threads: u32) -> Self {
        Self::start_by(&[], mode, threads)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends its input.
    #[allow(dead_code, reason = "not every test has a second act")]
    pub fn go_on(&mut self) {
        self.input = None;
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn build(source: &str, program: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/processor_victim")
        .join(source);
    let status = Command::new("cc")
        .args(["-O1", "-g", "-pthread", "-fno-toplevel-reorder", "-o"])
        .arg(program)
        .arg(source)
        .status()
        .unwrap();
    assert!(status.success());
}
