//! The unit as it is packaged, and the recorder with exactly the rights that it gives.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use testbed::PrivateServer;

use crate::harness::server;

/// The highest exposure that `systemd-analyze security` may find, of 10.
const EXPOSURE_MAX: f64 = 4.0;

/// The same of the helper's unit.
const HELPERS_EXPOSURE_MAX: f64 = 2.0;

/// The same of the gateway's unit.
const GATEWAYS_EXPOSURE_MAX: f64 = 2.0;

/// A user that has nothing on this machine.
const NOBODYS_UID: u32 = 64_321;

/// From T1 to T5, as setpriv names them.
pub(crate) const RIGHTS: [&str; 5] = ["perfmon", "bpf", "sys_ptrace", "syslog", "dac_read_search"];

fn packaging(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    root.join(name)
}

pub(crate) fn unit() -> String {
    fs::read_to_string(packaging("systemd/freezeframe.service")).unwrap()
}

/// The value of a line of a unit.
pub(crate) fn setting<'a>(unit: &'a str, name: &str) -> Vec<&'a str> {
    let lines = unit
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    lines.collect()
}

/// Capabilities as setpriv names them.
pub(crate) fn capabilities(list: &str) -> Vec<String> {
    let names = list.split_whitespace();
    names
        .map(|name| name.trim_start_matches("CAP_").to_lowercase())
        .collect()
}

/// What `systemd-analyze` says; `None`, and told, where there is none that can.
fn systemd_analyze(arguments: &[&str], file: &Path) -> Option<(bool, String)> {
    let output = Command::new("systemd-analyze")
        .args(arguments)
        .arg(file)
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: systemd-analyze is not here: {arguments:?}");
        return None;
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    // Before 250 it looks at running units only.
    if text.contains("unrecognized option") {
        eprintln!("skipped: this systemd-analyze is too old for {arguments:?}");
        return None;
    }
    Some((output.status.success(), text))
}

#[test]
fn the_units_expose_little() {
    for (name, most) in [
        ("freezeframe.service", EXPOSURE_MAX),
        ("freezeframe-lease.service", HELPERS_EXPOSURE_MAX),
        ("freezeframe-fleet-gateway.service", GATEWAYS_EXPOSURE_MAX),
    ] {
        let file = packaging(&format!("systemd/{name}"));
        let arguments = ["security", "--offline=true", "--no-pager"];
        let Some((_, text)) = systemd_analyze(&arguments, &file) else {
            return;
        };
        let level = text.split(&format!("exposure level for {name}: ")).nth(1);
        let level = level.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
        let level = level.unwrap_or_else(|| panic!("{text}"));
        assert!(level <= most, "{text}");
    }
}

#[test]
fn the_helper_can_write_what_its_table_has_and_nothing_else() {
    let unit = fs::read_to_string(packaging("systemd/freezeframe-lease.service")).unwrap();
    let lines = setting(&unit, "ReadWritePaths");
    let mut given: Vec<&str> = lines.iter().flat_map(|line| line.split(' ')).collect();
    given.sort_unstable();
    let mut table: Vec<String> = remedy::helper::written_paths()
        .chain([remedy::fix::PUBLIC])
        .map(|path| format!("-{path}"))
        .collect();
    table.sort();
    assert_eq!(given, table);
    assert_eq!(setting(&unit, "CapabilityBoundingSet"), [""]);
    // A network of its own would have settings of its own.
    assert!(setting(&unit, "PrivateNetwork").is_empty());
    // Each setting of the kernel that a cause of the program names.
    for cause in diagnosis::Catalogue::builtin().causes() {
        for fix in &cause.fixes {
            if let model::FixAction::Sysctl { key, .. } = &fix.action {
                let path = format!("-/proc/sys/{}", key.replace('.', "/"));
                assert!(table.contains(&path), "{}: {key}", cause.id);
                assert!(
                    fix.consent.is_none(),
                    "the helper asks nobody: {}",
                    cause.id
                );
            }
        }
    }
}

