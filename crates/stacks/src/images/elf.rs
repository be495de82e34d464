//! What is needed of ELF files of 64 bits and little endian (elf(5)): segments, sections, the build id.
//! Read piece by piece, so that a file of 300 MB costs its headers only.

use super::content::Content;
use std::io;

const HEADER_BYTES: u64 = 64;
const SEGMENT_BYTES: usize = 56;
const SECTION_BYTES: usize = 64;
/// Room for 4,096 sections or segments; programs have 20 to 50.
const TABLE_BYTES_MAX: u64 = 256 << 10;
const NOTES_BYTES_MAX: u64 = 64 << 10;
const NOTE_BUILD_ID: u32 = 3;
/// SHA-1 has 20 bytes, and linkers let people choose.
const BUILD_ID_BYTES_MAX: usize = 64;

pub(crate) const SEGMENT_LOAD: u32 = 1;
const SEGMENT_NOTE: u32 = 4;
const SEGMENT_EXECUTABLE: u32 = 1;
/// A section without bytes in the file, as all are in the image of a debug file.
const SECTION_NO_BITS: u32 = 8;
const SECTION_COMPRESSED: u64 = 0x800;

/// Why a file could not be read as an image.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ElfError {
    #[error("not an ELF file of 64 bits, little endian")]
    NotElf,
    #[error("its headers contradict each other or lie outside of the file")]
    Damaged,
    #[error(transparent)]
    Io(#[from] io::Error),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) kind: u32,
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) file_size: u64,
    pub(crate) memory_size: u64,
    /// `PF_X`.
    pub(crate) executable: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    /// Number of the section that belongs to it: a symbol table's strings.
    pub(crate) link: u32,
    /// It has bytes in the file, and they are not compressed.
    pub(crate) plain: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Elf {
    pub(crate) entry: u64,
    pub(crate) segments: Vec<Segment>,
    pub(crate) sections: Vec<Section>,
    pub(crate) build_id: Option<Vec<u8>>,
}

impl Elf {
    pub(crate) fn parse(content: &Content) -> Result<Self, ElfError> {
        let header = content
            .read(0, HEADER_BYTES, HEADER_BYTES)
            .map_err(|error| match error.kind() {
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => ElfError::NotElf,
                _ => ElfError::Io(error),
            })?;
        if header.get(..6) != Some(b"\x7fELF\x02\x01") {
            return Err(ElfError::NotElf);
        }
        let segments = segments(content, &header)?;
        let build_id = segments
            .iter()
            .filter(|segment| segment.kind == SEGMENT_NOTE)
            .find_map(|segment| build_id_in(content, segment.offset, segment.file_size));
        let mut elf = Self {
            entry: u64_at(&header, 24),
            segments,
            sections: sections(content, &header).unwrap_or_default(),
            build_id,
        };
        // A debug file's segments have no bytes; its note section does.
        if elf.build_id.is_none() {
            elf.build_id = elf
                .section(".note.gnu.build-id")
                .and_then(|note| build_id_in(content, note.offset, note.size));
        }
        Ok(elf)
    }

    pub(crate) fn section(&self, name: &str) -> Option<&Section> {
        self.sections
            .iter()
            .find(|section| section.name == name && section.plain)
    }

    /// The ELF virtual address of the byte of the file that a mapping begins with, by the segment that it is of.
    ///
    /// The loader maps whole pages, so a mapping begins up to a page before its segment does, and that page of the file
    /// holds the end of the segment before it as well. With lld the two have different distances between file and
    /// memory: the segment must begin on the mapping's page, or at least have its permission to execute.
    pub(crate) fn address_of(&self, file_offset: u64, executable: bool) -> Option<u64> {
        let first = |segment: &&Segment| segment.offset & !0xfff;
        let holds = |segment: &&Segment| {
            (first(segment)..segment.offset.saturating_add(segment.file_size))
                .contains(&file_offset)
        };
        let loads = || {
            self.segments
                .iter()
                .filter(|segment| segment.kind == SEGMENT_LOAD)
                .filter(holds)
        };
        let segment = loads()
            .filter(|segment| segment.executable == executable)
            .find(|segment| first(segment) == file_offset)
            .or_else(|| loads().find(|segment| segment.executable == executable))
            .or_else(|| loads().next())?;
        Some(
            segment
                .address
                .wrapping_add(file_offset)
                .wrapping_sub(segment.offset),
        )
    }

    /// First address and the one after the last that the loaded image takes.
    pub(crate) fn extent(&self) -> Option<(u64, u64)> {
        let loads = || {
            self.segments
                .iter()
                .filter(|segment| segment.kind == SEGMENT_LOAD)
        };
        let start = loads().map(|segment| segment.address & !0xfff).min()?;
        let end = loads()
            .map(|segment| segment.address.saturating_add(segment.memory_size))
            .max()?;
        Some((start, end))
    }
}

fn segments(content: &Content, header: &[u8]) -> Result<Vec<Segment>, ElfError> {
    let (offset, size, count) = (u64_at(header, 32), u16_at(header, 54), u16_at(header, 56));
    if count == 0 {
        return Ok(Vec::new());
    }
    if usize::from(size) != SEGMENT_BYTES {
        return Err(ElfError::Damaged);
    }
    let table = content
        .read(offset, u64::from(size) * u64::from(count), TABLE_BYTES_MAX)
        .map_err(|_| ElfError::Damaged)?;
    Ok(table
        .chunks_exact(SEGMENT_BYTES)
        .map(|row| Segment {
            kind: u32_at(row, 0),
            offset: u64_at(row, 8),
            address: u64_at(row, 16),
            file_size: u64_at(row, 32),
            memory_size: u64_at(row, 40),
            executable: u32_at(row, 4) & SEGMENT_EXECUTABLE != 0,
        })
        .collect())
}

