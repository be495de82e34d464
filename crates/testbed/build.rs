//! Embeds every file of `scenarios/`: adding a scenario is adding a file.

#![allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let directory = manifest.join("scenarios");
    println!("cargo::rerun-if-changed=scenarios");
    let mut names = Vec::new();
    for entry in fs::read_dir(&directory)? {
        if let Ok(name) = entry?.file_name().into_string()
            && name.ends_with(".toml")
        {
            names.push(name);
        }
    }
    names.sort_unstable();

    let mut code = String::from("&[\n");
    for name in &names {
        let path = directory.join(name);
        let _ = writeln!(code, "    ({name:?}, include_str!({path:?})),");
    }
    code.push(']');
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&out).join("scenarios.rs"), code)
}
