//! All signals, ranked by how far they are from the time before.

use std::sync::Arc;

use model::{OrderBy, Series, Unit};

use super::view::View;
use crate::derived::Part;
use crate::stats::{self, Spread};

/// Signals that say nothing by moving: clocks, of which one counts while nobody asks for anything, and codes.
const LEFT_OUT: [&str; 4] = [
    "clock.",
    "processlist.since_finish_ms",
    "probe.query_outcome",
    "probe.connect_outcome",
];

/// Status variables that are of all the time since the server's start.
const SINCE_START: [&str; 5] = [
    "_time_max",
    "_time_avg",
    ".Uptime",
    ".Uptime_since_flush_status",
    ".Max_used_connections",
];

/// How names of signals begin that tell what recording does and costs.
const OWN: [&str; 2] = ["recorder.", "stacks.wall"];

/// A departure below this many usual swings is none.
const LEAST: f64 = 2.0;

/// A signal that is not as usual.
#[derive(Debug, Clone)]
pub struct Departure<'a> {
    /// The signal.
    pub series: &'a Series,
    /// What it is now; of a counter a second.
    pub now: f64,
    /// What it was before.
    pub spread: Spread,
    /// In usual swings, with its sign.
    pub by: f64,
}

impl Departure<'_> {
    /// In words.
    pub fn change(&self) -> String {
        self.spread.change(self.now)
    }
}

/// Signals that are not as usual, the farthest first.
pub fn all<'a>(view: &View<'a>) -> Vec<Departure<'a>> {
    let mut all = every(view);
    all.retain(|one| one.by.abs() >= LEAST);
    all
}

/// The same without what the recorder does itself: on a first screen that is noise.
pub fn of_server_and_host<'a>(view: &View<'a>) -> Vec<Departure<'a>> {
    let mut all = all(view);
    let is_own = |name: &str| OWN.iter().any(|begin| name.starts_with(begin));
    all.retain(|one| !is_own(&one.series.name));
    all
}

/// Signals that say something by their value.
fn is_telling(series: &Series) -> bool {
    series.unit != Unit::Code
        && !LEFT_OUT.iter().any(|name| series.name.starts_with(name))
        && !SINCE_START.iter().any(|end| series.name.ends_with(end))
}

/// What a signal is now, and what it was before where that is known; the signal by its place in the timeline.
#[derive(Debug)]
struct Now {
    series: usize,
    now: f64,
    before: Option<(Spread, f64)>,
}

/// All of them, the farthest first, and then those with nothing before to be compared with. What moved by as many swings
/// is ranked by how many times it is what it was; what is as usual is behind.
fn ranked(view: &View<'_>) -> Arc<Vec<Now>> {
    let timeline = view.timeline();
    let rank = |now: f64, spread: &Spread, by: f64| {
        let times = (now.abs() + 1.0) / (spread.mean.abs() + 1.0);
        match by.abs() {
            as_usual if as_usual < LEAST => as_usual,
            far => far.min(100.0) * (1.0 + times.ln().abs()),
        }
    };
    let make = || {
        let all = timeline.series.iter().enumerate();
        let telling = all.filter(|(_, series)| is_telling(series));
        let read = telling.filter_map(|(index, series)| {
            let now = stats::now(timeline, series, view.at)?;
            let before = view
                .usual(series)
                .map(|spread| (spread, spread.departure(now)));
            let rank = before.map(|(spread, by)| rank(now, &spread, by));
            let read = Now {
                series: index,
                now,
                before,
            };
            Some((rank, &series.name, read))
        });
        let mut all: Vec<(Option<f64>, &String, Now)> = read.collect();
        all.order_by(|(a, one, _), (b, other, _)| match (a, b) {
            (Some(a), Some(b)) => b.total_cmp(a).then_with(|| one.cmp(other)),
            // In the order of the timeline.
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
        all.into_iter().map(|(_, _, read)| read).collect()
    };
    view.model.derived.of(Part::Departures, view.at, make)
}

/// Signals that were read and have nothing before to be compared with, and what they are now.
pub fn not_compared<'a>(view: &View<'a>) -> Vec<(&'a Series, f64)> {
    let ranked = ranked(view);
    let alone = ranked.iter().filter(|one| one.before.is_none());
    alone
        .filter_map(|one| Some((view.timeline().series.get(one.series)?, one.now)))
        .collect()
}

/// Every signal that can be compared, the farthest first.
pub fn every<'a>(view: &View<'a>) -> Vec<Departure<'a>> {
    let compared = |one: &Now| {
        let (spread, by) = one.before?;
        Some(Departure {
            series: view.timeline().series.get(one.series)?,
            now: one.now,
            spread,
            by,
        })
    };
    ranked(view).iter().filter_map(compared).collect()
}
