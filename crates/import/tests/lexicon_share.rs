//! How much the lexicon knows of what captures hold: functions on stacks and in profiles, states of sessions, latches and
//! places of waits, instruments, lines of the server's log and of the kernel's, each as often as it was seen.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    reason = "clippy does not see that helpers of tests are test code"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::common::READ;
use import::{Input, import};
use lexicon::{Kind, Lexicon};
use model::{Incident, ProcessList, SemaphoreWait, TextKind};

/// The share that the lexicon must know of each kind, by weight. What is missing in logs are mostly lines whose words were
/// taken out as somebody's.
const FLOORS: [(&str, f64); 6] = [
    ("functions", 0.95),
    ("states", 0.95),
    ("latches and places", 0.95),
    ("instruments", 0.95),
    ("lines of the error log", 0.95),
    ("lines of the kernel log", 0.97),
];

/// Unknown names that are told of each kind.
const UNKNOWN_MAX: usize = 12;

/// Known and seen in all, and how often each was seen that is not known.
#[derive(Default)]
struct Share {
    known: f64,
    all: f64,
    unknown: BTreeMap<String, f64>,
}

impl Share {
    fn add(&mut self, name: &str, weight: f64, kinds: &[Kind]) {
        let lexicon = Lexicon::get();
        self.all += weight;
        match kinds
            .iter()
            .any(|kind| lexicon.lookup(*kind, name).is_some())
        {
            true => self.known += weight,
            false => *self.unknown.entry(name.to_owned()).or_default() += weight,
        }
    }
}

type Shares = BTreeMap<&'static str, Share>;

fn add(shares: &mut Shares, kind: &'static str, name: &str, weight: f64, kinds: &[Kind]) {
    shares.entry(kind).or_default().add(name, weight, kinds);
}

fn functions(incident: &Incident, shares: &mut Shares) {
    let mut stacks: BTreeMap<u32, f64> = BTreeMap::new();
    for run in &incident.stacks.runs {
        *stacks.entry(run.stack.0).or_default() += f64::from(run.snapshots.max(1));
    }
    // One capture's many samples are no more than another's few threads.
    for profile in &incident.stacks.profiles {
        let all: u64 = profile.counts.iter().map(|row| row.count).sum();
        for row in &profile.counts {
            *stacks.entry(row.stack.0).or_default() += 100.0 * row.count as f64 / all.max(1) as f64;
        }
    }
    for (number, weight) in stacks {
        let stack = incident.stacks.table.stack(model::StackId(number));
        for id in &stack.frames {
            let Some(frame) = incident.stacks.table.frame(*id) else {
                continue;
            };
            let is_name = frame.nameless.is_none()
                && frame
                    .name
                    .starts_with(|c: char| c.is_alphabetic() || c == '_')
                && !frame.name.contains("+0x");
            if is_name {
                add(shares, "functions", &frame.name, weight, &[Kind::Function]);
            }
        }
    }
}

fn texts(incident: &Incident, shares: &mut Shares) {
    const LINES: [Kind; 5] = [
        Kind::Message,
        Kind::ClientError,
        Kind::KernelLine,
        Kind::InnodbWord,
        Kind::State,
    ];
    for text in incident.texts.iter().map(|timed| &timed.text) {
        match text.kind() {
            TextKind::Processlist => {
                let list: ProcessList = serde_json::from_str(text.body()).unwrap_or_default();
                for (state, count) in list.by_state.iter().filter(|(state, _)| !state.is_empty()) {
                    add(shares, "states", state, *count as f64, &[Kind::State]);
                }
            }
            TextKind::Semaphores => {
                let waits: Vec<SemaphoreWait> =
                    serde_json::from_str(text.body()).unwrap_or_default();
                for wait in waits {
                    let latch = wait.lock_name.as_deref();
                    // Older servers print the path where they were built.
                    let file = wait.file.rsplit('/').next().unwrap_or_default();
                    let name = latch.unwrap_or(file);
                    let kinds = [Kind::Latch, Kind::Place];
                    add(shares, "latches and places", name, 1.0, &kinds);
                }
            }
            TextKind::ErrorLog => {
                for line in text.body().lines().filter(|line| line.len() > 30) {
                    add(shares, "lines of the error log", line, 1.0, &LINES);
                }
            }
            TextKind::KernelLog => {
                for line in text.body().lines().filter(|line| line.len() > 20) {
                    let kinds = [Kind::KernelLine, Kind::Message, Kind::Function];
                    add(shares, "lines of the kernel log", line, 1.0, &kinds);
                }
            }
            _ => {}
        }
    }
}

fn instruments(text: &str, shares: &mut Shares) {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_/:.".contains(c);
    for token in text.split(|c: char| !is_of_name(c)) {
        let begins = ["wait/", "stage/", "synch/", "statement/", "memory/"];
        if begins.iter().any(|begin| token.starts_with(begin)) && token.matches('/').count() > 1 {
            let token = token.trim_end_matches(['.', ':', '/']);
            add(
                shares,
                "instruments",
                token,
                1.0,
                &[Kind::Instrument, Kind::State],
            );
        }
    }
}

/// A folder with other captures, such as exported incidents of the lab, whose share is told and must be as high.
const OTHERS: &str = "FREEZEFRAME_LEXICON_CAPTURES";

/// All files of a folder and of those in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let all = paths.flat_map(|path| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    });
    all.collect()
}

/// Counts what one capture holds.
fn count(bytes: &[u8], incident: Option<&Incident>, shares: &mut Shares) {
    if let Some(incident) = incident {
        functions(incident, shares);
        texts(incident, shares);
    }
    instruments(&String::from_utf8_lossy(bytes), shares);
}

#[test]
fn nearly_all_that_captures_hold_has_a_meaning() {
    let mut shares = Shares::new();
    let mut to_work_on = Shares::new();
    if let Some(others) = std::env::var_os(OTHERS) {
        for path in files(Path::new(&others)) {
            let bytes = std::fs::read(&path).unwrap();
            let path = path.to_string_lossy();
            let input = Input {
                path: &path,
                bytes: &bytes,
            };
            let incident = import(&[input]).incident;
            count(&bytes, incident.as_ref(), &mut shares);
            count(&bytes, incident.as_ref(), &mut to_work_on);
        }
    } else {
        for (capture, incident) in READ.iter() {
            let bytes = capture.bytes();
            count(&bytes, incident.as_ref(), &mut shares);
            // The half that may be looked at while words are added.
            if !capture.is_of_the_check_half() {
                count(&bytes, incident.as_ref(), &mut to_work_on);
            }
        }
    }
    let mut wrong = Vec::new();
    for (kind, floor) in FLOORS {
        let share = shares.entry(kind).or_default();
        let known = share.known / share.all.max(1.0);
        eprintln!("{kind}: {:.1} % of {:.0} known", 100.0 * known, share.all);
        // Others need not have each kind.
        let is_expected = share.all > 0.0 || std::env::var_os(OTHERS).is_none();
        if is_expected && known < floor {
            wrong.push(format!("{kind}: {known:.3} is below {floor}"));
        }
        let unknown = &to_work_on.entry(kind).or_default().unknown;
        let mut unknown: Vec<(&String, &f64)> = unknown.iter().collect();
        unknown.sort_by(|left, right| right.1.total_cmp(left.1));
        for (name, weight) in unknown.into_iter().take(UNKNOWN_MAX) {
            eprintln!("    {weight:.0} {name}");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
