//! `--plain`: a line for each change, never written over. For screen readers, tickets, pipes and `watch`.

use std::time::{Duration, Instant};

use anyhow::Result;
use model::{OrderBy, ProbeOutcome, Window};
use report::evidence::heat::{self, Cell};
use report::{format, plain_words};

use crate::model::{Model, RecorderState, RecordingKind, StallTimes};
use crate::screens;
use crate::source::Source;
use crate::state::FlameOf;

/// How often it is looked whether to end.
const POLL: Duration = Duration::from_millis(100);

/// An answer that takes so long is slow, seconds.
const SLOW_S: f64 = 0.1;

/// Answers are as usual again when none was slow for so many seconds.
const CALM_SECONDS: u64 = 3;

/// The flame graphs are told of so long after a stall was noticed: a profile is of five seconds.
const PROFILE_MS: u64 = 10_000;

/// A change.
struct Change {
    /// When, on the wall's clock.
    at: i64,
    /// What it is told by, once.
    key: String,
    /// Its line.
    text: String,
}

impl Change {
    fn new(at: i64, text: String) -> Self {
        Self {
            at,
            key: format!("{at} {text}"),
            text,
        }
    }

    /// With numbers that change while a stall lasts: told again only when what it says is another thing.
    fn keyed(at: i64, key: String, text: String) -> Self {
        Self { at, key, text }
    }
}

/// Tells what changed, from the begin of the recording on, and goes on while it grows. `print` gets each line, `ends` says
/// when to end.
pub fn plain(
    source: &mut dyn Source,
    mut print: impl FnMut(&str) -> Result<()>,
    ends: impl Fn() -> bool,
) -> Result<()> {
    let mut told: Vec<String> = Vec::new();
    let mut is_first = true;
    let mut runs = false;
    while let Some(model) = source.read(None)? {
        if is_first {
            print(&opening(&model))?;
            if let Some(ms) = model.ended_ms() {
                let ago = format::duration(ms);
                print(&format!("no recorder runs: this history ended {ago} ago"))?;
            }
            is_first = false;
        }
        for change in changes(&model) {
            // Each reading sees the last minutes anew.
            if !told.contains(&change.key) {
                print(&change.text)?;
                told.push(change.key);
            }
        }
        let stalls = |told: &RecorderState| told.stalled_ms.is_some();
        source.want_stacks(model.recorder.as_ref().is_some_and(stalls));
        let runs_now = model.recorder.is_some();
        if runs && !runs_now {
            print("the recorder has ended; waiting for the next one")?;
        }
        runs = runs_now;
        let more = told.len().saturating_sub(TOLD_MAX);
        told.drain(..more);
        let Some(every) = source.every() else { break };
        let next = Instant::now() + every;
        while Instant::now() < next {
            if ends() {
                return Ok(());
            }
            std::thread::sleep(POLL);
        }
    }
    match is_first {
        true => print("nothing was recorded"),
        false => Ok(()),
    }
}

/// Lines that are remembered.
const TOLD_MAX: usize = 5_000;

fn opening(model: &Model) -> String {
    let begin = jiff::Timestamp::from_millisecond(model.clock().wall_ms(model.first()));
    // The lines below have the time of day alone.
    let (date, zone) = match begin.ok().filter(|_| model.clock().is_known()) {
        Some(begin) => (begin.strftime("%Y-%m-%d ").to_string(), " UTC"),
        None => (String::new(), ""),
    };
    format!(
        "{} {} {}: {}, {date}{} to {}{zone}",
        model.incident.host,
        model.incident.server.label,
        model.incident.server.version,
        model.kind.label().to_lowercase(),
        format::time_text(model.clock(), model.first()),
        format::time_text(model.clock(), model.last())
    )
}

/// What changed in a recording, by time.
fn changes(model: &Model) -> Vec<Change> {
    let mut all = stalls(model);
    all.extend(probes(model, "connect", "probe.connect_outcome"));
    all.extend(probes(model, "SELECT 1", "probe.query_outcome"));
    all.extend(slow_answers(model));
    all.extend(flames(model));
    all.extend(absences(model));
    all.order_by_key(|change| change.at);
    let zero = model.clock().wall_at_zero_ms;
    for change in &mut all {
        let moment = u64::try_from(change.at.saturating_sub(zero)).unwrap_or(0);
        change.text = format!(
            "{} {}",
            format::time_text(model.clock(), moment),
            change.text
        );
    }
    all
}

