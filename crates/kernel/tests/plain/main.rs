//! What needs no process of its own, one program: each would be linked alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a failing step fails the test, and what is skipped is said"
)]

mod accept_queue;
mod access_advice;
#[path = "../copied/mod.rs"]
mod copied;
mod packets;
mod perf_records;
mod procfs;
mod properties;
mod servers;
mod snapshot_object;
