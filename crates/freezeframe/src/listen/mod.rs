//! A small responder of HTTP/1.1 GET on a thread of its own, which never waits for a client; and the status
//! address: `/healthz` for load balancers and schema-change tools, `/metrics` for Prometheus. It reads atomics
//! and never waits for a recorder.
//!
//! **One thread serves the status address** (`listen/responder.rs`), by poll(2): no client can make another one wait.
//! When places run out, those who have their answer go first, then those who read slowly, then the oldest request
//! that is not whole. A client that sends its request at once gets its answer before its turn to go.

mod answer;
mod board;
mod connection;
#[cfg(test)]
mod contrib;
mod exposition;
mod host;
mod metrics;
mod request;
mod responder;
mod site;
mod status;
#[cfg(test)]
mod tests;

use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;

use anyhow::{Context, Result};

pub(crate) use answer::Answer;
pub(crate) use board::Board;
pub(crate) use exposition::{Format, Text};
pub(crate) use host::{Names, host_name};
pub(crate) use request::{Head, Request};
use responder::Responder;
pub(crate) use site::{Limits, Reply, Site, Slot};
pub(crate) use status::Status;

/// Connections that the kernel keeps until they are accepted. It bounds this itself
/// (`net.core.somaxconn`, 4096 as a rule); where the queue is full, clients are late by a second.
const BACKLOG: i32 = 4096;

/// Answers on this address, to who asks it by one of these names, until the process ends. `woken` can be read when an
/// answer may be there that took longer; it must not block.
pub(crate) fn start(
    address: SocketAddr,
    names: Names,
    site: Box<dyn Site>,
    woken: Option<UnixStream>,
) -> Result<SocketAddr> {
    let context = || format!("listen {address}");
    let listener = TcpListener::bind(address).with_context(context)?;
    // Once more, since the library's own backlog is short.
    rustix::net::listen(&listener, BACKLOG).with_context(context)?;
    listener.set_nonblocking(true).with_context(context)?;
    let own = listener.local_addr()?;
    let stack_bytes = site.limits().stack_bytes;
    let responder = Responder::new(listener, names, site, woken);
    kernel::own_threads::start_with_stack("ff-listen", stack_bytes, move || responder.run())?;
    Ok(own)
}