#[test]
fn systemd_understands_the_unit_and_its_drop_ins() {
    let dir = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_freezeframe");
    let text = unit().replace("/usr/bin/freezeframe", program);
    let file = dir.path().join("freezeframe.service");
    let drop_ins = dir.path().join("freezeframe.service.d");
    fs::create_dir(&drop_ins).unwrap();
    for tier in [None, Some(0), Some(1), Some(2), Some(3), Some(4)] {
        fs::write(&file, &text).unwrap();
        if let Some(tier) = tier {
            let name = format!("systemd/tiers/t{tier}.conf");
            fs::copy(packaging(&name), drop_ins.join("tier.conf")).unwrap();
        }
        let Some((is_good, said)) = systemd_analyze(&["verify", "--man=no"], &file) else {
            return;
        };
        // What it finds in other units of this machine is no matter of ours.
        let ours: Vec<&str> = said
            .lines()
            .filter(|line| line.contains("freezeframe"))
            .collect();
        assert!(
            ours.is_empty() && (is_good || !said.contains("freezeframe")),
            "{said}"
        );
    }
}

#[test]
fn systemd_understands_the_units_of_helper_and_gateway() {
    let dir = tempfile::tempdir().unwrap();
    let names = [
        "freezeframe-lease.service",
        "freezeframe-lease.socket",
        "freezeframe-fleet-gateway.service",
    ];
    for name in names {
        let text = fs::read_to_string(packaging(&format!("systemd/{name}"))).unwrap();
        let text = text.replace("/usr/bin/freezeframe", env!("CARGO_BIN_EXE_freezeframe"));
        fs::write(dir.path().join(name), text).unwrap();
    }
    for name in names {
        let file = dir.path().join(name);
        let Some((_, said)) = systemd_analyze(&["verify", "--man=no"], &file) else {
            return;
        };
        let ours: Vec<&str> = said
            .lines()
            .filter(|line| line.contains("freezeframe"))
            .collect();
        assert!(ours.is_empty(), "{said}");
    }
}

#[test]
fn the_unit_gives_the_five_and_each_drop_in_one_less() {
    let unit = unit();
    let five = capabilities(setting(&unit, "AmbientCapabilities")[0]);
    assert_eq!(
        five,
        capabilities(setting(&unit, "CapabilityBoundingSet")[0])
    );
    let mut sorted = five.clone();
    sorted.sort();
    let mut rights = RIGHTS.map(str::to_owned);
    rights.sort();
    assert_eq!(sorted, rights);
    for tier in 0..RIGHTS.len() {
        let text = fs::read_to_string(packaging(&format!("systemd/tiers/t{tier}.conf"))).unwrap();
        for name in ["AmbientCapabilities", "CapabilityBoundingSet"] {
            let values = setting(&text, name);
            // The first one is empty: it takes back what the unit gave.
            assert_eq!(values[0], "");
            assert_eq!(
                capabilities(values.last().unwrap()),
                RIGHTS[..tier],
                "{text}"
            );
        }
    }
}

/// A place in which another user runs the program.
struct Stage {
    dir: TempDir,
    server: PrivateServer,
}

impl Stage {
    /// `None`, and told, where rights cannot be taken away.
    fn new() -> Option<Self> {
        let has_setpriv = Command::new("setpriv").arg("--version").output().is_ok();
        if !geteuid().is_root() || !has_setpriv {
            eprintln!("skipped: only root can give a process exactly some rights, by setpriv");
            return None;
        }
        let server = server(&[]);
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        // Where the tests are built is often nobody else's.
        fs::copy(
            env!("CARGO_BIN_EXE_freezeframe"),
            dir.path().join("freezeframe"),
        )
        .unwrap();
        let login = dir.path().join("my.cnf");
        let text = format!(
            "[client]\nhost=127.0.0.1\nport={}\nuser=root\npassword={}\n",
            server.port(),
            server.tcp_login().password.unwrap()
        );
        fs::write(&login, text).unwrap();
        let state = dir.path().join("state");
        fs::create_dir(&state).unwrap();
        for path in [&login, &state] {
            chown(path, Some(NOBODYS_UID), Some(NOBODYS_UID)).unwrap();
        }
        Some(Self { dir, server })
    }

