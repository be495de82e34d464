//! Packed captures, by their first bytes: gzip, zstd, tar, zip; one in the other.

use std::io::Read;

use flate2::read::{DeflateDecoder, MultiGzDecoder};

use super::{BYTES_MAX, Found};

/// Archives in archives.
const DEPTH_MAX: usize = 4;

/// Size of a block of tar.
const BLOCK: usize = 512;

/// Adds a file, or what is packed in it.
pub(super) fn unpack(path: String, bytes: Vec<u8>, found: &mut Found, depth: usize) {
    if depth >= DEPTH_MAX {
        found.note(path, format!("archives deeper than {DEPTH_MAX}"));
        return;
    }
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let inner = limited(MultiGzDecoder::new(bytes.as_slice()));
        unpacked(path, inner, found, depth);
    } else if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let inner = match ruzstd::decoding::StreamingDecoder::new(bytes.as_slice()) {
            Ok(decoder) => limited(decoder),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        unpacked(path, inner, found, depth);
    } else if bytes.starts_with(b"PK\x03\x04") {
        zip(&path, &bytes, found, depth);
    } else if is_tar(&bytes) {
        tar(&path, &bytes, found, depth);
    } else {
        found.add(path, bytes);
    }
}

/// What could be unpacked, and why not more.
fn limited(reader: impl Read) -> (Vec<u8>, Option<String>) {
    let mut bytes = Vec::new();
    let read = reader.take(BYTES_MAX).read_to_end(&mut bytes);
    (bytes, read.err().map(|error| error.to_string()))
}

fn unpacked(
    path: String,
    (bytes, error): (Vec<u8>, Option<String>),
    found: &mut Found,
    depth: usize,
) {
    if let Some(error) = error {
        found.note(
            path.clone(),
            format!("damaged after {} bytes: {error}", bytes.len()),
        );
    }
    if !bytes.is_empty() {
        unpack(path, bytes, found, depth + 1);
    }
}

/// Characters of a name in an archive that are told.
const NAME_CHARS_MAX: usize = 255;

/// A name as it is told: whoever made the archive may have put anything into it.
fn shown(name: &str) -> String {
    let plain = |c: char| if c.is_control() { '?' } else { c };
    name.chars().take(NAME_CHARS_MAX).map(plain).collect()
}

fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// Files of a tar (POSIX.1-1988 ustar and GNU's): a head of 512 bytes, then the content.
fn tar(path: &str, bytes: &[u8], found: &mut Found, depth: usize) {
    let mut at = 0;
    while let Some(head) = bytes.get(at..at + BLOCK) {
        if head.iter().all(|byte| *byte == 0) {
            return;
        }
        let text = |from: usize, to: usize| {
            let field = head.get(from..to).unwrap_or_default();
            let end = field
                .iter()
                .position(|byte| *byte == 0)
                .unwrap_or(field.len());
            String::from_utf8_lossy(field.get(..end).unwrap_or_default())
                .trim()
                .to_owned()
        };
        let Ok(size) = usize::from_str_radix(&text(124, 136), 8) else {
            found.note(path.to_owned(), format!("damaged tar head at byte {at}"));
            return;
        };
        let begin = at + BLOCK;
        let kind = head.get(156).copied().unwrap_or(0);
        let Some(end) = begin.checked_add(size).map(|end| end.min(bytes.len())) else {
            found.note(path.to_owned(), format!("damaged tar head at byte {at}"));
            return;
        };
        if matches!(kind, 0 | b'0') && size > 0 {
            let name = format!("{path}/{}", shown(&text(0, 100)));
            if end - begin < size {
                found.note(
                    name.clone(),
                    format!(
                        "damaged after {} bytes: the archive is cut, {size} bytes were there",
                        end - begin
                    ),
                );
            }
            unpack(
                name,
                bytes.get(begin..end).unwrap_or_default().to_vec(),
                found,
                depth + 1,
            );
        }
        let Some(next) = begin.checked_add(size.next_multiple_of(BLOCK)) else {
            return;
        };
        at = next;
    }
}

/// Files of a zip, by the heads in front of them (APPNOTE 4.3.7); stored or deflated.
fn zip(path: &str, bytes: &[u8], found: &mut Found, depth: usize) {
    let mut at = 0;
    while bytes.get(at..at + 4) == Some(b"PK\x03\x04") {
        let number = |from: usize, length: usize| {
            let field = bytes.get(at + from..at + from + length)?;
            Some(
                field
                    .iter()
                    .rev()
                    .fold(0_usize, |sum, byte| (sum << 8) | usize::from(*byte)),
            )
        };
        let heads = (|| {
            Some((
                number(6, 2)?,
                number(8, 2)?,
                number(18, 4)?,
                number(26, 2)?,
                number(28, 2)?,
            ))
        })();
        let Some((flags, method, packed, name_length, extra)) = heads else {
            found.note(path.to_owned(), format!("cut in a zip head at byte {at}"));
            return;
        };
        let name_at = at + 30;
        let name = bytes
            .get(name_at..name_at + name_length)
            .unwrap_or_default();
        let name = format!("{path}/{}", shown(&String::from_utf8_lossy(name)));
        let begin = name_at + name_length + extra;
        let rest = bytes.get(begin..).unwrap_or_default();
        let (content, used) = match method {
            0 if flags & 8 == 0 => {
                let content = rest
                    .get(..packed.min(rest.len()))
                    .unwrap_or_default()
                    .to_vec();
                let cut = (packed > rest.len())
                    .then(|| format!("the archive is cut, {packed} bytes were there"));
                ((content, cut), packed)
            }
            8 => {
                let mut decoder = DeflateDecoder::new(rest);
                let content = limited(&mut decoder);
                let used = usize::try_from(decoder.total_in()).unwrap_or(usize::MAX);
                (content, used)
            }
            _ => {
                found.note(
                    name,
                    format!("packed by a method ({method}) that is not read"),
                );
                return;
            }
        };
        if !name.ends_with('/') {
            unpacked(name, content, found, depth);
        }
        let Some(mut next) = begin.checked_add(used) else {
            return;
        };
        // Behind the content its sizes, where they are not in front.
        if flags & 8 != 0 {
            next += if bytes.get(next..next + 4) == Some(b"PK\x07\x08") {
                16
            } else {
                12
            };
        }
        at = next;
    }
}
