//! Runs a program with a deadline, its input given, its output bounded.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// Variables of the environment in which our own passwords are, to the server and to the fleet: nobody's else to know. What
/// else an owner sets may be for the very program.
pub const OWN_SECRETS: [&str; 2] = ["MYSQL_PWD", "FREEZEFRAME_FLEET_PASSWORD"];

const NAP: Duration = Duration::from_millis(20);

/// What a program may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// It is killed then, with what it started.
    pub deadline: Duration,
    /// Bytes that are kept of each of its two outputs; the rest is read and dropped.
    pub output_bytes: usize,
}

/// How a program ended.
#[derive(Debug)]
pub struct Output {
    /// Its exit status.
    pub status: ExitStatus,
    /// The begin of what it wrote to its standard output.
    pub stdout: Vec<u8>,
    /// The same of its error output.
    pub stderr: Vec<u8>,
}

/// Why a program did not end by itself.
#[derive(Debug)]
pub struct NotRun {
    /// There is no such program, or it may not be run: another try would not help.
    pub is_missing: bool,
    /// In words.
    pub said: String,
}

/// A program as a message may name it: to its first blank, to an address, to a value that is assigned. Where a whole command
/// line stands in its place, a secret may follow.
pub fn shown(name: &str) -> String {
    let blank = name.find(char::is_whitespace);
    let behind = |mark: &str| Some(name.find(mark)? + mark.len());
    let ends = [blank, behind("://"), behind("=")];
    let end = ends.into_iter().flatten().min().unwrap_or(name.len());
    let (first, rest) = name.split_at(end);
    match rest {
        "" => first.to_owned(),
        _ => format!("{first}…"),
    }
}

/// Runs it in a process group of its own, which is killed at the deadline.
///
/// # Errors
///
/// When it cannot be started, or was killed.
pub fn output(
    program: &[String],
    environment: &BTreeMap<String, String>,
    input: &[u8],
    limits: Limits,
) -> Result<Output, NotRun> {
    let not_run = |is_missing: bool, said: String| NotRun { is_missing, said };
    let end = Instant::now() + limits.deadline;
    let Some((name, arguments)) = program.split_first() else {
        return Err(not_run(true, "no program".to_owned()));
    };
    let mut command = Command::new(name);
    let name = shown(name);
    command.args(arguments).envs(environment);
    for secret in OWN_SECRETS {
        command.env_remove(secret);
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| {
            let kind = error.kind();
            let is_missing = kind == std::io::ErrorKind::NotFound
                || kind == std::io::ErrorKind::PermissionDenied;
            not_run(is_missing, format!("{name}: {error}"))
        })?;
    feed(&mut child, input);
    let bytes = limits.output_bytes;
    let stdout = child.stdout.take().map(|pipe| reader(pipe, bytes));
    let stderr = child.stderr.take().map(|pipe| reader(pipe, bytes));
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) if Instant::now() >= end => {
                kill(&mut child);
                let seconds = limits.deadline.as_secs();
                break Err(not_run(false, format!("{name}: killed after {seconds} s")));
            }
            Ok(None) => std::thread::sleep(NAP),
            Err(error) => {
                kill(&mut child);
                break Err(not_run(false, format!("{name}: {error}")));
            }
        }
    }?;
    Ok(Output {
        status,
        stdout: kept(stdout),
        stderr: kept(stderr),
    })
}

/// What was read of an output. What the program left running may hold the pipe; its own output is there.
fn kept(output: Option<Receiver<Vec<u8>>>) -> Vec<u8> {
    let wait = Duration::from_millis(200);
    output
        .and_then(|output| output.recv_timeout(wait).ok())
        .unwrap_or_default()
}

/// Writes its input from a thread: it may never read it.
fn feed(child: &mut Child, input: &[u8]) {
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        let thread = std::thread::Builder::new().name("ff-input".to_owned());
        // A program need not read what it is given.
        let _ = thread.spawn(move || stdin.write_all(&input));
    }
}

/// Reads to the end and keeps the beginning.
fn reader(mut pipe: impl Read + Send + 'static, bytes_max: usize) -> Receiver<Vec<u8>> {
    let (sender, kept) = channel();
    let thread = std::thread::Builder::new().name("ff-output".to_owned());
    let _ = thread.spawn(move || {
        let mut all = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(count) = pipe.read(&mut buffer)
            && count > 0
        {
            let room = bytes_max.saturating_sub(all.len());
            all.extend(buffer.iter().take(count.min(room)));
        }
        let _ = sender.send(all);
    });
    kept
}

/// Ends the program and what it started.
fn kill(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_in_the_place_of_a_program_is_not_told() {
        for (name, told) in [
            ("/usr/local/bin/page", "/usr/local/bin/page"),
            ("/usr/bin/curl -H T0K3N https://h/T0K3N", "/usr/bin/curl…"),
            ("PASSWORD=T0K3N\tpage", "PASSWORD=…"),
            ("https://h/T0K3N", "https://…"),
            ("", ""),
        ] {
            assert_eq!(shown(name), told);
        }
        let limits = Limits {
            deadline: Duration::from_secs(60),
            output_bytes: 100,
        };
        let program = ["/nonexistent/page T0K3N".to_owned()];
        let not_run = output(&program, &BTreeMap::new(), b"", limits).unwrap_err();
        assert!(not_run.is_missing);
        assert!(
            not_run.said.starts_with("/nonexistent/page…: "),
            "{}",
            not_run.said
        );
        assert!(!not_run.said.contains("T0K3N"), "{}", not_run.said);
    }

    #[test]
    fn a_program_is_not_told_our_passwords() {
        let limits = Limits {
            deadline: Duration::from_secs(60),
            output_bytes: 65_536,
        };
        let told = |name: &str| (name.to_owned(), "quillfeather".to_owned());
        let ours = OWN_SECRETS.map(told);
        let environment: BTreeMap<String, String> =
            ours.into_iter().chain([told("THEIR_TOKEN")]).collect();
        let ended = output(&["/usr/bin/env".to_owned()], &environment, b"", limits).unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        let lines: Vec<&str> = said
            .lines()
            .filter(|line| line.contains("quillfeather"))
            .collect();
        assert_eq!(lines, ["THEIR_TOKEN=quillfeather"]);
    }
}
