//! The threads that read the sources. Each has a schedule of its own and sends what it reads;
//! none waits for another, for the disk, or for whoever takes the samples.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::{Duration, Instant};

use model::{Absent, Millis, Reason, Sample};

use crate::clock::RecorderClock;
use crate::config::RecorderConfig;
use crate::guard::guarded;
use crate::in_flight::InFlight;
use crate::queries::QueryWatch;
use crate::sources::Outcome;
use crate::sources::database::DatabaseState;
use crate::sources::host::HostState;
use crate::sources::logs::LogState;
use crate::sources::packets::PacketState;
use crate::sources::probes::{ConnectProbe, QueryProbe};
use crate::sources::process::{MemoryState, ProcessState};
use crate::sources::profile::ProfileState;
use crate::sources::replica::ReplicaState;
use crate::sources::stacks::StackState;
use crate::stacks::StackWatch;
use crate::table::{SOURCES, SourceSpec, Take, Worker};
use crate::target::Shared;

/// Why this host's evidence is not taken.
const ELSEWHERE: &str = "the server runs on another host";

/// How long a worker sleeps at the most before it looks whether it should stop.
const NAP: Duration = Duration::from_millis(100);

/// The server's sessions are looked at so long after the beat, milliseconds. The spread stays below what parts a
/// regular look from one between two (`detect` takes 900 ms and more for a second).
const LOOK_AFTER_MS: Millis = 10;
const LOOK_SPREAD_MS: Millis = 70;

const WORKERS: [Worker; 11] = [
    Worker::Host,
    Worker::Process,
    Worker::Memory,
    Worker::Database,
    Worker::Replica,
    Worker::QueryProbe,
    Worker::ConnectProbe,
    Worker::Stacks,
    Worker::Profile,
    Worker::Logs,
    Worker::Packets,
];

/// What all workers share.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) clock: RecorderClock,
    pub(crate) shared: Arc<Shared>,
    pub(crate) stacks: Arc<StackWatch>,
    pub(crate) queries: Arc<QueryWatch>,
    pub(crate) in_flight: Arc<InFlight>,
    pub(crate) samples: SyncSender<Sample>,
    pub(crate) lost: Arc<AtomicU64>,
    pub(crate) stop: Arc<AtomicBool>,
}

enum State {
    Host(HostState),
    Process(ProcessState),
    Memory(MemoryState),
    Database(DatabaseState),
    Replica(ReplicaState),
    QueryProbe(QueryProbe),
    ConnectProbe(ConnectProbe),
    Stacks(StackState),
    Profile(ProfileState),
    Logs(LogState),
    /// Its digest makes it much larger than the others.
    Packets(Box<PacketState>),
}

impl State {
    /// Whether a source is wanted before its time.
    fn wants_now(&self, source: &str) -> bool {
        match self {
            Self::Database(state) => state.wants_now(source),
            Self::Stacks(state) => state.wants_now(),
            Self::Profile(state) => state.wants_now(),
            Self::Packets(state) => state.wants_now(),
            _ => false,
        }
    }
}

/// Starts the workers. They end by themselves when `stop` is set; one that hangs in a reading is
/// left behind, it holds nothing that others need.
pub(crate) fn start(context: &Context, config: &RecorderConfig) -> std::io::Result<()> {
    for worker in WORKERS {
        let shared = context.shared.clone();
        let (stacks, clock) = (context.stacks.clone(), context.clock.clone());
        let queries = context.queries.clone();
        let deadlines = config.deadlines;
        let state = match worker {
            Worker::Host => State::Host(HostState::new(shared, clock)),
            Worker::Process => State::Process(ProcessState::new(shared)),
            Worker::Memory => State::Memory(MemoryState::new(shared)),
            Worker::Database => {
                State::Database(DatabaseState::new(shared, deadlines, clock, queries))
            }
            Worker::Replica => State::Replica(ReplicaState::new(shared, deadlines)),
            Worker::QueryProbe => State::QueryProbe(QueryProbe::new(shared, deadlines)),
            Worker::ConnectProbe => State::ConnectProbe(ConnectProbe::new(shared, deadlines)),
            Worker::Stacks => State::Stacks(StackState::new(shared, stacks, clock)),
            Worker::Profile => State::Profile(ProfileState::new(shared, stacks, clock)),
            Worker::Logs => State::Logs(LogState::new(shared)),
            Worker::Packets => State::Packets(Box::new(PacketState::new(
                shared,
                clock,
                queries,
                context.stop.clone(),
            ))),
        };
        let context = context.clone();
        std::thread::Builder::new()
            .name(format!("ff-{worker:?}").to_lowercase())
            // Deep recursion does not occur; the default of 2 MiB is mapped, not used.
            .stack_size(512 * 1024)
            .spawn(move || run(worker, state, &context))?;
    }
    Ok(())
}

