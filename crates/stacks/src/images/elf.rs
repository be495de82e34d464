//! What is needed of ELF files of 64 bits and little endian (elf(5)): segments, sections, the build id.
//! Read piece by piece, so that a file of 300 MB costs its headers only.

use super::content::Content;
use object::LittleEndian as LE;
use object::elf::{
    ELF_NOTE_GNU, NT_GNU_BUILD_ID, PF_X, PT_LOAD, PT_NOTE, SHF_COMPRESSED, SHT_NOBITS,
};
use object::read::elf::{FileHeader, NoteIterator, ProgramHeader, SectionHeader};
use object::{ReadCache, ReadCacheOps, ReadRef, StringTable};

type Header = object::elf::FileHeader64<LE>;

/// Room for 4,096 sections or segments; programs have 20 to 50.
const PIECE_BYTES_MAX: u64 = 256 << 10;
/// All pieces of a file together; they are kept until its headers are parsed.
const PIECES_BYTES_MAX: u64 = 1 << 20;
/// Segments with notes that are looked at; programs have two.
const NOTES_MAX: usize = 16;
/// Names that are asked for are shorter, and thousands of sections may share one long name.
const NAME_BYTES_MAX: usize = 64;
/// SHA-1 has 20 bytes, and linkers let people choose.
const BUILD_ID_BYTES_MAX: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
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
    /// Those that are loaded.
    pub(crate) segments: Vec<Segment>,
    pub(crate) sections: Vec<Section>,
    pub(crate) build_id: Option<Vec<u8>>,
}

/// Reads pieces of a file for [`ReadCache`], which keeps each of them.
struct Reader<'a> {
    content: &'a Content,
    at: u64,
    left: u64,
}

impl ReadCacheOps for Reader<'_> {
    fn len(&mut self) -> Result<u64, ()> {
        self.content.length().map_err(drop)
    }

    fn seek(&mut self, at: u64) -> Result<u64, ()> {
        self.at = at;
        Ok(at)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ()> {
        self.read_exact(buffer).map(|()| buffer.len())
    }

    fn read_exact(&mut self, buffer: &mut [u8]) -> Result<(), ()> {
        let count = buffer.len() as u64;
        self.left = self.left.checked_sub(count).ok_or(())?;
        self.content.read_into(self.at, buffer).map_err(drop)?;
        self.at += count;
        Ok(())
    }
}

/// A file of which only small pieces can be read: the cache takes memory for a piece before it reads it.
#[derive(Clone, Copy)]
struct Pieces<'a, 'c>(&'a ReadCache<Reader<'c>>);

impl<'a> ReadRef<'a> for Pieces<'a, '_> {
    fn len(self) -> Result<u64, ()> {
        self.0.len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        match size <= PIECE_BYTES_MAX {
            true => self.0.read_bytes_at(offset, size),
            false => Err(()),
        }
    }

    fn read_bytes_at_until(self, range: std::ops::Range<u64>, end: u8) -> Result<&'a [u8], ()> {
        self.0.read_bytes_at_until(range, end)
    }
}

impl Elf {
    pub(crate) fn parse(content: &Content) -> object::read::Result<Self> {
        let file = ReadCache::new(Reader {
            content,
            at: 0,
            left: PIECES_BYTES_MAX,
        });
        let file = Pieces(&file);
        let header = Header::parse(file)?;
        header.endian()?;
        let segments = header.program_headers(LE, file)?;
        let build_id = segments
            .iter()
            .filter(|segment| segment.p_type(LE) == PT_NOTE)
            .take(NOTES_MAX)
            .find_map(|segment| build_id_in(segment.notes(LE, file).ok()??));
        let loaded = segments
            .iter()
            .filter(|segment| segment.p_type(LE) == PT_LOAD);
        // A debug file's segments have no bytes; its note section does.
        let sections = header.section_headers(LE, file).unwrap_or_default();
        let names = names(header, sections, file);
        let note = || {
            let is_note = |name: &[u8]| name == b".note.gnu.build-id";
            let note = sections
                .iter()
                .find(|section| section.name(LE, names).is_ok_and(is_note))?;
            build_id_in(note.notes(LE, file).ok()??)
        };
        Ok(Self {
            entry: header.e_entry(LE),
            segments: loaded
                .map(|segment| Segment {
                    offset: segment.p_offset(LE),
                    address: segment.p_vaddr(LE),
                    file_size: segment.p_filesz(LE),
                    memory_size: segment.p_memsz(LE),
                    executable: segment.p_flags(LE) & PF_X != 0,
                })
                .collect(),
            build_id: build_id.or_else(note),
            sections: sections
                .iter()
                .map(|section| named(section, names))
                .collect(),
        })
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
        let loads = || self.segments.iter().filter(holds);
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
        let loads = self.segments.iter();
        let start = loads
            .clone()
            .map(|segment| segment.address & !0xfff)
            .min()?;
        let end = loads
            .map(|segment| segment.address.saturating_add(segment.memory_size))
            .max()?;
        Some((start, end))
    }
}

/// The names of sections, in memory: they are asked for one by one.
fn names<'a>(
    header: &Header,
    sections: &[object::elf::SectionHeader64<LE>],
    file: Pieces<'a, '_>,
) -> StringTable<'a> {
    let bytes = header
        .section_strings_index(LE, file)
        .ok()
        .and_then(|index| sections.get(index.0)?.data(LE, file).ok())
        .unwrap_or_default();
    StringTable::new(bytes, 0, bytes.len() as u64)
}

fn named(section: &object::elf::SectionHeader64<LE>, names: StringTable<'_>) -> Section {
    let name = section.name(LE, names).unwrap_or_default();
    let is_compressed = section.sh_flags(LE) & u64::from(SHF_COMPRESSED) != 0;
    Section {
        name: match name.len() <= NAME_BYTES_MAX {
            true => String::from_utf8_lossy(name).into_owned(),
            false => String::new(),
        },
        address: section.sh_addr(LE),
        offset: section.sh_offset(LE),
        size: section.sh_size(LE),
        link: section.sh_link(LE),
        plain: section.sh_type(LE) != SHT_NOBITS && !is_compressed,
    }
}

fn build_id_in(notes: NoteIterator<'_, Header>) -> Option<Vec<u8>> {
    let note = notes
        .map_while(Result::ok)
        .find(|note| note.name() == ELF_NOTE_GNU && note.n_type(LE) == NT_GNU_BUILD_ID)?;
    (1..=BUILD_ID_BYTES_MAX)
        .contains(&note.desc().len())
        .then(|| note.desc().to_vec())
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
