//! The memory of another process, copied by process_vm_readv(2).
//!
//! Needs what ptrace(2) calls PTRACE_MODE_ATTACH_REALCREDS: the same user and a dumpable process, or CAP_SYS_PTRACE.
//! Nothing is stopped. The kernel takes the process's `mmap_lock` for reading and may fault pages in, so a call can
//! block for as long as a mapping or a disk operation of that process lasts.

use std::io;

/// Copies memory of a process from `address` on into `buffer` and returns how many bytes it was: fewer than asked for
/// when the mapped memory ends before.
///
/// Fails with EFAULT where nothing is mapped, EPERM where it is refused, ESRCH when the process is gone.
#[expect(unsafe_code, reason = "rustix has no process_vm_readv")]
pub fn read_memory(pid: u32, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let (Ok(pid), Ok(address)) = (libc::pid_t::try_from(pid), usize::try_from(address)) else {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    };
    let local = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let remote = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: buffer.len(),
    };
    // SAFETY: `local` describes `buffer`, which is borrowed mutably for the call, and the kernel writes at most
    // `iov_len` bytes there. `remote` is an address of another address space: it is never dereferenced here.
    let copied = unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) };
    usize::try_from(copied).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_memory_and_none() {
        let secret = *b"sixteen bytes ok";
        let mut copy = [0; 16];
        let read = read_memory(std::process::id(), secret.as_ptr() as u64, &mut copy).unwrap();
        assert_eq!((read, copy), (16, secret));
        let refused = read_memory(std::process::id(), 16, &mut copy).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EFAULT));
    }
}
