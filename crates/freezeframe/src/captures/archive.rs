//! The files in an archive: tar, zip.

use std::collections::HashMap;

use flate2::read::DeflateDecoder;

use super::OpenedCaptures;
use super::memory_budget::{MemoryBudget, Span};
use super::packed::{HEAD_BYTES, Packed};
use super::tree::{self, Tree};

/// Size of a block of tar.
const BLOCK: usize = 512;

/// Stands in a zip's head for a size that is in another place.
const SIZE_ELSEWHERE: usize = 0xffff_ffff;

/// What an archive's list of files may take, bytes: names, and a folder for each part of a path.
const LIST_BYTES_MAX: usize = 32 << 20;

/// What an entry of the list takes beside its name, and a folder of it, bytes.
const ENTRY_BYTES: usize = 160;
const FOLDER_BYTES: usize = 1024;

/// The list of an archive's files, as long as it may be.
#[derive(Default)]
struct List {
    tree: Tree,
    bytes: usize,
}

impl List {
    /// Adds a file; says whether there is room for more.
    fn add(&mut self, path: &str, name: &str, packed: Packed, found: &mut OpenedCaptures) -> bool {
        let folders = name.matches('/').count().min(tree::DEPTH_MAX);
        self.bytes += name.len() + ENTRY_BYTES + folders * FOLDER_BYTES;
        if self.bytes > LIST_BYTES_MAX {
            let why = format!(
                "its list of files is over {} MiB: files from {name} on were left out",
                LIST_BYTES_MAX >> 20
            );
            found.note_cut(path.to_owned(), why);
            return false;
        }
        tree::insert(&mut self.tree, name, packed);
        true
    }
}

/// Bytes of a record with a long name that are read.
const LONG_NAME_BYTES_MAX: usize = 64 << 10;

/// Characters of a name in an archive that are told.
const NAME_CHARS_MAX: usize = 255;

