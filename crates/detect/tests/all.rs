//! The tests of the detector, one program: each would be linked alone. A file beside this one has its line here.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failing step fails the test, and what is skipped is said"
)]

mod common;
mod detector;
mod healthy;
mod properties;
mod quota;
mod recorded;
mod recordings;
mod run_queue;
mod sim;
mod sweep;
mod without_login;
