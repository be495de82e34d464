//! For build scripts: the files of a folder as code.

#![allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// The files of a folder of the crate with this ending, by name.
fn files(folder: &str, ending: &str) -> io::Result<Vec<(String, PathBuf)>> {
    println!("cargo::rerun-if-changed={folder}");
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files = Vec::new();
    for entry in fs::read_dir(manifest.join(folder))? {
        let path = entry?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        if let Some(stem) = stem.filter(|_| path.extension().is_some_and(|end| end == ending)) {
            files.push((stem.to_owned(), path));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Where a build script writes.
fn out(name: &str) -> PathBuf {
    Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join(name)
}

/// Writes a list of the names and texts of files.
///
/// # Errors
/// When the folder, a file or the list cannot be read or written.
pub fn texts(folder: &str, ending: &str, to: &str) -> io::Result<()> {
    let files = files(folder, ending)?;
    let texts = files.iter().map(|(stem, path)| {
        let name = format!("{stem}.{ending}");
        format!("    ({name:?}, include_str!({path:?})),\n")
    });
    fs::write(out(to), format!("&[\n{}]", texts.collect::<String>()))
}

/// Writes a list of the names of files and of their texts as [`crate::unpack`] takes them.
///
/// # Errors
/// When the folder, a file, what is packed or the list cannot be read or written.
pub fn packed(folder: &str, ending: &str, to: &str) -> io::Result<()> {
    let mut list = String::new();
    for (stem, path) in files(folder, ending)? {
        let packed = out(&format!("{folder}-{stem}.packed"));
        fs::write(&packed, pack(&fs::read(path)?)?)?;
        let name = format!("{stem}.{ending}");
        let _ = writeln!(list, "    ({name:?}, include_bytes!({packed:?})),");
    }
    fs::write(out(to), format!("&[\n{list}]"))
}

/// Writes the names and lengths of files and their texts as one, as [`crate::unpack_each`] takes them: what is like in
/// many files is packed once. For those of which all are needed when one is. Folders come with an ending each.
///
/// # Errors
/// When a folder, a file, what is packed or the list cannot be read or written.
pub fn packed_as_one(folders: &[(&str, &str)], to: &str) -> io::Result<()> {
    let (mut list, mut all) = (String::new(), Vec::new());
    for (folder, ending) in folders {
        for (stem, path) in files(folder, ending)? {
            let text = fs::read(path)?;
            let name = format!("{stem}.{ending}");
            let _ = writeln!(list, "        ({name:?}, {}),", text.len());
            all.extend(text);
        }
    }
    let packed = out(&format!("{to}.packed"));
    fs::write(&packed, pack(&all)?)?;
    fs::write(
        out(to),
        format!("(\n    &[\n{list}    ],\n    include_bytes!({packed:?}),\n)"),
    )
}

/// Packs what `made` makes of a text, as [`crate::unpack_bytes`] takes it.
///
/// # Errors
/// When the text cannot be read, nothing can be made of it, or what is packed cannot be written.
pub fn packed_as(
    file: &str,
    to: &str,
    made: impl FnOnce(&str) -> io::Result<Vec<u8>>,
) -> io::Result<()> {
    println!("cargo::rerun-if-changed={file}");
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let text = fs::read_to_string(manifest.join(file))?;
    fs::write(out(to), pack(&made(&text)?)?)
}

pub(crate) fn pack(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut packer = DeflateEncoder::new(Vec::new(), Compression::best());
    packer.write_all(text)?;
    packer.finish()
}

/// A `static` of a file.
#[derive(Debug)]
pub struct Declared {
    /// Its path, such as `memory::BUDDYINFO`.
    pub path: String,
    /// What stands in the brackets of its type; empty where there are none.
    pub of: String,
}

/// Writes the files of a folder as modules, with code that is made of the statics of a type in them. Each stands in a line
/// that begins with `pub(crate) static NAME: TYPE`.
///
/// # Errors
/// When the folder, a file or the code cannot be read or written.
pub fn statics(
    folder: &str,
    of_type: &str,
    to: &str,
    code: fn(&[Declared]) -> String,
) -> io::Result<()> {
    let (mut modules, mut found) = (String::new(), Vec::new());
    for (module, path) in files(folder, "rs")? {
        if module == "mod" {
            continue;
        }
        let _ = writeln!(modules, "#[path = {path:?}]\npub(crate) mod {module};");
        for line in fs::read_to_string(&path)?.lines() {
            let declared = line.strip_prefix("pub(crate) static ").and_then(|rest| {
                let (name, rest) = rest.split_once(": ")?;
                let of = rest.strip_prefix(of_type)?.split(" =").next()?;
                Some((name, of.trim_matches(['<', '>'])))
            });
            found.extend(declared.map(|(name, of)| Declared {
                path: format!("{module}::{name}"),
                of: of.to_owned(),
            }));
        }
    }
    fs::write(out(to), modules + &code(&found))
}
