//! The protocol's packets in a stream: three bytes of length, one of sequence, the payload. A payload of 16 MiB - 1 or
//! more goes on in the next packet.

use super::limits::IDLE_BYTES_MAX;
use super::stream::Piece;

const HEADER_BYTES: u8 = 4;
/// A packet of this length is not the last one of its payload.
const PART_BYTES_MAX: u32 = 0xff_ffff;

/// What came of a piece of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fed {
    /// All of it was taken.
    More,
    /// A packet is complete; there may be more in the piece.
    Packet,
    /// The place of the next packet is not known any more; what follows is passed over until [`PacketReader::resume`].
    Lost,
}

/// Cuts a stream into packets, of which the beginnings are kept.
#[derive(Debug, Default)]
pub(super) struct PacketReader {
    header: [u8; 4],
    header_bytes: u8,
    in_payload: bool,
    /// Bytes of the part that are still to come.
    left: u32,
    /// The part is followed by another one of the same payload.
    more_parts: bool,
    /// A payload is not complete.
    under_way: bool,
    lost: bool,
    /// Nothing more is kept of this payload.
    full: bool,
    /// The packet's beginning.
    pub(super) head: Vec<u8>,
    /// Bytes of the payload.
    pub(super) length: u64,
    /// Sequence number of its first and last part.
    pub(super) first: u8,
    pub(super) last: u8,
}

impl PacketReader {
    /// The next byte begins a packet.
    pub(super) fn resume(&mut self) {
        let mut head = std::mem::take(&mut self.head);
        head.clear();
        *self = Self {
            head,
            ..Self::default()
        };
    }

    /// What follows is passed over.
    pub(super) fn lose(&mut self) {
        self.resume();
        self.lost = true;
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost
    }

    /// The next byte begins a packet, as far as is known.
    pub(super) fn is_between(&self) -> bool {
        !self.lost && !self.under_way && self.header_bytes == 0
    }

    /// A packet has begun and is not complete.
    pub(super) fn is_within(&self) -> bool {
        !self.lost && (self.under_way || self.header_bytes > 0)
    }

    /// Gives back room that few packets need.
    pub(super) fn shrink(&mut self) {
        if self.is_between() && self.head.capacity() > IDLE_BYTES_MAX {
            self.head = Vec::new();
        }
    }

    /// Payload is missing from `head`.
    pub(super) fn is_cut(&self) -> bool {
        self.length > self.head.len() as u64
    }

    /// Takes of a piece as much as belongs to one packet, and keeps `keep` bytes of its payload. After
    /// [`Fed::Packet`] the packet is in `head` until the next call.
    pub(super) fn feed(&mut self, piece: &mut Piece<'_>, keep: usize) -> Fed {
        if self.lost {
            *piece = Piece::Bytes(&[]);
            return Fed::More;
        }
        loop {
            if self.in_payload {
                match piece {
                    Piece::Bytes(bytes) => {
                        let (taken, rest) = bytes.split_at(bytes.len().min(self.left as usize));
                        self.keep(taken, keep);
                        self.left -= taken.len() as u32;
                        *bytes = rest;
                    }
                    Piece::Gap(gap) => {
                        let taken = (*gap).min(self.left.into());
                        self.full |= taken > 0;
                        self.left -= taken as u32;
                        *gap -= taken;
                    }
                }
                if self.left > 0 {
                    return Fed::More;
                }
                self.in_payload = false;
                self.header_bytes = 0;
                if !self.more_parts {
                    self.under_way = false;
                    return Fed::Packet;
                }
                continue;
            }
            match piece {
                Piece::Gap(0) => return Fed::More,
                Piece::Gap(_) => {
                    self.lose();
                    return Fed::Lost;
                }
                Piece::Bytes([]) => return Fed::More,
                // Mostly a header is there as a whole.
                Piece::Bytes([a, b, c, sequence, rest @ ..]) if self.header_bytes == 0 => {
                    self.header = [*a, *b, *c, *sequence];
                    self.header_bytes = HEADER_BYTES;
                    *piece = Piece::Bytes(rest);
                }
                Piece::Bytes([byte, rest @ ..]) => {
                    if let Some(place) = self.header.get_mut(usize::from(self.header_bytes)) {
                        *place = *byte;
                    }
                    self.header_bytes += 1;
                    *piece = Piece::Bytes(rest);
                }
            }
            if self.header_bytes == HEADER_BYTES {
                self.begin();
            }
        }
    }

