//! IP and TCP headers: bytes in, values out (RFC 791, RFC 8200, RFC 9293).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const TCP: u8 = 6;
const IPV6_HEADER_BYTES: usize = 40;
const TCP_HEADER_BYTES_MIN: usize = 20;

/// The flags of a TCP segment that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpFlags {
    /// Opens a connection.
    pub syn: bool,
    /// The sender has no more to send.
    pub fin: bool,
    /// The connection is torn down.
    pub rst: bool,
    /// The acknowledgement number is valid.
    pub ack: bool,
}

/// A TCP segment with its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpPacket<'a> {
    /// Sender.
    pub from: SocketAddr,
    /// Receiver.
    pub to: SocketAddr,
    /// Sequence number of the first byte.
    pub sequence: u32,
    /// Acknowledgement number.
    pub acknowledged: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// The bytes of the segment that were copied.
    pub payload: &'a [u8],
    /// The bytes that it had.
    pub payload_length: u32,
}

/// Parses a packet that begins with its IP header and may be cut. `packet_length` is the length that it had, for
/// packets above 64 KiB, whose header says 0 (include/net/ipv6.h, BIG TCP). `None` when it is no TCP segment, a fragment
/// other than the first, or cut within its headers.
pub fn parse_ip(bytes: &[u8], packet_length: u32) -> Option<TcpPacket<'_>> {
    match bytes.first()? >> 4 {
        4 => parse_ipv4(bytes, packet_length),
        6 => parse_ipv6(bytes, packet_length),
        _ => None,
    }
}

fn parse_ipv4(bytes: &[u8], packet_length: u32) -> Option<TcpPacket<'_>> {
    let header: &[u8; 20] = bytes.first_chunk()?;
    let header_bytes = usize::from(header[0] & 0xf) * 4;
    let fragment_offset = u16::from_be_bytes([header[6], header[7]]) & 0x1fff;
    if header[9] != TCP || header_bytes < 20 || fragment_offset != 0 {
        return None;
    }
    let total = match u16::from_be_bytes([header[2], header[3]]) {
        0 => packet_length,
        total => u32::from(total),
    };
    let address = |at: usize| {
        let octets: [u8; 4] = *header.get(at..)?.first_chunk()?;
        Some(IpAddr::V4(Ipv4Addr::from(octets)))
    };
    let segment = bytes.get(header_bytes..)?;
    let length = total.checked_sub(header_bytes as u32)?;
    parse_tcp(address(12)?, address(16)?, segment, length)
}

/// Without extension headers: hosts do not put them before TCP.
fn parse_ipv6(bytes: &[u8], packet_length: u32) -> Option<TcpPacket<'_>> {
    let header: &[u8; IPV6_HEADER_BYTES] = bytes.first_chunk()?;
    if header[6] != TCP {
        return None;
    }
    let length = match u16::from_be_bytes([header[4], header[5]]) {
        0 => packet_length.checked_sub(IPV6_HEADER_BYTES as u32)?,
        length => u32::from(length),
    };
    let address = |at: usize| {
        let octets: [u8; 16] = *header.get(at..)?.first_chunk()?;
        Some(plain(Ipv6Addr::from(octets)))
    };
    let segment = bytes.get(IPV6_HEADER_BYTES..)?;
    parse_tcp(address(8)?, address(24)?, segment, length)
}

/// A dual-stack socket shows IPv4 clients as mapped addresses; on the wire they are not, but who writes them is told the
/// same.
fn plain(address: Ipv6Addr) -> IpAddr {
    IpAddr::V6(address).to_canonical()
}

