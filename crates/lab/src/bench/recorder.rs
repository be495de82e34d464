//! What the recorder costs and how fast it is, beside the tool that people have today: pt-stalk.
//! All of it in one run on one machine; the ratios are what counts.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use serde_json::Value;
use testbed::{Load, PrivateServer};

use super::measure::{counter, cpu_seconds, heading, line, mean_and_error, rate};
use crate::background::{Background, load, signal, terminate};
use crate::product::start_recorder;

/// How long an idle server is watched, alone and with the recorder.
const IDLE: Duration = Duration::from_secs(30);

/// Pairs of windows with and without a watcher.
const PAIRS: usize = 20;
const WINDOW: Duration = Duration::from_secs(2);

/// What a watcher may do before it is measured: start, first readings.
const SETTLE: Duration = Duration::from_secs(3);

/// Floods whose detection is timed, and how long each lasts.
const FLOODS: usize = 3;
const FLOOD: Duration = Duration::from_secs(15);

const FLOOD_CLIENTS: usize = 30;

/// Nothing that we start outlives this, whatever becomes of us.
const WATCHER_BOUND: &str = "900s";

pub(super) fn run(stretch: Duration) -> Result<()> {
    let server = PrivateServer::start(&testbed::Options::default())?;
    testbed::mix("ordinary")
        .context("the mix 'ordinary' is gone")?
        .prepare(&server.login())?;
    let mut bench = Bench { server, stretch };
    bench.bound()?;
    bench.cost()?;
    bench.throughput()?;
    bench.detection()
}

struct Bench {
    server: PrivateServer,
    stretch: Duration,
}

impl Bench {
    /// What the recorder and its statements take of the machine, beside an idle server: the server's
    /// CPU time there is ours alone. It bounds what a busy server can lose, without the noise of
    /// measuring throughput.
    fn bound(&mut self) -> Result<()> {
        heading(&format!("with an idle server, {} s", IDLE.as_secs()))?;
        let pid = self.server.pid().context("the server has ended")?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let alone = cpu_seconds(pid)?;
        std::thread::sleep(IDLE);
        let alone = cpu_seconds(pid)? - alone;
        let freezeframe = Watcher::freezeframe(&self.server, &self.dir("idle")?)?;
        std::thread::sleep(SETTLE);
        let (begin, server, ours) = (
            Instant::now(),
            cpu_seconds(pid)?,
            freezeframe.cpu_seconds()?,
        );
        std::thread::sleep(IDLE);
        let seconds = begin.elapsed().as_secs_f64();
        let server = (cpu_seconds(pid)? - server) / seconds - alone / IDLE.as_secs_f64();
        let ours = (freezeframe.cpu_seconds()? - ours) / seconds;
        let percent = |share: f64| format!("{:.2} %", share * 100.0);
        line(
            "CPU of the recorder, share of one core",
            &percent(ours),
            "<= 1 %",
        )?;
        line(
            "CPU of the server for it, share of one core",
            &percent(server),
            "",
        )?;
        line(
            "both, share of this machine",
            &percent((ours + server) / cores),
            "< 1 %",
        )?;
        freezeframe.stop()
    }

    /// CPU, memory and history of the recorder beside a busy server.
    fn cost(&self) -> Result<()> {
        heading(&format!("with a busy server, {} s", self.stretch.as_secs()))?;
        let busy = Background::start(self.ordinary(None))?;
        let dir = self.dir("cost")?;
        let mut freezeframe = Watcher::freezeframe(&self.server, &dir)?;
        let pt_stalk = Watcher::pt_stalk(&self.server, &self.dir("pt-stalk")?)?;
        std::thread::sleep(SETTLE);
        let (ours, theirs) = (
            freezeframe.cpu_seconds()?,
            pt_stalk.as_ref().map(Watcher::cpu_seconds),
        );
        let (begin, bytes) = (Instant::now(), history_bytes(&dir)?);
        let mut resident: u64 = 0;
        while begin.elapsed() < self.stretch {
            std::thread::sleep(Duration::from_millis(500));
            resident = resident.max(freezeframe.resident_bytes()?);
        }
        let seconds = begin.elapsed().as_secs_f64();
        let share = (freezeframe.cpu_seconds()? - ours) / seconds;
        let grown = history_bytes(&dir)?.saturating_sub(bytes) as f64 / seconds * 60.0 / 1024.0;
        line(
            "CPU, share of one core",
            &format!("{:.2} %", share * 100.0),
            "<= 1 %",
        )?;
        if let (Some(pt_stalk), Some(Ok(before))) = (&pt_stalk, theirs) {
            let theirs = (pt_stalk.cpu_seconds()? - before) / seconds;
            line(
                "  the same, pt-stalk waiting for its trigger",
                &format!("{:.2} %", theirs * 100.0),
                "",
            )?;
            line(
                "  ratio freezeframe / pt-stalk",
                &format!("{:.2}", share / theirs),
                "",
            )?;
        }
        line(
            "resident memory, largest",
            &format!("{:.1} MiB", resident as f64 / 1048576.0),
            "<= 64 MiB",
        )?;
        line("history", &format!("{grown:.1} KiB a minute"), "<= 60 KiB")?;
        let load = busy.end()?;
        line(
            "the server meanwhile",
            &format!("{:.0} statements/s", load.per_second),
            "",
        )?;
        freezeframe.stop()
    }