    fn begin(&mut self) {
        let [a, b, c, sequence] = self.header;
        self.left = u32::from_le_bytes([a, b, c, 0]);
        self.more_parts = self.left == PART_BYTES_MAX;
        self.in_payload = true;
        if !self.under_way {
            self.under_way = true;
            self.first = sequence;
            self.length = 0;
            self.full = false;
            self.head.clear();
        }
        self.last = sequence;
        self.length += u64::from(self.left);
    }

    fn keep(&mut self, bytes: &[u8], keep: usize) {
        if self.full {
            return;
        }
        let room = keep.saturating_sub(self.head.len());
        let kept = bytes.get(..room).unwrap_or(bytes);
        self.full = kept.len() < bytes.len();
        self.head.extend_from_slice(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = (payload.len() as u32).to_le_bytes()[..3].to_vec();
        bytes.push(sequence);
        bytes.extend(payload);
        bytes
    }

    fn all(pieces: &[Piece<'_>], keep: usize) -> Vec<(u8, Vec<u8>, u64)> {
        let mut reader = PacketReader::default();
        let mut all = Vec::new();
        for piece in pieces {
            let mut piece = *piece;
            while reader.feed(&mut piece, keep) == Fed::Packet {
                all.push((reader.first, reader.head.clone(), reader.length));
            }
        }
        all
    }

    #[test]
    fn packets_at_any_cut() {
        let stream = [packet(0, b"abc"), packet(1, b""), packet(2, b"defg")].concat();
        let expected = [
            (0, b"abc".to_vec(), 3),
            (1, Vec::new(), 0),
            (2, b"defg".to_vec(), 4),
        ];
        for cut in 0..=stream.len() {
            let (first, second) = stream.split_at(cut);
            let pieces = [Piece::Bytes(first), Piece::Bytes(second)];
            assert_eq!(all(&pieces, 9), expected);
        }
        let short = all(&[Piece::Bytes(&stream)], 2);
        assert_eq!(short[0], (0, b"ab".to_vec(), 3));
    }

    #[test]
    fn a_payload_of_several_parts_is_one_packet() {
        let part = vec![b'x'; PART_BYTES_MAX as usize];
        let stream = [packet(0, &part), packet(1, b"yz"), packet(0, b"!")].concat();
        let packets = all(&[Piece::Bytes(&stream)], 4);
        assert_eq!(packets.len(), 2);
        assert_eq!(packets[0], (0, b"xxxx".to_vec(), 0xff_ffff + 2));
        assert_eq!(packets[1], (0, b"!".to_vec(), 1));
        let exact = [packet(0, &part), packet(1, b""), packet(0, b"!")].concat();
        assert_eq!(all(&[Piece::Bytes(&exact)], 4).len(), 2);
    }

    #[test]
    fn a_gap_within_a_payload_is_passed_over_and_one_in_a_header_loses_the_place() {
        let stream = [packet(0, b"abcdef"), packet(0, b"gh")].concat();
        let pieces = [
            Piece::Bytes(&stream[..6]),
            Piece::Gap(3),
            Piece::Bytes(&stream[9..]),
        ];
        let packets = all(&pieces, 9);
        assert_eq!(packets[0], (0, b"ab".to_vec(), 6));
        assert_eq!(packets[1], (0, b"gh".to_vec(), 2));
        let pieces = [
            Piece::Bytes(&stream[..10]),
            Piece::Gap(1),
            Piece::Bytes(&stream[11..]),
        ];
        assert_eq!(all(&pieces, 9).len(), 1);
        let mut reader = PacketReader::default();
        let mut gap = Piece::Gap(1);
        assert_eq!(reader.feed(&mut gap, 9), Fed::Lost);
        let mut bytes = Piece::Bytes(&stream);
        assert_eq!(reader.feed(&mut bytes, 9), Fed::More);
        reader.resume();
        let mut bytes = Piece::Bytes(&stream);
        assert_eq!(reader.feed(&mut bytes, 9), Fed::Packet);
    }
}
