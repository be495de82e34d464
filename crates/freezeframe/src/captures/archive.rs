//! Packed captures, by their first bytes: gzip, zstd, tar, zip; one in the other.

use std::io::Read;

use flate2::read::{DeflateDecoder, MultiGzDecoder};

use super::folder::{self, Depth, Place, Tree};
use super::{Found, open};

/// Archives in archives.
const DEPTH_MAX: usize = 4;

/// Size of a block of tar.
const BLOCK: usize = 512;

/// Stands in a zip's head for a size that is in another place.
const SIZE_ELSEWHERE: usize = 0xffff_ffff;

/// Adds a file, or what is packed in it.
pub(super) fn unpack(path: String, bytes: Vec<u8>, found: &mut Found, depth: Depth) {
    if depth.archives >= DEPTH_MAX {
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
        let tree = zip(&path, &bytes, found);
        opened(&path, &tree, found, depth);
    } else if is_tar(&bytes) {
        let tree = tar(&path, &bytes, found);
        opened(&path, &tree, found, depth);
    } else {
        found.add(path, bytes);
    }
}

/// What could be unpacked, and why not more.
fn limited(reader: impl Read) -> (Vec<u8>, Option<String>) {
    let (bytes, error) = open::bounded(reader);
    (bytes, error.map(|error| error.to_string()))
}

/// Reads what an archive holds, by the same choice as of a folder.
fn opened(path: &str, tree: &Tree<'_>, found: &mut Found, depth: Depth) {
    let place = Place {
        path,
        is_packed: true,
    };
    let inner = Depth {
        archives: depth.archives + 1,
        ..depth
    };
    folder::read(&place, tree, None, inner, found);
}

/// A file in an archive, not yet unpacked: most of an archive may not be wanted.
pub(super) enum Packed<'a> {
    /// As it is; with how many bytes there were, where the archive is cut.
    Plain(&'a [u8], Option<usize>),
    /// By deflate.
    Deflated(&'a [u8]),
}

impl Packed<'_> {
    /// What could be unpacked, and why not more.
    pub(super) fn content(&self) -> (Vec<u8>, Option<String>) {
        match self {
            Self::Plain(bytes, cut) => {
                let cut = cut.map(|size| format!("the archive is cut, {size} bytes were there"));
                (bytes.to_vec(), cut)
            }
            Self::Deflated(bytes) => limited(DeflateDecoder::new(*bytes)),
        }
    }

    /// Adds it, or what is packed in it.
    pub(super) fn read(&self, path: String, found: &mut Found, depth: Depth) {
        unpacked(path, self.content(), found, depth);
    }
}

fn unpacked(
    path: String,
    (bytes, error): (Vec<u8>, Option<String>),
    found: &mut Found,
    depth: Depth,
) {
    if let Some(error) = error {
        found.note(
            path.clone(),
            format!("damaged after {} bytes: {error}", bytes.len()),
        );
    }
    if !bytes.is_empty() {
        let inner = Depth {
            archives: depth.archives + 1,
            ..depth
        };
        unpack(path, bytes, found, inner);
    }
}

/// Characters of a name in an archive that are told.
const NAME_CHARS_MAX: usize = 255;

/// A name as it is told: whoever made the archive may have put anything into it.
fn shown(name: &str) -> String {
    let plain = |c: char| if c.is_control() { '?' } else { c };
    name.chars().take(NAME_CHARS_MAX).map(plain).collect()
}

pub(super) fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// A field of a tar's head, up to its first zero.
fn tar_field(head: &[u8], from: usize, to: usize) -> String {
    let field = head.get(from..to).unwrap_or_default();
    let field = field.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(field).trim().to_owned()
}

/// The name in a tar's head: POSIX has a place for folders in front of those that do not fit; GNU
/// keeps other things there.
fn tar_name(head: &[u8]) -> String {
    let name = tar_field(head, 0, 100);
    let folders = tar_field(head, 345, 500);
    match head.get(257..263) == Some(b"ustar\0") && !folders.is_empty() {
        true => format!("{folders}/{name}"),
        false => name,
    }
}

