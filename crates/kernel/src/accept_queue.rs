//! How many connections wait for a server to accept them, by sock_diag(7): without privilege, without touching the
//! server, and without a line for each of its connections as in `/proc/net/tcp`.
//!
//! The kernel answers for the network namespace of the calling thread. A server in another one is out of reach; its
//! TCP queues are still in [`crate::procfs::net::TcpSocket::rx_queue`], without their limits.

use crate::netlink::{NetlinkError, dump_sockets, u16_at, u32_at};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// More listening sockets than any host has; further ones are left out.
const LISTENERS_MAX: usize = 65_536;

/// include/uapi/linux/sock_diag.h
pub(crate) const SOCK_DIAG_BY_FAMILY: u16 = 20;
const AF_UNIX: u8 = 1;
pub(crate) const AF_INET: u8 = 2;
pub(crate) const AF_INET6: u8 = 10;
pub(crate) const IPPROTO_TCP: u8 = 6;
const TCP_LISTEN: u8 = 10;
/// include/uapi/linux/inet_diag.h
pub(crate) const INET_DIAG_MSG_BYTES: usize = 72;
pub(crate) const INET_DIAG_SOCKID_BYTES: usize = 48;
/// include/uapi/linux/unix_diag.h
const UNIX_DIAG_MSG_BYTES: usize = 16;
const UDIAG_SHOW_NAME: u32 = 0x1;
const UDIAG_SHOW_RQLEN: u32 = 0x10;
const UNIX_DIAG_NAME: u16 = 0;
const UNIX_DIAG_RQLEN: u16 = 4;

/// Where a socket listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// TCP.
    Tcp(SocketAddr),
    /// A unix socket, as its process named it: perhaps relative to that process's working directory.
    Path(PathBuf),
    /// A unix socket's name in the abstract namespace, without its leading zero byte.
    Abstract(Vec<u8>),
}

/// The accept queue of a listening socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptQueue {
    /// Where it listens.
    pub address: ListenAddress,
    /// Inode: `socket:[N]` in `/proc/PID/fd`.
    pub inode: u64,
    /// Connections that are established and wait for `accept`.
    pub pending: u32,
    /// The limit: `listen`'s backlog, cut to the sysctl `net.core.somaxconn`. The kernel refuses a connection when
    /// `pending` is greater than it (include/net/sock.h, `sk_acceptq_is_full`; net/unix/af_unix.c,
    /// `unix_recvq_full`), so a full queue holds one more.
    pub limit: u32,
}

/// The listening TCP sockets at a port, IPv4 and IPv6, all addresses: one, or several with `SO_REUSEPORT` or several
/// bind addresses. Empty when nobody listens. Blocks for at most `timeout`.
pub fn tcp(port: u16, timeout: Duration) -> Result<Vec<AcceptQueue>, NetlinkError> {
    let start = Instant::now();
    let mut found = Vec::new();
    for family in [AF_INET, AF_INET6] {
        let left = timeout.saturating_sub(start.elapsed());
        let keep = |queue: &AcceptQueue| match queue.address {
            // Kernels filter by port themselves; this does not rely on it.
            ListenAddress::Tcp(address) => address.port() == port,
            ListenAddress::Path(_) | ListenAddress::Abstract(_) => false,
        };
        match dump(
            &tcp_question(family, port),
            left,
            parse_tcp,
            keep,
            &mut found,
        ) {
            // No handler for IPv6: it is not in this kernel.
            Err(NetlinkError::Refused(Errno::NOENT)) if family == AF_INET6 => {}
            result => result?,
        }
    }
    Ok(found)
}

/// The listening unix socket with this inode, which is unique. Blocks for at most `timeout`.
pub fn unix_by_inode(inode: u64, timeout: Duration) -> Result<Option<AcceptQueue>, NetlinkError> {
    let mut found = Vec::new();
    let is_it = |queue: &AcceptQueue| queue.inode == inode;
    dump(&unix_question(), timeout, parse_unix, is_it, &mut found)?;
    Ok(found.pop())
}

fn dump(
    question: &[u8],
    timeout: Duration,
    parse: fn(&[u8]) -> Option<AcceptQueue>,
    keep: impl Fn(&AcceptQueue) -> bool,
    found: &mut Vec<AcceptQueue>,
) -> Result<(), NetlinkError> {
    dump_sockets(SOCK_DIAG_BY_FAMILY, question, timeout, |payload| {
        if let Some(queue) = parse(payload).filter(&keep)
            && found.len() < LISTENERS_MAX
        {
            found.push(queue);
        }
    })
}

/// `struct inet_diag_req_v2`.
fn tcp_question(family: u8, port: u16) -> Vec<u8> {
    let mut bytes = vec![family, IPPROTO_TCP, 0, 0];
    bytes.extend_from_slice(&(1_u32 << TCP_LISTEN).to_ne_bytes());
    bytes.extend_from_slice(&port.to_be_bytes());
    bytes.resize(8 + INET_DIAG_SOCKID_BYTES, 0);
    bytes
}

