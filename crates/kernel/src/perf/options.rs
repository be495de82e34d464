use std::time::Duration;

use super::PerfError;
use super::registers;
use crate::clock;

/// The kernel takes less than 64 KiB (`perf_copy_attr`, kernel/events/core.c), and the sample's
/// other parts must fit in the same 16-bit size.
pub const STACK_BYTES_MAX: u32 = 63 << 10;
/// Above it a profile is no low-rate one any more, and the timer's own cost shows.
pub const HZ_MAX: u32 = 10_000;
/// All rings together: it is memory that cannot be swapped, and it must not grow with the number of processors. Above
/// it every ring is made smaller, down to two samples; [`super::Sampler::wait`] then wakes more often.
pub const RINGS_BYTES_MAX: usize = 32 << 20;
/// Events for the threads of a process: each takes one and a half KiB of the kernel's memory and a descriptor.
pub const EVENTS_MAX: usize = 16_384;
/// Longest header, ids and call chain (`perf_event_max_stack` is 127 frames) of a sample beside its stack.
const SAMPLE_REST_BYTES: usize = 2048;

/// What is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All processors, whatever runs on them.
    Machine,
    /// The threads of a process, for those who may not sample processors: one event for each thread and processor, which
    /// new threads inherit. Where the kernel's side is refused, the user side alone. Threads that others create between
    /// listing and opening are missed. Descriptors bound how many there can be: half of the soft limit is used, for the
    /// threads that have used the most processor time, so raise it first.
    Process(u32),
}

/// How to sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplerOptions {
    /// What.
    pub scope: Scope,
    /// Samples a second and processor, 1 to [`HZ_MAX`].
    pub hz: u32,
    /// Bytes of user stack copied for each sample: a multiple of 8, at most [`STACK_BYTES_MAX`].
    pub stack_bytes: u32,
    /// The kernel's side too.
    pub kernel: bool,
    /// Copy user stacks. Registers are there without it.
    pub user_stacks: bool,
    /// Room for samples on each processor, bytes; rounded up to a power of two that holds two samples, and made smaller
    /// where the system does not allow so much or all rings would be more than [`RINGS_BYTES_MAX`]. See
    /// [`ring_bytes_for`].
    pub ring_bytes: usize,
}

/// Room for all samples of a processor in the time from one [`Sampler::drain`] to the next, twice.
pub fn ring_bytes_for(hz: u32, stack_bytes: u32, drained_every: Duration) -> usize {
    let sample = u64::from(stack_bytes) + SAMPLE_REST_BYTES as u64;
    let samples = (f64::from(hz) * drained_every.as_secs_f64()).ceil() as u64 + 1;
    let bytes = sample.saturating_mul(samples).saturating_mul(2);
    usize::try_from(bytes)
        .unwrap_or(RINGS_BYTES_MAX)
        .min(RINGS_BYTES_MAX)
        .next_power_of_two()
}

/// What no kernel takes is refused before it is asked.
pub(super) fn check(options: &SamplerOptions) -> Result<(), PerfError> {
    if registers::COUNT == 0 {
        return Err(PerfError::Architecture);
    }
    if !(1..=HZ_MAX).contains(&options.hz) {
        return Err(PerfError::Options(HZ_WORDS));
    }
    if options.stack_bytes > STACK_BYTES_MAX || !options.stack_bytes.is_multiple_of(8) {
        return Err(PerfError::Options(
            "stack bytes are a multiple of 8, at most 64512",
        ));
    }
    Ok(())
}

pub(super) const HZ_WORDS: &str = "a rate is from 1 to 10000 samples a second";

/// The largest ring of `wanted` bytes or less that the limit leaves to each of `processors`, but one that holds two samples.
pub(super) fn ring_bytes_at_most(wanted: usize, least: usize, processors: usize) -> usize {
    let share = RINGS_BYTES_MAX / processors.max(1);
    let mut bytes = wanted.clamp(least, RINGS_BYTES_MAX).next_power_of_two();
    while bytes > share && bytes / 2 >= least {
        bytes /= 2;
    }
    bytes
}

/// The smallest ring: it holds two samples.
pub(super) fn ring_bytes_least(stack_bytes: u32) -> usize {
    let two_samples = 2 * (stack_bytes as usize + SAMPLE_REST_BYTES);
    two_samples
        .next_power_of_two()
        .max(clock::page_size_bytes())
}

#[cfg(test)]
mod tests {
    use super::{RINGS_BYTES_MAX, ring_bytes_at_most, ring_bytes_for, ring_bytes_least};
    use std::time::Duration;

    #[test]
    fn rings_hold_what_comes_and_stay_under_the_limit() {
        let wanted = ring_bytes_for(99, 32 << 10, Duration::from_millis(500));
        assert_eq!(wanted, 4 << 20);
        let least = ring_bytes_least(32 << 10);
        assert_eq!(least, 128 << 10);
        assert_eq!(ring_bytes_at_most(wanted, least, 2), 4 << 20);
        assert_eq!(ring_bytes_at_most(wanted, least, 64), 512 << 10);
        // Two samples each, even so.
        assert_eq!(ring_bytes_at_most(wanted, least, 4096), least);
        assert_eq!(ring_bytes_at_most(0, least, 1), least);
        assert_eq!(ring_bytes_at_most(usize::MAX, least, 1), RINGS_BYTES_MAX);
        let endless = Duration::from_secs(1 << 40);
        assert_eq!(ring_bytes_for(10_000, 64 << 10, endless), RINGS_BYTES_MAX);
    }
}
