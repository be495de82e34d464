//! Symbol tables, 16 bytes a symbol in memory. Names stay in the file until they are asked for.

use super::mini;
use crate::images::{Bytes, Headers, ImageBody, Section};
use crate::shorten::rank;
use memchr::memmem;
use object::LittleEndian as LE;
use object::elf::{STT_FUNC, STT_GNU_IFUNC, STT_OBJECT};
use object::read::elf::Sym as _;

type RawSymbol = object::elf::Sym64<LE>;

const SYMBOL_BYTES: usize = size_of::<RawSymbol>();
const CHUNK_SYMBOLS: usize = 4096;
/// A program of 300 MB has 61,000.
const SYMBOLS_MAX: u64 = 4 << 20;
const STRINGS_BYTES_MAX: u64 = 1 << 30;
/// C++ templates may take kilobytes; longer names are cut.
const NAME_BYTES_MAX: usize = 8192;
const NAME_BYTES_USUAL: usize = 128;
/// Symbols with the same address that are looked at for the name people know.
const ALIASES_MAX: usize = 16;
/// How far back a symbol may begin that still covers an address, counted in symbols: they nest hardly ever.
const BACK_MAX: usize = 16;

/// Which symbols a table is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Code.
    Function,
    /// Variables.
    Object,
}

fn is_of(kind: Kind, symbol: &RawSymbol) -> bool {
    match kind {
        Kind::Function => matches!(symbol.st_type(), STT_FUNC | STT_GNU_IFUNC),
        Kind::Object => symbol.st_type() == STT_OBJECT,
    }
}

/// The symbols of an image, by address.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    /// What the rows' addresses are relative to.
    base: u64,
    rows: Vec<Row>,
    strings: Vec<Strings>,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    start: u32,
    size: u32,
    name: u32,
    /// Index in `strings`.
    source: u8,
    local: bool,
}

#[derive(Debug)]
struct Strings {
    content: Source,
    offset: u64,
    size: u64,
}

#[derive(Debug)]
enum Source {
    File(std::fs::File),
    Kept(Bytes),
}

/// A symbol that covers an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Symbol {
    /// As in the table.
    pub(crate) name: String,
    pub(crate) start: u64,
    /// Bytes; 0 where the table does not tell.
    pub(crate) size: u64,
}

impl Symbols {
    /// Reads the best tables there are: the image's own, that of its debug file, or the two that Fedora's packages
    /// split it into (MiniDebugInfo and the exported symbols).
    pub(crate) fn read(body: &ImageBody, kind: Kind) -> Self {
        let mut symbols = Self {
            base: body.elf.extent().map_or(0, |(start, _)| start),
            ..Self::default()
        };
        symbols.read_from(body, kind);
        symbols
            .rows
            .sort_unstable_by_key(|row| (row.start, row.size));
        symbols
            .rows
            .dedup_by_key(|row| (row.start, row.size, row.name, row.source));
        symbols.rows.shrink_to_fit();
        symbols
    }

    fn read_from(&mut self, body: &ImageBody, kind: Kind) {
        if self.table(&body.content, &body.elf, ".symtab", kind) {
            return;
        }
        if let Some(debug) = &body.debug
            && let Ok(elf) = Headers::parse(debug)
            && self.table(debug, &elf, ".symtab", kind)
        {
            return;
        }
        if let Some(bytes) = mini::unpack(body) {
            let content = Bytes::Bytes(bytes.into());
            if let Ok(elf) = Headers::parse(&content) {
                self.table(&content, &elf, ".symtab", kind);
            }
        }
        self.table(&body.content, &body.elf, ".dynsym", kind);
    }

    /// Adds a table; says whether it is there.
    fn table(&mut self, content: &Bytes, elf: &Headers, name: &str, kind: Kind) -> bool {
        let Some((table, strings)) = sections(elf, name) else {
            return false;
        };
        let Ok(source) = u8::try_from(self.strings.len()) else {
            return false;
        };
        let Some(kept) = keep(content, strings) else {
            return false;
        };
        self.strings.push(kept);
        let base = self.base;
        let rows = &mut self.rows;
        each(content, table, |symbol| {
            if is_of(kind, symbol)
                && let Some(start) = symbol.st_value(LE).checked_sub(base)
                && let Ok(start) = u32::try_from(start)
            {
                rows.push(Row {
                    start,
                    size: u32::try_from(symbol.st_size(LE)).unwrap_or(u32::MAX),
                    name: symbol.st_name(LE),
                    source,
                    local: symbol.is_local(),
                });
            }
        });
        true
    }

    /// The symbol that covers an address; of several with the same place, the one people know.
    pub(crate) fn find(&self, address: u64) -> Option<Symbol> {
        let address = u32::try_from(address.checked_sub(self.base)?).ok()?;
        let after = self.rows.partition_point(|row| row.start <= address);
        let before = self.rows.get(..after)?;
        let covers = |row: &&Row| address - row.start < row.size || row.start == address;
        let found = before
            .iter()
            .rev()
            .take(BACK_MAX)
            .find(covers)
            .or_else(|| {
                // Without a size, as assemblers leave it, a symbol goes on to the next one.
                before.last().filter(|row| row.size == 0)
            })?;
        let first = before.partition_point(|row| row.start < found.start);
        let group = before.get(first..)?.iter();
        let name = group
            .take_while(|row| row.start == found.start)
            .filter(|row| row.size == found.size || row.size == 0)
            .take(ALIASES_MAX)
            .filter_map(|row| Some((row.local, self.name(row)?)))
            .min_by(|a, b| rank(a.0, &a.1).cmp(&rank(b.0, &b.1)))?
            .1;
        Some(Symbol {
            name,
            start: u64::from(found.start) + self.base,
            size: u64::from(found.size),
        })
    }

