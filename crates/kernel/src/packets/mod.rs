//! Packets of TCP ports, copied by the kernel (packet(7)): nobody is asked, nothing is held back, and what finds no room
//! is counted.
//!
//! One `AF_PACKET` socket with a ring shared with the kernel (`TPACKET_V3`). The kernel's own filter (`filter.rs`) passes
//! the packets of the wanted ports only, cut to what a decoder needs: requests whole, answers at their beginning. The
//! socket has no link layer (`SOCK_DGRAM`), so that Ethernet, tunnels and the loopback device look the same; a packet
//! begins with its IP header (`headers.rs`).

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
