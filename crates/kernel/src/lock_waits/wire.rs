//! What the BPF object and this crate agree on. Numbers are the host's: `lock_waits.bpf.c` has the
//! structures.

use std::time::Duration;

use crate::snapshot::Registers;

/// Buckets of [`super::AddressWaits::histogram`].
pub const HISTOGRAM_BUCKETS: usize = 24;

/// Most bytes of stack a sample can carry (`STACK_STEP * STACK_STEPS_MAX`).
pub const STACK_BYTES_MAX: u32 = 16 * 1024;

/// Stacks are copied in steps of this where the whole copy fails (`STACK_STEP`).
pub(super) const STACK_STEP_BYTES: u32 = 512;

/// Rates are measured over this (`WINDOW_NS`).
pub(super) const WINDOWS_PER_SECOND: u64 = 10;

/// `BUCKET_SHIFT`: the first bucket holds everything under 2^(10+1) ns.
const BUCKET_SHIFT: u32 = 10;

/// The shortest wait that histogram bucket `bucket` counts: zero for the first, then 2.048 µs, and
/// twice as much from one to the next. The last has no upper end (8.6 s and more).
pub fn bucket_from(bucket: usize) -> Duration {
    match u32::try_from(bucket) {
        Ok(0) => Duration::ZERO,
        Ok(b) if b + BUCKET_SHIFT < u64::BITS => Duration::from_nanos(1 << (b + BUCKET_SHIFT)),
        _ => Duration::MAX,
    }
}

/// The bucket of a wait, as `bucket_of` counts it.
pub(super) fn bucket_of(ns: u64) -> usize {
    let log = (ns >> BUCKET_SHIFT).checked_ilog2().unwrap_or(0) as usize;
    log.min(HISTOGRAM_BUCKETS - 1)
}

/// `struct state`, in 64-bit words.
pub(super) type StateWords = [u64; 44];

/// The fields of `struct state` that are read here.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct State {
    pub off_at: u64,
    pub kernel_off_at: u64,
    pub lost_samples: u64,
    pub untracked: u64,
}

impl State {
    pub fn of(words: &StateWords) -> Self {
        Self {
            off_at: words[0],
            kernel_off_at: words[1],
            lost_samples: words[8],
            untracked: words[9],
        }
    }
}

/// `struct row`: seven words and 24 counters of 32 bits.
pub(super) type RowBytes = [u8; 7 * 8 + HISTOGRAM_BUCKETS * 4];
/// `struct wait`.
pub(super) type WaitBytes = [u8; 32];
/// `struct kernel_path`.
pub(super) type KernelPathBytes = [u8; 8];
/// `struct kernel_row`.
pub(super) type KernelRowWords = [u64; 4];
/// `struct kernel_wait`.
pub(super) type KernelWaitBytes = [u8; 32];

/// `KERNEL_STACKS_MAX`: stacks of waits that spin are numbered from here on.
pub(super) const KERNEL_STACKS_MAX: u32 = 8192;

/// `MMAP_LOCK` in a kernel path's flags.
pub(super) const MMAP_LOCK: u32 = 1 << 31;

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..at + 8)
        .and_then(|b| b.try_into().ok())
        .map_or(0, u64::from_ne_bytes)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .and_then(|b| b.try_into().ok())
        .map_or(0, u32::from_ne_bytes)
}

/// Bytes of `struct sample` before the stack.
pub(super) const SAMPLE_HEADER_BYTES: usize = 72;
const ENDED_BYTES: usize = 24;

const EVENT_SAMPLE: u32 = 1;
const EVENT_ENDED: u32 = 2;

/// A sampled wait's beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Begun {
    pub tid: u32,
    pub since: u64,
    pub address: u64,
    pub operation: u32,
    pub one_in: u32,
    pub registers: Registers,
    pub thread_pointer: u64,
    pub stack: Vec<u8>,
}

/// A record of the ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    Begun(Begun),
    Ended { tid: u32, since: u64, waited: u64 },
}

/// Reads a record; `None` for one that is none of ours.
pub(super) fn event(bytes: &[u8]) -> Option<Event> {
    let kind = u32_at(bytes, 0);
    let tid = u32_at(bytes, 4);
    let since = u64_at(bytes, 8);
    if kind == EVENT_ENDED && bytes.len() >= ENDED_BYTES {
        let waited = u64_at(bytes, 16);
        return Some(Event::Ended { tid, since, waited });
    }
    if kind != EVENT_SAMPLE || bytes.len() < SAMPLE_HEADER_BYTES {
        return None;
    }
    let stack = bytes.get(SAMPLE_HEADER_BYTES..).unwrap_or(&[]);
    let length = usize::try_from(u64_at(bytes, 64)).unwrap_or(0);
    Some(Event::Begun(Begun {
        tid,
        since,
        address: u64_at(bytes, 16),
        operation: u32_at(bytes, 24),
        one_in: u32_at(bytes, 28),
        registers: Registers {
            ip: u64_at(bytes, 32),
            sp: u64_at(bytes, 40),
            bp: Some(u64_at(bytes, 48)),
            lr: None,
        },
        thread_pointer: u64_at(bytes, 56),
        stack: stack[..length.min(stack.len())].to_vec(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_begin_where_they_count_from() {
        for bucket in 0..HISTOGRAM_BUCKETS {
            let from = bucket_from(bucket).as_nanos() as u64;
            assert_eq!(bucket_of(from), bucket, "bucket {bucket} at its begin");
            if bucket > 0 {
                assert_eq!(bucket_of(from - 1), bucket - 1, "just before {bucket}");
            }
        }
        assert_eq!(bucket_of(u64::MAX), HISTOGRAM_BUCKETS - 1);
        assert_eq!(bucket_from(1), Duration::from_nanos(2048));
    }

    #[test]
    fn a_sample_is_read_and_a_cut_one_is_not_trusted() {
        let mut bytes = Vec::new();
        bytes.extend(1u32.to_ne_bytes());
        bytes.extend(77u32.to_ne_bytes());
        for word in [5u64, 0xf00] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(0x80u32.to_ne_bytes());
        bytes.extend(9u32.to_ne_bytes());
        for word in [1u64, 2, 3, 4] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(100u64.to_ne_bytes());
        assert_eq!(event(&bytes[..SAMPLE_HEADER_BYTES - 1]), None);
        bytes.extend([7u8; 16]);
        let Some(Event::Begun(begun)) = event(&bytes) else {
            panic!("no sample");
        };
        assert_eq!((begun.tid, begun.since, begun.address), (77, 5, 0xf00));
        assert_eq!((begun.operation, begun.one_in), (0x80, 9));
        assert_eq!(begun.registers.bp, Some(3));
        assert_eq!(begun.thread_pointer, 4);
        assert_eq!(begun.stack, [7; 16], "no more than is there");
    }

    #[test]
    fn an_end_is_read_and_other_records_are_not() {
        let mut bytes = Vec::new();
        bytes.extend(2u32.to_ne_bytes());
        bytes.extend(77u32.to_ne_bytes());
        bytes.extend(5u64.to_ne_bytes());
        bytes.extend(1000u64.to_ne_bytes());
        let ended = Event::Ended {
            tid: 77,
            since: 5,
            waited: 1000,
        };
        assert_eq!(event(&bytes), Some(ended));
        bytes[0] = 3;
        assert_eq!(event(&bytes), None);
        assert_eq!(event(&[]), None);
    }
}
