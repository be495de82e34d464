//! `freezeframe web` as a user runs it: each page, who may see it, and what a browser makes of it.

#![allow(clippy::print_stderr, reason = "tests tell what they skip")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing step fails the test"
)]

mod axe;
mod browser;
mod chromium;
mod first_screen;
mod fleet;
mod guard;
mod pages;
mod seconds;
mod stage;
