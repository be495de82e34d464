//! Slow and general logs of every generation, and what they say in sum.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod digest;
mod general;
mod heads;
mod known_lines;
mod properties;
mod slow;
mod support;
