//! What is said and made for each way in which a server can be started. scripts/try-fix-systemd does the same on real ones.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Child, Command};

use serde_json::{Value, json};

use crate::scene::{Scene, text};

const CONTAINER: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn only_step(scene: &Scene, cause: &str) -> Value {
    let plan = scene.json(&[cause]);
    let steps = plan["steps"].as_array().unwrap();
    let open: Vec<&Value> = steps
        .iter()
        .filter(|step| step["state"] != "already" && step["when"] == "durable")
        .collect();
    assert_eq!(open.len(), 1, "{cause}: {steps:?}");
    open[0].clone()
}

fn commands(step: &Value) -> String {
    let lines = step["commands"].as_array().unwrap();
    let lines: Vec<&str> = lines.iter().map(|line| line.as_str().unwrap()).collect();
    lines.join("\n")
}

fn with_limit(scene: &Scene, files: u64) {
    let line =
        format!("Max open files            {files}                {files}               files\n");
    scene.write("proc/4711/limits", &line);
}

#[test]
fn the_limit_of_open_files_is_raised_and_lowered() {
    let scene = Scene::new();
    with_limit(&scene, 32_768);
    let before = scene.tree();
    let more = only_step(&scene, "ulimit-nofile-memory");
    assert_eq!(
        more["place"],
        "/etc/systemd/system/mariadb.service.d/zz-freezeframe-LimitNOFILE.conf"
    );
    assert_eq!(more["after"], "[Service]\nLimitNOFILE=65535");
    // Of the tree that is changed, and not of this machine.
    let etc = scene.path("etc").display().to_string();
    assert_eq!(
        more["undo"],
        format!(
            "rm {etc}/systemd/system/mariadb.service.d/zz-freezeframe-LimitNOFILE.conf; \
             rmdir {etc}/systemd/system/mariadb.service.d; rmdir {etc}/systemd/system; rmdir {etc}/systemd"
        )
    );
    scene.json(&["ulimit-nofile-memory", "--apply", "--yes"]);
    let waits = scene.json(&["ulimit-nofile-memory"]);
    let why = waits["steps"][0]["why"].as_str().unwrap();
    assert!(
        why.contains("does not use it yet") && why.ends_with("systemctl restart mariadb.service"),
        "{why}"
    );
    let undone = text(&scene.run(&["--undo"]));
    assert!(
        undone.contains("until its next start: systemctl restart mariadb.service"),
        "{undone}"
    );
    assert_eq!(scene.tree(), before);

    with_limit(&scene, 1_073_741_816);
    let less = only_step(&scene, "ulimit-nofile-memory");
    assert_eq!(less["after"], "[Service]\nLimitNOFILE=1048576");
    with_limit(&scene, 100_000);
    let plan = scene.json(&["ulimit-nofile-memory"]);
    let steps = plan["steps"].as_array().unwrap();
    assert!(steps.iter().all(|step| step["state"] == "already"));
}

