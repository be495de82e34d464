//! Servers and programs that the test bed starts, one program: each would be linked alone. Loads measure, and have their own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and what is skipped is said"
)]

mod allocators;
mod private_server;
mod servers;
mod victims;
