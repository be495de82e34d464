//! Every byte that was written, searched for every marker in every form that a text may take on its way.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

use aho_corasick::AhoCorasick;

use crate::markers::{Class, Markers, gbk, hex};

/// What is shown of the surroundings of a find, bytes on all.
const AROUND: usize = 120;

/// How much of a needle is enough to be one: texts are cut, by servers and by us.
const CUT: usize = 7;

/// Finds that are shown; of more the number is told.
const SHOWN: usize = 60;

/// Unpacked, a text in a file is never longer.
const UNPACKED_MAX: u64 = 64 << 20;

const SQLITE: &[u8] = b"SQLite format 3\0";
const GZIP: &[u8] = &[0x1f, 0x8b];

/// One find.
#[derive(Debug)]
pub(crate) struct Leak {
    /// Name and class of the marker, and the form in which it was found.
    what: String,
    /// The file.
    file: String,
    /// Where in it.
    place: String,
    /// What stands around it.
    around: String,
}

/// Searches for the markers of some classes.
pub(crate) struct Search {
    automaton: AhoCorasick,
    /// What each pattern is.
    patterns: Vec<String>,
    pub(crate) leaks: Vec<Leak>,
    /// Bytes that were searched, unpacked ones included.
    pub(crate) bytes: u64,
    pub(crate) files: u64,
}

