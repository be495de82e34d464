//! Elements of DER, of keys and certificates: read strictly, they are from whoever answers.

/// One element of DER: its kind and what is in it; the rest stays.
pub(crate) fn element<'a>(bytes: &mut &'a [u8], kind: u8) -> Option<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(2)?;
    let [found, first] = head else { return None };
    if *found != kind {
        return None;
    }
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        // One or two bytes of length: more than any key or certificate has.
        0x81 | 0x82 => {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let length = length
                .iter()
                .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            (length, rest)
        }
        _ => return None,
    };
    let (inside, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(inside)
}
