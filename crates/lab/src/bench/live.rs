//! The live view in a terminal of its own beside stalls, one of them of a server that is stopped: how soon a key is
//! answered, what the view costs, and how long after a stall was noticed its cause is to be read.
//!
//! Each key is followed by Ctrl-L, which draws every cell, so that a word of the wanted screen can be waited for. A key is
//! answered when that word is there: what a person sees takes no longer.
//!
//! Where a stall's clients queue for every processor, so does the view, and so does who measures: the scheduler tells how
//! long (`Scheduled`). So of each key it is told as well what the view itself worked for it, and of the longest one how long
//! both queued. Threads of the kernel carry the letters of every terminal, and queue as well: so it is told, too, how long
//! letters took meanwhile through a terminal that has no program (`EmptyTerminal`).
//!
//! The recorder has the share of the processors that its unit gives it, as people run it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::setpriority_process;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};
use testbed::{PrivateServer, ServerKind};

use super::measure::{Scheduled, heading, median, scheduled_seconds, table_line};
use crate::args::STALLS_OF_LIVE;
use crate::background::terminate;
use crate::product::{Recorder, program};
use crate::scenario::client_latency::{Watcher, measure};
use crate::scenario::stage::start_service;

/// Keys, a word that only what they show has, at its begin, and the view's own snapshot that has it.
const KEYS: [(&str, &str, &str); 8] = [
    ("2", "COMMAND", "threads"),
    ("3", "WAITERS", "locks"),
    ("5", "SEEN BY", "statements"),
    ("6", "AREA", "host"),
    ("7", "SWINGS", "signals"),
    ("9", "MISSING, AND WHY", "recorder"),
    ("m", "ANSWERS", "map"),
    ("?", "KEYS", "help"),
];

/// The nice value of who measures.
const FIRST: i32 = -20;

/// Ctrl-L.
const DRAW_ALL: &str = "\u{c}";

/// Time between two keys.
const EVERY: Duration = Duration::from_millis(300);

/// A key that is not answered by then is not waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the recorder may take to write a history to look at.
const HISTORY_MAX: Duration = Duration::from_secs(20);

/// How long the incident may take after the break.
const WRITTEN_MAX: Duration = Duration::from_secs(60);

/// What a key may take, and the view of one processor.
const KEY_MAX: &str = "<= 50 ms";
const CPU_MAX: &str = "<= 3 %";
const VERDICT_MAX: &str = "<= 2 s";

pub(super) fn run(only: &[String]) -> Result<()> {
    heading("the live view during five stalls, in a terminal of 120 columns and 40 lines")?;
    table_line(
        "stall",
        &[
            "keys",
            "median",
            "95 %",
            "longest",
            "the view's work",
            "longest one's",
            "CPU, watching",
            "CPU, keys too",
            "cause shown",
        ],
    )?;
    table_line(
        "",
        &[
            "",
            "",
            "",
            KEY_MAX,
            KEY_MAX,
            "queues, terminal",
            CPU_MAX,
            CPU_MAX,
            VERDICT_MAX,
        ],
    )?;
    let is_wanted = |name: &str| only.is_empty() || only.iter().any(|one| one == name);
    for name in STALLS_OF_LIVE.into_iter().filter(|name| is_wanted(name)) {
        let scenario = testbed::scenario(name)?.context("the scenario is gone")?;
        let dir = tempfile::tempdir()?;
        let mut watcher = InTerminal::new(dir.path());
        measure(&scenario, ServerKind::MariaDb, &mut watcher)?;
        let seen = watcher.seen.context("the view was not looked at")?;
        let mut took: Vec<f64> = seen.keys.iter().map(|key| key.took_ms).collect();
        took.sort_by(f64::total_cmp);
        let worked = seen.keys.iter().map(|key| key.view.ran_ms);
        let longest = seen
            .keys
            .iter()
            .max_by(|a, b| a.took_ms.total_cmp(&b.took_ms));
        table_line(
            name,
            &[
                &took.len().to_string(),
                &format!("{:.1} ms", median(&took)),
                &format!("{:.1} ms", super::measure::percentile(&took, 0.95)),
                &format!("{:.1} ms", took.last().copied().unwrap_or(f64::NAN)),
                &format!("{:.1} ms", worked.fold(0.0, f64::max)),
                &longest.map_or_else(String::new, |key| {
                    let queued = (key.view.queued_ms, key.own.queued_ms);
                    format!("{:.0}, {:.0}, {:.0} ms", queued.0, queued.1, key.empty_ms)
                }),
                &format!("{:.2} %", seen.watching * 100.0),
                &format!("{:.2} %", seen.with_keys * 100.0),
                &seen.verdict.map_or_else(
                    || "not in the stall".to_owned(),
                    |seconds| format!("after {seconds:.1} s"),
                ),
            ],
        )?;
    }
    Ok(())
}