    /// The program as a user who has exactly these rights.
    fn command(&self, rights: &[&str], arguments: &[&str]) -> Command {
        let mut set = "-all".to_owned();
        for right in rights {
            set += &format!(",+{right}");
        }
        let mut command = Command::new("setpriv");
        command
            .arg(format!("--reuid={NOBODYS_UID}"))
            .arg(format!("--regid={NOBODYS_UID}"))
            .args(["--clear-groups", "--no-new-privs"])
            .arg(format!("--inh-caps={set}"))
            .arg(format!("--ambient-caps={set}"))
            .arg(format!("--bounding-set={set}"))
            .arg(self.dir.path().join("freezeframe"))
            .args(arguments)
            .arg("--defaults-file")
            .arg(self.dir.path().join("my.cnf"))
            .env("HOME", "/dev/null")
            .env_remove("MYSQL_PWD")
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        command
    }
}

/// Sources that need a right, and the first tier that has them beside MariaDB of another user.
const FIRST_TIER: [(&str, usize); 9] = [
    ("status", 0),
    ("vmstat", 0),
    ("query-probe", 0),
    ("profile", 1),
    ("stacks", 2),
    ("filesystem", 3),
    ("accept-queue", 5),
    ("connections", 5),
    ("error-log", 5),
];

#[test]
fn each_tier_brings_what_it_is_for() {
    let Some(stage) = Stage::new() else { return };
    // By its process: other servers may run here, and whose sockets are whose is seen from T5 on only.
    let pid = stage.server.pid().unwrap().to_string();
    for tier in 0..=RIGHTS.len() {
        let output = stage
            .command(
                &RIGHTS[..tier],
                &["check", "--json", "--look", "2s", "--pid", &pid],
            )
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let answers: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("T{tier}: {said}"));
        let answer = &answers[0];
        assert!(output.status.success(), "T{tier}: {said}");
        let rights = &answer["rights"];
        assert_eq!(rights["tier"], tier, "{rights:#}");
        let above = rights["above"].as_array().unwrap();
        let names: Vec<&str> = above
            .iter()
            .map(|right| right["capability"].as_str().unwrap())
            .collect();
        let missing: Vec<String> = RIGHTS[tier..]
            .iter()
            .map(|right| format!("cap_{right}"))
            .collect();
        assert_eq!(names, missing, "T{tier}");
        assert!(
            above
                .iter()
                .all(|right| right["without"].is_string() && right["has"] == false)
        );
        let cure = rights["cure"].as_str().unwrap_or_default();
        for right in &missing {
            assert!(cure.to_lowercase().contains(right), "T{tier}: {cure}");
        }
        assert_eq!(cure.is_empty(), tier == RIGHTS.len());
        let sources = answer["sources"].as_array().unwrap();
        for (name, first) in FIRST_TIER {
            let source = sources
                .iter()
                .find(|source| source["source"] == name)
                .unwrap();
            assert_eq!(source["taken"], tier >= first, "T{tier}: {source:#}");
        }
    }
}

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_service_is_ready_after_a_sample_and_tells_that_it_lives() {
    let Some(stage) = Stage::new() else { return };
    let unit = unit();
    let five = capabilities(setting(&unit, "AmbientCapabilities")[0]);
    let five: Vec<&str> = five.iter().map(String::as_str).collect();
    let address = stage.dir.path().join("notify");
    let manager = UnixDatagram::bind(&address).unwrap();
    fs::set_permissions(&address, fs::Permissions::from_mode(0o666)).unwrap();
    manager
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let heard = || {
        let mut bytes = [0; 256];
        let length = manager.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    let begin = Instant::now();
    // As the unit starts it, with a watch of half a second.
    let start = setting(&unit, "ExecStart")[0];
    let port = stage.server.port().to_string();
    let arguments = start.split(' ').skip(1).chain(["--port", &port]);
    let arguments: Vec<&str> = arguments.collect();
    let child = stage
        .command(&five, &arguments)
        .env("NOTIFY_SOCKET", &address)
        .env("WATCHDOG_USEC", "500000")
        .env("STATE_DIRECTORY", stage.dir.path().join("state"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut running = Running(child);
    assert_eq!(heard(), "READY=1\nSTATUS=Recording.\n");
    eprintln!("ready after {:?}", begin.elapsed());
    for _ in 0..3 {
        assert_eq!(heard(), "WATCHDOG=1\n");
    }
    let state = stage.dir.path().join("state");
    let history = state.join(format!("history-{}.db", stage.server.port()));
    let end = Instant::now() + Duration::from_secs(20);
    while !history.exists() {
        assert!(Instant::now() < end, "{state:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
    // Frozen, it says nothing: the manager would start it anew.
    let pid = Pid::from_raw(running.0.id().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    manager
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let mut bytes = [0; 256];
    while manager.recv(&mut bytes).is_ok() {}
    manager
        .set_read_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    assert!(
        manager.recv(&mut bytes).is_err(),
        "a frozen recorder cannot say that it lives"
    );
    kill_process(pid, Signal::CONT).unwrap();
    manager
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    assert_eq!(heard(), "WATCHDOG=1\n");
    kill_process(pid, Signal::TERM).unwrap();
    while !heard().starts_with("STOPPING=1\n") {}
    assert!(running.0.wait().unwrap().success());
}

/// /run of its own, in which a socket of the test stands in for journald's.
const WITH_JOURNAL: &str = r#"
set -e
dir=$1
shift
mount --make-rprivate /
mount -t tmpfs run /run
mkdir -p /run/systemd/journal
mount --bind "$dir" /run/systemd/journal
exec "$@"
"#;

#[test]
fn lines_go_to_journald_with_their_fields() {
    let can = Command::new("unshare").args(["--mount", "true"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: only root can put something in place of journald, by unshare");
        return;
    }
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let journal = UnixDatagram::bind(dir.path().join("socket")).unwrap();
    let heard = || {
        let mut bytes = vec![0; 64 << 10];
        let length = journal.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    for is_stream in [true, false] {
        let stdout = tempfile::tempfile().unwrap();
        let meta = stdout.metadata().unwrap();
        let inode = meta.ino() + u64::from(!is_stream);
        let state = tempfile::tempdir().unwrap();
        let child = Command::new("unshare")
            .args(["--mount", "sh", "-c", WITH_JOURNAL, "sh"])
            .arg(dir.path())
            .arg(env!("CARGO_BIN_EXE_freezeframe"))
            .args(["record", "--for", "60s", "--socket"])
            .arg(server.socket())
            .arg("--dir")
            .arg(state.path())
            .env("HOME", "/dev/null")
            .env("JOURNAL_STREAM", format!("{}:{inode}", meta.dev()))
            .stdin(Stdio::null())
            .stdout(stdout.try_clone().unwrap())
            .spawn()
            .unwrap();
        let mut running = Running(child);
        let pid = Pid::from_raw(running.0.id().try_into().unwrap()).unwrap();
        if is_stream {
            journal
                .set_read_timeout(Some(Duration::from_secs(60)))
                .unwrap();
            let label = format!("FREEZEFRAME_SERVER={}\n", server.port());
            let entry = loop {
                let entry = heard();
                if entry.starts_with("MESSAGE=server ") {
                    break entry;
                }
            };
            for field in ["PRIORITY=6\n", "SYSLOG_IDENTIFIER=freezeframe\n", &label] {
                assert!(entry.contains(field), "{field}: {entry}");
            }
            kill_process(pid, Signal::TERM).unwrap();
            assert!(running.0.wait().unwrap().success());
            while !heard().starts_with("MESSAGE=stopped\n") {}
            assert_eq!(stdout.metadata().unwrap().len(), 0, "told once");
        } else {
            let end = Instant::now() + Duration::from_secs(60);
            while stdout.metadata().unwrap().len() == 0 {
                assert!(Instant::now() < end);
                std::thread::sleep(Duration::from_millis(50));
            }
            journal.set_nonblocking(true).unwrap();
            assert!(
                journal.recv(&mut [0; 8]).is_err(),
                "the stream is another's"
            );
        }
    }
}
