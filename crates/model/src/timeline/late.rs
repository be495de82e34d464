//! A timeline that grows by many ticks at once.
//!
//! A status has five hundred signals, and each is a series with memory of its own: one more value at the end of each, every
//! second, of two hundred servers, finds none of it in the processor's caches. Nobody looks at a ring that often. So ticks
//! wait as they came, one value behind the other, and some of them together go to their series.

use std::borrow::Cow;

use super::{Series, Source, Timeline};
use crate::{Millis, Reading, Sample};

/// Ticks of a source that wait at the most: what is saved by more is little, and they need memory.
const LATE_MAX: usize = 16;

/// Series get memory for so many more values at once. Twice what there is, as it grows by itself, would be half empty.
const ROOM: usize = 32;

/// A timeline, and the ticks that have not reached their series.
#[derive(Debug, Default)]
pub struct LateTimeline {
    timeline: Timeline,
    /// In the order of [`Timeline::sources`].
    late: Vec<Late>,
}

/// Ticks of one source that all have the signals of its last one in the timeline, in their order.
#[derive(Debug, Default)]
struct Late {
    ticks: Vec<Millis>,
    /// One tick behind the other.
    values: Vec<f64>,
}

impl LateTimeline {
    /// Adds what a sample brought, as [`Timeline::push`] does.
    pub fn push(&mut self, sample: &Sample) {
        let Ok(taken) = &sample.outcome else {
            return;
        };
        let readings = &taken.readings;
        let sources = &self.timeline.sources;
        let source = sources.iter().position(|one| one.name == sample.source);
        let Some(source) = source else {
            return self.timeline.push(sample);
        };
        if !self.has_order_of(source, readings) {
            self.settle(source);
            return self.timeline.push(sample);
        }
        if self.late.len() <= source {
            self.late.resize_with(source + 1, Late::default);
        }
        let (Some(late), Some(known)) =
            (self.late.get_mut(source), self.timeline.sources.get(source))
        else {
            return;
        };
        // Time only goes forward.
        let last = late.ticks.last().or(known.ticks.last());
        if last.is_some_and(|last| *last >= sample.at) {
            return;
        }
        if late.ticks.is_empty() {
            late.values.reserve_exact(readings.len() * LATE_MAX);
        }
        late.ticks.push(sample.at);
        late.values
            .extend(readings.iter().map(|reading| reading.value));
        if late.ticks.len() >= LATE_MAX {
            self.settle(source);
        }
    }

    /// Whether these are the signals of the source's last tick in the timeline, by names that the program has for good: those
    /// are compared without being read.
    fn has_order_of(&self, source: usize, readings: &[Reading]) -> bool {
        let order = self.timeline.order.get(source);
        order.is_some_and(|order| {
            let mut pairs = order.iter().zip(readings);
            order.len() == readings.len()
                && !order.is_empty()
                && pairs.all(|(place, reading)| {
                    matches!(reading.name, Cow::Borrowed(name) if place.is_of(name))
                })
        })
    }

    /// Brings what waits of a source to its series.
    fn settle(&mut self, source: usize) {
        let Some(late) = self.late.get_mut(source) else {
            return;
        };
        if !late.ticks.is_empty() {
            self.timeline.push_ticks(source, &late.ticks, &late.values);
            late.ticks.clear();
            late.values.clear();
        }
    }

    /// The timeline with all that was pushed.
    pub fn settled(&mut self) -> &Timeline {
        for source in 0..self.late.len() {
            self.settle(source);
        }
        &self.timeline
    }

    /// As [`Timeline::forget_before`].
    pub fn forget_before(&mut self, from: Millis) {
        self.settled();
        self.timeline.forget_before(from);
    }

    /// All series. Their values may not be there yet.
    pub fn series(&self) -> &[Series] {
        &self.timeline.series
    }

    /// How many values there are, those that are absent included.
    pub fn values(&self) -> usize {
        let sources = self.timeline.sources.iter().enumerate();
        let of_source = |(index, source): (usize, &Source)| {
            let late = self.late.get(index).map_or(0, |late| late.ticks.len());
            let series = self.timeline.of_source.get(index).map_or(0, Vec::len);
            (source.ticks.len() + late) * series
        };
        sources.map(of_source).sum()
    }
}

