//! The image and the manifests, and what they lean on: a server in namespaces of its own, seen from the host and from a
//! container as the manifests make one. Here `unshare` stands in for a container runtime.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::geteuid;
use serde_json::Value;
use tempfile::TempDir;
use testbed::PrivateServer;

use crate::harness::{freezeframe, server};
use crate::service::{RIGHTS, capabilities, setting, unit};

fn contrib(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib");
    fs::read_to_string(root.join(name)).unwrap()
}

/// The lists `[A, B]` behind a key of a manifest.
fn lists(manifest: &str, key: &str) -> Vec<Vec<String>> {
    let lines = manifest.lines().map(str::trim);
    let values = lines.filter_map(|line| line.strip_prefix(key)?.strip_prefix(": ["));
    values
        .map(|list| {
            let names = list.trim_end_matches(']').split(", ");
            names.map(str::to_lowercase).collect()
        })
        .collect()
}

#[test]
fn the_manifests_give_the_rights_of_the_unit_and_no_others() {
    let unit = unit();
    let five = capabilities(setting(&unit, "AmbientCapabilities")[0]);
    for name in ["daemonset", "sidecar"] {
        let manifest = contrib(&format!("kubernetes/{name}.yaml"));
        assert_eq!(lists(&manifest, "drop"), [["all"]], "{name}");
        assert_eq!(lists(&manifest, "add"), [five.as_slice()], "{name}");
        assert!(manifest.contains("readOnlyRootFilesystem: true"), "{name}");
        assert!(manifest.contains("privileged: false"), "{name}");
    }
    let remote = contrib("kubernetes/remote.yaml");
    assert_eq!(lists(&remote, "drop"), [["all"]]);
    assert!(lists(&remote, "add").is_empty() && remote.contains("runAsNonRoot: true"));
}

#[test]
fn a_stall_does_not_end_its_witness() {
    for name in ["daemonset", "sidecar", "remote"] {
        let manifest = contrib(&format!("kubernetes/{name}.yaml"));
        let probe = manifest.split("livenessProbe:").nth(1).unwrap();
        let path = probe
            .lines()
            .find_map(|line| line.trim().strip_prefix("path: "));
        assert_eq!(path, Some("/livez"), "{name}");
    }
}

#[test]
fn the_image_has_the_toolchain_and_the_version_of_the_project() {
    let toolchain = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rust-toolchain.toml");
    let toolchain = fs::read_to_string(toolchain).unwrap();
    let version = toolchain.split('"').nth(1).unwrap();
    let file = contrib("container/Containerfile");
    assert!(file.contains(&format!("/rust:{version}-")), "{version}");
    let image = format!("image: freezeframe:{}\n", env!("CARGO_PKG_VERSION"));
    for name in ["daemonset", "sidecar", "remote"] {
        let manifest = contrib(&format!("kubernetes/{name}.yaml"));
        assert!(manifest.contains(&image), "{name}: {image}");
    }
}

/// Where the socket is, as a container's server has it.
const SOCKET: &str = "/run/mysqld/mysqld.sock";

/// A server with mounts, processes and a network of its own. Its program and its socket are in a file system that nobody
/// else has.
const APART: &str = r#"
set -e
mount --make-rprivate /
mount -t tmpfs own /run
mkdir /run/mysqld /run/apart
cp "$1" /run/apart/mariadbd
shift
exec /run/apart/mariadbd "$@"
"#;

/// What a container runtime does for the recorder: a root of its own that is read-only, a state directory, /proc of the
/// node, tracefs. The rights are taken in it.
const CONTAINER: &str = r#"
set -e
root=$1
shift
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t tmpfs state "$root/var/lib/freezeframe"
mount --rbind /proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tracefs -o ro tracefs "$root/sys/kernel/tracing" || true
mount -o remount,bind,ro "$root"
exec chroot "$root" /bin/setpriv "$@"
"#;

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server that is in a container as far as we see.
struct Apart {
    /// Its data; what is started there first is stopped.
    _server: PrivateServer,
    _running: Running,
    pid: String,
}

