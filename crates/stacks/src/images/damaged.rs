//! Files that are not what their headers say: nothing may panic, or take memory for what is claimed.

use super::content::Content;
use super::debug_file;
use super::elf::Elf;
use super::image::Body;
use crate::names::symbols::{Kind, Symbols, address_of};
use crate::unwind::cfi::Cfi;
use proptest::prelude::*;
use std::path::Path;

/// Byte offsets in [`small`].
const SEGMENTS: u64 = 64;
const NOTE: u64 = 176;
const SYMBOLS: u64 = 216;
const SECTIONS: u64 = 264;
const STRINGS: u64 = 520;
const END: u64 = 561;

/// A program with all that is read of programs; numbers are words of elf(5), two or four to a `u64`.
fn small() -> Vec<u8> {
    let two = |low: u64, high: u64| low | high << 32;
    let four = |a: u64, b: u64, c: u64, d: u64| a | b << 16 | c << 32 | d << 48;
    #[rustfmt::skip]
    let words = [
        // ELF64, little endian, version 1; a program for x86-64.
        0x0001_0102_464c_457f, 0, four(2, 62, 1, 0), 0x1010, SEGMENTS, SECTIONS,
        four(0, 0, 64, 56), four(2, 64, 4, 3),
        // Loaded, may be executed; a note.
        two(1, 5), 0, 0x1000, 0x1000, END, END, 0x1000,
        two(4, 4), NOTE, 0x10b0, 0x10b0, 36, 36, 4,
        // "GNU", a build id of 20 bytes.
        two(4, 20), two(3, 0x0055_4e47), 0x0123_4567_89ab_cdef, 0x0123_4567_89ab_cdef, 0x89ab_cdef,
        0, 0, 0,
        // "main": a global function of 16 bytes, in section 1.
        two(1, 0x0001_0012), 0x1010, 16,
        0, 0, 0, 0, 0, 0, 0, 0,
        two(6, 7), 2, 0x10b0, NOTE, 36, 0, 4, 0,
        two(25, 2), 0, 0, SYMBOLS, 48, two(3, 1), 8, 24,
        two(33, 3), 0, 0, STRINGS, END - STRINGS, 0, 1, 0,
    ];
    let mut bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    bytes.extend_from_slice(b"\0main\0.note.gnu.build-id\0.symtab\0.strtab\0");
    bytes
}

fn with(changes: &[(u64, &[u8])]) -> Content {
    let mut bytes = small();
    for (at, with) in changes {
        let place = bytes.iter_mut().skip(*at as usize);
        place.zip(*with).for_each(|(to, from)| *to = *from);
    }
    Content::Bytes(bytes.into())
}

fn name_at(content: Content, address: u64) -> Option<String> {
    let body = Body {
        elf: Elf::parse(&content).ok()?,
        content,
        debug: None,
    };
    // All that is read of it.
    let pid = std::process::id();
    debug_file::find(&body.elf, &body.content, Path::new("/no/program"), pid);
    Cfi::read(&body).function_start(address);
    Symbols::read(&body, Kind::Object);
    let place = address_of(&body, "main", &[Kind::Function]);
    let symbol = Symbols::read(&body, Kind::Function).find(address);
    assert!(place.is_none() || !body.elf.sections.is_empty());
    symbol.map(|symbol| symbol.name)
}

#[test]
fn undamaged() {
    let content = with(&[]);
    let elf = Elf::parse(&content).unwrap();
    assert_eq!((elf.entry, elf.segments.len()), (0x1010, 1));
    assert_eq!(elf.extent(), Some((0x1000, 0x1000 + END)));
    assert_eq!(elf.build_id.as_ref().unwrap().len(), 20);
    assert_eq!(elf.section(".strtab").unwrap().size, END - STRINGS);
    assert_eq!(name_at(content, 0x1014).as_deref(), Some("main"));
}

#[test]
fn no_program_at_all() {
    let changes: [(u64, &[u8]); 6] = [
        (0, b"\x7fELG"),
        // 32 bits; big endian.
        (4, &[1]),
        (5, &[2]),
        // The table of segments: beyond the end, its rows of another size, too many.
        (32, &[0xff; 8]),
        (54, &[32, 0]),
        (56, &[0xfe, 0xff]),
    ];
    for change in changes {
        assert!(Elf::parse(&with(&[change])).is_err(), "{change:?}");
    }
    // As many segments as the first section tells, which is four billion.
    let content = with(&[(56, &[0xff; 2]), (SECTIONS + 44, &[0xff; 4])]);
    assert!(Elf::parse(&content).is_err());
}

