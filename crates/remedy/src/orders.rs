//! How a watchdog is told what it needs: a line on its standard input, answered with another.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/// What a watchdog answers when it watches; anything else says why it cannot.
pub(crate) const READY: &str = "ready\n";

/// How long it may take, a login included.
const READY_PATIENCE: Duration = Duration::from_secs(15);

/// Longest answer, bytes.
const ANSWER_BYTES_MAX: u64 = 4096;

/// Longest orders, bytes.
const ORDERS_BYTES_MAX: u64 = 64 << 10;

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

/// Answers who gave the orders.
#[expect(
    clippy::disallowed_methods,
    reason = "a watchdog's standard output is a pipe to who started it, and no terminal"
)]
pub(crate) fn answer(text: &str) {
    let mut stdout = std::io::stdout();
    // Who started us may be dead already: that is what the watchdog is for.
    let _ = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
}

/// How every watchdog begins: out of the terminal's session, with signals heard and not obeyed, and
/// with its orders read. The channel brings nothing and ends with who gave them, however that was.
pub(crate) fn hear<T: DeserializeOwned>() -> Result<(T, Receiver<()>), String> {
    // Fails only in the leader of a process group, which a child of ours is not.
    let _ = rustix::process::setsid();
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
        let heard = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal, heard).map_err(|error| error.to_string())?;
    }
    let mut input = BufReader::new(std::io::stdin());
    let mut line = String::new();
    input
        .by_ref()
        .take(ORDERS_BYTES_MAX)
        .read_line(&mut line)
        .map_err(|error| error.to_string())?;
    let orders = serde_json::from_str(&line)
        .map_err(|_| "started by hand; it is part of a lease".to_owned())?;
    let (sender, giver) = channel();
    std::thread::Builder::new()
        .name("ff-owner".to_owned())
        .spawn(move || {
            let mut rest = [0; 64];
            while matches!(input.read(&mut rest), Ok(read) if read > 0) {}
            drop(sender);
        })
        .map_err(|error| error.to_string())?;
    Ok((orders, giver))
}
