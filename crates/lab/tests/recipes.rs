//! "How to add …" in CONTRIBUTING.md, followed to the letter: what stands there is put into a copy of the project, which is
//! built, and each of the things is seen at work.
//!
//! That builds everything again, for minutes the first time: only with `FREEZEFRAME_RECIPES` set (`make recipes`). What the
//! recipes say is looked at always.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use diagnosis::Catalogue;
use serde_json::Value;
use testbed::{Error, Options, PrivateServer};

/// A block of code of a recipe.
struct Step {
    /// What the recipe adds: the heading, without "How to add a".
    kind: String,
    /// The file, from the root of the project.
    path: String,
    /// Lines to add, by hunk and with the lines around them, instead of a new file.
    is_diff: bool,
    text: String,
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// The blocks of code, each with the path that is named first in the step in front of it.
fn recipes() -> Vec<Step> {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let mut steps = Vec::new();
    for section in text.split("\n## How to add a ").skip(1) {
        let kind = section.lines().next().unwrap();
        let mut path = None;
        let section = section.split("\n## ").next().unwrap();
        let mut lines = section.lines();
        while let Some(line) = lines.next() {
            if let Some(language) = line.trim_start().strip_prefix("```") {
                let block = lines.by_ref().take_while(|line| line.trim() != "```");
                // Blocks of a numbered list stand three blanks to the right.
                let block = block.map(|line| format!("{}\n", line.get(3..).unwrap_or_default()));
                steps.push(Step {
                    kind: kind.to_owned(),
                    path: path.take().expect("a path in front of the block"),
                    is_diff: language == "diff",
                    text: block.collect(),
                });
            } else if line.contains(". **") {
                path = line.split('`').nth(1).map(str::to_owned);
            }
        }
    }
    steps
}

/// A file with the lines that a block adds.
fn patched(file: &str, step: &Step) -> String {
    step.text.split("@@\n").fold(file.to_owned(), |file, hunk| {
        let (mut before, mut after) = (String::new(), String::new());
        for line in hunk.split_inclusive('\n') {
            if let Some(known) = line.strip_prefix(' ') {
                before += known;
            }
            after += line.get(1..).unwrap();
        }
        assert_eq!(file.matches(&before).count(), 1, "{}: {before}", step.path);
        file.replace(&before, &after)
    })
}

#[test]
fn each_recipe_touches_what_it_says() {
    let mut touched: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for step in recipes() {
        let there = root().join(&step.path);
        // What is there already shows nothing.
        assert_eq!(there.exists(), step.is_diff, "{}", step.path);
        if step.is_diff {
            patched(&fs::read_to_string(there).unwrap(), &step);
        }
        touched.entry(step.kind).or_default().push(step.path);
    }
    let touched: Vec<String> = touched
        .iter()
        .map(|(kind, paths)| format!("{kind}: {}", paths.join(" ")))
        .collect();
    assert_eq!(
        touched,
        [
            "cause: crates/diagnosis/causes/status-unanswered.toml",
            "format: crates/import/src/formats/buddyinfo.rs crates/import/tests/samples/buddyinfo",
            "function to measures: crates/expression/src/aggregate.rs crates/diagnosis/src/functions/gaps.rs",
            "scenario: crates/testbed/scenarios/status-unanswered.toml",
            "signal: crates/recorder/src/sources/own.rs",
            "source: crates/kernel/src/procfs/loadavg.rs crates/kernel/src/procfs/mod.rs \
             crates/model/src/source.rs crates/recorder/src/sources/loadavg.rs",
        ]
    );
    assert!(Catalogue::builtin().get("status-unanswered").is_none());
}

#[test]
fn what_the_recipes_add_is_built_and_works() {
    if std::env::var_os("FREEZEFRAME_RECIPES").is_none() {
        eprintln!("skipped: make recipes builds a copy of the project with all of it");
        return;
    }
    let copy = root().join("target/recipes");
    let files = followed();
    sync(&copy, &files);
    let formatted = files.keys().filter(|path| {
        // cargo fmt does not see what build scripts list.
        let listed = [
            "import/src/formats",
            "diagnosis/src/functions",
            "recorder/src/sources",
        ];
        let folder = path.parent().unwrap();
        path.extension().is_some_and(|end| end == "rs")
            && listed.iter().any(|it| folder.ends_with(it))
    });
    ran(Command::new("cargo")
        .args(["fmt", "--all", "--check"])
        .current_dir(&copy));
    let rustfmt = ["--edition", "2024", "--check"];
    ran(Command::new("rustfmt")
        .args(rustfmt)
        .args(formatted)
        .current_dir(&copy));
    cargo(
        &copy,
        &["build", "-p", "freezeframe", "-p", "freezeframe-lab"],
    );
    let units = [
        "-p",
        "freezeframe-import",
        "-p",
        "freezeframe-recorder",
        "-p",
        "freezeframe-kernel",
    ];
    let names = ["formats::", "recognise::", "sources::", "procfs::loadavg"];
    cargo(
        &copy,
        &[&["test", "--lib"], &units[..], &["--"], &names[..]].concat(),
    );

    let program = copy.join("target/debug/freezeframe");
    let lab = copy.join("target/debug/freezeframe-lab");
    let has = |list: &Value, key: &str, name: &str| {
        let mut list = list.as_array().unwrap().iter();
        list.any(|one| one[key] == name)
    };
    // The source is in the table, the format is read, the scenario is listed.
    assert!(has(
        &json(&program, &["sources", "--json"]),
        "name",
        "loadavg"
    ));
    let sample = copy.join("crates/import/tests/samples/buddyinfo");
    let read = json(&program, &["explain", "--json", sample.to_str().unwrap()]);
    assert!(
        has(&read["sources"], "kind", "/proc/buddyinfo"),
        "{}",
        read["sources"]
    );
    let scenarios = json(&lab, &["list", "--json"]);
    assert!(has(&scenarios, "name", "status-unanswered"), "{scenarios}");

    if let Err(error @ Error::NotFetched { .. }) = PrivateServer::start(&Options::default()) {
        eprintln!("skipped: {error}");
        return;
    }
    // The scenario runs; the record has source and signal; the cause is found by both functions.
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().to_str().unwrap();
    json(
        &lab,
        &["run", "status-unanswered", "--brief", "--json", "--dir", at],
    );
    let frame = frames(dir.path()).pop().expect("an incident");
    let timeline = store::read_incident(&frame).unwrap().incident.timeline;
    for signal in ["loadavg.tasks", "recorder.major_faults"] {
        assert!(timeline.get(signal).is_some(), "{signal}");
    }
    let verdict = json(&program, &["explain", "--json", frame.to_str().unwrap()]);
    let findings = verdict["findings"].as_array().unwrap();
    let found = findings
        .iter()
        .find(|finding| finding["cause"] == "status-unanswered");
    let found = found.unwrap_or_else(|| panic!("{findings:#?}"));
    let witnesses = found["witnesses"].as_array().unwrap();
    let ids: BTreeSet<&str> = witnesses
        .iter()
        .filter_map(|one| one["id"].as_str())
        .collect();
    assert_eq!(ids, BTreeSet::from(["gap", "host-lives"]), "{found:#}");
}

/// The files of the project with all that the recipes add.
fn followed() -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for name in [
        "Cargo.toml",
        "Cargo.lock",
        "rust-toolchain.toml",
        "crates",
        "docs",
        "packaging",
    ] {
        read(&root(), Path::new(name), &mut files);
    }
    for step in recipes() {
        let path = PathBuf::from(&step.path);
        let text = match step.is_diff {
            true => patched(std::str::from_utf8(&files[&path]).unwrap(), &step),
            false => step.text,
        };
        files.insert(path, text.into_bytes());
    }
    files
}