/// `struct unix_diag_req`.
fn unix_question() -> Vec<u8> {
    let mut bytes = vec![AF_UNIX, 0, 0, 0];
    bytes.extend_from_slice(&(1_u32 << TCP_LISTEN).to_ne_bytes());
    bytes.extend_from_slice(&0_u32.to_ne_bytes());
    bytes.extend_from_slice(&(UDIAG_SHOW_NAME | UDIAG_SHOW_RQLEN).to_ne_bytes());
    bytes.extend_from_slice(&[0; 8]);
    bytes
}

/// Parses an answer about a TCP socket, `struct inet_diag_msg`; for a listening one its two queue fields are the
/// pending connections and their limit (net/ipv4/tcp_diag.c, `tcp_diag_get_info`). `None` when it is not listening.
pub fn parse_tcp(payload: &[u8]) -> Option<AcceptQueue> {
    let message: &[u8; INET_DIAG_MSG_BYTES] = payload.first_chunk()?;
    if message[1] != TCP_LISTEN {
        return None;
    }
    let address: &[u8; 16] = message.get(8..)?.first_chunk()?;
    let ip = match message[0] {
        AF_INET => IpAddr::V4(Ipv4Addr::from(*address.first_chunk::<4>()?)),
        AF_INET6 => IpAddr::V6(Ipv6Addr::from(*address)),
        _ => return None,
    };
    let port = u16::from_be(u16_at(message, 4)?);
    Some(AcceptQueue {
        address: ListenAddress::Tcp(SocketAddr::new(ip, port)),
        pending: u32_at(message, 56)?,
        limit: u32_at(message, 60)?,
        inode: u32_at(message, 68)?.into(),
    })
}

/// Parses an answer about a unix socket, `struct unix_diag_msg` and its attributes (net/unix/diag.c,
/// `sk_diag_show_rqlen`). `None` when it is not listening or has no name.
pub fn parse_unix(payload: &[u8]) -> Option<AcceptQueue> {
    let message: &[u8; UNIX_DIAG_MSG_BYTES] = payload.first_chunk()?;
    if message[0] != AF_UNIX || message[2] != TCP_LISTEN {
        return None;
    }
    let (mut address, mut queue) = (None, None);
    for (kind, value) in attributes(payload.get(UNIX_DIAG_MSG_BYTES..)?) {
        match kind {
            UNIX_DIAG_NAME => address = Some(unix_address(value)),
            UNIX_DIAG_RQLEN => queue = u32_at(value, 0).zip(u32_at(value, 4)),
            _ => {}
        }
    }
    let (pending, limit) = queue?;
    Some(AcceptQueue {
        address: address?,
        inode: u32_at(message, 4)?.into(),
        pending,
        limit,
    })
}

fn unix_address(name: &[u8]) -> ListenAddress {
    match name {
        [0, name @ ..] => ListenAddress::Abstract(name.to_vec()),
        path => {
            let path = path.strip_suffix(b"\0").unwrap_or(path);
            ListenAddress::Path(PathBuf::from(OsStr::from_bytes(path)))
        }
    }
}

/// `struct nlattr` after `struct nlattr`: length with its header of 4, type, value, padding to 4.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(rest, 0)?);
        let kind = u16_at(rest, 2)?;
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tcp_answer() {
        let mut payload = vec![AF_INET, TCP_LISTEN, 0, 0];
        payload.extend(3306_u16.to_be_bytes());
        payload.extend([0, 0, 127, 0, 0, 1]);
        payload.resize(56, 0);
        for field in [151_u32, 150, 112, 1217] {
            payload.extend(field.to_ne_bytes());
        }
        let queue = parse_tcp(&payload).unwrap();
        assert_eq!(
            queue.address,
            ListenAddress::Tcp("127.0.0.1:3306".parse().unwrap())
        );
        assert_eq!((queue.pending, queue.limit, queue.inode), (151, 150, 1217));

        assert_eq!(parse_tcp(&payload[..71]), None);
        payload[1] = 1; // established
        assert_eq!(parse_tcp(&payload), None);
    }

    fn unix_payload(name: &[u8]) -> Vec<u8> {
        let mut payload = vec![AF_UNIX, 1, TCP_LISTEN, 0];
        payload.extend(20117_u32.to_ne_bytes());
        payload.extend([0; 8]);
        payload.extend(u16::try_from(name.len() + 4).unwrap().to_ne_bytes());
        payload.extend(UNIX_DIAG_NAME.to_ne_bytes());
        payload.extend(name);
        payload.resize(payload.len().next_multiple_of(4), 0);
        payload.extend(12_u16.to_ne_bytes());
        payload.extend(UNIX_DIAG_RQLEN.to_ne_bytes());
        payload.extend(3_u32.to_ne_bytes());
        payload.extend(80_u32.to_ne_bytes());
        payload
    }

    #[test]
    fn unix_answer() {
        let queue = parse_unix(&unix_payload(b"/run/mysqld/s\0")).unwrap();
        assert_eq!(queue.address, ListenAddress::Path("/run/mysqld/s".into()));
        assert_eq!((queue.pending, queue.limit, queue.inode), (3, 80, 20117));
        let queue = parse_unix(&unix_payload(b"\0mariadb")).unwrap();
        assert_eq!(queue.address, ListenAddress::Abstract(b"mariadb".to_vec()));

        let payload = unix_payload(b"/x\0");
        assert_eq!(parse_unix(&payload[..payload.len() - 1]), None);
    }
}