/// What was seen in one stall.
struct Seen {
    /// Each key.
    keys: Vec<Answered>,
    /// Share of a processor, while nobody presses a key.
    watching: f64,
    /// The same with keys.
    with_keys: f64,
    /// Seconds from the recorder's line to the cause on the screen.
    verdict: Option<f64>,
}

/// A key, and its answer.
struct Answered {
    /// Time to the answer, milliseconds.
    took_ms: f64,
    /// What the view had of the processors meanwhile.
    view: Scheduled,
    /// What this program had of them.
    own: Scheduled,
    /// The longest that letters took meanwhile, there and back, through a terminal without a program, milliseconds.
    empty_ms: f64,
}

/// What a look ends with: the recorder, to be ended, and what was seen.
type Looked = Result<(Recorder, Seen)>;

/// The recorder, with the view in a terminal beside it.
struct InTerminal {
    dir: PathBuf,
    running: Option<(Recorder, Terminal, Instant, f64)>,
    pressing: Option<(Arc<AtomicBool>, JoinHandle<Looked>)>,
    seen: Option<Seen>,
}

impl InTerminal {
    fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            running: None,
            pressing: None,
            seen: None,
        }
    }
}

impl Watcher for InTerminal {
    fn start(&mut self, server: &PrivateServer) -> Result<()> {
        let mut recorder = start_service(server, &self.dir)?;
        recorder.quiet();
        let has_history = |dir: &Path| {
            let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
            let mut names = entries.map(|entry| entry.file_name());
            names.any(|name| name.to_string_lossy().starts_with("history-"))
        };
        let dir = self.dir.clone();
        recorder.wait(HISTORY_MAX, |_| has_history(&dir))?;
        recorder.wait(Duration::from_secs(2), |_| false)?;
        let mut terminal = Terminal::start(&["live", "--dir", &self.dir.to_string_lossy()])?;
        terminal.answered("", "9rec")?;
        let cpu = scheduled_seconds(terminal.child.id())?;
        self.running = Some((recorder, terminal, Instant::now(), cpu));
        Ok(())
    }

    fn broken(&mut self) {
        let Some((recorder, terminal, since, cpu)) = self.running.take() else {
            return;
        };
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || look(recorder, terminal, since, cpu, &stopped));
        self.pressing = Some((stop, thread));
    }

    fn end(&mut self) -> Result<()> {
        let Some((stop, thread)) = self.pressing.take() else {
            return Ok(());
        };
        stop.store(true, Ordering::Relaxed);
        let Ok(ended) = thread.join() else {
            bail!("the keys failed");
        };
        let (mut recorder, seen) = ended?;
        self.seen = Some(seen);
        recorder.wait(WRITTEN_MAX, |recorder| !recorder.in_stall())?;
        recorder.stop()
    }
}

