//! Signals over time: the store that ring, history and incident share, and the measures of a window.

mod forget;
mod late;

pub use late::LateTimeline;

use std::borrow::Cow;
use std::collections::HashMap;

use crate::{Millis, Reading, Sample, SignalKind, Unit, Window, matches_pattern};

/// Series kept at the most. A source that invents names (threads, devices) must not fill memory.
const SERIES_MAX: usize = 16_384;

/// How far before a window its base value may lie for a rate, in milliseconds: longer than a server
/// that answers nobody is usually waited for, so that what it did meanwhile is still counted.
const RATE_BASE_MS: Millis = 120_000;

/// The moments at which a source brought something.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Source {
    /// Name in the table of sources.
    pub name: String,
    /// Times of its readings on the recorder's clock, ascending.
    pub ticks: Vec<Millis>,
}

/// One signal over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name of the signal: area, dot, the owner's own name (`vmstat.pswpin`).
    pub name: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Whether the values are of a counter or are a level.
    pub kind: SignalKind,
    /// Index of its source in [`Timeline::sources`].
    pub source: usize,
    /// One value a tick of the source; NaN where the source ran and did not bring this signal.
    pub values: Vec<f64>,
}

/// Signals over time, by source. Ring, history and incident share it.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    /// The sources, each with the times of its readings.
    pub sources: Vec<Source>,
    /// The signals; each refers to its source by index.
    pub series: Vec<Series>,
    /// Readings left out because [`SERIES_MAX`] series were there.
    pub dropped_readings: u64,
    /// Names that the program has for good are not kept again, for each of many servers.
    by_name: HashMap<Cow<'static, str>, usize>,
    /// By source, the series of its last readings in their order: mostly the next ones have the same, and none has to be
    /// looked for.
    order: Vec<Vec<Place>>,
    /// By source, its series: a probe that brings two values five times a second has nothing to do with the five hundred
    /// of the status.
    of_source: Vec<Vec<usize>>,
}

/// What stood at a place of a source's last readings.
#[derive(Debug, Clone, Copy)]
struct Place {
    series: usize,
    /// Its name where the program has it for good: the same text at the same place is the same name, and is not read.
    name: Option<&'static str>,
}

impl Place {
    fn is_of(&self, name: &str) -> bool {
        self.name.is_some_and(|known| std::ptr::eq(known, name))
    }
}

/// A value of a tick.
struct Value<'a> {
    name: &'a str,
    /// The name where the program has it for good.
    lasting: Option<&'static str>,
    unit: Unit,
    kind: SignalKind,
    value: f64,
}

/// How many values of a window become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Growth of a counter a second; a restart counts from zero.
    Rate,
    /// Growth of a counter.
    Delta,
    /// Arithmetic mean of a level.
    Mean,
    /// Largest value.
    Max,
    /// Smallest value.
    Min,
    /// Last value.
    Last,
}

impl Timeline {
    /// Adds what a sample brought; a sample that brought nothing leaves no tick.
    pub fn push(&mut self, sample: &Sample) {
        if let Ok(taken) = &sample.outcome {
            self.push_readings(sample.source, sample.at, &taken.readings);
        }
    }

    /// Adds one tick of a source. Ticks that do not rise are left out: time only goes forward.
    pub fn push_readings(&mut self, source: &str, at: Millis, readings: &[Reading]) {
        let values = readings.iter().map(|one| Value {
            name: one.name.as_ref(),
            lasting: match &one.name {
                Cow::Borrowed(name) => Some(*name),
                Cow::Owned(_) => None,
            },
            unit: one.unit,
            kind: one.kind,
            value: one.value,
        });
        self.push_all(source, at, values);
    }

    /// The same of names, units, kinds and values.
    pub fn push_values<'a>(
        &mut self,
        source: &str,
        at: Millis,
        values: impl IntoIterator<Item = (&'a str, Unit, SignalKind, f64)>,
    ) {
        let values = values.into_iter();
        let values = values.map(|(name, unit, kind, value)| Value {
            name,
            lasting: None,
            unit,
            kind,
            value,
        });
        self.push_all(source, at, values);
    }

