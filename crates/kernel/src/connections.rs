//! What the kernel knows of a server's TCP connections, by sock_diag(7): when each last received
//! something from its client, and when it last sent something back. A request that came after the
//! last answer has none yet. Nothing of what is sent is seen, so TLS and compression change nothing,
//! and it needs no privilege.
//!
//! The kernel answers for the network namespace of the calling thread.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::accept_queue::{
    AF_INET, AF_INET6, INET_DIAG_MSG_BYTES, INET_DIAG_SOCKID_BYTES, IPPROTO_TCP,
    SOCK_DIAG_BY_FAMILY, attributes,
};
use crate::netlink::{NetlinkError, dump_sockets, u16_at, u32_at};

/// More clients than any server has; further ones are left out.
const CONNECTIONS_MAX: usize = 65_536;

/// include/net/tcp_states.h
const TCP_ESTABLISHED: u8 = 1;
/// include/uapi/linux/inet_diag.h; the bit that asks for it is one lower.
const INET_DIAG_INFO: u16 = 2;
/// Places in `struct tcp_info` (include/uapi/linux/tcp.h), which never change.
const LAST_DATA_SENT_AT: usize = 44;
const LAST_DATA_RECEIVED_AT: usize = 52;
const LAST_ACK_RECEIVED_AT: usize = 56;
/// Since kernel 4.2, those of data since 4.6.
const SEGMENTS_OUT_AT: usize = 136;
const DATA_SEGMENTS_IN_AT: usize = 152;
const DATA_SEGMENTS_OUT_AT: usize = 156;

/// An established connection, as the server's side of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The client.
    pub peer: SocketAddr,
    /// A number that no other socket of this host has had since it was started.
    pub cookie: u64,
    /// The server last sent something so long ago, milliseconds; to a tick of the kernel, 1 to 10 ms.
    pub sent_ms: u32,
    /// Something last came from the client so long ago, milliseconds.
    pub received_ms: u32,
    /// The client last acknowledged something so long ago, with data or without, milliseconds.
    pub acknowledged_ms: u32,
    /// What came and the server has not read, bytes.
    pub unread_bytes: u32,
    /// What was counted; nothing on kernels before 4.6.
    pub segments: Option<Segments>,
}

/// Segments of a connection so far. They wrap around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segments {
    /// With data, in both directions.
    pub data: u32,
    /// From the server, without data: what the kernel acknowledges by itself, because the server
    /// sends nothing that could carry it.
    pub bare_acknowledgements: u32,
}

/// The established connections to a local port, IPv4 and IPv6. Blocks for at most `timeout`.
pub fn established(port: u16, timeout: Duration) -> Result<Vec<Connection>, NetlinkError> {
    let start = Instant::now();
    let mut found = Vec::new();
    for family in [AF_INET, AF_INET6] {
        let left = timeout.saturating_sub(start.elapsed());
        let question = question(family, port);
        match dump_sockets(SOCK_DIAG_BY_FAMILY, &question, left, |payload| {
            // Kernels filter by port themselves; this does not rely on it.
            if let Some((own, connection)) = parse(payload)
                && own == port
                && found.len() < CONNECTIONS_MAX
            {
                found.push(connection);
            }
        }) {
            // No handler for IPv6: it is not in this kernel.
            Err(NetlinkError::Refused(Errno::NOENT)) if family == AF_INET6 => {}
            result => result?,
        }
    }
    Ok(found)
}

/// `struct inet_diag_req_v2`.
fn question(family: u8, port: u16) -> Vec<u8> {
    let mut bytes = vec![family, IPPROTO_TCP, 1 << (INET_DIAG_INFO - 1), 0];
    bytes.extend_from_slice(&(1_u32 << TCP_ESTABLISHED).to_ne_bytes());
    bytes.extend_from_slice(&port.to_be_bytes());
    bytes.resize(8 + INET_DIAG_SOCKID_BYTES, 0);
    bytes
}

