//! One direction of a TCP connection: segments in, bytes in their order out (RFC 9293, 3.4).

use super::limits::{SEGMENTS_WAITING_MAX, WAITING_BYTES_MAX};

/// A segment that is older than this is of another connection with the same ports whose beginning was not seen.
const OLD_BYTES_MAX: u32 = 64 << 20;

/// What comes next in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamItem<'a> {
    /// Bytes.
    Bytes(&'a [u8]),
    /// So many that were not seen.
    Gap(u64),
}

/// A [`StreamItem`] with what is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival<'a> {
    pub(super) piece: StreamItem<'a>,
    /// When its segment was seen, microseconds.
    pub(super) at_us: i64,
    /// The piece begins with its segment, which had so many bytes.
    pub(super) segment: Option<u32>,
}

/// A segment that came before an earlier one.
#[derive(Debug)]
struct Waiting {
    sequence: u32,
    length: u32,
    at_us: i64,
    bytes: Vec<u8>,
}

/// Puts segments in order.
#[derive(Debug, Default)]
pub(super) struct Stream {
    next: Option<u32>,
    waiting: Vec<Waiting>,
    /// Bytes of `waiting`.
    held: usize,
}

impl Stream {
    /// The connection begins: its first byte has the number after the SYN's.
    pub(super) fn start(&mut self, syn: u32) {
        *self = Self {
            next: Some(syn.wrapping_add(1)),
            ..Self::default()
        };
    }

