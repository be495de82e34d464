//! The crate from outside.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a failing step fails the test, and what is skipped is said"
)]

mod clickhouse;
mod common;
mod documents;
mod gateway;
mod incident;
mod minutes;
mod questions;
mod store;
