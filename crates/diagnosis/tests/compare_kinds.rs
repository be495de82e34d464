//! Before against after by what threads and samples show: signs over stacks, lock tables and profiles, on made-up
//! evidence of which the numbers are known.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use diagnosis::Catalogue;
use diagnosis::compare::{Answer, Comparison, Fate, Role, SignalChange, Stretch, Subject, compare};
use model::{
    FrameSide, Incident, LockCaller, LockRow, LockTable, NamedBy, Profile, ProfileCount, Reading,
    RunState, SnapshotMeta, SnapshotMethod, StackEnd, StackEvidence, StackFrame, StackId,
    StackTable, Stall, ThreadRun, Timeline, Unit, WaitCounting, Window,
};

const SECONDS: u64 = 180;

/// A lock table and a slice of a profile each so many seconds.
const SLICE: u64 = 5;

const THREADS: u32 = 40;

/// Threads in the crowd, waiters for the lock and samples in the function, where the cause is there.
const CROWD: f64 = 20.0;
const WAITERS: f64 = 12.0;
const SAMPLES: f64 = 40.0;
const SAMPLES_OF_ALL: u64 = 100;

const STACKS: &str = r#"measure = "threads(stack = ['^lock_slow$', '^do_work$'])"
above = 8
says = "{value} threads were in it""#;

const LOCK: &str = r#"measure = "lock_waiting(lock = '^LOCK_made_up$')"
above = 4
says = "{value} threads waited""#;

const PROFILE: &str = r#"measure = "profile_share(function = '^spin$')"
above = 0.2
says = "{value} of the samples""#;

fn catalogue(sign: &str) -> Catalogue {
    let text = format!(
        "id = \"x\"\ntitle = \"A cause\"\nwhat = \"It is this.\"\nrefuted_by = [\"This.\"]\nsources = [\"A page.\"]\n\
         [[witness]]\nid = \"w\"\nnecessary = true\n{sign}\n\
         [remedy]\nnow = [\"a\"]\ndurable = [\"b\"]\nundo = [\"c\"]\nrisk = \"d\"\nverify = [\"e\"]\n"
    );
    Catalogue::from_files(&[("x.toml", text)]).unwrap_or_else(|error| panic!("{error}"))
}

/// Between -1 and 1.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64 * 2.0 - 1.0
    }

    /// A number near this one.
    fn near(&mut self, number: f64) -> f64 {
        number * (1.0 + 0.1 * self.next())
    }
}

fn stack(book: &mut StackTable, names: &[&str]) -> StackId {
    let frame = |name: &&str| StackFrame {
        name: (*name).to_owned(),
        image: "mysqld".to_owned(),
        side: FrameSide::User,
        nameless: None,
    };
    let frames: Vec<StackFrame> = names.iter().map(frame).collect();
    book.intern(frames, StackEnd::Complete)
}

