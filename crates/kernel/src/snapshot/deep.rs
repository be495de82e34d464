//! The upper part of stacks that are deeper than a way copies at once: MySQL 5.5 has more than 28 KiB on up to a tenth
//! of its busy threads' stacks. It is read a moment after the lower part; what stands there belongs to functions that
//! wait for others to return, and stays while they do.

use std::ops::Range;
use std::time::Duration;

use super::raw::RawThread;
use crate::memory::read_memory;

/// The most bytes of a stack. Recursion deeper than that is shown as cut.
const DEEP_BYTES_MAX: u64 = 256 << 10;

/// A thread pointer this far above the stack pointer is not the upper end of that stack: `ulimit -s` is 8 MiB.
const STACK_SIZE_MAX: u64 = 16 << 20;

/// Without a thread pointer nobody knows where the stack ends: a stack whose copy is shorter than this was cut by its
/// mapping's end.
const COPIED_WHOLE: usize = 16 << 10;

/// Reads on where a copy ended before the stack's upper end. Needs CAP_SYS_PTRACE for another user's process; where that
/// is refused the stacks stay as they are.
pub(super) fn extend(
    pid: u32,
    threads: &mut [RawThread],
    bytes: &mut Vec<u8>,
    deadline: Duration,
    now: impl Fn() -> Duration,
) {
    let mut buffer = Vec::new();
    for thread in threads {
        let Some((range, sp)) = cut(thread) else {
            continue;
        };
        if now() >= deadline {
            return;
        }
        let from = sp.saturating_add(range.len() as u64);
        let end = end_of(thread, sp);
        let Some(length) = end.map_or(Some(DEEP_BYTES_MAX), |end| end.checked_sub(from)) else {
            continue;
        };
        let length = length.min(DEEP_BYTES_MAX.saturating_sub(range.len() as u64));
        buffer.resize(length as usize, 0);
        let read = match read_memory(pid, from, &mut buffer) {
            Ok(read) if read > 0 => read.min(buffer.len()),
            // Refused, or gone: both concern all others as well, or this one alone; neither is worth an error.
            _ => continue,
        };
        let start = bytes.len();
        bytes.extend_from_within(range);
        bytes.extend_from_slice(&buffer[..read]);
        thread.stack_whole = end.is_some_and(|end| from.saturating_add(read as u64) >= end);
        thread.stack = Ok(start..bytes.len());
    }
}

/// The copy of a thread's stack that ends before the stack does, and the stack pointer.
fn cut(thread: &RawThread) -> Option<(Range<usize>, u64)> {
    let range = thread.stack.as_ref().ok()?.clone();
    let sp = thread.registers?.sp;
    let is_cut =
        !thread.stack_whole && (end_of(thread, sp).is_some() || range.len() >= COPIED_WHOLE);
    is_cut.then_some((range, sp))
}

/// The upper end of a thread's stack, as far as its thread pointer tells.
fn end_of(thread: &RawThread, sp: u64) -> Option<u64> {
    let pointer = thread.thread_pointer?;
    (pointer > sp && pointer - sp <= STACK_SIZE_MAX).then_some(pointer)
}