impl Apart {
    /// `None`, and told, where namespaces cannot be made.
    fn new() -> Option<Self> {
        let can = |arguments: &[&str]| {
            let output = Command::new("unshare").args(arguments).arg("true").output();
            output.is_ok_and(|output| output.status.success())
        };
        if !geteuid().is_root() || !can(&["--mount", "--pid", "--net", "--fork", "--mount-proc"]) {
            eprintln!("skipped: only root can make namespaces, by unshare");
            return None;
        }
        let mut server = server(&[]);
        server.stop().unwrap();
        let child = Command::new("setpriv")
            .args([
                "--pdeathsig=KILL",
                "unshare",
                "--mount",
                "--pid",
                "--net",
                "--fork",
            ])
            .args(["--mount-proc", "--kill-child", "sh", "-c", APART, "sh"])
            .arg(&server.installed().program)
            .args(["--no-defaults", "-uroot", "--skip-name-resolve"])
            .arg(format!("--datadir={}", server.datadir().display()))
            .arg(format!(
                "--tmpdir={}",
                server.directory().join("tmp").display()
            ))
            .arg(format!("--log-error={}", server.error_log().display()))
            .args(["--pid-file=/run/mysqld/pid", "--socket", SOCKET])
            .args(["--innodb-buffer-pool-size=32M", "--performance-schema=ON"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let running = Running(child);
        let children = format!("/proc/{0}/task/{0}/children", running.0.id());
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let pid = fs::read_to_string(&children).unwrap_or_default();
            let pid = pid.trim().to_owned();
            // Before it has mounts of its own, the place is ours.
            let exe = fs::read_link(format!("/proc/{pid}/exe"));
            let is_started = exe.is_ok_and(|exe| exe.starts_with("/run/apart"));
            if is_started && UnixStream::connect(format!("/proc/{pid}/root{SOCKET}")).is_ok() {
                return Some(Self {
                    _server: server,
                    _running: running,
                    pid,
                });
            }
            assert!(Instant::now() < end, "the server does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Programs with the libraries that they need, and nothing else: as the last stage of the image.
fn image() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| dir.path().join(path.trim_start_matches('/'));
    for path in ["bin", "etc", "proc", "sys", "var/lib/freezeframe"] {
        fs::create_dir_all(at(path)).unwrap();
    }
    fs::write(at("etc/passwd"), "root:x:0:0:root:/root:/sbin/nologin\n").unwrap();
    let setpriv = ["/usr/bin/setpriv", "/bin/setpriv"];
    let setpriv = setpriv.into_iter().find(|path| Path::new(path).exists());
    for (program, name) in [
        (env!("CARGO_BIN_EXE_freezeframe"), "bin/freezeframe"),
        (setpriv.unwrap(), "bin/setpriv"),
    ] {
        fs::copy(program, at(name)).unwrap();
        let output = Command::new("ldd").arg(program).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let words = text.split_whitespace();
        for library in words.filter(|word| word.starts_with('/')) {
            let to: PathBuf = at(library);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(library, to).unwrap();
        }
    }
    dir
}

/// The program in a container as the DaemonSet makes it: uid 0, exactly these rights, no network of the server's.
fn in_container(image: &Path, rights: &[&str], arguments: &[&str]) -> Output {
    let mut set = "-all".to_owned();
    for right in rights {
        set += &format!(",+{right}");
    }
    Command::new("unshare")
        .args(["--mount", "--net", "--ipc", "--uts", "--cgroup"])
        .args(["sh", "-c", CONTAINER, "sh"])
        .arg(image)
        .args(["--clear-groups", "--no-new-privs"])
        .arg(format!("--inh-caps={set}"))
        .arg(format!("--bounding-set={set}"))
        .arg("/bin/freezeframe")
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("STATE_DIRECTORY", "/var/lib/freezeframe")
        .env("TMPDIR", "/var/lib/freezeframe")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// What `check --json` says of a source.
fn source<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let mut sources = answer["sources"].as_array().unwrap().iter();
    sources.find(|source| source["source"] == name).unwrap()
}

/// Functions of the server's own program, by whatever finds names in a file that is nowhere else.
fn names_functions(output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    for function in ["worker_main", "signal_hand"] {
        assert!(text.contains(function), "{function}: {text}");
    }
}

#[test]
fn a_server_in_namespaces_of_its_own_is_found_and_named_from_the_host() {
    let Some(apart) = Apart::new() else { return };
    assert!(!Path::new("/run/apart/mariadbd").exists());
    let output = freezeframe()
        .args(["check", "--json", "--look", "2s", "--pid", &apart.pid])
        .output()
        .unwrap();
    let answers: Value = serde_json::from_slice(&output.stdout).unwrap();
    let answer = &answers[0];
    assert!(output.status.success(), "{output:?}");
    for name in [
        "status",
        "query-probe",
        "processlist",
        "stacks",
        "error-log",
    ] {
        let source = source(answer, name);
        assert_eq!(source["taken"], true, "{source:#}");
    }
    // What the kernel tells of its own network only.
    for name in ["accept-queue", "connections"] {
        let source = source(answer, name);
        assert_eq!(source["taken"], false, "{source:#}");
        assert!(
            source.to_string().contains("another network namespace"),
            "{source:#}"
        );
    }
    let output = freezeframe().args(["stacks", "--pid", &apart.pid]).output();
    names_functions(&output.unwrap());
}

#[test]
fn the_recorder_in_a_container_sees_a_server_in_another_one() {
    let Some(apart) = Apart::new() else { return };
    let image = image();
    let check = ["check", "--json", "--look", "2s", "--pid", &apart.pid];
    let output = in_container(image.path(), &RIGHTS, &check);
    let said = String::from_utf8_lossy(&output.stderr);
    let answers: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    let answer = &answers[0];
    assert!(output.status.success(), "{said}");
    assert_eq!(answer["rights"]["tier"], RIGHTS.len(), "{said}");
    for name in ["status", "query-probe", "processlist", "stacks", "profile"] {
        let source = source(answer, name);
        assert_eq!(source["taken"], true, "{source:#}");
    }
    names_functions(&in_container(
        image.path(),
        &RIGHTS,
        &["stacks", "--pid", &apart.pid],
    ));
    let seconds = ["record", "--json", "--for", "5s", "--pid", &apart.pid];
    let output = in_container(image.path(), &RIGHTS, &seconds);
    assert!(output.status.success(), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("\"event\":\"version\""),
        "{output:?}"
    );
}
