//! Where the numbers of a status are.

use std::collections::HashMap;

use model::Sample;

/// Where some numbers were in the last samples of a source: mostly they are there again, and five hundred others need not
/// be asked for their names, each second and for each of twenty numbers.
#[derive(Debug, Default)]
pub(crate) struct Places(HashMap<&'static str, usize>);

impl Places {
    /// A number that can be calculated with, as [`crate::view::number`] finds it.
    pub(crate) fn number(&mut self, sample: &Sample, name: &'static str) -> Option<f64> {
        let readings = &sample.outcome.as_ref().ok()?.readings;
        let place = self.0.entry(name).or_default();
        let is_there = readings.get(*place).is_some_and(|one| one.name == name);
        if !is_there {
            *place = readings.iter().position(|one| one.name == name)?;
        }
        let value = readings.get(*place).map(|one| one.value);
        value.filter(|value| value.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use model::{Reading, SourceData, Unit};

    use super::*;

    #[test]
    fn a_number_is_found_wherever_it_is() {
        let mut places = Places::default();
        for (readings, expected) in [
            (vec![("a", 1.0), ("b", 2.0)], Some(2.0)),
            (vec![("a", 1.0), ("b", 3.0)], Some(3.0)),
            (vec![("b", 4.0)], Some(4.0)),
            (vec![("a", 1.0)], None),
            (vec![("c", 9.0), ("a", 1.0), ("b", 5.0)], Some(5.0)),
            (vec![("c", 9.0), ("a", 1.0), ("b", f64::NAN)], None),
        ] {
            let readings = readings.into_iter();
            let readings = readings.map(|(name, value)| Reading::gauge(name, Unit::Count, value));
            let sample = Sample {
                source: "status",
                at: 1,
                took_us: 1,
                outcome: Ok(SourceData {
                    readings: readings.collect(),
                    ..SourceData::default()
                }),
            };
            assert_eq!(places.number(&sample, "b"), expected);
        }
    }
}