    fn push_all<'a>(&mut self, source: &str, at: Millis, values: impl Iterator<Item = Value<'a>>) {
        let mut values = values.peekable();
        if values.peek().is_none() {
            return;
        }
        let source = self.source_index(source);
        let ticks = &mut self.sources[source].ticks;
        if ticks.last().is_some_and(|last| *last >= at) {
            return;
        }
        ticks.push(at);
        let length = ticks.len();
        if self.order.len() <= source {
            self.order.resize_with(source + 1, Vec::new);
        }
        let mut places = 0;
        for (place, one) in values.enumerate() {
            places = place + 1;
            let known = self.order[source].get(place);
            let known = known.filter(|known| {
                let series = self.series.get(known.series);
                known.is_of(one.name) || series.is_some_and(|series| series.name == one.name)
            });
            let known = known.map(|known| known.series);
            let known = known.or_else(|| self.by_name.get(one.name).copied());
            let index = match known {
                Some(index) => index,
                None if self.series.len() >= SERIES_MAX => {
                    self.dropped_readings += 1;
                    continue;
                }
                None => {
                    let series = Series {
                        name: one.name.to_owned(),
                        unit: one.unit,
                        kind: one.kind,
                        source,
                        values: Vec::new(),
                    };
                    let name = one.lasting.map(Cow::Borrowed);
                    let name = name.unwrap_or_else(|| one.name.to_owned().into());
                    self.add_named(name, series)
                }
            };
            let order = &mut self.order[source];
            let found = Place {
                series: index,
                name: one.lasting,
            };
            match order.get_mut(place) {
                Some(known) => *known = found,
                // A reading that was left out has no place.
                None => order.push(found),
            }
            let series = &mut self.series[index];
            if series.source == source {
                series.values.resize(length - 1, f64::NAN);
                series.values.push(one.value);
            }
        }
        self.order[source].truncate(places);
        for index in self.of_source.get(source).into_iter().flatten() {
            self.series[*index].values.resize(length, f64::NAN);
        }
    }

    /// How many series and ticks a source has.
    pub fn size_of(&self, source: &str) -> (usize, usize) {
        let found = self.sources.iter().position(|one| one.name == source);
        found.map_or((0, 0), |index| {
            let series = self.of_source.get(index).map_or(0, Vec::len);
            let ticks = self.sources.get(index).map_or(0, |one| one.ticks.len());
            (series, ticks)
        })
    }

    /// Adds a whole source with its ticks; returns its index.
    pub fn add_source(&mut self, name: &str, ticks: Vec<Millis>) -> usize {
        self.sources.push(Source {
            name: name.to_owned(),
            ticks,
        });
        self.sources.len() - 1
    }

    /// Adds a whole series; returns its index. A second series of the same name replaces the first
    /// in look-ups.
    pub fn add_series(&mut self, series: Series) -> usize {
        self.add_named(series.name.clone().into(), series)
    }

    fn add_named(&mut self, name: Cow<'static, str>, series: Series) -> usize {
        let index = self.series.len();
        self.by_name.insert(name, index);
        let source = series.source;
        self.series.push(series);
        self.note_source(source, index);
        index
    }

    fn sources_of_series(&self) -> Vec<usize> {
        self.series.iter().map(|series| series.source).collect()
    }

    fn note_source(&mut self, source: usize, series: usize) {
        if self.of_source.len() <= source {
            self.of_source.resize_with(source + 1, Vec::new);
        }
        self.of_source[source].push(series);
    }

    fn source_index(&mut self, name: &str) -> usize {
        if let Some(index) = self.sources.iter().position(|source| source.name == name) {
            return index;
        }
        self.sources.push(Source {
            name: name.to_owned(),
            ticks: Vec::new(),
        });
        self.sources.len() - 1
    }

    /// A copy of what lies within `window`.
    pub fn between(&self, window: Window) -> Self {
        let mut part = Self {
            dropped_readings: self.dropped_readings,
            ..Self::default()
        };
        let mut ranges = Vec::with_capacity(self.sources.len());
        for source in &self.sources {
            let from = source.ticks.partition_point(|tick| *tick < window.from);
            let to = source.ticks.partition_point(|tick| *tick <= window.to);
            part.sources.push(Source {
                name: source.name.clone(),
                ticks: source.ticks[from..to].to_vec(),
            });
            ranges.push(from..to);
        }
        for series in &self.series {
            let Some(values) = series.values.get(ranges[series.source].clone()) else {
                continue;
            };
            if values.iter().any(|value| !value.is_nan()) {
                part.add_series(Series {
                    values: values.to_vec(),
                    ..series.clone_without_values()
                });
            }
        }
        part
    }

    /// The series with this name.
    pub fn get(&self, name: &str) -> Option<&Series> {
        self.by_name.get(name).map(|index| &self.series[*index])
    }

    /// The series whose names match a pattern in which `*` is any run of characters.
    pub fn matching<'a>(&'a self, pattern: &'a str) -> impl Iterator<Item = &'a Series> {
        let single = (!pattern.contains('*'))
            .then(|| self.get(pattern))
            .flatten();
        let many = pattern.contains('*').then(|| {
            self.series
                .iter()
                .filter(move |series| matches_pattern(pattern, &series.name))
        });
        single.into_iter().chain(many.into_iter().flatten())
    }

    /// The name of a series' source.
    pub fn source_of(&self, series: &Series) -> &str {
        self.sources
            .get(series.source)
            .map_or("", |source| source.name.as_str())
    }

    /// The present values of a series with their moments.
    pub fn points<'a>(&'a self, series: &'a Series) -> impl Iterator<Item = (Millis, f64)> + 'a {
        let ticks = self
            .sources
            .get(series.source)
            .map_or(&[][..], |source| &source.ticks[..]);
        ticks
            .iter()
            .copied()
            .zip(series.values.iter().copied())
            .filter(|(_, value)| !value.is_nan())
    }

    /// The present values within a window, both ends included.
    pub fn points_in<'a>(
        &'a self,
        series: &'a Series,
        window: Window,
    ) -> impl DoubleEndedIterator<Item = (Millis, f64)> + 'a {
        let ticks = self
            .sources
            .get(series.source)
            .map_or(&[][..], |source| &source.ticks[..]);
        let length = ticks.len().min(series.values.len());
        let from = ticks
            .partition_point(|tick| *tick < window.from)
            .min(length);
        let to = ticks
            .partition_point(|tick| *tick <= window.to)
            .clamp(from, length);
        ticks[from..to]
            .iter()
            .copied()
            .zip(series.values[from..to].iter().copied())
            .filter(|(_, value)| !value.is_nan())
    }

    /// One number for a series in a window; absent when the window holds too little of it.
    ///
    /// Rate and delta take the last value at or before the window's begin as their base.
    pub fn measure(&self, series: &Series, measure: Measure, window: Window) -> Option<f64> {
        self.view(series).measure(measure, window)
    }

    /// A series to be looked at in one window after the other.
    pub fn view<'a>(&'a self, series: &'a Series) -> View<'a> {
        let ticks = self
            .sources
            .get(series.source)
            .map_or(&[][..], |source| &source.ticks[..]);
        let length = ticks.len().min(series.values.len());
        View {
            ticks: &ticks[..length],
            values: &series.values[..length],
            from: 0,
            to: 0,
        }
    }
}

