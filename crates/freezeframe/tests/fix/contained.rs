//! What is said and made when we are in a container ourselves, whose kernel is the host's.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::Value;

use crate::scene::{ENABLED, Scene, document, text};

const HUGE_PAGES: &str = "thp-compaction";
const ON_THE_HOST: &str = "run freezeframe fix on the host, where it finds what sets it at boot";

/// A container of Podman without systemd.
fn container() -> Scene {
    let scene = Scene::new();
    fs::remove_dir_all(scene.path("run/systemd")).unwrap();
    scene.write("run/.containerenv", "");
    scene.write("proc/4711/cgroup", "0::/\n");
    other_namespace(&scene);
    scene
}

fn other_namespace(scene: &Scene) {
    fs::create_dir_all(scene.path("proc/self/ns")).unwrap();
    symlink("pid:[4026532181]", scene.path("proc/self/ns/pid")).unwrap();
}

fn steps<'a>(plan: &'a Value, when: &str) -> Vec<&'a Value> {
    let steps = plan["steps"].as_array().unwrap().iter();
    steps.filter(|step| step["when"] == when).collect()
}

/// The scene's kernel settings as containers have them: mounted read-only, but for those of their network.
fn read_only(scene: &Scene, arguments: &[&str]) -> Option<Command> {
    let script = "for dir in \"$1/sys\" \"$1/proc/sys\"; do \
        mount --bind \"$dir\" \"$dir\" && mount -o remount,bind,ro \"$dir\" || exit; done; shift; exec \"$@\"";
    let unshare = |command: &mut Command| {
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
            .args(["sh".as_ref(), scene.root().as_os_str()]);
    };
    let mut trial = Command::new("unshare");
    unshare(&mut trial);
    if !trial.arg("true").status().is_ok_and(|done| done.success()) {
        eprintln!("skipped: nothing can be mounted here");
        return None;
    }
    let fix = scene.fix(arguments);
    let mut command = Command::new("unshare");
    unshare(&mut command);
    command.arg(fix.get_program()).args(fix.get_args());
    for (name, value) in fix.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Some(command)
}

#[test]
fn no_file_of_a_container_is_read_when_the_host_boots() {
    let scene = container();
    let before = scene.tree();
    for (cause, at_once) in [(HUGE_PAGES, 2), ("numa-swap", 1)] {
        let plan = scene.json(&[cause]);
        // It is privileged: what can be written counts for the whole host.
        let to_do = steps(&plan, "now");
        let to_do = to_do.iter().filter(|step| step["state"] == "to-do");
        assert_eq!(to_do.count(), at_once, "{plan}");
        let durable = steps(&plan, "durable")[0];
        assert_eq!(durable["state"], "by-hand");
        assert_eq!(
            durable["why"],
            "it belongs to the host's kernel, which reads no file of this container (Podman) at boot"
        );
        assert_eq!(durable["commands"][0], ON_THE_HOST);
        let done = scene.json(&[cause, "--apply", "--yes", "--durable"]);
        assert_eq!(done["applied"], Value::Null);
    }
    assert_eq!(scene.tree(), before);
    let shown = text(&scene.run(&[HUGE_PAGES]));
    assert!(
        shown.contains("Debian 12, no systemd, in a container (Podman)"),
        "{shown}"
    );
}

#[test]
fn what_a_container_cannot_write_is_told_before_it_is_tried() {
    let scene = container();
    scene.write("proc/sys/net/core/somaxconn", "128\n");
    scene.write("proc/sys/net/ipv4/tcp_max_syn_backlog", "128\n");
    let before = scene.tree();
    for (cause, command) in [
        (
            HUGE_PAGES,
            "on the host: echo never > /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        ("numa-swap", "on the host: sysctl -w vm.swappiness=1"),
        (
            "tcp-accept-overflow",
            "on the host: sysctl -w net.core.somaxconn=4096, if the container has the host's network",
        ),
    ] {
        let Some(mut fix) = read_only(&scene, &[cause, "--apply", "--yes", "--json"]) else {
            return;
        };
        let plan = document(&fix.output().unwrap());
        let now = steps(&plan, "now")[0];
        assert_eq!(now["state"], "by-hand", "{plan}");
        assert_eq!(
            now["why"],
            "it belongs to the host's kernel, and cannot be written in this container (Podman)"
        );
        assert_eq!(now["commands"][0], command);
        let durable = steps(&plan, "durable")[0];
        assert_eq!(durable["state"], "by-hand");
        let durable = durable["commands"].as_array().unwrap();
        assert!(durable[0].as_str().unwrap().starts_with(ON_THE_HOST));
        if cause == "tcp-accept-overflow" {
            let made = durable[1].as_str().unwrap();
            assert!(
                made.starts_with("podman run --sysctl net.core.somaxconn=4096 "),
                "{made}"
            );
        }
        assert_eq!(plan["applied"], Value::Null);
    }
    assert_eq!(scene.tree(), before);
}

#[test]
fn in_a_container_with_a_systemd_the_unit_is_ours_whatever_the_control_group_shows() {
    let scene = Scene::new();
    let id = "0123456789abcdef".repeat(4);
    let group = format!("0::/libpod_parent/libpod-{id}");
    scene.write(
        "proc/4711/cgroup",
        &format!("{group}/system.slice/mariadb.service\n"),
    );
    // From outside it is the container's.
    let plan = scene.json(&["malloc-arena"]);
    let outside = steps(&plan, "durable")[0];
    assert_eq!(outside["state"], "by-hand");
    assert_eq!(
        outside["commands"][0],
        "run freezeframe fix in the container, where it finds the unit"
    );
    // The namespaces of other users' processes cannot be read in there, only the control groups.
    scene.write("proc/self/cgroup", &format!("{group}\n"));
    let plan = scene.json(&["malloc-arena"]);
    assert_eq!(plan["server"]["unit"], "mariadb.service");
    let inside = steps(&plan, "durable")[0];
    assert_eq!(inside["state"], "to-do");
    assert_eq!(
        inside["place"],
        "/etc/systemd/system/mariadb.service.d/zz-freezeframe-LD_PRELOAD.conf"
    );
}

#[test]
fn a_machine_with_a_systemd_of_its_own_sets_what_it_can_write() {
    let scene = Scene::new();
    scene.write("run/systemd/container", "systemd-nspawn\n");
    scene.write("run/systemd/system/x", "");
    other_namespace(&scene);
    let plan = scene.json(&[HUGE_PAGES]);
    assert!(
        steps(&plan, "durable")
            .iter()
            .all(|step| step["state"] == "to-do")
    );
    let Some(mut fix) = read_only(&scene, &[HUGE_PAGES, "--apply", "--yes", "--json"]) else {
        return;
    };
    let plan = document(&fix.output().unwrap());
    for step in plan["steps"].as_array().unwrap() {
        assert_eq!(step["state"], "by-hand");
        assert_eq!(
            step["why"],
            "it belongs to the host's kernel, and cannot be written in this container (machine)"
        );
    }
    assert!(scene.read(ENABLED).contains("[madvise]"));
    // Nor where no container is.
    fs::remove_file(scene.path("run/systemd/container")).unwrap();
    let Some(mut fix) = read_only(&scene, &[HUGE_PAGES, "--json"]) else {
        return;
    };
    let plan = document(&fix.output().unwrap());
    assert_eq!(
        plan["steps"][0]["why"],
        "its file system is mounted read-only here"
    );
}
