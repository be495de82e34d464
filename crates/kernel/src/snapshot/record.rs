//! The records that the BPF program writes, one a thread: `struct record` of `bpf/threads.bpf.c` up to its kernel
//! stack, then that, then the user stack.

use super::raw::{NoStack, RawFutex, RawSyscall, RawThread, Registers};
use super::{futex, futex::FUTEX_BYTES};

const HEADER_BYTES: usize = 224;
const NAME_BYTES: usize = 16;

// `flags` of the record.
const HAS_REGISTERS: u32 = 1;
const HAS_SYSCALL: u32 = 2;
const HAS_FUTEX: u32 = 4;
const HAS_FUTEX_WORDS: u32 = 8;
const STACK_WHOLE: u32 = 16;
const HAS_BP: u32 = 32;
const HAS_LR: u32 = 64;
const HAS_THREAD_POINTER: u32 = 128;

/// `outcome` of the record by number; 0 is a stack.
const NO_STACK: [NoStack; 6] = [
    NoStack::OnProcessor,
    // It was on one while the stack was copied.
    NoStack::OnProcessor,
    NoStack::Gone,
    NoStack::Unreadable,
    NoStack::Unmoved,
    NoStack::Deadline,
];

/// A record, and what the snapshot does not keep of it.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) thread: RawThread,
    /// When the thread began, nanoseconds of CLOCK_MONOTONIC.
    pub(super) start_ns: u64,
    /// Where the next record begins.
    pub(super) end: usize,
}

/// Reads the record at `at`. `None` when it is not whole.
pub(super) fn read(bytes: &[u8], at: usize) -> Option<Record> {
    let header = bytes.get(at..)?.first_chunk::<HEADER_BYTES>()?;
    let mut fields = Fields(header);
    let tid = fields.u32()?;
    let flags = fields.u32()?;
    let outcome = fields.u32()?;
    let state = fields.u32()?;
    let exit_state = fields.u32()?;
    let kernel_stack_bytes = fields.u32()? as usize;
    let stack_bytes = fields.u32()? as usize;
    fields.u32()?;
    let switches = fields.u64()?;
    let start_ns = fields.u64()?;
    let ip = fields.u64()?;
    let sp = fields.u64()?;
    let bp = fields.u64()?;
    let lr = fields.u64()?;
    let thread_pointer = fields.u64()?;
    let number = fields.u64()?.cast_signed();
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        *argument = fields.u64()?;
    }
    let words = futex::words(fields.take(FUTEX_BYTES)?)?;
    let name = fields.take(NAME_BYTES)?;

    let has = |flag| flags & flag != 0;
    let kernel_stack_at = at + HEADER_BYTES;
    let stack_at = kernel_stack_at.checked_add(kernel_stack_bytes)?;
    let end = stack_at.checked_add(stack_bytes)?;
    let kernel_stack = bytes.get(kernel_stack_at..stack_at)?;
    bytes.get(stack_at..end)?;
    let stack = match outcome {
        0 => Ok(stack_at..end),
        other => Err(*NO_STACK.get(other as usize - 1)?),
    };
    let syscall = RawSyscall { number, arguments };
    let futex = futex::waited_for(&syscall).filter(|_| has(HAS_FUTEX));
    let registers = Registers {
        ip,
        sp,
        bp: has(HAS_BP).then_some(bp),
        lr: has(HAS_LR).then_some(lr),
    };
    // What was read before the thread ran is not true any more.
    let waits = stack != Err(NoStack::OnProcessor);
    let thread = RawThread {
        tid,
        name: text(name),
        state: state_letter(state, exit_state),
        switches,
        syscall: (waits && has(HAS_SYSCALL)).then_some(syscall),
        futex: futex.filter(|_| waits).map(|futex| RawFutex {
            words: has(HAS_FUTEX_WORDS).then_some(words),
            ..futex
        }),
        registers: (waits && has(HAS_REGISTERS)).then_some(registers),
        thread_pointer: has(HAS_THREAD_POINTER).then_some(thread_pointer),
        kernel_stack: kernel_stack
            .as_chunks()
            .0
            .iter()
            .map(|address| u64::from_ne_bytes(*address))
            .collect(),
        stack_whole: stack.is_ok() && has(STACK_WHOLE),
        stack,
    };
    Some(Record {
        thread,
        start_ns,
        end,
    })
}

