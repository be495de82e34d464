//! A recorder for as long as a view is open, where none runs. What it records stays in memory (`/dev/shm`, or the
//! directory for temporary files), and goes with it: the recorder ends with the view, however that ends, and removes
//! its directory.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cli::recorded;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::args::ServerArgs;
use crate::server_arguments::arguments;

/// Memory as a directory (tmpfs(5)).
const MEMORY: &str = "/dev/shm";

/// How long it may take until something is recorded: a server that hangs is given up by a login after some seconds.
const FIRST_MAX: Duration = Duration::from_secs(20);

/// How long it may take to end.
const END_MAX: Duration = Duration::from_secs(5);

const POLL: Duration = Duration::from_millis(100);

/// The recorder; ended with this.
pub(crate) struct OwnRecorder {
    dir: TempDir,
    child: Child,
}

impl OwnRecorder {
    /// Starts it for the servers that are named.
    pub(crate) fn start(server: &ServerArgs) -> Result<Self> {
        let mut builder = tempfile::Builder::new();
        let builder = builder
            .prefix("freezeframe-live-")
            .permissions(Permissions::from_mode(0o700));
        let dir = builder.tempdir_in(MEMORY).or_else(|_| builder.tempdir())?;
        let said = File::create(runtime_dir(dir.path()))?;
        let child = Command::new(std::env::current_exe()?)
            .args(["record", "--no-html", "--with-parent"])
            .arg(std::process::id().to_string())
            .arg("--dir")
            .arg(dir.path())
            .args(arguments(server))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            .spawn()
            .context("cannot start a recorder")?;
        Ok(Self { dir, child })
    }

    /// Where it records.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Waits until there is something to look at.
    pub(crate) fn wait(&mut self, label: Option<&str>) -> Result<PathBuf> {
        let until = Instant::now() + FIRST_MAX;
        loop {
            let history = recorded::history(self.dir(), label);
            let is_there = |path: &PathBuf| {
                store::history_coverage(path, i64::MIN / 2, i64::MAX / 2)
                    .is_ok_and(|all| all.first_wall_ms.is_some())
            };
            match history {
                Ok(path) if is_there(&path) => return Ok(path),
                Err(error) if Instant::now() >= until => return Err(error),
                Ok(_) if Instant::now() >= until => bail!("nothing was recorded yet"),
                _ => {}
            }
            if self.child.try_wait()?.is_some() {
                let told = std::fs::read_to_string(runtime_dir(self.dir())).unwrap_or_default();
                bail!(
                    "no recorder runs, and none can be started here: {}",
                    told.trim()
                );
            }
            std::thread::sleep(POLL);
        }
    }
}

/// What it says of errors.
fn runtime_dir(dir: &Path) -> PathBuf {
    dir.join("stderr")
}

impl Drop for OwnRecorder {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let until = Instant::now() + END_MAX;
        while self.child.try_wait().is_ok_and(|ended| ended.is_none()) && Instant::now() < until {
            std::thread::sleep(POLL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In the recorder: it ends when who started it ends. A signal at the parent's death (prctl(2)) would come once for each
/// thread of it, and the second one ends a recorder at once, with all that it should take away.
pub(crate) fn end_with(parent: i32, stop: Arc<AtomicBool>) -> Result<()> {
    kernel::own_threads::start("ff-parent", move || {
        while rustix::process::getppid() == Pid::from_raw(parent) {
            std::thread::sleep(POLL);
        }
        stop.store(true, Ordering::Relaxed);
    })?;
    Ok(())
}
