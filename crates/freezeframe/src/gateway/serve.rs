//! Connections: so many at a time, and who has shown no token is the first to lose its place.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use super::connection;
use super::shared::Shared;
use super::state::Reason;

/// Connections at a time: each has a thread. A recorder is answered in some milliseconds, so these are enough for
/// thousands of them.
const CONNECTIONS_MAX: usize = 128;

/// Stack of a connection's thread.
const STACK_BYTES: usize = 512 << 10;

/// Without a file descriptor or a thread for the next connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Clients that the kernel keeps until they are accepted.
const BACKLOG: i32 = 1024;

/// Serves whoever comes, until the process ends.
pub(super) fn start(shared: Shared, listener: TcpListener) -> Result<()> {
    // Once more, since the library's own backlog is short.
    rustix::net::listen(&listener, BACKLOG).context("--listen")?;
    let shared = Arc::new(shared);
    kernel::own_threads::start("ff-gateway", move || accept(&shared, &listener))
        .context("cannot start the thread that listens")?;
    Ok(())
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    for number in 0.. {
        let Ok((stream, peer)) = listener.accept() else {
            shared.make_room();
            std::thread::sleep(ACCEPT_PAUSE);
            continue;
        };
        // An address that IPv6 has for one of IPv4 is written as that one.
        let peer = peer.ip().to_canonical().to_string();
        if shared.open() >= CONNECTIONS_MAX && !shared.make_room() {
            let why = "too many connections";
            shared.state.refuse(Reason::Full, &peer, why);
            connection::turn_away(&stream);
            continue;
        }
        // However it ends, its place is free again.
        let place = shared.place(number, &stream);
        let work = move || connection::serve(&place.shared, place.number, &stream, &peer);
        if kernel::own_threads::start_with_stack("ff-client", STACK_BYTES, work).is_err() {
            std::thread::sleep(ACCEPT_PAUSE);
        }
    }
}
