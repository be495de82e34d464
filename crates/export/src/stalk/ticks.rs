//! A stretch of an incident, with its readings and moments as pt-stalk's files have them.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::{Incident, Millis, Series, SignalKind, TextKind, TimedText, Window};

/// Begin of a file's name, in the words of strftime.
pub(super) const PREFIX: &str = "%Y_%m_%d_%H_%M_%S";

/// What a collection is made of.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) incident: &'a Incident,
    pub(super) zone: &'a TimeZone,
    /// What the collection covers.
    pub(super) window: Window,
    /// One reading before the window, no further off than this, is the base of what counters grow by.
    pub(super) base_ms: u64,
    /// The moment in the files' names.
    pub(super) named_at: Millis,
    /// From when on lines of logs are in it.
    pub(super) logs_from: Millis,
}

/// One reading of a source: the moment, and its place in the series' values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tick {
    pub(super) at: Millis,
    index: usize,
}

impl Tick {
    /// The value that a series had then; absent where the source brought none.
    pub(super) fn value(self, series: &Series) -> Option<f64> {
        series
            .values
            .get(self.index)
            .copied()
            .filter(|value| !value.is_nan())
    }
}

impl<'a> Scene<'a> {
    /// A moment in local time, in the words of strftime.
    pub(super) fn local(&self, at: Millis, format: &str) -> String {
        let wall = self.incident.clock.wall_ms(at);
        Timestamp::from_millisecond(wall).map_or_else(
            |_| wall.to_string(),
            |moment| {
                moment
                    .to_zoned(self.zone.clone())
                    .strftime(format)
                    .to_string()
            },
        )
    }

    /// `2026_11_20_23_30_15`.
    pub(super) fn prefix(&self) -> String {
        self.local(self.named_at, super::prefix_format())
    }

    /// `TS 1353536401.250000000 2012-11-21 17:00:01` and a line feed.
    pub(super) fn ts(&self, out: &mut String, at: Millis) {
        let wall = self.incident.clock.wall_ms(at);
        let _ = writeln!(
            out,
            "TS {}.{:09} {}",
            wall.div_euclid(1000),
            wall.rem_euclid(1000) * 1_000_000,
            self.local(at, "%F %T")
        );
    }

    /// The readings of a series' source in the window, and the one before it.
    pub(super) fn ticks(&self, series: &Series) -> Vec<Tick> {
        let Some(source) = self.incident.timeline.sources.get(series.source) else {
            return Vec::new();
        };
        let ticks = &source.ticks;
        let first = ticks.partition_point(|at| *at < self.window.from);
        let base = first.checked_sub(1).filter(|base| {
            let oldest = self.window.from.saturating_sub(self.base_ms);
            self.base_ms > 0 && ticks.get(*base).is_some_and(|at| *at >= oldest)
        });
        let from = base.unwrap_or(first);
        ticks
            .iter()
            .enumerate()
            .skip(from)
            .take_while(|(_, at)| **at <= self.window.to)
            .map(|(index, at)| Tick { at: *at, index })
            .collect()
    }

    /// The series whose names begin so, with the rest of their names, in the order of the file.
    pub(super) fn series(&self, start: &str) -> Vec<(&'a str, &'a Series)> {
        self.incident
            .timeline
            .series
            .iter()
            .filter_map(|series| Some((series.name.strip_prefix(start)?, series)))
            .collect()
    }

    /// The series of that name.
    pub(super) fn one(&self, name: &str) -> Option<&'a Series> {
        self.incident.timeline.get(name)
    }

    /// Texts of a kind from a moment on to the end of the window.
    pub(super) fn texts(
        &self,
        kind: TextKind,
        from: Millis,
    ) -> impl DoubleEndedIterator<Item = &'a TimedText> {
        let to = self.window.to;
        self.incident
            .texts
            .iter()
            .filter(move |timed| timed.text.kind() == kind && timed.at >= from && timed.at <= to)
    }
}

/// A number as files of /proc and statuses print it: whole, where it is.
pub(super) fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{value:.0}")
    } else {
        format!("{value:.6}")
    }
}

/// How much a counter grew; a restart counts from zero.
pub(super) fn grown(kind: SignalKind, before: f64, now: f64) -> f64 {
    match kind {
        SignalKind::Counter if now < before => now,
        _ => now - before,
    }
}
