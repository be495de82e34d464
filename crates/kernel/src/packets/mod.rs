//! Packets of TCP ports, copied by the kernel (packet(7)): nobody is asked, nothing is held back, and what finds no room
//! is counted.
//!
//! One `AF_PACKET` socket with a ring shared with the kernel (`TPACKET_V3`). The kernel's own filter (`filter.rs`) passes
//! the packets of the wanted ports only, cut to what a decoder needs: requests whole, answers at their beginning. The
//! socket has no link layer (`SOCK_DGRAM`), so that Ethernet, tunnels and the loopback device look the same; a packet
//! begins with its IP header (`headers.rs`).
//!
//! **The kernel drops what is not needed.** A classic BPF filter, made by us, is attached before the socket receives
//! anything. It passes the server's ports, both directions, no bare acknowledgements; on the loopback device one of
//! the two copies, elsewhere only what this host's server receives and sends. Requests are copied whole. Of a packet
//! from the server 640 bytes with its headers are copied: small answers whole, large ones up to there. The ring is 8
//! MiB; what finds no room is counted.

mod block;
mod capture;
mod error;
mod filter;
mod headers;
mod options;
mod ring;

pub use block::{Frame, Frames};
pub use capture::{Capture, Counted, RawPacket};
pub use error::CaptureError;
pub use filter::{FilterLine, accept, filter};
pub use headers::{TcpFlags, TcpPacket, parse_ip};
pub use options::{CaptureOptions, Devices, PORTS_MAX};
