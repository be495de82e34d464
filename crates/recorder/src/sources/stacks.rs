//! All threads' stacks, once a second, and ten times a second for a while at a trigger.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use kernel::snapshot::{SnapshotOptions, Snapshotter, Way};
use model::{Absent, Millis, Reading, Reason, SourceData, Unit};

use stacks::{LockLocation, Watch};

use super::{Outcome, Reader, State, signals};
use crate::clock::RecorderClock;
use crate::context::Context;
use crate::stacks::StackWatch;
use crate::target::Shared;

/// Snapshots in calm may use this share of one core; a server with thousands of busy threads is
/// looked at less often instead of at a higher price.
const SHARE_MAX: f64 = 0.003;

/// Snapshots of a burst may use this share of one core: thousands of busy threads make it slower.
const BURST_SHARE_MAX: f64 = 0.2;

/// The longest pause that this makes.
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Threads of a snapshot at the most.
const THREADS_MAX: usize = 8192;

/// How long a pass may take: a server in trouble with its memory map must not hold us for ever.
const PASS_MAX: Duration = Duration::from_secs(1);

/// Time between the snapshots of a burst, milliseconds.
const BURST_EVERY_MS: Millis = 100;

/// Pause after a snapshotter could not be opened.
const RETRY: Duration = Duration::from_secs(30);

/// What the thread for stacks remembers.
pub(crate) struct StackState {
    shared: Arc<Shared>,
    watch: Arc<StackWatch>,
    clock: RecorderClock,
    looking: Option<(Snapshotter, Watch)>,
    /// The process that could not be opened, why, and until when it is not tried again.
    refused: Option<(u32, Absent, Instant)>,
    next_in_calm: Instant,
    next_in_burst: Millis,
}

impl State for StackState {
    const THREAD: &'static str = "ff-stacks";

    fn new(context: &Context) -> Self {
        Self {
            shared: context.shared.clone(),
            watch: context.stacks.clone(),
            clock: context.clock.clone(),
            looking: None,
            refused: None,
            next_in_calm: Instant::now(),
            next_in_burst: 0,
        }
    }

    /// Whether a snapshot is due before its second: a burst is on.
    fn wants_now(&self, _: &str) -> bool {
        let now = self.clock.now();
        now >= self.next_in_burst && self.watch.in_burst(now)
    }
}

impl StackState {
    /// Opens the way to the threads of a process, the gentlest that is permitted.
    fn open(&mut self, pid: u32) -> Result<Vec<Absent>, Absent> {
        if let Some((of, absent, until)) = &self.refused
            && *of == pid
            && Instant::now() < *until
        {
            return Err(absent.clone());
        }
        let options = SnapshotOptions {
            threads_max: THREADS_MAX,
            deadline: PASS_MAX,
            ..SnapshotOptions::default()
        };
        let opened = Snapshotter::open(pid, &options)
            .map_err(|error| Absent::new("stacks", reason_of(&error), error.to_string()))
            .and_then(|snapshotter| {
                let watch = Watch::open(pid, &self.watch.images, self.watch.book.clone()).map_err(
                    |error| Absent::new("stacks", Reason::Permission, error.to_string()),
                )?;
                Ok((snapshotter, watch))
            });
        match opened {
            Ok((snapshotter, watch)) => {
                let lesser = snapshotter
                    .refused()
                    .iter()
                    .filter(|(way, _)| *way == Way::Bpf)
                    .map(|(_, why)| Absent::new("stacks by BPF", Reason::Permission, why.clone()))
                    .collect();
                self.looking = Some((snapshotter, watch));
                self.refused = None;
                Ok(lesser)
            }
            Err(absent) => {
                self.refused = Some((pid, absent.clone(), Instant::now() + RETRY));
                Err(absent)
            }
        }
    }
}

fn reason_of(error: &kernel::snapshot::SnapshotError) -> Reason {
    if error.is_gone() {
        Reason::Gone
    } else {
        Reason::Permission
    }
}

#[rustfmt::skip]
pub(crate) static STACKS: Reader<StackState> = Reader {
    source: "stacks",
    signals: &[
        signals(&["stacks.threads", "stacks.complete", "stacks.in_futex", "stacks.wall_us", "stacks.left_out", "stacks.dropped_runs"], "g", "of a snapshot: threads, complete stacks, threads that wait on a futex (idle ones too), time it took; threads beyond a limit, runs that were dropped"),
    ],
    read: snapshot,
};

/// A snapshot of all threads.
fn snapshot(state: &mut StackState) -> Outcome {
    let now = state.clock.now();
    let in_burst = state.watch.in_burst(now);
    let Some(server) = state.shared.process() else {
        state.looking = None;
        return Err(state.shared.no_process("stacks"));
    };
    let is_known = |(_, watch): &(Snapshotter, Watch)| watch.pid() == server.pid;
    let is_known = state.looking.as_ref().is_some_and(is_known);
    if is_known && !in_burst && Instant::now() < state.next_in_calm {
        return Ok(SourceData::default());
    }
    let mut taken = SourceData::default();
    if !is_known {
        state.looking = None;
        taken.absent = state.open(server.pid)?;
    }
    let Some((snapshotter, watch)) = &mut state.looking else {
        return Ok(taken);
    };
    let begin = kernel::clock::thread_cpu();
    // In calm threads that did not move are not read again: what they did they still do. In a burst
    // they are, for the lock that they wait for may have another owner.
    if in_burst {
        watch.before_threads();
    }
    let raw = snapshotter.take(!in_burst);
    if in_burst {
        watch.after_threads();
    }
    let raw = match raw {
        Ok(raw) => raw,
        Err(error) => {
            state.looking = None;
            return Err(Absent::new("stacks", reason_of(&error), error.to_string()));
        }
    };
    let _adding = state
        .watch
        .sweeping
        .read()
        .unwrap_or_else(PoisonError::into_inner);
    let seen = watch.see(now, &raw);
    let futexes: HashSet<u64> = seen
        .threads
        .iter()
        .filter_map(|thread| Some(thread.syscall?.futex?.address))
        .collect();
    let (note, left_out) = (seen.note, seen.left_out);
    let waiting = seen
        .threads
        .iter()
        .filter(|thread| thread.syscall.is_some_and(|call| call.futex.is_some()))
        .count();
    let places: Vec<(u64, LockLocation)> = if in_burst {
        futexes
            .into_iter()
            .map(|address| (address, watch.lock_location(address)))
            .collect()
    } else {
        Vec::new()
    };
    state.watch.add(seen, places);
    let cost = kernel::clock::thread_cpu().saturating_sub(begin);
    let pause = Duration::from_secs_f64(cost.as_secs_f64() / SHARE_MAX).min(PAUSE_MAX);
    state.next_in_calm = Instant::now() + pause;
    let rest = Duration::from_secs_f64(cost.as_secs_f64() / BURST_SHARE_MAX);
    state.next_in_burst = now + BURST_EVERY_MS.max(rest.as_millis() as Millis);
    taken.readings = vec![
        Reading::gauge("stacks.threads", Unit::Count, f64::from(note.threads)),
        Reading::gauge("stacks.complete", Unit::Count, f64::from(note.complete)),
        Reading::gauge("stacks.in_futex", Unit::Count, waiting as f64),
        Reading::gauge("stacks.wall_us", Unit::Microseconds, note.wall_us as f64),
        Reading::gauge("stacks.left_out", Unit::Count, f64::from(left_out)),
        Reading::counter(
            "stacks.dropped_runs",
            Unit::Count,
            state.watch.dropped() as f64,
        ),
    ];
    Ok(taken)
}
