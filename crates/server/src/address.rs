use std::fmt;
use std::path::PathBuf;

/// A way to reach a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// A unix socket.
    Socket(PathBuf),
    /// Host and port.
    Tcp(String, u16),
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => write!(formatter, "socket {}", path.display()),
            Self::Tcp(host, port) => write!(formatter, "{host}:{port}"),
        }
    }
}
