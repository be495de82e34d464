//! What can be changed, and how each is put back. Putting back twice, or what was never made, is harmless.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use remedy::ProcessId;
use remedy::fix::in_force;
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, Timespec, clock_settime};
use serde::{Deserialize, Serialize};

/// More than any setting of the kernel has.
const SETTING_BYTES_MAX: usize = 4096;

/// More than any control group of ours has: processes, one a line.
const PROCS_BYTES_MAX: usize = 1 << 20;

/// More than /proc/swaps has: 32 areas at the most.
const SWAPS_BYTES_MAX: usize = 64 << 10;

/// Less than any step that the clock is set back by, milliseconds.
const CLOCK_DRIFT_MS: u64 = 5000;

/// How long a control group or a mount may be busy after its processes have gone.
const BUSY_MAX: Duration = Duration::from_secs(5);
const BUSY_POLL: Duration = Duration::from_millis(20);

/// One change of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum HostChange {
    /// A setting of the running kernel: a file below `/sys` or `/proc/sys`.
    Setting {
        /// Its file.
        path: PathBuf,
        /// The value that was in force.
        before: String,
        /// The value that is set.
        after: String,
        /// Values that a part of the experiment may set in between. Any other one is somebody else's and stays.
        also: Vec<String>,
    },
    /// A control group that is made. Its limits go with it, its processes go to the one above.
    ControlGroup {
        /// Its directory.
        path: PathBuf,
    },
    /// A file that holds a file system, mounted by a loop device, which goes with it.
    Mount {
        /// Where: a directory that is made for it and removed with it.
        path: PathBuf,
        /// The file.
        image: PathBuf,
    },
    /// A file that the kernel swaps to (swapon(8)); made for that already (mkswap(8)).
    Swap {
        /// The file.
        path: PathBuf,
    },
    /// A process that ends with the experiment.
    Process {
        /// Which.
        process: ProcessId,
    },
    /// The wall clock is set back.
    Clock {
        /// How far it was ahead of the time since boot, milliseconds.
        before_ms: i64,
        /// By so much, milliseconds.
        back_ms: i64,
    },
    /// A journal of fixes that were applied in between, which go back before what was there under them.
    Fixes {
        /// The journal.
        dir: PathBuf,
    },
}

impl HostChange {
    /// A setting as it is now, to become another value; nothing when it has that value already.
    pub fn setting(path: &Path, after: &str, also: &[&str]) -> Result<Option<Self>, String> {
        let before = setting(path)?;
        Ok((before != after).then(|| Self::Setting {
            path: path.to_owned(),
            before,
            after: after.to_owned(),
            also: also.iter().map(|value| (*value).to_owned()).collect(),
        }))
    }

    /// The wall clock as it is now, to be set back by so much.
    pub fn clock_back(by: Duration) -> Self {
        Self::Clock {
            before_ms: clock_ahead_ms(),
            back_ms: i64::try_from(by.as_millis()).unwrap_or(i64::MAX),
        }
    }

    /// What is changed, for people; two with the same name exclude each other.
    pub fn name(&self) -> String {
        match self {
            Self::Setting { path, .. }
            | Self::ControlGroup { path }
            | Self::Mount { path, .. }
            | Self::Swap { path } => path.display().to_string(),
            Self::Process { process } => format!("process {}", process.pid),
            Self::Clock { .. } => "the wall clock".to_owned(),
            Self::Fixes { dir } => format!("fixes of {}", dir.display()),
        }
    }

    /// Makes it.
    pub(super) fn make(&self) -> Result<(), String> {
        match self {
            Self::Setting { path, after, .. } => set(path, after),
            Self::ControlGroup { path } => std::fs::create_dir(path).map_err(text),
            Self::Mount { path, image } => {
                std::fs::create_dir(path).map_err(text)?;
                let options = ["-o", "loop,nosuid,nodev"].map(OsStr::new);
                let places = [image.as_os_str(), path.as_os_str()];
                run("mount", &[&options[..], &places].concat())
            }
            Self::Swap { path } => run("swapon", &[path.as_os_str()]),
            Self::Clock { before_ms, back_ms } => set_clock(before_ms.saturating_sub(*back_ms)),
            Self::Process { .. } | Self::Fixes { .. } => Ok(()),
        }
    }

    /// Puts it back. What somebody else has changed since is left, and told.
    pub(super) fn put_back(&self, program: &Path) -> Result<Option<String>, String> {
        match self {
            Self::Setting {
                path,
                before,
                after,
                also,
            } => {
                let now = setting(path)?;
                if now == *before {
                    return Ok(None);
                }
                if now != *after && !also.contains(&now) {
                    return Ok(Some(format!(
                        "{} is now {now}, a value that the lab did not set: left as it is",
                        path.display()
                    )));
                }
                set(path, before).map(|()| None)
            }
            Self::ControlGroup { path } => remove_group(path).map(|()| None),
            Self::Mount { path, .. } => unmount(path).map(|()| None),
            Self::Swap { path } => end_swap(path).map(|()| None),
            Self::Process { process } => {
                let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw);
                if let Some(pid) = pid.filter(|_| process.is_alive()) {
                    // It may end by itself meanwhile.
                    let _ = kill_process(pid, Signal::KILL);
                }
                Ok(None)
            }
            Self::Clock { before_ms, back_ms } => {
                let now_ms = clock_ahead_ms();
                if is_near(now_ms, *before_ms) {
                    return Ok(None);
                }
                if !is_near(now_ms, before_ms.saturating_sub(*back_ms)) {
                    return Ok(Some(
                        "the wall clock was set by somebody else: left as it is".to_owned(),
                    ));
                }
                set_clock(*before_ms).map(|()| None)
            }
            Self::Fixes { dir } => {
                if !dir.exists() {
                    return Ok(None);
                }
                let arguments = ["fix", "--undo", "all", "--fix-dir"].map(OsStr::new);
                let arguments = [&arguments[..], &[dir.as_os_str()]].concat();
                run(&program.display().to_string(), &arguments).map(|()| None)
            }
        }
    }
}

