//! The crate from outside.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing step fails the test"
)]

mod common;
mod documents;
mod incident;
mod questions;
mod store;
