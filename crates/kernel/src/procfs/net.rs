//! `/proc/PID/net/{tcp,tcp6,unix}`: the sockets of a process's network namespace
//! (net/ipv4/tcp_ipv4.c, `get_tcp4_sock`; net/ipv6/tcp_ipv6.c, `get_tcp6_sock`; net/unix/af_unix.c, `unix_seq_show`).

use super::text::{fields, hex_u32, lines, number};
use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The state of a TCP socket that waits for connections (include/net/tcp_states.h).
pub const TCP_LISTEN: u8 = 10;
/// `__SO_ACCEPTCON`: the flag of a listening unix socket (include/linux/net.h).
const SO_ACCEPTCON: u32 = 0x1_0000;

/// One line of `tcp` or `tcp6`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSocket {
    /// Own address and port.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
    /// Number of the state (include/net/tcp_states.h): 1 established, …, [`TCP_LISTEN`].
    pub state: u8,
    /// Bytes sent or to be sent that the peer has not acknowledged.
    pub tx_queue: u32,
    /// Bytes that the process has not read; for a listening socket the connections that wait to be accepted.
    pub rx_queue: u32,
    /// Owner.
    pub uid: u32,
    /// Inode: `socket:[N]` in `/proc/PID/fd`; 0 in some closing states.
    pub inode: u64,
}

/// Every socket of a `tcp` or `tcp6` file. The kernel lists the listening ones first.
pub fn tcp_sockets(bytes: &[u8]) -> impl Iterator<Item = TcpSocket> {
    lines(bytes).filter_map(tcp_socket)
}

fn tcp_socket(line: &[u8]) -> Option<TcpSocket> {
    let mut rest = fields(line);
    rest.next()?.strip_suffix(b":")?; // the header's first field has no colon
    let local = address(rest.next()?)?;
    let remote = address(rest.next()?)?;
    let state = hex_u32(rest.next()?)?.try_into().ok()?;
    let (tx_queue, rx_queue) = colon_pair(rest.next()?)?;
    let uid = number(rest.nth(2)?)?; // after tr:tm->when, retrnsmt
    let inode = number(rest.nth(1)?)?; // after timeout
    Some(TcpSocket {
        local,
        remote,
        state,
        tx_queue: hex_u32(tx_queue)?,
        rx_queue: hex_u32(rx_queue)?,
        uid,
        inode,
    })
}

fn address(field: &[u8]) -> Option<SocketAddr> {
    let (address, port) = colon_pair(field)?;
    // Each 32-bit word is printed as a host-endian number of bytes that are in network order.
    let word = |n: usize| Some(hex_u32(address.get(n * 8..n * 8 + 8)?)?.to_ne_bytes());
    let ip = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut octets = [0; 16];
            for (n, chunk) in octets.chunks_exact_mut(4).enumerate() {
                chunk.copy_from_slice(&word(n)?);
            }
            IpAddr::V6(Ipv6Addr::from(octets))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, hex_u32(port)?.try_into().ok()?))
}

fn colon_pair(field: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = field.iter().position(|&b| b == b':')?;
    Some((field.get(..colon)?, field.get(colon + 1..)?))
}

/// The name of a unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnixName<'a> {
    /// Never bound.
    Unnamed,
    /// As the process gave it to `bind`: may be relative to its working directory.
    Path(&'a Path),
    /// In the abstract namespace, without the zero byte (unix(7)); further zero bytes are shown as `@`.
    Abstract(&'a [u8]),
}

/// One line of `unix`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnixSocket<'a> {
    /// Waits for connections.
    pub listening: bool,
    /// Inode: `socket:[N]` in `/proc/PID/fd`.
    pub inode: u64,
    /// Its name. A path that begins with `@` cannot be told from an abstract name and counts as one.
    pub name: UnixName<'a>,
}

/// Every socket of a `unix` file.
pub fn unix_sockets(bytes: &[u8]) -> impl Iterator<Item = UnixSocket<'_>> {
    lines(bytes).filter_map(unix_socket)
}

fn unix_socket(line: &[u8]) -> Option<UnixSocket<'_>> {
    // `Num: RefCount Protocol Flags Type St Inode Path`; the inode is padded to five places, the path may hold spaces.
    let mut rest = line;
    take_field(&mut rest)?.strip_suffix(b":")?;
    take_field(&mut rest)?;
    take_field(&mut rest)?;
    let flags = hex_u32(take_field(&mut rest)?)?;
    take_field(&mut rest)?;
    take_field(&mut rest)?;
    let inode = number(take_field(&mut rest)?)?;
    let name = match rest.strip_prefix(b" ").unwrap_or_default() {
        [] => UnixName::Unnamed,
        [b'@', name @ ..] => UnixName::Abstract(name),
        path => UnixName::Path(Path::new(OsStr::from_bytes(path))),
    };
    Some(UnixSocket {
        listening: flags & SO_ACCEPTCON != 0,
        inode,
        name,
    })
}

fn take_field<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let trimmed = rest.trim_ascii_start();
    let end = trimmed
        .iter()
        .position(|&b| b == b' ')
        .unwrap_or(trimmed.len());
    let (field, after) = trimmed.split_at_checked(end)?;
    *rest = after;
    (!field.is_empty()).then_some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn tcp_listening_and_closing() {
        let all: Vec<_> = tcp_sockets(include_bytes!("../../tests/fixtures/net-tcp")).collect();
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].local, "127.0.0.1:3306".parse().unwrap());
        assert_eq!((all[0].state, all[0].rx_queue), (TCP_LISTEN, 7));
        assert_eq!((all[0].uid, all[0].inode), (112, 1217));
        assert_eq!(all[1].remote, "203.0.113.80:80".parse().unwrap());
        assert_eq!((all[1].state, all[1].inode), (6, 0));
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn tcp6() {
        let line = b"   0: 00000000000000000000000001000000:0CEA 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000   112        0 1301 1 000000009a25e4ed 100 0 0 10 0\n";
        let all: Vec<_> = tcp_sockets(line).collect();
        assert_eq!(all[0].local, "[::1]:3306".parse().unwrap());
        assert_eq!(all[0].inode, 1301);
    }

    #[test]
    fn unix_names() {
        let all: Vec<_> = unix_sockets(include_bytes!("../../tests/fixtures/net-unix")).collect();
        let names: Vec<_> = all.iter().map(|s| (s.listening, s.inode, s.name)).collect();
        assert_eq!(
            names,
            [
                (false, 1214, UnixName::Unnamed),
                (
                    true,
                    20117,
                    UnixName::Path(Path::new("/run/mysqld/my sql.sock"))
                ),
                (true, 20118, UnixName::Abstract(b"mariadb")),
                (
                    false,
                    20119,
                    UnixName::Path(Path::new("/run/mysqld/mysqld.sock"))
                ),
                (true, 87, UnixName::Path(Path::new("mysql.sock"))),
            ]
        );
    }

    #[test]
    fn cut_lines_are_passed_over() {
        assert_eq!(
            tcp_sockets(
                b"0: 0100007F:0CEA 00000000:0000 0A 00000000\n1: 01:1 1:1 0A 0:0 0 0 0 0 0"
            )
            .count(),
            0
        );
        assert_eq!(
            unix_sockets(b"0000: 00000002 00000000 00010000 0001 01\nNum RefCount\n").count(),
            0
        );
    }
}