/// How far the wall clock is ahead of the time since boot, milliseconds: it changes when the clock is set, and by as much.
fn clock_ahead_ms() -> i64 {
    let boot_ms = i64::try_from(kernel::clock::boottime_ms()).unwrap_or(i64::MAX);
    kernel::clock::wall_ms().saturating_sub(boot_ms)
}

/// Two settings of the clock are the same one: a daemon that keeps it right moves it a little all the time.
fn is_near(one_ms: i64, other_ms: i64) -> bool {
    one_ms.abs_diff(other_ms) < CLOCK_DRIFT_MS
}

/// Sets the wall clock so far ahead of the time since boot (clock_settime(2)).
fn set_clock(ahead_ms: i64) -> Result<(), String> {
    let boot_ms = i64::try_from(kernel::clock::boottime_ms()).unwrap_or(i64::MAX);
    let wall_ms = boot_ms.saturating_add(ahead_ms);
    let time = Timespec {
        tv_sec: wall_ms.div_euclid(1000),
        tv_nsec: wall_ms.rem_euclid(1000) * 1_000_000,
    };
    clock_settime(ClockId::Realtime, time).map_err(|error| error.to_string())
}

fn text(error: std::io::Error) -> String {
    error.to_string()
}

/// The value in force.
fn setting(path: &Path) -> Result<String, String> {
    let bytes = kernel::read::head(path, SETTING_BYTES_MAX).map_err(|error| error.to_string())?;
    let shown = String::from_utf8(bytes).map_err(|_| "is not text".to_owned())?;
    Ok(in_force(&shown).to_owned())
}

fn set(path: &Path, value: &str) -> Result<(), String> {
    // Neither made nor cut: a kernel without the setting is an error.
    OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|mut file| file.write_all(value.as_bytes()))
        .map_err(text)?;
    let now = setting(path)?;
    if now == value {
        return Ok(());
    }
    Err(format!("the kernel has {now} after {value} was set"))
}

/// Sends the processes to the group above and removes it.
fn remove_group(path: &Path) -> Result<(), String> {
    let above = path.parent().ok_or("a control group needs a parent")?;
    let begin = Instant::now();
    loop {
        match std::fs::remove_dir(path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) if begin.elapsed() >= BUSY_MAX => return Err(text(error)),
            Err(_) => {}
        }
        // A group that is just gone has no such file.
        let procs = kernel::read::whole(&path.join("cgroup.procs"), PROCS_BYTES_MAX);
        let procs = procs.unwrap_or_default();
        for pid in String::from_utf8_lossy(&procs).lines() {
            // It may have ended meanwhile, or be about to.
            let _ = std::fs::write(above.join("cgroup.procs"), pid);
        }
        std::thread::sleep(BUSY_POLL);
    }
}

fn unmount(path: &Path) -> Result<(), String> {
    let begin = Instant::now();
    loop {
        match std::fs::remove_dir(path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            // Not mounted, and in use by somebody else.
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => return Err(text(error)),
            Err(error) if begin.elapsed() >= BUSY_MAX => return Err(text(error)),
            Err(_) => {}
        }
        // At once from the tree, and from memory with the last open file.
        let _ = run("umount", &[OsStr::new("--lazy"), path.as_os_str()]);
        std::thread::sleep(BUSY_POLL);
    }
}

/// Swapped memory comes back before the file is given up.
fn end_swap(path: &Path) -> Result<(), String> {
    // proc(5): the file's name, with octal escapes for blanks, which no file of ours has.
    let swaps = kernel::read::whole(Path::new("/proc/swaps"), SWAPS_BYTES_MAX)
        .map_err(|error| error.to_string())?;
    let in_use = String::from_utf8_lossy(&swaps)
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().next())
        .any(|swap| Path::new(swap) == path);
    if in_use {
        run("swapoff", &[path.as_os_str()])?;
    }
    Ok(())
}

fn run(program: &str, arguments: &[&OsStr]) -> Result<(), String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{program}: {}",
        said.lines().next().unwrap_or("it failed")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_never_set_back_or_that_somebody_else_has_set_is_left_alone() {
        let HostChange::Clock { before_ms, .. } = HostChange::clock_back(Duration::from_secs(3600))
        else {
            panic!("another change");
        };
        let program = Path::new("/nobody");
        let put_back = |before_ms, back_ms| {
            let change = HostChange::Clock { before_ms, back_ms };
            change.put_back(program)
        };
        assert_eq!(put_back(before_ms, 3_600_000), Ok(None));
        // Ten hours before, set back by one: it is neither now.
        let left = put_back(before_ms - 36_000_000, 3_600_000);
        assert!(matches!(left, Ok(Some(_))), "{left:?}");
        assert!(is_near(clock_ahead_ms(), before_ms));
    }
}