#[test]
fn the_limit_of_tasks_is_that_of_the_server_s_own_control_group() {
    const FILE: &str = "sys/fs/cgroup/system.slice/mariadb.service/pids.max";
    let scene = Scene::new();
    let only = |state: &str| {
        let plan = scene.json(&["thread-limit"]);
        let steps = plan["steps"].as_array().unwrap();
        assert_eq!(steps.len(), 1, "{plan}");
        assert_eq!(steps[0]["state"], state, "{plan}");
        steps[0].clone()
    };
    only("not-here");
    scene.write(
        "proc/self/mountinfo",
        "30 24 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    );
    scene.write(FILE, "512\n");
    let before = scene.tree();
    let more = only("to-do");
    assert_eq!(
        more["place"],
        "/etc/systemd/system/mariadb.service.d/zz-freezeframe-TasksMax.conf"
    );
    assert_eq!(more["after"], "[Service]\nTasksMax=32768");
    assert_eq!(more["before"], "pids.max 512 (of the running server)");
    scene.json(&["thread-limit", "--apply", "--yes"]);
    let why = only("already")["why"].to_string();
    assert!(why.contains("does not use it yet"), "{why}");
    scene.run(&["--undo"]);
    assert_eq!(scene.tree(), before);

    for enough in ["32768\n", "max\n"] {
        scene.write(FILE, enough);
        only("already");
    }

    // Nobody's unit, and a container: the files of the host are left alone.
    let group = "sys/fs/cgroup/mine/pids.max";
    scene.write(group, "512\n");
    scene.write("proc/4711/cgroup", "0::/mine\n");
    let here = only("by-hand");
    assert_eq!(commands(&here), format!("echo 32768 > /{group}"));
    scene.write("proc/4711/cgroup", &format!("0::/docker/{CONTAINER}\n"));
    scene.write(
        &format!("sys/fs/cgroup/docker/{CONTAINER}/pids.max"),
        "512\n",
    );
    let made_anew = commands(&only("by-hand"));
    assert!(
        made_anew.starts_with("docker run --pids-limit 32768"),
        "{made_anew}"
    );
}

#[test]
fn mysqld_safe_is_told_by_its_section_and_started_again_as_it_was() {
    let scene = Scene::new();
    with_limit(&scene, 1024);
    scene.write("proc/4711/cgroup", "0::/\n");
    scene.write("proc/4711/status", "PPid:\t4000\n");
    scene.write(
        "proc/4000/cmdline",
        "/bin/sh\0/usr/bin/mysqld_safe\0--user=mysql\0--datadir=/srv/my data\0",
    );
    let again = "/usr/bin/mysqld_safe --user=mysql '--datadir=/srv/my data'";
    let limit = only_step(&scene, "ulimit-nofile-memory");
    assert_eq!(
        limit["place"],
        "/etc/mysql/conf.d/zz-freezeframe-open-files-limit.cnf"
    );
    assert_eq!(limit["after"], "[mysqld_safe]\nopen-files-limit = 65535");
    assert_eq!(
        limit["restart"],
        format!("mysqladmin shutdown, then start it again: {again}")
    );
    // What it has no option for, its own environment is.
    scene.write(
        "proc/4711/maps",
        "7f00-7f01 r-xp 0 08:01 1 /usr/lib/libjemalloc.so.2\n",
    );
    let purge = only_step(&scene, "jemalloc-purge");
    let command = commands(&purge);
    assert!(
        command.starts_with("MALLOC_CONF=background_thread:true") && command.ends_with(again),
        "{command}"
    );
    // A server that reads no file has an option instead.
    scene.write("proc/4711/cmdline", "/usr/sbin/mariadbd\0--no-defaults\0");
    let limit = only_step(&scene, "ulimit-nofile-memory");
    assert_eq!(limit["state"], "by-hand");
    assert_eq!(
        commands(&limit),
        format!("{again} --open-files-limit=65535")
    );
}

#[test]
fn a_container_is_made_anew_and_the_host_s_files_are_left_alone() {
    let scene = Scene::new();
    with_limit(&scene, 1024);
    let settings = [
        (
            "docker",
            "docker run --env",
            "docker run --ulimit nofile=65535:65535",
        ),
        (
            "libpod",
            "podman run --env",
            "podman run --ulimit nofile=65535:65535",
        ),
        (
            "kubepods",
            "pod, of the container: env:",
            "no setting of a pod",
        ),
    ];
    for (runtime, environment, limit) in settings {
        let group = match runtime {
            "docker" => format!("0::/docker/{CONTAINER}\n"),
            "libpod" => format!("0::/machine.slice/libpod-{CONTAINER}.scope/container\n"),
            _ => format!("0::/kubepods/burstable/pod1/{CONTAINER}\n"),
        };
        scene.write("proc/4711/cgroup", &group);
        let before = scene.tree();
        let preload = only_step(&scene, "malloc-arena");
        assert_eq!(preload["state"], "by-hand");
        assert!(commands(&preload).starts_with(environment), "{preload}");
        let restart = preload["restart"].as_str().unwrap();
        assert!(
            restart.starts_with("a new container in place of"),
            "{restart}"
        );
        assert!(restart.contains("0123456789ab "), "{restart}");
        let files = only_step(&scene, "ulimit-nofile-memory");
        assert!(commands(&files).starts_with(limit), "{files}");
        let done = scene.json(&["malloc-arena", "--apply", "--yes"]);
        assert_eq!(done["applied"], Value::Null);
        assert_eq!(scene.tree(), before);
    }
    fs::remove_file(scene.path("usr/lib/x86_64-linux-gnu/libjemalloc.so.2")).unwrap();
    let none = only_step(&scene, "malloc-arena");
    assert_eq!(
        none["commands"],
        json!(["in the image's Dockerfile: RUN apt-get update && apt-get install -y libjemalloc2"])
    );
}

#[test]
fn a_container_that_we_are_in_is_known_by_its_marks() {
    let scene = Scene::new();
    scene.write("proc/4711/cgroup", "0::/\n");
    scene.write(".dockerenv", "");
    fs::remove_dir_all(scene.path("run/systemd")).unwrap();
    // A file that an image left on a host makes no container of it.
    fs::create_dir_all(scene.path("proc/self/ns")).unwrap();
    symlink("pid:[4026531836]", scene.path("proc/self/ns/pid")).unwrap();
    let host = only_step(&scene, "malloc-arena");
    assert_eq!(host["why"], "the server does not run in a systemd unit");
    // With its own command, as a shell takes it, and without what is nobody's business.
    scene.write(
        "proc/4711/cmdline",
        "/usr/sbin/mariadbd\0--datadir=/srv/my data\0--wsrep_sst_auth=root:s3cret\0",
    );
    assert_eq!(
        commands(&only_step(&scene, "malloc-arena")),
        "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 \
         /usr/sbin/mariadbd '--datadir=/srv/my data' --wsrep_sst_auth=..."
    );

    fs::remove_file(scene.path("proc/self/ns/pid")).unwrap();
    symlink("pid:[4026532181]", scene.path("proc/self/ns/pid")).unwrap();
    let inside = only_step(&scene, "malloc-arena");
    assert!(commands(&inside).starts_with("docker run --env LD_PRELOAD="));
}

#[test]
fn a_unit_of_systemd_run_has_no_drop_ins() {
    let scene = Scene::new();
    scene.write("proc/4711/cgroup", "0::/system.slice/run-u7.service\n");
    scene.write("run/systemd/transient/run-u7.service", "");
    let step = only_step(&scene, "malloc-arena");
    assert_eq!(step["state"], "by-hand");
    assert!(
        commands(&step).starts_with("systemd-run --property=Environment=LD_PRELOAD="),
        "{step}"
    );
}

#[test]
fn links_of_the_tree_begin_at_its_root() {
    let scene = Scene::new();
    // As Debian has it: by two links, the second one absolute.
    fs::rename(
        scene.path("etc/mysql/my.cnf"),
        scene.path("etc/mysql/mariadb.cnf"),
    )
    .unwrap();
    fs::create_dir_all(scene.path("etc/alternatives")).unwrap();
    symlink("/etc/alternatives/my.cnf", scene.path("etc/mysql/my.cnf")).unwrap();
    symlink(
        "/etc/mysql/mariadb.cnf",
        scene.path("etc/alternatives/my.cnf"),
    )
    .unwrap();
    let plan = scene.json(&["malloc-arena"]);
    assert_eq!(
        plan["server"]["include_directories"],
        json!(["/etc/mysql/conf.d/"])
    );
}

#[test]
fn an_allocator_that_was_asked_for_and_is_not_there_is_told() {
    let scene = Scene::new();
    scene.write(
        "proc/4711/environ",
        "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2\0",
    );
    let plan = scene.json(&["malloc-arena"]);
    let step = &plan["steps"][1];
    assert_eq!(step["state"], "already");
    assert!(
        step["why"]
            .as_str()
            .unwrap()
            .contains("cannot be preloaded")
    );
}

#[test]
fn a_variable_of_an_allocator_is_for_servers_that_run_with_it() {
    let scene = Scene::new();
    let maps = |library: &str| format!("7f00-7f01 r-xp 0 08:01 1 /usr/lib/{library}\n");
    for (library, cause, expected) in [
        (
            "libc.so.6",
            "tcmalloc-central",
            Some(
                "the server has loaded no library of tcmalloc: its allocator is that of glibc, unless another one is linked into it",
            ),
        ),
        (
            "libc.so.6",
            "jemalloc-purge",
            Some(
                "the server has loaded no library of jemalloc: its allocator is that of glibc, unless another one is linked into it",
            ),
        ),
        (
            "libjemalloc.so.2",
            "tcmalloc-central",
            Some("the server's allocator is libjemalloc.so.2"),
        ),
        ("libjemalloc.so.2", "jemalloc-purge", None),
        ("libtcmalloc_minimal.so.4", "tcmalloc-central", None),
    ] {
        scene.write("proc/4711/maps", &maps(library));
        let step = only_step(&scene, cause);
        let (state, why) = match expected {
            Some(why) => ("not-here", json!(why)),
            None => ("to-do", Value::Null),
        };
        assert_eq!((&step["state"], &step["why"]), (&json!(state), &why));
    }
    // A map that could not be read says nothing.
    scene.write("proc/4711/maps", "");
    assert_eq!(only_step(&scene, "tcmalloc-central")["state"], "to-do");
}

#[test]
fn memory_is_not_interleaved_over_one_node() {
    let scene = Scene::new();
    let interleave = |scene: &Scene| {
        let plan = scene.json(&["numa-swap"]);
        let steps = plan["steps"].as_array().unwrap();
        let place = "@@GLOBAL.innodb_numa_interleave";
        let mut of_it = steps.iter().filter(|step| step["place"] == place);
        of_it.next().unwrap().clone()
    };
    scene.write("sys/devices/system/node/online", "0-1\n");
    assert_eq!(interleave(&scene)["state"], "by-hand");
    // One of the two has processors only.
    scene.write("sys/devices/system/node/has_memory", "0\n");
    let step = interleave(&scene);
    assert_eq!(step["state"], "not-here");
    assert_eq!(step["why"], "this host has one NUMA node");
}

#[test]
fn what_follows_from_a_process_that_was_not_found_is_not_known() {
    let scene = Scene::new();
    let socket = scene.path("nobody.sock");
    let socket = socket.to_str().unwrap();
    let plan = scene.json(&["jemalloc-purge", "--socket", socket]);
    let step = &plan["steps"][0];
    assert_eq!(step["state"], "by-hand");
    let why = step["why"].as_str().unwrap();
    assert!(
        why.contains("unknown, because the server's process was not found"),
        "{why}"
    );
    let shown = text(&scene.run(&["jemalloc-purge", "--socket", socket]));
    assert!(shown.contains("process not found"), "{shown}");
    assert!(
        !shown.contains("no systemd unit") && !shown.contains("in a systemd unit"),
        "{shown}"
    );
}

/// A program of a server's name that listens nowhere, as a server does that begins.
struct Beginning {
    child: Child,
    _dir: tempfile::TempDir,
}

impl Beginning {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("mariadbd");
        // A process of its own: what another test forks while we had the file open for writing would
        // keep it busy (ETXTBSY).
        let copied = Command::new("cp")
            .arg("/usr/bin/sleep")
            .arg(&program)
            .status();
        assert!(copied.unwrap().success());
        let child = Command::new(&program).arg("60").spawn().unwrap();
        Self { child, _dir: dir }
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_server_that_begins_is_not_taken_for_the_one_that_is_named() {
    let scene = Scene::new();
    let _beginning = Beginning::new();
    let socket = scene.path("nobody.sock");
    let plan = scene.json(&["jemalloc-purge", "--socket", socket.to_str().unwrap()]);
    let why = plan["steps"][0]["why"].as_str().unwrap();
    assert!(why.contains("the server's process was not found"), "{why}");
}
