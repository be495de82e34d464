//! Files of a crate that are within the program. Build scripts list them as code, so that adding a file is all that it
//! takes, and pack texts, which are a quarter of the program otherwise; the program unpacks those that it needs.

mod listed;

pub use listed::{Declared, packed, packed_as, packed_as_one, statics, texts};

use std::io::Read;

use flate2::read::DeflateDecoder;

/// The names and lengths of files, and their texts as [`packed_as_one`] packed them.
pub type PackedAsOne = (&'static [(&'static str, usize)], &'static [u8]);

/// A text that [`packed`] packed. Empty when the bytes are none: tests of the crates that have texts read them all.
pub fn unpack(packed: &[u8]) -> String {
    String::from_utf8(unpack_bytes(packed)).unwrap_or_default()
}

/// As [`unpack`], of a file that is no text.
pub fn unpack_bytes(packed: &[u8]) -> Vec<u8> {
    // What texts become, more or less: growing there copies them again and again.
    let mut bytes = Vec::with_capacity(packed.len() * 4);
    match DeflateDecoder::new(packed).read_to_end(&mut bytes) {
        Ok(_) => bytes,
        Err(_) => Vec::new(),
    }
}

/// All files that [`packed_as_one`] packed, by name.
pub fn unpack_each((names, packed): PackedAsOne) -> Vec<(&'static str, String)> {
    let all = unpack(packed);
    let mut rest = all.as_str();
    let each = names.iter().map(|(name, bytes)| {
        let (text, after) = rest.split_at_checked(*bytes).unwrap_or_default();
        rest = after;
        (*name, text.to_owned())
    });
    each.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing step fails the test")]
mod tests {
    use super::{listed, unpack, unpack_bytes, unpack_each};

    #[test]
    fn a_text_comes_back_as_it_was() {
        let text = "buf_flush_page | flushing | work\n".repeat(9_000);
        let packed = listed::pack(text.as_bytes()).unwrap();
        assert!(packed.len() < text.len() / 50, "{}", packed.len());
        assert_eq!(unpack(&packed), text);
        assert_eq!(unpack(&listed::pack(b"").unwrap()), "");
    }

    #[test]
    fn bytes_need_be_no_text() {
        let packed = listed::pack(&[0xff, 0, 0xfe]).unwrap();
        assert_eq!(unpack_bytes(&packed), [0xff, 0, 0xfe]);
        assert_eq!(unpack(&packed), "");
    }

    #[test]
    fn of_texts_in_one_each_comes_back() {
        let packed = listed::pack("[1]\n[ü]".as_bytes()).unwrap().leak();
        let each = unpack_each((&[("a", 4), ("none", 0), ("b", 4)], packed));
        let wanted = [("a", "[1]\n"), ("none", ""), ("b", "[ü]")];
        assert_eq!(each, wanted.map(|(name, text)| (name, text.to_owned())));
        let cut = packed.get(..3).unwrap();
        assert_eq!(unpack_each((&[("a", 4)], cut)), [("a", String::new())]);
    }

    #[test]
    fn what_is_no_packed_text_is_empty() {
        let packed = listed::pack(b"InnoDB: Waiting for the page cleaner").unwrap();
        assert_eq!(unpack(packed.get(..9).unwrap()), "");
        assert_eq!(unpack(b"not packed"), "");
    }
}