/// A series with the window that was looked at last. Windows that lie beside each other are found without a search.
#[derive(Debug, Clone)]
pub struct View<'a> {
    ticks: &'a [Millis],
    values: &'a [f64],
    from: usize,
    to: usize,
}

impl View<'_> {
    /// See [`Timeline::measure`].
    pub fn measure(&mut self, measure: Measure, window: Window) -> Option<f64> {
        self.seek(window);
        match measure {
            Measure::Rate | Measure::Delta => self.growth(measure, window),
            Measure::Mean => {
                let (sum, count) = self.points().fold((0.0, 0u32), |(sum, count), (_, value)| {
                    (sum + value, count + 1)
                });
                (count > 0).then(|| sum / f64::from(count))
            }
            Measure::Max => self.points().map(|(_, value)| value).reduce(f64::max),
            Measure::Min => self.points().map(|(_, value)| value).reduce(f64::min),
            Measure::Last => self.points().next_back().map(|(_, value)| value),
        }
    }

    /// The present values in a window, both ends included.
    pub fn points_in(
        &mut self,
        window: Window,
    ) -> impl DoubleEndedIterator<Item = (Millis, f64)> + '_ {
        self.seek(window);
        self.points()
    }

    fn seek(&mut self, window: Window) {
        self.from = first_from(self.ticks, self.from, window.from);
        let behind = window.to.saturating_add(1);
        self.to = first_from(self.ticks, self.to, behind).max(self.from);
    }

    fn points(&self) -> impl DoubleEndedIterator<Item = (Millis, f64)> + '_ {
        present(self.ticks, self.values, self.from, self.to)
    }

    /// The last value at or before the window's begin.
    fn base(&self, window: Window) -> Option<(Millis, f64)> {
        let at_begin = self.ticks.get(self.from) == Some(&window.from);
        let to = self.from + usize::from(at_begin);
        let earliest = window.from.saturating_sub(RATE_BASE_MS);
        let ticks = self.ticks.get(..to).unwrap_or_default();
        let values = self.values.get(..to).unwrap_or_default();
        let earlier = ticks.iter().zip(values).rev();
        earlier
            .take_while(|(tick, _)| **tick >= earliest)
            .find(|(_, value)| !value.is_nan())
            .map(|(tick, value)| (*tick, *value))
    }

    fn growth(&self, measure: Measure, window: Window) -> Option<f64> {
        let mut base = self.base(window);
        let mut begin = None;
        let mut end = 0;
        let mut grown = 0.0;
        for (tick, value) in self.points() {
            if let Some((base_tick, base_value)) = base.filter(|(base_tick, _)| *base_tick < tick) {
                begin = begin.or(Some(base_tick));
                grown += if value >= base_value {
                    value - base_value
                } else {
                    value
                };
                end = tick;
            }
            base = Some((tick, value));
        }
        let begin = begin?;
        match measure {
            Measure::Delta => Some(grown),
            _ => Some(grown * 1000.0 / (end - begin) as f64),
        }
    }
}

