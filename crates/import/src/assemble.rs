//! From what sections tell to one incident.

use model::{
    Absent, Callers, Clock, Incident, LockTable, Mention, Millis, OrderBy, Profile, ProfileCount,
    Server, SnapshotMeta, SnapshotMethod, SnapshotThread, StackEvidence, StackId, StackTable,
    Stall, ThreadRun, ThreadSnapshot, TimedAbsent, TimedDigest, TimedFact, TimedText, Timeline,
    Trigger, Window,
};
use sql::log::LogKind;
use stacks::locks::{LockSymbols, Observed, sampled_table};

use crate::format::Format;
use crate::formats::{logs, opreport, perf_report, perf_script, plockstat, rows, sentences};
use crate::one_input::{OneInput, head};
use crate::read::Timestamp;
use crate::read::rows::Rows;
use crate::read::{self, Listing, Read, Row, Snapshot, THREADS_MAX, doing};
use crate::server_tables;
use crate::stall_span::{self, FOLLOWED_MIN};
use crate::ticks::{AFTER, Ticks};
use crate::timestamps::{Times, UNTIMED_AT};
use crate::vocabulary::Vocabulary;
use crate::{INPUT_BYTES_MAX, Input, Part, origins, parallel, part, timestamps};

/// What was made of some captures.
#[derive(Debug, Clone)]
pub struct Imported {
    /// The incident; absent when nothing was recognised.
    pub incident: Option<Incident>,
    /// What was recognised, by input and line, and what was not.
    pub parts: Vec<Part>,
}

/// Threads of all snapshots together that are kept: a line of pt-pmp's output stands for as many as
/// it says.
const THREADS_ALL_MAX: usize = 400_000;

/// How long before the first and after the last moment of other captures statements of a log belong
/// to the stall, in milliseconds: a slow statement is logged when it is over.
const LOG_AROUND_MS: i64 = 60_000;

