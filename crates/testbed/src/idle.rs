//! Connections that are logged in and idle.

use std::time::Duration;

use mysql::Conn;

use crate::{Error, Login};

/// Most connections of one [`IdleConnections`].
pub const IDLE_CONNECTIONS_MAX: usize = 10_000;

/// Connections that are logged in and ask for nothing, as most of an application's pool are. They
/// are closed in order when this is dropped.
///
/// The server needs room for them (`--max-connections=N`), and so does the limit on open files of
/// both processes (RLIMIT_NOFILE).
pub struct IdleConnections {
    connections: Vec<Conn>,
}

impl IdleConnections {
    /// Opens `count` connections, one after another. `timeout` is that of [`Login::connect`], for
    /// each.
    pub fn open(login: &Login, count: usize, timeout: Duration) -> Result<Self, Error> {
        if count > IDLE_CONNECTIONS_MAX {
            return Err(Error::Load(format!(
                "{count} idle connections; up to {IDLE_CONNECTIONS_MAX} are possible"
            )));
        }
        let connections = (0..count)
            .map(|_| login.connect(false, timeout))
            .collect::<Result<_, _>>()?;
        Ok(Self { connections })
    }

    /// The server's ids of the connections.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        self.connections.iter().map(Conn::connection_id)
    }
}
