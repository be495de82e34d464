//! How clients reach a server: address, account and connection options.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use mysql::{Compression, Conn, OptsBuilder};

use crate::Error;

/// Upper bound of one packet, given to the client so that it does not ask the server for the
/// variable of the same name on each connection: a load sends its own statements and no others.
const PACKET_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Its socket in the file system.
    Socket(PathBuf),
    /// A host name or address, and a port.
    Tcp(String, u16),
    /// The same, from an address of this machine.
    TcpFrom(String, u16, IpAddr),
    /// The same, from one after another of the loopback addresses 127.0.0.2 to 127.0.0.251: each has its own ports, and a
    /// port that was used is not used again for a minute.
    TcpElsewhere(String, u16),
}

/// How many addresses [`Address::TcpElsewhere`] has, beginning with 127.0.0.2.
const ELSEWHERE: u8 = 250;

/// Which of them is next.
static NEXT: AtomicU8 = AtomicU8::new(0);

/// How to get into a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// Where it listens.
    pub address: Address,
    /// The account's user name.
    pub user: String,
    /// The account's password; `None` for an account without one.
    pub password: Option<String>,
}

impl Login {
    /// A new connection. `timeout` bounds the TCP connect and every single read and write; a
    /// connect over a socket whose listen queue is full waits without bound (unix(7)).
    ///
    /// With `compression` the client asks for the compressed protocol (`CLIENT_COMPRESS`, zlib). A
    /// server that does not offer it gives a plain connection without a word: the session's status
    /// variable `Compression` tells. Each connection of the client library costs about 5 MiB of
    /// memory: its read buffer of 4 MiB is walked through before it is used again.
    pub fn connect(&self, compression: bool, timeout: Duration) -> Result<Conn, Error> {
        self.connect_raw(compression, timeout)
            .map_err(Error::client("connect"))
    }

    pub(crate) fn connect_raw(
        &self,
        compression: bool,
        timeout: Duration,
    ) -> Result<Conn, mysql::Error> {
        let options = OptsBuilder::new()
            .user(Some(self.user.as_str()))
            .pass(self.password.as_deref())
            .prefer_socket(false)
            .max_allowed_packet(Some(PACKET_BYTES_MAX))
            .tcp_connect_timeout(Some(timeout))
            .read_timeout(Some(timeout))
            .write_timeout(Some(timeout))
            .compress(compression.then(Compression::default));
        let options = match &self.address {
            Address::Socket(path) => options.socket(Some(path.to_string_lossy())),
            Address::Tcp(host, port) => options.ip_or_hostname(Some(host)).tcp_port(*port),
            Address::TcpFrom(host, port, from) => options
                .ip_or_hostname(Some(host))
                .tcp_port(*port)
                .bind_address(Some(SocketAddr::new(*from, 0))),
            Address::TcpElsewhere(host, port) => {
                let last = 2 + NEXT.fetch_add(1, Ordering::Relaxed) % ELSEWHERE;
                let from = IpAddr::from([127, 0, 0, last]);
                options
                    .ip_or_hostname(Some(host))
                    .tcp_port(*port)
                    .bind_address(Some(SocketAddr::new(from, 0)))
            }
        };
        Conn::new(options)
    }
}
