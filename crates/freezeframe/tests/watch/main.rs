//! `check`'s rules, hooks and the status address, and what must not depend on the machine: against
//! real servers, as a user meets them.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../cli/harness.rs"]
#[allow(dead_code, reason = "these tests use a part of it")]
mod harness;

mod check;
mod determinism;
mod hooks;