fn run(worker: Worker, mut state: State, context: &Context) {
    let now = context.clock.now();
    let mut schedule: Vec<(usize, Millis)> = SOURCES
        .iter()
        .enumerate()
        .filter(|(_, source)| source.worker() == worker)
        .map(|(index, _)| (index, now))
        .collect();
    while !context.stop.load(Ordering::Relaxed) {
        if let State::Database(database) = &mut state {
            database.look_for_burst();
        }
        let now = context.clock.now();
        let mut next = now + NAP.as_millis() as Millis;
        for (index, due) in &mut schedule {
            let Some(source) = SOURCES.get(*index) else {
                continue;
            };
            if *due > now && !state.wants_now(source.name) {
                next = next.min(*due);
                continue;
            }
            *due = next_due(worker, source.cadence_ms, context.clock.now());
            next = next.min(*due);
            let at = context.clock.now();
            context.in_flight.begin(*index, at);
            let begin = Instant::now();
            let outcome = match context.shared.is_elsewhere() && source.is_of_host() {
                true => Err(Absent::new(source.name, Reason::Unsupported, ELSEWHERE)),
                false => take_guarded(source, &mut state),
            };
            let took = begin.elapsed();
            context.in_flight.end(*index);
            send(context, source.name, took, outcome);
        }
        let now = context.clock.now();
        if next > now {
            std::thread::sleep(Duration::from_millis(next - now));
        }
    }
}

/// When a source is read next. Missed beats are not made up for: a stalled source must not come back as a burst.
///
/// What the server's sessions do is looked at a little after the beat, each second at another moment. On the
/// beat itself all other workers wake up, so that it would see statements at their slowest; and clients with a beat
/// of their own (a paced pool, an agent that asks each second) would be met in a statement in every look, or in none.
fn next_due(worker: Worker, cadence_ms: Millis, now: Millis) -> Millis {
    let beat = (now / cadence_ms + 1) * cadence_ms;
    match worker {
        Worker::Database => beat + LOOK_AFTER_MS + scattered(beat) % LOOK_SPREAD_MS,
        _ => beat,
    }
}

/// Numbers without a pattern, the same for the same one (the end of SplitMix64).
fn scattered(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Reads a source. A panic in it, a bug of ours, costs this reading and not the recording.
fn take_guarded(source: &SourceSpec, state: &mut State) -> Outcome {
    guarded(|| take(&source.take, state)).unwrap_or_else(|place| {
        let detail = format!("the reader of this source failed at {place}; please report this bug");
        Err(Absent::new(source.name, Reason::Failed, detail))
    })
}

fn take(take: &Take, state: &mut State) -> Outcome {
    match (take, state) {
        (Take::Host(take), State::Host(state)) => take(state),
        (Take::Process(take), State::Process(state)) => take(state),
        (Take::Memory(take), State::Memory(state)) => take(state),
        (Take::Database(take), State::Database(state)) => take(state),
        (Take::Replica(take), State::Replica(state)) => take(state),
        (Take::QueryProbe(take), State::QueryProbe(state)) => take(state),
        (Take::ConnectProbe(take), State::ConnectProbe(state)) => take(state),
        (Take::Stacks(take), State::Stacks(state)) => take(state),
        (Take::Profile(take), State::Profile(state)) => take(state),
        (Take::Logs(take), State::Logs(state)) => take(state),
        (Take::Packets(take), State::Packets(state)) => take(state),
        // The schedule of a worker holds only sources of that worker.
        _ => Ok(model::Taken::default()),
    }
}

fn send(context: &Context, source: &'static str, took: Duration, outcome: Outcome) {
    if outcome
        .as_ref()
        .is_ok_and(|taken| *taken == model::Taken::default())
    {
        return;
    }
    let sample = Sample {
        source,
        at: context.clock.now(),
        took_us: took.as_micros() as u64,
        outcome,
    };
    match context.samples.try_send(sample) {
        Ok(()) | Err(TrySendError::Disconnected(_)) => {}
        Err(TrySendError::Full(_)) => {
            context.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_looked_at_each_second_and_never_in_step() {
        let mut now = 500;
        let mut phases = Vec::new();
        for second in 1..=200 {
            let due = next_due(Worker::Database, 1000, now);
            assert_eq!(due / 1000, second, "one look a second");
            assert!(due - now >= 500, "{now} to {due}");
            phases.push(due % 1000);
            now = due + 3;
        }
        let (least, most) = (phases.iter().min(), phases.iter().max());
        assert!(least >= Some(&10) && most < Some(&80), "{least:?} {most:?}");
        // Statements of 5 ms, one each 50 ms: met by chance, whatever their phase.
        for phase in 0..50 {
            let met = phases.iter().filter(|at| (*at + phase) % 50 < 5).count();
            assert!((5..=50).contains(&met), "{met} of 200 at phase {phase}");
        }
        let pairs = phases.windows(2);
        assert!(pairs.clone().all(|pair| pair[1] + 1000 >= pair[0] + 930));
    }

    #[test]
    fn other_sources_keep_to_the_beat_and_skip_what_they_missed() {
        for (cadence, now, due) in [(1000, 999, 1000), (1000, 4100, 5000), (200, 1000, 1200)] {
            assert_eq!(next_due(Worker::QueryProbe, cadence, now), due);
        }
    }
}
