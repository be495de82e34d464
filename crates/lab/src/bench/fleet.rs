//! A fleet's store and what sends to it: rows a second, bytes a point against a row for each second, how long each
//! question takes, and what sending costs a recorder.

use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use testbed::PrivateServer;

use super::measure::{heading, line, mean_and_error, resident, scheduled_seconds};
use crate::args::FleetSignals;
use crate::background::{Background, load, terminate};
use crate::fleet::{Fleet, Into, Outcome, QUESTION_MS_MAX, simulate};
use crate::product::start_recorder;

/// The server's load while its recorders are measured: clients, and statements of each in a second.
const CLIENTS: usize = 4;
const RATE: f64 = 50.0;

/// From the start until a recorder is measured: its ring is full.
const SETTLED: Duration = Duration::from_secs(200);

/// A recorder sends once a minute: so many stretches are one measurement.
const STRETCHES: u32 = 5;

/// How often memory is looked at: a minute is made ready and sent within some tenths of a second.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Seed of the fleets.
const SEED: u64 = 1;

pub(super) fn run(stretch: Duration) -> Result<()> {
    file()?;
    server()?;
    seconds()?;
    agent(stretch)
}

/// What a file is for.
fn file() -> Result<()> {
    heading("a simulated fleet in SQLite, 20 servers")?;
    let fleet = Fleet {
        hosts: 20,
        days: 0.25,
        incidents: 500,
        signals: FleetSignals::Vital,
        seed: SEED,
        frames: Vec::new(),
        cases: 100,
        month: false,
    };
    told(&fleet, simulate(&fleet, &Into::File)?)
}

/// What questions read, of 400 servers.
fn server() -> Result<()> {
    heading("a simulated fleet in ClickHouse, 400 servers, 5,000 incidents, 30 days")?;
    let fleet = Fleet {
        hosts: 400,
        days: 2.0,
        incidents: 5_000,
        signals: FleetSignals::Asked,
        seed: SEED,
        frames: Vec::new(),
        cases: 200,
        month: true,
    };
    told(&fleet, simulate(&fleet, &Into::Server)?)
}

/// All signals by the second.
fn seconds() -> Result<()> {
    heading("all signals by the second in ClickHouse, 400 servers, half an hour")?;
    let fleet = Fleet {
        hosts: 400,
        days: 0.021,
        incidents: 100,
        signals: FleetSignals::Seconds,
        seed: SEED,
        frames: Vec::new(),
        cases: 0,
        month: false,
    };
    let Some(outcome) = simulate(&fleet, &Into::Server)? else {
        return skipped();
    };
    for (what, value) in outcome.lines(&fleet).iter().take(3) {
        line(what, value, "")?;
    }
    let Some(layouts) = &outcome.layouts else {
        return Ok(());
    };
    for (what, layout, rate, bytes) in [
        ("a row a minute", &layouts.wide, ">= 30 million", "<= 0.45"),
        ("a row a second", &layouts.narrow, "", ""),
    ] {
        let million = layouts.points_per_second(layout) / 1e6;
        line(
            &format!("{what}: points/s in the engine"),
            &format!("{million:.1} million"),
            rate,
        )?;
        line(
            &format!("{what}: bytes a point"),
            &format!("{:.3}", layouts.bytes_per_point(layout)),
            bytes,
        )?;
    }
    Ok(())
}

fn skipped() -> Result<()> {
    line("skipped", "scripts/fleet-server fetch was not done", "")
}

fn told(fleet: &Fleet, outcome: Option<Outcome>) -> Result<()> {
    let Some(outcome) = outcome else {
        return skipped();
    };
    for (what, value) in outcome.lines(fleet) {
        line(&what, &value, "")?;
    }
    let (name, ms) = outcome.slowest();
    line(
        "the slowest question",
        &format!("{name}, {ms:.1} ms"),
        &format!("<= {QUESTION_MS_MAX} ms"),
    )
}

