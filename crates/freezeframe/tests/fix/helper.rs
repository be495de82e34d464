//! The helper: what it makes for others, what it refuses, and that all is back whoever is killed.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::{Value, json};

use crate::harness::freezeframe;
use crate::scene::{DEFRAG, ENABLED, Random, Scene, document, wait_until};

const SWAPPINESS: &str = "proc/sys/vm/swappiness";

/// A user that has nothing on this machine.
const NOBODYS_UID: u32 = 64_322;

/// The helper, with the socket and the directory that its units give it.
struct Helper {
    dir: tempfile::TempDir,
    listener: UnixListener,
    root: PathBuf,
    child: Option<Child>,
}

impl Helper {
    fn new(root: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        let listener = UnixListener::bind(dir.path().join("lease.sock")).unwrap();
        let mut helper = Self {
            dir,
            listener,
            root: root.to_owned(),
            child: None,
        };
        helper.admit(None, 0o660);
        helper.start();
        helper
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("lease.sock")
    }

    fn admit(&self, group: Option<u32>, mode: u32) {
        chown(self.socket(), None, group).unwrap();
        fs::set_permissions(self.socket(), Permissions::from_mode(mode)).unwrap();
    }

    fn command(&self) -> Command {
        let mut command = freezeframe();
        command
            .arg("lease-helper")
            .env("STATE_DIRECTORY", self.dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if self.root != Path::new("/") {
            command.arg("--root").arg(&self.root);
        }
        command
    }

    /// As systemd does when somebody connects.
    fn start(&mut self) {
        let socket = OwnedFd::from(self.listener.try_clone().unwrap());
        let child = self.command().stdin(Stdio::from(socket)).spawn().unwrap();
        self.child = Some(child);
    }

    /// As systemd does when it has ended, however that was.
    fn restore(&self) {
        let done = self
            .command()
            .arg("--restore")
            .stdin(Stdio::null())
            .status();
        assert!(done.unwrap().success());
    }

    fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Told to stop, it puts everything back.
    fn stop(&mut self) {
        let mut child = self.child.take().unwrap();
        signal(child.id(), Signal::TERM);
        assert!(child.wait().unwrap().success());
    }

    fn send(&self, text: &[u8]) -> Value {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        // It may have refused before it read all.
        let _ = stream.write_all(text);
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{answer}"))
    }

    fn ask(&self, request: &Value) -> Value {
        self.send(format!("{request}\n").as_bytes())
    }

    fn apply(&self, cause: &str, seconds: u64) -> Value {
        self.ask(&json!({"apply": {"cause": cause, "seconds": seconds}}))
    }

    /// The id of a lease that is made.
    fn made(&self, cause: &str, seconds: u64) -> String {
        let answer = self.apply(cause, seconds);
        let id = answer["made"]["id"].as_str();
        id.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn leases(&self) -> Vec<Value> {
        self.ask(&json!("list"))["leases"]
            .as_array()
            .unwrap()
            .clone()
    }

    fn watchdogs(&self) -> Vec<u32> {
        let mark = format!("STATE_DIRECTORY={}\0", self.dir.path().display());
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| {
            let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            let has = |bytes: &[u8], part: &str| {
                bytes.windows(part.len()).any(|at| at == part.as_bytes())
            };
            has(&read("cmdline"), "fix-watchdog") && has(&read("environ"), &mark)
        })
        .collect()
    }

    fn kill_watchdogs(&self) {
        // Each starts another one in the place of one that is killed.
        wait_until("the watchdogs are gone", || {
            let all = self.watchdogs();
            all.iter().for_each(|pid| signal(*pid, Signal::STOP));
            all.iter().for_each(|pid| signal(*pid, Signal::KILL));
            all.is_empty()
        });
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = self
            .command()
            .arg("--restore")
            .stdin(Stdio::null())
            .status();
    }
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
    let _ = kill_process(pid, signal);
}

#[test]
fn a_lease_is_made_listed_and_put_back() {
    let scene = Scene::new();
    let before = scene.tree();
    let mut helper = Helper::new(&scene.root());
    let id = helper.made("numa-swap", 3600);
    assert_eq!(scene.read(SWAPPINESS), "1\n");
    let leases = helper.leases();
    assert_eq!(leases.len(), 1);
    assert_eq!(leases[0]["id"], id.as_str());
    assert_eq!(leases[0]["asked_by"], geteuid().as_raw());
    assert_eq!(leases[0]["state"], "applied");
    // A second one has nothing to change, so it cannot put back what is the first one's.
    assert!(helper.apply("numa-swap", 60)["refused"].is_string());
    let back = helper.ask(&json!({"revert": {"id": id}}));
    assert_eq!(back, json!({"reverted": {"left": []}}));
    assert_eq!(scene.tree(), before);
    assert!(helper.leases().is_empty());
    // What somebody else has set since is theirs.
    let id = helper.made("numa-swap", 3600);
    scene.write(SWAPPINESS, "10\n");
    let left = helper.ask(&json!({"revert": {"id": id}}));
    assert_eq!(left["reverted"]["left"].as_array().unwrap().len(), 1);
    scene.write(SWAPPINESS, "60\n");
    // Its time is over.
    helper.made("thp-compaction", 1);
    assert!(scene.read(ENABLED).contains("[never]"));
    wait_until("the time is over", || scene.tree() == before);
    helper.made("thp-compaction", 3600);
    helper.stop();
    assert_eq!(
        scene.tree(),
        before,
        "it puts its leases back when it is stopped"
    );
}

#[test]
fn the_recorder_is_told_of_a_lease_of_the_helper_s() {
    let scene = Scene::new();
    let dir = crate::told::directory(&scene);
    let helper = Helper::new(&scene.root());
    let id = helper.made("numa-swap", 3600);
    let held = crate::told::record(&dir);
    assert_eq!(
        (&held["id"], &held["outcome"]),
        (&json!(id), &json!("held"))
    );
    helper.ask(&json!({"revert": {"id": id}}));
    assert_eq!(crate::told::record(&dir)["outcome"], "given-back");
}

#[test]
fn what_is_no_request_changes_nothing() {
    let scene = Scene::new();
    let before = scene.tree();
    let helper = Helper::new(&scene.root());
    let long = format!("{{\"revert\":{{\"id\":\"{}\"}}}}\n", "a".repeat(600));
    let mut odd: Vec<Vec<u8>> = [
        "\n",
        "{",
        "{\n",
        "null\n",
        "[\"list\"]\n",
        "\"list\"\n\"list\"\n",
        "{\"apply\":{\"cause\":\"numa-swap\"}}\n",
        "{\"apply\":{\"cause\":\"numa-swap\",\"seconds\":-1}}\n",
        "{\"apply\":{\"cause\":\"numa-swap\",\"seconds\":1e3}}\n",
        "{\"apply\":{\"cause\":\"numa-swap\",\"seconds\":60,\"value\":\"0\"}}\n",
        "{\"apply\":{\"cause\":\"numa-swap\",\"seconds\":60},\"list\":null}\n",
        "{\"run\":{\"command\":\"id\"}}\n",
        &long,
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec();
    odd.push(vec![0xff; 100_000]);
    odd.push(b"\0\0\0\n".to_vec());
    for text in &odd {
        // Half a line is waited for, but not for long.
        let begin = Instant::now();
        let answer = helper.send(text);
        assert!(answer["refused"].is_string(), "{answer}");
        assert!(begin.elapsed() < Duration::from_secs(20));
    }
    for (cause, seconds) in [
        ("numa-swap", 0),
        ("numa-swap", 86_401),
        ("", 60),
        ("../numa-swap", 60),
        ("no-such-cause", 60),
        // Nothing of it is a setting of the kernel; one that is not here; what is made in the server alone.
        ("general-log", 60),
        ("tcp-accept-overflow", 60),
        ("malloc-arena", 60),
    ] {
        let answer = helper.apply(cause, seconds);
        assert!(answer["refused"].is_string(), "{cause}: {answer}");
    }
    for id in ["", "../lock", "lock", "0123456789abcdef"] {
        let answer = helper.ask(&json!({"revert": {"id": id}}));
        assert!(answer["refused"].is_string(), "{id}: {answer}");
    }
    assert!(helper.leases().is_empty());
    assert_eq!(scene.tree(), before);
}

#[test]
fn root_s_own_fixes_in_the_same_journal_are_none_of_its_business() {
    let scene = Scene::new();
    let mut helper = Helper::new(&scene.root());
    let fixes = helper.dir.path().join("fixes");
    let fix = |arguments: &[&str]| {
        let mut command = freezeframe();
        command
            .arg("fix")
            .args(arguments)
            .arg("--root")
            .arg(scene.root())
            .arg("--fix-dir")
            .arg(&fixes)
            .arg("--config")
            .arg(scene.config());
        document(&command.output().unwrap())
    };
    let done = fix(&["numa-swap", "--apply", "--yes", "--now", "--json"]);
    let id = done["applied"]["id"].as_str().unwrap();
    assert!(helper.leases().is_empty());
    assert!(helper.ask(&json!({"revert": {"id": id}}))["refused"].is_string());
    helper.stop();
    assert_eq!(scene.read(SWAPPINESS), "1\n");
    let undone = fix(&["--undo", id, "--json"]);
    assert_eq!(undone["undone"][0]["over"], true);
    assert_eq!(scene.read(SWAPPINESS), "60\n");
}

#[test]
fn one_is_answered_after_the_other() {
    let scene = Scene::new();
    let helper = Helper::new(&scene.root());
    // This one says nothing, and this one a byte now and then.
    let silent = UnixStream::connect(helper.socket()).unwrap();
    let mut slow = UnixStream::connect(helper.socket()).unwrap();
    let talks = std::thread::spawn(move || {
        let begin = Instant::now();
        while slow.write_all(b" ").is_ok() && begin.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(100));
        }
        begin.elapsed()
    });
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let causes = ["numa-swap", "thp-compaction"];
        let asked = causes.map(|cause| scope.spawn(|| helper.made(cause, 3600)));
        let ids = asked.map(|made| made.join().unwrap());
        assert_ne!(ids[0], ids[1]);
    });
    assert_eq!(helper.leases().len(), 2);
    assert!(
        begin.elapsed() < Duration::from_secs(30),
        "{:?}",
        begin.elapsed()
    );
    assert!(talks.join().unwrap() < Duration::from_secs(30));
    drop(silent);
}

