//! The status address: `/healthz` for load balancers and schema-change tools, `/metrics` for
//! Prometheus. A small responder of HTTP/1.1 GET on a thread of its own; it reads atomics and never
//! waits for a recorder, nor for a client.

mod answer;
mod board;
mod connection;
mod host;
mod metrics;
mod request;
mod responder;
#[cfg(test)]
mod tests;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::{Context, Result};

use answer::Answer;
pub(crate) use board::Board;
pub(crate) use host::{Names, host_name};
use responder::Responder;

/// Connections that the kernel keeps until they are accepted. It bounds this itself
/// (`net.core.somaxconn`, 4096 as a rule); where the queue is full, clients are late by a second.
const BACKLOG: i32 = 4096;

/// Answers on this address, to who asks it by one of these names, until the process ends.
pub(crate) fn start(address: SocketAddr, names: Names, board: Arc<Board>) -> Result<SocketAddr> {
    let context = || format!("listen {address}");
    let listener = TcpListener::bind(address).with_context(context)?;
    // Once more, since the library's own backlog is short.
    rustix::net::listen(&listener, BACKLOG).with_context(context)?;
    listener.set_nonblocking(true).with_context(context)?;
    let own = listener.local_addr()?;
    let responder = Responder::new(listener, names, board);
    std::thread::Builder::new()
        .name("ff-listen".to_owned())
        .stack_size(256 * 1024)
        .spawn(move || responder.run())?;
    Ok(own)
}
