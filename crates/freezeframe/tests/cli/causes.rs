//! The command `causes`, and a user's own files.

use std::fs;
use std::path::Path;

use crate::harness::run;

pub(crate) const OWN: &str = r#"id = "own"
title = "A cause of my own"
what = "It is this. It does that."
refuted_by = ["This."]
sources = ["A page."]

[[witness]]
id = "rate"
measure = "rate(status.Com_flush)"
above = 5
unit = "per_second"
says = "FLUSH ran at {value}"

[remedy]
now = ["a"]
durable = ["b"]
undo = ["c"]
risk = "d"
verify = ["e"]
"#;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

fn path(dir: &Path) -> &str {
    dir.to_str().unwrap()
}

#[test]
fn causes_are_listed_and_shown() {
    let dir = directory(&[
        ("own.toml", OWN),
        ("README", "no cause"),
        (".hidden.toml", "x"),
    ]);
    let listed = run(&["causes", "--causes", path(dir.path())]);
    let out = text(&listed.stdout);
    assert!(listed.status.success() && listed.stderr.is_empty());
    assert!(
        out.contains("A cause of my own") && out.contains("(your own)"),
        "{out}"
    );
    assert!(out.contains("slow-fsync"), "{out}");

    let shown = run(&["causes", "show", "own", "--causes", path(dir.path())]);
    let out = text(&shown.stdout);
    let sentence = "rate (by status): rate(status.Com_flush) is at least 5/s";
    assert!(out.contains(sentence), "{out}");
    let json = run(&[
        "causes",
        "show",
        "own",
        "--json",
        "--causes",
        path(dir.path()),
    ]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["witnesses"][0]["kind"], "measure");

    let unknown = run(&["causes", "show", "fsync", "--causes", path(dir.path())]);
    assert_eq!(unknown.status.code(), Some(2));
    let told = text(&unknown.stderr);
    assert!(
        told.contains("no cause 'fsync'; did you mean slow-fsync"),
        "{told}"
    );
}

#[test]
fn lint_tells_every_mistake_with_its_place() {
    let broken = OWN
        .replace("\"own\"", "\"broken\"")
        .replace("title", "titel")
        .replace("\"per_second\"", "\"per_hour\"");
    let dir = directory(&[("broken.toml", &broken), ("own.toml", OWN)]);
    let linted = run(&["causes", "lint", path(dir.path())]);
    let out = text(&linted.stdout);
    assert_eq!(linted.status.code(), Some(1), "{out}");
    let file = dir.path().join("broken.toml");
    for place in ["2:1: titel: unknown field", "11:8: unit: unknown variant"] {
        assert!(
            out.contains(&format!("{}:{place}", file.display())),
            "{out}"
        );
    }
    assert!(out.contains("2 files, 3 problems"), "{out}");
    let json = run(&["causes", "lint", "--json", path(dir.path())]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["sound"], false);
    assert_eq!(json["problems"].as_array().unwrap().len(), 3);

    let sound = run(&["causes", "lint", path(&dir.path().join("own.toml"))]);
    assert_eq!(text(&sound.stdout), "1 file, nothing wrong\n");
    assert!(sound.status.success());
    let missing = run(&["causes", "lint", "/nonexistent/x.toml"]);
    assert_eq!(missing.status.code(), Some(1));
}

/// What lies in a directory of causes may be anything.
#[test]
fn nothing_in_the_directory_stops_the_others() {
    let dir = directory(&[("own.toml", OWN), ("bad.toml", "[["), ("empty.toml", "")]);
    fs::write(dir.path().join("binary.toml"), [0xff, 0xfe, 0x00]).unwrap();
    fs::write(dir.path().join("large.toml"), vec![b'#'; 3 << 20]).unwrap();
    fs::create_dir(dir.path().join("folder.toml")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", dir.path().join("zero.toml")).unwrap();
    std::os::unix::fs::symlink("/nowhere", dir.path().join("dangling.toml")).unwrap();
    let listed = run(&["causes", "--causes", path(dir.path())]);
    assert!(listed.status.success());
    assert!(text(&listed.stdout).contains("A cause of my own"));
    let told = text(&listed.stderr);
    for name in [
        "bad", "empty", "binary", "large", "folder", "zero", "dangling",
    ] {
        assert!(told.contains(&format!("{name}.toml")), "{name}: {told}");
    }
}

#[test]
fn a_cause_with_a_built_in_id_takes_its_place_and_that_is_said() {
    let own = OWN.replace("\"own\"", "\"slow-fsync\"");
    let dir = directory(&[("slow-fsync.toml", &own)]);
    let shown = run(&["causes", "show", "slow-fsync", "--causes", path(dir.path())]);
    assert!(text(&shown.stdout).starts_with("A cause of my own (slow-fsync)"));
    assert!(text(&shown.stderr).contains("cause 'slow-fsync' is your own"));
}
