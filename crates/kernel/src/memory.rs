//! Another process's memory, by `process_vm_readv`: nothing stopped, no file opened.
//!
//! Needs what ptrace needs (ptrace(2), `PTRACE_MODE_ATTACH_REALCREDS`): the same user and a process that may be dumped,
//! or CAP_SYS_PTRACE. A read takes the process's `mmap_lock` for reading and brings in pages that are swapped out
//! (mm/process_vm_access.c, `process_vm_rw_single_vec`), so it may wait for either: callers run on a thread of their
//! own.

#![expect(
    unsafe_code,
    reason = "process_vm_readv and get_robust_list have no safe wrapper"
)]

use std::io;
use std::ptr;

/// Copies the process's bytes from `address` on into `buffer` and tells how many were there: fewer when a mapping ends
/// before the buffer does (by whole pages). Fails with `EFAULT` when there is nothing at `address`, `EPERM` when the
/// system refuses it, `ESRCH` when the process is gone. `pid` may be the id of any of its threads.
pub fn read_memory(pid: u32, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    let remote_base =
        usize::try_from(address).map_err(|_| io::Error::from_raw_os_error(libc::EFAULT))?;
    let local = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let remote = libc::iovec {
        iov_base: ptr::without_provenance_mut(remote_base),
        iov_len: buffer.len(),
    };
    // SAFETY: both vectors have one element, as told. The kernel writes at most `iov_len` bytes to `iov_base` of the
    // local one, which is `buffer`, borrowed mutably until the call is over; the remote one is an address in another
    // address space, which the kernel checks. A read of this very process copies onto `buffer` from memory that the
    // caller may be changing: any bytes are valid `u8`s.
    let read = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Where a thread keeps the head of its list of robust futexes (get_robust_list(2)); 0 when it has none.
pub(crate) fn robust_list_head(tid: u32) -> io::Result<u64> {
    let tid = libc::pid_t::try_from(tid).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    let mut head: *mut libc::c_void = ptr::null_mut();
    let mut bytes: libc::size_t = 0;
    // SAFETY: the kernel writes one pointer and one length to the two places, which live until the call is over. The
    // pointer is an address of the other process and is never followed here.
    let result = unsafe {
        libc::syscall(
            libc::SYS_get_robust_list,
            libc::c_long::from(tid),
            &raw mut head,
            &raw mut bytes,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(head.addr() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_memory() {
        let there = *b"what stands there";
        let mut copy = [0; 17];
        let address = there.as_ptr().addr() as u64;
        assert_eq!(
            read_memory(std::process::id(), address, &mut copy).unwrap(),
            17
        );
        assert_eq!(copy, there);
    }

    #[test]
    fn nothing_there() {
        let error = read_memory(std::process::id(), 8, &mut [0; 4]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
        let error = read_memory(u32::MAX, 8, &mut [0; 4]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
    }

    #[test]
    fn own_robust_list() {
        let link = std::fs::read_link("/proc/thread-self").unwrap();
        let tid = link.file_name().unwrap().to_str().unwrap().parse().unwrap();
        assert_ne!(robust_list_head(tid).unwrap(), 0);
    }
}
