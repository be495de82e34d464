//! The other side of the socket: who asks a recorder.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use live::{RecentStacks, RecorderState};

use super::{ANSWER_BYTES_MAX, Answer, Capture, PATIENCE, Request, is_socket_name};

/// The sockets of recorders in a directory, also of those that are gone.
pub(crate) fn sockets(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| is_socket_name(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// Whether somebody listens on a socket.
pub(crate) fn is_there(socket: &Path) -> bool {
    match UnixStream::connect(socket) {
        Ok(_) => true,
        // Somebody is there and does not let us in.
        Err(error) => !matches!(
            error.kind(),
            ErrorKind::ConnectionRefused | ErrorKind::NotFound
        ),
    }
}

/// An incident that a recorder promised.
pub(crate) struct PendingCapture {
    pub(crate) socket: PathBuf,
    pub(crate) capture: Capture,
}

/// Asks every recorder of a directory for an incident of the next time. None where no recorder is
/// there, or none of this server.
pub(crate) fn ask(dir: &Path, for_ms: u64, server: Option<&str>) -> Result<Vec<PendingCapture>> {
    let request = Request::Capture {
        for_ms,
        server: server.map(str::to_owned),
    };
    let mut asked = Vec::new();
    for socket in sockets(dir).into_iter().filter(|socket| is_there(socket)) {
        let answer = exchange(&socket, &request).with_context(|| socket.display().to_string())?;
        match answer {
            Answer::Captures(captures) => {
                asked.extend(captures.into_iter().map(|capture| PendingCapture {
                    socket: socket.clone(),
                    capture,
                }));
            }
            Answer::Now(_) | Answer::Stacks(_) => bail!("the recorder gave an unexpected answer"),
            Answer::Error(error) => bail!("the recorder says: {error}"),
        }
    }
    Ok(asked)
}

/// How the recorder of this server does; nothing where none runs. One that does not tell, an older one or one that stands
/// still, runs all the same.
pub(crate) fn now(dir: &Path, server: &str) -> Option<RecorderState> {
    let mut silent = None;
    for socket in sockets(dir).into_iter().filter(|socket| is_there(socket)) {
        let request = Request::Now {
            server: Some(server.to_owned()),
        };
        match exchange(&socket, &request) {
            Ok(Answer::Now(all)) => {
                let own = all.into_iter().find(|doing| doing.server == server);
                if let Some(doing) = own {
                    return Some(RecorderState {
                        beat_age_ms: doing.beat_age_ms,
                        stalled_ms: doing.stalled_ms,
                        reason: doing.reason,
                        // What another version says is not understood, perhaps.
                        verdict: doing
                            .verdict
                            .and_then(|verdict| serde_json::from_value(verdict).ok()),
                        unanswered_ms: doing.unanswered_ms,
                    });
                }
            }
            _ => silent = Some(RecorderState::default()),
        }
    }
    silent
}

/// What the recorder of this server has in memory of its threads' last time, milliseconds; nothing where none runs, or an
/// older one that does not tell.
pub(crate) fn stacks(dir: &Path, server: &str, for_ms: u64) -> Option<RecentStacks> {
    let request = Request::Stacks {
        for_ms,
        server: server.to_owned(),
    };
    let mut there = sockets(dir).into_iter().filter(|socket| is_there(socket));
    there.find_map(|socket| match exchange(&socket, &request) {
        Ok(Answer::Stacks(Some(told))) => Some(RecentStacks {
            clock: told.clock,
            stacks: told.stacks,
        }),
        _ => None,
    })
}

fn exchange(socket: &Path, request: &Request) -> Result<Answer> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut answer = Vec::new();
    BufReader::new(stream.take(ANSWER_BYTES_MAX))
        .read_until(b'\n', &mut answer)
        .context("the recorder does not answer: it may be ending, or hang")?;
    serde_json::from_slice(&answer).context("its answer cannot be read: it may be another version")
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::super::{ControlledRecorder, ControlledRecorders, serve};
    use super::*;

    #[test]
    fn who_is_gone_is_not_asked_and_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let gone = dir.path().join("recorder-1.sock");
        drop(UnixListener::bind(&gone).unwrap());
        std::fs::write(dir.path().join("recorder-x.sock"), "").unwrap();
        assert_eq!(sockets(dir.path()), std::slice::from_ref(&gone));
        assert!(ask(dir.path(), 1000, None).unwrap().is_empty());
        let served = serve(dir.path(), ControlledRecorders::default()).unwrap();
        assert!(!gone.exists());
        assert_eq!(sockets(dir.path()).len(), 1);
        drop(served);
        assert!(sockets(dir.path()).is_empty());
    }

    #[test]
    fn what_is_no_request_is_refused_and_a_recorder_that_stands_still_is_said_to() {
        let dir = tempfile::tempdir().unwrap();
        let asked = std::sync::Arc::new(recorder::CaptureRequests::default());
        let recorded = ControlledRecorders::default();
        recorded.add(ControlledRecorder {
            label: "3306".to_owned(),
            asked,
            pulse: std::sync::Arc::default(),
            stacks: recorder::RecentStacks::default(),
        });
        let served = serve(dir.path(), recorded).unwrap();
        let socket = sockets(dir.path()).remove(0);
        for odd in ["", "{", "[1,2]", "{\"stop\":{}}"] {
            let mut stream = UnixStream::connect(&socket).unwrap();
            stream.write_all(format!("{odd}\n").as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.contains("cannot be read"), "{odd}: {answer}");
        }
        assert!(ask(dir.path(), 1000, Some("3307")).unwrap().is_empty());
        assert_eq!(now(dir.path(), "3306"), Some(RecorderState::default()));
        assert_eq!(now(dir.path(), "3307"), None);
        assert!(
            stacks(dir.path(), "3306", 60_000)
                .unwrap()
                .stacks
                .is_empty()
        );
        assert_eq!(stacks(dir.path(), "3307", 60_000), None);
        let Err(error) = ask(dir.path(), 1000, None) else {
            panic!("nobody is there to answer");
        };
        assert!(error.to_string().contains("does not answer"), "{error}");
        drop(served);
    }
}
