//! What the first segment of a connection that was open before can be. Also how reading goes on after a loss.

use super::command::Command;
use super::compression::has_magic;

/// What a segment from a client looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guess {
    /// A request.
    Plain,
    /// A request in the compressed protocol.
    Compressed,
    /// TLS records.
    Tls,
    /// None of them: the middle of something.
    Unclear,
}

/// A record's header: a type, a version 3.x, a length of at most 2^14 + 2048 (RFC 5246, 6.2.3).
fn is_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [0x14..=0x17, 3, 0..=4, high, ..] if *high <= 0x48)
}

/// A packet that begins here is a request: sequence 0, a command, and a length that ends where the segment does or, for a
/// long statement, after it.
fn is_plain(bytes: &[u8], segment: u32) -> bool {
    let [a, b, c, 0, command, text @ ..] = bytes else {
        return false;
    };
    let length = u32::from_le_bytes([*a, *b, *c, 0]);
    let Some(command) = Command::from_byte(*command).filter(|_| length > 0) else {
        return false;
    };
    let end = length.saturating_add(4);
    if end == segment {
        return true;
    }
    let is_text = matches!(command, Command::Query | Command::Prepare) && starts_as_text(text);
    // Several requests in one segment, or one in several.
    is_text || (end < segment && is_next_plain(bytes.get(end as usize..)))
}

fn is_next_plain(bytes: Option<&[u8]>) -> bool {
    matches!(bytes, Some([_, _, _, 0, command, ..]) if Command::from_byte(*command).is_some())
}

/// As statements do, perhaps after the marks of query attributes.
fn starts_as_text(text: &[u8]) -> bool {
    let text = text.strip_prefix(&[0, 1]).unwrap_or(text);
    let Some(start) = text.get(..8) else {
        return false;
    };
    start
        .iter()
        .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

fn is_compressed(bytes: &[u8], segment: u32) -> bool {
    let [a, b, c, 0, d, e, f, payload @ ..] = bytes else {
        return false;
    };
    let length = u32::from_le_bytes([*a, *b, *c, 0]);
    let plain = u32::from_le_bytes([*d, *e, *f, 0]);
    let end = length.saturating_add(7);
    if plain == 0 {
        return end == segment && is_plain(payload, length);
    }
    end >= segment && plain >= length / 2 && length > 0 && has_magic(payload)
}

/// What a segment from a client looks like: its bytes as far as they were copied, and its length.
pub(super) fn guess(bytes: &[u8], segment: u32) -> Guess {
    if is_compressed(bytes, segment) {
        Guess::Compressed
    } else if is_plain(bytes, segment) {
        Guess::Plain
    } else if is_tls(bytes) {
        Guess::Tls
    } else {
        Guess::Unclear
    }
}

/// A server's greeting.
pub(super) fn is_greeting(bytes: &[u8]) -> bool {
    matches!(bytes, [_, 0, 0, 0, 10, digit, ..] if digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess_bytes(bytes: &[u8]) -> Guess {
        guess(bytes, bytes.len() as u32)
    }

    #[test]
    fn segments_from_clients() {
        assert_eq!(guess_bytes(b"\x09\0\0\0\x03select 1"), Guess::Plain);
        assert_eq!(guess_bytes(b"\x01\0\0\0\x0e"), Guess::Plain);
        assert_eq!(guess(b"\x09\x10\0\0\x03select aaaa", 1460), Guess::Plain);
        assert_eq!(guess_bytes(b"\x09\0\0\0\x03select 1 from t"), Guess::Plain);
        assert_eq!(guess_bytes(b"\x09\0\0\x01\x03select 1"), Guess::Unclear);
        assert_eq!(guess_bytes(b"\x09\0\0\0\x7fselect 1"), Guess::Unclear);
        assert_eq!(
            guess_bytes(b"ist lang und hat keinen Anfang"),
            Guess::Unclear
        );
        assert_eq!(guess_bytes(b""), Guess::Unclear);
        assert_eq!(
            guess_bytes(b"\x0d\0\0\0\0\0\0\x09\0\0\0\x03select 1"),
            Guess::Compressed
        );
        assert_eq!(
            guess(b"\x40\0\0\0\x90\0\0\x78\x9c...", 71),
            Guess::Compressed
        );
        assert_eq!(
            guess(b"\x40\0\0\0\x90\0\0\x28\xb5\x2f\xfd..", 71),
            Guess::Compressed
        );
        assert_eq!(guess_bytes(b"\x17\x03\x03\x00\x45............"), Guess::Tls);
    }
}
