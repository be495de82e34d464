//! Lock tables from hand-written snapshots, from stacks of captures, and from anything at all.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod captures;
mod chains;
mod exact;
mod holders;
mod names;
mod notation;
mod properties;
mod real;
mod waits;