/// From the begin of the break to its end: first the cause is waited for, then keys are pressed.
fn look(
    mut recorder: Recorder,
    mut terminal: Terminal,
    since: Instant,
    cpu: f64,
    stop: &AtomicBool,
) -> Looked {
    go_first();
    let pid = terminal.child.id();
    let share = |before: f64, since: Instant| -> Result<f64> {
        Ok((scheduled_seconds(pid)? - before) / since.elapsed().as_secs_f64())
    };
    let watching = share(cpu, since)?;
    let (since, cpu) = (Instant::now(), scheduled_seconds(pid)?);
    let mut noticed: Option<Instant> = None;
    let mut verdict = None;
    let mut answered = Vec::new();
    let mut keys = KEYS.iter().cycle();
    while !stop.load(Ordering::Relaxed) {
        let next = Instant::now() + EVERY;
        if verdict.is_none() {
            // The first screen has the cause with its signs when there is one.
            let is_told = terminal.shown("1")?.contains("against");
            recorder.wait(Duration::from_millis(1), |_| false)?;
            if recorder.in_stall() && noticed.is_none() {
                noticed = Some(Instant::now());
            }
            if let Some(noticed) = noticed.filter(|_| is_told) {
                verdict = Some(noticed.elapsed().as_secs_f64());
            }
        }
        if let Some((key, word, _)) = keys.next() {
            answered.push(terminal.answered(key, word)?);
        }
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    let with_keys = share(cpu, since)?;
    let seen = Seen {
        keys: answered,
        watching,
        with_keys,
        verdict,
    };
    Ok((recorder, seen))
}

/// This thread shares its session with the load: what it waits for the processor is no delay of the view. So it runs before
/// all that have no realtime priority, or at the least before the others of its session (sched(7)). Without the right to
/// it the figures are larger.
fn go_first() {
    // No process id stands for the calling thread.
    let _ = setpriority_process(None, FIRST);
    let Ok(thread) = std::fs::read_link("/proc/thread-self") else {
        return;
    };
    if let Some(id) = thread.file_name() {
        let realtime = Command::new("chrt")
            .args(["--fifo", "--pid", "1"])
            .arg(id)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        // Without it the nice value stands.
        drop(realtime);
    }
}

/// The side of a terminal that a person is on, and the name of the other one.
fn open_terminal() -> Result<(File, String)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let name = name.to_str().context("the name of a terminal")?.to_owned();
    Ok((File::from(master), name))
}

/// The other side of a terminal.
fn open_other_side(name: &str) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    options.custom_flags(i32::try_from(OpenptFlags::NOCTTY.bits())?);
    Ok(options.open(name)?)
}

/// A terminal without a program, through which a letter goes there and back all the time. Each way is one of the kernel's
/// threads (drivers/tty/tty_buffer.c, `flush_to_ldisc`), as for a key of the view and its answer: no program can be
/// answered sooner.
struct EmptyTerminal {
    stop: Arc<AtomicBool>,
    ways: Arc<Ways>,
    thread: Option<JoinHandle<Result<()>>>,
}

/// Times of the ways there and back, microseconds.
struct Ways {
    begin: Instant,
    longest: AtomicU64,
    /// When the letter set out that is under way.
    out: AtomicU64,
}

