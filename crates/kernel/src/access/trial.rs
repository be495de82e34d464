#![allow(unsafe_code, reason = "bpf(2) is a raw system call")]

use std::io;

use rustix::fd::{FromRawFd, OwnedFd};

use crate::perf;

/// What the kernel answered when something was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// In words.
    pub text: String,
    /// The system call's error number; absent when it was not the kernel that refused.
    pub errno: Option<i32>,
}

impl Refusal {
    /// It is a matter of permission: EACCES or EPERM.
    pub fn is_permission(&self) -> bool {
        matches!(self.errno, Some(libc::EACCES | libc::EPERM))
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self {
            errno: error.raw_os_error(),
            text: error.to_string(),
        }
    }
}

/// A sampling event on a processor, kernel side too; it never starts.
pub(super) fn sample_processor() -> Result<(), Refusal> {
    Ok(perf::try_event(perf::Scope::Machine, true)?)
}

/// A sampling event on our first thread, kernel side too; it never starts.
pub(super) fn sample_own_kernel_side() -> Result<(), Refusal> {
    sample_process(std::process::id(), true)
}

/// A sampling event on the first thread of a process; it never starts.
pub(super) fn sample_process(pid: u32, kernel: bool) -> Result<(), Refusal> {
    Ok(perf::try_event(perf::Scope::Process(pid), kernel)?)
}

/// `BPF_PROG_LOAD` (include/uapi/linux/bpf.h).
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_PROG_TYPE_TRACEPOINT: u32 = 5;

/// The part of `union bpf_attr` that every kernel with tracing programs knows.
#[repr(C)]
#[derive(Default)]
struct ProgramLoad {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
    kern_version: u32,
    prog_flags: u32,
}

/// The program `return 0`, of a type for tracing: loaded, attached to nothing, and unloaded.
pub(super) fn load_bpf() -> Result<(), Refusal> {
    // struct bpf_insn: code, registers, offset (2), immediate (4).
    let instructions: [[u8; 8]; 2] = [
        [0xb7, 0, 0, 0, 0, 0, 0, 0], // BPF_ALU64 | BPF_MOV | BPF_K: r0 = 0
        [0x95, 0, 0, 0, 0, 0, 0, 0], // BPF_JMP | BPF_EXIT
    ];
    let license = c"GPL";
    let attr = ProgramLoad {
        prog_type: BPF_PROG_TYPE_TRACEPOINT,
        insn_cnt: instructions.len() as u32,
        insns: instructions.as_ptr() as u64,
        license: license.as_ptr() as u64,
        ..Default::default()
    };
    // SAFETY: `attr` is as long as the size says, and the instructions and the licence it points to are alive during
    // the call; the kernel only reads them.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            BPF_PROG_LOAD,
            &raw const attr,
            size_of::<ProgramLoad>(),
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error().into());
    }
    // SAFETY: the kernel has just made this descriptor, and nobody else knows of it.
    drop(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) });
    Ok(())
}
