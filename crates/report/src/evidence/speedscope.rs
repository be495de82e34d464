//! Profiles for speedscope, in its own JSON format
//! (<https://github.com/jlfwong/speedscope/blob/main/src/lib/file-format-spec.ts>).

use std::collections::{BTreeMap, HashMap};

use model::{FrameId, OrderBy, Profile, StackId, StackTable};
use serde::Serialize;

use super::folded::SAMPLES_MAX;
use crate::escape;

/// What says which format it is.
const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// Nanoseconds in a second.
const NANOSECONDS: u64 = 1_000_000_000;

/// Threads of one name are a profile of their own, as long as there are no more names.
const THREADS_MAX: usize = 50;

/// What stands for a name that is empty.
const UNKNOWN: &str = "[unknown]";

#[derive(Serialize)]
struct File {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    exporter: String,
    name: String,
    #[serde(rename = "activeProfileIndex")]
    active: usize,
    shared: Shared,
    profiles: Vec<Sampled>,
}

#[derive(Serialize)]
struct Shared {
    frames: Vec<Named>,
}

#[derive(Serialize)]
struct Named {
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    file: String,
}

#[derive(Serialize)]
struct Sampled {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start: u64,
    #[serde(rename = "endValue")]
    end: u64,
    /// Frames by their number, outermost first.
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

/// The profile as speedscope reads it: all samples first, then those of the threads of each name. Weights are
/// nanoseconds of processor time, or samples where it is not known how often they were taken. What was sampled when is
/// not kept: "time order" shows an order that means nothing, "left heavy" and "sandwich" are true.
pub fn speedscope(profile: &Profile, book: &StackTable, name: &str) -> String {
    let mut frames = Frames::default();
    let mut all: BTreeMap<StackId, u64> = BTreeMap::new();
    let mut by_thread: BTreeMap<&str, BTreeMap<StackId, u64>> = BTreeMap::new();
    for row in profile.counts.iter().filter(|row| row.count > 0) {
        for stacks in [&mut all, by_thread.entry(&row.thread).or_default()] {
            let sum = stacks.entry(row.stack).or_default();
            *sum = sum.saturating_add(row.count);
        }
    }
    let weight = Weight::of(profile.hz);
    let mut profiles = vec![frames.sampled("all threads", &all, book, weight)];
    let mut threads: Vec<_> = by_thread.into_iter().collect();
    let sum = |sum: u64, count: &u64| sum.saturating_add(*count);
    let samples = |stacks: &BTreeMap<StackId, u64>| stacks.values().fold(0, sum);
    threads.order_by_key(|(_, stacks)| std::cmp::Reverse(samples(stacks)));
    if threads.len() > 1 {
        for (thread, stacks) in threads.iter().take(THREADS_MAX) {
            profiles.push(frames.sampled(thread, stacks, book, weight));
        }
    }
    let file = File {
        schema: SCHEMA,
        version: "0.0.1",
        exporter: format!("freezeframe {}", env!("CARGO_PKG_VERSION")),
        name: escape::terminal(name),
        active: 0,
        shared: Shared {
            frames: frames.named,
        },
        profiles,
    };
    // Numbers and texts alone do not fail.
    let mut text = serde_json::to_string(&file).unwrap_or_default();
    text.push('\n');
    text
}

/// What a sample weighs.
#[derive(Debug, Clone, Copy)]
struct Weight {
    unit: &'static str,
    each: u64,
}

impl Weight {
    fn of(hz: u32) -> Self {
        match hz {
            0 => Self {
                unit: "none",
                each: 1,
            },
            hz => Self {
                unit: "nanoseconds",
                each: NANOSECONDS / u64::from(hz),
            },
        }
    }

    fn times(self, count: u64) -> u64 {
        count.saturating_mul(self.each)
    }
}

/// The frames that all profiles share, by their number.
#[derive(Default)]
struct Frames {
    named: Vec<Named>,
    numbers: HashMap<FrameId, usize>,
}

impl Frames {
    fn number(&mut self, id: FrameId, book: &StackTable) -> usize {
        let named = &mut self.named;
        *self.numbers.entry(id).or_insert_with(|| {
            let (name, file) = match book.frame(id) {
                Some(frame) => (frame.name.as_str(), frame.image.as_str()),
                None => ("", ""),
            };
            named.push(Named {
                name: shown(name),
                file: escape::terminal(file),
            });
            named.len() - 1
        })
    }

    fn sampled(
        &mut self,
        name: &str,
        stacks: &BTreeMap<StackId, u64>,
        book: &StackTable,
        weight: Weight,
    ) -> Sampled {
        let mut samples = Vec::new();
        let mut weights = Vec::new();
        let mut end = 0_u64;
        for (stack, count) in stacks {
            // Numbers up to there are exact in JavaScript.
            let most = SAMPLES_MAX - end;
            let weighs = weight.times(*count).min(most);
            end += weighs;
            let ids = book.stack(*stack).frames.iter().rev();
            samples.push(ids.map(|id| self.number(*id, book)).collect());
            weights.push(weighs);
        }
        Sampled {
            kind: "sampled",
            name: shown(name),
            unit: weight.unit,
            start: 0,
            end,
            samples,
            weights,
        }
    }
}

/// A name as it is shown: a page of others' shows it.
fn shown(name: &str) -> String {
    match name.trim() {
        "" => UNKNOWN.to_owned(),
        name => escape::terminal(name),
    }
}
