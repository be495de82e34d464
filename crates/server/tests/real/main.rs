//! Everything that is asked of real servers, one program: each would be linked alone, and most of it waits for servers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and what is skipped is said"
)]

mod digests;
mod logins;
mod questions;
mod replica;
mod tls;
