//! The requests of ptrace(2) that one look at a thread takes. All of them must come from the OS thread that seized it.

#![expect(unsafe_code, reason = "ptrace and waitpid have no safe wrapper")]

use super::super::raw::{RawSyscall, Registers};
use rustix::io::Errno;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::ptr;

/// In the third byte of a wait status (include/uapi/linux/ptrace.h).
const PTRACE_EVENT_STOP: i32 = 128;
/// The general registers (include/uapi/linux/elf.h).
const NT_PRSTATUS: usize = 1;

/// What became of a thread that was told to stop.
pub(super) enum Stop {
    NotYet,
    /// `signal` has to be handed on when it is let go.
    Stopped {
        signal: i32,
    },
    Ended,
}

/// What a stopped thread's registers tell.
pub(super) struct StoppedRegisters {
    pub(super) registers: Registers,
    pub(super) syscall: Option<RawSyscall>,
    pub(super) thread_pointer: Option<u64>,
}

/// Puts this OS thread before all ordinary ones, where that is permitted (CAP_SYS_NICE): a thread stays stopped for as
/// long as its tracer waits for a processor, which on an overloaded host was up to a second.
pub(super) fn be_first() {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the kernel reads one sched_param. 0 is the calling thread, and no other.
    let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
}

/// Makes this OS thread the tracer, without options, and stops nothing.
pub(super) fn seize(tid: u32) -> Result<(), Errno> {
    request(libc::PTRACE_SEIZE, tid, 0, ptr::null_mut())
}

/// Asks for a stop.
pub(super) fn interrupt(tid: u32) -> Result<(), Errno> {
    request(libc::PTRACE_INTERRUPT, tid, 0, ptr::null_mut())
}

/// Lets a stopped thread go on, untraced, with this signal if it is not 0.
pub(super) fn detach(tid: u32, signal: i32) -> Result<(), Errno> {
    let signal = usize::try_from(signal).unwrap_or(0);
    request(
        libc::PTRACE_DETACH,
        tid,
        0,
        ptr::without_provenance_mut(signal),
    )
}

/// Whether a thread has stopped by now.
pub(super) fn stopped(tid: u32) -> Result<Stop, Errno> {
    let mut status = 0;
    // SAFETY: the kernel writes one int to `status`. WNOHANG makes the call return at once, __WALL takes threads too.
    let waited = unsafe {
        libc::waitpid(
            thread_id(tid)?,
            &raw mut status,
            libc::WNOHANG | libc::__WALL,
        )
    };
    match waited {
        0 => Ok(Stop::NotYet),
        -1 => Err(last_errno()),
        _ if libc::WIFSTOPPED(status) => {
            // A signal may have been on its way to the thread; then that is what it stopped for.
            let signal = if status >> 16 == PTRACE_EVENT_STOP {
                0
            } else {
                libc::WSTOPSIG(status)
            };
            Ok(Stop::Stopped { signal })
        }
        _ => Ok(Stop::Ended),
    }
}

/// The registers of a stopped thread.
pub(super) fn registers(tid: u32) -> Result<StoppedRegisters, Errno> {
    let mut regs = MaybeUninit::<libc::user_regs_struct>::zeroed();
    let mut target = libc::iovec {
        iov_base: regs.as_mut_ptr().cast(),
        iov_len: size_of::<libc::user_regs_struct>(),
    };
    request(
        libc::PTRACE_GETREGSET,
        tid,
        NT_PRSTATUS,
        (&raw mut target).cast(),
    )?;
    // SAFETY: all zeros is a value of this struct of integers, and the kernel wrote over as much of it as it has.
    let regs = unsafe { regs.assume_init() };
    Ok(told(&regs))
}

#[cfg(target_arch = "x86_64")]
fn told(regs: &libc::user_regs_struct) -> StoppedRegisters {
    let number = regs.orig_rax.cast_signed();
    StoppedRegisters {
        registers: Registers {
            ip: regs.rip,
            sp: regs.rsp,
            bp: Some(regs.rbp),
            lr: None,
        },
        // -1 outside of system calls.
        syscall: (number >= 0).then_some(RawSyscall {
            number,
            arguments: [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9],
        }),
        thread_pointer: Some(regs.fs_base),
    }
}

/// The number of the system call and the thread pointer are in register sets of their own there, not read here.
#[cfg(target_arch = "aarch64")]
fn told(regs: &libc::user_regs_struct) -> StoppedRegisters {
    StoppedRegisters {
        registers: Registers {
            ip: regs.pc,
            sp: regs.sp,
            bp: Some(regs.regs[29]),
            lr: Some(regs.regs[30]),
        },
        syscall: None,
        thread_pointer: None,
    }
}

fn request(
    request: libc::c_uint,
    tid: u32,
    address: usize,
    data: *mut libc::c_void,
) -> Result<(), Errno> {
    // SAFETY: of the requests made here only PTRACE_GETREGSET follows `data`, and there it is a live iovec that
    // describes a live buffer. `address` is never followed.
    let result = unsafe {
        libc::ptrace(
            request,
            thread_id(tid)?,
            ptr::without_provenance_mut::<libc::c_void>(address),
            data,
        )
    };
    if result == -1 {
        Err(last_errno())
    } else {
        Ok(())
    }
}

fn thread_id(tid: u32) -> Result<libc::pid_t, Errno> {
    libc::pid_t::try_from(tid).map_err(|_| Errno::SRCH)
}

fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}
