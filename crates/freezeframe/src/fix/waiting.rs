//! Says what is waited for while a server does not answer: `fix` is called in a stall, and silence looks like a hang.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use cli::output;

/// A server that is well answers much sooner.
const FIRST: Duration = Duration::from_secs(2);

/// How often it is said again.
const AGAIN: Duration = Duration::from_secs(10);

/// While this lives and nothing comes, it is told on standard error what is waited for.
pub(super) struct Waiting {
    /// Its end ends the telling.
    _lives: Sender<()>,
}

impl Waiting {
    /// `what` is a clause such as "asking the server for its settings"; `until` is when it is given up, from now.
    pub(super) fn announce(what: &str, until: Option<Duration>) -> Self {
        let (lives, ended) = channel::<()>();
        let what = what.to_owned();
        let begin = Instant::now();
        let told = kernel::own_threads::start("ff-waiting", move || {
            let mut pause = FIRST;
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let seconds = begin.elapsed().as_secs();
                let end = until.map_or_else(
                    || "Ctrl-C stops".to_owned(),
                    |until| format!("gives up after {} s", until.as_secs()),
                );
                output::note(&format!("{what}: no answer for {seconds} s; {end}"));
                pause = AGAIN;
            }
        });
        // Without a thread the wait is only silent.
        drop(told);
        Self { _lives: lives }
    }
}
