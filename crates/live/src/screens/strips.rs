//! The last minute of what says most, a line each: a second a column.

use model::{ProbeOutcome, Unit, Window};
use report::format;

use super::view::View;
use crate::ink::{Ink, Line, cut};
use crate::stats::{self, Point, Spread};

/// Columns of a strip's name.
const NAME: usize = 11;

/// Columns of the numbers behind it.
const NUMBERS: usize = 24;

/// Columns of the first of them.
const NOW: usize = 13;

/// A probe that answers within this time is not called slow, microseconds.
const SLOW_US: f64 = 100_000.0;

/// A row of the strips.
#[derive(Debug, Clone, Copy)]
enum Of {
    /// A signal.
    Signal(&'static str),
    /// A probe: its outcome and how long it took.
    Probe(&'static str, &'static str),
    /// Time of a request of the disk that is used most.
    DiskWait,
}

/// Strips that there are.
pub const COUNT: usize = 12;

/// The strips, those that say most first.
const STRIPS: [(&str, Of); COUNT] = [
    (
        "connect",
        Of::Probe("probe.connect_outcome", "probe.connect_us"),
    ),
    (
        "SELECT 1",
        Of::Probe("probe.query_outcome", "probe.query_us"),
    ),
    ("running", Of::Signal("status.Threads_running")),
    ("system cpu", Of::Signal("cpu.system_share")),
    ("statements", Of::Signal("status.Questions")),
    ("disk wait", Of::DiskWait),
    ("user cpu", Of::Signal("cpu.user_share")),
    ("hung", Of::Signal("processlist.hung")),
    ("run queue", Of::Signal("cpu.procs_running")),
    ("waits disk", Of::Signal("threads.uninterruptible")),
    ("mem press.", Of::Signal("psi.memory.some_us")),
    ("accept q.", Of::Signal("accept_queue.tcp.length")),
];

/// What a strip says.
struct Said {
    letters: String,
    now: String,
    usually: String,
    is_far: bool,
}

/// The strips with their axis.
pub fn lines(view: &View<'_>, most: usize) -> Vec<Line> {
    let count = view.columns.saturating_sub(NAME + NUMBERS + 1).max(8);
    let seconds = View::strip_ms(count) / 1000;
    let mut axis = Line::colored(Ink::Dim, &" ".repeat(NAME));
    for part in 0..3u64 {
        let column = NAME + (part as usize * count) / 3;
        axis.pad(column);
        axis.push(Ink::Dim, &format!("-{} s", seconds - part * seconds / 3));
    }
    axis.pad(NAME + count);
    axis.push(Ink::Dim, "  now          usually");
    let mut lines = vec![axis];
    let shown = STRIPS.iter().filter_map(|(name, of)| {
        let said = match of {
            Of::Probe(outcome, took) => of_probe(view, outcome, took, count)?,
            Of::Signal(signal) => of_signal(view, signal, count)?,
            Of::DiskWait => of_disk(view, count)?,
        };
        Some(line(name, &said, count))
    });
    lines.extend(shown.take(most));
    match lines.len() {
        1 => vec![Line::colored(Ink::Dim, "no signals over time here")],
        _ => lines,
    }
}

fn line(name: &str, said: &Said, count: usize) -> Line {
    let (strip, number) = match said.is_far {
        true => (Ink::Bad, Ink::Bad),
        false => (Ink::Good, Ink::Plain),
    };
    let mut line = Line::plain(name);
    line.pad(NAME);
    line.push(strip, &said.letters);
    line.pad(NAME + count);
    line.push(Ink::Dim, "| ");
    line.push(number, &cut(&said.now, NOW - 1));
    line.pad(NAME + count + 2 + NOW);
    line.push(Ink::Plain, &cut(&said.usually, NUMBERS - NOW - 2));
    line
}

/// A number in words; a dash where there is none.
fn say(value: Option<f64>, words: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), words)
}

fn of_signal(view: &View<'_>, signal: &str, count: usize) -> Option<Said> {
    let timeline = view.timeline();
    let series = timeline.get(signal)?;
    let points = stats::points(timeline, series, view.strip_window(count));
    let usual = view.usual(series);
    let top = match series.unit {
        Unit::Share => 1.0,
        _ => top(&points, usual.map(|usual| usual.mean)),
    };
    let now = stats::now(timeline, series, view.at);
    let words = |value| format::value(series, value);
    Some(Said {
        letters: view.letters(&points, top, count),
        now: say(now, words),
        usually: say(usual.map(|usual| usual.mean), words),
        is_far: far(now, usual),
    })
}