#[test]
fn whoever_is_killed_everything_is_back() {
    let scene = Scene::new();
    let before = scene.tree();
    let mut helper = Helper::new(&scene.root());
    // The helper: its watchdogs go on, and put back when the time is over.
    helper.made("numa-swap", 10);
    helper.kill();
    assert_eq!(scene.read(SWAPPINESS), "1\n");
    wait_until("the watchdogs put back", || scene.tree() == before);
    helper.start();
    // One watchdog: the other one starts another.
    helper.made("numa-swap", 3600);
    let first = helper.watchdogs();
    signal(first[0], Signal::KILL);
    wait_until("there are two again", || {
        let now = helper.watchdogs();
        now.len() == 2 && !now.contains(&first[0])
    });
    assert_eq!(scene.read(SWAPPINESS), "1\n");
    // Both: the helper puts back.
    helper.kill_watchdogs();
    wait_until("the helper puts back", || scene.tree() == before);
    // All of them, which is also the end of its service: then systemd's command, or the next start.
    helper.made("thp-compaction", 3600);
    helper.kill();
    helper.kill_watchdogs();
    assert_ne!(scene.tree(), before);
    helper.restore();
    assert_eq!(scene.tree(), before);
    helper.start();
    helper.made("thp-compaction", 3600);
    helper.kill();
    helper.kill_watchdogs();
    assert_ne!(scene.tree(), before);
    helper.start();
    assert!(helper.leases().is_empty());
    assert_eq!(scene.tree(), before);
    // The client, before it has its answer.
    let mut client = UnixStream::connect(helper.socket()).unwrap();
    client
        .write_all(b"{\"apply\":{\"cause\":\"numa-swap\",\"seconds\":3600}}\n")
        .unwrap();
    drop(client);
    assert!(
        helper.leases().len() <= 1,
        "made, or not made for who is gone"
    );
    helper.stop();
    assert_eq!(scene.tree(), before);
}

