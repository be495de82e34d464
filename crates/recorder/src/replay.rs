//! What the detector says of signals that were recorded.

use detect::{Detector, Event};
use model::{Fact, Incident, Millis, Reading, SOURCES, Sample, Series, SourceData, Trigger};

use crate::signals::OWN;

/// A stall in a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// When the first statement that hangs began.
    pub onset: Millis,
    /// When the detector was sure.
    pub at: Millis,
    /// When work flowed again; none where the recording ends before.
    pub end: Option<Millis>,
    /// The rules that fired, in their order.
    pub triggers: Vec<Trigger>,
}

/// The stalls in what an incident, or a stretch of a history, holds.
pub fn replay(incident: &Incident, config: &detect::Config) -> Vec<Replayed> {
    let mut detector = Detector::new(config.clone());
    let mut stalls: Vec<Replayed> = Vec::new();
    for sample in samples(incident) {
        for event in detector.observe(&sample) {
            match event {
                Event::Triggered {
                    onset, at, trigger, ..
                } => stalls.push(Replayed {
                    onset,
                    at,
                    end: None,
                    triggers: vec![trigger],
                }),
                Event::Joined { trigger, .. } => {
                    if let Some(stall) = stalls.last_mut() {
                        stall.triggers.push(trigger);
                    }
                }
                Event::Ended { end, .. } => {
                    if let Some(stall) = stalls.last_mut() {
                        stall.end = Some(end);
                    }
                }
            }
        }
    }
    stalls
}

/// The readings of a recording as they came, by time; made one by one, for there may be millions.
pub(crate) fn samples(incident: &Incident) -> impl Iterator<Item = Sample> {
    let timeline = &incident.timeline;
    let mut of_source: Vec<Vec<&Series>> = vec![Vec::new(); timeline.sources.len()];
    for series in &timeline.series {
        if let Some(own) = of_source.get_mut(series.source) {
            own.push(series);
        }
    }
    // Facts hold until they change; the detector takes them from any sample.
    let facts = incident
        .facts
        .iter()
        .map(|timed| (timed.at, What::Fact(&timed.fact)));
    let ticks = timeline
        .sources
        .iter()
        .enumerate()
        .flat_map(|(index, source)| {
            let ticks = source.ticks.iter().enumerate();
            ticks.map(move |(tick, at)| (*at, What::Tick(index, tick)))
        });
    let mut moments: Vec<(Millis, What<'_>)> = facts.chain(ticks).collect();
    moments.sort_by_key(|(at, _)| *at);
    moments.into_iter().map(move |(at, what)| match what {
        What::Fact(fact) => Sample {
            source: OWN,
            at,
            took_us: 0,
            outcome: Ok(SourceData {
                facts: vec![fact.clone()],
                ..SourceData::default()
            }),
        },
        What::Tick(index, tick) => {
            let name = timeline
                .sources
                .get(index)
                .map_or("", |source| &source.name);
            let own = of_source.get(index).map_or(&[][..], Vec::as_slice);
            Sample {
                source: known(name),
                at,
                took_us: 0,
                outcome: Ok(SourceData {
                    readings: own
                        .iter()
                        .filter_map(|series| reading(series, tick))
                        .collect(),
                    ..SourceData::default()
                }),
            }
        }
    })
}

/// The name of a source as the recorder's table has it.
pub(crate) fn known(name: &str) -> &'static str {
    let mut table = SOURCES.iter();
    table
        .find(|known| known.name == name)
        .map_or(OWN, |known| known.name)
}

/// What a moment of a recording brought.
enum What<'a> {
    Fact(&'a Fact),
    /// A source and one of its ticks, by their places.
    Tick(usize, usize),
}

/// What a source brought of a signal; nothing where it did not.
fn reading(series: &Series, tick: usize) -> Option<Reading> {
    let value = *series.values.get(tick)?;
    (!value.is_nan()).then(|| Reading {
        name: series.name.clone().into(),
        unit: series.unit,
        kind: series.kind,
        value,
    })
}
