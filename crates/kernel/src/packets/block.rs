//! The frames of a block of a `TPACKET_V3` ring (include/uapi/linux/if_packet.h; in the machine's own byte order).

use std::time::Duration;

use crate::netlink::{u16_at, u32_at};

/// `struct tpacket_block_desc` with `struct tpacket_hdr_v1`.
#[cfg(test)]
const BLOCK_HEADER_BYTES: usize = 48;
/// Where in it the status is.
pub(super) const STATUS_AT: usize = 8;
const COUNT_AT: usize = 12;
const FIRST_AT: usize = 16;

/// `struct tpacket3_hdr`; `struct sockaddr_ll` follows.
const FRAME_HEADER_BYTES: usize = 48;

/// A packet in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// When the kernel saw it, since 1970 UTC.
    pub at: Duration,
    /// The device's number.
    pub device: u32,
    /// The bytes that were copied, from the IP header on.
    pub bytes: &'a [u8],
    /// The bytes that it had.
    pub length: u32,
}

/// The frames of a block, up to the first that is not within it.
pub struct Frames<'a> {
    block: &'a [u8],
    at: usize,
    left: u32,
}

impl<'a> Frames<'a> {
    /// Of a whole block.
    pub fn of(block: &'a [u8]) -> Self {
        let left = u32_at(block, COUNT_AT).unwrap_or(0);
        let first = u32_at(block, FIRST_AT).unwrap_or(0);
        Self {
            block,
            at: first as usize,
            left,
        }
    }

    fn frame(&mut self) -> Option<Frame<'a>> {
        let frame = self.block.get(self.at..)?;
        let seconds = u32_at(frame, 4)?;
        let nanoseconds = u32_at(frame, 8)?;
        let copied = u32_at(frame, 12)? as usize;
        let length = u32_at(frame, 16)?;
        let data = usize::from(u16_at(frame, 24)?);
        let device = u32_at(frame, FRAME_HEADER_BYTES + 4)?;
        let bytes = frame.get(data..data.checked_add(copied)?)?;
        let next = u32_at(frame, 0)? as usize;
        self.left -= 1;
        if next == 0 {
            self.left = 0;
        }
        self.at = self.at.checked_add(next)?;
        Some(Frame {
            at: Duration::new(seconds.into(), 0) + Duration::from_nanos(nanoseconds.into()),
            device,
            bytes,
            length,
        })
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        if self.left == 0 {
            return None;
        }
        let frame = self.frame();
        if frame.is_none() {
            self.left = 0;
        }
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(next: u32, packet: &[u8], length: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for field in [next, 1_700_000_000, 5_000, packet.len() as u32, length, 1] {
            bytes.extend(field.to_ne_bytes());
        }
        bytes.extend(80_u16.to_ne_bytes());
        bytes.extend(80_u16.to_ne_bytes());
        bytes.resize(FRAME_HEADER_BYTES + 4, 0);
        bytes.extend(7_u32.to_ne_bytes());
        bytes.resize(80, 0);
        bytes.extend(packet);
        bytes.resize(bytes.len().next_multiple_of(16), 0);
        bytes
    }

    fn block(count: u32, frames: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = vec![0; STATUS_AT];
        for field in [1, count, BLOCK_HEADER_BYTES as u32] {
            bytes.extend(field.to_ne_bytes());
        }
        bytes.resize(BLOCK_HEADER_BYTES, 0);
        bytes.extend(frames.concat());
        bytes
    }

    #[test]
    fn frames_with_their_times_and_lengths() {
        let first = frame(96, b"abc", 40);
        let second = frame(0, b"defghi", 6);
        let block = block(2, &[first, second]);
        let all: Vec<Frame<'_>> = Frames::of(&block).collect();
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].bytes, b"abc");
        assert_eq!((all[0].length, all[0].device), (40, 7));
        assert_eq!(all[0].at, Duration::new(1_700_000_000, 5_000));
        assert_eq!(all[1].bytes, b"defghi");
    }

    #[test]
    fn what_is_not_within_the_block_ends_it() {
        let cut = block(3, &[frame(96, b"abc", 40), frame(96, b"defghi", 6)]);
        assert_eq!(Frames::of(&cut).count(), 2);
        let short = &cut[..cut.len() - 12];
        assert_eq!(Frames::of(short).count(), 1);
        for end in 0..BLOCK_HEADER_BYTES {
            assert_eq!(Frames::of(&cut[..end]).count(), 0);
        }
        let mut far = cut.clone();
        far[FIRST_AT..FIRST_AT + 4].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert_eq!(Frames::of(&far).count(), 0);
    }
}
