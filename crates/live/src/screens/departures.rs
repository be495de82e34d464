//! All signals, ranked by how far they are from the time before.

use model::Unit;
use model::{OrderBy, Series};

use super::view::View;
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
fn telling<'a>(view: &View<'a>) -> impl Iterator<Item = &'a Series> {
    let all = view.timeline().series.iter();
    all.filter(|series| series.unit != Unit::Code)
        .filter(|series| !LEFT_OUT.iter().any(|name| series.name.starts_with(name)))
        .filter(|series| !SINCE_START.iter().any(|end| series.name.ends_with(end)))
}

/// Signals that were read and have nothing before to be compared with, and what they are now.
pub fn not_compared<'a>(view: &View<'a>) -> Vec<(&'a Series, f64)> {
    let timeline = view.timeline();
    telling(view)
        .filter(|series| view.usual(series).is_none())
        .filter_map(|series| Some((series, stats::now(timeline, series, view.at)?)))
        .collect()
}

/// Every signal that can be compared, the farthest first. What moved by as many swings is ranked by how many times it is
/// what it was.
pub fn every<'a>(view: &View<'a>) -> Vec<Departure<'a>> {
    let timeline = view.timeline();
    let mut all: Vec<Departure<'a>> = telling(view)
        .filter_map(|series| {
            let now = stats::now(timeline, series, view.at)?;
            let spread = view.usual(series)?;
            Some(Departure {
                series,
                now,
                spread,
                by: spread.departure(now),
            })
        })
        .collect();
    let rank = |one: &Departure<'_>| {
        let times = (one.now.abs() + 1.0) / (one.spread.mean.abs() + 1.0);
        one.by.abs().min(100.0) * (1.0 + times.ln().abs())
    };
    all.order_by(|a, b| {
        rank(b)
            .total_cmp(&rank(a))
            .then_with(|| a.series.name.cmp(&b.series.name))
    });
    all
}
