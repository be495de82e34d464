//! Runs a program with a deadline, its input given, its output bounded.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::failure::Failure;

/// Bytes of a program's output that are kept for the message; the rest is read and dropped.
const OUTPUT_BYTES_MAX: usize = 2048;

/// What a program exits with when it wants to be run again later (sysexits.h, EX_TEMPFAIL).
const TRY_AGAIN: i32 = 75;

const NAP: Duration = Duration::from_millis(20);

/// Runs it in a process group of its own, which is killed at the deadline.
pub(super) fn run(
    program: &[String],
    environment: &BTreeMap<String, String>,
    input: &[u8],
    deadline: Duration,
) -> Result<(), Failure> {
    let (status, said) = output(program, environment, input, deadline)?;
    let said = said.trim();
    let said = if said.is_empty() {
        String::new()
    } else {
        format!(": {said}")
    };
    match status.code() {
        Some(0) => Ok(()),
        Some(TRY_AGAIN) => Err(Failure::Later(format!("exit status {TRY_AGAIN}{said}"))),
        _ => Err(Failure::Never(format!("{status}{said}"))),
    }
}

/// How it ended, and the beginning of what it said on both outputs.
pub(super) fn output(
    program: &[String],
    environment: &BTreeMap<String, String>,
    input: &[u8],
    deadline: Duration,
) -> Result<(std::process::ExitStatus, String), Failure> {
    let end = Instant::now() + deadline;
    let Some((name, arguments)) = program.split_first() else {
        return Err(Failure::Never("no program".to_owned()));
    };
    let mut child = Command::new(name)
        .args(arguments)
        .envs(environment)
        // Of the server's, not of ours.
        .env_remove("MYSQL_PWD")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied => {
                Failure::Never(format!("{name}: {error}"))
            }
            _ => Failure::Later(format!("{name}: {error}")),
        })?;
    feed(&mut child, input);
    let outputs = [
        child.stdout.take().map(reader),
        child.stderr.take().map(reader),
    ];
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) if Instant::now() >= end => {
                kill(&mut child);
                break Err(Failure::Later(format!(
                    "{name}: killed after {} s",
                    deadline.as_secs()
                )));
            }
            Ok(None) => std::thread::sleep(NAP),
            Err(error) => {
                kill(&mut child);
                break Err(Failure::Later(format!("{name}: {error}")));
            }
        }
    }?;
    // What it left running may hold the pipes; its own output is there.
    let said: Vec<u8> = outputs
        .into_iter()
        .flatten()
        .filter_map(|output| output.recv_timeout(Duration::from_millis(200)).ok())
        .flatten()
        .take(OUTPUT_BYTES_MAX)
        .collect();
    Ok((status, String::from_utf8_lossy(&said).into_owned()))
}

/// Writes its input from a thread: it may never read it.
fn feed(child: &mut Child, input: &[u8]) {
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        let thread = std::thread::Builder::new().name("ff-hook-input".to_owned());
        // A program need not read what it is given.
        let _ = thread.spawn(move || stdin.write_all(&input));
    }
}

/// Reads to the end and keeps the beginning.
fn reader(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, kept) = channel();
    let thread = std::thread::Builder::new().name("ff-hook-output".to_owned());
    let _ = thread.spawn(move || {
        let mut all = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(count) = pipe.read(&mut buffer)
            && count > 0
        {
            let room = OUTPUT_BYTES_MAX.saturating_sub(all.len());
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

    fn shell(line: &str, deadline: Duration) -> Result<(), Failure> {
        let program = ["/bin/sh", "-c", line].map(str::to_owned);
        let environment = BTreeMap::from([("FREEZEFRAME_EVENT".to_owned(), "start".to_owned())]);
        run(&program, &environment, b"{\"a\":1}", deadline)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn input_and_variables_arrive() {
        let line = "test \"$(cat)\" = '{\"a\":1}' && test \"$FREEZEFRAME_EVENT\" = start";
        assert_eq!(shell(line, LONG), Ok(()));
    }

    #[test]
    fn an_end_says_whether_to_try_again() {
        assert_eq!(
            shell("echo busy; exit 75", LONG),
            Err(Failure::Later("exit status 75: busy".to_owned()))
        );
        assert_eq!(
            shell("echo no >&2; exit 3", LONG),
            Err(Failure::Never("exit status: 3: no".to_owned()))
        );
        let nowhere = run(
            &["/nonexistent/program".to_owned()],
            &BTreeMap::new(),
            b"",
            LONG,
        );
        assert!(matches!(nowhere, Err(Failure::Never(_))), "{nowhere:?}");
    }

    #[test]
    fn output_without_end_is_bounded_and_input_need_not_be_read() {
        let failed = shell("head -c 10000000 /dev/zero | tr '\\0' x; exit 1", LONG);
        let Err(Failure::Never(said)) = failed else {
            panic!("{failed:?}");
        };
        assert!(said.len() < OUTPUT_BYTES_MAX + 100, "{}", said.len());
        let program = ["/bin/true".to_owned()];
        let much = vec![b'x'; 1 << 20];
        assert_eq!(run(&program, &BTreeMap::new(), &much, LONG), Ok(()));
    }

    #[test]
    fn a_program_that_hangs_is_killed_with_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let pid = dir.path().join("pid");
        let line = format!("sleep 600 & echo $! > {}; wait", pid.display());
        let failed = shell(&line, Duration::from_secs(1));
        assert!(matches!(failed, Err(Failure::Later(_))), "{failed:?}");
        let child: u32 = std::fs::read_to_string(pid)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        // It may be a zombie until somebody takes it.
        let end = Instant::now() + LONG;
        while !state().is_empty() && !state().contains(") Z ") {
            assert!(Instant::now() < end, "{}", state());
            std::thread::sleep(NAP);
        }
    }
}
