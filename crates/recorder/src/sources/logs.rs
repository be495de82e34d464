//! New lines of the server's error log and of the kernel's log. A log that is followed and silent is
//! evidence too, so each reading brings how many lines there were.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kernel::kmsg::{KernelLog, KernelMessage};
use kernel::roots::ProcRoot;
use model::{Absent, OwnText, Reading, Reason, SourceData, Text, Unit};

use super::process::known;
use super::{Outcome, Reader, State, absent, signals};
use crate::context::Context;
use crate::target::Shared;

/// Read of the error log at a time, in bytes.
const TURN_BYTES_MAX: usize = 256 * 1024;

/// What the log may be ahead of us, in bytes; of a flood above it the beginning is passed over.
const BEHIND_BYTES_MAX: u64 = 1 << 20;

/// Longest part of a line that waits for its end.
const PART_BYTES_MAX: usize = 64 * 1024;

/// Lines of the kernel kept of one reading.
const KERNEL_LINES_MAX: usize = 200;

/// Longest line of the kernel that is kept, in characters.
const KERNEL_CHARS_MAX: usize = 500;

/// From this level on (warning) every line of the kernel is kept.
const KERNEL_LEVEL: u8 = 4;

/// Words that make a line of any level worth keeping: memory, tasks that hang, disks, file systems, the network. Each is
/// looked for as a word of its own, which may have a number behind it (`nvme0n1`): `stall` is none in `install`.
const KERNEL_WORDS: [&str; 24] = [
    "oom",
    "out of memory",
    "killed process",
    "blocked for more than",
    "lockup",
    "lockups",
    "stall",
    "stalls",
    "stalled",
    "i/o error",
    "i/o errors",
    "ext4-fs",
    "xfs",
    "btrfs",
    "jbd2",
    "nvme",
    "md/raid",
    "resetting",
    "conntrack",
    "syn flooding",
    "throttle",
    "throttled",
    "throttling",
    "throttles",
];

/// What the sources of logs remember.
pub(crate) struct LogState {
    pub(super) proc: ProcRoot,
    pub(super) shared: Arc<Shared>,
    error_log: Option<Followed>,
    error_lines: u64,
    error_bytes: u64,
    kernel: Option<KernelLog>,
    kernel_lines: u64,
}

/// A disk that hangs may hold up reading them.
impl State for LogState {
    const THREAD: &'static str = "ff-logs";

    fn new(context: &Context) -> Self {
        Self {
            proc: ProcRoot::default(),
            shared: context.shared.clone(),
            error_log: None,
            error_lines: 0,
            error_bytes: 0,
            kernel: None,
            kernel_lines: 0,
        }
    }
}

/// A file that grows.
struct Followed {
    file: File,
    /// Device and inode: another file under the same name is a log that was rotated.
    id: (u64, u64),
    at: u64,
    /// The beginning of a line whose end is not written yet.
    part: Vec<u8>,
}

impl Followed {
    /// `from_begin` for the successor of a log that was followed: all of it is new.
    fn open(path: &Path, from_begin: bool) -> io::Result<Self> {
        let file = File::open(path)?;
        let meta = file.metadata()?;
        Ok(Self {
            id: (meta.dev(), meta.ino()),
            at: if from_begin { 0 } else { meta.size() },
            part: Vec::new(),
            file,
        })
    }

    /// Whole lines that were written since the last turn.
    fn turn(&mut self) -> io::Result<Vec<u8>> {
        let size = self.file.metadata()?.size();
        if size < self.at {
            // Emptied in place, as logrotate's copytruncate does.
            self.at = 0;
            self.part.clear();
        }
        if size - self.at > BEHIND_BYTES_MAX {
            self.at = size - BEHIND_BYTES_MAX;
            self.part.clear();
        }
        let wanted = usize::try_from(size - self.at)
            .map_or(TURN_BYTES_MAX, |behind| behind.min(TURN_BYTES_MAX));
        let mut bytes = std::mem::take(&mut self.part);
        let known = bytes.len();
        bytes.resize(known + wanted, 0);
        let read = self
            .file
            .read_at(bytes.get_mut(known..).unwrap_or_default(), self.at)?;
        bytes.truncate(known + read);
        self.at = self.at.saturating_add(read as u64);
        let end = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        self.part = bytes.split_off(end);
        if self.part.len() > PART_BYTES_MAX {
            self.part.clear();
        }
        Ok(bytes)
    }
}

#[rustfmt::skip]
pub(crate) static ERROR_LOG: Reader<LogState> = Reader {
    source: "error-log",
    signals: &[
        signals(&["error_log.lines", "error_log.bytes"], "c", "new lines that were read; a silent log that is followed is evidence too"),
    ],
    read: error_log,
};

