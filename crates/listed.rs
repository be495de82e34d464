//! For build scripts: the files of a folder as code, so that adding a file is all that it takes.

#![allow(dead_code, reason = "each build script uses a part")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

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

fn write(name: &str, code: String) -> io::Result<()> {
    fs::write(
        Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join(name),
        code,
    )
}

/// Writes a list of the names and texts of files.
pub fn texts(folder: &str, ending: &str, to: &str) -> io::Result<()> {
    let files = files(folder, ending)?;
    let texts = files.iter().map(|(stem, path)| {
        let name = format!("{stem}.{ending}");
        format!("    ({name:?}, include_str!({path:?})),\n")
    });
    write(to, format!("&[\n{}]", texts.collect::<String>()))
}

/// A `static` of a file.
pub struct Declared {
    /// Its path, such as `memory::BUDDYINFO`.
    pub path: String,
    /// What stands in the brackets of its type; empty where there are none.
    pub of: String,
}

/// Writes the files of a folder as modules, with code that is made of the statics of a type in them. Each stands in a line
/// that begins with `pub(crate) static NAME: TYPE`.
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
    write(to, modules + &code(&found))
}
