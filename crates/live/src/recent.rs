//! What a recorder that runs has in memory of its server's threads: asked for bit by bit, and put together here.
//!
//! **A bit at a time.** A recorder of a thousand threads has hundreds of thousands of rows, and giving them names and
//! writing them down costs it some hundred milliseconds. So all of it is asked for once, and later what is new; what is
//! told again takes the place of what it was.
//!
//! **The recorder sets the pace.** It watches a server that may be short of processors: after each answer it is left alone
//! for so many times as long as that took.
//!
//! **Nothing waits for it.** Before its first answer it reads symbol tables, a second and more where processors are short,
//! and that is when a stall is to be judged. So a thread of its own asks, and what is late is there at the next reading.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use model::{Clock, Millis, OrderBy, StackEvidence, StackId, StackTable};

/// How often a recorder is asked at the most.
const ASKED_EVERY: Duration = Duration::from_secs(2);

/// It is asked this often at the least.
const ASKED_AGAIN: Duration = Duration::from_secs(20);

/// It is left alone for so many times as long as its answer took: it spends 2 % of a processor at the most.
const TIMES_ALONE: u32 = 50;

/// An answer that comes this soon belongs to the reading that asked for it.
const PROMPT: Duration = Duration::from_millis(200);

/// So much is asked for first, milliseconds: the time of now, and the time before to compare with.
const ALL_MS: Millis = 180_000;

/// What is new is asked for with so much of what is known, milliseconds: rows that were not over then are longer now.
const OVERLAP_MS: Millis = 5_000;

/// Runs of threads and rows of profiles that are kept at the most, 100 to 200 bytes each: of more threads a shorter time.
const ROWS_MAX: usize = 20_000;

/// Distinct stacks that are kept before everything is asked for anew.
const STACKS_MAX: usize = 50_000;

/// What a recorder that runs has in memory of its server's threads.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecentStacks {
    /// How their times relate to the time of day.
    pub clock: Clock,
    /// The stacks, profiles and lock tables.
    pub stacks: StackEvidence,
}

impl RecentStacks {
    /// The same, with times of another clock; what lies before its begin is left out.
    pub(crate) fn on(&self, clock: &Clock) -> StackEvidence {
        let shift = self
            .clock
            .wall_at_zero_ms
            .saturating_sub(clock.wall_at_zero_ms);
        let moved = |at: Millis| at.checked_add_signed(shift).unwrap_or(0);
        let mut stacks = self.stacks.clone();
        stacks
            .snapshots
            .iter_mut()
            .for_each(|one| one.at = moved(one.at));
        for run in &mut stacks.runs {
            (run.from, run.to) = (moved(run.from), moved(run.to));
        }
        for profile in &mut stacks.profiles {
            (profile.from, profile.to) = (moved(profile.from), moved(profile.to));
        }
        for table in &mut stacks.locks {
            (table.from, table.to) = (moved(table.from), moved(table.to));
        }
        stacks.snapshots.retain(|one| one.at > 0);
        stacks.runs.retain(|run| run.to > 0);
        stacks.profiles.retain(|profile| profile.to > 0);
        stacks.locks.retain(|table| table.to > 0);
        stacks
    }
}

/// Asks a recorder for what it has of so many milliseconds; nothing where none tells.
pub(crate) type AskStacks = Box<dyn FnMut(Millis) -> Option<RecentStacks> + Send>;

/// The thread that asks.
#[derive(Debug)]
struct Asking {
    asks: Sender<Millis>,
    /// Each answer, and how long it took.
    told: Receiver<(Option<RecentStacks>, Duration)>,
}