/// The letter that `/proc/PID/stat` shows (fs/proc/array.c, `get_task_state`; include/linux/sched.h,
/// `__task_state_index`). The bits have been these since 4.14.
fn state_letter(state: u32, exit_state: u32) -> char {
    /// TASK_IDLE: UNINTERRUPTIBLE and NOLOAD.
    const IDLE: u32 = 0x402;
    /// TASK_RTLOCK_WAIT, 5.15.
    const RTLOCK_WAIT: u32 = 0x1000;
    /// TASK_FROZEN, 6.1.
    const FROZEN: u32 = 0x8000;
    const REPORT: u32 = 0x7f;
    const LETTERS: [char; 8] = ['R', 'S', 'D', 'T', 't', 'X', 'Z', 'P'];

    if state & IDLE == IDLE {
        return 'I';
    }
    if exit_state == 0 && state & (RTLOCK_WAIT | FROZEN) != 0 {
        return 'D';
    }
    let bits = (state | exit_state) & REPORT;
    let highest = u32::BITS - bits.leading_zeros();
    LETTERS.get(highest as usize).copied().unwrap_or('?')
}

fn text(name: &[u8]) -> String {
    let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
    String::from_utf8_lossy(name.get(..end).unwrap_or(name)).into_owned()
}

struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (field, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(field)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.take(8)?.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(flags: u32, outcome: u32, kernel_stack: &[u64], stack: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let small = [
            4711,
            flags,
            outcome,
            1,
            0,
            kernel_stack.len() as u32 * 8,
            stack.len() as u32,
            0,
        ];
        bytes.extend(small.iter().flat_map(|field| field.to_ne_bytes()));
        let large = [
            17, 99, 0xa, 0xb, 0xc, 0xd, 0xe, 202, 0x7000, 0x189, 0, 0, 0, 0,
        ];
        bytes.extend(large.iter().flat_map(|field: &u64| field.to_ne_bytes()));
        bytes.extend((0u32..16).flat_map(u32::to_ne_bytes));
        bytes.extend(b"worker\0\0\0\0\0\0\0\0\0\0");
        bytes.extend(
            kernel_stack
                .iter()
                .flat_map(|address| address.to_ne_bytes()),
        );
        bytes.extend(stack);
        bytes
    }

    #[test]
    fn whole() {
        let mut bytes = b"before".to_vec();
        bytes.extend(record(0xbf, 0, &[7, 8], b"the stack"));
        let read = read(&bytes, 6).unwrap();
        assert_eq!((read.end, read.start_ns), (bytes.len(), 99));
        let thread = read.thread;
        assert_eq!(
            (thread.tid, thread.name.as_str(), thread.state),
            (4711, "worker", 'S')
        );
        assert_eq!(&bytes[thread.stack.unwrap()], b"the stack");
        assert_eq!(thread.kernel_stack, [7, 8]);
        assert_eq!(thread.registers.unwrap().bp, Some(0xc));
        assert_eq!(thread.registers.unwrap().lr, None);
        let futex = thread.futex.unwrap();
        assert_eq!((futex.address, futex.operation), (0x7000, 0x189));
        assert_eq!(futex.words.unwrap()[2], 2);
        assert!(thread.stack_whole);
    }

    #[test]
    fn what_ran_has_no_registers() {
        for outcome in [1, 2] {
            let thread = read(&record(0xbf, outcome, &[], b""), 0).unwrap().thread;
            assert_eq!(thread.stack, Err(NoStack::OnProcessor));
            assert_eq!(
                (thread.registers, thread.syscall, thread.futex),
                (None, None, None)
            );
        }
    }

    #[test]
    fn a_cut_record_is_none() {
        let bytes = record(0xff, 0, &[1], b"stack");
        for end in 0..bytes.len() {
            assert!(read(&bytes[..end], 0).is_none());
        }
        assert!(read(&record(0, 7, &[], b""), 0).is_none());
    }

    #[test]
    fn letters() {
        let letters = [
            (0, 0, 'R'),
            (1, 0, 'S'),
            (2, 0, 'D'),
            (4, 0, 'T'),
            (8, 0, 't'),
            (0x80, 0x10, 'X'),
            (0x80, 0x20, 'Z'),
            (0x40, 0, 'P'),
            // Idle; killable D (TASK_KILLABLE); freezable S; woken but not yet running (TASK_WAKING).
            (0x402, 0, 'I'),
            (0x102, 0, 'D'),
            (0x2001, 0, 'S'),
            (0x200, 0, 'R'),
            (0x8000, 0, 'D'),
        ];
        for (state, exit_state, letter) in letters {
            assert_eq!(state_letter(state, exit_state), letter, "{state:#x}");
        }
    }
}
