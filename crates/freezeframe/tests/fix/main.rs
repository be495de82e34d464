//! `fix` as a user meets it: in a private root, on real servers, and on this machine's own switch for huge pages.

#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests tell what they skip or measure"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../cli/harness.rs"]
#[allow(
    dead_code,
    reason = "the tests of the recorder's incidents use the rest of it"
)]
mod harness;

mod contained;
mod helper;
mod huge_pages;
mod kills;
mod leases;
mod own_causes;
mod plans;
mod scene;
mod servers;
mod sessions;
mod starts;
mod told;