#[test]
fn sections_that_lie_leave_the_segments() {
    let changes: [&[(u64, &[u8])]; 8] = [
        // Their table: beyond the end, at the end of numbers, rows of another size.
        &[(40, &[0x31, 2])],
        &[(40, &[0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])],
        &[(58, &[63, 0])],
        // More of them than there is room for; as many as the first one tells, which is all numbers.
        &[(60, &[0xff; 2])],
        &[(60, &[0; 2]), (SECTIONS + 32, &[0xff; 8])],
        // Names in a section that is not there; in the one that the first one tells, which is not there either.
        &[(62, &[0xfe; 2])],
        &[(62, &[0xff; 2]), (SECTIONS + 40, &[0xff; 4])],
        // Names that are longer than the file.
        &[(SECTIONS + 3 * 64 + 32, &[0xff; 8])],
    ];
    for change in changes {
        let elf = Elf::parse(&with(change)).unwrap();
        assert_eq!((elf.entry, elf.segments.len()), (0x1010, 1), "{change:?}");
        assert!(elf.build_id.is_some() && elf.section(".symtab").is_none());
        assert_eq!(name_at(with(change), 0x1014), None, "{change:?}");
    }
}

#[test]
fn notes_that_lie_are_no_build_id() {
    let note = SEGMENTS + 56;
    // The section is no note, so that the segment alone counts.
    let no_section: (u64, &[u8]) = (SECTIONS + 64 + 4, &[1]);
    let changes: [(u64, &[u8]); 6] = [
        (note + 8, &[0xff; 8]),
        (note + 32, &[0xff; 8]),
        (note + 48, &[0xff; 8]),
        (NOTE, &[0xff; 4]),
        (NOTE + 4, &[0xff; 4]),
        (NOTE + 4, &[0; 4]),
    ];
    for change in changes {
        let elf = Elf::parse(&with(&[change, no_section])).unwrap();
        assert_eq!(elf.build_id, None, "{change:?}");
        assert!(elf.section(".symtab").is_some());
    }
}

#[test]
fn symbols_that_lie_have_no_names() {
    let (symbols, strings) = (SECTIONS + 2 * 64, SECTIONS + 3 * 64);
    let changes: [(u64, &[u8]); 5] = [
        (symbols + 24, &[0xff; 8]),
        // Strings in a section that is not there; outside of the file; a name outside of them.
        (symbols + 40, &[0xff; 4]),
        (strings + 24, &[0xff; 8]),
        (SYMBOLS + 24, &[0xff; 4]),
        // Undefined.
        (SYMBOLS + 30, &[0, 0]),
    ];
    for change in changes {
        assert_eq!(name_at(with(&[change]), 0x1014), None, "{change:?}");
    }
    // More symbols than the file has bytes: those that are there.
    let content = with(&[(symbols + 32, &[0xff; 8])]);
    assert_eq!(name_at(content, 0x1014), None);
}

/// Each piece is small enough, and together they are 1 GiB of memory.
#[test]
fn pieces_that_overlap_are_not_all_kept() {
    const NOTES: u64 = 4096;
    let mut bytes = small();
    let header = bytes.get(64 + 56..64 + 112).unwrap().to_vec();
    bytes.resize(1 << 20, 0);
    for index in 0..NOTES {
        let mut header = header.clone();
        header[8..16].copy_from_slice(&(300_000 + index).to_le_bytes());
        header[32..40].copy_from_slice(&(256_u64 << 10).to_le_bytes());
        let at = 1024 + index as usize * 56;
        bytes[at..at + 56].copy_from_slice(&header);
    }
    bytes[32..40].copy_from_slice(&1024_u64.to_le_bytes());
    bytes[56..58].copy_from_slice(&(NOTES as u16).to_le_bytes());
    let elf = Elf::parse(&Content::Bytes(bytes.into())).unwrap();
    // That of the section, for which there is still room.
    assert_eq!((elf.entry, elf.build_id.unwrap().len()), (0x1010, 20));
}

proptest! {
    #[test]
    fn any_damage(
        places in proptest::collection::vec((0..END, any::<[u8; 8]>(), 1_usize..=8), 1..4),
        length in prop_oneof![Just(END as usize), 0..END as usize],
    ) {
        let mut bytes = small();
        for (at, with, count) in places {
            let place = bytes.iter_mut().skip(at as usize);
            place.zip(with).take(count).for_each(|(to, from)| *to = from);
        }
        bytes.truncate(length);
        name_at(Content::Bytes(bytes.into()), 0x1014);
    }
}
