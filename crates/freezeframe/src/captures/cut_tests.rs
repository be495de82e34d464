//! Archives that are cut or damaged anywhere give what is in front of that, or one line that says why
//! there is nothing.

use std::io::Write;
use std::path::Path;

use super::folder::{self, Depth};
use super::memory_budget::Span;
use super::{OpenedCaptures, incident_of};

const TEXT: &str = "| 7 | app | web1:4711 | shop | Query | 12 | update | UPDATE t SET a = 1 |\n\
    | 8 | app | web1:4712 | shop | Sleep | 90 |  | NULL |\n";

/// A zip of two files, one stored and one deflated (APPNOTE 4.3.7).
fn zip() -> Vec<u8> {
    let mut deflater =
        flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    deflater.write_all(TEXT.as_bytes()).unwrap();
    let deflated = deflater.finish().unwrap();
    let mut bytes = Vec::new();
    for (name, method, content) in [("a", 0_u16, TEXT.as_bytes()), ("b", 8, &deflated)] {
        bytes.extend(b"PK\x03\x04\x14\0\0\0");
        bytes.extend(method.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(u32::try_from(content.len()).unwrap().to_le_bytes());
        bytes.extend(u32::try_from(TEXT.len()).unwrap().to_le_bytes());
        bytes.extend([1, 0, 0, 0]);
        bytes.extend(name.as_bytes());
        bytes.extend(content);
    }
    bytes
}

fn tar() -> Vec<u8> {
    let mut head = [0_u8; 512];
    head[0] = b'a';
    head[124..135].copy_from_slice(format!("{:011o}", TEXT.len()).as_bytes());
    head[156] = b'0';
    head[257..262].copy_from_slice(b"ustar");
    let mut bytes = head.to_vec();
    bytes.extend(TEXT.as_bytes());
    bytes.resize(bytes.len().next_multiple_of(512) + 1024, 0);
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// Opens it; all that is told of it is one line each.
fn opened(bytes: &[u8]) -> OpenedCaptures {
    let mut found = OpenedCaptures::default();
    let held = found.account.hold(bytes.to_vec()).unwrap();
    folder::unpack(
        "x".to_owned(),
        Span::Held(held),
        &mut found,
        Depth::default(),
    );
    for left_out in &found.left_out {
        assert_eq!(left_out.line().lines().count(), 1, "{}", left_out.line());
    }
    found
}

/// An incident with its sources, or one line that says why there is none.
fn explained(bytes: &[u8]) {
    match incident_of(&opened(bytes), &[]) {
        Ok((_, sources)) => assert!(!sources.is_empty()),
        Err(error) => {
            let said = format!("{error:#}");
            assert!(said.lines().count() == 1 && !said.ends_with(": "), "{said}");
        }
    }
}

/// Whether a place is one of many alike: an archive of tar is zeros for the most part. Of those each eighth is tried.
fn is_among_zeros(bytes: &[u8], at: usize) -> bool {
    bytes[at - 1] == 0 && bytes[at] == 0 && !at.is_multiple_of(8)
}

#[test]
fn archives_are_cut_and_damaged_at_every_byte() {
    for (name, bytes) in [
        ("zip", zip()),
        ("tar", tar()),
        ("tar.gz", gzip(&tar())),
        ("tar.zst", zstd(&tar())),
        ("zip.gz", gzip(&zip())),
    ] {
        let whole = opened(&bytes);
        assert!(whole.left_out.is_empty(), "{name}");
        assert!(
            whole
                .files
                .iter()
                .all(|(_, text)| **text == *TEXT.as_bytes()),
            "{name}"
        );
        for at in (1..bytes.len()).filter(|at| !is_among_zeros(&bytes, *at)) {
            let (head, tail) = bytes.split_at(at);
            explained(head);
            explained(tail);
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xff;
            explained(&damaged);
        }
    }
}

#[test]
fn a_replay_is_cut_and_damaged_in_many_places() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cli/fixtures/dolphie-6.18-mysql-9.7.db.gz");
    let packed = std::fs::read(path).unwrap();
    let whole = opened(&packed);
    assert_eq!(whole.files.len(), 4);
    for cut in 1..40 {
        opened(&packed[..packed.len() * cut / 40]);
    }
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(
        &mut flate2::read::GzDecoder::new(packed.as_slice()),
        &mut bytes,
    )
    .unwrap();
    for cut in 1..40 {
        // Not at the ends of pages.
        let at = bytes.len() * cut / 40 + cut;
        let head = opened(&bytes[..at]);
        assert!(!head.files.is_empty() || !head.left_out.is_empty(), "{at}");
        opened(&bytes[at..]);
        let mut damaged = bytes.clone();
        for place in damaged.iter_mut().skip(at).take(64) {
            *place = 0xfe;
        }
        opened(&damaged);
    }
}
