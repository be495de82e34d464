//! From registers and bytes to meaning: unwinding, names, profiles, lock tables and holders.

pub mod locks;
pub mod syscalls;