    /// The server's throughput with a watcher running and with the same watcher frozen (SIGSTOP),
    /// in turns of a few seconds under one unbroken load: slow changes of the machine cancel out.
    fn throughput(&self) -> Result<()> {
        heading(&format!(
            "throughput of the busy server, {PAIRS} pairs of {} s each",
            WINDOW.as_secs()
        ))?;
        let busy = Background::start(self.scans())?;
        let dir = self.dir("throughput")?;
        let freezeframe = Watcher::freezeframe(&self.server, &dir)?;
        let pt_stalk = Watcher::pt_stalk(&self.server, &dir)?;
        let watchers: Vec<&Watcher> = std::iter::once(&freezeframe).chain(&pt_stalk).collect();
        std::thread::sleep(SETTLE);
        let mut counter = counter(&self.server)?;
        let mut ratios = [Vec::new(), Vec::new(), Vec::new()];
        for pair in 0..PAIRS {
            // Once each: only freezeframe awake, only pt-stalk awake, nobody awake twice.
            for (index, ratios) in ratios.iter_mut().enumerate() {
                if index == 1 && pt_stalk.is_none() {
                    continue;
                }
                let awake = watchers.get(index).copied().filter(|_| index < 2);
                let mut measure = |awake: Option<&Watcher>| -> Result<f64> {
                    for watcher in &watchers {
                        let run = awake.is_some_and(|awake| std::ptr::eq(*watcher, awake));
                        signal(
                            &watcher.child,
                            if run { Signal::CONT } else { Signal::STOP },
                        );
                    }
                    rate(&mut counter, WINDOW)
                };
                // The order changes, so that a drift of the machine favours neither.
                let (with, without) = if pair % 2 == 0 {
                    let with = measure(awake)?;
                    (with, measure(None)?)
                } else {
                    let without = measure(None)?;
                    (measure(awake)?, without)
                };
                ratios.push(with / without);
            }
        }
        for watcher in watchers {
            signal(&watcher.child, Signal::CONT);
        }
        busy.end()?;
        let [ours, theirs, noise] = ratios;
        line(
            "ratio with freezeframe / without",
            &mean_and_error(&ours),
            "> 0.99",
        )?;
        if !theirs.is_empty() {
            line(
                "ratio with pt-stalk / without",
                &mean_and_error(&theirs),
                "",
            )?;
        }
        line(
            "ratio without / without (the noise)",
            &mean_and_error(&noise),
            "1",
        )?;
        if let Some(pt_stalk) = pt_stalk {
            pt_stalk.stop()?;
        }
        freezeframe.stop()
    }