/// Makes an incident of captures that belong to one stall.
pub fn import(inputs: &[Input<'_>]) -> Imported {
    let mut parts = Vec::new();
    let mut all: Vec<(&'static Format, Read)> = Vec::new();
    let mut version = None;
    let mut ahead_ms = None;
    let mut words = Vocabulary::default();
    let sizes: Vec<usize> = inputs.iter().map(|input| input.bytes.len()).collect();
    let each = parallel::each(&sizes, |index| {
        let mut one = OneInput::default();
        if let Some(input) = inputs.get(index) {
            one.take(input, inputs);
        }
        one
    });
    let mut logs: Vec<(&Input<'_>, LogKind)> = Vec::new();
    for (input, one) in inputs.iter().zip(each) {
        logs.extend(one.log.map(|kind| (input, kind)));
        parts.extend(one.parts);
        all.extend(one.reads);
        words.add(one.words);
        version = version.or(one.version);
        ahead_ms = ahead_ms.or(one.ahead_ms);
    }
    // What else was captured says which part of a log is of this stall.
    let around = Times::known(all.iter().map(|(_, read)| read));
    let around = around.first().zip(around.last());
    let around = around.map(|(first, last)| {
        (
            first.saturating_sub(LOG_AROUND_MS),
            last.saturating_add(LOG_AROUND_MS),
        )
    });
    if let Some((around, ahead_ms)) = around.zip(ahead_ms) {
        let dated = all.iter_mut().map(|(_, read)| read);
        dated.for_each(|read| timestamps::by_dates(read, around, ahead_ms));
    }
    for (input, kind) in logs {
        let read = logs::whole(kind, head(input, INPUT_BYTES_MAX), around);
        let mut one = OneInput::default();
        one.whole(input, logs::format_of(kind), read);
        parts.extend(one.parts);
        all.extend(one.reads);
    }
    if all.is_empty() {
        return Imported {
            incident: None,
            parts,
        };
    }
    without_twins(&mut all, &mut parts);
    let rows: Vec<Rows> = all
        .iter_mut()
        .flat_map(|(_, read)| std::mem::take(&mut read.rows))
        .collect();
    let mut book = StackTable::default();
    let joined = server_tables::join(&rows, &mut book);
    all.push((&rows::FORMAT, joined.read));
    origins::choose(&mut all);
    let label = inputs.first().map_or("-", |input| input.path);
    Imported {
        incident: Some(assemble(
            all.into_iter().map(|(_, read)| read).collect(),
            (book, joined.locks),
            version,
            (label, words.all()),
        )),
        parts,
    }
}

/// Our own export has its samples twice: as whole stacks, and by function for those who know opreport. Functions of
/// which it knows only how much they called stand in a perf report without samples of its own.
fn without_twins(all: &mut Vec<(&'static Format, Read)>, parts: &mut [Part]) {
    let total = |read: &Read| -> u64 {
        let rows = read.listings.iter().flat_map(|listing| &listing.rows);
        rows.map(|row| row.count).fold(0, u64::saturating_add)
    };
    let folded = all
        .iter()
        .filter(|(format, _)| **format == perf_script::FOLDED);
    let whole = folded
        .map(|(_, read)| total(read))
        .fold(0, u64::saturating_add);
    if whole == 0 {
        return;
    }
    let is_twin = |format: &Format, read: &Read| {
        let has_callers_only = || read.listings.iter().all(Listing::has_callers_only);
        (*format == opreport::FORMAT && total(read) == whole)
            || (*format == perf_report::FORMAT && !read.listings.is_empty() && has_callers_only())
    };
    let mut twins = Vec::new();
    all.retain_mut(|(format, read)| {
        let is_twin = is_twin(format, read);
        if is_twin {
            // A listing of shares is read as so many samples at the most, whatever it was made of.
            let all = total(read).max(1) as f64;
            let mut listings = std::mem::take(&mut read.listings);
            let rows = listings.iter_mut().flat_map(|listing| &mut listing.callers);
            rows.for_each(|row| row.count = (row.count as f64 * whole as f64 / all) as u64);
            twins.push((*format, listings));
        }
        !is_twin
    });
    let mut folded = all
        .iter_mut()
        .filter(|(format, _)| **format == perf_script::FOLDED);
    let folded = folded.find_map(|(_, read)| read.listings.first_mut());
    let callers = twins.iter_mut().flat_map(|(_, listings)| listings);
    if let Some(folded) = folded {
        folded
            .callers
            .extend(callers.flat_map(|listing| std::mem::take(&mut listing.callers)));
    }
    let was_opreport = twins.iter().any(|(format, _)| **format == opreport::FORMAT);
    for part in parts
        .iter_mut()
        .filter(|part| was_opreport && part.kind == opreport::FORMAT.name)
    {
        part.skipped = Some("as many samples as the folded stacks: they are the same".to_owned());
    }
}

/// `server` are the lock tables that the server itself printed, and the stacks of the lock holders.
fn assemble(
    reads: Vec<Read>,
    server: (StackTable, Vec<(Timestamp, LockTable)>),
    version: Option<String>,
    (label, known_words): (&str, Vec<&'static str>),
) -> Incident {
    let times = Times::new(reads.iter());
    let (book, tables) = server;
    let mut evidence = StackEvidence {
        table: book,
        ..StackEvidence::default()
    };
    let mut snapshots: Vec<ThreadSnapshot> = Vec::new();
    let mut texts: Vec<TimedText> = Vec::new();
    let mut facts: Vec<TimedFact> = Vec::new();
    let mut ticks = Ticks::default();
    let mut listings: Vec<Listing> = Vec::new();
    let mut queries: Vec<TimedDigest> = Vec::new();
    let mut held: Vec<crate::read::plockstat::Row> = Vec::new();
    let mut triggers: Vec<Trigger> = Vec::new();
    let mut mentions: Vec<Mention> = Vec::new();
    let collected = reads.iter().find_map(|read| read.trigger.clone());
    let span = stall_span::find(&reads, &times, collected.as_deref());
    // The tool counted before it collected anything.
    if let Some(reading) = collected.as_deref().and_then(stall_span::at_trigger)
        && span.onset.is_none()
    {
        ticks.add(0, "status", vec![reading]);
    }
    // What was taken once and tells no time was taken in the stall.
    let begin = |timed: usize| match timed < FOLLOWED_MIN {
        true => span.onset.unwrap_or_default(),
        false => 0,
    };
    let untimed = UNTIMED_AT + begin(0);
    for read in reads {
        let (ticks_begin, texts_begin) = (begin(read.ticks.len()), begin(read.texts.len()));
        mentions.extend(read.mentions);
        triggers.extend(read.trigger.map(|says| Trigger {
            rule: Stall::IMPORTED.to_owned(),
            says,
        }));
        held.extend(read.plockstat);
        queries.extend(read.workload.into_iter().map(|workload| TimedDigest {
            window: times.interval(&workload),
            digest: workload.digest,
        }));
        for tick in read.ticks {
            ticks.add(
                times.on_clock(tick.at, tick.after + ticks_begin),
                tick.source,
                tick.readings,
            );
        }
        for (timestamp, text) in read.texts {
            texts.push(TimedText {
                at: times.on_clock(timestamp.at, timestamp.after + texts_begin),
                text,
            });
        }
        facts.extend(read.facts.into_iter().map(|fact| TimedFact { at: 0, fact }));
        for snapshot in read.snapshots {
            let same = snapshot.at.is_none() && is_same_timestamp(&snapshot, snapshots.last());
            let at = match snapshots.last() {
                Some(last) if same => last.at,
                _ => times.on_clock(snapshot.at, begin(0) + snapshots.len() as u64 * 1000),
            };
            add_snapshot(snapshot, at, same, &mut evidence, &mut snapshots);
        }
        listings.extend(read.listings);
    }
    queries.order_by_key(|timed| timed.window.from);
    let mut tables: Vec<LockTable> = tables
        .into_iter()
        .map(|(timestamp, table)| {
            let at = times.on_clock(timestamp.at, timestamp.after + begin(0));
            LockTable {
                from: at,
                to: at,
                ..table
            }
        })
        .collect();
    tables.extend(
        plockstat::table(&held, &mut evidence.table).map(|table| LockTable {
            from: untimed,
            to: untimed,
            ..table
        }),
    );
    texts.sort_by_key(|text| text.at);
    sentences::without_shown(&texts, &mut facts);
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
    for ((at, source), readings) in &ticks.by_moment {
        timeline.push_readings(source, *at, readings);
    }
    let last = [
        ticks.by_moment.keys().map(|(at, _)| *at).max(),
        texts.iter().map(|text| text.at).max(),
        snapshots.iter().map(|snapshot| snapshot.at).max(),
        tables.iter().map(|table| table.to).max(),
        queries.iter().map(|timed| timed.window.to).max(),
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
                book: &evidence.table,
                snapshots: &snapshots,
            },
            &LockSymbols::default(),
        );
        evidence.locks.push(table);
    }
    evidence.locks.extend(tables);
    evidence.locks.order_by_key(|table| table.from);
    host_facts(&timeline, &mut facts);
    let stall = stall_span::stall(span, window);
    profiles(listings, stall, &mut evidence);
    let version = facts
        .iter()
        .find(|timed| timed.fact.name == "variables.version")
        .map_or_else(String::new, |timed| timed.fact.value.clone());
    let mut incident = Incident {
        mentions,
        known_words,
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
            earlier: Vec::new(),
            onset: stall.from,
            trigger: untimed.min(stall.to),
            end: span.end,
            triggers: match triggers.is_empty() {
                true => vec![Trigger {
                    rule: Stall::IMPORTED.to_owned(),
                    says: "captured by other tools, probably during a stall".to_owned(),
                }],
                false => triggers,
            },
        },
        window,
        timeline,
        texts,
        facts,
        stacks: evidence,
        queries,
        absent: Vec::new(),
    };
    incident.facts.extend(
        crate::part::partial_evidence(&incident)
            .into_iter()
            .map(|fact| TimedFact { at: 0, fact }),
    );
    incident.absent = crate::absent::missing_evidence(&incident)
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

/// What the recorder tells of the host as facts stands in its files as values.
fn host_facts(timeline: &Timeline, facts: &mut Vec<TimedFact>) {
    for (fact, signal) in [
        ("host.cpus", "cpu.count"),
        ("host.memory_bytes", "meminfo.MemTotal"),
    ] {
        let is_known = facts.iter().any(|timed| timed.fact.name == fact);
        let value = timeline
            .matching(signal)
            .flat_map(|series| series.values.iter().copied())
            .find(|value| value.is_finite() && *value > 0.0);
        if let Some(value) = value.filter(|_| !is_known) {
            facts.push(TimedFact {
                at: 0,
                fact: model::Fact::new(fact, format!("{value:.0}")),
            });
        }
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
fn is_same_timestamp(snapshot: &Snapshot, last: Option<&ThreadSnapshot>) -> bool {
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
        let stack = evidence.table.intern(thread.frames, thread.end);
        for _ in 0..thread.count {
            if threads.len() >= THREADS_MAX.min(room) {
                break;
            }
            complete += u32::from(is_complete);
            threads.push(SnapshotThread {
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
    evidence.snapshots.push(SnapshotMeta {
        at,
        method: SnapshotMethod::Ptrace,
        wall_us: 0,
        stopped_us: 0,
        threads: u32::try_from(threads.len()).unwrap_or(u32::MAX),
        complete,
    });
    snapshots.push(ThreadSnapshot {
        at,
        method: SnapshotMethod::Ptrace,
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

/// Listings have no times: all tell of the stall as a whole, and without a rate (`hz` 0) where it
/// is not told how long they took.
fn profiles(listings: Vec<Listing>, stall: Window, evidence: &mut StackEvidence) {
    for listing in listings {
        let samples: u64 = listing
            .rows
            .iter()
            .map(|row| row.count)
            .fold(0, u64::saturating_add);
        let length = stall.to.saturating_sub(stall.from).max(1);
        // As many samples as were taken in that time, laid over the stall.
        let hz = listing.seconds.map_or(0, |_| {
            (samples as f64 * 1000.0 / length as f64).clamp(1.0, 1e6) as u32
        });
        let counts = sample_counts(listing.rows, &mut evidence.table);
        if !listing.callers.is_empty() {
            evidence.callers.push(Callers {
                profile: evidence.profiles.len(),
                counts: sample_counts(listing.callers, &mut evidence.table),
            });
        }
        evidence.profiles.push(Profile {
            from: stall.from,
            to: stall.to,
            hz,
            processors: 1,
            counts,
            lost: 0,
        });
    }
}

fn sample_counts(rows: Vec<Row>, book: &mut StackTable) -> Vec<ProfileCount> {
    let rows = rows.into_iter();
    rows.map(|row| ProfileCount {
        stack: intern(book, row.frames),
        thread: row.thread,
        server: row.server,
        count: row.count,
    })
    .collect()
}

fn intern(book: &mut StackTable, frames: Vec<model::StackFrame>) -> StackId {
    let end = read::stack_end(&frames, false);
    book.intern(frames, end)
}
