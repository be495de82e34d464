//! Discovery in a made-up `/proc`, and of real processes with a server's name.

#![allow(clippy::print_stdout, reason = "tests tell what they skip or measure")]
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests count as plain code for clippy

use crate::copied;
use kernel::roots::ProcRoot;
use kernel::servers::{Datadir, DatadirSource, ServerProcess, discover, is_alive, server};
use std::fs;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A `/proc` in a temporary directory.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        tree.link("self/ns/net", "net:[1]");
        tree.link("self/ns/mnt", "mnt:[1]");
        tree
    }

    fn root(&self) -> ProcRoot {
        ProcRoot::at(self.0.path())
    }

    fn path(&self, name: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn file(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn link(&self, name: &str, target: &str) {
        symlink(target, self.path(name)).unwrap();
    }

    fn process(&self, pid: u32, comm: &str, state: char, flags: u32) {
        let stat = format!(
            "{pid} ({comm}) {state} 1 1 1 0 -1 {flags} 5 0 6 0 7 8 0 0 20 0 1 0 {pid}00 0 0 0\n"
        );
        self.file(&format!("{pid}/stat"), stat.as_bytes());
    }
}

const TCP_HEADER: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

/// A mariadbd with one TCP and one unix socket, in other namespaces.
fn mariadbd(tree: &Tree, pid: u32) {
    tree.process(pid, "mariadbd", 'S', 0x40_0100);
    let of = |name: &str| format!("{pid}/{name}");
    tree.link(&of("exe"), "/usr/sbin/mariadbd (deleted)");
    tree.link(&of("cwd"), "/var/lib/mysql");
    tree.link(&of("root"), "/no-such-root");
    tree.link(&of("ns/net"), "net:[2]");
    tree.link(&of("ns/mnt"), "mnt:[2]");
    tree.file(&of("cmdline"), b"/usr/sbin/mariadbd\0--port=3306\0");
    tree.file(&of("status"), b"Name:\tmariadbd\nUid:\t0\t112\t112\t112\n");
    tree.link(&of("fd/0"), "/dev/null");
    tree.link(&of("fd/20"), "socket:[500]");
    tree.link(&of("fd/21"), "socket:[501]");
    tree.link(&of("fd/22"), "socket:[502]");
    let tcp = format!(
        "{TCP_HEADER}   0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000 112 0 500 1 0 100\n   \
         1: 0100007F:0CEB 00000000:0000 0A 00000000:00000000 00:00000000 00000000 112 0 999 1 0 100\n   \
         2: 0100007F:0CEA 0100007F:9999 01 00000000:00000000 00:00000000 00000000 112 0 502 1 0 100\n"
    );
    tree.file(&of("net/tcp"), tcp.as_bytes());
    tree.file(
        &of("net/unix"),
        b"Num       RefCount Protocol Flags    Type St Inode Path\n\
          0000: 00000002 00000000 00010000 0001 01 501 mysql.sock\n\
          0000: 00000003 00000000 00000000 0001 03 502 mysql.sock\n\
          0000: 00000002 00000000 00010000 0001 01 998 /other.sock\n",
    );
}

#[cfg(target_endian = "little")]
#[test]
fn a_server_in_a_container() {
    let tree = Tree::new();
    mariadbd(&tree, 42);
    let found = discover(&tree.root()).unwrap();
    assert_eq!((found.servers.len(), found.over_limit), (1, 0));
    let server = &found.servers[0];
    assert_eq!((server.pid, server.start_time_ticks), (42, 4200));
    assert_eq!(server.exe.as_deref(), Some(Path::new("/usr/sbin/mariadbd")));
    assert_eq!(
        (server.program.as_str(), server.via_loader),
        ("mariadbd", false)
    );
    assert_eq!(server.uid, Some(112));
    assert_eq!(server.tcp_ports, [([127, 0, 0, 1].into(), 3306)]);
    assert_eq!(server.unix_sockets.len(), 1);
    assert_eq!(
        server.unix_sockets[0].path,
        Path::new("/var/lib/mysql/mysql.sock")
    );
    assert_eq!(
        server.unix_sockets[0].host_path,
        tree.0.path().join("42/root/var/lib/mysql/mysql.sock")
    );
    assert_eq!(server.unix_sockets[0].inode, 501);
    assert_eq!(server.same_net_namespace, Some(false));
    assert_eq!(
        server.datadir,
        Some(Datadir {
            path: "/var/lib/mysql".into(),
            source: DatadirSource::WorkingDirectory
        })
    );
    assert_eq!(server.absent, [""; 0]);
}

#[test]
fn without_privilege_name_and_command_line_tell() {
    let tree = Tree::new();
    tree.process(50, "mysqld", 'S', 0);
    tree.file("50/cmdline", b"/usr/sbin/mysqld\0--datadir=/data\0");
    tree.process(51, "ld-linux-x86-64", 'S', 0);
    tree.file(
        "51/cmdline",
        b"/r/ld-linux-x86-64.so.2\0--library-path\0/r/lib\0/r/sbin/mysqld\0--defaults-file=/d/my.cnf\0",
    );
    tree.process(52, "ld-linux-x86-64", 'S', 0);
    tree.file(
        "52/cmdline",
        b"/r/ld-linux-x86-64.so.2\0/bin/mysqld_safe\0--ledir\0mysqld\0",
    );
    let servers = discover(&tree.root()).unwrap().servers;
    let pids: Vec<_> = servers.iter().map(|s| s.pid).collect();
    assert_eq!(pids, [50, 51]);

    let direct = &servers[0];
    assert_eq!((direct.exe.as_ref(), direct.via_loader), (None, false));
    let datadir = direct.datadir.as_ref().unwrap();
    assert_eq!(datadir.path, Path::new("/data"));
    assert_eq!(datadir.source, DatadirSource::CommandLine);
    assert_eq!((direct.uid, direct.same_net_namespace), (None, None));
    for part in ["50/exe", "50/cwd", "50/status", "50/ns/net", "50/fd"] {
        assert!(
            direct.absent.iter().any(|text| text.contains(part)),
            "{part}: {direct:?}"
        );
    }

    let loaded = &servers[1];
    assert!(loaded.via_loader);
    assert_eq!(loaded.exe.as_deref(), Some(Path::new("/r/sbin/mysqld")));
}

#[test]
fn a_loader_is_told_by_its_maps() {
    let tree = Tree::new();
    tree.process(60, "renamed", 'S', 0);
    tree.link("60/exe", "/r/lib/ld-linux-x86-64.so.2");
    tree.file(
        "60/maps",
        b"1000-2000 r--p 00000000 fe:00 1 /r/sbin/mysqld\n2000-3000 r-xp 00001000 fe:00 1 /r/sbin/mysqld\n",
    );
    tree.process(61, "mysqld", 'S', 0);
    tree.link("61/exe", "/r/lib/ld-linux-x86-64.so.2");
    tree.file(
        "61/maps",
        b"1000-2000 r--p 00000000 fe:00 1 /r/data/mysqld\n2000-3000 r-xp 00001000 fe:00 1 /r/bin/cat\n",
    );
    let servers = discover(&tree.root()).unwrap().servers;
    assert_eq!(servers.len(), 1, "{servers:?}");
    assert_eq!(servers[0].exe.as_deref(), Some(Path::new("/r/sbin/mysqld")));
    assert!(servers[0].via_loader);
}

#[test]
fn what_is_not_a_server() {
    let tree = Tree::new();
    tree.process(70, "mysqld", 'Z', 0); // zombie
    tree.process(71, "mysqld", 'S', 0x0020_0000); // kernel thread
    tree.process(72, "mysqld_safe", 'S', 0);
    tree.link("72/exe", "/bin/dash");
    tree.file("72/cmdline", b"/bin/sh\0/usr/bin/mysqld_safe\0");
    tree.process(73, "mysqld", 'S', 0); // a name that its executable does not bear out
    tree.link("73/exe", "/usr/bin/python3");
    tree.file("74/stat", b"damaged");
    tree.file("75", b"not a directory");
    tree.file("uptime", b"1 1\n");
    assert_eq!(discover(&tree.root()).unwrap().servers, []);
    let missing = ProcRoot::at(tree.0.path().join("missing"));
    assert!(discover(&missing).is_err());
}

#[test]
fn a_number_that_is_used_again_is_another_process() {
    let tree = Tree::new();
    tree.process(80, "mysqld", 'S', 0);
    assert!(is_alive(&tree.root(), 80, 8000));
    assert!(!is_alive(&tree.root(), 80, 7999));
    assert!(!is_alive(&tree.root(), 81, 8000));
    tree.process(80, "mysqld", 'Z', 0);
    assert!(!is_alive(&tree.root(), 80, 8000));
}

/// A copy of `sleep` under a server's name that holds listening sockets as its first descriptors.
struct Imitation {
    child: Child,
    dir: tempfile::TempDir,
    port: u16,
}

impl Imitation {
    fn start(name: &str, loader: Option<&Path>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let exe = dir.path().join(name);
        copied::to_run(Path::new("/bin/sleep"), &exe);
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        let unix = UnixListener::bind(dir.path().join("s.sock")).unwrap();
        let mut command = match loader {
            Some(loader) => {
                let mut command = Command::new(loader);
                command.arg(&exe);
                command
            }
            None => Command::new(&exe),
        };
        let child = command
            .arg("600")
            .current_dir(dir.path())
            .stdin(Stdio::from(OwnedFd::from(tcp)))
            .stdout(Stdio::from(OwnedFd::from(unix)))
            .spawn()
            .unwrap();
        Self { child, dir, port }
    }

    /// What discovery says once the process has started its program.
    fn found(&self) -> ServerProcess {
        for _ in 0..200 {
            let found = server(&ProcRoot::default(), self.child.id());
            if let Some(found) = found {
                return found;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("not found");
    }
}

impl Drop for Imitation {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn check(imitation: &mut Imitation, name: &str, via_loader: bool) {
    let found = imitation.found();
    let listed = discover(&ProcRoot::default()).unwrap().servers;
    assert!(listed.contains(&found));
    let dir = imitation.dir.path();
    assert_eq!(found.exe.as_deref(), Some(dir.join(name).as_path()));
    assert_eq!(
        (found.program.as_str(), found.via_loader),
        (name, via_loader)
    );
    assert_eq!(found.tcp_ports, [([127, 0, 0, 1].into(), imitation.port)]);
    assert_eq!(found.same_net_namespace, Some(true));
    assert_eq!(found.datadir.as_ref().unwrap().path, dir);
    assert_eq!(found.unix_sockets.len(), 1);
    assert_eq!(found.unix_sockets[0].path, dir.join("s.sock"));
    UnixStream::connect(&found.unix_sockets[0].host_path).unwrap();
    assert_eq!(found.absent, [""; 0]);

    let alive = || is_alive(&ProcRoot::default(), found.pid, found.start_time_ticks);
    assert!(alive());
    imitation.child.kill().unwrap();
    imitation.child.wait().unwrap();
    assert!(!alive());
}

#[test]
fn a_real_process() {
    check(&mut Imitation::start("mariadbd", None), "mariadbd", false);
}

#[test]
fn a_real_process_started_by_the_loader() {
    let maps = fs::read("/proc/self/maps").unwrap();
    let loader = kernel::procfs::maps::mappings(&maps)
        .filter_map(|m| m.file())
        .find(|file| {
            file.file_name()
                .is_some_and(|n| n.to_string_lossy().starts_with("ld-"))
        });
    let Some(loader) = loader else {
        println!("skipped: this test is linked statically");
        return;
    };
    let mut imitation = Imitation::start("mysqld", Some(loader));
    check(&mut imitation, "mysqld", true);
}

#[test]
fn a_killed_process_that_nobody_waits_for_is_not_alive() {
    let mut imitation = Imitation::start("mysqld", None);
    let found = imitation.found();
    imitation.child.kill().unwrap();
    let stat = format!("/proc/{}/stat", found.pid);
    let mut zombie = String::new();
    for _ in 0..1000 {
        zombie = fs::read_to_string(&stat).unwrap();
        if zombie.contains(") Z ") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(zombie.contains(") Z "), "{zombie}");
    assert!(!is_alive(
        &ProcRoot::default(),
        found.pid,
        found.start_time_ticks
    ));
}
