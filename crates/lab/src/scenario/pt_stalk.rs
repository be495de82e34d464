//! pt-stalk beside a scenario, as it comes and well tuned.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use testbed::PrivateServer;

use super::client_latency::Watcher;

/// How often its log is looked at for the moment of the trigger.
const POLL: Duration = Duration::from_millis(50);

/// What pt-stalk logs when it begins to collect.
const TRIGGERED: &str = "Collect 1 triggered";

/// pt-stalk takes the kernel's log of the last minute. What the scenario before left in it, such as a process that was
/// killed for its memory, is none of this one's.
const KERNEL_LOG: Duration = Duration::from_secs(62);

/// How long it may take over its run time to end.
const END_MAX: Duration = Duration::from_secs(30);

/// A way to run it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuning {
    /// For the table.
    pub(super) name: &'static str,
    arguments: &'static [&'static str],
    /// How long it collects.
    run_time: Duration,
}

pub(super) const TUNINGS: [Tuning; 2] = [
    // Threads_running above 25 in five looks, one each second; it then collects for 30 s.
    Tuning {
        name: "pt-stalk",
        arguments: &[],
        run_time: Duration::from_secs(30),
    },
    Tuning {
        name: "pt-stalk, tuned",
        arguments: &["--threshold=15", "--cycles=1", "--run-time=10"],
        run_time: Duration::from_secs(10),
    },
];

/// pt-stalk while it watches.
pub(super) struct PtStalk {
    tuning: Tuning,
    dir: PathBuf,
    child: Option<Child>,
    look: Option<(Arc<AtomicBool>, JoinHandle<Option<Instant>>)>,
    begin: Instant,
    /// From the begin of the break to its trigger.
    pub(super) noticed: Option<Duration>,
    /// It triggered while all was well.
    pub(super) too_early: bool,
}

impl PtStalk {
    pub(super) fn new(tuning: Tuning, dir: PathBuf) -> Self {
        Self {
            tuning,
            dir,
            child: None,
            look: None,
            begin: Instant::now(),
            noticed: None,
            too_early: false,
        }
    }

    /// Where the files of its one collection are.
    pub(super) fn collected(&self) -> PathBuf {
        self.dir.join("collected")
    }

    fn signal(&self, signal: Signal) {
        let pid = self.child.as_ref().map(Child::id);
        let group = pid.and_then(|pid| i32::try_from(pid).ok());
        if let Some(group) = group.and_then(Pid::from_raw) {
            // It may have ended by itself meanwhile.
            let _ = kill_process_group(group, signal);
        }
    }

    /// It ends when it has collected; else it is ended, with its collectors.
    fn wait(&mut self, time: Duration) -> Result<()> {
        let end = Instant::now() + time;
        while let Some(child) = &mut self.child {
            if child.try_wait()?.is_some() {
                break;
            }
            if Instant::now() >= end {
                self.signal(Signal::KILL);
            }
            std::thread::sleep(POLL);
        }
        // Those that it left behind.
        self.signal(Signal::KILL);
        self.child = None;
        Ok(())
    }
}

/// How long ago the kernel logged its latest line; nothing where that cannot be read.
fn latest_kernel_line() -> Option<Duration> {
    let log = Command::new("dmesg").output().ok()?;
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    let latest = log.lines().rev().find_map(|line| {
        let (seconds, _) = line.strip_prefix('[')?.split_once(']')?;
        seconds.trim().parse::<f64>().ok()
    })?;
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    let now: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    Duration::try_from_secs_f64(now - latest).ok()
}

/// Waits until no line of before is within [`KERNEL_LOG`].
fn wait_for_kernel_log() {
    let end = Instant::now() + KERNEL_LOG;
    while Instant::now() < end && latest_kernel_line().is_some_and(|age| age < KERNEL_LOG) {
        std::thread::sleep(Duration::from_secs(1));
    }
}

impl Watcher for PtStalk {
    fn start(&mut self, server: &PrivateServer) -> Result<()> {
        wait_for_kernel_log();
        let collected = self.collected();
        if self.dir.exists() {
            std::fs::remove_dir_all(&self.dir).with_context(|| self.dir.display().to_string())?;
        }
        std::fs::create_dir_all(&collected).with_context(|| collected.display().to_string())?;
        let log = self.dir.join("pt-stalk.log");
        let out = std::fs::File::create(&log).with_context(|| log.display().to_string())?;
        let err = out.try_clone()?;
        let started = Command::new("pt-stalk")
            .args(["--iterations=1", "--sleep=1"])
            .args(self.tuning.arguments)
            .arg("--dest")
            .arg(&collected)
            .arg("--log")
            .arg(&log)
            .arg("--pid")
            .arg(self.dir.join("pt-stalk.pid"))
            .args(["--", "--no-defaults", "--user=root"])
            .arg(format!("--socket={}", server.socket().display()))
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .process_group(0)
            .spawn();
        self.child = match started {
            Ok(child) => Some(child),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                bail!("pt-stalk is not installed; scripts/need peers")
            }
            Err(error) => return Err(error.into()),
        };
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::Builder::new()
            .name("lab-pt-stalk".to_owned())
            .spawn(move || {
                while !stopped.load(Ordering::Relaxed) {
                    if std::fs::read_to_string(&log).is_ok_and(|text| text.contains(TRIGGERED)) {
                        return Some(Instant::now());
                    }
                    std::thread::sleep(POLL);
                }
                None
            })?;
        self.look = Some((stop, thread));
        Ok(())
    }

    fn broken(&mut self) {
        self.begin = Instant::now();
    }

    fn end(&mut self) -> Result<()> {
        if let Some((stop, thread)) = self.look.take() {
            stop.store(true, Ordering::Relaxed);
            if let Ok(Some(moment)) = thread.join() {
                self.too_early = moment < self.begin;
                self.noticed = Some(moment.saturating_duration_since(self.begin));
            }
        }
        let time = match self.noticed {
            Some(_) => self.tuning.run_time + END_MAX,
            None => Duration::ZERO,
        };
        self.wait(time)
    }
}

impl Drop for PtStalk {
    fn drop(&mut self) {
        let _ = self.wait(Duration::ZERO);
    }
}

/// What it collected: the kinds of files that are not empty, and all bytes.
pub(super) fn collection(dir: &Path) -> Result<(BTreeSet<String>, u64)> {
    let mut kinds = BTreeSet::new();
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let entry = entry?;
        let length = entry.metadata()?.len();
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some((_, kind)) = name.split_once('-')
            && length > 0
        {
            kinds.insert(kind.to_owned());
            bytes += length;
        }
    }
    Ok((kinds, bytes))
}
