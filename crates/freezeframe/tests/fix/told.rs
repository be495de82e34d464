//! What others are told of a fix: from its begin to its end, by whoever makes and undoes it, and no value.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::scene::{Scene, text, wait_until};

/// All that a record may have.
const KEYS: [&str; 14] = [
    "version",
    "id",
    "cause",
    "remedy",
    "kinds",
    "incident",
    "of_host",
    "server",
    "since_us",
    "due_us",
    "ended_us",
    "outcome",
    "proof",
    "changed_us",
];

/// The directory of root's records, as the packages make it.
pub(crate) fn directory(scene: &Scene) -> PathBuf {
    let path = scene
        .root()
        .join(remedy::fix::PUBLIC.trim_start_matches('/'));
    fs::create_dir_all(&path).unwrap();
    for part in path.ancestors().take(4) {
        fs::set_permissions(part, Permissions::from_mode(0o750)).unwrap();
    }
    path
}

/// The one record of a directory.
pub(crate) fn record(dir: &Path) -> Value {
    // A watchdog may be replacing it at this moment: what it writes is hidden until it is whole.
    let files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .flatten()
        .filter(|file| !file.file_name().to_string_lossy().starts_with('.'))
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let record: Value = serde_json::from_slice(&fs::read(files[0].path()).unwrap()).unwrap();
    let keys: BTreeSet<&str> = record
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert!(keys.is_subset(&KEYS.into()), "{record}");
    record
}

#[test]
fn a_fix_is_told_of_until_it_is_undone_and_judged() {
    let scene = Scene::new();
    let dir = directory(&scene);
    let done = scene.json(&["thp-compaction", "--apply", "--yes"]);
    let id = done["applied"]["id"].as_str().unwrap();
    let held = record(&dir);
    assert_eq!(held["id"], id);
    assert_eq!(held["cause"], "thp-compaction");
    // What is set now and what is for the next start are one remedy.
    assert_eq!(held["remedy"], "thp-never");
    assert_eq!(held["kinds"], json!(["kernel-setting", "own-file"]));
    assert_eq!(
        (&held["of_host"], &held["outcome"]),
        (&json!(true), &json!("held"))
    );
    assert_eq!(
        (&held["due_us"], &held["ended_us"]),
        (&Value::Null, &Value::Null)
    );
    text(&scene.run(&["--undo"]));
    let back = record(&dir);
    assert_eq!(
        (&back["id"], &back["outcome"]),
        (&held["id"], &json!("given-back"))
    );
    assert!(back["ended_us"].as_i64() >= held["since_us"].as_i64());
}

#[test]
fn the_watchdogs_tell_of_the_end_of_a_lease() {
    let scene = Scene::new();
    let dir = directory(&scene);
    scene.json(&["numa-swap", "--apply", "--yes", "--for", "1s"]);
    let held = record(&dir);
    assert_eq!(held["remedy"], "sysctl vm.swappiness");
    assert_eq!(
        held["due_us"].as_i64().unwrap() - held["since_us"].as_i64().unwrap(),
        1_000_000
    );
    wait_until("the end is told of", || {
        record(&dir)["outcome"] == "given-back"
    });
}

#[test]
fn a_fix_is_made_where_nobody_can_be_told() {
    let scene = Scene::new();
    let before = scene.tree();
    scene.json(&["numa-swap", "--apply", "--yes", "--now"]);
    text(&scene.run(&["--undo"]));
    assert_eq!(scene.tree(), before, "no directory is made");
    let dir = directory(&scene);
    fs::set_permissions(&dir, Permissions::from_mode(0o777)).unwrap();
    let config = scene.root().join("with-fleet.toml");
    fs::write(&config, "[fleet]\nurl = '/mnt/frames'\n").unwrap();
    let arguments = [
        "numa-swap",
        "--apply",
        "--yes",
        "--now",
        "--config",
        config.to_str().unwrap(),
    ];
    let output = scene.run(&arguments);
    text(&output);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("the fleet is not told") && said.contains("can be written by others"),
        "{said}"
    );
    assert_eq!(scene.read("proc/sys/vm/swappiness"), "1\n");
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
}
