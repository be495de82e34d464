//! From what pieces tell to one incident.

use std::collections::BTreeMap;

use model::{
    Absent, Clock, Incident, LockTable, Method, Millis, Profile, ProfileCount, Server,
    SnapshotNote, StackBook, StackEvidence, StackId, Stall, ThreadAt, ThreadRun, ThreadSnapshot,
    TimedAbsent, TimedFact, TimedText, Timeline, Trigger, Window,
};
use stacks::locks::{LockSymbols, Observed, sampled_table};

use crate::clean;
use crate::kind::Kind;
use crate::read::{self, Listing, Read, Snapshot, THREADS_MAX, doing};
use crate::split::{Piece, split};
use crate::{INPUT_BYTES_MAX, Input, Part, beside, part, shell};

/// What was made of some captures.
#[derive(Debug, Clone)]
pub struct Imported {
    /// The incident; absent when nothing was recognised.
    pub incident: Option<Incident>,
    /// What was recognised, by input and line, and what was not.
    pub parts: Vec<Part>,
}

/// Where evidence stands that tells no time, in milliseconds from the begin of the window.
const UNTIMED_AT: Millis = 1_000;

/// From the last evidence to the end of the window, in milliseconds.
const AFTER: Millis = 1_000;

/// Threads of all snapshots together that are kept: a line of pt-pmp's output stands for as many as
/// it says.
const THREADS_ALL_MAX: usize = 400_000;

/// Captures of the same thing without a time that are kept.
const SAME_MOMENT_MAX: usize = 200;

/// Longest time that captures of one stall may be apart, in milliseconds; a time further off is
/// taken as not told.
const APART_MAX_MS: i64 = 6 * 3_600_000;

/// Makes an incident of captures that belong to one stall.
pub fn import(inputs: &[Input<'_>]) -> Imported {
    let mut parts = Vec::new();
    let mut all: Vec<Read> = Vec::new();
    let mut version = None;
    let sizes: Vec<usize> = inputs.iter().map(|input| input.bytes.len()).collect();
    let each = beside::each(&sizes, |index| {
        let mut one = One::default();
        if let Some(input) = inputs.get(index) {
            one.take(input, inputs);
        }
        one
    });
    for one in each {
        parts.extend(one.parts);
        all.extend(one.reads);
        version = version.or(one.version);
    }
    if all.is_empty() {
        return Imported {
            incident: None,
            parts,
        };
    }
    let label = inputs.first().map_or("-", |input| input.path);
    Imported {
        incident: Some(assemble(all, version, label)),
        parts,
    }
}

/// What one input told.
#[derive(Default)]
struct One {
    parts: Vec<Part>,
    reads: Vec<Read>,
    version: Option<String>,
}

impl One {
    fn take(&mut self, input: &Input<'_>, inputs: &[Input<'_>]) {
        let begin = input
            .bytes
            .get(..input.bytes.len().min(64))
            .unwrap_or_default();
        let others = inputs.iter().map(|other| other.path);
        if shell::is_twin(input.path, &String::from_utf8_lossy(begin), others) {
            self.parts.push(Part {
                path: input.path.to_owned(),
                kind: "table of MySQL Shell".to_owned(),
                lines: None,
                brought: String::new(),
                skipped: Some("the same table is there as .tsv".to_owned()),
            });
            return;
        }
        one(input, &mut self.parts, &mut self.reads, &mut self.version);
    }
}

