#![allow(unsafe_code, reason = "process_vm_readv(2) is a raw system call")]

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

use super::trial::{self, Refusal};
use crate::procfs::maps;
use crate::read::{self, ReadError};
use crate::roots::ProcRoot;

/// `/proc/PID/status` and the first page of `maps`.
const HEAD_BYTES: usize = 16 << 10;

/// What we may learn about a process, each thing tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessAccess {
    /// The process.
    pub pid: u32,
    /// Its user id is our effective one.
    pub same_uid: bool,
    /// It may be dumped, so that its `/proc` files belong to its user. A server that was started by root and then
    /// changed its user may not: even its own user learns nothing then (prctl(2), PR_SET_DUMPABLE).
    pub dumpable: bool,
    /// It is in a pid namespace below ours: a container's.
    pub other_pid_namespace: bool,
    /// `/proc/PID/task/TID/syscall`: registers of its waiting threads.
    pub syscall_readable: Result<(), Refusal>,
    /// Its memory: stacks, and owners of locks.
    pub memory_readable: Result<(), Refusal>,
    /// `/proc/PID/maps`: which images lie where.
    pub maps_readable: Result<(), Refusal>,
    /// Its images: by `/proc/PID/root`, as the process sees them; or by the paths in `maps`, where the first of them
    /// is the same file for us.
    pub images_readable: Result<(), Refusal>,
    /// `/proc/PID/stack`: the kernel's stacks without BPF.
    pub kernel_stack_readable: Result<(), Refusal>,
    /// Sampling its threads, kernel side too.
    pub sample_kernel_side: Result<(), Refusal>,
    /// Sampling its threads, user side alone.
    pub sample_user_side: Result<(), Refusal>,
}

/// Tries each of them once on the first thread of a process. Reading `maps` and memory may wait for the process's
/// `mmap_lock`. The error is that of `/proc/PID/status`, which everybody may read while the process lives.
pub fn process_access(pid: u32) -> Result<ProcessAccess, ReadError> {
    let proc = ProcRoot::default();
    let path = proc.of(pid, "status");
    let status = read::head(&path, HEAD_BYTES)?;
    let status = String::from_utf8_lossy(&status);
    // Real, effective, saved, file system.
    let uid = numbers(&status, "Uid:").nth(1);
    let owner = std::fs::metadata(&path)
        .map_err(|error| read::io_error(&path, error))?
        .uid();
    let readable = |name: &str| try_read(&proc, pid, name);
    Ok(ProcessAccess {
        pid,
        same_uid: uid == Some(rustix::process::geteuid().as_raw()),
        dumpable: uid == Some(owner),
        other_pid_namespace: numbers(&status, "NSpid:").count() > 1,
        syscall_readable: readable(&format!("task/{pid}/syscall")),
        memory_readable: try_memory(pid).map_err(Refusal::from),
        maps_readable: readable("maps"),
        images_readable: try_images(&proc, pid),
        kernel_stack_readable: readable("stack"),
        sample_kernel_side: trial::sample_process(pid, true),
        sample_user_side: trial::sample_process(pid, false),
    })
}

fn numbers<'a>(status: &'a str, key: &str) -> impl Iterator<Item = u32> + 'a {
    status
        .lines()
        .find_map(|line| line.strip_prefix(key))
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|number| number.parse().ok())
}

fn try_read(proc: &ProcRoot, pid: u32, name: &str) -> Result<(), Refusal> {
    match read::head(&proc.of(pid, name), HEAD_BYTES) {
        Ok(_) => Ok(()),
        Err(ReadError::Io { source, .. }) => Err(source.into()),
        Err(other) => Err(Refusal {
            text: other.to_string(),
            errno: None,
        }),
    }
}

fn try_images(proc: &ProcRoot, pid: u32) -> Result<(), Refusal> {
    let Err(refused) = std::fs::read_dir(proc.of(pid, "root")) else {
        return Ok(());
    };
    let maps = read::head(&proc.of(pid, "maps"), HEAD_BYTES).unwrap_or_default();
    let same_for_us = maps::mappings(&maps)
        .find_map(|mapping| Some((mapping.file()?, mapping.inode)))
        .is_some_and(|(path, inode)| {
            let opened = File::open(path).and_then(|file| file.metadata());
            opened.is_ok_and(|file| file.ino() == inode)
        });
    if same_for_us {
        Ok(())
    } else {
        Err(refused.into())
    }
}

/// Permission is asked before the address is looked at (`process_vm_rw_core`, mm/process_vm_access.c): at address 0,
/// where nothing is mapped, EFAULT means that it was given.
fn try_memory(pid: u32) -> io::Result<()> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut byte = 0_u8;
    let local = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    let remote = libc::iovec {
        iov_base: std::ptr::null_mut(),
        iov_len: 1,
    };
    // SAFETY: both vectors have one entry and live during the call; the local one is the address and length of `byte`,
    // which nothing else uses. The remote address is the other process's and is not touched here.
    let count = unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) };
    if count >= 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EFAULT) => Ok(()),
        _ => Err(error),
    }
}