fn error_log(state: &mut LogState) -> Outcome {
    const WHAT: &str = "error-log";
    let now = known(&state.shared, WHAT).and_then(|server| {
        // The server writes its log to its standard error, whatever the log's name is and wherever it
        // lies: in a container, or under a name that is gone.
        let path = state.proc.of(server.pid, "fd/2");
        follow(&mut state.error_log, &path).map_err(|error| not_read(WHAT, &path, &error))
    });
    let lines = now.or_else(|absent| last_words(&mut state.error_log).ok_or(absent))?;
    state.error_lines = state
        .error_lines
        .saturating_add(lines.iter().filter(|byte| **byte == b'\n').count() as u64);
    state.error_bytes = state.error_bytes.saturating_add(lines.len() as u64);
    let mut taken = SourceData {
        readings: vec![
            Reading::counter("error_log.lines", Unit::Count, state.error_lines as f64),
            Reading::counter("error_log.bytes", Unit::Bytes, state.error_bytes as f64),
        ],
        ..SourceData::default()
    };
    if !lines.is_empty() {
        taken.texts = error_log_texts(&String::from_utf8_lossy(&lines));
    }
    Ok(taken)
}

/// What new lines of an error log tell: its known words, and the waits that InnoDB writes there.
pub(super) fn error_log_texts(lines: &str) -> Vec<Text> {
    let mut texts = Vec::new();
    let waits = server_text::innodb::semaphore_waits(lines);
    if !waits.is_empty() {
        let waits = serde_json::to_string(&waits).unwrap_or_default();
        texts.push(Text::own(OwnText::Semaphores, waits));
    }
    texts.push(server_text::error_log(lines));
    texts
}

/// What a server that is gone wrote at its end: a crash tells why.
fn last_words(followed: &mut Option<Followed>) -> Option<Vec<u8>> {
    let rest = followed.as_mut()?.turn().ok()?;
    (!rest.is_empty()).then_some(rest)
}

/// The new lines of the file at `path`, and of the one that was there before.
fn follow(followed: &mut Option<Followed>, path: &Path) -> io::Result<Vec<u8>> {
    let meta = std::fs::metadata(path)?;
    if !meta.is_file() {
        return Err(io::Error::from(io::ErrorKind::Unsupported));
    }
    let Some(known) = followed else {
        *followed = Some(Followed::open(path, false)?);
        return Ok(Vec::new());
    };
    let mut lines = known.turn()?;
    if known.id != (meta.dev(), meta.ino()) {
        let mut next = Followed::open(path, true)?;
        lines.extend(next.turn()?);
        *followed = Some(next);
    }
    Ok(lines)
}

fn not_read(what: &str, path: &Path, error: &io::Error) -> Absent {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Absent::new(
            what,
            Reason::Permission,
            format!("{}: {error}", path.display()),
        ),
        io::ErrorKind::NotFound => Absent::new(
            what,
            Reason::Gone,
            "the server has ended, or closed its log",
        ),
        io::ErrorKind::Unsupported => {
            let target =
                std::fs::read_link(path).unwrap_or_else(|_| PathBuf::from("something else"));
            let detail = format!(
                "the server's error log is no file but {}: a journal or a pipe; set log_error to a file",
                target.display()
            );
            Absent::new(what, Reason::Unsupported, detail)
        }
        _ => Absent::new(what, Reason::Failed, format!("{}: {error}", path.display())),
    }
}

#[rustfmt::skip]
pub(crate) static KERNEL_LOG: Reader<LogState> = Reader {
    source: "kernel-log",
    signals: &[
        signals(&["kernel_log.lines"], "c", "as of the error log"),
    ],
    read: kernel_log,
};

fn kernel_log(state: &mut LogState) -> Outcome {
    const WHAT: &str = "kernel-log";
    let log = match &mut state.kernel {
        Some(log) => log,
        closed => closed.insert(KernelLog::open().map_err(|error| absent(WHAT, &error))?),
    };
    let turn = log.turn().map_err(|error| absent(WHAT, &error))?;
    let lines: Vec<String> = turn
        .messages
        .iter()
        .filter_map(kept)
        .take(KERNEL_LINES_MAX)
        .collect();
    state.kernel_lines = state.kernel_lines.saturating_add(lines.len() as u64);
    let mut taken = SourceData {
        readings: vec![Reading::counter(
            "kernel_log.lines",
            Unit::Count,
            state.kernel_lines as f64,
        )],
        ..SourceData::default()
    };
    if turn.lost {
        let detail = "the kernel wrote faster than its log was read";
        taken.absent.push(Absent::new(WHAT, Reason::Limit, detail));
    }
    if !lines.is_empty() {
        taken.texts.push(server_text::kernel_log(&lines.join("\n")));
    }
    Ok(taken)
}

/// The line of a message that matters. What programs write to the kernel's log is not the kernel's, and what the kernel
/// tells of their arguments is theirs.
fn kept(message: &KernelMessage) -> Option<String> {
    if message.facility != 0 {
        return None;
    }
    let text = server_text::kernel_log(&line(&message.text));
    let lower = text.body().to_ascii_lowercase();
    let matters =
        message.level <= KERNEL_LEVEL || KERNEL_WORDS.iter().any(|word| has_word(&lower, word));
    matters.then(|| text.body().to_owned())
}

