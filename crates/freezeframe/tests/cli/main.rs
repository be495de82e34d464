//! The program as a user runs it, beside real servers.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing step fails the test"
)]

mod accuracy;
mod bad_input;
mod captures;
mod causes;
mod compare;
mod containers;
mod deploy;
mod escapes;
mod escapes_frames;
mod evidence;
mod export;
mod first_look;
mod fleet;
mod fleet_feed;
mod fleet_fixes;
mod fleet_frames;
mod fleet_gateway;
mod fleet_gateway_killed;
mod given;
mod harness;
mod healthy;
mod live_view;
mod man;
mod meaning;
mod newcomers;
mod on_demand;
mod peer;
mod pprof;
mod queries;
mod restart;
mod retention;
mod self_test;
mod service;
mod socket_login;
mod stacks_from;
mod stalls;
mod support;
mod survival;
mod targets;
mod tools;
