//! `stacks`, `profile`, `locks` and the recorder's stacks as a user meets them: against programs
//! whose threads and locks are known, and against real servers under load.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../cli/harness.rs"]
#[allow(
    dead_code,
    reason = "the tests of the recorder's incidents use the rest of it"
)]
mod harness;

mod asked;
mod digest_text;
mod elsewhere;
mod gdb;
mod interrupted;
mod latches;
mod lease;
mod lease_kills;
mod locks;
mod packets;
mod packets_zstd;
mod profile;
mod queries;
mod queries_live;
mod recorder;
mod servers;
mod tool;
mod trouble;
mod victims;
