use std::time::Duration;

use super::block::Frames;
use super::error::CaptureError;
use super::filter::filter;
use super::headers::{TcpPacket, parse_ip};
use super::options::{CaptureOptions, Devices, PORTS_MAX};
use super::ring::{self, Ring, Room};

/// A power of two of pages, above the largest packet.
const BLOCK_BYTES: usize = 256 << 10;
/// More than any capture here needs.
const RING_BYTES_MAX: usize = 256 << 20;
/// How long a packet may wait in a block that is not full. The times are the kernel's own, so nothing is lost by it; it
/// saves waking up for every packet.
const BLOCK_TIMEOUT: Duration = Duration::from_millis(50);

/// A packet, as [`Capture::drain`] hands it over.
#[derive(Debug, Clone, Copy)]
pub struct RawPacket<'a> {
    /// When the kernel saw it, since 1970 UTC.
    pub at: Duration,
    /// Its segment; `payload` may be cut.
    pub tcp: TcpPacket<'a>,
}

/// What a capture counted since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// Packets handed over.
    pub packets: u64,
    /// Packets that found no room in the ring.
    pub lost: u64,
    /// Packets that passed the filter and could not be read: never seen.
    pub malformed: u64,
}

/// Copies the packets of TCP ports until it is dropped.
pub struct Capture {
    ring: Ring,
    counted: Counted,
}

impl Capture {
    /// Begins. Packets are kept from now on, as many as the ring holds.
    pub fn open(options: &CaptureOptions) -> Result<Self, CaptureError> {
        if options.ports.is_empty() || options.ports.len() > PORTS_MAX || options.ports.contains(&0)
        {
            return Err(CaptureError::Options(
                "a capture is of 1 to 8 ports above 0",
            ));
        }
        if options.ring_bytes > RING_BYTES_MAX {
            return Err(CaptureError::Options(
                "a capture's ring has at most 256 MiB",
            ));
        }
        let loopback = ring::loopback();
        let program = filter(
            &options.ports,
            loopback,
            options.request_bytes,
            options.response_bytes,
        );
        let room = Room {
            block_bytes: BLOCK_BYTES,
            blocks: (options.ring_bytes / BLOCK_BYTES).max(2),
            block_timeout: BLOCK_TIMEOUT,
        };
        let (device, ignore_outgoing) = match (options.devices, loopback) {
            (Devices::Loopback, Some(loopback)) => (loopback, true),
            _ => (0, false),
        };
        Ok(Self {
            ring: ring::open(&program, room, device, ignore_outgoing)?,
            counted: Counted::default(),
        })
    }

    /// Waits until packets are there: true; or for `timeout`: false. They come in groups, at least every 50 ms.
    pub fn wait(&self, timeout: Duration) -> Result<bool, CaptureError> {
        self.ring.wait(timeout)
    }

    /// Hands over the packets of the next group, in their order; false when none is there.
    pub fn drain(&mut self, each: &mut dyn FnMut(&RawPacket<'_>)) -> bool {
        let counted = &mut self.counted;
        self.ring.take(&mut |block| {
            for frame in Frames::of(block) {
                match parse_ip(frame.bytes, frame.length) {
                    Some(tcp) => {
                        counted.packets += 1;
                        each(&RawPacket { at: frame.at, tcp });
                    }
                    None => counted.malformed += 1,
                }
            }
        })
    }

    /// What was counted so far.
    pub fn counted(&mut self) -> Result<Counted, CaptureError> {
        let (_, lost) = self.ring.statistics()?;
        self.counted.lost += lost;
        Ok(self.counted)
    }
}