impl Timeline {
    /// Adds ticks of a source that have the signals of its last one, in their order: `values` has those of one tick behind
    /// those of the other. The ticks rise.
    fn push_ticks(&mut self, source: usize, ticks: &[Millis], values: &[f64]) {
        let Self {
            sources,
            series,
            order,
            of_source,
            ..
        } = self;
        let (Some(known), Some(order)) = (sources.get_mut(source), order.get(source)) else {
            return;
        };
        let before = known.ticks.len();
        known.ticks.extend_from_slice(ticks);
        let length = known.ticks.len();
        for (place, known) in order.iter().enumerate() {
            let Some(series) = series.get_mut(known.series) else {
                continue;
            };
            // Its name may be that of a signal of another source.
            if series.source != source {
                continue;
            }
            let column = values.iter().skip(place).step_by(order.len());
            let series = &mut series.values;
            make_room(series, length);
            // Of two values of one name the last counts.
            series.resize(before, f64::NAN);
            series.extend(column);
        }
        for index in of_source.get(source).into_iter().flatten() {
            if let Some(series) = series.get_mut(*index) {
                series.values.resize(length, f64::NAN);
            }
        }
    }
}

/// Room for so many values, and for some to come.
fn make_room(values: &mut Vec<f64>, length: usize) {
    if values.capacity() < length {
        values.reserve_exact(length.next_multiple_of(ROOM) - values.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SourceData, Unit};

    const NAMES: [&str; 5] = ["s.a", "s.b", "s.c", "s.d", "s.e"];

    fn sample(source: &'static str, at: Millis, names: &[usize], lasting: bool) -> Sample {
        let reading = |(place, index): (usize, &usize)| {
            let name = NAMES[*index];
            let name = match lasting {
                true => Cow::Borrowed(name),
                false => Cow::Owned(name.to_owned()),
            };
            Reading::gauge(name, Unit::Count, (at * 10 + place as u64) as f64)
        };
        Sample {
            source,
            at,
            took_us: 1,
            outcome: Ok(SourceData {
                readings: names.iter().enumerate().map(reading).collect(),
                ..SourceData::default()
            }),
        }
    }

    #[test]
    fn what_comes_late_is_what_comes_at_once() {
        let both = |samples: &[Sample], cut: Option<Millis>| {
            let (mut late, mut at_once) = (LateTimeline::default(), Timeline::default());
            for sample in samples {
                late.push(sample);
                at_once.push(sample);
                if let Some(cut) = cut.filter(|cut| *cut == sample.at) {
                    late.forget_before(cut - 3);
                    at_once.forget_before(cut - 3);
                }
                let values = at_once.series.iter().map(|one| one.values.len());
                assert_eq!(late.values(), values.sum::<usize>());
            }
            assert_eq!(*late.settled(), at_once);
            let names = |timeline: &Timeline| -> Vec<String> {
                timeline.series.iter().map(|one| one.name.clone()).collect()
            };
            assert_eq!(names(late.settled()), names(&at_once));
        };
        // The first series goes at a cut, and the others move.
        let mut samples = vec![sample("u", 1, &[4], true)];
        for at in 1..100 {
            // Names in another order, twice, of another source, that come and go, that have to be read; time that stands.
            let (names, lasting): (&[usize], bool) = match at {
                40 => (&[1, 0, 2], true),
                50 => (&[0, 1], true),
                60..65 => (&[3, 0, 1, 2], true),
                70 => (&[0, 1, 2], false),
                80..83 => (&[0, 1, 0], true),
                _ => (&[0, 1, 2], true),
            };
            samples.push(sample("s", at - u64::from(at == 30), names, lasting));
            if at % 3 == 0 {
                samples.push(sample("t", at, &[2, 3], true));
            }
        }
        both(&samples, None);
        both(&samples, Some(7));
        both(&samples, Some(91));
    }
}