impl Asking {
    /// Nothing where no thread can be started. It ends after the answer that it waits for, once nobody wants one.
    fn start(mut ask: AskStacks) -> Option<Self> {
        let (asks, asked) = channel();
        let (tells, told) = channel();
        let asking = move || {
            for for_ms in asked {
                let begin = Instant::now();
                let answer = ask(for_ms);
                if tells.send((answer, begin.elapsed())).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("ff-stacks".to_owned());
        thread.spawn(asking).ok().map(|_| Self { asks, told })
    }
}

/// A question that has no answer yet.
#[derive(Debug, Clone, Copy)]
struct Question {
    /// When it was put.
    put: Instant,
    /// It is of what is new, not of all.
    is_part: bool,
}

/// What was put together so far.
#[derive(Default)]
pub(crate) struct Gathered {
    /// How to ask, until a thread does.
    ask: Option<AskStacks>,
    asking: Option<Asking>,
    open: Option<Question>,
    known: Option<RecentStacks>,
    /// The same on another clock.
    moved: Option<(Clock, Arc<StackEvidence>)>,
    /// When the last answer was asked for.
    asked: Option<Instant>,
    /// When the next one may be.
    next: Option<Instant>,
}

impl Gathered {
    pub(crate) fn new(ask: AskStacks) -> Self {
        Self {
            ask: Some(ask),
            ..Self::default()
        }
    }

    /// What is known, with times of this clock, after what is new was asked for if it is time. Nothing where no recorder
    /// tells, or has told.
    pub(crate) fn renew(&mut self, clock: &Clock) -> Option<Arc<StackEvidence>> {
        self.ask_what_is_due();
        self.take();
        let moved = self.moved.take().filter(|(of, _)| of == clock);
        let moved =
            moved.or_else(|| Some((clock.clone(), Arc::new(self.known.as_ref()?.on(clock)))));
        self.moved.clone_from(&moved);
        moved.map(|(_, stacks)| stacks)
    }

    fn ask_what_is_due(&mut self) {
        if let Some(ask) = self.ask.take() {
            self.asking = Asking::start(ask);
        }
        let now = Instant::now();
        let is_due = self.next.is_none_or(|next| now >= next);
        let Some(asking) = self.asking.as_ref().filter(|_| is_due) else {
            return;
        };
        if self.open.is_some() {
            return;
        }
        let (for_ms, is_part) = self.wanted();
        self.open = asking
            .asks
            .send(for_ms)
            .is_ok()
            .then_some(Question { put: now, is_part });
    }

    /// How much is asked for, milliseconds, and whether that is only what is new.
    fn wanted(&self) -> (Millis, bool) {
        let since_ms = self
            .asked
            .map(|asked| asked.elapsed().as_millis() as Millis);
        let for_ms = since_ms.map_or(ALL_MS, |ms| ms.saturating_add(OVERLAP_MS).min(ALL_MS));
        (for_ms, since_ms.is_some())
    }

    /// Takes the answer that is there, or comes soon after its question.
    fn take(&mut self) {
        let (Some(asking), Some(question)) = (&self.asking, self.open) else {
            return;
        };
        let patience = PROMPT.saturating_sub(question.put.elapsed());
        match asking.told.recv_timeout(patience) {
            Ok((told, took)) => {
                self.open = None;
                self.told(question, told, took);
            }
            Err(RecvTimeoutError::Timeout) => {}
            // It failed: this is all that is known.
            Err(RecvTimeoutError::Disconnected) => (self.asking, self.open) = (None, None),
        }
    }

    fn told(&mut self, question: Question, told: Option<RecentStacks>, took: Duration) {
        let alone = took.saturating_mul(TIMES_ALONE);
        self.next = Some(Instant::now() + alone.clamp(ASKED_EVERY, ASKED_AGAIN));
        let same = |known: &RecentStacks, told: &RecentStacks| known.clock == told.clock;
        // Of a recorder that began anew, and where there are too many stacks, all is asked for next.
        self.asked = None;
        self.moved = None;
        self.known = match (self.known.take(), told) {
            (Some(known), Some(told)) if question.is_part && same(&known, &told) => {
                let known = known.with(told);
                let is_small = known.stacks.table.stacks().len() <= STACKS_MAX;
                self.asked = is_small.then_some(question.put);
                Some(known)
            }
            (_, Some(told)) => {
                self.asked = (!question.is_part).then_some(question.put);
                Some(told)
            }
            (_, None) => None,
        };
    }
}

impl RecentStacks {
    /// With what was told later, which has the rows again that were not over.
    fn with(mut self, told: Self) -> Self {
        let own = &mut self.stacks;
        let mut new = told.stacks;
        renumber(&mut new, &mut own.table);
        let snapshots: HashSet<Millis> = new.snapshots.iter().map(|one| one.at).collect();
        own.snapshots.retain(|one| !snapshots.contains(&one.at));
        own.snapshots.append(&mut new.snapshots);
        own.snapshots.order_by_key(|one| one.at);
        let runs: HashSet<(u32, Millis)> = new.runs.iter().map(|run| (run.tid, run.from)).collect();
        own.runs.retain(|run| !runs.contains(&(run.tid, run.from)));
        own.runs.append(&mut new.runs);
        own.runs.order_by_key(|run| (run.from, run.tid));
        let slices: HashSet<Millis> = new.profiles.iter().map(|slice| slice.from).collect();
        own.profiles.retain(|slice| !slices.contains(&slice.from));
        own.profiles.append(&mut new.profiles);
        own.profiles.order_by_key(|slice| slice.from);
        let tables: HashSet<Millis> = new.locks.iter().map(|table| table.from).collect();
        own.locks.retain(|table| !tables.contains(&table.from));
        own.locks.append(&mut new.locks);
        own.locks.order_by_key(|table| table.from);
        forget(own);
        self
    }
}

/// Forgets what is older than is asked for, and more of very many threads.
fn forget(stacks: &mut StackEvidence) {
    let newest = stacks.snapshots.last().map_or(0, |one| one.at);
    let rows = |from: Millis| {
        let runs = stacks.runs.iter().filter(|run| run.to >= from).count();
        let slices = stacks.profiles.iter().filter(|slice| slice.to >= from);
        runs + slices.map(|slice| slice.counts.len()).sum::<usize>()
    };
    let mut length = ALL_MS;
    while length > OVERLAP_MS && rows(newest.saturating_sub(length)) > ROWS_MAX {
        length /= 2;
    }
    let from = newest.saturating_sub(length);
    stacks.snapshots.retain(|one| one.at >= from);
    stacks.runs.retain(|run| run.to >= from);
    stacks.profiles.retain(|slice| slice.to >= from);
    stacks.locks.retain(|table| table.to >= from);
}

/// Gives the stacks the numbers that they have in another table, which takes them in.
fn renumber(stacks: &mut StackEvidence, into: &mut StackTable) {
    let table = &stacks.table;
    let number = |one: &model::Stack| {
        let frames = one.frames.iter().filter_map(|id| table.frame(*id).cloned());
        let frames: Vec<model::StackFrame> = frames.collect();
        into.intern(frames, one.end)
    };
    let numbers: Vec<StackId> = table.stacks().iter().map(number).collect();
    let moved = |id: &mut StackId| *id = numbers.get(id.0 as usize).copied().unwrap_or(*id);
    stacks.runs.iter_mut().for_each(|run| moved(&mut run.stack));
    let counts = stacks
        .profiles
        .iter_mut()
        .flat_map(|slice| &mut slice.counts);
    counts.for_each(|row| moved(&mut row.stack));
    for table in &mut stacks.locks {
        for row in table.locks.iter_mut().chain(&mut table.conditions) {
            row.holders.iter_mut().for_each(|one| moved(&mut one.stack));
            row.callers.iter_mut().for_each(|one| moved(&mut one.stack));
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{FrameSide, Profile, ProfileCount, RunState, SnapshotMeta, SnapshotMethod};
    use model::{StackEnd, StackFrame, ThreadRun};

    use super::*;

    /// One thread's run in a stack of one function, and a slice of its samples.
    fn told(zero: i64, runs: &[(u32, &str, Millis, Millis)], samples: u64) -> RecentStacks {
        let mut stacks = StackEvidence::default();
        for (tid, function, from, to) in runs {
            let frame = StackFrame {
                name: (*function).to_owned(),
                image: "mysqld".to_owned(),
                side: FrameSide::User,
                nameless: None,
            };
            stacks.runs.push(ThreadRun {
                tid: *tid,
                name: "worker".to_owned(),
                from: *from,
                to: *to,
                snapshots: 1,
                unmoved: false,
                state: RunState::Sleeping,
                syscall: None,
                stack: stacks.table.intern([frame], StackEnd::Complete),
            });
        }
        let last = runs.iter().map(|run| run.3).max().unwrap_or(0);
        stacks.snapshots.push(SnapshotMeta {
            at: last,
            method: SnapshotMethod::Bpf,
            wall_us: 1,
            stopped_us: 0,
            threads: 1,
            complete: 1,
        });
        stacks.profiles.push(Profile {
            from: 0,
            to: last,
            hz: 49,
            processors: 2,
            counts: vec![ProfileCount {
                stack: stacks.runs.last().map_or(StackId(0), |run| run.stack),
                thread: "worker".to_owned(),
                server: true,
                count: samples,
            }],
            lost: 0,
        });
        RecentStacks {
            clock: Clock {
                wall_at_zero_ms: zero,
                ..Clock::default()
            },
            stacks,
        }
    }

    /// A thread, from when to when it stood so, and in which function.
    type Run = (u32, Millis, Millis, String);

    /// Runs with their functions, and the samples of each slice.
    fn shown(known: &RecentStacks) -> (Vec<Run>, Vec<(String, u64)>) {
        let stacks = &known.stacks;
        let function = |id: StackId| {
            let mut frames = stacks.table.frames_of(id);
            frames
                .next()
                .map_or_else(String::new, |frame| frame.name.clone())
        };
        let runs = stacks.runs.iter();
        let slices = stacks.profiles.iter().flat_map(|slice| &slice.counts);
        (
            runs.map(|run| (run.tid, run.from, run.to, function(run.stack)))
                .collect(),
            slices.map(|row| (function(row.stack), row.count)).collect(),
        )
    }

    #[test]
    fn what_goes_on_is_longer_and_what_is_new_comes_behind() {
        let before = told(7, &[(1, "read", 100, 900), (2, "write", 500, 1_000)], 3);
        // The second one's number of its stack is that of another one here.
        let after = told(7, &[(2, "write", 500, 3_000), (3, "read", 2_000, 3_000)], 8);
        let (runs, slices) = shown(&before.with(after));
        let run = |tid, from, to, name: &str| (tid, from, to, name.to_owned());
        assert_eq!(
            runs,
            [
                run(1, 100, 900, "read"),
                run(2, 500, 3_000, "write"),
                run(3, 2_000, 3_000, "read"),
            ]
        );
        assert_eq!(slices, [("read".to_owned(), 8)]);
    }

    #[test]
    fn what_is_older_than_is_asked_for_is_forgotten() {
        let before = told(7, &[(1, "read", 100, 900)], 3);
        let after = told(7, &[(2, "write", 500, 900 + ALL_MS + 1)], 8);
        let (runs, _) = shown(&before.with(after));
        assert_eq!(runs.len(), 1);
    }

    #[test]
    fn all_is_asked_for_once_and_again_of_another_recorder() {
        let mut gathered = Gathered::default();
        let mut asked = Vec::new();
        let mut ask = |gathered: &mut Gathered, zero: Option<i64>| {
            let (for_ms, is_part) = gathered.wanted();
            asked.push(for_ms == ALL_MS);
            let question = Question {
                put: Instant::now(),
                is_part,
            };
            let answer = zero.map(|zero| told(zero, &[(1, "read", 100, 900)], 3));
            gathered.told(question, answer, Duration::ZERO);
            gathered.renew(&Clock::default()).is_some()
        };
        assert!(ask(&mut gathered, Some(7)));
        assert!(ask(&mut gathered, Some(7)));
        // Another clock: what it tells is of the last seconds, so all is asked for next.
        assert!(ask(&mut gathered, Some(8)));
        assert!(ask(&mut gathered, Some(8)));
        assert!(!ask(&mut gathered, None));
        assert!(ask(&mut gathered, Some(8)));
        assert_eq!(asked, [true, false, false, true, false, true]);
    }

    #[test]
    fn a_recorder_that_is_slow_to_answer_is_not_waited_for_and_asked_once() {
        let (answer, may_answer) = channel::<()>();
        let (tell, asked) = channel();
        let mut gathered = Gathered::new(Box::new(move |for_ms| {
            let _ = tell.send(for_ms);
            may_answer.recv().ok()?;
            Some(told(7, &[(1, "read", 100, 900)], 3))
        }));
        let begin = Instant::now();
        for _ in 0..3 {
            assert_eq!(gathered.renew(&Clock::default()), None);
        }
        assert!(begin.elapsed() < PROMPT * 20, "{:?}", begin.elapsed());
        answer.send(()).unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        let mut came = None;
        while came.is_none() && Instant::now() < end {
            came = gathered.renew(&Clock::default());
        }
        assert_eq!(came.map(|stacks| stacks.runs.len()), Some(1));
        assert_eq!(asked.try_iter().collect::<Vec<_>>(), [ALL_MS]);
    }
}
