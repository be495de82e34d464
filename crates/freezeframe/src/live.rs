//! What the commands that look at a running server once have in common: which process, and which
//! connection each of its threads works for.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{Result, bail};
use cli::output;
use kernel::roots::ProcRoot;
use kernel::snapshot::Way;
use model::ThreadSession;
use recorder::Target;
use server::{Deadlines, Session};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::args::ServerArgs;
use crate::config::Config;
use crate::targets;

/// How long a server may take to tell its threads' connections; a stalled one is not waited for.
const PATIENCE: Duration = Duration::from_millis(1500);

/// A process to look at.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) pid: u32,
    /// How to reach it, when it is a database server.
    pub(crate) target: Option<Target>,
}

/// Finds the one process that is meant. With `--pid` it may be any program.
pub(crate) fn find(args: &ServerArgs) -> Result<Live> {
    let config = Config::load(args.config.as_deref())?;
    if let Some(pid) = args.pid
        && kernel::servers::server(&ProcRoot::default(), pid).is_none()
    {
        if !ProcRoot::default().of(pid, "stat").exists() {
            bail!("no process {pid}");
        }
        return Ok(Live { pid, target: None });
    }
    let mut targets = targets::find_resolved(args, &config)?;
    if targets.len() > 1 {
        let list: Vec<String> = targets
            .iter()
            .filter_map(|target| {
                let pid = target.process.as_ref()?.pid;
                Some(format!("{} (--pid {pid})", target.label))
            })
            .collect();
        bail!("several servers run here: {}; name one", list.join(", "));
    }
    let target = targets.pop();
    match target.as_ref().and_then(|target| target.process.as_ref()) {
        // A recorder waits and sees; here the wrong server's threads would be shown.
        Some(process)
            if targets::only_starts(process) && (args.socket.is_some() || args.port.is_some()) =>
        {
            bail!(
                "nobody listens there; process {} is still starting and may be another server: name it with --pid",
                process.pid
            )
        }
        Some(process) => Ok(Live {
            pid: process.pid,
            target,
        }),
        None => match target.and_then(|target| target.other_host) {
            Some(host) => bail!("the server runs on {host}: its threads can only be seen there"),
            None if !rustix::process::geteuid().is_root() => bail!(
                "the server's process was not found on this host, or cannot be seen by this user: use sudo, or name it with --pid"
            ),
            None => bail!("the server's process was not found on this host; name it with --pid"),
        },
    }
}

/// Without our own session, which asks just now: its thread did something else when it was looked at.
fn others(mut sessions: HashMap<u32, ThreadSession>, own: u64) -> HashMap<u32, ThreadSession> {
    sessions.retain(|_, session| session.connection != own);
    sessions
}

/// The connection that each thread works for, by thread id; what the server does not tell in time
/// is said on standard error.
pub(crate) fn sessions(live: &Live) -> HashMap<u32, ThreadSession> {
    let Some(target) = &live.target else {
        return HashMap::new();
    };
    let Some(address) = target.first_address() else {
        return HashMap::new();
    };
    let login = target.login.clone();
    let (sender, receiver) = channel();
    // A server that hangs in the connect keeps this thread; nothing else needs it.
    std::thread::spawn(move || {
        let deadlines = Deadlines {
            connect: PATIENCE,
            answer: PATIENCE,
        };
        let asked = Session::connect_quiet(&address, &login, deadlines)
            .map_err(|error| error.absent("connections of threads"))
            .and_then(|mut session| {
                let own = session.id();
                server::thread_sessions(&mut session).map(|sessions| others(sessions, own))
            });
        let _ = sender.send(asked);
    });
    match receiver.recv_timeout(PATIENCE) {
        Ok(Ok(sessions)) => sessions,
        Ok(Err(error)) => {
            let why = format!("{}: {}", error.reason.to_text(), error.detail);
            output::note(&format!("the connections of threads are unknown: {why}"));
            HashMap::new()
        }
        Err(_) => {
            output::note("the connections of threads are unknown: the server does not answer");
            HashMap::new()
        }
    }
}

/// Set by Ctrl-C and SIGTERM: what was taken until then is still printed.
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for what looks at it on its own.
    pub(crate) fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }

    /// The same, to be kept.
    pub(crate) fn shared(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }
}

/// From now on Ctrl-C ends the taking, not the program.
pub(crate) fn stop_on_signals() -> Result<Stop> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // A second one ends the program as usual.
        signal_hook::flag::register_conditional_default(signal, stop.clone())?;
        signal_hook::flag::register(signal, stop.clone())?;
    }
    Ok(Stop(stop))
}

/// A line on a terminal's standard error that tells how far it is.
pub(crate) struct Progress {
    what: &'static str,
    of: usize,
    shown: bool,
}

impl Progress {
    /// `of` is 0 where nobody knows how many there will be.
    pub(crate) fn new(what: &'static str, of: usize) -> Self {
        let shown = output::is_terminal() && of != 1;
        Self { what, of, shown }
    }

    pub(crate) fn show(&mut self, done: usize) {
        if self.shown {
            let of = match self.of {
                0 => String::new(),
                of => format!(" of {of}"),
            };
            output::progress(&format!("{done}{of} {} ", self.what));
        }
    }

    pub(crate) fn clear(&mut self) {
        if self.shown {
            output::clear_progress();
        }
    }
}

/// A way to stacks in plain words.
pub(crate) fn method_text(way: Way) -> &'static str {
    match way {
        Way::Bpf => "BPF",
        Way::Proc => "/proc",
        Way::Ptrace => "ptrace",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_is_said_to_work_for_us() {
        let session = |connection| ThreadSession {
            connection,
            command: "Query".to_owned(),
            state: "Sending data".to_owned(),
            statement_class: "select".to_owned(),
            seconds: 0.0,
        };
        let all = HashMap::from([(11813, session(756)), (11817, session(12))]);
        let left = others(all.clone(), 756);
        assert_eq!(left.keys().collect::<Vec<_>>(), [&11817]);
        assert_eq!(others(all, 9).len(), 2);
    }
}