#[test]
fn killed_at_any_moment_it_leaves_what_a_restore_puts_back() {
    let scene = Scene::new();
    let before = scene.tree();
    let mut helper = Helper::new(&scene.root());
    let begin = Instant::now();
    helper.made("thp-compaction", 3600);
    let whole = begin.elapsed();
    helper.stop();
    let mut random = Random(0x1ea5_e5ee);
    let mut changed = 0;
    for round in 0..15 {
        helper.start();
        let mut client = UnixStream::connect(helper.socket()).unwrap();
        client
            .write_all(b"{\"apply\":{\"cause\":\"thp-compaction\",\"seconds\":3600}}\n")
            .unwrap();
        // Half of them once something is changed, however slow the machine is.
        if random.below(2) == 0 {
            wait_until("something is changed", || scene.tree() != before);
        } else {
            std::thread::sleep(whole.mul_f64(random.below(100) as f64 / 100.0));
        }
        helper.kill();
        if random.below(2) == 0 {
            helper.kill_watchdogs();
        }
        changed += usize::from(scene.tree() != before);
        helper.restore();
        assert_eq!(scene.tree(), before, "round {round}");
        // A request that was not taken is still there for the next start.
        drop(client);
        helper.start();
        helper.leases();
        helper.stop();
        assert_eq!(scene.tree(), before, "round {round}");
        wait_until("no watchdog is left", || helper.watchdogs().is_empty());
    }
    assert!(changed > 0, "no kill fell between a change and its end");
}