/// Parses an answer, `struct inet_diag_msg` and its attributes: the local port and the connection.
/// `None` when it is not established, or the kernel told nothing of its times.
pub fn parse(payload: &[u8]) -> Option<(u16, Connection)> {
    let message: &[u8; INET_DIAG_MSG_BYTES] = payload.first_chunk()?;
    if message[1] != TCP_ESTABLISHED {
        return None;
    }
    let port = |at| Some(u16::from_be(u16_at(message, at)?));
    let address: &[u8; 16] = message.get(24..)?.first_chunk()?;
    let ip = match message[0] {
        AF_INET => IpAddr::V4(Ipv4Addr::from(*address.first_chunk::<4>()?)),
        AF_INET6 => IpAddr::V6(Ipv6Addr::from(*address)).to_canonical(),
        _ => return None,
    };
    let (low, high) = (u32_at(message, 44)?, u32_at(message, 48)?);
    let (mut times, mut segments) = (None, None);
    for (kind, value) in attributes(payload.get(INET_DIAG_MSG_BYTES..)?) {
        if kind == INET_DIAG_INFO {
            times = u32_at(value, LAST_DATA_SENT_AT)
                .zip(u32_at(value, LAST_DATA_RECEIVED_AT))
                .zip(u32_at(value, LAST_ACK_RECEIVED_AT));
            segments = segments_of(value);
        }
    }
    let ((sent_ms, received_ms), acknowledged_ms) = times?;
    Some((
        port(4)?,
        Connection {
            peer: SocketAddr::new(ip, port(6)?),
            cookie: u64::from(high) << 32 | u64::from(low),
            sent_ms,
            received_ms,
            acknowledged_ms,
            unread_bytes: u32_at(message, 56)?,
            segments,
        },
    ))
}

fn segments_of(info: &[u8]) -> Option<Segments> {
    let data_out = u32_at(info, DATA_SEGMENTS_OUT_AT)?;
    Some(Segments {
        data: u32_at(info, DATA_SEGMENTS_IN_AT)?.wrapping_add(data_out),
        bare_acknowledgements: u32_at(info, SEGMENTS_OUT_AT)?.wrapping_sub(data_out),
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn what_is_cut_or_not_established_is_nothing() {
        let mut payload = vec![AF_INET, TCP_ESTABLISHED, 0, 0];
        payload.extend(3306_u16.to_be_bytes());
        payload.extend(40_000_u16.to_be_bytes());
        payload.resize(24, 0);
        payload.extend([10, 0, 0, 7]);
        payload.resize(44, 0);
        payload.extend(
            [7_u32, 1, 0, 5]
                .iter()
                .flat_map(|field| field.to_ne_bytes()),
        );
        payload.resize(INET_DIAG_MSG_BYTES, 0);
        assert_eq!(parse(&payload), None, "without its times");
        payload.extend(
            [108_u16, INET_DIAG_INFO]
                .iter()
                .flat_map(|field| field.to_ne_bytes()),
        );
        let mut info = [0; 104];
        info[LAST_DATA_SENT_AT..][..4].copy_from_slice(&900_u32.to_ne_bytes());
        info[LAST_DATA_RECEIVED_AT..][..4].copy_from_slice(&800_u32.to_ne_bytes());
        payload.extend(info);
        let (port, connection) = parse(&payload).unwrap();
        assert_eq!(port, 3306);
        assert_eq!(connection.peer, "10.0.0.7:40000".parse().unwrap());
        assert_eq!((connection.sent_ms, connection.received_ms), (900, 800));
        assert_eq!(
            (connection.cookie, connection.unread_bytes),
            (1 << 32 | 7, 5)
        );
        assert_eq!(connection.segments, None, "of an old kernel");
        for length in 0..payload.len() {
            assert_eq!(parse(&payload[..length]), None, "{length}");
        }
        payload[1] = 10;
        assert_eq!(parse(&payload), None);
    }

    #[test]
    fn a_request_without_an_answer_is_told_from_one_that_has_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut asks = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut serves, _) = listener.accept().unwrap();
        let patience = Duration::from_secs(5);
        let pause = || std::thread::sleep(Duration::from_millis(60));
        let now = || {
            let mut found = established(port, patience).unwrap();
            assert_eq!(found.len(), 1);
            found.remove(0)
        };
        let mut byte = [0];
        pause();
        asks.write_all(b"?").unwrap();
        pause();
        let waits = now();
        assert_eq!(waits.unread_bytes, 1);
        assert!(waits.received_ms < waits.sent_ms, "{waits:?}");
        serves.read_exact(&mut byte).unwrap();
        assert_eq!(now().unread_bytes, 0);
        let counted = |connection: Connection| connection.segments.unwrap();
        assert!(counted(now()).bare_acknowledgements >= 1, "{:?}", now());
        serves.write_all(b"!").unwrap();
        let answered = now();
        assert!(answered.sent_ms < answered.received_ms, "{answered:?}");
        assert_eq!(counted(answered).data, counted(waits).data + 1);
        assert_eq!(answered.cookie, waits.cookie);
        assert_eq!(answered.peer, asks.local_addr().unwrap());
    }
}
