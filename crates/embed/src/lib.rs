//! Files of a crate that are within the program. Build scripts list them as code, so that adding a file is all that it
//! takes, and pack texts, which are a quarter of the program otherwise; the program unpacks those that it needs.

mod listed;

pub use listed::{Declared, packed, statics, texts};

use std::io::Read;

use flate2::read::DeflateDecoder;

/// A text that [`packed`] packed. Empty when the bytes are none: tests of the crates that have texts read them all.
pub fn unpack(packed: &[u8]) -> String {
    let mut text = String::new();
    match DeflateDecoder::new(packed).read_to_string(&mut text) {
        Ok(_) => text,
        Err(_) => String::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing step fails the test")]
mod tests {
    use super::{listed, unpack};

    #[test]
    fn a_text_comes_back_as_it_was() {
        let text = "buf_flush_page | flushing | work\n".repeat(9_000);
        let packed = listed::pack(text.as_bytes()).unwrap();
        assert!(packed.len() < text.len() / 50, "{}", packed.len());
        assert_eq!(unpack(&packed), text);
        assert_eq!(unpack(&listed::pack(b"").unwrap()), "");
    }

    #[test]
    fn what_is_no_packed_text_is_empty() {
        let packed = listed::pack(b"InnoDB: Waiting for the page cleaner").unwrap();
        assert_eq!(unpack(packed.get(..9).unwrap()), "");
        assert_eq!(unpack(b"not packed"), "");
    }
}