fn sections(content: &Content, header: &[u8]) -> Result<Vec<Section>, ElfError> {
    let (offset, size, count) = (u64_at(header, 40), u16_at(header, 58), u16_at(header, 60));
    let names = usize::from(u16_at(header, 62));
    if count == 0 || usize::from(size) != SECTION_BYTES {
        return Err(ElfError::Damaged);
    }
    let table = content.read(offset, u64::from(size) * u64::from(count), TABLE_BYTES_MAX)?;
    let names = table
        .chunks_exact(SECTION_BYTES)
        .nth(names)
        .ok_or(ElfError::Damaged)?;
    let names = content.read(u64_at(names, 24), u64_at(names, 32), TABLE_BYTES_MAX)?;
    Ok(table
        .chunks_exact(SECTION_BYTES)
        .map(|row| Section {
            name: text_at(&names, u32_at(row, 0) as usize),
            address: u64_at(row, 16),
            offset: u64_at(row, 24),
            size: u64_at(row, 32),
            link: u32_at(row, 40),
            plain: u32_at(row, 4) != SECTION_NO_BITS && u64_at(row, 8) & SECTION_COMPRESSED == 0,
        })
        .collect())
}

fn build_id_in(content: &Content, offset: u64, size: u64) -> Option<Vec<u8>> {
    let notes = content.read(offset, size, NOTES_BYTES_MAX).ok()?;
    let mut rest = notes.as_slice();
    while rest.len() >= 12 {
        let (name_size, size, kind) = (u32_at(rest, 0), u32_at(rest, 4), u32_at(rest, 8));
        let name_end = 12 + name_size as usize;
        let start = name_end.checked_next_multiple_of(4)?;
        let end = start.checked_add(size as usize)?;
        let (name, value) = (rest.get(12..name_end)?, rest.get(start..end)?);
        if kind == NOTE_BUILD_ID && name == b"GNU\0" {
            return (1..=BUILD_ID_BYTES_MAX)
                .contains(&value.len())
                .then(|| value.to_vec());
        }
        rest = rest.get(end.checked_next_multiple_of(4)?..)?;
    }
    None
}

fn text_at(table: &[u8], start: usize) -> String {
    let rest = table.get(start..).unwrap_or(&[]);
    let end = rest
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(rest.len());
    String::from_utf8_lossy(rest.get(..end).unwrap_or(&[])).into_owned()
}

/// Little-endian integers of tables; 0 beyond their end.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes
        .get(at..at + 2)
        .and_then(|part| part.try_into().ok())
        .map_or(0, u16::from_le_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .and_then(|part| part.try_into().ok())
        .map_or(0, u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..at + 8)
        .and_then(|part| part.try_into().ok())
        .map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn this_program() {
        let (file, _) = Content::open(&std::env::current_exe().unwrap()).unwrap();
        let elf = Elf::parse(&Content::Open(file)).unwrap();
        let text = elf.section(".text").unwrap();
        assert_eq!(elf.address_of(text.offset, true), Some(text.address));
        let (start, end) = elf.extent().unwrap();
        assert!((start..end).contains(&elf.entry));
        assert_eq!(elf.address_of(u64::MAX, true), None);
    }

    /// The segments of a program that lld linked: code and constants share a page of the file.
    #[test]
    fn a_page_of_the_file_may_be_of_two_segments() {
        let load = |offset, address, file_size, executable| Segment {
            kind: SEGMENT_LOAD,
            offset,
            address,
            file_size,
            memory_size: file_size,
            executable,
        };
        let elf = Elf {
            entry: 0,
            segments: vec![
                load(0, 0, 0x2d_9fbc, false),
                load(0x2d_9fc0, 0x2d_afc0, 0x95_be40, true),
                load(0xc3_5e00, 0xc3_7e00, 0x6_28c0, false),
            ],
            sections: Vec::new(),
            build_id: None,
        };
        assert_eq!(elf.address_of(0, false), Some(0));
        assert_eq!(elf.address_of(0x2d_9000, true), Some(0x2d_a000));
        assert_eq!(elf.address_of(0xc3_5000, false), Some(0xc3_7000));
        // The part of the data that was made read-only begins further on.
        assert_eq!(elf.address_of(0xc9_0000, false), Some(0xc9_2000));
    }

    proptest! {
        #[test]
        fn any_bytes(mut bytes in proptest::collection::vec(any::<u8>(), 0..400), header in any::<bool>()) {
            if header {
                for (to, from) in bytes.iter_mut().zip(b"\x7fELF\x02\x01") {
                    *to = *from;
                }
            }
            let _ = Elf::parse(&Content::Bytes(bytes.into()));
        }

        #[test]
        fn a_real_file_with_any_damage(at in 0_usize..4096, with in any::<[u8; 8]>()) {
            let mut bytes = std::fs::read("/proc/self/exe").unwrap();
            bytes.truncate(1 << 16);
            for (to, from) in bytes.iter_mut().skip(at).zip(with) {
                *to = from;
            }
            let _ = Elf::parse(&Content::Bytes(bytes.into()));
        }
    }
}
