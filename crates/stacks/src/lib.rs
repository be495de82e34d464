//! From registers and bytes to meaning: unwinding, names, profiles, lock tables and holders.

pub mod images;
pub mod names;
pub mod raw_book;
pub mod shorten;
pub mod unwind;
pub mod locks;
pub mod syscalls;
