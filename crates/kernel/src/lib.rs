//! What Linux tells about a database server and its host.
//!
//! Parsers take bytes and return plain values; thin readers beside them open the files, bounded in memory.
//! A reader may block as long as the kernel lets it: the ones that can wait for the server's `mmap_lock`
//! say so, and the caller runs them on a thread of their own with a deadline.

pub mod accept_queue;
pub mod access;
mod bpf_objects;
pub mod clock;
pub mod connections;
pub mod heap;
mod kernel_types;
pub mod kmsg;
pub mod lock_waits;
pub mod memory;
pub mod netlink;
pub mod own_threads;
pub mod own_time;
pub mod packets;
pub mod perf;
pub mod places;
pub mod procfs;
pub mod read;
pub mod roots;
pub mod run_delay;
pub mod servers;
pub mod snapshot;
pub mod tasks;