#[test]
fn after_a_boot_the_kernel_s_own_values_stay() {
    const BOOT: &str = "proc/sys/kernel/random/boot_id";
    let scene = Scene::new();
    scene.write(BOOT, "0b5b6a5e-0000-4000-8000-000000000001\n");
    let mut helper = Helper::new(&scene.root());
    helper.made("numa-swap", 3600);
    helper.kill();
    helper.kill_watchdogs();
    // The host is started again, and whoever runs it has chosen by now what the lease was for.
    scene.write(BOOT, "0b5b6a5e-0000-4000-8000-000000000002\n");
    helper.start();
    assert!(helper.leases().is_empty());
    assert_eq!(scene.read(SWAPPINESS), "1\n");
    assert_eq!(helper.apply("numa-swap", 60)["made"], Value::Null);
    // In the same boot it is put back.
    scene.write(SWAPPINESS, "60\n");
    helper.made("numa-swap", 3600);
    helper.stop();
    assert_eq!(scene.read(SWAPPINESS), "60\n");
}

#[test]
fn it_ends_when_nobody_asks_and_stays_while_a_lease_is_in_force() {
    let scene = Scene::new();
    let mut helper = Helper::new(&scene.root());
    helper.made("thp-compaction", 14);
    let begin = Instant::now();
    let ended = helper.child.as_mut().unwrap().wait().unwrap();
    assert!(ended.success());
    assert!(
        begin.elapsed() > Duration::from_secs(15),
        "{:?}",
        begin.elapsed()
    );
    assert!(scene.read(DEFRAG).contains("[madvise]"));
}

/// `/run/freezeframe` is that of the test, and the rest as another user who is in this group.
const AS_USER: &str = r#"
set -e
mount --make-rprivate /
mount -t tmpfs run /run
mkdir /run/freezeframe
mount --bind "$1" /run/freezeframe
user=$2
shift 2
exec setpriv --reuid "$user" --regid "$user" --clear-groups --bounding-set=-all --no-new-privs "$@"
"#;

