//! How a watchdog is told what it needs: a line on its standard input, answered with another.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::channel;
use std::time::Duration;

use serde::Serialize;

/// What a watchdog answers when it watches; anything else says why it cannot.
pub(crate) const READY: &str = "ready\n";

/// How long it may take, a login included.
const READY_PATIENCE: Duration = Duration::from_secs(15);

/// Longest answer, bytes.
const ANSWER_BYTES_MAX: u64 = 4096;

/// Tells a watchdog its orders and waits until it watches. The error says why it does not: what it
/// answered, or `no_answer`.
pub(crate) fn give(
    orders: &impl Serialize,
    input: Option<&mut ChildStdin>,
    answers: Option<ChildStdout>,
    no_answer: &str,
) -> Result<(), String> {
    let mut line = serde_json::to_vec(orders).map_err(|error| error.to_string())?;
    line.push(b'\n');
    input
        .ok_or("it has no input")?
        .write_all(&line)
        .map_err(|error| error.to_string())?;
    let (sender, answer) = channel();
    let answers = answers.ok_or("it has no output")?;
    std::thread::Builder::new()
        .name("ff-watchdog".to_owned())
        .spawn(move || {
            let mut line = String::new();
            let _ = BufReader::new(answers.take(ANSWER_BYTES_MAX)).read_line(&mut line);
            let _ = sender.send(line);
        })
        .map_err(|error| error.to_string())?;
    match answer.recv_timeout(READY_PATIENCE) {
        Ok(line) if line == READY => Ok(()),
        Ok(line) if line.is_empty() => Err("it ended at once".to_owned()),
        Ok(line) => Err(line.trim_end().to_owned()),
        Err(_) => Err(no_answer.to_owned()),
    }
}
