//! Everything that is asked of real servers, one program: each would be linked alone, and most of it waits for servers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and what is skipped is said"
)]

mod digests;
mod logins;
mod questions;
mod replica;
mod tls;

use std::time::Duration;

use server::Deadlines;
use testbed::{Options, PrivateServer, ServerKind};

const TIMEOUT: Duration = Duration::from_secs(20);
const DEADLINES: Deadlines = Deadlines {
    connect: TIMEOUT,
    answer: TIMEOUT,
};

/// A server with these arguments; none, and that is said, where it is not on this machine.
fn start(kind: ServerKind, arguments: &[&str]) -> Option<PrivateServer> {
    if let Err(error @ testbed::Error::NotFetched { .. }) = testbed::installed(kind) {
        eprintln!("skipped: {error}");
        return None;
    }
    let arguments = arguments.iter().map(|one| (*one).to_owned());
    let options = Options {
        kind,
        arguments: arguments.collect(),
        ..Options::default()
    };
    Some(PrivateServer::start(&options).unwrap())
}
