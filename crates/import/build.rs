//! Lists the files of `src/formats/`: adding a format is adding a file.

#![allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// A line that declares a format begins with this and goes on with the name of the static and `: Format = `.
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
        let text = fs::read_to_string(path)?;
        let declared = text.lines().filter_map(|line| {
            let (name, _) = line.strip_prefix(DECLARATION)?.split_once(": Format = ")?;
            Some(format!("    &{module}::{name},\n"))
        });
        let declared: String = declared.collect();
        if declared.is_empty() {
            let why = format!("{path:?}: no `{DECLARATION}NAME: Format = ` in it");
            return Err(io::Error::other(why));
        }
        formats.push_str(&declared);
    }
    let code = format!(
        "{modules}\n/// All formats, by the names of their files.\npub static FORMATS: &[&Format] = &[\n{formats}];\n"
    );
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&out).join("formats.rs"), code)
}
