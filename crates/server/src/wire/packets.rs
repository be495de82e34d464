//! The protocol's packets in a stream: three bytes of length, one of sequence, the payload. A payload of 16 MiB - 1 or
//! more goes on in the next packet.

use super::framing::{FramingReader, FramingStep, length_in};
use super::stream::StreamItem;

/// A packet of this length is not the last one of its payload.
const PART_BYTES_MAX: u32 = 0xff_ffff;

/// Cuts a stream into packets, of which the beginnings are kept.
#[derive(Debug, Default)]
pub(super) struct PacketReader {
    parts: FramingReader<4>,
    /// The next part is not the first one.
    goes_on: bool,
    /// Bytes of the payload.
    pub(super) length: u64,
    /// Sequence number of its first and last part.
    pub(super) first: u8,
    pub(super) last: u8,
}

impl PacketReader {
    /// The next byte begins a packet.
    pub(super) fn resume(&mut self) {
        self.parts.resume();
        self.goes_on = false;
    }

    /// What follows is passed over.
    pub(super) fn lose(&mut self) {
        self.parts.lose();
        self.goes_on = false;
    }

    pub(super) fn is_lost(&self) -> bool {
        self.parts.is_lost()
    }

    /// A packet has begun and is not complete.
    pub(super) fn is_within(&self) -> bool {
        self.parts.is_within()
    }

    /// Gives back room that few packets need.
    pub(super) fn shrink(&mut self) {
        self.parts.shrink();
    }

    /// Room that is kept.
    pub(super) fn held(&self) -> usize {
        self.parts.held()
    }

    /// The beginning of the packet that is complete.
    pub(super) fn head(&self) -> &[u8] {
        &self.parts.kept
    }

    /// [`Self::head`], to be kept elsewhere.
    pub(super) fn take_head(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.parts.kept)
    }

    /// Room for the next packet, where there is none.
    pub(super) fn give_room(&mut self, room: Vec<u8>) {
        if self.parts.kept.capacity() == 0 {
            self.parts.kept = room;
        }
    }

    /// Payload is missing from [`Self::head`].
    pub(super) fn is_cut(&self) -> bool {
        self.length > self.parts.kept.len() as u64
    }

    /// Takes of a piece as much as belongs to one packet, and keeps `keep` bytes of its payload. After [`FramingStep::Whole`] the
    /// packet is there until the next call.
    pub(super) fn feed(&mut self, piece: &mut StreamItem<'_>, keep: usize) -> FramingStep {
        loop {
            match self.parts.feed(piece, keep) {
                FramingStep::More => return FramingStep::More,
                FramingStep::Lost => {
                    self.goes_on = false;
                    return FramingStep::Lost;
                }
                FramingStep::Whole => {}
            }
            let header = self.parts.header();
            let (part, [.., sequence]) = (length_in(&header), header);
            if !self.goes_on {
                (self.first, self.length) = (sequence, 0);
            }
            self.last = sequence;
            self.length += u64::from(part);
            self.goes_on = part == PART_BYTES_MAX;
            if !self.goes_on {
                return FramingStep::Whole;
            }
            self.parts.go_on();
        }
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

    fn all(pieces: &[StreamItem<'_>], keep: usize) -> Vec<(u8, Vec<u8>, u64)> {
        let mut reader = PacketReader::default();
        let mut all = Vec::new();
        for piece in pieces {
            let mut piece = *piece;
            while reader.feed(&mut piece, keep) == FramingStep::Whole {
                all.push((reader.first, reader.head().to_vec(), reader.length));
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
            let pieces = [StreamItem::Bytes(first), StreamItem::Bytes(second)];
            assert_eq!(all(&pieces, 9), expected);
        }
        let short = all(&[StreamItem::Bytes(&stream)], 2);
        assert_eq!(short[0], (0, b"ab".to_vec(), 3));
    }

    #[test]
    fn a_payload_of_several_parts_is_one_packet() {
        let part = vec![b'x'; PART_BYTES_MAX as usize];
        let stream = [packet(0, &part), packet(1, b"yz"), packet(0, b"!")].concat();
        let packets = all(&[StreamItem::Bytes(&stream)], 4);
        assert_eq!(packets.len(), 2);
        assert_eq!(packets[0], (0, b"xxxx".to_vec(), 0xff_ffff + 2));
        assert_eq!(packets[1], (0, b"!".to_vec(), 1));
        let exact = [packet(0, &part), packet(1, b""), packet(0, b"!")].concat();
        assert_eq!(all(&[StreamItem::Bytes(&exact)], 4).len(), 2);
    }

    #[test]
    fn a_gap_within_a_payload_is_passed_over_and_one_in_a_header_loses_the_place() {
        let stream = [packet(0, b"abcdef"), packet(0, b"gh")].concat();
        let pieces = [
            StreamItem::Bytes(&stream[..6]),
            StreamItem::Gap(3),
            StreamItem::Bytes(&stream[9..]),
        ];
        let packets = all(&pieces, 9);
        assert_eq!(packets[0], (0, b"ab".to_vec(), 6));
        assert_eq!(packets[1], (0, b"gh".to_vec(), 2));
        let pieces = [
            StreamItem::Bytes(&stream[..10]),
            StreamItem::Gap(1),
            StreamItem::Bytes(&stream[11..]),
        ];
        assert_eq!(all(&pieces, 9).len(), 1);
        let mut reader = PacketReader::default();
        let mut gap = StreamItem::Gap(1);
        assert_eq!(reader.feed(&mut gap, 9), FramingStep::Lost);
        let mut bytes = StreamItem::Bytes(&stream);
        assert_eq!(reader.feed(&mut bytes, 9), FramingStep::More);
        reader.resume();
        let mut bytes = StreamItem::Bytes(&stream);
        assert_eq!(reader.feed(&mut bytes, 9), FramingStep::Whole);
    }
}
