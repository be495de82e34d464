//! Signs that look at where the server's threads stood.

use model::{Millis, Window};

use super::{Judged, Outcome, Seen, absent, conditional, judge, windows};
use crate::catalogue::{STACKS, Sign};
use crate::deep::{StacksCounting, StacksTest};
use crate::evaluate::{self, Truth};
use crate::evidence::{Capture, Evidence};
use crate::human::Show;
use crate::names::NamePattern;
use crate::runs::RunSeen;
use crate::template::Filling;
use crate::verdict::Witness;

/// Snapshots before the onset that are something to compare with, at the least.
const BASELINE_SNAPSHOTS_MIN: usize = 3;

pub(super) fn test(sign: &Sign, test: &StacksTest, evidence: &Evidence) -> Outcome {
    let counts = counts(test, evidence);
    let moments: Vec<Millis> = counts.0.iter().map(|one| one.at).collect();
    let windows = evidence.judged(windows(test.over, evidence), &moments);
    let truths = evaluate::truths(&test.only_if, evidence.incident, &windows);
    let seen = windows
        .into_iter()
        .zip(truths)
        .map(|(window, truth)| see(test, &counts, window, truth))
        .collect();
    let baseline = evidence.baseline.and_then(|window| {
        let inside = counts.inside(window);
        let enough = inside.len() >= BASELINE_SNAPSHOTS_MIN;
        enough.then(|| average(test, inside)).flatten()
    });
    let (what, show) = what(test);
    let is_part = test.counting == StacksCounting::Threads && evidence.is_part(Capture::Stacks);
    let limits = match is_part {
        true => evidence.limits(&test.limits, Capture::Stacks),
        false => test.limits,
    };
    let (value, limit) = match judge(&limits, test.over, seen, baseline, &what, show) {
        Judged::Holds { value, limit } => (value, limit),
        Judged::Not(text) => return Outcome::Not(text),
        Judged::Unknown(names) => return Outcome::Unknown(names),
    };
    let filling = Filling {
        text: None,
        value: Some(value),
        baseline,
        limit: Some(limit),
        each: None,
    };
    Outcome::Holds(Witness {
        id: sign.id.clone(),
        source: sign.source(),
        says: sign.says.render(&filling, show),
        value: Some(value),
        baseline,
        limit: Some(limit),
        signals: Vec::new(),
        conclusive: sign.conclusive && !is_part,
    })
}

/// Every snapshot's number with its moment.
pub(crate) fn numbers(test: &StacksTest, evidence: &Evidence) -> Vec<(Millis, f64)> {
    let counts = counts(test, evidence);
    let snapshots = counts.0.iter();
    snapshots
        .filter_map(|one| Some((one.at, average(test, std::slice::from_ref(one))?)))
        .collect()
}

/// What is counted, in words.
pub(crate) fn what(test: &StacksTest) -> (String, Show) {
    let (what, show) = match test.counting {
        StacksCounting::Share => ("the share of threads", Show::Percent),
        StacksCounting::Threads => ("the number of threads", Show::Count),
    };
    let frames: Vec<String> = test.frames.iter().map(NamePattern::short).collect();
    let what = match (frames.is_empty(), test.state) {
        (true, Some(state)) => format!("{what} that were {}", state.words()),
        _ => format!("{what} in /{}/", frames.join("/ under /")),
    };
    (what, show)
}

/// What one snapshot shows.
struct Snapshot {
    at: Millis,
    threads: u32,
    matching: i64,
}

struct Counts(Vec<Snapshot>);

impl Counts {
    fn inside(&self, window: Window) -> &[Snapshot] {
        let from = self.0.partition_point(|one| one.at < window.from);
        let to = self.0.partition_point(|one| one.at <= window.to);
        self.0.get(from..to).unwrap_or_default()
    }
}

/// Each run is added where it begins and taken off behind its end.
fn counts(test: &StacksTest, evidence: &Evidence) -> Counts {
    let runs = evidence.runs();
    let snapshots = runs.snapshots.iter();
    let mut snapshots: Vec<Snapshot> = snapshots
        .map(|(at, threads)| Snapshot {
            at: *at,
            threads: *threads,
            matching: 0,
        })
        .collect();
    let mut add = |seen: &RunSeen| {
        let matches = runs.run(seen).is_some_and(|run| {
            test.state.is_none_or(|state| run.state == state)
                && (test.thread.as_ref()).is_none_or(|thread| thread.is_match(&run.name))
        });
        if !matches {
            return;
        }
        if let Some(first) = snapshots.get_mut(seen.from as usize) {
            first.matching += 1;
        }
        if let Some(next) = snapshots.get_mut(seen.behind as usize) {
            next.matching -= 1;
        }
    };
    let path = evidence.frames.path(&test.frames).direct(test.direct);
    match path.stacks() {
        Some(stacks) => stacks.flat_map(|stack| runs.of(stack)).for_each(&mut add),
        None => runs.all().iter().for_each(&mut add),
    }
    let mut sum = 0;
    for one in &mut snapshots {
        sum += one.matching;
        one.matching = sum;
    }
    Counts(snapshots)
}

fn see(test: &StacksTest, counts: &Counts, window: Window, truth: Truth) -> Seen {
    let inside = counts.inside(window);
    if inside.is_empty() {
        return absent(STACKS);
    }
    let Some(number) = average(test, inside) else {
        return Seen::Nothing;
    };
    conditional(number, truth)
}

fn average(test: &StacksTest, inside: &[Snapshot]) -> Option<f64> {
    let matching: i64 = inside.iter().map(|one| one.matching).sum();
    let of = match test.counting {
        StacksCounting::Threads => inside.len() as f64,
        StacksCounting::Share => inside.iter().map(|one| f64::from(one.threads)).sum(),
    };
    (of > 0.0).then(|| matching as f64 / of)
}
