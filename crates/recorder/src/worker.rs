//! The threads that read the sources. Each has a schedule of its own and sends what it reads;
//! none waits for another, for the disk, or for whoever takes the samples.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::TrySendError;
use std::time::{Duration, Instant};

use model::{Absent, Millis, Reason, SOURCES, Sample, SourceSpec};

use crate::context::Context;
use crate::guard::guarded;
use crate::reader::{Outcome, Reader, State};

/// How long a worker sleeps at the most before it looks whether something is wanted early.
const NAP: Duration = Duration::from_millis(100);

/// The same for a server on another host. What its sources may want early, and the end of the recording, wake them up
/// ([`crate::wake::Wake`], and [`State::wanted_at`]), and there may be hundreds of them.
const NAP_ELSEWHERE: Duration = Duration::from_secs(10);

/// The server's sessions are looked at so long after the beat, milliseconds. The spread stays below what parts a
/// regular look from one between two (`detect` takes 900 ms and more for a second).
const LOOK_AFTER_MS: Millis = 10;
const LOOK_SPREAD_MS: Millis = 70;

/// Starts the thread of some readers.
pub(crate) fn start<S: State>(
    context: &Context,
    readers: &'static [&'static Reader<S>],
) -> io::Result<()> {
    // A thread that has nothing to read would only wake up.
    if !rows(context, readers).any(|_| true) {
        return Ok(());
    }
    let (state, context) = (S::new(context), context.clone());
    // Deep recursion does not occur; the default of 2 MiB is mapped, not used.
    let stack_bytes = 512 << 10;
    kernel::own_threads::start_with_stack(S::THREAD, stack_bytes, move || {
        run(state, readers, &context)
    })?;
    Ok(())
}

/// What these readers read: of a server on another host nothing of this one.
fn rows<'a, S: State>(
    context: &'a Context,
    readers: &'a [&'a Reader<S>],
) -> impl Iterator<Item = (usize, &'static SourceSpec, fn(&mut S) -> Outcome)> + 'a {
    let rows = SOURCES.iter().enumerate();
    rows.filter_map(move |(index, row)| {
        let reader = readers.iter().find(|reader| reader.source == row.name)?;
        // Its own costs the recorder reads by itself then (`sources/own.rs`).
        let is_own = row.is_of_recorder() && context.shared.is_elsewhere();
        let is_read = context.shared.reads(row) && !is_own;
        is_read.then_some((index, row, reader.read))
    })
}

fn run<S: State>(mut state: S, readers: &[&Reader<S>], context: &Context) {
    let now = context.clock.now();
    let mut schedule: Vec<_> = rows(context, readers)
        .map(|(index, row, read)| (index, row, read, now))
        .collect();
    let nap = match context.shared.is_elsewhere() {
        true => NAP_ELSEWHERE,
        false => NAP,
    };
    loop {
        // Before the look at anything that it may be rung for.
        let rung = context.wake.rung();
        if context.stop.load(Ordering::Relaxed) {
            return;
        }
        state.begin_turn();
        let now = context.clock.now();
        let mut next = now + nap.as_millis() as Millis;
        for (index, row, read, due) in &mut schedule {
            if *due > now && !state.wants_now(row.name) {
                next = next.min(*due);
                continue;
            }
            *due = next_due(S::IS_SCATTERED, row.cadence_ms, context.clock.now());
            next = next.min(*due);
            let at = context.clock.now();
            context.in_flight.begin(*index, at);
            let begin = Instant::now();
            let outcome = read_guarded(row.name, || read(&mut state));
            let took = begin.elapsed();
            context.in_flight.end(*index);
            // What the end of the recording interrupted is no outcome.
            if context.stop.load(Ordering::Relaxed) {
                return;
            }
            send::<S>(context, row.name, took, outcome);
        }
        let now = context.clock.now();
        next = state.wanted_at().map_or(next, |at| next.min(at));
        if next > now {
            let time = Duration::from_millis(next - now);
            context.wake.sleep(rung, time);
        }
    }
}

/// When a source is read next. Missed beats are not made up for: a stalled source must not come back as a burst.
///
/// What the server's sessions do is looked at a little after the beat, each second at another moment. On the
/// beat itself all other workers wake up, so that it would see statements at their slowest; and clients with a beat
/// of their own (a paced pool, an agent that asks each second) would be met in a statement in every look, or in none.
fn next_due(is_scattered: bool, cadence_ms: Millis, now: Millis) -> Millis {
    let beat = (now / cadence_ms + 1) * cadence_ms;
    match is_scattered {
        true => beat + LOOK_AFTER_MS + scattered(beat) % LOOK_SPREAD_MS,
        false => beat,
    }
}

/// Numbers without a pattern, the same for the same one (the end of SplitMix64).
fn scattered(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Reads a source. A panic in it, a bug of ours, costs this reading and not the recording.
pub(crate) fn read_guarded(source: &str, read: impl FnOnce() -> Outcome) -> Outcome {
    guarded(read).unwrap_or_else(|place| {
        let detail = format!("the reader of this source failed at {place}; please report this bug");
        Err(Absent::new(source, Reason::Failed, detail))
    })
}

fn send<S: State>(context: &Context, source: &'static str, took: Duration, outcome: Outcome) {
    if outcome
        .as_ref()
        .is_ok_and(|taken| *taken == model::SourceData::default())
    {
        return;
    }
    let sample = Sample {
        source,
        at: context.clock.now(),
        took_us: took.as_micros() as u64,
        outcome,
    };
    let sample = match S::can_wait(&sample) {
        true => match context.quiet.put(sample) {
            None => return,
            Some(sample) => sample,
        },
        false => sample,
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
            let due = next_due(true, 1000, now);
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
            assert_eq!(next_due(false, cadence, now), due);
        }
    }
}