    fn name(&self, row: &Row) -> Option<String> {
        let strings = self.strings.get(usize::from(row.source))?;
        let name = strings.text(u64::from(row.name))?;
        (!name.is_empty()).then_some(name)
    }
}

impl Strings {
    fn text(&self, at: u64) -> Option<String> {
        let room = usize::try_from(self.size.checked_sub(at)?).unwrap_or(usize::MAX);
        for length in [NAME_BYTES_USUAL, NAME_BYTES_MAX] {
            let mut buffer = vec![0; length.min(room)];
            let read = self.read(self.offset.checked_add(at)?, &mut buffer)?;
            let bytes = buffer.get(..read)?;
            if let Some(end) = bytes.iter().position(|&byte| byte == 0) {
                return Some(String::from_utf8_lossy(bytes.get(..end)?).into_owned());
            }
            if length == NAME_BYTES_MAX || read == room {
                return Some(String::from_utf8_lossy(bytes).into_owned());
            }
        }
        None
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> Option<usize> {
        match &self.content {
            Source::File(file) => std::os::unix::fs::FileExt::read_at(file, buffer, offset).ok(),
            Source::Kept(content) => content.read_some(offset, buffer).ok(),
        }
    }
}

/// The strings of a table, readable later: by a second handle of an open file, or as a copy of those in memory.
fn keep(content: &Bytes, strings: &Section) -> Option<Strings> {
    let content = match content {
        Bytes::Open(file) => Source::File(file.try_clone().ok()?),
        Bytes::Path(path, key) => Source::Kept(Bytes::Path(path.clone(), *key)),
        Bytes::Bytes(_) | Bytes::Memory { .. } => {
            let copy = content
                .read(strings.offset, strings.size, STRINGS_BYTES_MAX)
                .ok()?;
            return Some(Strings {
                size: copy.len() as u64,
                content: Source::Kept(Bytes::Bytes(copy.into())),
                offset: 0,
            });
        }
    };
    Some(Strings {
        content,
        offset: strings.offset,
        size: strings.size,
    })
}

fn sections<'a>(elf: &'a Headers, name: &str) -> Option<(&'a Section, &'a Section)> {
    let table = elf.section(name)?;
    let strings = elf.sections.get(table.link as usize)?;
    strings.plain.then_some((table, strings))
}

/// Reads a table piece by piece; symbols that another image defines are left out.
fn each(content: &Bytes, table: &Section, mut take: impl FnMut(&RawSymbol)) {
    let count = (table.size / SYMBOL_BYTES as u64).min(SYMBOLS_MAX);
    let mut buffer = vec![0; CHUNK_SYMBOLS * SYMBOL_BYTES];
    let mut done = 0;
    while done < count {
        let want = usize::try_from((count - done) * SYMBOL_BYTES as u64)
            .map_or(buffer.len(), |rest| rest.min(buffer.len()));
        let Some(part) = buffer.get_mut(..want) else {
            return;
        };
        let offset = table.offset.saturating_add(done * SYMBOL_BYTES as u64);
        if content.read_into(offset, part).is_err() {
            return;
        }
        let symbols = object::slice_from_all_bytes::<RawSymbol>(part).unwrap_or_default();
        let defined = symbols.iter().filter(|symbol| !symbol.is_undefined(LE));
        defined.for_each(&mut take);
        done += (want / SYMBOL_BYTES) as u64;
    }
}

/// ELF virtual address of a symbol by its name, from the tables of [`Symbols::read`].
pub(crate) fn address_of(body: &ImageBody, name: &str, kinds: &[Kind]) -> Option<u64> {
    let of_kind = |symbol: &RawSymbol| kinds.iter().any(|kind| is_of(*kind, symbol));
    let search = |content: &Bytes, elf: &Headers, table: &str| {
        let (table, strings) = sections(elf, table)?;
        let places = string_offsets(content, strings, name);
        let mut found = None;
        if !places.is_empty() {
            each(content, table, |symbol| {
                if found.is_none() && of_kind(symbol) && places.contains(&symbol.st_name(LE)) {
                    found = Some(symbol.st_value(LE));
                }
            });
        }
        found
    };
    search(&body.content, &body.elf, ".dynsym")
        .or_else(|| search(&body.content, &body.elf, ".symtab"))
        .or_else(|| {
            let debug = body.debug.as_ref()?;
            search(debug, &Headers::parse(debug).ok()?, ".symtab")
        })
        .or_else(|| {
            let content = Bytes::Bytes(mini::unpack(body)?.into());
            search(&content, &Headers::parse(&content).ok()?, ".symtab")
        })
}

/// Where a name stands in a string table: also as the end of longer names, which linkers share.
fn string_offsets(content: &Bytes, strings: &Section, name: &str) -> Vec<u32> {
    const STEP: usize = 256 << 10;
    let mut wanted = name.as_bytes().to_vec();
    wanted.push(0);
    let finder = memmem::Finder::new(&wanted);
    let mut found = Vec::new();
    let mut buffer = vec![0; STEP + wanted.len()];
    let mut at = 0;
    while at < strings.size.min(STRINGS_BYTES_MAX) {
        let room =
            usize::try_from(strings.size - at).map_or(buffer.len(), |rest| rest.min(buffer.len()));
        let Some(part) = buffer.get_mut(..room) else {
            break;
        };
        if content
            .read_into(strings.offset.saturating_add(at), part)
            .is_err()
        {
            break;
        }
        // No place is within another: the zero is at the end only.
        let hits = finder.find_iter(part);
        found.extend(hits.filter_map(|place| u32::try_from(at + place as u64).ok()));
        at += STEP as u64;
    }
    found
}