fn present<'a>(
    ticks: &'a [Millis],
    values: &'a [f64],
    from: usize,
    to: usize,
) -> impl DoubleEndedIterator<Item = (Millis, f64)> + 'a {
    let ticks = ticks.get(from..to).unwrap_or_default();
    let values = values.get(from..to).unwrap_or_default();
    ticks
        .iter()
        .copied()
        .zip(values.iter().copied())
        .filter(|(_, value)| !value.is_nan())
}

/// Steps from one place to the next that are taken before it is searched for.
const STEPS_MAX: usize = 8;

/// The place of the first tick that is not before a moment; it is near this one, mostly.
fn first_from(ticks: &[Millis], near: usize, moment: Millis) -> usize {
    let is_behind = near
        .checked_sub(1)
        .and_then(|before| ticks.get(before))
        .is_some_and(|before| *before >= moment);
    if is_behind {
        return ticks.partition_point(|tick| *tick < moment);
    }
    let rest = ticks.get(near..).unwrap_or_default();
    let steps = rest
        .iter()
        .take(STEPS_MAX)
        .take_while(|tick| **tick < moment);
    match steps.count() {
        STEPS_MAX => near + rest.partition_point(|tick| *tick < moment),
        steps => near + steps,
    }
}

impl Series {
    fn clone_without_values(&self) -> Self {
        Self {
            name: self.name.clone(),
            unit: self.unit,
            kind: self.kind,
            source: self.source,
            values: Vec::new(),
        }
    }
}

impl PartialEq for Timeline {
    /// Equal when the same sources ticked at the same moments and the same signals had the same
    /// values; absent values are equal to each other.
    fn eq(&self, other: &Self) -> bool {
        let same = |a: &Series, b: &Series| {
            (&a.name, a.unit, a.kind) == (&b.name, b.unit, b.kind)
                && self.source_of(a) == other.source_of(b)
                && a.values.len() == b.values.len()
                && a.values
                    .iter()
                    .zip(&b.values)
                    .all(|(x, y)| x == y || (x.is_nan() && y.is_nan()))
        };
        self.sources == other.sources
            && self.series.len() == other.series.len()
            && self.series.iter().all(|series| {
                other
                    .get(&series.name)
                    .is_some_and(|there| same(series, there))
            })
    }
}

#[cfg(test)]
mod tests;
