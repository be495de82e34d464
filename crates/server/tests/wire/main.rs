//! The protocol decoder on made-up and recorded streams: the same statements however they are cut into segments, and no
//! harm from whatever else comes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod conversation;
mod properties;
mod statements;
