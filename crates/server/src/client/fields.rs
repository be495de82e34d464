//! Reading and writing the protocol's fields. A field that is not whole is none.

/// What is left of a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        let bytes = self.take(2)?.try_into().ok()?;
        Some(u16::from_le_bytes(bytes))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        let bytes = self.take(4)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes))
    }

    /// A length-encoded number; the marks for NULL and errors are none.
    pub(super) fn length(&mut self) -> Option<u64> {
        let bytes = match self.u8()? {
            0xfb | 0xff => return None,
            0xfc => 2,
            0xfd => 3,
            0xfe => 8,
            small => return Some(small.into()),
        };
        let taken = self.take(bytes)?;
        Some(
            taken
                .iter()
                .rev()
                .fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
        )
    }

    /// A string behind its length.
    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        self.take(usize::try_from(length).ok()?)
    }

    /// A value of a row: a string behind its length, or NULL.
    pub(super) fn value(&mut self) -> Option<Option<&'a [u8]>> {
        if self.0.first() == Some(&0xfb) {
            self.u8()?;
            return Some(None);
        }
        self.string().map(Some)
    }

    /// A string up to a zero byte, which must be there.
    pub(super) fn zero_ended(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = self.take(end)?;
        self.u8()?;
        Some(text)
    }
}

/// Appends a string behind its length of one byte; one of more than 250 bytes is cut.
pub(super) fn put_short(to: &mut Vec<u8>, text: &[u8]) {
    let text = text.get(..250).unwrap_or(text);
    to.push(u8::try_from(text.len()).unwrap_or(0));
    to.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_whole_is_none() {
        assert_eq!(Fields(b"\xfc\x01").length(), None);
        assert_eq!(Fields(b"\xfc\x01\x02").length(), Some(0x201));
        assert_eq!(
            Fields(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xffx").string(),
            None
        );
        assert_eq!(Fields(b"\x05abc").string(), None);
        assert_eq!(Fields(b"\xfbrest").value(), Some(None));
        assert_eq!(Fields(b"\x02abc").value(), Some(Some(&b"ab"[..])));
        assert_eq!(Fields(b"abc").zero_ended(), None);
        assert_eq!(Fields(b"").u8(), None);
    }
}
