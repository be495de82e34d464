//! Reads every source of a server once, as `freezeframe check` does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use model::{
    Absent, Reason, SOURCES, Sample, StackEvidence, TextKind, TimedAbsent, Timeline, Window,
};

use crate::clock::RecorderClock;
use crate::config::RecorderConfig;
use crate::context::Context;
use crate::in_flight::InFlight;
use crate::queries::QueryWatch;
use crate::quiet::Quiet;
use crate::recorder::missed;
use crate::sources;
use crate::stacks::StackWatch;
use crate::surroundings;
use crate::target::{Shared, Target};

/// How one source answered.
#[derive(Debug, Clone)]
pub struct SourceCheck {
    /// The source.
    pub source: &'static str,
    /// Whether it brought anything.
    pub taken: bool,
    /// Signals it brought.
    pub signals: usize,
    /// How long it took, milliseconds.
    pub took_ms: f64,
    /// What is missing, and why.
    pub absent: Vec<Absent>,
}

/// A short look at a server.
#[derive(Debug, Default)]
pub struct ServerCheck {
    /// How each source answered the first time.
    pub checked: Vec<SourceCheck>,
    /// All signals of the look.
    pub timeline: Timeline,
    /// Facts by name, with what a check reads beside the sources.
    pub facts: BTreeMap<String, String>,
    /// The last text of the processlist.
    pub processlist: Option<String>,
    /// Stacks and profile.
    pub stacks: StackEvidence,
    /// What could not be taken.
    pub absent: Vec<TimedAbsent>,
    /// How long it lasted, milliseconds.
    pub took_ms: u64,
}

/// Reads the sources of a server as the recorder would, for `time`: every source at least once,
/// unless it does not answer within `patience`, and those of each second so often that rates can
/// be told.
pub fn check_server(
    target: Target,
    config: &RecorderConfig,
    patience: Duration,
    time: Duration,
) -> std::io::Result<ServerCheck> {
    let (sender, samples) = sync_channel(SOURCES.len() * 64);
    let stop = Arc::new(AtomicBool::new(false));
    let shared = Arc::new(Shared::new(target));
    // The sources that only a trigger asks for are asked too.
    shared.burst.store(true, Ordering::Relaxed);
    let queries = Arc::new(QueryWatch::default());
    queries.begin_burst(0);
    let clock = RecorderClock::start();
    let stacks = Arc::new(StackWatch::new());
    let quiet = Arc::new(Quiet::default());
    let context = Context {
        clock: clock.clone(),
        shared: shared.clone(),
        deadlines: config.deadlines,
        stacks: stacks.clone(),
        queries: queries.clone(),
        in_flight: Arc::new(InFlight::new()),
        samples: sender,
        lost: Arc::new(AtomicU64::new(0)),
        stop: stop.clone(),
        wake: Arc::default(),
        quiet: quiet.clone(),
    };
    sources::start(&context)?;
    let begin = Instant::now();
    let (patient_until, look_until) = (begin + patience, begin + time);
    let mut first: Vec<Option<Sample>> = vec![None; SOURCES.len()];
    let mut looked = ServerCheck::default();
    for (row, slot) in SOURCES.iter().zip(&mut first) {
        if shared.misses(row) {
            let sample = missed(row.name, 0);
            looked.add(&sample);
            *slot = Some(sample);
        }
    }
    let wanted = |row: &model::SourceSpec| shared.reads(row);
    loop {
        let mut rows = SOURCES.iter().zip(&first);
        let until = if rows.any(|(row, slot)| wanted(row) && slot.is_none()) {
            patient_until.max(look_until)
        } else {
            look_until
        };
        let Some(left) = until.checked_duration_since(Instant::now()) else {
            break;
        };
        let Ok(sample) = samples.recv_timeout(left) else {
            break;
        };
        for sample in quiet.take().into_iter().chain([sample]) {
            looked.add(&sample);
            let mut rows = SOURCES.iter().zip(&mut first);
            if let Some((_, slot)) = rows.find(|(row, _)| row.name == sample.source) {
                slot.get_or_insert(sample);
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
    if !shared.is_elsewhere() {
        let pid = shared.process().map(|process| process.pid);
        let surroundings = surroundings::look(pid, &looked.facts);
        looked.facts.extend(surroundings.facts);
        for absent in surroundings.absent {
            looked.add_absent(clock.now(), &absent);
        }
    }
    let window = Window {
        from: 0,
        to: clock.now(),
    };
    looked.stacks = stacks.name(stacks.evidence(window));
    looked.took_ms = clock.now();
    looked.checked = SOURCES
        .iter()
        .zip(first)
        .filter(|(row, sample)| wanted(row) || sample.is_some())
        .map(|(source, sample)| checked(source.name, sample, patience))
        .collect();
    Ok(looked)
}

impl ServerCheck {
    fn add(&mut self, sample: &Sample) {
        self.timeline.push(sample);
        match &sample.outcome {
            Ok(taken) => {
                for fact in &taken.facts {
                    self.facts.insert(fact.name.clone(), fact.value.clone());
                }
                for text in &taken.texts {
                    if text.kind() == TextKind::Processlist {
                        self.processlist = Some(text.body().to_owned());
                    }
                }
                for absent in &taken.absent {
                    self.add_absent(sample.at, absent);
                }
            }
            Err(absent) => self.add_absent(sample.at, absent),
        }
    }

    fn add_absent(&mut self, at: model::Millis, absent: &Absent) {
        match self.absent.iter_mut().find(|known| known.absent == *absent) {
            Some(known) => {
                known.last = at;
                known.count += 1;
            }
            None => self.absent.push(TimedAbsent {
                first: at,
                last: at,
                count: 1,
                absent: absent.clone(),
            }),
        }
    }
}

fn checked(source: &'static str, sample: Option<Sample>, patience: Duration) -> SourceCheck {
    let Some(sample) = sample else {
        let detail = format!("no answer within {:.1} s", patience.as_secs_f64());
        return SourceCheck {
            source,
            taken: false,
            signals: 0,
            took_ms: patience.as_secs_f64() * 1000.0,
            absent: vec![Absent::new(source, Reason::Deadline, detail)],
        };
    };
    let took_ms = sample.took_us as f64 / 1000.0;
    match sample.outcome {
        Ok(taken) => SourceCheck {
            source,
            taken: !(taken.readings.is_empty() && taken.facts.is_empty() && taken.texts.is_empty()),
            signals: taken.readings.len(),
            took_ms,
            absent: taken.absent,
        },
        Err(absent) => SourceCheck {
            source,
            taken: false,
            signals: 0,
            took_ms,
            absent: vec![absent],
        },
    }
}
