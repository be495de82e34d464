//! A BPF iterator over the threads of one process. The crate that loads programs has no way to say which process, so
//! these are the two commands of bpf(2) themselves (include/uapi/linux/bpf.h).

#![expect(unsafe_code, reason = "bpf(2) has no safe wrapper for these commands")]

use rustix::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::io;

const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_ITER_CREATE: libc::c_long = 33;
/// `enum bpf_attach_type`.
const BPF_TRACE_ITER: u32 = 28;

/// `bpf_iter_link_info.task`: at most one is not 0.
#[repr(C)]
struct TaskFilter {
    tid: u32,
    pid: u32,
    pid_fd: u32,
}

/// `bpf_attr.link_create` up to the iterator's part.
#[repr(C)]
struct LinkCreate {
    prog_fd: u32,
    target_fd: u32,
    attach_type: u32,
    flags: u32,
    iter_info: u64,
    iter_info_len: u32,
    padding: u32,
}

/// `bpf_attr.iter_create`.
#[repr(C)]
struct IterCreate {
    link_fd: u32,
    flags: u32,
}

/// Links an iterator program, to the threads of one process or to all tasks. Kernels before 6.1 refuse the former with
/// `E2BIG` or take no notice of it.
pub(super) fn link(program: &impl AsFd, pid: Option<u32>) -> io::Result<OwnedFd> {
    let filter = TaskFilter {
        tid: 0,
        pid: pid.unwrap_or(0),
        pid_fd: 0,
    };
    let attributes = LinkCreate {
        prog_fd: number(program),
        target_fd: 0,
        attach_type: BPF_TRACE_ITER,
        flags: 0,
        iter_info: match pid {
            Some(_) => (&raw const filter).addr() as u64,
            None => 0,
        },
        iter_info_len: match pid {
            Some(_) => size_of::<TaskFilter>() as u32,
            None => 0,
        },
        padding: 0,
    };
    // SAFETY: `LinkCreate` is the layout of this command's attributes and has no uninitialised bytes. `iter_info` is
    // null or the address of `filter`, which lives until the call is over; the kernel only reads both. Its address was
    // taken with `&raw`, and the kernel sees the memory as it is at the call.
    unsafe { command(BPF_LINK_CREATE, &attributes) }
}

/// Begins a pass over what a link is for; the records are read from the file that this returns.
pub(super) fn begin(link: &OwnedFd) -> io::Result<OwnedFd> {
    let attributes = IterCreate {
        link_fd: number(link),
        flags: 0,
    };
    // SAFETY: `IterCreate` is the layout of this command's attributes, has no pointers and no uninitialised bytes.
    unsafe { command(BPF_ITER_CREATE, &attributes) }
}

/// Runs a command of bpf(2) that returns a new file descriptor.
///
/// # Safety
///
/// `A` must be a prefix of what the command takes from `union bpf_attr`, without uninitialised bytes, and the addresses
/// in it must be good for what the kernel does with them.
unsafe fn command<A>(command: libc::c_long, attributes: &A) -> io::Result<OwnedFd> {
    // SAFETY: the kernel reads `size_of::<A>()` bytes from a live reference; what they mean is the caller's promise.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<A>(),
        )
    };
    match RawFd::try_from(result) {
        // SAFETY: the kernel has just made this descriptor, and nobody else knows of it.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A descriptor as the kernel's attributes have it; an open one is never negative.
fn number(fd: &impl AsFd) -> u32 {
    fd.as_fd().as_raw_fd().cast_unsigned()
}