/// Sets vm.swappiness back when the test ends, also by SIGKILL: a shell waits for the end of its input.
struct Guard(Child);

impl Guard {
    fn new(value: &str) -> Self {
        let script = "cat >/dev/null; printf %s \"$1\" >/proc/sys/vm/swappiness";
        let child = Command::new("setsid")
            .args(["sh", "-c", script, "guard", value])
            .stdin(Stdio::piped())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

#[test]
fn a_member_of_the_group_has_this_machine_s_setting_for_a_time() {
    const FILE: &str = "/proc/sys/vm/swappiness";
    let value = || fs::read_to_string(FILE).unwrap().trim().to_owned();
    let before = value();
    let can = Command::new("unshare").args(["--mount", "true"]).output();
    let is_writable = fs::OpenOptions::new().write(true).open(FILE).is_ok();
    let is_more: bool = before.parse::<u64>().is_ok_and(|value| value > 1);
    if !can.is_ok_and(|can| can.status.success()) || !is_writable || !is_more {
        eprintln!("skipped: vm.swappiness is not to be lowered here, or there is no unshare");
        return;
    }
    let _guard = Guard::new(&before);
    let mut helper = Helper::new(Path::new("/"));
    let place = tempfile::tempdir().unwrap();
    chown(place.path(), Some(NOBODYS_UID), Some(NOBODYS_UID)).unwrap();
    let program = helper.dir.path().join("freezeframe");
    fs::copy(env!("CARGO_BIN_EXE_freezeframe"), &program).unwrap();
    let fix = |arguments: &[&str]| {
        Command::new("unshare")
            .args(["--mount", "sh", "-c", AS_USER, "sh"])
            .arg(helper.dir.path())
            .arg(NOBODYS_UID.to_string())
            .arg(&program)
            .arg("fix")
            .args(arguments)
            .args(["--socket", "/nonexistent/x.sock"])
            .env("HOME", place.path())
            .env_remove("XDG_STATE_HOME")
            .env_remove("MYSQL_PWD")
            .current_dir(place.path())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    let order = ["numa-swap", "--apply", "--yes", "--for", "1h", "--json"];
    let last = |output: &std::process::Output| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        said.lines().last().unwrap_or_default().to_owned()
    };
    // Not in the group; a socket for everybody, which is a mistake.
    let refused = fix(&order);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        last(&refused).contains("group freezeframe"),
        "{}",
        last(&refused)
    );
    helper.admit(None, 0o666);
    let refused = fix(&order);
    assert!(
        last(&refused).contains("everybody can open the socket"),
        "{}",
        last(&refused)
    );
    assert_eq!(value(), before);
    helper.admit(Some(NOBODYS_UID), 0o660);
    let no_time = fix(&["numa-swap", "--apply", "--yes", "--now", "--json"]);
    assert_eq!(no_time.status.code(), Some(1));
    assert!(last(&no_time).contains("--for"), "{}", last(&no_time));
    assert_eq!(value(), before);

    let done = document(&fix(&order));
    assert_eq!(done["applied"], Value::Null);
    assert_eq!(done["applied_by_helper"]["asked_by"], NOBODYS_UID);
    assert_eq!(value(), "1");
    let list = document(&fix(&["--list", "--json"]));
    assert_eq!(list["fixes"][0]["asked_by"], NOBODYS_UID);
    assert_eq!(list["fixes"][0]["watched"], true);
    let undone = document(&fix(&["--undo", "--json"]));
    assert_eq!(undone["undone"][0]["over"], true);
    assert_eq!(value(), before);
    let id = document(&fix(&order))["applied_by_helper"]["id"].clone();
    assert_eq!(value(), "1");
    let undone = document(&fix(&["--undo", &id.as_str().unwrap()[..6], "--json"]));
    assert_eq!(undone["undone"][0]["id"], id);
    assert_eq!(value(), before);
    document(&fix(&order));
    helper.stop();
    assert_eq!(value(), before);
}
