//! What runs on the processors: samples by `perf_event_open(2)`, with the kernel's call chain, the user registers and
//! a copy of the user stack. Unwinding and naming come later, elsewhere.
//!
//! - The clock is the processor's cycle counter where there is one, else `cpu-clock`, a timer. Cycles come by NMI and
//!   see code that runs with interrupts off; the timer does not, and shows such code where interrupts come on again.
//! - The registers of a sample are always those of the user side: for a thread that is in the kernel, the ones with
//!   which it entered (`perf_sample_regs_user`, kernel/events/core.c). So a kernel chain and the unwound user stack
//!   make one stack without a gap. A kernel thread has none.
//! - An idle processor gives no samples (`exclude_idle`). With `cpu-clock` that includes interrupts handled while the
//!   idle task is current. The timer of an idle processor still fires.
//! - Process ids are those of the reader's pid namespace. A process that has none there is 0, one that had ended
//!   `u32::MAX` (`perf_event_pid_type`).
//! - Names of threads are not in the samples: read `/proc/PID/task/TID/comm` when they are wanted.
//!
//! A sample takes `stack_bytes` of ring space whatever the depth of its stack: the kernel reserves it first and tells
//! afterwards how much it copied.

mod attributes;
mod error;
mod events;
mod opening;
mod options;
mod processors;
mod record;
mod registers;
mod ring;
mod sampler;

pub use attributes::Clock;
pub use error::PerfError;
pub(crate) use opening::try_event;
pub use options::{
    EVENTS_MAX, HZ_MAX, RINGS_BYTES_MAX, STACK_BYTES_MAX, SamplerOptions, Scope, ring_bytes_for,
};
pub use processors::parse_list;
pub use record::{
    Next, Record, Sample, SampleLayout, kernel_addresses, next_record, parse_record, parse_sample,
};
pub use sampler::{Drained, RawSample, Sampler};
