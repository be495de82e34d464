//! The store against real files.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing step fails the test"
)]

mod frame;
mod history;
mod history_follow;
mod history_window;
mod samples;
mod support;