fn one(
    input: &Input<'_>,
    parts: &mut Vec<Part>,
    all: &mut Vec<Read>,
    version: &mut Option<String>,
) {
    let skipped = |lines, kind: &str, why: String| Part {
        path: input.path.to_owned(),
        kind: kind.to_owned(),
        lines,
        brought: String::new(),
        skipped: Some(why),
    };
    let head = input
        .bytes
        .get(..input.bytes.len().min(8 << 10))
        .unwrap_or_default();
    if input.bytes.is_empty() {
        parts.push(skipped(None, "nothing", "it is empty".to_owned()));
        return;
    }
    if is_binary(head)
        && let Some(read) = read::pprof(input.bytes)
    {
        whole("pprof profile", read, input, parts, all);
        return;
    }
    if head.contains(&0) {
        parts.push(skipped(None, "unknown", "it is no text".to_owned()));
        return;
    }
    let bytes = input
        .bytes
        .get(..input.bytes.len().min(INPUT_BYTES_MAX))
        .unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    let text = shell::as_printed(clean::with_lines(&text));
    let lines = clean::lines(&text);
    let mut covered = 0;
    let pieces = split(&lines);
    for Piece { kind, from, to } in pieces.iter().copied() {
        let piece = lines.get(from..to).unwrap_or_default();
        let number = |line: Option<&clean::Line<'_>>| line.map_or(0, |line| line.number);
        let range = (number(piece.first()), number(piece.last()));
        covered += piece.len();
        if matches!(kind, Kind::Backtrace | Kind::ServerText) {
            *version = version.take().or_else(|| read::version(piece));
        }
        let read = read::read(kind, piece);
        let what = read.what.clone().unwrap_or_else(|| kind.name().to_owned());
        if read.is_empty() {
            let why = read.skipped.first().map_or_else(
                || "nothing in it could be read".to_owned(),
                |(_, why)| why.to_string(),
            );
            parts.push(skipped(Some(range), &what, why));
            continue;
        }
        parts.push(Part {
            path: input.path.to_owned(),
            kind: what,
            lines: Some(range),
            brought: read.brought.clone(),
            skipped: left_out(&read),
        });
        all.push(read);
    }
    if pieces.is_empty() {
        let count = lines.iter().filter(|line| !line.is_blank()).count();
        parts.push(skipped(
            Some((1, lines.len())),
            "unknown",
            format!(
                "nothing known in {count} lines of text: no stacks, listings, statuses or log lines"
            ),
        ));
    } else {
        let other = lines.len().saturating_sub(covered);
        let blank = lines.iter().filter(|line| line.is_blank()).count();
        if other > blank + 2 {
            parts.push(skipped(
                None,
                "text around it",
                format!(
                    "{} lines are none of the formats that are known",
                    other.saturating_sub(blank)
                ),
            ));
        }
    }
    if bytes.len() < input.bytes.len() {
        parts.push(skipped(
            None,
            "unknown",
            format!("bytes over {INPUT_BYTES_MAX} were not read"),
        ));
    }
}

/// Holds bytes that no text has.
fn is_binary(head: &[u8]) -> bool {
    head.iter()
        .any(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31))
}

/// An input that is one thing as a whole and has no lines.
fn whole(kind: &str, read: Read, input: &Input<'_>, parts: &mut Vec<Part>, all: &mut Vec<Read>) {
    parts.push(Part {
        path: input.path.to_owned(),
        kind: kind.to_owned(),
        lines: None,
        brought: read.brought.clone(),
        skipped: left_out(&read),
    });
    if !read.is_empty() {
        all.push(read);
    }
}

/// What a reader passed over, in one sentence.
fn left_out(read: &Read) -> Option<String> {
    let (line, why) = read.skipped.first()?;
    let more = read.skipped.len().saturating_sub(1);
    let place = if *line > 0 {
        format!("line {line}: ")
    } else {
        String::new()
    };
    let more = if more > 0 {
        format!(" (and {more} more)")
    } else {
        String::new()
    };
    Some(format!("{place}{why}{more}"))
}

/// Moments of captures as moments of the incident.
struct Times {
    zero: Option<i64>,
}

impl Times {
    fn new(reads: &[Read]) -> Self {
        let mut told: Vec<i64> = reads
            .iter()
            .flat_map(|read| {
                let ticks = read.ticks.iter().filter_map(|tick| tick.at);
                let texts = read.texts.iter().filter_map(|(at, _)| *at);
                let snapshots = read.snapshots.iter().filter_map(|snapshot| snapshot.at);
                ticks.chain(texts).chain(snapshots)
            })
            .collect();
        told.sort_unstable();
        // What is far from most is of another day.
        let middle = told.get(told.len() / 2).copied();
        let zero = middle.and_then(|middle| {
            told.iter()
                .copied()
                .find(|at| middle.saturating_sub(*at) <= APART_MAX_MS)
        });
        Self { zero }
    }

    fn of(&self, at: Option<i64>, after: u64) -> Millis {
        let told = at.zip(self.zero).and_then(|(at, zero)| {
            let since = at.checked_sub(zero)?;
            (0..=APART_MAX_MS).contains(&since).then_some(since as u64)
        });
        let apart = u64::try_from(APART_MAX_MS).unwrap_or(u64::MAX);
        UNTIMED_AT.saturating_add(told.unwrap_or(after.min(apart)))
    }
}

