//! Readings as the recorder hands them over.

use model::{Millis, Reading, Sample, SourceData, Unit};

/// What a source read.
pub fn sample(source: &'static str, at: Millis, readings: Vec<Reading>) -> Sample {
    Sample {
        source,
        at,
        took_us: 100,
        outcome: Ok(SourceData {
            readings,
            ..SourceData::default()
        }),
    }
}

/// A level.
pub fn gauge(name: &'static str, value: f64) -> Reading {
    Reading::gauge(name, Unit::Count, value)
}
