//! What one process costs that records many servers: a real one, and others that only answer, all as on other hosts.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testbed::{Answers, FakeServers, PrivateServer};

use super::measure::{heading, line, mean_and_error, resident, scheduled_seconds};
use crate::background::{Background, load, terminate};
use crate::product::program;

/// How many are recorded at once.
const COUNTS: [usize; 3] = [1, 50, 200];

/// Sessions of each server that only answers.
const SESSIONS: usize = 40;

/// The real one's load: clients, and statements of each in a second.
const CLIENTS: usize = 4;
const RATE: f64 = 50.0;

/// From the start until processor time is measured, and until the ring is full and memory does not grow any more: it
/// holds three minutes.
const SETTLED: Duration = Duration::from_secs(30);
const FULL: Duration = Duration::from_secs(200);

/// Parts of a stretch, for its error.
const PARTS: u32 = 6;

/// How long all may take to be logged in to.
const BEGUN_MAX: Duration = Duration::from_secs(60);

/// What is wanted of each target beyond the first.
const CPU_TARGET: &str = "<= 0.2 % of a core";
const MEMORY_TARGET: &str = "<= 5 MiB";

/// One measured run.
struct Cost {
    /// Of a core, in percent, in each part of the stretch.
    cpu: Vec<f64>,
    mebibytes: f64,
    threads: usize,
}

pub(super) fn run(stretch: Duration) -> Result<()> {
    heading(&format!(
        "one process, many servers: a real one under load, the others answer ({SESSIONS} sessions each)"
    ))?;
    let server = PrivateServer::start(&testbed::Options::default())?;
    let mix = testbed::mix("ordinary").context("the mix 'ordinary' is gone")?;
    mix.prepare(&server.login())?;
    let busy = Background::start(testbed::Load {
        duration: (FULL + stretch) * 6,
        ..load(server.login(), mix, CLIENTS, Some(RATE), false)
    })?;
    let answers = Answers::of(&server.login(), SESSIONS)?;
    let mut first: Option<Cost> = None;
    for count in COUNTS {
        let cost = measured(&server, &answers, count, stretch)?;
        tell(count, &cost, first.as_ref())?;
        first.get_or_insert(cost);
    }
    busy.end().map(drop)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn tell(count: usize, cost: &Cost, first: Option<&Cost>) -> Result<()> {
    let whole = format!(
        "{} % of a core, {:.1} MiB, {} threads",
        mean_and_error(&cost.cpu),
        cost.mebibytes,
        cost.threads
    );
    line(&format!("{count} recorded"), &whole, "")?;
    let Some(first) = first else {
        return Ok(());
    };
    let more = (count - 1) as f64;
    let cpu = (mean(&cost.cpu) - mean(&first.cpu)) / more;
    line(
        "  each beyond the first",
        &format!("{cpu:.3} %"),
        CPU_TARGET,
    )?;
    let mebibytes = (cost.mebibytes - first.mebibytes) / more;
    line("", &format!("{mebibytes:.2} MiB"), MEMORY_TARGET)
}

fn measured(
    server: &PrivateServer,
    answers: &Answers,
    count: usize,
    stretch: Duration,
) -> Result<Cost> {
    let fakes = FakeServers::start(count - 1, answers.clone())?;
    let dir = server.directory().join(format!("many-{count}"));
    std::fs::create_dir_all(&dir)?;
    let file = dir.join("targets.toml");
    std::fs::write(&file, targets(server, &fakes, &dir)?)?;
    let begin = Instant::now();
    let recorder = Recorder::start(&dir, &file)?;
    while recorder.known.load(Ordering::Relaxed) < count {
        ensure!(
            begin.elapsed() < BEGUN_MAX,
            "{} of {count} servers were logged in to",
            recorder.known.load(Ordering::Relaxed)
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    std::thread::sleep(SETTLED);
    let pid = recorder.child.id();
    let mut cpu = Vec::new();
    for _ in 0..PARTS {
        let (from, before) = (Instant::now(), scheduled_seconds(pid)?);
        std::thread::sleep(stretch / PARTS);
        let used = scheduled_seconds(pid)? - before;
        cpu.push(used * 100.0 / from.elapsed().as_secs_f64());
    }
    std::thread::sleep(FULL.saturating_sub(begin.elapsed()));
    let memory = resident(pid)?;
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"))?.count();
    recorder.stop()?;
    std::fs::remove_dir_all(&dir)?;
    Ok(Cost {
        cpu,
        mebibytes: memory.own + memory.of_files,
        threads,
    })
}

/// All of them as servers of other hosts: what this host tells is no evidence.
fn targets(server: &PrivateServer, fakes: &FakeServers, dir: &Path) -> Result<String> {
    let login = server.tcp_login();
    let password = dir.join("password");
    std::fs::write(&password, login.password.unwrap_or_default())?;
    let target = |name: String, port: u16| {
        format!(
            "[[targets]]\nname = '{name}'\nport = {port}\nuser = 'root'\npassword_file = '{}'\nremote = true\n",
            password.display()
        )
    };
    let mut text = target("real".to_owned(), server.port());
    for (number, port) in fakes.ports().enumerate() {
        text += &target(format!("fake-{number}"), port);
    }
    Ok(text)
}

/// `freezeframe record --targets`; ended when it is dropped.
struct Recorder {
    child: Child,
    /// Servers whose version is known: there is a login.
    known: Arc<AtomicUsize>,
}

impl Recorder {
    fn start(dir: &Path, file: &Path) -> Result<Self> {
        let option_file = dir.join("client.cnf");
        std::fs::write(&option_file, "")?;
        // It ends with us, however we end (prctl(2), PR_SET_PDEATHSIG).
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig", "TERM", "--"])
            .arg(program()?)
            .args(["record", "--json", "--targets"])
            .arg(file)
            .args([OsStr::new("--dir"), dir.as_os_str()])
            .env("HOME", dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("the recorder cannot be started")?;
        let stdout = child.stdout.take().context("the recorder has no output")?;
        let known = Arc::new(AtomicUsize::new(0));
        let count = known.clone();
        std::thread::Builder::new()
            .name("lab-recorder".to_owned())
            .spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if line.contains("\"event\":\"version\"") {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })?;
        Ok(Self { child, known })
    }

    fn stop(mut self) -> Result<()> {
        terminate(&self.child);
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            terminate(&self.child);
            let _ = self.child.wait();
        }
    }
}
