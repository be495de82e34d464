//! Reading the protocol's fields: little-endian numbers, length-encoded ones, strings.

/// A place in a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of up to 8 bytes.
    pub(super) fn number(&mut self, bytes: usize) -> Option<u64> {
        let taken = self.take(bytes)?;
        Some(
            taken
                .iter()
                .rev()
                .fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
        )
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.number(2).map(|number| number as u16)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.number(4).map(|number| number as u32)
    }

    /// A length-encoded number; the marks for NULL and errors are none.
    pub(super) fn length(&mut self) -> Option<u64> {
        match self.u8()? {
            0xfc => self.number(2),
            0xfd => self.number(3),
            0xfe => self.number(8),
            0xfb | 0xff => None,
            small => Some(small.into()),
        }
    }

    /// A string after its length.
    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        self.take(usize::try_from(length).ok()?)
    }

    /// A string up to a zero byte, or to the end where that is missing.
    pub(super) fn zero_ended(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0);
        let text = self
            .0
            .get(..end.unwrap_or(self.0.len()))
            .unwrap_or_default();
        let after = end.map_or(self.0.len(), |end| end + 1);
        self.0 = self.0.get(after..).unwrap_or_default();
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        let mut reader = Reader(b"\x01\x02\x03\xfc\x10\x27\x02ab\x02x\0y");
        assert_eq!(reader.u8(), Some(1));
        assert_eq!(reader.u16(), Some(0x0302));
        assert_eq!(reader.length(), Some(10_000));
        assert_eq!(reader.string(), Some(&b"ab"[..]));
        assert_eq!(reader.zero_ended(), b"\x02x");
        assert_eq!(reader.zero_ended(), b"y");
        assert_eq!(reader.zero_ended(), b"");
        assert_eq!(reader.u8(), None);
        assert_eq!(Reader(b"\xff").length(), None);
        assert_eq!(Reader(b"\x05ab").string(), None);
    }
}
