//! What is shown, made and put back in a private root.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use serde_json::{Value, json};

use crate::scene::{AT_BOOT, DEFRAG, ENABLED, Scene, error, text};

const JEMALLOC: &str = "7f00-7f01 r-xp 0 08:01 1 /usr/lib/libjemalloc.so.2\n";

fn states(document: &Value) -> Vec<(String, String)> {
    let steps = document["steps"].as_array().unwrap();
    steps
        .iter()
        .map(|step| {
            (
                step["place"].as_str().unwrap().to_owned(),
                step["state"].as_str().unwrap().to_owned(),
            )
        })
        .collect()
}

#[test]
fn the_steps_are_those_of_this_system_and_nothing_is_changed() {
    let scene = Scene::new();
    let before = scene.tree();
    let huge = scene.json(&["thp-compaction"]);
    assert_eq!(huge["distribution"], "Debian 12");
    assert_eq!(huge["server"]["unit"], "mariadb.service");
    assert_eq!(huge["applied"], Value::Null);
    let expected = [
        (format!("/{ENABLED}"), "to-do"),
        (format!("/{DEFRAG}"), "to-do"),
        (format!("/{AT_BOOT}"), "to-do"),
    ];
    let expected: Vec<(String, String)> = expected
        .into_iter()
        .map(|(place, state)| (place, state.to_owned()))
        .collect();
    assert_eq!(states(&huge), expected);
    assert_eq!(huge["steps"][0]["before"], "madvise");
    let swap = scene.json(&["numa-swap"]);
    let file = scene.path("proc/sys/vm/swappiness");
    assert_eq!(
        swap["steps"][0]["undo"],
        format!("echo 60 > {}", file.display())
    );

    let allocator = scene.json(&["malloc-arena"]);
    let preload = &allocator["steps"].as_array().unwrap()[1];
    assert_eq!(
        preload["place"],
        "/etc/systemd/system/mariadb.service.d/zz-freezeframe-LD_PRELOAD.conf"
    );
    assert!(
        preload["after"]
            .as_str()
            .unwrap()
            .contains("LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
    );
    assert_eq!(preload["restart"], "systemctl restart mariadb.service");
    assert!(preload["notes"][0].as_str().unwrap().contains("2048 MiB"));
    assert_eq!(scene.tree(), before);
}

#[test]
fn other_ways_of_starting_a_server_have_other_steps() {
    let scene = Scene::new();
    scene.write("proc/4711/cgroup", "0::/\n");
    scene.write("proc/4711/status", "PPid:\t4000\nVmRSS:\t 1024 kB\n");
    scene.write("proc/4000/cmdline", "/bin/sh\0/usr/bin/mysqld_safe\0");
    let safe = scene.json(&["malloc-arena"]);
    let step = &safe["steps"][1];
    assert_eq!(safe["server"]["mysqld_safe"], 4000);
    assert_eq!(
        step["place"],
        "/etc/mysql/conf.d/zz-freezeframe-malloc-lib.cnf"
    );
    assert!(
        step["after"]
            .as_str()
            .unwrap()
            .starts_with("[mysqld_safe]\nmalloc-lib = /usr/lib")
    );

    scene.write("proc/4711/cgroup", "0::/system.slice/docker-0a1b.scope\n");
    let container = scene.json(&["malloc-arena"]);
    assert_eq!(container["steps"][1]["state"], "by-hand");
    assert_eq!(container["server"]["container"], "docker-0a1b.scope");

    scene.write(
        "proc/4711/environ",
        "A=b\0LD_PRELOAD=/usr/lib/libeatmydata.so\0",
    );
    let other = scene.json(&["malloc-arena"]);
    let why = other["steps"][1]["why"].as_str().unwrap();
    assert!(why.contains("libeatmydata"), "{why}");

    scene.write("proc/4711/cgroup", "0::/\n");
    fs::remove_file(scene.path("usr/lib/x86_64-linux-gnu/libjemalloc.so.2")).unwrap();
    let none = scene.json(&["malloc-arena"]);
    assert_eq!(
        none["steps"][1]["commands"],
        json!(["apt-get install libjemalloc2"])
    );

    scene.write(
        "proc/4711/maps",
        "7f00-7f01 r-xp 0 08:01 1 /usr/lib/libtcmalloc.so.4\n",
    );
    let has = scene.json(&["malloc-arena"]);
    assert_eq!(has["steps"][1]["state"], "already");

    fs::remove_dir_all(scene.path("run/systemd")).unwrap();
    let no_systemd = scene.json(&["thp-compaction"]);
    assert_eq!(no_systemd["steps"][2]["state"], "by-hand");
}

#[test]
fn everything_is_put_back_byte_for_byte() {
    let scene = Scene::new();
    let maps = scene.read("proc/4711/maps");
    let before = scene.tree();
    for cause in [
        "thp-compaction",
        "pagecache-writeback",
        "numa-swap",
        "malloc-arena",
        "jemalloc-purge",
    ] {
        if cause == "jemalloc-purge" {
            scene.write("proc/4711/maps", JEMALLOC);
        }
        let done = scene.json(&[cause, "--apply", "--yes"]);
        assert_eq!(done["applied"]["state"], "applied", "{cause}");
    }
    assert_eq!(scene.read(ENABLED), "always madvise [never]\n");
    assert_eq!(scene.read("proc/sys/vm/dirty_bytes"), "536870912\n");
    assert!(
        scene
            .read(AT_BOOT)
            .contains("w /sys/kernel/mm/transparent_hugepage/enabled - - - - never\n")
    );
    let mode = scene.path(AT_BOOT).metadata().unwrap().mode();
    assert_eq!(mode & 0o777, 0o644);
    for entry in fs::read_dir(scene.journal()).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    // A second time there is nothing left to do.
    let again = scene.json(&["thp-compaction", "--apply", "--yes"]);
    assert_eq!(again["applied"], Value::Null);
    assert!(states(&again).iter().all(|(_, state)| state == "already"));

    let several = scene.run(&["--undo"]);
    assert_eq!(several.status.code(), Some(1), "five are in force: which?");
    let undone = scene.json(&["--undo", "all"]);
    assert_eq!(undone["undone"].as_array().unwrap().len(), 5);
    scene.write("proc/4711/maps", &maps);
    assert_eq!(scene.tree(), before);
    // What was done stays as history.
    let list = scene.json(&["--list"]);
    let list = list["fixes"].as_array().unwrap();
    assert_eq!(list.len(), 5);
    assert!(list.iter().all(|entry| entry["state"] == "undone"));
    assert!(text(&scene.run(&["--undo"])).starts_with("nothing to undo"));
}

#[test]
fn what_somebody_else_has_changed_since_is_theirs() {
    let scene = Scene::new();
    let before = scene.tree();
    scene.json(&["thp-compaction", "--apply", "--yes"]);
    scene.write(ENABLED, "[always] madvise never\n");
    scene.write(AT_BOOT, "# mine now\n");
    let output = scene.run(&["--undo"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("somebody else has set it to always since"),
        "{said}"
    );
    // By hand it is put back in this tree: the same words without it would change this machine.
    let by_hand = format!(
        "echo 'always [madvise] never' > {}",
        scene.path(ENABLED).display()
    );
    assert!(said.contains(&by_hand), "{said}");
    let listed = text(&scene.run(&["--list"]));
    assert!(
        listed.contains(&format!("; to undo by hand: {by_hand}")),
        "{listed}"
    );
    assert_eq!(scene.read(ENABLED), "[always] madvise never\n");
    assert_eq!(scene.read(AT_BOOT), "# mine now\n");
    // What was still ours is back.
    assert_eq!(
        scene.read(DEFRAG),
        "always defer defer+madvise [madvise] never\n"
    );
    let list = scene.json(&["--list"]);
    assert_eq!(list["fixes"][0]["state"], "left");
    text(&scene.run(&["--undo", "--force"]));
    assert_eq!(scene.tree(), before);
}

#[test]
fn a_value_of_the_user_s_own_is_not_raised() {
    let scene = Scene::new();
    scene.write("proc/sys/vm/dirty_bytes", "1000000\n");
    scene.write("proc/sys/vm/swappiness", "0\n");
    let dirty = scene.json(&["pagecache-writeback"]);
    let states: Vec<String> = states(&dirty).into_iter().map(|(_, state)| state).collect();
    assert_eq!(states, ["to-do", "not-here", "to-do", "not-here"]);
    let swap = scene.json(&["numa-swap"]);
    assert_eq!(swap["steps"][0]["state"], "already");
    // What the fix has set itself is kept for the next boot all the same.
    scene.json(&["pagecache-writeback", "--apply", "--now", "--yes"]);
    let kept = scene.json(&["pagecache-writeback", "--apply", "--durable", "--yes"]);
    let path = &kept["applied"]["steps"][0]["change"]["path"];
    assert_eq!(
        path,
        "/etc/sysctl.d/zz-freezeframe-vm.dirty_background_bytes.conf"
    );
}

#[test]
fn files_of_others_are_neither_edited_nor_replaced() {
    let scene = Scene::new();
    scene.write(AT_BOOT, "# a user's\n");
    let plan = scene.json(&["thp-compaction"]);
    assert_eq!(plan["steps"][2]["state"], "by-hand");
    let done = scene.json(&["thp-compaction", "--apply", "--yes"]);
    assert_eq!(done["applied"]["steps"].as_array().unwrap().len(), 2);
    assert_eq!(scene.read(AT_BOOT), "# a user's\n");
}

#[test]
fn a_change_that_fails_takes_those_before_it_back() {
    let scene = Scene::new();
    // Where a directory should be is a file.
    scene.write("etc/tmpfiles.d", "");
    let before = scene.tree();
    let said = error(&scene.run(&["thp-compaction", "--apply", "--yes", "--json"]));
    assert!(said.contains("earlier changes were undone"), "{said}");
    assert_eq!(scene.tree(), before);
    let list = text(&scene.run(&["--list"]));
    assert!(list.contains("it failed"), "{list}");
}

#[test]
fn a_link_out_of_the_tree_is_not_followed() {
    let scene = Scene::new();
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), scene.path("etc/tmpfiles.d")).unwrap();
    let done = scene.json(&["thp-compaction", "--apply", "--yes"]);
    assert_eq!(done["steps"][2]["state"], "by-hand");
    assert_eq!(done["applied"]["steps"].as_array().unwrap().len(), 2);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn nothing_is_changed_without_a_yes() {
    let scene = Scene::new();
    let before = scene.tree();
    let output = scene.run(&["thp-compaction", "--apply"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--yes"));
    assert_eq!(scene.tree(), before);
    assert!(!scene.journal().exists());
    for (arguments, words) in [
        (&["thp-compactoin"][..], "thp-compaction"),
        (&["no/such.frame"], "no such incident"),
        (&["--undo", "x"], "no fix x"),
    ] {
        if arguments[0] == "--undo" {
            fs::create_dir(scene.journal()).unwrap();
        }
        let said = error(&scene.run(arguments));
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_damaged_journal_is_told_and_harms_nobody() {
    let scene = Scene::new();
    scene.json(&["thp-compaction", "--apply", "--yes"]);
    fs::write(
        scene.journal().join("0123456789abcdef.fix.json"),
        "{\"version\": 7",
    )
    .unwrap();
    let list = scene.json(&["--list"]);
    let errors = list["fixes"].as_array().unwrap();
    assert!(errors.iter().any(|entry| entry["error"].is_string()));
    text(&scene.run(&["--undo"]));
    assert_eq!(scene.read(ENABLED), "always [madvise] never\n");
}
