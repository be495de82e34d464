//! Where a server listens: a unix socket, or host and port.

use std::fmt;
use std::io;
use std::net::{IpAddr, ToSocketAddrs, UdpSocket};
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
            Self::Tcp(host, port) if host.contains(':') => write!(formatter, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(formatter, "{host}:{port}"),
        }
    }
}

/// Whether a host's name or address is this host. A name is looked up, which may take the resolver's time; one that is not
/// known is another host's.
pub fn is_this_host(host: &str) -> bool {
    if is_usual_local(host) {
        return true;
    }
    let Ok(addresses) = (host, 0).to_socket_addrs() else {
        return false;
    };
    let addresses: Vec<IpAddr> = addresses.map(|address| address.ip()).collect();
    // Nothing is sent: the kernel lets a socket have addresses of this host only.
    let is_ours = |ip: &IpAddr| ip.is_loopback() || UdpSocket::bind((*ip, 0)).is_ok();
    !addresses.is_empty() && addresses.iter().all(is_ours)
}

/// Looks a host's name up, which may take the resolver's time; an address needs none.
///
/// # Errors
/// Why the name has no address.
pub fn look_up(host: &str) -> io::Result<()> {
    if is_usual_local(host) || host.parse::<IpAddr>().is_ok() {
        return Ok(());
    }
    match (host, 0).to_socket_addrs()?.next() {
        Some(_) => Ok(()),
        None => Err(io::Error::new(io::ErrorKind::NotFound, "it has no address")),
    }
}

/// A host by its name or number. What other programs take for an address, `mysql://root:…@db7` or `root@db7`, is none: its
/// login would be part of what the server is called.
///
/// # Errors
/// What a host is, if this is none. The text is not repeated.
pub fn host_name(text: String) -> Result<String, &'static str> {
    let is_of_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
    // The number of an interface may stand behind an address: `fe80::1%eth0`.
    let number = text.split_once('%').map_or(&*text, |(number, _)| number);
    let is_address = || number.parse::<IpAddr>().is_ok();
    match text.chars().all(is_of_name) || (is_address() && !text.contains(['/', '@'])) {
        true => Ok(text),
        false => Err("a host's name or number, without a login, a port or a path"),
    }
}

/// The path of a socket. An address with a scheme is none, for the same reason.
///
/// # Errors
/// What a path is, if this is none. The text is not repeated.
pub fn socket_path(text: String) -> Result<String, &'static str> {
    match text.contains("://") {
        true => Err("a path, not an address with '://'"),
        false => Ok(text),
    }
}

/// Names of this host that need no resolver.
fn is_usual_local(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_a_login_is_neither_a_host_nor_a_socket() {
        for host in [
            "",
            "db7",
            "db_7.example.com.",
            "m\u{fc}nchen.example",
            "10.0.0.7",
            "::1",
            "fe80::1%eth0",
        ] {
            assert_eq!(host_name(host.to_owned()).as_deref(), Ok(host));
        }
        for other in [
            "mysql://root:hunter2@db7",
            "//root:hunter2@db7",
            "root:hunter2@db7",
            "root:hunter2",
            "db7:3307",
            "db7/shop?password=hunter2",
            "db7 -phunter2",
            "::1%root:hunter2@db7",
        ] {
            let why = host_name(other.to_owned()).unwrap_err();
            assert!(!why.contains("hunter2"), "{why}");
        }
        assert!(socket_path("mysql://root:hunter2@db7".to_owned()).is_err());
        let path = "/run/a b@c:d/x.sock";
        assert_eq!(socket_path(path.to_owned()).as_deref(), Ok(path));
    }

    #[test]
    fn this_host_and_others() {
        for own in ["localhost", "LOCALHOST", "127.0.0.1", "127.3.2.1", "::1"] {
            assert!(is_this_host(own), "{own}");
        }
        // Addresses that documents use (RFC 5737, RFC 3849): nobody has them.
        for other in ["192.0.2.1", "2001:db8::1", "no such host", ""] {
            assert!(!is_this_host(other), "{other}");
        }
        for known in ["localhost", "127.0.0.1", "192.0.2.1", "2001:db8::1"] {
            assert!(look_up(known).is_ok(), "{known}");
        }
        // Names that can never be (RFC 2606, RFC 1035).
        for unknown in ["nosuch.invalid", "no such host"] {
            assert!(look_up(unknown).is_err(), "{unknown}");
        }
        let ipv6 = Address::Tcp("::1".to_owned(), 3306);
        assert_eq!(ipv6.to_string(), "[::1]:3306");
    }
}