/// Whether the word stands there, and not as a part of another.
fn has_word(text: &str, word: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let behind = text.get(at + word.len()..);
        let behind = behind.and_then(|tail| tail.chars().next());
        !is_letter(before) && !behind.is_some_and(char::is_alphabetic)
    })
}

fn line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(KERNEL_CHARS_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    use super::*;

    fn append(path: &Path, text: &str) {
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn new_lines_are_read_once_and_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("error.log");
        let mut log = None;
        let mut turn = || String::from_utf8(follow(&mut log, &path).unwrap()).unwrap();
        append(&path, "old\n");
        assert_eq!(turn(), "");
        append(&path, "one\ntw");
        assert_eq!(turn(), "one\n");
        assert_eq!(turn(), "");
        append(&path, "o\nthree\n");
        assert_eq!(turn(), "two\nthree\n");
        // Moved away, written to once more, and begun anew.
        fs::rename(&path, dir.path().join("error.log.1")).unwrap();
        append(&dir.path().join("error.log.1"), "last\n");
        append(&path, "first\n");
        assert_eq!(turn(), "last\nfirst\n");
        // Emptied in place.
        fs::write(&path, "x\n").unwrap();
        assert_eq!(turn(), "x\n");
        // Its writer is gone, and the name with it.
        append(&path, "mysqld got signal 11\n");
        fs::remove_file(&path).unwrap();
        assert!(follow(&mut log, &path).is_err());
        assert_eq!(last_words(&mut log).unwrap(), b"mysqld got signal 11\n");
        assert!(last_words(&mut log).is_none());
    }

    #[test]
    fn a_flood_costs_bounded_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("error.log");
        append(&path, "");
        let mut log = None;
        assert!(follow(&mut log, &path).unwrap().is_empty());
        append(&path, &"a line of the flood\n".repeat(500_000));
        let mut sum = 0;
        for _ in 0..20 {
            let lines = follow(&mut log, &path).unwrap();
            assert!(lines.len() <= TURN_BYTES_MAX + PART_BYTES_MAX);
            sum += lines.len() as u64;
        }
        assert!(
            sum > BEHIND_BYTES_MAX / 2 && sum <= BEHIND_BYTES_MAX,
            "{sum}"
        );
        // A line without an end.
        append(&path, &"x".repeat(900_000));
        for _ in 0..10 {
            assert!(follow(&mut log, &path).unwrap().is_empty());
        }
        append(&path, "\nnext\n");
        assert!(follow(&mut log, &path).unwrap().ends_with(b"next\n"));
    }

    #[test]
    fn what_is_no_file_is_not_read() {
        let error = follow(&mut None, Path::new("/dev/zero")).unwrap_err();
        assert_eq!(
            not_read("error-log", Path::new("/dev/zero"), &error).reason,
            Reason::Unsupported
        );
        let error = follow(&mut None, Path::new("/nonexistent/fd/2")).unwrap_err();
        assert_eq!(
            not_read("error-log", Path::new("/nonexistent"), &error).reason,
            Reason::Gone
        );
    }

    #[test]
    fn lines_of_the_kernel_that_matter_are_kept() {
        let message = |level, facility, text: &str| KernelMessage {
            level,
            facility,
            text: text.to_owned(),
        };
        let is_kept = |level, facility, text| kept(&message(level, facility, text)).is_some();
        assert!(is_kept(4, 0, "anything"));
        for text in [
            "Memory cgroup out of memory: Killed process 5 (mysqld)",
            "oom_reaper: reaped process 5 (mysqld)",
            "mysqld invoked oom-killer: order=0",
            "rcu: INFO: rcu_sched detected stalls on CPUs/tasks:",
            "nvme0n1: I/O error, dev nvme0n1",
            "nvme nvme0: I/O 5 QID 3 timeout",
            "XFS (dm-0): metadata I/O error",
            "md/raid1:md0: Disk failure on sda1",
            "nf_conntrack: table full",
            "CPU0: Core temperature above threshold, cpu clock throttled",
        ] {
            assert!(is_kept(6, 0, text), "{text}");
        }
        for text in [
            "usb 1-1: new device",
            "loading /root/zoom1 for the installer",
            "audit: type=1309 audit(1.2:9): argc=2 a0=\"stall\" a1=\"-phunter2\"",
        ] {
            assert!(!is_kept(6, 0, text), "{text}");
        }
        assert!(!is_kept(3, 3, "a program's own: Out of memory"));
        assert_eq!(line("a\u{1b}[31mb"), "a [31mb");
    }

    #[test]
    fn arguments_of_programs_are_not_kept() {
        let text = r#"audit: type=1309 audit(1700000000.1:9): argc=3 a0="mysql_install_db" a1="-uroot" a2="-phunter2""#;
        let message = |level| KernelMessage {
            level,
            facility: 0,
            text: text.to_owned(),
        };
        assert_eq!(kept(&message(5)), None);
        assert_eq!(
            kept(&message(4)).as_deref(),
            Some("audit: type=1309 audit(1700000000.1:9): (left out)")
        );
    }
}
