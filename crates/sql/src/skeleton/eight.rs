//! Looking at eight bytes at a time, as one number. Nothing here knows SQL.

/// Eight bytes from a place on, the first one lowest, and how many of them there are; the others are 0.
pub(super) fn load(text: &[u8], at: usize) -> (u64, usize) {
    if let Some(Ok(bytes)) = text.get(at..at + 8).map(TryInto::try_into) {
        return (u64::from_le_bytes(bytes), 8);
    }
    let valid = text.len().saturating_sub(at);
    if let Some(bytes) = text.last_chunk::<8>()
        && valid > 0
    {
        return (u64::from_le_bytes(*bytes) >> (8 * (8 - valid)), valid);
    }
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(text.get(at..).unwrap_or_default()) {
        *to = *from;
    }
    (u64::from_le_bytes(bytes), valid)
}

pub(super) const ONES: u64 = 0x0101_0101_0101_0101;
pub(super) const HIGH: u64 = 0x8080_8080_8080_8080;

/// The high bit of each byte that is at least `limit` when its own high bit is left out.
pub(super) const fn at_least(low: u64, limit: u8) -> u64 {
    low + ONES * (0x80 - limit as u64)
}

/// The high bit of each byte that is this one.
pub(super) const fn equal(word: u64, byte: u8) -> u64 {
    let difference = word ^ (ONES * byte as u64);
    !(((difference & !HIGH) + !HIGH) | difference) & HIGH
}

pub(super) fn digits_end(text: &[u8], from: usize) -> usize {
    end_where(text, from, |word| {
        let low = word & !HIGH;
        !(at_least(low, b'0') & !at_least(low, b'9' + 1) & !word) & HIGH
    })
}

/// The first place from `from` on whose byte's high bit is set in the flags of the eight bytes that it is one of; the
/// end when there is none.
pub(super) fn end_where(text: &[u8], from: usize, flags: impl Fn(u64) -> u64) -> usize {
    let mut at = from;
    loop {
        let (word, valid) = load(text, at);
        let offset = (flags(word).trailing_zeros() / 8) as usize;
        if offset < valid {
            return at + offset;
        }
        at += valid;
        if valid < 8 {
            return at;
        }
    }
}
