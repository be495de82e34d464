//! The other side of the socket: who asks the helper.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::{ANSWER_BYTES_MAX, Answer, Request};

/// How long the helper may take: it starts watchdogs, and may have others to answer first.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks the helper. The error says why there is no answer.
pub fn ask(socket: &Path, request: &Request) -> Result<Answer, String> {
    UnixStream::connect(socket)
        .and_then(|stream| exchange(stream, request))
        .map_err(|error| format!("{}: {error}", socket.display()))
}

/// Sends the request, and reads the answer to it.
fn exchange(mut stream: UnixStream, request: &Request) -> io::Result<Answer> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    // The helper may refuse who connects before it reads the request: its answer waits at a closed end.
    let sent = stream.write_all(&line);
    let mut answer = Vec::new();
    let read = BufReader::new(stream.take(ANSWER_BYTES_MAX)).read_until(b'\n', &mut answer);
    if answer.is_empty() {
        sent?;
        read?;
    }
    serde_json::from_slice(&answer).map_err(|_| io::Error::other("its answer cannot be read"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing step fails the test")]

    use super::*;

    #[test]
    fn who_refuses_without_reading_is_heard() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let refusal = serde_json::to_vec(&Answer::Refused("not you".to_owned())).unwrap();
        theirs.write_all(&[&refusal[..], b"\n"].concat()).unwrap();
        drop(theirs);
        let answer = exchange(ours, &Request::List).unwrap();
        assert!(matches!(answer, Answer::Refused(why) if why == "not you"));
    }

    #[test]
    fn an_end_without_an_answer_is_an_error() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        let error = exchange(ours, &Request::List).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