impl Ways {
    fn now(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl EmptyTerminal {
    fn start() -> Result<Self> {
        let (person, name) = open_terminal()?;
        let program = open_other_side(&name)?;
        let mut modes = tcgetattr(&program)?;
        modes.make_raw();
        tcsetattr(&program, OptionalActions::Now, &modes)?;
        let stop = Arc::new(AtomicBool::new(false));
        let ways = Arc::new(Ways {
            begin: Instant::now(),
            longest: AtomicU64::new(0),
            out: AtomicU64::new(0),
        });
        let (stopped, measured) = (stop.clone(), ways.clone());
        let thread = std::thread::Builder::new()
            .name("lab-terminal".to_owned())
            .spawn(move || {
                go_first();
                let mut letter = [b'k'];
                while !stopped.load(Ordering::Relaxed) {
                    let out = measured.now();
                    measured.out.store(out, Ordering::Relaxed);
                    (&person).write_all(&letter)?;
                    (&program).read_exact(&mut letter)?;
                    (&program).write_all(&letter)?;
                    (&person).read_exact(&mut letter)?;
                    let took = measured.now().saturating_sub(out);
                    measured.longest.fetch_max(took, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(5));
                }
                Ok(())
            })?;
        Ok(Self {
            stop,
            ways,
            thread: Some(thread),
        })
    }

    /// From now on the longest is looked for anew.
    fn reset(&self) {
        self.ways.longest.store(0, Ordering::Relaxed);
    }

    /// The longest way, that of a letter under way included, milliseconds.
    fn longest_ms(&self) -> f64 {
        let ways = &self.ways;
        let under_way = ways.now().saturating_sub(ways.out.load(Ordering::Relaxed));
        let longest = ways.longest.load(Ordering::Relaxed).max(under_way);
        longest as f64 / 1000.0
    }
}

impl Drop for EmptyTerminal {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // What went wrong in it was to be seen: the letter under way did not come.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// A terminal with the view in it.
struct Terminal {
    master: File,
    child: Child,
    empty: EmptyTerminal,
}

impl Terminal {
    fn start(arguments: &[&str]) -> Result<Self> {
        let (master, name) = open_terminal()?;
        let size = Winsize {
            ws_row: 40,
            ws_col: 120,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size)?;
        let slave = || open_other_side(&name).map(Stdio::from);
        // A person's terminal is a session of its own, as the server is one: the kernel divides the processors between
        // sessions first (sched(7), the autogroup feature).
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "TERM", "--", "setsid"])
            .arg(program()?)
            .args(arguments)
            .env("TERM", "xterm-256color")
            .stdin(slave()?)
            .stdout(slave()?)
            .stderr(slave()?)
            .spawn()
            .context("the view cannot be started")?;
        Ok(Self {
            master,
            child,
            empty: EmptyTerminal::start()?,
        })
    }

    /// Reads what is there, waiting for it this long at the most.
    fn read(&mut self, into: &mut Vec<u8>, wait: Duration) -> Result<bool> {
        let mut ready = [PollFd::new(&self.master, PollFlags::IN)];
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(wait.subsec_nanos()),
        };
        if poll(&mut ready, Some(&timeout))? == 0 {
            return Ok(false);
        }
        let mut bytes = [0; 65_536];
        let count = self.master.read(&mut bytes)?;
        into.extend(bytes.iter().take(count));
        Ok(true)
    }

    /// Presses a key and waits until a word is there; how long it took.
    fn answered(&mut self, key: &str, word: &str) -> Result<Answered> {
        let mut seen = Vec::new();
        while self.read(&mut seen, Duration::from_nanos(1))? {}
        seen.clear();
        let pid = self.child.id();
        let before = (Scheduled::of_main(pid), Scheduled::of_this());
        self.empty.reset();
        let begin = Instant::now();
        write!(self.master, "{key}{DRAW_ALL}")?;
        while !String::from_utf8_lossy(&seen).contains(word) {
            self.read(&mut seen, Duration::from_millis(1))?;
            if begin.elapsed() > PATIENCE {
                break;
            }
            if self.child.try_wait()?.is_some() {
                bail!("the view ended: {}", String::from_utf8_lossy(&seen));
            }
        }
        let took_ms = begin.elapsed().as_secs_f64() * 1000.0;
        Ok(Answered {
            took_ms,
            // One may have been under way before.
            empty_ms: self.empty.longest_ms().min(took_ms),
            view: Scheduled::of_main(pid).since(before.0),
            own: Scheduled::of_this().since(before.1),
        })
    }

    /// What a key shows.
    fn shown(&mut self, key: &str) -> Result<String> {
        let mut seen = Vec::new();
        while self.read(&mut seen, Duration::from_nanos(1))? {}
        seen.clear();
        write!(self.master, "{key}{DRAW_ALL}")?;
        let begin = Instant::now();
        // The last line is drawn last.
        while !String::from_utf8_lossy(&seen).contains("9rec") && begin.elapsed() < PATIENCE {
            self.read(&mut seen, Duration::from_millis(1))?;
        }
        Ok(String::from_utf8_lossy(&seen).into_owned())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        terminate(&self.child);
        // Its last words must be read, or it waits for room.
        let mut seen = Vec::new();
        let until = Instant::now() + PATIENCE;
        while self.child.try_wait().is_ok_and(|ended| ended.is_none()) && Instant::now() < until {
            let _ = self.read(&mut seen, Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_on_its_screen_and_on_no_other() {
        let snapshots =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../live/tests/screens/snapshots");
        let shown = |screen: &str| {
            let path = snapshots.join(format!("{screen}-120x40.txt"));
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
        };
        for (key, word, own) in KEYS {
            for (_, _, screen) in KEYS {
                assert_eq!(
                    shown(screen).contains(word),
                    screen == own,
                    "{key} {screen}"
                );
            }
        }
    }
}
