//! From registers and bytes to meaning: unwinding, names, profiles, lock tables and holders.
//!
//! **A register that is not known ends a stack.** An unwinder that goes on with a wrong frame pointer gives a stack
//! that looks right. So a stack is complete only where a table marks its last function as called by nobody, or where
//! that is a thread's first one. Every other stack carries its reason.

pub mod images;
mod kernel_locks;
mod latches;
pub mod locks;
pub mod names;
mod naming;
pub mod observer;
pub mod profiler;
pub mod raw_stack_table;
pub mod shorten;
pub mod syscalls;
pub mod unwind;
mod unwound_snapshot;
mod watch;

pub use kernel_locks::kernel_lock_rows;
pub use latches::Latch;
pub use naming::{Numbers, RawStacks, lock_symbols};
pub use raw_stack_table::{RawStackId, RawStackTable};
pub use unwound_snapshot::{UnwoundSnapshot, UnwoundSyscall, UnwoundThread};
pub use watch::{LockLocation, Sampled, Watch, kernel_part};
