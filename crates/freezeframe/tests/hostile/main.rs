//! The program beside servers that answer as no server should: every command that connects comes to its end, says what
//! is wrong in plain lines, and takes little memory. And it ends when it is told to.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and one part of it tells another that it is ready"
)]

mod commands;
mod play;
mod signals;
