//! What is packed, by its first bytes, and a file in an archive.

use std::io::Read;

use flate2::read::DeflateDecoder;

use super::memory_budget::{Bytes, MemoryBudget, ReadEnd, Span};
use super::open;

/// Bytes by which an archive is known.
pub(super) const HEAD_BYTES: usize = 512;

/// Whether a file that begins so is packed.
pub(super) fn is_packed(head: &[u8]) -> bool {
    Form::from_head(head).is_some()
}

/// How something is packed.
pub(super) enum Form {
    Gzip,
    Zstd,
    Zip,
    Tar,
}

impl Form {
    pub(super) fn from_head(head: &[u8]) -> Option<Self> {
        if head.starts_with(&[0x1f, 0x8b]) {
            Some(Self::Gzip)
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Some(Self::Zstd)
        } else if head.starts_with(b"PK\x03\x04") {
            Some(Self::Zip)
        } else {
            open::is_tar(head).then_some(Self::Tar)
        }
    }
}

/// The bytes of a part of an archive that is not packed.
pub(super) fn content(span: &Span, account: &MemoryBudget) -> (Bytes, ReadEnd) {
    match span {
        Span::Held(bytes) => (bytes.clone(), ReadEnd::Whole),
        Span::Filed(..) => open::bounded(span.reader(), account),
    }
}

/// What could be unpacked, and why not more.
pub(super) fn limited(reader: impl Read, account: &MemoryBudget) -> (Bytes, ReadEnd) {
    open::bounded(account.unpacking(reader), account)
}

/// A file in an archive, not yet unpacked: most of an archive may not be wanted.
pub(super) enum Packed {
    /// As it is; with how many bytes there were, where the archive is cut.
    Plain(Span, Option<usize>),
    /// By deflate.
    Deflated(Span),
}

impl Packed {
    /// Its first bytes.
    pub(super) fn head(&self, bytes_max: u64, account: &MemoryBudget) -> Vec<u8> {
        let mut head = Vec::new();
        // What is damaged is told when it is read.
        let _ = match self {
            Self::Plain(span, _) => span.reader().take(bytes_max).read_to_end(&mut head),
            Self::Deflated(span) => account
                .unpacking(DeflateDecoder::new(span.reader()))
                .take(bytes_max)
                .read_to_end(&mut head),
        };
        head
    }

    /// Its bytes, and why not all of them.
    pub(super) fn content(&self, account: &MemoryBudget) -> (Bytes, ReadEnd) {
        match self {
            Self::Plain(span, cut) => match (content(span, account), cut) {
                ((bytes, ReadEnd::Whole), Some(size)) => {
                    let cut = format!("the archive is cut off after {size} bytes");
                    (bytes, ReadEnd::Failed(std::io::Error::other(cut)))
                }
                (content, _) => content,
            },
            Self::Deflated(span) => limited(DeflateDecoder::new(span.reader()), account),
        }
    }
}