    /// From the start of a flood to the trigger.
    fn detection(&self) -> Result<()> {
        heading(&format!(
            "from the start of a flood of SHOW WARNINGS to the trigger, {FLOODS} floods"
        ))?;
        let usual = Background::start(self.ordinary(Some(300.0)))?;
        let mut ours = Vec::new();
        for number in 0..FLOODS {
            let dir = self.dir(&format!("flood-{number}"))?;
            let freezeframe = Watcher::freezeframe(&self.server, &dir)?;
            let pt_stalk = Watcher::pt_stalk(&self.server, &dir)?;
            std::thread::sleep(Duration::from_secs(15));
            let _ = freezeframe.events();
            let flood_began = kernel::clock::wall_ms();
            let mix = testbed::mix("show-warnings").context("the mix 'show-warnings' is gone")?;
            let flood = Background::start(Load {
                duration: FLOOD,
                ..load(self.server.tcp_login(), mix, FLOOD_CLIENTS, None, true)
            })?;
            std::thread::sleep(FLOOD);
            flood.end()?;
            let event = freezeframe
                .events()
                .into_iter()
                .find(|event| event["event"] == "triggered");
            match event {
                Some(event) => {
                    let time = |key: &str| -> Result<i64> {
                        let moment: jiff::Timestamp = event[key].as_str().unwrap_or("").parse()?;
                        Ok(moment.as_millisecond())
                    };
                    let (onset, trigger) = (time("onset")?, time("trigger")?);
                    ours.push((trigger - flood_began) as f64 / 1000.0);
                    line(
                        "flood to trigger",
                        &format!(
                            "{:.2} s ({})",
                            (trigger - flood_began) as f64 / 1000.0,
                            event["rule"]
                        ),
                        "",
                    )?;
                    line(
                        "  of this after the first sign",
                        &format!("{:.2} s", (trigger - onset) as f64 / 1000.0),
                        "<= 2 s",
                    )?;
                }
                None => line(
                    "flood to trigger",
                    "not noticed",
                    "<= 2 s after the first sign",
                )?,
            }
            if let Some(pt_stalk) = pt_stalk {
                let log = std::fs::read_to_string(dir.join("pt-stalk.log")).unwrap_or_default();
                let collected = log.contains("Collect 1 triggered");
                let text = if collected {
                    "triggered, see its log"
                } else {
                    "not noticed in 15 s"
                };
                line("  pt-stalk, Threads_running > 25, 5 cycles", text, "")?;
                pt_stalk.stop()?;
            }
            freezeframe.stop()?;
        }
        usual.end()?;
        if ours.is_empty() {
            bail!("no flood was noticed");
        }
        Ok(())
    }

    fn ordinary(&self, rate: Option<f64>) -> Load {
        let mix = &testbed::MIXES[0];
        Load {
            duration: Duration::from_secs(600),
            ..load(self.server.login(), mix, 4, rate, false)
        }
    }

    /// As many clients as CPUs, each with scans of some milliseconds. Short statements would keep
    /// the server as busy, but how fast they go hangs on who runs on which CPU, by tens of percent.
    fn scans(&self) -> Load {
        let statement = "SELECT COUNT(*) FROM freezeframe_lab.t WHERE c LIKE '%abcdef%'";
        Load {
            clients: std::thread::available_parallelism().map_or(2, usize::from),
            statements: vec![(1, statement.to_owned())],
            ..self.ordinary(None)
        }
    }

    fn dir(&self, name: &str) -> Result<PathBuf> {
        let dir = self.server.directory().join(name);
        std::fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
        Ok(dir)
    }
}

/// Bytes of the one history in a directory.
fn history_bytes(dir: &Path) -> Result<u64> {
    let entries = std::fs::read_dir(dir).with_context(|| dir.display().to_string())?;
    let history = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "db"))
        .context("the recorder keeps no history")?;
    Ok(store::history_bytes(&history)?)
}

/// A program that watches the server. Ended when it is dropped.
struct Watcher {
    child: Child,
    events: Option<Receiver<String>>,
}

impl Watcher {
    fn freezeframe(server: &PrivateServer, dir: &Path) -> Result<Self> {
        let more = ["--json", "--no-html", "--for", WATCHER_BOUND].map(OsStr::new);
        let (child, lines) = start_recorder(server, dir, &more)?;
        Ok(Self {
            child,
            events: Some(lines),
        })
    }

    /// pt-stalk with its defaults, waiting for Threads_running; `None` when it is not installed.
    fn pt_stalk(server: &PrivateServer, dir: &Path) -> Result<Option<Self>> {
        let path = |name: &str| dir.join(name);
        let child = Command::new("pt-stalk")
            .arg("--dest")
            .arg(dir)
            .arg("--log")
            .arg(path("pt-stalk.log"))
            .arg("--pid")
            .arg(path("pt-stalk.pid"))
            .args(["--run-time", "5", "--", "--no-defaults", "--user=root"])
            .arg(format!("--socket={}", server.socket().display()))
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(path("pt-stalk.log"))?)
            .stderr(Stdio::null())
            .spawn();
        match child {
            Ok(child) => Ok(Some(Self {
                child,
                events: None,
            })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn events(&self) -> Vec<Value> {
        let lines = self.events.iter().flat_map(Receiver::try_iter);
        lines
            .filter_map(|line| serde_json::from_str(&line).ok())
            .collect()
    }

    fn cpu_seconds(&self) -> Result<f64> {
        cpu_seconds(self.child.id())
    }

    fn resident_bytes(&mut self) -> Result<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = kernel::procfs::task_status::read(Path::new(&path))?;
        Ok(status.vm_rss_kib.unwrap_or(0) * 1024)
    }

    fn stop(mut self) -> Result<()> {
        terminate(&self.child);
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            terminate(&self.child);
            let _ = self.child.wait();
        }
    }
}