fn read(root: &Path, path: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let there = root.join(path);
    if !there.is_dir() {
        files.insert(path.to_owned(), fs::read(there).unwrap());
        return;
    }
    for entry in fs::read_dir(there).unwrap() {
        read(root, &path.join(entry.unwrap().file_name()), files);
    }
}

/// Makes the copy what `files` say. What is the same is left, so that it need not be built again.
fn sync(copy: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) {
    let mut known = BTreeMap::new();
    if copy.join("crates").is_dir() {
        read(copy, Path::new("crates"), &mut known);
    }
    for path in known.keys().filter(|path| !files.contains_key(*path)) {
        fs::remove_file(copy.join(path)).unwrap();
    }
    for (path, text) in files {
        if known.get(path) != Some(text) {
            fs::create_dir_all(copy.join(path).parent().unwrap()).unwrap();
            fs::write(copy.join(path), text).unwrap();
        }
    }
}

fn frames(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let found = entries.flat_map(|path| match path.is_dir() {
        true => frames(&path),
        false => vec![path],
    });
    found
        .filter(|path| path.extension().is_some_and(|end| end == "frame"))
        .collect()
}

fn ran(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

/// Its own folder of what is built: these programs are not those of the project. There are no warnings.
fn cargo(copy: &Path, arguments: &[&str]) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let (verb, rest) = arguments.split_first().unwrap();
    let mut command = Command::new(cargo);
    command.args([verb, "--offline", "--locked"]).args(rest);
    command
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", copy.join("target"));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let warns = said.lines().any(|line| line.starts_with("warning"));
    assert!(output.status.success() && !warns, "{command:?}: {said}");
}

fn json(program: &Path, arguments: &[&str]) -> Value {
    let output = Command::new(program)
        .args(arguments)
        .env("HOME", "/dev/null")
        .env_remove("FREEZEFRAME")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}