    /// Bytes that wait.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// A segment of `length` bytes, of which the first ones were copied.
    pub(super) fn segment(
        &mut self,
        (sequence, at_us): (u32, i64),
        bytes: &[u8],
        length: u32,
        may_wait: bool,
        each: &mut dyn FnMut(Arrival<'_>),
    ) {
        if length == 0 {
            return;
        }
        let next = *self.next.get_or_insert(sequence);
        let ahead = sequence.wrapping_sub(next).cast_signed();
        if ahead > 0 {
            self.wait(sequence, at_us, bytes, length, may_wait);
            while self.waiting.len() > SEGMENTS_WAITING_MAX
                || self.held > WAITING_BYTES_MAX
                || (!may_wait && !self.waiting.is_empty())
            {
                self.pass_over_gap(None, each);
            }
            return;
        }
        let behind = ahead.unsigned_abs();
        if behind > OLD_BYTES_MAX {
            self.waiting.clear();
            self.held = 0;
            self.next = Some(sequence);
            deliver(bytes, length, 0, at_us, each);
        } else if behind < length {
            // The beginning of a segment that was sent again may be known.
            deliver(bytes, length, behind, at_us, each);
        } else {
            return;
        }
        self.next = Some(sequence.wrapping_add(length));
        self.release(each);
    }

    /// The other side has everything before `acknowledged`: what we have not seen of that we never will.
    pub(super) fn acknowledged(
        &mut self,
        acknowledged: u32,
        at_us: i64,
        each: &mut dyn FnMut(Arrival<'_>),
    ) {
        while let Some(next) = self.next {
            let missing = acknowledged.wrapping_sub(next).cast_signed();
            if missing <= 0 || missing.unsigned_abs() > OLD_BYTES_MAX {
                return;
            }
            if self.waiting.is_empty() {
                each(gap(missing.unsigned_abs(), at_us));
                self.next = Some(acknowledged);
                return;
            }
            self.pass_over_gap(Some(acknowledged), each);
        }
    }

    /// Hands over what waits, with gaps where something is missing.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(Arrival<'_>)) {
        while !self.waiting.is_empty() {
            self.pass_over_gap(None, each);
        }
    }

    fn wait(&mut self, sequence: u32, at_us: i64, bytes: &[u8], length: u32, may_wait: bool) {
        // Without room its beginning and length are enough to go on behind it.
        let bytes = if may_wait { bytes } else { &[] };
        self.held += bytes.len();
        self.waiting.push(Waiting {
            sequence,
            length,
            at_us,
            bytes: bytes.to_vec(),
        });
    }

    /// Goes on at the earliest segment that waits, or at `limit` when that is earlier.
    fn pass_over_gap(&mut self, limit: Option<u32>, each: &mut dyn FnMut(Arrival<'_>)) {
        let Some(next) = self.next else { return };
        let ahead = |sequence: u32| sequence.wrapping_sub(next).cast_signed();
        let Some((sequence, at_us)) = self
            .waiting
            .iter()
            .map(|waiting| (waiting.sequence, waiting.at_us))
            .min_by_key(|(sequence, _)| ahead(*sequence))
        else {
            return;
        };
        let to = match limit {
            Some(limit) if ahead(limit) < ahead(sequence) => limit,
            _ => sequence,
        };
        let missing = ahead(to);
        if missing > 0 {
            each(gap(missing.unsigned_abs(), at_us));
            self.next = Some(to);
        }
        self.release(each);
    }

    /// Hands over the segments whose turn it is.
    fn release(&mut self, each: &mut dyn FnMut(Arrival<'_>)) {
        while let Some(next) = self.next {
            let ready = self
                .waiting
                .iter()
                .position(|waiting| waiting.sequence.wrapping_sub(next).cast_signed() <= 0);
            let Some(index) = ready else { return };
            let waiting = self.waiting.swap_remove(index);
            self.held = self.held.saturating_sub(waiting.bytes.len());
            let behind = next.wrapping_sub(waiting.sequence);
            if behind < waiting.length {
                deliver(&waiting.bytes, waiting.length, behind, waiting.at_us, each);
                self.next = Some(waiting.sequence.wrapping_add(waiting.length));
            }
        }
    }
}

/// `at_us`: when something was seen that came after it.
fn gap(bytes: u32, at_us: i64) -> Arrival<'static> {
    Arrival {
        piece: StreamItem::Gap(bytes.into()),
        at_us: at_us.saturating_sub(1),
        segment: None,
    }
}

/// A segment from its byte `skip` on.
fn deliver(bytes: &[u8], length: u32, skip: u32, at_us: i64, each: &mut dyn FnMut(Arrival<'_>)) {
    let known = bytes.get(skip as usize..).unwrap_or_default();
    let known = known.get(..(length - skip) as usize).unwrap_or(known);
    if !known.is_empty() {
        each(Arrival {
            piece: StreamItem::Bytes(known),
            at_us,
            segment: (skip == 0).then_some(length),
        });
    }
    let unknown = length - skip - known.len() as u32;
    if unknown > 0 {
        each(gap(unknown, at_us.saturating_add(1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes out of segments: bytes, and a dot for each that is missing.
    fn text(segments: &[(u32, &[u8], u32)], acknowledged: Option<u32>) -> String {
        let mut stream = Stream::default();
        stream.start(u32::MAX - 3); // the numbers go past zero
        let mut text = String::new();
        let mut each = |arrival: Arrival<'_>| match arrival.piece {
            StreamItem::Bytes(bytes) => text += std::str::from_utf8(bytes).unwrap(),
            StreamItem::Gap(count) => text += &".".repeat(count as usize),
        };
        let first = u32::MAX - 2;
        for (at, bytes, length) in segments {
            stream.segment(
                (first.wrapping_add(*at), 0),
                bytes,
                *length,
                true,
                &mut each,
            );
        }
        if let Some(acknowledged) = acknowledged {
            stream.acknowledged(first.wrapping_add(acknowledged), 0, &mut each);
        }
        text
    }

    #[test]
    fn segments_in_any_order_and_more_than_once() {
        let abc: (u32, &[u8], u32) = (0, b"abc", 3);
        let def: (u32, &[u8], u32) = (3, b"def", 3);
        let ghi: (u32, &[u8], u32) = (6, b"ghi", 3);
        assert_eq!(text(&[abc, def, ghi], None), "abcdefghi");
        assert_eq!(text(&[ghi, def, abc], None), "abcdefghi");
        assert_eq!(text(&[abc, ghi, abc, def, ghi, def], None), "abcdefghi");
        assert_eq!(text(&[abc, (1, b"bcdefgh", 7), ghi], None), "abcdefghi");
    }

    #[test]
    fn what_was_cut_or_never_seen_is_a_gap() {
        assert_eq!(text(&[(0, b"ab", 5), (5, b"fg", 2)], None), "ab...fg");
        let lost: [(u32, &[u8], u32); 2] = [(0, b"abc", 3), (6, b"ghi", 3)];
        assert_eq!(text(&lost, None), "abc");
        assert_eq!(text(&lost, Some(9)), "abc...ghi");
        assert_eq!(text(&lost, Some(12)), "abc...ghi...");
        assert_eq!(text(&lost, Some(4)), "abc.");
        assert_eq!(text(&lost[..1], Some(5)), "abc..");
    }

    #[test]
    fn waiting_is_bounded() {
        let mut stream = Stream::default();
        stream.start(0);
        let mut bytes = 0;
        for index in 0..10_000_u32 {
            stream.segment(
                (100 + index * 100, 0),
                &[b'x'; 50],
                50,
                true,
                &mut |arrival| {
                    if let StreamItem::Bytes(piece) = arrival.piece {
                        bytes += piece.len();
                    }
                },
            );
            assert!(stream.waiting.len() <= SEGMENTS_WAITING_MAX);
        }
        let waiting: usize = stream.waiting.iter().map(|one| one.bytes.len()).sum();
        assert_eq!(stream.held(), waiting);
        assert_eq!(bytes + waiting, 500_000);
    }
}
