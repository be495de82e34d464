//! The heap of this process: how much of it is in use, and a limit that ends the process with one
//! line before it takes more.

mod counted;

pub use counted::{Counted, in_use_percent, limit, live_bytes, now_reading};

/// Gives free memory of the heap back to the kernel. After work that took much and is over: a
/// recorder runs for months beside a server that needs the memory.
///
/// glibc keeps what is freed below the top of an arena (malloc_trim(3)); other libraries give back
/// by themselves.
#[allow(unsafe_code, reason = "glibc has no other way to be told")]
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes no pointer, and takes each arena's lock itself: malloc_trim(3) has it
    // as MT-Safe.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// From this size on an allocation is a mapping of its own, bytes.
#[cfg(target_env = "gnu")]
const MAPPED_BYTES_MIN: i32 = 1 << 20;

/// Keeps little of what is freed, from now on; before the first thread is started.
///
/// glibc gives each thread an arena of its own (up to eight a processor), and what one has freed
/// another cannot use: a recorder whose work goes from thread to thread, a new one for each incident,
/// keeps as much free memory in each as it ever used there. Its threads allocate too seldom to wait
/// for each other, and share one.
///
/// And once a large block was freed, glibc takes blocks up to that size from the heap, where one that
/// grows is copied and leaves a hole. With a fixed limit a large block is a mapping: it grows without
/// a copy, and is gone when it is freed (`M_MMAP_THRESHOLD` in mallopt(3)).
#[allow(unsafe_code, reason = "glibc has no other way to be told")]
pub fn keep_little() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the calls take no pointer; mallopt(3) has them as safe before other threads allocate.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES_MIN);
    }
}