impl Search {
    pub(crate) fn new(markers: &Markers, classes: &[Class]) -> Self {
        let mut patterns: BTreeMap<Vec<u8>, String> = BTreeMap::new();
        for marker in markers
            .list
            .iter()
            .filter(|marker| classes.contains(&marker.class))
        {
            for needle in &marker.needles {
                for (form, bytes) in forms(needle) {
                    let what = format!("{:?} {} ({form} of {needle})", marker.class, marker.name);
                    patterns.entry(bytes).or_insert(what);
                }
            }
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(patterns.keys())
            .unwrap();
        Self {
            automaton,
            patterns: patterns.into_values().collect(),
            leaks: Vec::new(),
            bytes: 0,
            files: 0,
        }
    }

    /// A directory with all that is in it.
    pub(crate) fn directory(&mut self, path: &Path) {
        let mut entries: Vec<_> = std::fs::read_dir(path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
            .map(|entry| entry.unwrap().path())
            .collect();
        entries.sort();
        for entry in entries {
            let name = entry
                .file_name()
                .unwrap_or_default()
                .as_encoded_bytes()
                .to_vec();
            self.bytes_of(&entry.display().to_string(), "its name", &name);
            let kind = std::fs::symlink_metadata(&entry).unwrap().file_type();
            if kind.is_dir() {
                self.directory(&entry);
            } else if kind.is_file() {
                self.file(&entry);
            }
        }
    }

    pub(crate) fn file(&mut self, path: &Path) {
        let name = path.display().to_string();
        let Ok(bytes) = std::fs::read(path) else {
            return;
        };
        self.files += 1;
        self.bytes_of(&name, "raw", &bytes);
        if bytes.starts_with(GZIP) {
            let mut unpacked = Vec::new();
            let decoder = flate2::read::MultiGzDecoder::new(bytes.as_slice());
            let _ = decoder.take(UNPACKED_MAX).read_to_end(&mut unpacked);
            self.bytes_of(&name, "gunzipped", &unpacked);
        }
        if bytes.starts_with(SQLITE) {
            self.database(path, &name);
        }
    }

    /// Each cell of each table; what is packed in it is unpacked.
    fn database(&mut self, path: &Path, name: &str) {
        // A copy, with its log, so that looking changes nothing.
        let copy = tempfile::tempdir().unwrap();
        let file = copy.path().join("copy.db");
        std::fs::copy(path, &file).unwrap();
        let wal = path.with_file_name(format!(
            "{}-wal",
            path.file_name().unwrap_or_default().to_string_lossy()
        ));
        if wal.exists() {
            std::fs::copy(&wal, copy.path().join("copy.db-wal")).unwrap();
        }
        let database = rusqlite::Connection::open(&file).unwrap();
        let tables: Vec<String> = database
            .prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert!(!tables.is_empty(), "{name}: no tables");
        for table in tables {
            let mut rows = database
                .prepare(&format!("SELECT * FROM \"{table}\""))
                .unwrap();
            let columns: Vec<String> = rows.column_names().map(str::to_owned).collect();
            let mut rows = rows.query([]).unwrap();
            let mut number = 0;
            while let Some(row) = rows.next().unwrap() {
                number += 1;
                // Short texts of a row tell what it is: the kind of a text, the name of a fact.
                let short = (0..columns.len()).filter_map(|place| {
                    let text = row.get_ref(place).unwrap().as_str().ok()?;
                    (text.len() <= 40 && !text.is_empty()).then(|| text.to_owned())
                });
                let says = short.collect::<Vec<_>>().join(" ");
                for (place, column) in columns.iter().enumerate() {
                    let place = row.get_ref(place).unwrap();
                    let bytes = match place {
                        rusqlite::types::ValueRef::Text(bytes)
                        | rusqlite::types::ValueRef::Blob(bytes) => bytes,
                        _ => continue,
                    };
                    let place = format!("{table}.{column}, row {number} ({says})");
                    self.bytes_of(name, &place, bytes);
                    for (how, unpacked) in unpack(bytes) {
                        self.bytes_of(name, &format!("{place}, {how}"), &unpacked);
                    }
                }
            }
        }
    }

    /// Some bytes of a file.
    pub(crate) fn bytes_of(&mut self, file: &str, place: &str, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        for found in self.automaton.find_iter(bytes) {
            let (start, end) = (found.start(), found.end());
            let before = start.saturating_sub(AROUND / 2);
            let after = (end + AROUND / 2).min(bytes.len());
            self.leaks.push(Leak {
                what: self.patterns[found.pattern().as_usize()].clone(),
                file: file.to_owned(),
                place: format!("{place}, offset {start}"),
                around: bytes[before..after].escape_ascii().to_string(),
            });
        }
    }

    /// Each find, one a line: for whoever sorts thousands of them.
    pub(crate) fn list(&self) -> String {
        let mut all = String::new();
        for leak in &self.leaks {
            let (what, file, place) = (&leak.what, &leak.file, &leak.place);
            let _ = writeln!(all, "{what}\t{file}\t{place}\t{}", leak.around);
        }
        all
    }

    /// Fails with every find where there is any.
    pub(crate) fn report(&self) -> Result<(), String> {
        if self.leaks.is_empty() {
            return Ok(());
        }
        let mut said = format!(
            "{} finds in {} files, {} bytes:\n",
            self.leaks.len(),
            self.files,
            self.bytes
        );
        // The first of each marker in each file and each kind of place tells the most.
        let mut seen = BTreeMap::new();
        for leak in &self.leaks {
            let place = leak.place.split(", row").next().unwrap_or_default();
            let place = place.split(", offset").next().unwrap_or_default();
            let around = leak.around.get(..20).unwrap_or(&leak.around);
            seen.entry((
                leak.file.clone(),
                place.to_owned(),
                leak.what.clone(),
                around.to_owned(),
            ))
            .or_insert((leak, 0))
            .1 += 1;
        }
        for (leak, count) in seen.values().take(SHOWN) {
            let _ = writeln!(
                said,
                "{}\n  {}: {} ({count} times)\n  {}",
                leak.what, leak.file, leak.place, leak.around
            );
        }
        if seen.len() > SHOWN {
            let _ = writeln!(said, "and {} more", seen.len() - SHOWN);
        }
        Err(said)
    }
}

/// What a blob may be packed as. A text that only looks packed gives nothing or garbage, which has no markers.
fn unpack(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut all = Vec::new();
    let mut add = |how, reader: &mut dyn std::io::Read| {
        let mut unpacked = Vec::new();
        let _ = reader.take(UNPACKED_MAX).read_to_end(&mut unpacked);
        if !unpacked.is_empty() {
            all.push((how, unpacked));
        }
    };
    add("deflated", &mut flate2::read::DeflateDecoder::new(bytes));
    add("zlib", &mut flate2::read::ZlibDecoder::new(bytes));
    if bytes.starts_with(GZIP) {
        add("gzip", &mut flate2::read::MultiGzDecoder::new(bytes));
    }
    all
}

/// The forms of a needle. The search does not regard the case of letters.
fn forms(needle: &str) -> Vec<(&'static str, Vec<u8>)> {
    let bytes = needle.as_bytes();
    let mut all = vec![
        ("itself", bytes.to_vec()),
        ("hexadecimal", hex(bytes).into_bytes()),
    ];
    let letters = needle.chars().all(|letter| letter.is_ascii_alphabetic());
    if letters && needle.len() > CUT {
        all.push(("its beginning", bytes[..CUT].to_vec()));
        all.push(("its end", bytes[bytes.len() - CUT..].to_vec()));
    }
    for shift in 0..3 {
        all.push(("base64", base64_inside(bytes, shift)));
    }
    let units: Vec<u16> = needle.encode_utf16().collect();
    all.push((
        "UTF-16LE",
        units.iter().flat_map(|unit| unit.to_le_bytes()).collect(),
    ));
    all.push((
        "UTF-16BE",
        units.iter().flat_map(|unit| unit.to_be_bytes()).collect(),
    ));
    if !needle.is_ascii() {
        let each = |write: &dyn Fn(u16) -> String| -> Vec<u8> {
            units
                .iter()
                .map(|unit| write(*unit))
                .collect::<String>()
                .into_bytes()
        };
        all.push(("\\u", each(&|unit| format!("\\u{unit:04x}"))));
        all.push(("HTML", each(&|unit| format!("&#{unit};"))));
        all.push(("HTML", each(&|unit| format!("&#x{unit:x};"))));
        let each = |write: &dyn Fn(u8) -> String| -> Vec<u8> {
            bytes
                .iter()
                .map(|byte| write(*byte))
                .collect::<String>()
                .into_bytes()
        };
        all.push(("URL", each(&|byte| format!("%{byte:02x}"))));
        all.push(("\\x", each(&|byte| format!("\\x{byte:02x}"))));
        all.push(("octal", each(&|byte| format!("\\{byte:03o}"))));
        // Its bytes taken for Latin-1 and written as UTF-8 once more.
        let twice: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        all.push(("twice encoded", twice.into_bytes()));
        if let Some(bytes) = gbk(needle) {
            all.push(("GBK", bytes));
        }
        // The first half, which a cut may leave.
        let half: String = needle.chars().take(4).collect();
        all.push(("its beginning", half.into_bytes()));
    }
    all
}

/// What base64 makes of `bytes` when `shift` other bytes stand before them, without the letters that depend on
/// neighbours.
fn base64_inside(bytes: &[u8], shift: usize) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let skip = (3 - shift) % 3;
    let whole = bytes.get(skip..).unwrap_or_default();
    let groups = whole.chunks_exact(3).flat_map(|group| {
        let number = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
        [18, 12, 6, 0].map(|by| ALPHABET[(number >> by & 63) as usize])
    });
    groups.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    /// What is not found proves nothing where the search finds nothing.
    #[test]
    fn the_search_finds_each_marker_in_each_form_and_container() {
        let markers = Markers::new(5);
        let dir = tempfile::tempdir().unwrap();
        let both = [Class::Value, Class::Name];
        for marker in &markers.list {
            for (place, wrap) in [
                ("raw", marker.text.clone().into_bytes()),
                ("upper", marker.text.to_ascii_uppercase().into_bytes()),
                ("hex", hex(marker.text.as_bytes()).into_bytes()),
                (
                    "utf-16",
                    marker
                        .text
                        .encode_utf16()
                        .flat_map(u16::to_le_bytes)
                        .collect(),
                ),
            ] {
                let mut search = Search::new(&markers, &both);
                search.bytes_of(
                    "x",
                    place,
                    &[b"before ", wrap.as_slice(), b" after"].concat(),
                );
                assert!(search.report().is_err(), "{} as {place}", marker.name);
            }
        }
        let text = markers.fill("a text with {email:raw} in it");
        let mut packed =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        let packed = packed.finish().unwrap();
        let file = dir.path().join("x.frame");
        let database = rusqlite::Connection::open(&file).unwrap();
        database
            .execute_batch("CREATE TABLE t (id INTEGER, body BLOB)")
            .unwrap();
        database
            .execute("INSERT INTO t VALUES (1, ?1)", [packed])
            .unwrap();
        drop(database);
        let mut search = Search::new(&markers, &[Class::Value]);
        search.directory(dir.path());
        let said = search.report().unwrap_err();
        for part in [
            "Value email",
            "x.frame",
            "t.body, row 1 (), deflated",
            "a text with ",
        ] {
            assert!(said.contains(part), "{said}");
        }
        let mut names = Search::new(&markers, &[Class::Name]);
        names.directory(dir.path());
        assert_eq!(names.report(), Ok(()));
    }

    #[test]
    fn what_has_no_marker_has_none() {
        let markers = Markers::new(6);
        let mut search = Search::new(&markers, &[Class::Value, Class::Name]);
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
        search.directory(Path::new(path));
        assert!(search.files > 5);
        assert_eq!(search.report(), Ok(()));
    }
}