/// A name as it is told: whoever made the archive may have put anything into it.
fn shown(name: &str) -> String {
    let plain = |c: char| if c.is_control() { '?' } else { c };
    name.chars().take(NAME_CHARS_MAX).map(plain).collect()
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
pub(super) fn tar(path: &str, span: &Span, found: &mut OpenedCaptures) -> Tree {
    let mut list = List::default();
    let mut long_name = None;
    let mut at = 0;
    loop {
        let head = span.peek(at, BLOCK);
        if head.len() < BLOCK || head.iter().all(|byte| *byte == 0) {
            break;
        }
        let begin = at + BLOCK;
        let size = usize::from_str_radix(&tar_field(&head, 124, 136), 8).ok();
        let ends = size.and_then(|size| Some((size, begin.checked_add(size)?)));
        let Some((size, end)) = ends else {
            found.note(path.to_owned(), format!("damaged tar head at byte {at}"));
            break;
        };
        let content = span.part(begin, end);
        match head.get(156).copied().unwrap_or(0) {
            kind @ (b'L' | b'x') => {
                long_name = tar_long_name(kind, &content.peek(0, LONG_NAME_BYTES_MAX));
            }
            0 | b'0' => {
                let name = long_name.take().unwrap_or_else(|| tar_name(&head));
                let cut = (content.len() < size).then_some(size);
                let packed = Packed::Plain(content, cut);
                if size > 0 && !list.add(path, &shown(&name), packed, found) {
                    break;
                }
            }
            _ => long_name = None,
        }
        let Some(next) = begin.checked_add(size.next_multiple_of(BLOCK)) else {
            break;
        };
        at = next;
    }
    list.tree
}

/// Files of a zip, by the heads in front of them (APPNOTE 4.3.7); stored or deflated.
pub(super) fn zip(path: &str, span: &Span, found: &mut OpenedCaptures) -> Tree {
    let mut list = List::default();
    let sizes = central_sizes(span);
    let mut at = 0;
    loop {
        let head = span.peek(at, HEAD_BYTES);
        if !head.starts_with(b"PK\x03\x04") {
            break;
        }
        let number = |from: usize, length: usize| little(&head, from, length);
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
        let name = match head.get(30..30 + name_length) {
            Some(name) => shown(&String::from_utf8_lossy(name)),
            None => shown(&String::from_utf8_lossy(&span.peek(name_at, name_length))),
        };
        let begin = name_at + name_length + extra;
        let rest = span.part(begin, span.len());
        let is_behind = flags & 8 != 0;
        // Sizes that do not fit (ZIP64) are as good as none; the list at the end may have them.
        let packed = match !is_behind && packed < SIZE_ELSEWHERE {
            true => Some(packed),
            false => sizes.get(&at).copied().filter(|size| *size <= rest.len()),
        };
        let (content, used) = match (method, packed) {
            (0, Some(packed)) => {
                let cut = (packed > rest.len()).then_some(packed);
                (Packed::Plain(rest.part(0, packed), cut), packed)
            }
            (8, Some(packed)) => (Packed::Deflated(rest.part(0, packed)), packed),
            (8, None) => {
                let used = deflated_length(&rest, &found.account);
                (Packed::Deflated(rest.part(0, used)), used)
            }
            _ => {
                found.note(
                    format!("{path}/{name}"),
                    format!("its compression method ({method}) is not supported"),
                );
                break;
            }
        };
        if !name.ends_with('/') && !list.add(path, &name, content, found) {
            break;
        }
        let Some(mut next) = begin.checked_add(used) else {
            break;
        };
        // Behind the content its sizes, where they are not in front.
        if is_behind {
            next += if span.peek(next, 4) == b"PK\x07\x08" {
                16
            } else {
                12
            };
        }
        at = next;
    }
    list.tree
}

/// A number of so many bytes, the lowest first.
fn little(bytes: &[u8], from: usize, length: usize) -> Option<usize> {
    let field = bytes.get(from..from.checked_add(length)?)?;
    let digits = field.iter().rev();
    Some(digits.fold(0, |sum, byte| (sum << 8) | usize::from(*byte)))
}

/// Bytes at the end of a zip in which the end of its list begins: 22 and a remark.
const LIST_END_BYTES: usize = 22 + 0xffff;

/// Files of a zip's list that are looked at.
const SIZES_MAX: usize = 100_000;

/// How many packed bytes there are behind each head, by where the head begins: the list at the end of
/// a zip has them (APPNOTE 4.3.12 and 4.3.16). Empty where the zip is cut.
fn central_sizes(span: &Span) -> HashMap<usize, usize> {
    let mut sizes = HashMap::new();
    let tail_at = span.len().saturating_sub(LIST_END_BYTES);
    let tail = span.peek(tail_at, LIST_END_BYTES);
    let end = tail.windows(4).rposition(|part| part == b"PK\x05\x06");
    let Some(mut at) = end.and_then(|end| little(&tail, end + 16, 4)) else {
        return sizes;
    };
    while sizes.len() < SIZES_MAX {
        let head = span.peek(at, 46);
        if !head.starts_with(b"PK\x01\x02") {
            break;
        }
        let number = |from: usize, length: usize| little(&head, from, length);
        let entry = (|| {
            let behind = number(28, 2)? + number(30, 2)? + number(32, 2)?;
            Some((number(20, 4)?, number(42, 4)?, behind))
        })();
        let Some((packed, head_at, behind)) = entry else {
            break;
        };
        if packed < SIZE_ELSEWHERE {
            sizes.insert(head_at, packed);
        }
        at += 46 + behind;
    }
    sizes
}

/// Where deflated content ends; where it is damaged, as far as it can be read.
fn deflated_length(span: &Span, account: &MemoryBudget) -> usize {
    let mut decoder = DeflateDecoder::new(span.reader());
    account.measure(&mut decoder);
    usize::try_from(decoder.total_in()).unwrap_or(usize::MAX)
}
