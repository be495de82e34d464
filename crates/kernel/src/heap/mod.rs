//! The heap of this process: how much of it is in use, and a limit that ends the process with one
//! line before it takes more.
//!
//! **Memory of readers is an account.** What captures and incidents take is counted as it is read
//! (`captures/memory_budget.rs`, `store/src/budget.rs`, `import/src/memory_budget.rs`). What is over the account is left out and
//! reported. What a few bytes become cannot always be foreseen, so the allocator counts too (`kernel::heap`): at 80 %
//! nothing more is read, and before 512 MiB a command that only reads ends with one line.
//!
//! **A recorder keeps little.** It has one arena for all threads and large blocks as mappings
//! (`kernel::heap::keep_little`). What was freed goes back to the system after the catalogue, an incident and the
//! kernel's types. Reading BTF takes 30 MB for a moment, so recorders of several servers do it one after the other
//! (`kernel/src/kernel_types.rs`). Pages of the program are resident, too: code that runs once, or by hand, is
//! compiled for size (`Cargo.toml`), which gives 15 MB of code instead of 22.

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
