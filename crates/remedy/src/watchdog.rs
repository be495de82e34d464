//! The second process of a change for a time: it sees the owner die, or the time end, and gives back in its place.
//!
//! It is the same program, started again with a hidden command, in a session of its own, so that Ctrl-C and a closed
//! terminal do not reach it; a service manager's SIGTERM is heard and not obeyed. It is told what it needs in a line on
//! its standard input, the password included, which is nowhere else, and answers with another. The end of that input is
//! the owner's death.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/// What a watchdog answers when it watches; anything else says why it cannot.
pub const READY: &str = "ready\n";

/// How long it may take, a login included.
const READY_PATIENCE: Duration = Duration::from_secs(15);

/// Longest answer, bytes.
const ANSWER_BYTES_MAX: u64 = 4096;

/// Longest orders, bytes.
const ORDERS_BYTES_MAX: u64 = 64 << 10;

/// A watchdog that runs; when this is dropped, or we die, it acts on what is still in the journal.
#[derive(Debug)]
pub struct Watchdog {
    child: Child,
    /// Held open: its end is what the watchdog waits for.
    orders: Option<ChildStdin>,
}

/// What starts a watchdog: our program, with the hidden command.
pub fn command(program: &Path, command: &str) -> Command {
    let mut child = Command::new(program);
    child.arg0("freezeframe").arg(command);
    child
}

impl Watchdog {
    /// Starts one, tells it its orders and waits until it watches. The error says why it does not: what it answered, or
    /// `no_answer`.
    pub fn start(
        mut command: Command,
        orders: &impl Serialize,
        no_answer: &str,
    ) -> Result<Self, String> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", Path::new(command.get_program()).display()))?;
        let mut watchdog = Self {
            orders: child.stdin.take(),
            child,
        };
        match watchdog.send_orders(orders, no_answer) {
            Ok(()) => Ok(watchdog),
            Err(why) => {
                // Left alone, one that is only slow would act, or start others.
                let _ = watchdog.child.kill();
                let _ = watchdog.child.wait();
                Err(why)
            }
        }
    }

    fn send_orders(&mut self, orders: &impl Serialize, no_answer: &str) -> Result<(), String> {
        let mut line = serde_json::to_vec(orders).map_err(|error| error.to_string())?;
        line.push(b'\n');
        self.orders
            .as_mut()
            .ok_or("it has no input")?
            .write_all(&line)
            .map_err(|error| error.to_string())?;
        let (sender, answer) = channel();
        let answers = self.child.stdout.take().ok_or("it has no output")?;
        kernel::own_threads::start("ff-watchdog", move || {
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

    /// Whether it has ended, which it does not while it has something to watch.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends it away; nothing of ours is in the journal any more.
    pub fn dismiss(mut self) {
        self.orders = None;
        let _ = self.child.wait();
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.orders = None;
        // A zombie otherwise, when nothing was written down; when it acts, it may take for ever.
        let _ = self.child.try_wait();
    }
}

/// Answers who gave the orders.
#[expect(
    clippy::disallowed_methods,
    reason = "only freezeframe can start a watchdog"
)]
pub fn answer(text: &str) {
    let mut stdout = std::io::stdout();
    // Who started us may be dead already: that is what the watchdog is for.
    let _ = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
}

/// How every watchdog begins: out of the terminal's session, with signals heard and not obeyed, and
/// with its orders read. The channel brings nothing and ends with who gave them, however that was.
pub fn hear<T: DeserializeOwned>() -> Result<(T, Receiver<()>), String> {
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
        .map_err(|_| "only freezeframe can start it; it is part of a lease".to_owned())?;
    let (sender, giver) = channel();
    kernel::own_threads::start("ff-owner", move || {
        let mut rest = [0; 64];
        while matches!(input.read(&mut rest), Ok(read) if read > 0) {}
        drop(sender);
    })
    .map_err(|error| error.to_string())?;
    Ok((orders, giver))
}
