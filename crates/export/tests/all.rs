//! The tests of the export, one program: each would be linked alone. A file beside this one has its line here.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failing step fails the test, and what is skipped is said"
)]

mod attack;
mod common;
mod redaction;
mod stalk;