/// The name that stands in front of a file because it does not fit into its head: GNU's as it is,
/// that of POSIX.1-2001 in a record `27 path=…`.
fn tar_long_name(kind: u8, content: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(content);
    let name = match kind {
        b'L' => text.split('\0').next(),
        _ => text
            .lines()
            .find_map(|record| record.split_once(" path=").map(|(_, name)| name)),
    };
    name.map(str::to_owned)
}

/// Files of a tar (POSIX.1-1988 ustar and GNU's): a head of 512 bytes, then the content.
fn tar<'a>(path: &str, bytes: &'a [u8], found: &mut Found) -> Tree<'a> {
    let mut tree = Tree::new();
    let mut long_name = None;
    let mut at = 0;
    while let Some(head) = bytes.get(at..at + BLOCK) {
        if head.iter().all(|byte| *byte == 0) {
            break;
        }
        let begin = at + BLOCK;
        let size = usize::from_str_radix(&tar_field(head, 124, 136), 8).ok();
        let ends = size.and_then(|size| Some((size, begin.checked_add(size)?)));
        let Some((size, end)) = ends else {
            found.note(path.to_owned(), format!("damaged tar head at byte {at}"));
            break;
        };
        let content = bytes.get(begin..end.min(bytes.len())).unwrap_or_default();
        match head.get(156).copied().unwrap_or(0) {
            kind @ (b'L' | b'x') => long_name = tar_long_name(kind, content),
            0 | b'0' => {
                let name = long_name.take().unwrap_or_else(|| tar_name(head));
                let cut = (content.len() < size).then_some(size);
                if size > 0 {
                    folder::insert(&mut tree, &shown(&name), Packed::Plain(content, cut));
                }
            }
            _ => long_name = None,
        }
        let Some(next) = begin.checked_add(size.next_multiple_of(BLOCK)) else {
            break;
        };
        at = next;
    }
    tree
}

/// Files of a zip, by the heads in front of them (APPNOTE 4.3.7); stored or deflated.
fn zip<'a>(path: &str, bytes: &'a [u8], found: &mut Found) -> Tree<'a> {
    let mut tree = Tree::new();
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
            break;
        };
        let name_at = at + 30;
        let name = bytes
            .get(name_at..name_at + name_length)
            .unwrap_or_default();
        let name = shown(&String::from_utf8_lossy(name));
        let begin = name_at + name_length + extra;
        let rest = bytes.get(begin..).unwrap_or_default();
        let is_behind = flags & 8 != 0;
        // Sizes that do not fit (ZIP64) are as good as none.
        let has_size = !is_behind && packed < SIZE_ELSEWHERE;
        let sized = rest.get(..packed.min(rest.len())).unwrap_or_default();
        let (content, used) = match method {
            0 if has_size => {
                let cut = (packed > rest.len()).then_some(packed);
                (Packed::Plain(sized, cut), packed)
            }
            8 if has_size => (Packed::Deflated(sized), packed),
            8 => {
                let used = deflated_length(rest);
                let content = rest.get(..used.min(rest.len())).unwrap_or_default();
                (Packed::Deflated(content), used)
            }
            _ => {
                found.note(
                    format!("{path}/{name}"),
                    format!("packed by a method ({method}) that is not read"),
                );
                break;
            }
        };
        if !name.ends_with('/') {
            folder::insert(&mut tree, &name, content);
        }
        let Some(mut next) = begin.checked_add(used) else {
            break;
        };
        // Behind the content its sizes, where they are not in front.
        if is_behind {
            next += if bytes.get(next..next + 4) == Some(b"PK\x07\x08") {
                16
            } else {
                12
            };
        }
        at = next;
    }
    tree
}

/// Where deflated content ends; where it is damaged, as far as it can be read.
fn deflated_length(bytes: &[u8]) -> usize {
    let mut decoder = DeflateDecoder::new(bytes);
    let limit = super::BYTES_MAX;
    // What is wrong with it is told when it is read.
    let _ = std::io::copy(&mut decoder.by_ref().take(limit), &mut std::io::sink());
    usize::try_from(decoder.total_in()).unwrap_or(usize::MAX)
}
