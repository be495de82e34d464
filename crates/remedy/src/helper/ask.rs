//! The other side of the socket: who asks the helper.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::{ANSWER_BYTES_MAX, Answer, Request};

/// How long the helper may take: it starts watchdogs, and may have others to answer first.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks the helper. The error says why there is no answer.
pub fn ask(socket: &Path, request: &Request) -> Result<Answer, String> {
    let told = |error: std::io::Error| format!("{}: {error}", socket.display());
    let mut stream = UnixStream::connect(socket).map_err(told)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(told)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(told)?;
    let mut line = serde_json::to_vec(request).map_err(|error| error.to_string())?;
    line.push(b'\n');
    stream.write_all(&line).map_err(told)?;
    let mut answer = Vec::new();
    BufReader::new(stream.take(ANSWER_BYTES_MAX))
        .read_until(b'\n', &mut answer)
        .map_err(told)?;
    serde_json::from_slice(&answer)
        .map_err(|_| format!("{}: its answer is not understood", socket.display()))
}
