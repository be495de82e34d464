//! A thread's `pthread_self()` without its registers.
//!
//! glibc registers a list of robust futexes for each thread it makes, and the list's head is a member of the thread's
//! control block; get_robust_list(2) tells its address to whoever may read the process. The block's first and third
//! words are its own address (nptl/descr.h, sysdeps/x86_64/nptl/tls.h, `tcbhead_t`), which proves the guess.

use crate::memory;

/// `offsetof(struct pthread, robust_head)` of glibc on x86-64: the same in all versions since 2.4, because the header
/// before it is padded for good.
const ROBUST_HEAD_OFFSET: u64 = 0x2e0;

/// The thread pointer of a thread of glibc on x86-64; absent for others.
pub(super) fn of(tid: u32) -> Option<u64> {
    if cfg!(not(target_arch = "x86_64")) {
        // On aarch64 the control block lies below the thread pointer and has no copy of it.
        return None;
    }
    let head = memory::robust_list_head(tid).ok()?;
    let pointer = head.checked_sub(ROBUST_HEAD_OFFSET)?;
    let mut block = [0; 24];
    let read = memory::read_memory(tid, pointer, &mut block).ok()?;
    let own = pointer.to_ne_bytes();
    let proven = read == block.len() && block.starts_with(&own) && block.ends_with(&own);
    proven.then_some(pointer)
}
