//! Child processes that end when we end, and their output.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::Error;

/// How often an ending process is looked at.
const POLL: Duration = Duration::from_millis(5);

/// What to run.
pub(crate) struct Program {
    /// `setpriv` of util-linux.
    pub(crate) setpriv: PathBuf,
    /// The loader with its arguments, when it is to start the program; else empty.
    pub(crate) loader: Vec<PathBuf>,
    /// The program itself, by its path.
    pub(crate) path: PathBuf,
    /// Its arguments.
    pub(crate) arguments: Vec<OsString>,
    /// Variables set on top of our own environment.
    pub(crate) environment: Vec<(String, String)>,
}

/// A child process that dies with us, even when we are killed with SIGKILL.
///
/// The kernel sends a parent-death signal when the *thread* that created the child ends
/// (prctl(2), `PR_SET_PDEATHSIG`), so each child is created by a thread of its own that then does
/// nothing but live as long as this value. `setpriv --pdeathsig` sets the signal and becomes the
/// program by exec, so that the child's process id is the program's. The signal is SIGKILL: a
/// process that is paused would keep a SIGTERM pending for ever.
pub(crate) struct Process {
    child: Child,
    keeper: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Process {
    /// Starts a program, its output appended to `log`.
    pub(crate) fn start(program: &Program, log: &Path) -> Result<Self, Error> {
        let mut command = command(program, log)
            .map_err(Error::io(format!("open the error log {}", log.display())))?;
        let (child_out, child_in) = mpsc::channel();
        let (alive, end): (Sender<()>, Receiver<()>) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("lab-keeper".to_owned())
            .spawn(move || {
                let started = command.spawn();
                if child_out.send(started).is_ok() {
                    // Ends with an error as soon as the other side is dropped.
                    let _ = end.recv();
                }
            })
            .map_err(Error::io("start a thread"))?;
        let child = child_in
            .recv()
            .unwrap_or_else(|_| Err(io::Error::other("the starting thread ended")))
            .map_err(Error::io(format!("run {}", program.path.display())))?;
        Ok(Self {
            child,
            keeper: Some((alive, thread)),
        })
    }

    /// Its process id; ours until [`Self::ended`] has said how it ended, because a process that
    /// nobody has waited for keeps its id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, or `None` while it runs.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Sends a signal; one to a process that has ended is not an error.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        match self.pid().map(|id| kill_process(id, signal)) {
            Some(Err(error)) if error != rustix::io::Errno::SRCH => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// SIGSTOP, and waits until every thread has stopped, because until then they go on; `false`
    /// when the process has ended instead.
    pub(crate) fn pause(&self) -> io::Result<bool> {
        self.signal(Signal::STOP)?;
        let Some(id) = self.pid() else {
            return Ok(false);
        };
        // NOWAIT leaves the exit status for `ended`.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let status = retry_on_intr(|| waitid(WaitId::Pid(id), options))?;
        Ok(status.is_some_and(|status| status.stopped()))
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// SIGTERM, then SIGKILL when the process is still there after `deadline`.
    pub(crate) fn end(mut self, deadline: Duration) -> io::Result<ExitStatus> {
        self.signal(Signal::TERM)?;
        self.signal(Signal::CONT)?;
        let until = Instant::now() + deadline;
        while Instant::now() < until {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            thread::sleep(POLL);
        }
        self.kill()
    }

    /// SIGKILL.
    pub(crate) fn kill(mut self) -> io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }
}

impl Drop for Process {
    /// Nothing outlives this value; what was ended before is not signalled again.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some((alive, thread)) = self.keeper.take() {
            drop(alive);
            let _ = thread.join();
        }
    }
}

fn command(program: &Program, log: &Path) -> io::Result<Command> {
    let log = File::options().create(true).append(true).open(log)?;
    let mut command = Command::new(&program.setpriv);
    command
        .args(["--pdeathsig", "KILL", "--"])
        .args(&program.loader)
        .arg(&program.path)
        .args(&program.arguments)
        .envs(
            program
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        // Ctrl-C in a terminal goes to the whole foreground process group; ending the server in
        // order is our task.
        .process_group(0);
    Ok(command)
}