fn assemble(reads: Vec<Read>, version: Option<String>, label: &str) -> Incident {
    let times = Times::new(&reads);
    let mut evidence = StackEvidence::default();
    let mut snapshots: Vec<ThreadSnapshot> = Vec::new();
    let mut texts: Vec<TimedText> = Vec::new();
    let mut facts: Vec<TimedFact> = Vec::new();
    let mut ticks: BTreeMap<(Millis, &'static str), Vec<model::Reading>> = BTreeMap::new();
    let mut listings: Vec<Listing> = Vec::new();
    for read in reads {
        for tick in read.ticks {
            add_tick(
                &mut ticks,
                times.of(tick.at, tick.after),
                tick.source,
                tick.readings,
            );
        }
        for (at, text) in read.texts {
            texts.push(TimedText {
                at: times.of(at, 0),
                text,
            });
        }
        facts.extend(read.facts.into_iter().map(|fact| TimedFact { at: 0, fact }));
        for snapshot in read.snapshots {
            let same = snapshot.at.is_none() && is_same_moment(&snapshot, snapshots.last());
            let at = match snapshots.last() {
                Some(last) if same => last.at,
                _ => times.of(snapshot.at, snapshots.len() as u64 * 1000),
            };
            add_snapshot(snapshot, at, same, &mut evidence, &mut snapshots);
        }
        listings.extend(read.listings);
    }
    texts.sort_by_key(|text| text.at);
    if let Some(version) = version
        && !facts
            .iter()
            .any(|timed| timed.fact.name == "variables.version")
    {
        facts.push(TimedFact {
            at: 0,
            fact: model::Fact::new("variables.version", version),
        });
    }
    let mut timeline = Timeline::default();
    for ((at, source), readings) in &ticks {
        timeline.push_readings(source, *at, readings);
    }
    let last = [
        ticks.keys().map(|(at, _)| *at).max(),
        texts.iter().map(|text| text.at).max(),
        snapshots.iter().map(|snapshot| snapshot.at).max(),
    ]
    .into_iter()
    .flatten()
    .max()
    .unwrap_or(UNTIMED_AT);
    let window = Window {
        from: 0,
        to: last.saturating_add(AFTER),
    };
    runs(&snapshots, &mut evidence);
    if !snapshots.is_empty() {
        let table: LockTable = sampled_table(
            &Observed {
                book: &evidence.book,
                snapshots: &snapshots,
            },
            &LockSymbols::default(),
        );
        evidence.locks.push(table);
    }
    profiles(listings, window, &mut evidence);
    let version = facts
        .iter()
        .find(|timed| timed.fact.name == "variables.version")
        .map_or_else(String::new, |timed| timed.fact.value.clone());
    let mut incident = Incident {
        id: format!("imported-{}", name_of(label)),
        host: String::new(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        server: Server {
            label: name_of(label),
            version,
            pid: None,
            address: String::new(),
        },
        clock: Clock {
            // 0 where no capture tells a time.
            wall_at_zero_ms: times
                .zero
                .map_or(0, |zero| zero.saturating_sub(UNTIMED_AT as i64)),
            boot_id: String::new(),
        },
        stall: Stall {
            onset: 0,
            trigger: UNTIMED_AT,
            end: None,
            triggers: vec![Trigger {
                rule: "imported".to_owned(),
                says: "captured by other tools, in a stall as far as is known".to_owned(),
            }],
        },
        window,
        timeline,
        texts,
        facts,
        stacks: evidence,
        queries: Vec::new(),
        absent: Vec::new(),
    };
    incident.facts.extend(
        crate::part::of(&incident)
            .into_iter()
            .map(|fact| TimedFact { at: 0, fact }),
    );
    incident.absent = crate::absent::of(&incident)
        .into_iter()
        .map(|absent: Absent| TimedAbsent {
            first: 0,
            last: window.to,
            count: 1,
            absent,
        })
        .collect();
    incident
}

/// Adds readings at a moment. The same signals at the same moment are from two captures that tell
/// no time: the second one is put behind the first.
fn add_tick(
    ticks: &mut BTreeMap<(Millis, &'static str), Vec<model::Reading>>,
    mut at: Millis,
    source: &'static str,
    readings: Vec<model::Reading>,
) {
    for _ in 0..SAME_MOMENT_MAX {
        let there = ticks.entry((at, source)).or_default();
        let is_free = !there
            .iter()
            .any(|one| readings.iter().any(|new| new.name == one.name));
        if is_free {
            there.extend(readings);
            return;
        }
        at = at.saturating_add(AFTER);
    }
}

/// The file's name without its folder, for people.
fn name_of(path: &str) -> String {
    let name = path
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(path);
    if name.is_empty() || name == "-" {
        "stdin".to_owned()
    } else {
        name.to_owned()
    }
}

/// Threads that are shown one by one, with text between them, are of one moment: of two captures of
/// a server at least one thread is in both.
fn is_same_moment(snapshot: &Snapshot, last: Option<&ThreadSnapshot>) -> bool {
    let Some(last) = last else {
        return false;
    };
    let is_there = |tid: u32| last.threads.iter().any(|thread| thread.tid == tid);
    let few = |count: usize| count < part::THREADS_MIN as usize;
    let threads = &snapshot.threads;
    let shown: usize = threads.iter().map(|thread| thread.count as usize).sum();
    few(shown)
        && few(last.threads.len())
        && !threads.iter().filter_map(|thread| thread.tid).any(is_there)
}

fn add_snapshot(
    snapshot: Snapshot,
    at: Millis,
    same: bool,
    evidence: &mut StackEvidence,
    snapshots: &mut Vec<ThreadSnapshot>,
) {
    let before = match same {
        true => snapshots.pop().zip(evidence.snapshots.pop()),
        false => None,
    };
    let kept: usize = snapshots
        .iter()
        .map(|snapshot| snapshot.threads.len())
        .sum();
    let room = THREADS_ALL_MAX.saturating_sub(kept);
    let (mut threads, mut complete) = before.map_or((Vec::new(), 0), |(snapshot, note)| {
        (snapshot.threads, note.complete)
    });
    let mut next: u32 = u32::try_from(threads.len())
        .unwrap_or(u32::MAX)
        .saturating_add(1);
    for thread in snapshot.threads {
        let (state, syscall) = doing(&thread.frames);
        let is_complete = thread.end.is_complete();
        let stack = evidence.book.intern(thread.frames, thread.end);
        for _ in 0..thread.count {
            if threads.len() >= THREADS_MAX.min(room) {
                break;
            }
            complete += u32::from(is_complete);
            threads.push(ThreadAt {
                tid: thread.tid.unwrap_or(next),
                name: if thread.name.is_empty() {
                    "mysqld".to_owned()
                } else {
                    thread.name.clone()
                },
                state,
                syscall: syscall.clone(),
                stack,
                switches: 0,
                sampled: false,
            });
            next = next.saturating_add(1);
        }
    }
    evidence.snapshots.push(SnapshotNote {
        at,
        method: Method::Ptrace,
        wall_us: 0,
        stopped_us: 0,
        threads: u32::try_from(threads.len()).unwrap_or(u32::MAX),
        complete,
    });
    snapshots.push(ThreadSnapshot {
        at,
        method: Method::Ptrace,
        wall_us: 0,
        stopped_us: 0,
        threads,
        left_out: 0,
    });
}

/// What each thread did, one run a snapshot: whether it moved between two is not known.
fn runs(snapshots: &[ThreadSnapshot], evidence: &mut StackEvidence) {
    for snapshot in snapshots {
        evidence
            .runs
            .extend(snapshot.threads.iter().map(|thread| ThreadRun {
                tid: thread.tid,
                name: thread.name.clone(),
                from: snapshot.at,
                to: snapshot.at,
                snapshots: 1,
                unmoved: false,
                state: thread.state,
                syscall: thread.syscall.clone(),
                stack: thread.stack,
            }));
    }
    evidence.runs.sort_by_key(|run| run.from);
}

/// Listings have no times: all tell of the window as a whole, and without a rate (`hz` 0) where it
/// is not told how long they took.
fn profiles(listings: Vec<Listing>, window: Window, evidence: &mut StackEvidence) {
    for listing in listings {
        let samples: u64 = listing
            .rows
            .iter()
            .map(|row| row.count)
            .fold(0, u64::saturating_add);
        let length = window.to.saturating_sub(window.from).max(1);
        // As many samples as were taken in that time, laid over the window.
        let hz = listing.seconds.map_or(0, |_| {
            (samples as f64 * 1000.0 / length as f64).clamp(1.0, 1e6) as u32
        });
        let counts = listing
            .rows
            .into_iter()
            .map(|row| ProfileCount {
                stack: intern(&mut evidence.book, row.frames),
                thread: row.thread,
                server: row.server,
                count: row.count,
            })
            .collect();
        evidence.profiles.push(Profile {
            from: window.from,
            to: window.to,
            hz,
            processors: 1,
            counts,
            lost: 0,
        });
    }
}

fn intern(book: &mut StackBook, frames: Vec<model::Frame>) -> StackId {
    let end = read::end_of(&frames, false);
    book.intern(frames, end)
}
