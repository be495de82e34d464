//! Packed files: few bytes that unpack to many, and lists without an end.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};

use super::{answers, file, is_refused, run};

/// Lines of a slow log.
pub(super) fn slow_log(bytes: usize) -> Vec<u8> {
    let mut log = Vec::with_capacity(bytes + 400);
    let mut number = 0_u64;
    while log.len() < bytes {
        number += 1;
        let (minute, second) = (number / 60 % 60, number % 60);
        writeln!(
            log,
            "# Time: 2026-11-21T06:{minute:02}:{second:02}.000001Z\n# User@Host: app[app] @ web1 []  Id: 7\n\
             # Query_time: 1.5  Lock_time: 0.0001 Rows_sent: 1  Rows_examined: {number}\n\
             SET timestamp=1795240000;\nSELECT * FROM t WHERE id = {number};"
        )
        .unwrap();
    }
    log
}

/// Deflated content of so many times the same bytes: each part stands for itself, so that only one
/// has to be packed.
fn deflated(part: &[u8], times: usize) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(part).unwrap();
    encoder.flush().unwrap();
    let one = encoder.get_ref().clone();
    // The last block: stored, of no bytes.
    [one.repeat(times), vec![1, 0, 0, 0xff, 0xff]].concat()
}

/// One file of a zip (APPNOTE 4.3.7): its head with or without its size, and its content.
fn zipped(name: &str, content: &[u8], has_size: bool) -> Vec<u8> {
    let size = if has_size { content.len() } else { 0 };
    let mut zip = b"PK\x03\x04\x14\0".to_vec();
    zip.extend(if has_size { [0, 0] } else { [8, 0] });
    zip.extend([8, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    zip.extend(u32::try_from(size).unwrap().to_le_bytes());
    zip.extend([0; 4]);
    zip.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
    zip.extend([0, 0]);
    zip.extend(name.as_bytes());
    zip.extend(content);
    if !has_size {
        zip.extend(b"PK\x07\x08");
        zip.extend([0; 12]);
    }
    zip
}

fn gzipped(part: &[u8], times: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(part).unwrap();
    encoder.finish().unwrap().repeat(times)
}

#[test]
fn a_zip_of_a_log_of_two_gigabytes_is_read_as_far_as_it_fits() {
    let dir = tempfile::tempdir().unwrap();
    let content = deflated(&slow_log(16 << 20), 125);
    let path = file(&dir, "log.zip", &zipped("slow.log", &content, true));
    answers(&["explain"], &path, "only the first 208 MiB were read");
}

/// The begin of a file of packets, which is read whole, and of which nothing is understood: what is
/// behind it costs no more than unpacking it.
const PACKETS: [u8; 32] = [
    0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
];

#[test]
fn what_unpacks_to_much_is_unpacked_as_far_as_it_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    // Two gigabytes, packed twice.
    let packets = [gzipped(&PACKETS, 1), gzipped(&vec![b'a'; 16 << 20], 128)].concat();
    let path = file(&dir, "packets.gz.gz", &gzipped(&packets, 1));
    is_refused(&["explain"], &path, "208 MiB were read");
    let other = dir.path().join("x.frame").display().to_string();
    is_refused(&["import", "-o", &other], &path, "208 MiB were read");
    // Zeros are no text: their begin tells that.
    let zeros = deflated(&vec![0; 16 << 20], 128);
    let path = file(&dir, "zeros.zip", &zipped("zeros", &zeros, true));
    is_refused(&["explain"], &path, "not a text");
    // Many of them, and none says how long it is: what is unpacked to find its end counts as well.
    let zeros = deflated(&vec![0; 16 << 20], 1);
    let many: Vec<u8> = (0..300)
        .flat_map(|number| zipped(&format!("{number:03}"), &zeros, number % 2 == 0))
        .collect();
    let path = file(&dir, "many.zip", &many);
    is_refused(&["explain"], &path, "not a text");
}

#[test]
fn zstd_is_bounded_too() {
    let dir = tempfile::tempdir().unwrap();
    let magic = [0x28, 0xb5, 0x2f, 0xfd];
    // A window of 2 GiB (RFC 8878, 3.1.1.1.2).
    let window = [&magic[..], &[0, 21 << 3, 1, 0, 0]].concat();
    let path = file(&dir, "window.zst", &window);
    is_refused(&["explain"], &path, "window");
    // Two gigabytes: blocks of 128 KiB that are a byte and how often it comes, behind one as it is.
    let block = |kind: u32, bytes: u32| {
        let head = (kind << 1 | bytes << 3).to_le_bytes();
        [head[0], head[1], head[2]]
    };
    let mut frame = [&magic[..], &[0, 7 << 3]].concat();
    frame.extend(block(0, 32));
    frame.extend(PACKETS);
    for _ in 0..16 << 10 {
        frame.extend(block(1, 128 << 10));
        frame.push(b'a');
    }
    let path = file(&dir, "packets.zst", &frame);
    is_refused(&["explain"], &path, "208 MiB were read");
}

#[test]
fn lists_of_archives_have_an_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut tar = Vec::new();
    for number in 0..120_000 {
        let mut head = [0_u8; 512];
        let name = format!("a{number}/b{number}/c{number}/d{number}/e{number}/f{number}/g");
        head[..name.len()].copy_from_slice(name.as_bytes());
        head[124..135].copy_from_slice(b"00000000001");
        head[156] = b'0';
        head[257..262].copy_from_slice(b"ustar");
        tar.extend(head);
        tar.extend([b'x'; 512]);
    }
    let path = file(&dir, "many.tar", &tar);
    is_refused(&["explain"], &path, "its list of files is over 32 MiB");
    drop(tar);
    let zip: Vec<u8> = (0..300_000)
        .flat_map(|number| zipped(&format!("{number}/x"), &[3, 0], true))
        .collect();
    let path = file(&dir, "many.zip", &zip);
    is_refused(&["explain"], &path, "its list of files is over 32 MiB");
}

#[test]
fn a_packed_log_is_digested_as_a_stream() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "slow.log.gz", &gzipped(&slow_log(4 << 20), 6));
    answers(&["queries"], &path, "SELECT");
    let ran = run(
        &["queries"],
        &file(&dir, "line.gz", &gzipped(&vec![b'a'; 16 << 20], 8)),
    );
    assert_eq!(ran.status, 1);
}

#[test]
fn a_folder_of_a_hundred_thousand_files_has_an_end() {
    let dir = tempfile::tempdir().unwrap();
    let first = dir.path().join("0");
    std::fs::write(&first, "nothing known\n").unwrap();
    // Links are made faster than files, and are told of one by one.
    for number in 1..30_000 {
        std::fs::hard_link(&first, dir.path().join(number.to_string())).unwrap();
    }
    for number in 0..12_000 {
        std::fs::write(dir.path().join(format!("f{number}")), "nothing known\n").unwrap();
    }
    is_refused(
        &["explain"],
        dir.path(),
        "no evidence of a stall was recognised",
    );
}