/// Three minutes with everything, or with nothing, of the cause.
fn recorded(is_there: bool, seed: u64) -> Incident {
    let mut noise = Noise(seed);
    let mut timeline = Timeline::default();
    let mut book = StackTable::default();
    let crowd = stack(&mut book, &["futex_wait", "lock_slow", "helper", "do_work"]);
    // The same function by another way is not the sign.
    let others = stack(&mut book, &["futex_wait", "lock_slow", "do_rest"]);
    let spinning = stack(&mut book, &["spin", "do_work"]);
    let working = stack(&mut book, &["row_search", "do_work"]);
    let mut evidence = StackEvidence::default();
    let mut questions = 0.0;
    for second in 0..=SECONDS {
        let at = second * 1_000;
        questions += noise.near(500.0);
        let reading = Reading::counter("status.Questions", Unit::Count, questions.round());
        timeline.push_readings("status", at, &[reading]);
        let in_crowd = match is_there {
            true => noise.near(CROWD).round() as u32,
            false => 0,
        };
        for tid in 0..THREADS {
            let stack = if tid < in_crowd { crowd } else { others };
            evidence.runs.push(run(tid, at, stack));
        }
        evidence.snapshots.push(SnapshotMeta {
            at,
            method: SnapshotMethod::Bpf,
            wall_us: 300,
            stopped_us: 0,
            threads: THREADS,
            complete: THREADS,
        });
        if second.is_multiple_of(SLICE) && second > 0 {
            let window = Window {
                from: at - SLICE * 1_000,
                to: at,
            };
            let waiters = match is_there {
                true => noise.near(WAITERS),
                false => 0.0,
            };
            evidence.locks.push(table(window, waiters));
            let found = match is_there {
                true => noise.near(SAMPLES).round() as u64,
                false => 0,
            };
            let counts = [(spinning, found), (working, SAMPLES_OF_ALL - found)];
            evidence.profiles.push(profile(window, &counts));
        }
    }
    evidence.table = book;
    let to = SECONDS * 1_000;
    Incident {
        id: "made up".to_owned(),
        host: "db7".to_owned(),
        tool_version: "0".to_owned(),
        stall: Stall {
            earlier: Vec::new(),
            onset: 0,
            trigger: 0,
            end: Some(to),
            triggers: Vec::new(),
        },
        window: Window { from: 0, to },
        timeline,
        stacks: evidence,
        ..Incident::default()
    }
}

fn run(tid: u32, at: u64, stack: StackId) -> ThreadRun {
    ThreadRun {
        tid,
        name: "mysqld".to_owned(),
        from: at,
        to: at,
        snapshots: 1,
        unmoved: false,
        state: RunState::Sleeping,
        syscall: None,
        stack,
    }
}

/// So many threads on average waited for one lock, and some for another.
fn table(window: Window, waiters: f64) -> LockTable {
    let micros = (window.to - window.from) as f64 * 1_000.0;
    let row = |name: &str, waiters: f64| LockRow {
        name: name.to_owned(),
        named_by: NamedBy::Symbol,
        address: 0x1000,
        waiters_max: waiters.ceil() as u32,
        waits: 100,
        total_us: waiters * micros,
        max_us: micros,
        share: waiters / f64::from(THREADS),
        callers: vec![LockCaller {
            path: vec!["do_work".to_owned()],
            stack: StackId(0),
            waits: 100,
            total_us: waiters * micros,
            max_us: micros,
        }],
        holders: Vec::new(),
    };
    let mut locks = vec![row("LOCK_other", 5.0)];
    if waiters > 0.0 {
        locks.push(row("LOCK_made_up", waiters));
    }
    LockTable {
        from: window.from,
        to: window.to,
        depth: WaitCounting::Sampled {
            snapshots: 50,
            interval_ms: 100.0,
        },
        locks,
        conditions: Vec::new(),
        idle_threads: 0,
        chains: Vec::new(),
        kernel_locks: Vec::new(),
        absent: Vec::new(),
    }
}

fn profile(window: Window, counts: &[(StackId, u64)]) -> Profile {
    let count = |(stack, count): &(StackId, u64)| ProfileCount {
        stack: *stack,
        thread: "mysqld".to_owned(),
        server: true,
        count: *count,
    };
    Profile {
        from: window.from,
        to: window.to,
        hz: 49,
        processors: 4,
        counts: counts.iter().map(count).collect(),
        lost: 0,
    }
}

fn compared(sign: &str, before: &Incident, after: &Incident) -> Comparison {
    let subject = |incident| Subject {
        incident,
        window: Window {
            from: 0,
            to: SECONDS * 1_000,
        },
        stretch: Stretch::Window,
        recorded_ms: None,
        stalls: None,
    };
    let catalogue = catalogue(sign);
    let cause = catalogue.get("x");
    compare(&subject(before), &subject(after), cause)
}

