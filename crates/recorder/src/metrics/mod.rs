//! What the operator of a managed server says of its host: JSON of a file or a command. The way is here, the forms are in
//! [`parse`], and what becomes of them is in [`signals`].

mod parse;
mod signals;

use std::fmt;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

pub(crate) use self::parse::parse;
pub(crate) use self::signals::Signals;

/// Most of an answer that is read, bytes: with a list of processes it is some dozen KiB.
const BYTES_MAX: u64 = 4 << 20;

/// How long a command may take. It may ask a service of the operator, which is not asked more often than that.
const COMMAND_MAX: Duration = Duration::from_secs(20);

/// How often a command is looked after.
const POLL: Duration = Duration::from_millis(50);

/// A command rests so long after it ended: it may start an interpreter and cost more than the recorder itself.
pub(crate) const COMMAND_REST: Duration = Duration::from_secs(10);

/// Where the metrics of a target are from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetricsFrom {
    /// A file that somebody else renews.
    File(PathBuf),
    /// A program with its arguments, started without a shell; it writes to its standard output.
    Command(Vec<String>),
}

impl FromStr for MetricsFrom {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(path) = text.strip_prefix("file:").filter(|path| !path.is_empty()) {
            return Ok(Self::File(path.into()));
        }
        let command = text.strip_prefix("command:").unwrap_or_default();
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        match words.is_empty() {
            // It may hold a secret: `cmd:aws --secret x`.
            true => Err("file:PATH or command:PROGRAM expected".to_owned()),
            false => Ok(Self::Command(words)),
        }
    }
}

impl fmt::Display for MetricsFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            // Arguments may hold a secret.
            Self::Command(words) => f.write_str(words.first().map_or("", String::as_str)),
        }
    }
}

impl MetricsFrom {
    /// The JSON as it is now. Stops early when `ends` says so.
    pub(crate) fn read(&self, ends: impl Fn() -> bool) -> Result<Vec<u8>, String> {
        match self {
            Self::File(path) => {
                let file = kernel::read::open_file(path).map_err(|error| error.to_string())?;
                limited(file)
            }
            Self::Command(words) => run(words, ends),
        }
    }
}

fn limited(from: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = from.take(BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    match bytes.len() as u64 > BYTES_MAX {
        true => Err(format!("more than {} MiB", BYTES_MAX >> 20)),
        false => Ok(bytes),
    }
}

/// A child that does not outlive its use.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn run(words: &[String], ends: impl Fn() -> bool) -> Result<Vec<u8>, String> {
    let Some((program, arguments)) = words.split_first() else {
        return Err("the program is missing".to_owned());
    };
    let child = Command::new(program)
        .args(arguments)
        // Passwords of ours, to the server and to the fleet.
        .env_remove("MYSQL_PWD")
        .env_remove("FREEZEFRAME_FLEET_PASSWORD")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot be started: {error}"))?;
    let mut running = Running(child);
    let Some(output) = running.0.stdout.take() else {
        return Err("it has no output".to_owned());
    };
    // On a thread that nobody waits for: what it starts may hold the pipe open when it is gone.
    let (sender, receiver) = std::sync::mpsc::channel();
    kernel::own_threads::start_with_stack("ff-metrics-read", 256 << 10, move || {
        drop(sender.send(limited(output)))
    })
    .map_err(|error| error.to_string())?;
    let end = Instant::now() + COMMAND_MAX;
    let bytes = loop {
        if let Ok(bytes) = receiver.recv_timeout(POLL) {
            break bytes?;
        }
        if Instant::now() >= end {
            return Err(format!("no answer in {} s", COMMAND_MAX.as_secs()));
        }
        if ends() {
            return Err("the recording ends".to_owned());
        }
    };
    loop {
        match running.0.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(bytes),
            Ok(Some(status)) => return Err(format!("it failed: {status}")),
            Ok(None) if Instant::now() < end => std::thread::sleep(POLL),
            Ok(None) => return Err("it does not end".to_owned()),
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn from(text: &str) -> MetricsFrom {
        text.parse().unwrap()
    }

    #[test]
    fn a_file_and_a_command_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metrics.json");
        std::fs::write(&path, "{}").unwrap();
        let file = from(&format!("file:{}", path.display()));
        assert_eq!(file.read(|| false).unwrap(), b"{}");
        assert_eq!(from("command:echo {}").read(|| false).unwrap(), b"{}\n");
        let failed = from("command:false").read(|| false).unwrap_err();
        assert!(failed.contains("it failed"), "{failed}");
        assert!(from("command:/nonexistent x").read(|| false).is_err());
        assert!(from("file:/nonexistent").read(|| false).is_err());
        assert_eq!(from("command:aws --secret x").to_string(), "aws");
        // Nobody writes to it: an open would wait for ever.
        let fifo = dir.path().join("fifo");
        let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        for path in [fifo.as_path(), dir.path(), Path::new("/dev/zero")] {
            let refused = from(&format!("file:{}", path.display())).read(|| false);
            assert_eq!(refused.unwrap_err(), "it is no regular file", "{path:?}");
        }
        for wrong in ["", "command:", "file:", "http://x", "cmd:aws --secret x"] {
            let told = wrong.parse::<MetricsFrom>().unwrap_err();
            assert_eq!(told, "file:PATH or command:PROGRAM expected", "{wrong}");
        }
    }

    #[test]
    fn a_command_that_does_not_end_is_not_waited_for() {
        let begin = Instant::now();
        let sleeps = from("command:sleep 600");
        assert!(sleeps.read(|| true).is_err());
        assert!(begin.elapsed() < Duration::from_secs(15));
    }
}
