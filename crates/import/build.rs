//! Lists the files of `src/formats/`: adding a format is adding a file.

#![allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What every format is declared with, behind `pub(crate) `: the name of the static follows.
const DECLARATION: &str = "pub(crate) static ";

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed=src/formats");
    let mut paths = Vec::new();
    for entry in fs::read_dir(manifest.join("src/formats"))? {
        paths.push(entry?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|end| end == "rs"));
    paths.sort_unstable();

    let (mut modules, mut formats) = (String::new(), String::new());
    for path in &paths {
        let module = path.file_stem().and_then(|stem| stem.to_str());
        let module = module.ok_or_else(|| io::Error::other(format!("{path:?}: no name")))?;
        let _ = writeln!(modules, "#[path = {path:?}]\npub(crate) mod {module};");
        for line in fs::read_to_string(path)?.lines() {
            if let Some(declared) = line.strip_prefix(DECLARATION)
                && let Some((name, _)) = declared.split_once(": Format = ")
            {
                let _ = writeln!(formats, "    &{module}::{name},");
            }
        }
    }
    let code = format!(
        "{modules}\n/// All formats, by the names of their files.\npub static FORMATS: &[&Format] = &[\n{formats}];\n"
    );
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&out).join("formats.rs"), code)
}