fn row(comparison: &Comparison) -> &SignalChange {
    let mut rows = comparison.signals.iter();
    let row = rows.find(|row| row.id == "w").expect("the sign's row");
    assert_eq!(row.role, Role::Deciding);
    row
}

/// All four answers of a sign whose mean is `expected` where the cause is there, in so many readings.
fn all_answers(sign: &str, expected: f64, readings: usize) {
    let (there, again) = (recorded(true, 1), recorded(true, 2));
    let (gone, still_gone) = (recorded(false, 3), recorded(false, 4));
    let worked = compared(sign, &there, &gone);
    assert_eq!(worked.verdict, Answer::Worked, "{worked:#?}");
    let told = row(&worked);
    assert_eq!(told.fate, Fate::Gone);
    assert_eq!((told.before.held, told.after.held), (Some(1.0), Some(0.0)));
    assert_eq!(
        (told.before.readings, told.after.readings),
        (readings, readings)
    );
    let mean = told.before.mean.unwrap();
    assert!((mean / expected - 1.0).abs() < 0.05, "{mean}, {expected}");
    assert_eq!(told.after.mean, Some(0.0));

    let worse = compared(sign, &gone, &there);
    assert_eq!(worse.verdict, Answer::Worse, "{worse:#?}");
    assert_eq!(row(&worse).fate, Fate::More);

    let same = compared(sign, &there, &again);
    assert_eq!(same.verdict, Answer::NoEffect, "{same:#?}");
    assert_eq!(row(&same).fate, Fate::Same);

    let nothing = compared(sign, &gone, &still_gone);
    assert_eq!(nothing.verdict, Answer::NotProven);
    assert_eq!(row(&nothing).fate, Fate::NotThere);

    // Evidence that is absent is not absence.
    let mut unseen = recorded(false, 5);
    unseen.stacks = StackEvidence::default();
    let unknown = compared(sign, &there, &unseen);
    assert_eq!(unknown.verdict, Answer::NotProven, "{unknown:#?}");
    let mut rows = unknown.signals.iter();
    let told = rows.find(|row| row.id == "w").expect("the sign's row");
    assert_eq!(told.fate, Fate::NotMeasured);
}

#[test]
fn signs_over_stacks() {
    // The first snapshot lies at the stretch's begin and tells of the time before it.
    all_answers(STACKS, CROWD, SECONDS as usize);
}

#[test]
fn signs_over_lock_tables() {
    all_answers(LOCK, WAITERS, (SECONDS / SLICE) as usize);
}

#[test]
fn signs_over_profiles() {
    let share = SAMPLES / SAMPLES_OF_ALL as f64;
    all_answers(PROFILE, share, (SECONDS / SLICE) as usize);
}

#[test]
fn what_only_one_side_has_is_told_in_a_whole_sentence() {
    let sign = LOCK.replace("threads waited", "threads on average waited for {each}");
    let mut unseen = recorded(false, 5);
    unseen.stacks = StackEvidence::default();
    let told = compared(&sign, &recorded(true, 1), &unseen);
    let expected =
        "Left out, because measured on one side only: threads on average waited for a lock.";
    assert!(
        told.missing.iter().any(|line| line == expected),
        "{:#?}",
        told.missing
    );
}

#[test]
fn functions_and_locks_are_told_by_how_much_they_changed() {
    let (there, gone) = (recorded(true, 1), recorded(false, 3));
    let seen = compared(PROFILE, &there, &gone);
    let function = |name: &str| seen.functions.iter().find(|one| one.name.contains(name));
    let spin = function("spin").expect("the function that is gone");
    assert!((spin.before - 0.4).abs() < 0.02, "{spin:?}");
    assert_eq!(spin.after, 0.0);
    let lock = seen.locks.first().expect("the lock that is gone");
    assert_eq!(lock.name, "LOCK_made_up");
    assert!((lock.before - WAITERS).abs() < 0.6, "{lock:?}");
    assert_eq!(lock.after, 0.0);
}
