//! A directory that looks like the root of a host with a MariaDB, and what `fix` says in it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::freezeframe;

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const ENABLED: &str = "sys/kernel/mm/transparent_hugepage/enabled";
pub(crate) const DEFRAG: &str = "sys/kernel/mm/transparent_hugepage/defrag";
pub(crate) const AT_BOOT: &str = "etc/tmpfiles.d/zz-freezeframe-thp.conf";

pub(crate) struct Scene {
    dir: tempfile::TempDir,
}

/// Type, mode, owner and content of everything in a tree. Times are no part of it.
pub(crate) type Tree = BTreeMap<PathBuf, (u32, u32, u32, Vec<u8>)>;

impl Scene {
    pub(crate) fn new() -> Self {
        let scene = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        for (path, text) in [
            ("etc/os-release", "ID=debian\nPRETTY_NAME=\"Debian 12\"\n"),
            (
                "etc/mysql/my.cnf",
                "[mysqld]\nport = 3306\n!includedir /etc/mysql/conf.d/\n",
            ),
            (
                "etc/mysql/conf.d/mine.cnf",
                "[mysqld]\nmax_connections = 500\n",
            ),
            ("etc/sysctl.d/10-mine.conf", "vm.swappiness = 60\n"),
            ("run/systemd/system/x", ""),
            ("usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "\x7fELF"),
            (ENABLED, "always [madvise] never\n"),
            (DEFRAG, "always defer defer+madvise [madvise] never\n"),
            ("proc/sys/vm/swappiness", "60\n"),
            ("proc/sys/vm/dirty_bytes", "0\n"),
            ("proc/sys/vm/dirty_ratio", "20\n"),
            ("proc/sys/vm/dirty_background_bytes", "0\n"),
            ("proc/sys/vm/dirty_background_ratio", "10\n"),
            ("proc/4711/cgroup", "0::/system.slice/mariadb.service\n"),
            ("proc/4711/cmdline", "/usr/sbin/mariadbd\0"),
            ("proc/4711/comm", "mariadbd\n"),
            (
                "proc/4711/status",
                "Name:\tmariadbd\nPPid:\t1\nVmRSS:\t 2097152 kB\n",
            ),
            (
                "proc/4711/maps",
                "7f00-7f01 r-xp 00000000 08:01 1 /usr/lib/libc.so.6\n",
            ),
            (
                "proc/4711/stat",
                "4711 (mariadbd) S 1 4711 4711 0 -1 4194304 1 0 0 0 1 1 0 0 20 0 8 0 99 1000000 1000 \
                 18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
            ),
        ] {
            scene.write(path, text);
        }
        // Neither a program of this machine nor a path that is there: only its name is looked at.
        symlink("/usr/sbin/mariadbd", scene.path("proc/4711/exe")).unwrap();
        fs::set_permissions(
            scene.path("etc/mysql/conf.d/mine.cnf"),
            fs::Permissions::from_mode(0o640),
        )
        .unwrap();
        scene
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.dir.path().join("fixes")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub(crate) fn fix(&self, arguments: &[&str]) -> Command {
        let mut command = freezeframe();
        command
            .arg("fix")
            .args(arguments)
            .arg("--root")
            .arg(self.root())
            .arg("--fix-dir")
            .arg(self.journal());
        if !arguments.contains(&"--config") {
            command.arg("--config").arg(self.config());
        }
        command
    }

    /// What is remembered of leases is so in the scene, and not on this machine.
    pub(crate) fn config(&self) -> PathBuf {
        let path = self.dir.path().join("freezeframe.toml");
        fs::write(&path, format!("dir = {:?}\n", self.dir.path())).unwrap();
        path
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.fix(arguments).output().unwrap()
    }

    /// The document of a run that went well.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let mut arguments = arguments.to_vec();
        arguments.push("--json");
        document(&self.run(&arguments))
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.fix(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        walk(&self.root(), &mut tree);
        tree
    }
}

/// A watchdog may be at work meanwhile: what is gone when it is looked at is not there.
fn walk(dir: &Path, tree: &mut Tree) {
    let Some(entries) = there(fs::read_dir(dir)) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        let Some(metadata) = there(path.symlink_metadata()) else {
            continue;
        };
        let content = if metadata.is_file() {
            there(fs::read(&path)).unwrap_or_default()
        } else {
            Vec::new()
        };
        if metadata.is_dir() {
            walk(&path, tree);
        }
        tree.insert(
            path,
            (metadata.mode(), metadata.uid(), metadata.gid(), content),
        );
    }
}

fn there<T>(found: std::io::Result<T>) -> Option<T> {
    match found {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        found => Some(found.unwrap()),
    }
}

pub(crate) fn document(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

pub(crate) fn text(output: &Output) -> String {
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The one line of a run that failed.
pub(crate) fn error(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "waited for {what} in vain");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// xorshift64*: rounds that failed can be run again.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = u128::from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D));
        ((high * u128::from(end)) >> 64) as u64
    }
}
