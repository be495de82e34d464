//! "How to add a format" in CONTRIBUTING.md, followed to the letter: its file and its sample are put into a copy of the
//! crate, which is built and tested.
//!
//! That builds the crates below it again, for a minute or two the first time: only with `FREEZEFRAME_RECIPES` set
//! (`make recipes`). What the recipe says is looked at always.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use import::FORMATS;

/// A file of the recipe.
struct File {
    /// From the root of the project.
    path: String,
    content: String,
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// The blocks of code of the section, each with the path that is named last in front of it.
fn recipe() -> Vec<File> {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let section = text
        .split("\n## ")
        .find(|section| section.starts_with("How to add a format"));
    let section = section.expect("the section");
    let mut files = Vec::new();
    let mut path = None;
    let mut lines = section.lines();
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("```") {
            let block = lines.by_ref().take_while(|line| line.trim() != "```");
            // Blocks of a numbered list stand three blanks to the right.
            let content = block.map(|line| format!("{}\n", line.get(3..).unwrap_or_default()));
            files.push(File {
                path: path.take().expect("a path in front of the block"),
                content: content.collect(),
            });
        } else if line.contains(". **") {
            path = line.split('`').nth(1).map(str::to_owned);
        }
    }
    files
}

#[test]
fn the_recipe_is_a_file_and_a_sample() {
    let paths: Vec<String> = recipe().into_iter().map(|file| file.path).collect();
    assert_eq!(
        paths,
        [
            "crates/import/src/formats/buddyinfo.rs",
            "crates/import/tests/samples/buddyinfo"
        ]
    );
    // What is there already shows nothing.
    assert!(FORMATS.iter().all(|format| format.id != "buddyinfo"));
}

#[test]
fn the_recipe_gives_a_format() {
    if std::env::var_os("FREEZEFRAME_RECIPES").is_none() {
        eprintln!("skipped: make recipes builds a copy of the crate with the format in it");
        return;
    }
    let copy = tempfile::tempdir().unwrap();
    copy_workspace(&root(), copy.path());
    for file in recipe() {
        let path = copy.path().join(&file.path);
        assert!(!path.exists(), "{}", file.path);
        fs::write(path, file.content).unwrap();
    }
    let formatted = Command::new("rustfmt")
        .args(["--edition", "2024", "--check"])
        .arg(copy.path().join("crates/import/src/formats/buddyinfo.rs"))
        .status();
    assert!(formatted.unwrap().success(), "the recipe is not formatted");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tested = Command::new(cargo)
        .args(["test", "--offline", "-p", "freezeframe-import", "--lib"])
        .args(["--", "formats::", "recognise::"])
        .current_dir(copy.path())
        .env("CARGO_TARGET_DIR", root().join("target/recipes"))
        .env("RUSTFLAGS", "-Dwarnings")
        .status();
    assert!(tested.unwrap().success(), "the recipe does not work");
}

/// The workspace with a copy of this crate, without what only its larger tests need; the other crates are linked.
fn copy_workspace(from: &Path, to: &Path) {
    for name in ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
    fs::create_dir(to.join("crates")).unwrap();
    for entry in fs::read_dir(from.join("crates")).unwrap() {
        let entry = entry.unwrap();
        let there = to.join("crates").join(entry.file_name());
        match entry.file_name() == "import" {
            true => copy_folder(&entry.path(), &there),
            false => symlink(entry.path(), there).unwrap(),
        }
    }
    let manifest = to.join("crates/import/Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let (before, rest) = text.split_once("[dev-dependencies]").unwrap();
    let (_, behind) = rest.split_once("[lints]").unwrap();
    fs::write(manifest, format!("{before}[lints]{behind}")).unwrap();
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let there = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &there),
            false => _ = fs::copy(entry.path(), there).unwrap(),
        }
    }
}
