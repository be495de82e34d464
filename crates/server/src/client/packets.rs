//! Packets: three bytes of length, one of sequence, the payload. A payload of 16,777,215 bytes goes on in the next one
//! (MySQL source code documentation, "MySQL Packets").

use super::deadline::Deadline;
use super::error::ClientError;
use super::limits::PACKET_BYTES_MAX;
use super::stream::Stream;

/// Bytes that are read at once: at first, which is enough for a login and a probe's answer, and from the first answer on
/// that has more.
const FIRST_CHUNK: usize = 1000;
const CHUNK: usize = 16 << 10;

/// A payload with this length is not the last part.
const PART: usize = 0xff_ffff;

/// The packets of a connection.
pub(super) struct Packets {
    pub(super) stream: Stream,
    /// What was read, from `begin` to `end` not yet taken.
    chunk: Box<[u8]>,
    begin: usize,
    end: usize,
    /// The number of the next packet, ours or theirs.
    sequence: u8,
    /// Bytes that may still come in this operation.
    room: usize,
    /// For a message: how much that was at its beginning.
    room_max: usize,
}

impl Packets {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            chunk: vec![0; FIRST_CHUNK].into(),
            begin: 0,
            end: 0,
            sequence: 0,
            room: 0,
            room_max: 0,
        }
    }

    /// From here on so many bytes may come.
    pub(super) fn allow(&mut self, bytes: usize) {
        self.room = bytes;
        self.room_max = bytes;
    }

    /// A command begins a new conversation.
    pub(super) fn restart(&mut self) {
        self.sequence = 0;
    }

    /// Whether nothing was received that nobody asked for.
    pub(super) fn is_drained(&self) -> bool {
        self.begin == self.end
    }

    /// Sends a packet of less than 16 MiB.
    pub(super) fn send(&mut self, payload: &[u8], deadline: &Deadline) -> Result<(), ClientError> {
        self.send_parts([payload, &[]], deadline)
    }

    /// The same of two parts, one behind the other.
    pub(super) fn send_parts(
        &mut self,
        [first, second]: [&[u8]; 2],
        deadline: &Deadline,
    ) -> Result<(), ClientError> {
        let Some(mut packet) = head(first.len() + second.len(), self.sequence) else {
            return Err(ClientError::TooMuch("the statement is too long".into()));
        };
        packet.extend_from_slice(first);
        packet.extend_from_slice(second);
        self.sequence = self.sequence.wrapping_add(1);
        self.stream.write(&packet, deadline)
    }

    /// Sends a command that nobody answers, if there is room for it at once.
    pub(super) fn send_last(&mut self, payload: &[u8]) {
        if let Some(mut packet) = head(payload.len(), 0) {
            packet.extend_from_slice(payload);
            self.stream.write_now(&packet);
        }
    }

    /// The next packet into `payload`, and whether its number was the expected one.
    ///
    /// Errors by a wrong number are the caller's: a server that ends an idle connection says why in a packet numbered 0
    /// (MySQL 8.0.24, `ER_CLIENT_INTERACTION_TIMEOUT`), which is worth telling.
    pub(super) fn receive(
        &mut self,
        payload: &mut Vec<u8>,
        deadline: &Deadline,
    ) -> Result<bool, ClientError> {
        payload.clear();
        let mut in_order = true;
        loop {
            let [a, b, c, number] = self.header(deadline)?;
            let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
            in_order &= number == self.sequence;
            self.sequence = number.wrapping_add(1);
            if payload.len() + length > PACKET_BYTES_MAX {
                let text = format!("a packet of more than {} MiB", PACKET_BYTES_MAX >> 20);
                return Err(ClientError::TooMuch(text.into()));
            }
            let Some(room) = self.room.checked_sub(length + 4) else {
                let text = format!("more than {} KiB", self.room_max >> 10);
                return Err(ClientError::TooMuch(text.into()));
            };
            self.room = room;
            let mut left = length;
            while left > 0 {
                let some = self.some(left, deadline)?;
                payload.extend_from_slice(some);
                left -= some.len();
            }
            if length < PART {
                return Ok(in_order);
            }
        }
    }

    /// The next packet where all of it was read already and its number is the expected one: most rows of a status are, and
    /// need no copy. Of anything else [`Self::receive`] tells.
    pub(super) fn at_hand(&mut self) -> Option<&[u8]> {
        let read = self.chunk.get(self.begin..self.end)?;
        let ([a, b, c, number], rest) = read.split_first_chunk::<4>()?;
        let length = usize::from(*a) | usize::from(*b) << 8 | usize::from(*c) << 16;
        let is_plain = *number == self.sequence && (1..=rest.len()).contains(&length);
        // What is in the chunk is far smaller than a packet may be.
        let room = self.room.checked_sub(length + 4).filter(|_| is_plain)?;
        self.room = room;
        self.sequence = self.sequence.wrapping_add(1);
        let from = self.begin + 4;
        self.begin = from + length;
        self.chunk.get(from..self.begin)
    }

    fn header(&mut self, deadline: &Deadline) -> Result<[u8; 4], ClientError> {
        // Most are whole in what was read: a status has five hundred of them.
        let read = self.chunk.get(self.begin..self.end).unwrap_or_default();
        if let Some(header) = read.first_chunk::<4>() {
            self.begin += header.len();
            return Ok(*header);
        }
        let mut header = [0; 4];
        for byte in &mut header {
            *byte = self.some(1, deadline)?.first().copied().unwrap_or(0);
        }
        Ok(header)
    }

    /// Between one and `most` bytes.
    fn some(&mut self, most: usize, deadline: &Deadline) -> Result<&[u8], ClientError> {
        if self.begin == self.end {
            let was_full = self.end == self.chunk.len();
            self.begin = 0;
            self.end = 0;
            if was_full && self.chunk.len() < CHUNK {
                self.chunk = vec![0; CHUNK].into();
            }
            self.end = self.stream.read(&mut self.chunk, deadline)?;
        }
        let from = self.begin;
        self.begin = self.end.min(from.saturating_add(most));
        Ok(self.chunk.get(from..self.begin).unwrap_or_default())
    }
}

fn head(length: usize, sequence: u8) -> Option<Vec<u8>> {
    let [a, b, c, 0] = u32::try_from(length).ok()?.to_le_bytes() else {
        return None;
    };
    let mut packet = Vec::with_capacity(length + 4);
    packet.extend_from_slice(&[a, b, c, sequence]);
    (length < PART).then_some(packet)
}