/// Two recorders of one server at the same time, one of which sends.
fn agent(stretch: Duration) -> Result<()> {
    let time = stretch * STRETCHES;
    heading(&format!(
        "a recorder that sends beside one that does not, {} s",
        time.as_secs()
    ))?;
    let server = PrivateServer::start(&testbed::Options::default())?;
    let mix = testbed::mix("ordinary").context("the mix 'ordinary' is gone")?;
    mix.prepare(&server.login())?;
    let busy = Background::start(testbed::Load {
        duration: SETTLED + time * 2,
        ..load(server.login(), mix, CLIENTS, Some(RATE), false)
    })?;
    let store = server.directory().join("fleet.db");
    let sends = format!("[fleet]\nurl = 'sqlite://{}'\n", store.display());
    let with = Measured::start(&server, "sends", &sends)?;
    let without = Measured::start(&server, "alone", "")?;
    std::thread::sleep(SETTLED);
    let begin = Instant::now();
    let before = [with.now()?, without.now()?];
    let mut threads = Vec::new();
    let mut most = [0.0_f64; 2];
    for _ in 0..STRETCHES {
        let (from, cpu) = (Instant::now(), with.sender_seconds());
        while from.elapsed() < stretch {
            std::thread::sleep(LOOK_EVERY);
            for (most, recorder) in most.iter_mut().zip([&with, &without]) {
                *most = most.max(recorder.memory()?);
            }
        }
        threads.push((with.sender_seconds() - cpu) * 100.0 / from.elapsed().as_secs_f64());
    }
    let after = [with.now()?, without.now()?];
    let seconds = begin.elapsed().as_secs_f64();
    let share = |place: usize| -> f64 {
        let cpu = |all: &[(f64, f64); 2]| all.get(place).map_or(0.0, |one| one.0);
        (cpu(&after) - cpu(&before)) * 100.0 / seconds
    };
    line(
        "CPU of the one that sends",
        &format!("{:.3} % of a core", share(0)),
        "",
    )?;
    line(
        "CPU of the other",
        &format!("{:.3} % of a core", share(1)),
        "",
    )?;
    line(
        "CPU of the thread that sends",
        &format!("{} % of a core", mean_and_error(&threads)),
        "<= 0.1 %",
    )?;
    line(
        "memory of both",
        &format!("{:.1} MiB, {:.1} MiB", after[0].1, after[1].1),
        "",
    )?;
    line(
        "more memory",
        &format!("{:.1} MiB", after[0].1 - after[1].1),
        "<= 4 MiB",
    )?;
    line(
        "the most that both had",
        &format!("{:.1} MiB, {:.1} MiB", most[0], most[1]),
        "",
    )?;
    line(
        "more memory while it sends",
        &format!("{:.1} MiB", most[0] - most[1]),
        "<= 4 MiB",
    )?;
    with.stop()?;
    without.stop()?;
    busy.end().map(drop)
}

/// A recorder that is measured.
struct Measured {
    child: Child,
}

impl Measured {
    fn start(server: &PrivateServer, name: &str, config: &str) -> Result<Self> {
        let dir: PathBuf = server.directory().join(name);
        std::fs::create_dir_all(&dir)?;
        let path = server.directory().join(format!("{name}.toml"));
        std::fs::write(&path, config)?;
        let options = ["--config".as_ref(), path.as_os_str(), "--json".as_ref()];
        let (child, lines) = start_recorder(server, Path::new(&dir), &options)?;
        // Whoever prints goes on.
        std::thread::Builder::new()
            .name("lab-lines".to_owned())
            .spawn(move || lines.iter().count())?;
        Ok(Self { child })
    }

    /// CPU time, seconds, and memory of its own and of files, MiB.
    fn now(&self) -> Result<(f64, f64)> {
        Ok((scheduled_seconds(self.child.id())?, self.memory()?))
    }

    /// Memory of its own and of files, MiB.
    fn memory(&self) -> Result<f64> {
        let memory = resident(self.child.id())?;
        Ok(memory.own + memory.of_files)
    }

    /// CPU time of the thread that sends, seconds.
    fn sender_seconds(&self) -> f64 {
        let tasks = format!("/proc/{}/task", self.child.id());
        let tasks = std::fs::read_dir(tasks).into_iter().flatten().flatten();
        let mut sum = 0.0;
        for task in tasks {
            let read =
                |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
            if read("comm").trim_end() == "ff-fleet" {
                let told = read("schedstat");
                let first = told.split_whitespace().next();
                sum += first.and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0);
            }
        }
        sum / 1e9
    }

    fn stop(mut self) -> Result<()> {
        terminate(&self.child);
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            terminate(&self.child);
            let _ = self.child.wait();
        }
    }
}
