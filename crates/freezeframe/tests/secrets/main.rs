//! No secret leaves: markers are planted on real servers in everything that they quote, and every byte that the
//! program writes of it is searched.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

#[path = "../cli/harness.rs"]
#[allow(dead_code, reason = "the other tests use the rest of it")]
mod harness;

mod captures;
mod markers;
mod plant;
mod recorder;
mod search;
mod sequence;
mod servers;
mod stage;
mod written;