fn of_disk(view: &View<'_>, count: usize) -> Option<Said> {
    let points = disk_wait(view, view.strip_window(count));
    let usual = view.usual_of("disk wait", || {
        let mean = mean(&disk_wait(view, view.normal()))?;
        Some(Spread {
            mean,
            deviation: 0.0,
            max: mean,
        })
    });
    let usual = usual.map(|usual| usual.mean);
    if points.is_empty() && usual.is_none() {
        return None;
    }
    let words = |ms: f64| format::seconds(ms / 1000.0);
    Some(Said {
        letters: view.letters(&points, top(&points, usual), count),
        now: say(points.last().map(|point| point.value), words),
        usually: say(usual, words),
        is_far: false,
    })
}

/// A probe: `.` answered, `o` ten times slower than usual, `x` not answered.
fn of_probe(view: &View<'_>, outcome: &str, took: &str, count: usize) -> Option<Said> {
    let timeline = view.timeline();
    let window = view.strip_window(count);
    let took = timeline.get(took)?;
    let usual = view.usual(took);
    let slow = usual.map_or(f64::MAX, |usual| (usual.mean * 10.0).max(SLOW_US));
    let latency = stats::points(timeline, took, window);
    let mut failed = timeline
        .get(outcome)
        .map_or_else(Vec::new, |series| stats::points(timeline, series, window));
    for point in &mut failed {
        let outcome = ProbeOutcome::from_code(point.value);
        point.value = f64::from(u8::from(outcome.is_some_and(ProbeOutcome::is_stall_sign)));
    }
    let columns = view.strip_columns(&latency, count);
    let letters = columns.iter().zip(view.strip_columns(&failed, count));
    let letters = letters.map(|(took, failed)| match (took, failed) {
        (_, Some(failed)) if failed > 0.0 => 'x',
        (Some(took), _) if *took > slow => 'o',
        (Some(_), _) | (None, Some(_)) => '.',
        (None, None) => ' ',
    });
    let words = |us: f64| format::seconds(us / 1e6);
    let last = view.model.probe(outcome, view.at);
    let failed = last.filter(|outcome| outcome.is_stall_sign());
    let now = stats::now(timeline, took, view.at);
    Some(Said {
        letters: letters.collect(),
        now: failed.map_or_else(|| say(now, words), |outcome| short(outcome).to_owned()),
        usually: say(usual.map(|usual| usual.mean), words),
        is_far: failed.is_some() || now.is_some_and(|now| now > slow),
    })
}

/// What the highest letter of a strip stands for: twice of what is usual, or the most that it was.
fn top(points: &[Point], usual: Option<f64>) -> f64 {
    let most = points.iter().map(|point| point.value).fold(0.0, f64::max);
    most.max(usual.unwrap_or(0.0) * 2.0)
}

fn far(now: Option<f64>, usual: Option<Spread>) -> bool {
    now.zip(usual)
        .is_some_and(|(now, usual)| usual.departure(now).abs() > 4.0)
}

fn mean(points: &[Point]) -> Option<f64> {
    let count = points.len() as f64;
    (count > 0.0).then(|| points.iter().map(|point| point.value / count).sum())
}

/// Milliseconds that a request took, of the disk that is in use most.
fn disk_wait(view: &View<'_>, window: Window) -> Vec<Point> {
    let timeline = view.timeline();
    let rate = |name: &str| {
        timeline
            .get(name)
            .map(|series| stats::points(timeline, series, window))
    };
    let busy = timeline.matching("disk.*.busy_ms");
    let disk = busy.max_by(|a, b| {
        let most =
            |series| stats::spread(timeline, series, window).map_or(0.0, |spread| spread.mean);
        most(a).total_cmp(&most(b))
    });
    let Some(disk) = disk.and_then(|series| series.name.strip_suffix(".busy_ms")) else {
        return Vec::new();
    };
    let sums = |parts: [&str; 2]| {
        let all = parts
            .iter()
            .filter_map(|part| rate(&format!("{disk}.{part}")));
        all.reduce(added).unwrap_or_default()
    };
    let (spent, done) = (sums(["read_ms", "write_ms"]), sums(["reads", "writes"]));
    spent
        .into_iter()
        .zip(done)
        .filter(|(spent, done)| spent.at == done.at && done.value > 0.0)
        .map(|(spent, done)| Point {
            value: spent.value / done.value,
            ..spent
        })
        .collect()
}

/// Two signals of one source, reading by reading.
fn added(mut first: Vec<Point>, other: Vec<Point>) -> Vec<Point> {
    for (one, other) in first.iter_mut().zip(other) {
        if one.at == other.at {
            one.value += other.value;
        }
    }
    first
}

/// How a probe ended, in a word that has room.
fn short(outcome: ProbeOutcome) -> &'static str {
    match outcome {
        ProbeOutcome::TooManyConnections => "server full",
        ProbeOutcome::NoResources => "no thread",
        ProbeOutcome::Lost => "lost",
        outcome => outcome.to_text(),
    }
}
