//! What an experiment changes on the host is back after every way in which it can end: on this machine's own files, a
//! setting that nobody notices, a control group and a file system of our own.

#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests tell what they skip or measure"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lab::host::{HostChange, HostError, HostLease, give_back_left};
use remedy::JournalError;

/// How often khugepaged looks around; it has little to do anyway.
const SETTING: &str = "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs";

/// How long a change may take to be back. Only waited for, not measured.
const PATIENCE: Duration = Duration::from_secs(60);

/// One at a time: they change the same setting.
static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_freezeframe-lab"))
}

fn setting() -> Option<String> {
    let text = std::fs::read_to_string(SETTING).ok()?;
    Some(text.trim().to_owned())
}

/// Another value than the one it has.
fn other(value: &str) -> String {
    (value.parse::<u64>().unwrap() + 7).to_string()
}

fn can_run() -> bool {
    let can = rustix::process::geteuid().is_root() && setting().is_some();
    if !can {
        eprintln!("skipped: it needs root and {SETTING}");
    }
    can
}

/// Not a test: the process that is killed, in a run of this program of its own.
#[test]
#[ignore = "started by the tests below"]
fn owner() {
    let dir = PathBuf::from(std::env::var_os("HOST_LEASE_DIR").unwrap());
    let mut lease =
        HostLease::begin(program(), &dir.join("journal"), 10 * PATIENCE, |_| ()).unwrap();
    let before = setting().unwrap();
    let change = HostChange::setting(Path::new(SETTING), &other(&before), &[]).unwrap();
    lease.make(change.unwrap()).unwrap();
    let group = Path::new("/sys/fs/cgroup/cpu").join(format!("ff-test-{}", std::process::id()));
    if group.parent().unwrap().join("cgroup.procs").exists() {
        lease
            .make(HostChange::ControlGroup {
                path: group.clone(),
            })
            .unwrap();
        println!("\ngroup {}", group.display());
    }
    let image = dir.join("image");
    let file = std::fs::File::create(&image).unwrap();
    file.set_len(16 << 20).unwrap();
    let made = Command::new("mkfs.ext4")
        .args(["-q", "-F"])
        .arg(&image)
        .status();
    if made.is_ok_and(|status| status.success()) {
        let path = dir.join("mounted");
        let mounted = lease.make(HostChange::Mount { path, image });
        println!("\nmounted {}", mounted.is_ok());
    }
    let path = dir.join("swap");
    std::fs::write(&path, vec![0; 1 << 20]).unwrap();
    let made = Command::new("mkswap")
        .arg("-q")
        .arg(&path)
        .stderr(Stdio::null())
        .status();
    if made.is_ok_and(|status| status.success()) {
        let swap = lease.make(HostChange::Swap { path: path.clone() });
        assert_eq!(swap.is_ok(), swaps().contains(path.to_str().unwrap()));
        println!("\nswap {}", swap.is_ok());
    }
    println!("\nready");
    std::thread::sleep(10 * PATIENCE);
}

fn swaps() -> String {
    // A kernel that does not swap has none.
    std::fs::read_to_string("/proc/swaps").unwrap_or_default()
}

struct Owner(Child);

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts it and waits until everything is changed; its lines.
fn start_owner(dir: &Path) -> (Owner, Vec<String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "owner", "--ignored", "--nocapture"])
        .env("HOST_LEASE_DIR", dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let owner = Owner(child);
    let mut lines: Vec<String> = Vec::new();
    for line in output.lines() {
        let line = line.unwrap();
        let is_ready = line == "ready";
        lines.push(line);
        if is_ready {
            return (owner, lines);
        }
    }
    panic!("the owner ended: {lines:?}");
}

fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !so() {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn groups(lines: &[String]) -> Vec<PathBuf> {
    let found = lines.iter().filter_map(|line| line.strip_prefix("group "));
    found.map(PathBuf::from).collect()
}

fn assert_all_back(dir: &Path, lines: &[String], before: &str) {
    assert_eq!(setting().unwrap(), before);
    for group in groups(lines) {
        assert!(!group.exists(), "{}", group.display());
    }
    assert!(!dir.join("mounted").exists());
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let place = dir.join("mounted").display().to_string();
    assert!(!mounts.contains(&place), "{mounts}");
    let swaps = swaps();
    assert!(
        !swaps.contains(dir.join("swap").to_str().unwrap()),
        "{swaps}"
    );
}

/// Whether the journal has no lease any more, which is the last thing of a give-back.
fn is_empty(dir: &Path) -> bool {
    let entries = std::fs::read_dir(dir.join("journal")).unwrap();
    !entries.flatten().any(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().ends_with(".host.json")
    })
}

#[test]
fn the_watchdog_gives_back_what_a_killed_process_changed() {
    let _one = ONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if !can_run() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let before = setting().unwrap();
    let (mut owner, lines) = start_owner(dir.path());
    assert_eq!(setting().unwrap(), other(&before));
    for group in groups(&lines) {
        assert!(group.exists());
    }
    owner.0.kill().unwrap();
    owner.0.wait().unwrap();
    wait_until("nothing was given back", || is_empty(dir.path()));
    assert_all_back(dir.path(), &lines, &before);
}

#[test]
fn the_next_one_gives_back_when_both_were_killed() {
    let _one = ONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if !can_run() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let before = setting().unwrap();
    let (mut owner, lines) = start_owner(dir.path());
    let journal = dir.path().join("journal");
    // While its process lives it is in force.
    give_back_left(program(), &journal, |_| ()).unwrap();
    assert_eq!(setting().unwrap(), other(&before));

    for watchdog in children(owner.0.id()) {
        let pid = rustix::process::Pid::from_raw(watchdog).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        wait_until("the watchdog lives", || {
            let stat = std::fs::read_to_string(format!("/proc/{watchdog}/stat"));
            stat.map_or(true, |stat| stat.contains(") Z "))
        });
    }
    owner.0.kill().unwrap();
    owner.0.wait().unwrap();
    assert_eq!(setting().unwrap(), other(&before));
    assert!(!is_empty(dir.path()));

    give_back_left(program(), &journal, |_| ()).unwrap();
    assert!(is_empty(dir.path()));
    assert_all_back(dir.path(), &lines, &before);
}

fn children(pid: u32) -> Vec<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let of_task = tasks
        .flatten()
        .map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default());
    let all: Vec<String> = of_task.collect();
    let numbers = all.iter().flat_map(|list| list.split_whitespace());
    numbers.map(|pid| pid.parse().unwrap()).collect()
}

#[test]
fn in_order_it_is_back_at_once_and_one_at_a_time() {
    let _one = ONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if !can_run() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let before = setting().unwrap();
    let begin = || HostLease::begin(program(), dir.path(), PATIENCE, |_| ()).unwrap();
    let change = |to: &str| HostChange::setting(Path::new(SETTING), to, &["1234567"]).unwrap();
    let mut first = begin();
    let number = first.make(change(&other(&before)).unwrap()).unwrap();
    let mut second = begin();
    let refused = second.make(change("8765").unwrap()).unwrap_err();
    assert!(matches!(refused, HostError::Taken { .. }), "{refused}");
    assert_eq!(setting().unwrap(), other(&before));

    // What the remedy of the experiment set is ours, too.
    std::fs::write(SETTING, "1234567").unwrap();
    first.put_back(number).unwrap();
    assert_eq!(setting().unwrap(), before);
    // Nothing to do is no change.
    assert!(change(&before).is_none());
    second.make(change("8765").unwrap()).unwrap();

    // Another one's value stays; it is put back here by hand.
    std::fs::write(SETTING, "4321").unwrap();
    second.end().unwrap();
    first.end().unwrap();
    assert_eq!(setting().unwrap(), "4321");
    std::fs::write(SETTING, &before).unwrap();
    assert_eq!(setting().unwrap(), before);
}

#[test]
fn a_journal_of_others_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let refused = give_back_left(program(), dir.path(), |_| ()).unwrap_err();
    assert!(
        matches!(refused, HostError::Journal(JournalError::NotOurs { .. })),
        "{refused}"
    );
}