fn parse_tcp(from: IpAddr, to: IpAddr, segment: &[u8], length: u32) -> Option<TcpPacket<'_>> {
    let header: &[u8; TCP_HEADER_BYTES_MIN] = segment.first_chunk()?;
    let header_bytes = usize::from(header[12] >> 4) * 4;
    if header_bytes < TCP_HEADER_BYTES_MIN {
        return None;
    }
    let payload_length = length.checked_sub(header_bytes as u32)?;
    let copied = segment.get(header_bytes..).unwrap_or_default();
    // A small packet is padded by Ethernet.
    let whole = usize::try_from(payload_length).unwrap_or(usize::MAX);
    let port = |at: usize| Some(u16::from_be_bytes(*header.get(at..)?.first_chunk()?));
    let number = |at: usize| Some(u32::from_be_bytes(*header.get(at..)?.first_chunk()?));
    let flags = header[13];
    Some(TcpPacket {
        from: SocketAddr::new(from, port(0)?),
        to: SocketAddr::new(to, port(2)?),
        sequence: number(4)?,
        acknowledged: number(8)?,
        flags: TcpFlags {
            fin: flags & 0x01 != 0,
            syn: flags & 0x02 != 0,
            rst: flags & 0x04 != 0,
            ack: flags & 0x10 != 0,
        },
        payload: copied.get(..whole).unwrap_or(copied),
        payload_length,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10.0.0.5:45000 to 10.0.0.9:3306, with 12 bytes of TCP options, as a capture brought it.
    fn ipv4(payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x45, 0];
        bytes.extend((52 + payload.len() as u16).to_be_bytes());
        bytes.extend([0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 5, 10, 0, 0, 9]);
        bytes.extend(tcp());
        bytes.extend(payload);
        bytes
    }

    fn tcp() -> Vec<u8> {
        let mut bytes = 45_000_u16.to_be_bytes().to_vec();
        bytes.extend(3306_u16.to_be_bytes());
        bytes.extend(7_u32.to_be_bytes());
        bytes.extend(9_u32.to_be_bytes());
        bytes.extend([0x80, 0x18, 1, 0, 0, 0, 0, 0]);
        bytes.extend([1; 12]);
        bytes
    }

    #[test]
    fn ipv4_with_options_padding_and_cut() {
        let bytes = ipv4(b"hello");
        let packet = parse_ip(&bytes, bytes.len() as u32).unwrap();
        assert_eq!(packet.from, "10.0.0.5:45000".parse().unwrap());
        assert_eq!(packet.to, "10.0.0.9:3306".parse().unwrap());
        assert_eq!((packet.sequence, packet.acknowledged), (7, 9));
        assert_eq!((packet.payload, packet.payload_length), (&b"hello"[..], 5));
        assert!(packet.flags.ack && !packet.flags.syn && !packet.flags.fin);
        let padded = [&bytes[..], &[0; 9]].concat();
        assert_eq!(parse_ip(&padded, padded.len() as u32), Some(packet));
        let cut = parse_ip(&bytes[..54], 57).unwrap();
        assert_eq!((cut.payload, cut.payload_length), (&b"he"[..], 5));
        for end in 0..40 {
            assert_eq!(parse_ip(&bytes[..end], 57), None, "{end}");
        }
        let mut big = bytes.clone();
        big[2..4].copy_from_slice(&[0, 0]);
        assert_eq!(parse_ip(&big, 100_052).unwrap().payload_length, 100_000);
        for (at, value) in [(9, 17), (7, 5), (0, 0x44), (0, 0x25), (32, 0x40)] {
            let mut wrong = bytes.clone();
            wrong[at] = value;
            assert_eq!(parse_ip(&wrong, 57), None, "{at}");
        }
    }

    #[test]
    fn ipv6() {
        let mut bytes = vec![0x60, 0, 0, 0];
        bytes.extend(35_u16.to_be_bytes());
        bytes.extend([6, 64]);
        bytes.extend("2001:db8::5".parse::<Ipv6Addr>().unwrap().octets());
        bytes.extend("::ffff:10.0.0.9".parse::<Ipv6Addr>().unwrap().octets());
        bytes.extend(tcp());
        bytes.extend(b"abc");
        let packet = parse_ip(&bytes, bytes.len() as u32).unwrap();
        assert_eq!(packet.from, "[2001:db8::5]:45000".parse().unwrap());
        assert_eq!(packet.to, "10.0.0.9:3306".parse().unwrap());
        assert_eq!(packet.payload, b"abc");
        for end in 0..60 {
            assert_eq!(parse_ip(&bytes[..end], 75), None, "{end}");
        }
    }
}
