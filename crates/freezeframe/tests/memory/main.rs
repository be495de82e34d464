//! Whatever is in a file: reading it takes at most 512 MiB of resident memory and a bounded time, and
//! ends with an answer or with one clear line. Inputs are made here, small on the disk where they can
//! be and as hostile as we know how.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failing step fails the test, and what was measured is told"
)]

mod archives;
mod frames;
mod texts;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The limit that is promised, KiB.
const RESIDENT_KIB_MAX: u64 = 512 << 10;

/// Seconds that a run may take: generous, for a build without optimisation on a busy machine.
const SECONDS_MAX: u64 = 60;

/// What came of a run.
#[derive(Debug)]
struct Ran {
    status: i32,
    out: String,
    errors: String,
}

/// Runs the program on a file and holds it to memory and time: again when it was over before its memory was seen.
fn run(words: &[&str], path: &Path) -> Ran {
    let ran = (0..3).find_map(|_| run_once(words, path));
    ran.unwrap_or_else(|| panic!("its memory was not seen"))
}

/// `None` when its memory was not seen.
fn run_once(words: &[&str], path: &Path) -> Option<Ran> {
    let dir = tempfile::tempdir().unwrap();
    let (out, errors) = (dir.path().join("out"), dir.path().join("errors"));
    let begin = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_freezeframe"))
        .args(words)
        .arg(path)
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&out).unwrap())
        .stderr(std::fs::File::create(&errors).unwrap())
        .spawn()
        .unwrap();
    let told = format!("/proc/{}/status", child.id());
    // To ask each millisecond took a fifth of a processor.
    let pause = Duration::from_millis(5);
    let mut peak_kib = 0;
    let ended = loop {
        // The highest that there was so far: what is missed is the last milliseconds.
        let told = std::fs::read_to_string(&told).unwrap_or_default();
        let peak = told
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        peak_kib = peak_kib.max(peak.unwrap_or(0));
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        if begin.elapsed() > Duration::from_secs(SECONDS_MAX) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{words:?} {}: longer than {SECONDS_MAX} s", path.display());
        }
        std::thread::sleep(pause);
    };
    let text = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let ran = Ran {
        status: ended.code().unwrap_or(-1),
        out: text(&out),
        errors: text(&errors),
    };
    eprintln!(
        "{words:?} {}: {} MiB, {:.1} s, status {}: {}",
        path.file_name().unwrap_or_default().display(),
        peak_kib >> 10,
        begin.elapsed().as_secs_f64(),
        ran.status,
        ran.errors.lines().next().unwrap_or_default()
    );
    if peak_kib <= 1000 {
        return None;
    }
    assert!(
        peak_kib <= RESIDENT_KIB_MAX,
        "{words:?} {}: {} MiB",
        path.display(),
        peak_kib >> 10
    );
    assert!(
        [0, 1].contains(&ran.status) && !ran.errors.contains("internal error"),
        "{words:?} {}: status {}, {}",
        path.display(),
        ran.status,
        ran.errors
    );
    if ran.status == 1 {
        assert_eq!(ran.errors.lines().count(), 1, "{}", ran.errors);
        let begin = "freezeframe: ";
        assert!(ran.errors.starts_with(begin), "{}", ran.errors);
    }
    Some(ran)
}

/// Runs that must give an answer, in which something stands.
fn answers(words: &[&str], path: &Path, stands: &str) {
    let ran = run(words, path);
    assert_eq!(ran.status, 0, "{}", ran.errors);
    let all = ran.out + &ran.errors;
    // How a line is broken depends on the length of the temporary directory's name.
    let unbroken = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        unbroken(&all).contains(&unbroken(stands)),
        "no '{stands}' in: {all:.4000}"
    );
}

/// Runs that must end with one line, in which something stands.
fn is_refused(words: &[&str], path: &Path, stands: &str) {
    let ran = run(words, path);
    assert_eq!(ran.status, 1, "{:.1000}", ran.out);
    assert!(ran.errors.contains(stands), "{}", ran.errors);
}

/// Writes a file of a test.
fn file(dir: &tempfile::TempDir, name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}
