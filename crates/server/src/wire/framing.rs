//! What both protocols cut a stream into: a header whose first three bytes are the length of what follows, and that. The
//! plain protocol's header has 4 bytes, the compressed one's 7.

use super::limits::IDLE_BYTES_MAX;
use super::stream::StreamItem;

/// What came of a piece of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FramingStep {
    /// All of it was taken.
    More,
    /// One is complete; there may be more in the piece.
    Whole,
    /// The place of the next one is not known any more; what follows is passed over until it is told
    /// ([`FramingReader::resume`]).
    Lost,
}

/// Cuts a stream into frames with a header of so many bytes. The beginnings of the payloads are kept.
#[derive(Debug)]
pub(super) struct FramingReader<const HEADER: usize> {
    header: [u8; HEADER],
    header_bytes: u8,
    in_payload: bool,
    /// Bytes of the payload that are still to come.
    left: u32,
    /// The next payload belongs to this one.
    goes_on: bool,
    lost: bool,
    /// Nothing more is kept of this payload.
    full: bool,
    /// The payload's beginning.
    pub(super) kept: Vec<u8>,
}

impl<const HEADER: usize> Default for FramingReader<HEADER> {
    fn default() -> Self {
        Self {
            header: [0; HEADER],
            header_bytes: 0,
            in_payload: false,
            left: 0,
            goes_on: false,
            lost: false,
            full: false,
            kept: Vec::new(),
        }
    }
}

impl<const HEADER: usize> FramingReader<HEADER> {
    /// The next byte begins a frame.
    pub(super) fn resume(&mut self) {
        let mut kept = std::mem::take(&mut self.kept);
        kept.clear();
        *self = Self {
            kept,
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

    /// The next byte begins a frame that does not belong to the one before, as far as is known.
    fn is_between(&self) -> bool {
        !self.lost && !self.in_payload && self.header_bytes == 0 && !self.goes_on
    }

    /// One has begun and is not complete.
    pub(super) fn is_within(&self) -> bool {
        !self.lost && !self.is_between()
    }

    /// The header of the frame that is complete.
    pub(super) fn header(&self) -> [u8; HEADER] {
        self.header
    }

    /// The next payload is kept behind this one.
    pub(super) fn go_on(&mut self) {
        self.goes_on = true;
    }

    /// Room that is kept.
    pub(super) fn held(&self) -> usize {
        self.kept.capacity()
    }

    /// Gives back room that few frames need.
    pub(super) fn shrink(&mut self) {
        if self.is_between() && self.kept.capacity() > IDLE_BYTES_MAX {
            self.kept = Vec::new();
        }
    }

    /// Takes of a piece as much as belongs to one frame, and keeps `keep` bytes of its payload. After [`FramingStep::Whole`] they
    /// are in `kept` until the next call.
    pub(super) fn feed(&mut self, piece: &mut StreamItem<'_>, keep: usize) -> FramingStep {
        if self.lost {
            *piece = StreamItem::Bytes(&[]);
            return FramingStep::More;
        }
        loop {
            if self.in_payload {
                match piece {
                    StreamItem::Bytes(bytes) => {
                        let (taken, rest) = bytes.split_at(bytes.len().min(self.left as usize));
                        self.keep(taken, keep);
                        self.left -= taken.len() as u32;
                        *bytes = rest;
                    }
                    StreamItem::Gap(gap) => {
                        let taken = (*gap).min(self.left.into());
                        self.full |= taken > 0;
                        self.left -= taken as u32;
                        *gap -= taken;
                    }
                }
                if self.left > 0 {
                    return FramingStep::More;
                }
                self.in_payload = false;
                self.header_bytes = 0;
                return FramingStep::Whole;
            }
            match piece {
                StreamItem::Gap(0) => return FramingStep::More,
                StreamItem::Gap(_) => {
                    self.lose();
                    return FramingStep::Lost;
                }
                StreamItem::Bytes([]) => return FramingStep::More,
                StreamItem::Bytes(bytes) => {
                    // Mostly a header is there as a whole.
                    if self.header_bytes == 0
                        && let Some((header, rest)) = bytes.split_first_chunk()
                    {
                        self.header = *header;
                        self.header_bytes = HEADER as u8;
                        *bytes = rest;
                    } else if let [byte, rest @ ..] = bytes {
                        if let Some(place) = self.header.get_mut(usize::from(self.header_bytes)) {
                            *place = *byte;
                        }
                        self.header_bytes += 1;
                        *bytes = rest;
                    }
                }
            }
            if usize::from(self.header_bytes) == HEADER {
                self.begin();
            }
        }
    }

    fn begin(&mut self) {
        self.left = length_in(&self.header);
        self.in_payload = true;
        if !self.goes_on {
            self.full = false;
            self.kept.clear();
        }
        self.goes_on = false;
    }

    fn keep(&mut self, bytes: &[u8], keep: usize) {
        if self.full {
            return;
        }
        let room = keep.saturating_sub(self.kept.len());
        let kept = bytes.get(..room).unwrap_or(bytes);
        self.full = kept.len() < bytes.len();
        self.kept.extend_from_slice(kept);
    }
}

/// Three bytes, the least first.
pub(super) fn length_in(bytes: &[u8]) -> u32 {
    match bytes {
        [a, b, c, ..] => u32::from_le_bytes([*a, *b, *c, 0]),
        _ => 0,
    }
}
