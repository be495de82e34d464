//! Causes of the user's own: found, used in place of a built-in one, and acted on as root only where nobody else can
//! write them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::scene::{Scene, error};

const SWAPPINESS: &str = "action = 'sysctl'
key = 'vm.swappiness'
at_most = 7";

/// The file of a cause with this repair.
pub(crate) fn cause(id: &str, fix: &str) -> String {
    format!(
        r#"id = "{id}"
title = "A cause of my own"
what = "It is this. It does that."
refuted_by = ["This."]
sources = ["A page."]

[[witness]]
id = "rate"
measure = "rate(status.Com_flush)"
above = 5
unit = "per_second"
says = "FLUSH ran at {{value}}"

[[fix]]
{fix}

[remedy]
now = ["a"]
durable = ["b"]
undo = ["c"]
risk = "d"
verify = ["e"]
"#
    )
}

fn directory(id: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(format!("{id}.toml"));
    fs::write(&file, cause(id, SWAPPINESS)).unwrap();
    mode(dir.path(), 0o755);
    mode(&file, 0o644);
    dir
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_cause_of_one_s_own_is_known_to_fix() {
    let scene = Scene::new();
    let own = directory("my-flood");
    let path = own.path().to_str().unwrap();
    let plan = scene.json(&["my-flood", "--causes", path]);
    assert_eq!(plan["steps"][0]["after"], "7");
    // The same by the configuration.
    let config = own.path().join("c.toml");
    fs::write(&config, format!("causes_dir = \"{path}\"\n")).unwrap();
    let other = directory("my-flood");
    fs::rename(&config, other.path().join("c.conf")).unwrap();
    let config = other.path().join("c.conf");
    let plan = scene.json(&["my-flood", "--config", config.to_str().unwrap()]);
    assert_eq!(plan["title"], "A cause of my own");
    let unknown = error(&scene.run(&["my-flood"]));
    assert!(unknown.contains("'my-flood' is neither"), "{unknown}");
}

#[test]
fn a_cause_of_one_s_own_takes_the_place_of_a_built_in_one() {
    let scene = Scene::new();
    let own = directory("numa-swap");
    let output = scene.run(&[
        "numa-swap",
        "--json",
        "--causes",
        own.path().to_str().unwrap(),
    ]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("cause 'numa-swap' is your own"), "{told}");
    let plan = crate::scene::document(&output);
    assert_eq!(plan["steps"][0]["after"], "7");
}

#[test]
fn root_does_not_act_on_what_others_can_write() {
    let scene = Scene::new();
    let own = directory("my-flood");
    let path = own.path().to_str().unwrap();
    let apply = ["my-flood", "--causes", path, "--apply", "--now", "--yes"];
    mode(own.path(), 0o777);
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: it takes root to be refused");
        return;
    }
    let before = scene.tree();
    let said = error(&scene.run(&apply));
    assert!(
        said.contains("can be written by others (mode 0777)")
            && said.contains("nothing was changed"),
        "{said}"
    );
    assert_eq!(scene.tree(), before);
    // Looking is no harm, and what is built in is nobody's to write.
    scene.json(&["my-flood", "--causes", path]);
    scene.json(&["numa-swap", "--causes", path, "--apply", "--now", "--yes"]);
    scene.json(&["--undo"]);
    mode(own.path(), 0o755);
    scene.json(&apply);
    assert_eq!(scene.read("proc/sys/vm/swappiness"), "7\n");
}
