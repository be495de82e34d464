//! Records of a perf ring, from bytes (`perf_event_open(2)`, "MMAP layout"). Pure: nothing here trusts a length.

use std::time::Duration;

use perf_event_open_sys::bindings;

use super::registers;
use crate::snapshot::Registers;

/// `struct perf_event_header`: type (4), misc (2), size (2).
const HEADER_BYTES: usize = 8;
/// Values from here on are marks in a call chain and no addresses.
const CONTEXT_MARKS_FROM: u64 = bindings::PERF_CONTEXT_MAX;

/// What a sample holds beside ids, time and processor: set when the event is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleLayout {
    /// The kernel's call chain.
    pub callchain: bool,
    /// A copy of the user stack.
    pub user_stack: bool,
}

/// A sample as it lies in the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample<'a> {
    /// CLOCK_MONOTONIC.
    pub time: Duration,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Processor.
    pub cpu: u32,
    /// The processor was in the kernel.
    pub in_kernel: bool,
    /// Call chain: eight bytes an entry, with marks; see [`kernel_addresses`].
    pub chain: &'a [u8],
    /// User registers; absent for kernel threads and 32-bit processes.
    pub registers: Option<Registers>,
    /// The user stack from `registers.sp` upwards, as far as it could be copied.
    pub stack: &'a [u8],
}

/// A record of the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'a> {
    /// A sample.
    Sample(Sample<'a>),
    /// So many records found no room.
    Lost(u64),
    /// The kernel held the event back: it came too often.
    Throttled,
    /// Any other kind.
    Other,
    /// Of a kind known here, but its lengths do not fit.
    Damaged,
}

/// The bytes of a record, or why there are none.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// A whole record with its header.
    Record(&'a [u8]),
    /// Everything is read.
    End,
    /// The header's size cannot be: what follows has no known beginning.
    Damaged,
}

/// The first record of what is unread. It lies in one piece, or in two where the ring's end is between: a record that
/// spans them is put together in `scratch`, which never holds more than 64 KiB (the size is 16 bits wide).
pub fn next_record<'a>(first: &'a [u8], second: &'a [u8], scratch: &'a mut Vec<u8>) -> Next<'a> {
    let unread = first.len() + second.len();
    if unread == 0 {
        return Next::End;
    }
    let size = match (byte_at(first, second, 6), byte_at(first, second, 7)) {
        (Some(low), Some(high)) => usize::from(u16::from_ne_bytes([low, high])),
        _ => return Next::Damaged,
    };
    if size < HEADER_BYTES || size > unread {
        return Next::Damaged;
    }
    if let Some(record) = first.get(..size) {
        return Next::Record(record);
    }
    scratch.clear();
    scratch.extend_from_slice(first);
    scratch.extend(second.iter().take(size - first.len()));
    Next::Record(scratch)
}

fn byte_at(first: &[u8], second: &[u8], at: usize) -> Option<u8> {
    match first.get(at) {
        Some(byte) => Some(*byte),
        None => second.get(at.checked_sub(first.len())?).copied(),
    }
}

/// A record with its header, as [`next_record`] gives it.
pub fn parse_record(record: &[u8], layout: SampleLayout) -> Record<'_> {
    let mut fields = Fields(record);
    let Some(kind) = fields.u32() else {
        return Record::Damaged;
    };
    match kind {
        bindings::PERF_RECORD_SAMPLE => {
            parse_sample(record, layout).map_or(Record::Damaged, Record::Sample)
        }
        // Header, id, number.
        bindings::PERF_RECORD_LOST => record
            .get(2 * HEADER_BYTES..)
            .and_then(|rest| Fields(rest).u64())
            .map_or(Record::Damaged, Record::Lost),
        // Header, number.
        bindings::PERF_RECORD_LOST_SAMPLES => record
            .get(HEADER_BYTES..)
            .and_then(|rest| Fields(rest).u64())
            .map_or(Record::Damaged, Record::Lost),
        bindings::PERF_RECORD_THROTTLE => Record::Throttled,
        _ => Record::Other,
    }
}

/// A `PERF_RECORD_SAMPLE` with its header; `None` when it is shorter than its own lengths say.
pub fn parse_sample(record: &[u8], layout: SampleLayout) -> Option<Sample<'_>> {
    let mut fields = Fields(record);
    let _kind = fields.u32()?;
    let misc = fields.u16()?;
    let _size = fields.u16()?;
    let pid = fields.u32()?;
    let tid = fields.u32()?;
    let time = Duration::from_nanos(fields.u64()?);
    let cpu = fields.u32()?;
    let _reserved = fields.u32()?;
    let chain = if layout.callchain {
        let entries = usize::try_from(fields.u64()?).ok()?;
        fields.bytes(entries.checked_mul(8)?)?
    } else {
        &[]
    };
    // Without registers (a kernel thread) the kernel writes the abi alone.
    let abi = fields.u64()?;
    let registers = if abi == u64::from(bindings::PERF_SAMPLE_REGS_ABI_NONE) {
        None
    } else {
        let values = fields.bytes(registers::COUNT * 8)?;
        registers::from_values(abi, words(values))
    };
    let stack = if layout.user_stack {
        let reserved = usize::try_from(fields.u64()?).ok()?;
        if reserved == 0 {
            &[]
        } else {
            let area = fields.bytes(reserved)?;
            let copied = usize::try_from(fields.u64()?).ok()?;
            area.get(..copied)?
        }
    } else {
        &[]
    };
    Some(Sample {
        time,
        pid,
        tid,
        cpu,
        in_kernel: u32::from(misc) & bindings::PERF_RECORD_MISC_CPUMODE_MASK
            == bindings::PERF_RECORD_MISC_KERNEL,
        chain,
        registers,
        // Registers of another width make nothing of the stack's bytes.
        stack: if registers.is_some() { stack } else { &[] },
    })
}

/// The addresses of a chain that are the kernel's, innermost first, without marks. They are put at the end of `into`.
pub fn kernel_addresses(chain: &[u8], into: &mut Vec<u64>) {
    let mut in_kernel = false;
    for entry in words(chain) {
        if entry >= CONTEXT_MARKS_FROM {
            in_kernel = entry == bindings::PERF_CONTEXT_KERNEL;
        } else if in_kernel {
            into.push(entry);
        }
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes
        .as_chunks::<8>()
        .0
        .iter()
        .map(|word| u64::from_ne_bytes(*word))
}

/// What is left of a record.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_ne_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_ne_bytes)
    }
}
