//! Reads recordings.

use std::io::Read;
use std::path::{Path, PathBuf};

use model::{Fact, Millis, Reading, Sample, SourceData, Unit};
use serde_json::Value;

/// Sources of the recorder that the detector judges by.
const SOURCES: [&str; 10] = [
    "accept-queue",
    "cgroup",
    "connect-probe",
    "connections",
    "process",
    "processlist",
    "query-probe",
    "stat",
    "status",
    "threads",
];

/// Around a felt or slow stretch something may be told, milliseconds.
const SLACK_MS: Millis = 1500;

/// What the clients felt.
#[derive(Debug, Clone, Copy)]
pub struct Felt {
    pub from: Millis,
    pub to: Millis,
    pub earliest: Millis,
    pub latest: Millis,
    pub share: f64,
}

/// What the recorder saw of one server.
#[derive(Debug)]
pub struct Recording {
    pub name: String,
    /// What was done, and what was felt of it.
    pub stalls: Vec<(String, Option<Felt>)>,
    /// When something may be told.
    around: Vec<(Millis, Millis)>,
    pub samples: Vec<Sample>,
}

impl Recording {
    /// Something told of this onset and trigger is of what was done or felt.
    pub fn excuses(&self, onset: Millis, trigger: Millis) -> bool {
        self.around.iter().any(|(from, to)| {
            let near = from.saturating_sub(SLACK_MS)..=to + SLACK_MS;
            near.contains(&onset) || near.contains(&trigger)
        })
    }

    /// How long it is, milliseconds.
    pub fn length(&self) -> Millis {
        let ends = self.samples.first().zip(self.samples.last());
        ends.map_or(0, |(first, last)| last.at - first.at)
    }

    /// The values of a signal, in their order.
    pub fn values(&self, name: &str) -> Vec<f64> {
        let samples = self.samples.iter();
        samples.filter_map(|sample| sample.value(name)).collect()
    }
}

/// Names a directory whose recordings are read in place of the committed ones.
pub const OF_DIRECTORY: &str = "FREEZEFRAME_RECORDINGS";

/// All recordings: those that are committed, or those of the directory [`OF_DIRECTORY`].
pub fn all() -> Vec<Recording> {
    match std::env::var_os(OF_DIRECTORY) {
        Some(dir) => of_directory(Path::new(&dir)),
        None => of_directory(&committed()),
    }
}

/// Servers whose clients were not greeted, because the names of clients were not told.
#[allow(dead_code, reason = "not every test that reads recordings asks for it")]
pub fn slow_names() -> Vec<Recording> {
    of_directory(&committed().join("slow_names"))
}

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded")
}

fn of_directory(dir: &Path) -> Vec<Recording> {
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|end| end == "gz" || end == "jsonl")
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no recordings");
    files.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Recording {
    let mut text = String::new();
    let mut file = std::fs::File::open(path).unwrap();
    if path.extension().is_some_and(|end| end == "gz") {
        flate2::read::GzDecoder::new(file)
            .read_to_string(&mut text)
            .unwrap();
    } else {
        file.read_to_string(&mut text).unwrap();
    }
    let mut lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let head = lines.next().unwrap();
    let mut recording = Recording {
        name: format!(
            "{} ({})",
            head["recording"].as_str().unwrap(),
            path.display()
        ),
        stalls: Vec::new(),
        around: pairs(&head["slow"]),
        samples: Vec::new(),
    };
    for stall in head["stalls"].as_array().unwrap() {
        recording.around.push(pair(&stall["done"]));
        let felt = &stall["felt"];
        let felt = felt.is_object().then(|| Felt {
            from: ms(&felt["from"]),
            to: ms(&felt["to"]),
            earliest: ms(&felt["earliest"]),
            latest: ms(&felt["latest"]),
            share: felt["share"].as_f64().unwrap(),
        });
        recording
            .around
            .extend(felt.map(|felt| (felt.from, felt.to)));
        let what = stall["what"].as_str().unwrap().to_owned();
        recording.stalls.push((what, felt));
    }
    let mut names: Vec<(&'static str, Vec<String>)> = Vec::new();
    for line in lines {
        if let Some(source) = line["source"].as_str() {
            let own = line["names"].as_array().unwrap().iter();
            let own = own.map(|name| name.as_str().unwrap().to_owned());
            names.push((known(source), own.collect()));
        } else if let Some(name) = line["name"].as_str() {
            let fact = Fact::new(name.to_owned(), line["value"].as_str().unwrap().to_owned());
            recording
                .samples
                .push(sample("recorder", ms(&line["at"]), Vec::new(), vec![fact]));
        } else {
            let source = known(line[1].as_str().unwrap());
            let (_, own) = names.iter().find(|(name, _)| *name == source).unwrap();
            let values = line[2].as_array().unwrap().iter();
            let readings = own.iter().zip(values).filter_map(|(name, value)| {
                let value = value.as_f64()?;
                Some(Reading::gauge(name.clone(), Unit::Count, value))
            });
            recording
                .samples
                .push(sample(source, ms(&line[0]), readings.collect(), Vec::new()));
        }
    }
    recording
}

fn sample(source: &'static str, at: Millis, readings: Vec<Reading>, facts: Vec<Fact>) -> Sample {
    Sample {
        source,
        at,
        took_us: 0,
        outcome: Ok(SourceData {
            readings,
            facts,
            ..SourceData::default()
        }),
    }
}

fn known(source: &str) -> &'static str {
    let mut all = SOURCES.iter().chain(&["recorder"]);
    all.find(|known| **known == source)
        .unwrap_or_else(|| panic!("unknown source {source}"))
}

fn ms(value: &Value) -> Millis {
    value.as_i64().unwrap().max(0) as Millis
}

fn pair(value: &Value) -> (Millis, Millis) {
    (ms(&value[0]), ms(&value[1]))
}

fn pairs(value: &Value) -> Vec<(Millis, Millis)> {
    value.as_array().unwrap().iter().map(pair).collect()
}
