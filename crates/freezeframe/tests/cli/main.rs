//! The program as a user runs it, beside real servers.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing step fails the test"
)]

mod bad_input;
mod captures;
mod causes;
mod compare;
mod evidence;
mod harness;
mod healthy;
mod queries;
mod stalls;
mod survival;
