//! The clocks and constants that the kernel's numbers are measured in.

use std::time::Duration;

use crate::read::{self, ReadError};
use crate::roots::ProcRoot;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// `/proc/sys/kernel/random/boot_id` is a UUID and a newline: 37 bytes (drivers/char/random.c, `proc_do_uuid`).
const BOOT_ID_BYTES_MAX: usize = 64;

/// Milliseconds since boot by `CLOCK_BOOTTIME`, which never goes back and goes on while the machine is suspended
/// (clock_gettime(2)).
pub fn boottime_ms() -> u64 {
    u64::try_from(milliseconds(clock_gettime(ClockId::Boottime))).unwrap_or(0)
}

/// CPU time of the calling thread (`CLOCK_THREAD_CPUTIME_ID`): what a piece of work costs, however busy the machine.
pub fn thread_cpu() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(used).unwrap_or_default()
}

/// Milliseconds since 1970-01-01T00:00:00Z by `CLOCK_REALTIME`; steps when the clock is set.
pub fn wall_ms() -> i64 {
    milliseconds(clock_gettime(ClockId::Realtime))
}

fn milliseconds(t: Timespec) -> i64 {
    t.tv_sec
        .saturating_mul(1000)
        .saturating_add(t.tv_nsec / 1_000_000)
}

/// The identity of this boot: readings of [`boottime_ms`] compare only within one.
pub fn boot_id(proc: &ProcRoot) -> Result<String, ReadError> {
    let bytes = read::whole(&proc.file("sys/kernel/random/boot_id"), BOOT_ID_BYTES_MAX)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// USER_HZ: the ticks a second in which `/proc` counts CPU time and start times; 100 on every Linux of today
/// (`AT_CLKTCK` of the auxiliary vector, getauxval(3)).
pub fn hertz() -> u64 {
    rustix::param::clock_ticks_per_second()
}

/// The size of a page of memory in bytes.
pub fn page_size_bytes() -> usize {
    rustix::param::page_size()
}