fn stalls(model: &Model) -> Vec<Change> {
    let mut out = Vec::new();
    let wall = |at| model.clock().wall_ms(at);
    for stall in &model.stalls {
        out.push(Change::new(wall(stall.onset), "stall begins".to_owned()));
        for trigger in &stall.triggers {
            let text = format!("stall noticed by {}: {}", trigger.rule, trigger.says);
            out.push(Change::new(wall(stall.trigger), text));
        }
        if let Some(end) = stall.end {
            let lasted = format::duration(end.saturating_sub(stall.onset));
            out.push(Change::new(wall(end), format!("stall ends after {lasted}")));
        }
    }
    if let Some(verdict) = &model.verdict {
        let at = wall(model.incident.stall.trigger);
        let first = verdict.findings.first();
        let cause = first.map_or("", |first| first.cause.as_str());
        let level = first.map_or("", |first| first.level.word());
        let text = format!("verdict: {}", plain_words::verdict_text(verdict));
        out.push(Change::keyed(at, format!("{at} {cause} {level}"), text));
        let steps = first.map_or(&[][..], |first| &first.remedy.now);
        out.extend(steps.iter().enumerate().map(|(index, step)| {
            let text = format!("what to do: {}", step.replace('\n', " "));
            Change::keyed(at, format!("{at} {cause} {index}"), text)
        }));
    }
    out
}

/// A probe tells when its answer becomes another one.
fn probes(model: &Model, name: &str, signal: &str) -> Vec<Change> {
    let timeline = &model.incident.timeline;
    let Some(series) = timeline.get(signal) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    let mut before = ProbeOutcome::Ok;
    for (at, code) in timeline.points(series) {
        let Some(outcome) = ProbeOutcome::from_code(code) else {
            continue;
        };
        if outcome != before {
            let text = format!("{name}: {}", outcome.to_text());
            out.push(Change::new(model.clock().wall_ms(at), text));
        }
        before = outcome;
    }
    out
}

/// When answers become slow, and when they are as usual again: what the map of the screens shows.
fn slow_answers(model: &Model) -> Vec<Change> {
    let window = Window {
        from: model.first(),
        to: model.last(),
    };
    let Some(heat) = heat::answers(&model.incident.timeline, model.clock(), window) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    let mut slow_until: Option<u64> = None;
    for (second, cells) in (0u64..).zip(&heat.seconds) {
        let begin = heat.from.saturating_add(second * 1000);
        let took = cells.iter().filter_map(|cell| match cell {
            Cell::Took(seconds) if *seconds >= SLOW_S => Some(*seconds),
            _ => None,
        });
        let wall = model.clock().wall_ms(begin);
        match (took.reduce(f64::max), slow_until) {
            (Some(took), before) => {
                if before.is_none() {
                    let text = format!("SELECT 1: slow, {}", format::seconds(took));
                    out.push(Change::keyed(wall, format!("{wall} slow"), text));
                }
                slow_until = Some(second + CALM_SECONDS);
            }
            (None, Some(until)) if second > until => {
                slow_until = None;
                let text = "SELECT 1: answered in time again".to_owned();
                out.push(Change::keyed(wall, format!("{wall} in time"), text));
            }
            (None, _) => {}
        }
    }
    out
}

/// Where the processors were in each stall, and where threads waited, against the time before: the flame graphs in a line
/// each.
fn flames(model: &Model) -> Vec<Change> {
    // While a stall is younger each reading of a recorder would tell of another moment.
    let is_ripe = |stall: &&StallTimes| {
        model.kind != RecordingKind::Recorder
            || stall.end.is_some()
            || model.last() >= stall.trigger.saturating_add(PROFILE_MS)
    };
    let stalls = model.stalls.iter().filter(is_ripe);
    let told = stalls.flat_map(|stall| {
        let end = stall.end.unwrap_or_else(|| model.last());
        let at = stall.trigger.saturating_add(PROFILE_MS).min(end);
        let wall = model.clock().wall_ms(at);
        let both = [
            (FlameOf::Processors, "processors"),
            (FlameOf::Waiting, "waiting"),
        ];
        both.into_iter().filter_map(move |(of, name)| {
            let text = screens::flame_text(model, of, at)?;
            Some(Change::keyed(wall, format!("{wall} {name}"), text))
        })
    });
    told.collect()
}

fn absences(model: &Model) -> Vec<Change> {
    let first = model.first();
    model
        .incident
        .absent
        .iter()
        .filter(|timed| timed.first > first.saturating_add(2_000))
        .map(|timed| {
            let text = format!(
                "absent: {} ({})",
                timed.absent.what,
                timed.absent.reason.to_text()
            );
            Change::new(model.clock().wall_ms(timed.first), text)
        })
        .collect()
}
