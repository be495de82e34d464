//! All threads of a process at one moment, as the kernel hands them over: registers and bytes.
//! Unwinding and naming come later, elsewhere, from what is here.

mod raw;

pub use raw::{NoStack, RawFutex, RawSnapshot, RawSyscall, RawThread, Registers, Way};
