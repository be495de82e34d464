//! The sockets a process listens on: the inodes in its `fd` directory, looked up in its namespace's socket tables.

use super::{UnixListener, link, same_namespace};
use crate::procfs::net::{TCP_LISTEN, UnixName, tcp_sockets, unix_sockets};
use crate::read::{self, io_error};
use crate::roots::ProcRoot;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// File descriptors looked at, lowest first; a server opens its listening sockets before its connections.
const DESCRIPTORS_MAX: usize = 65_536;
/// The listening sockets come first in `tcp` and `tcp6` (net/ipv4/tcp_ipv4.c, `tcp_get_idx`), 150 bytes each: room
/// for 1,700 of them. The connections that follow are not looked at.
const TCP_BYTES_MAX: usize = 256 << 10;
/// The unix sockets have no useful order: room for some 80,000.
const UNIX_BYTES_MAX: usize = 8 << 20;

#[derive(Default)]
pub(super) struct Listening {
    pub(super) unix: Vec<UnixListener>,
    pub(super) tcp: Vec<(IpAddr, u16)>,
}

pub(super) fn listening(
    proc: &ProcRoot,
    pid: u32,
    cwd: Option<&Path>,
    absent: &mut Vec<String>,
) -> Listening {
    let mut listening = Listening::default();
    let Some(inodes) = socket_inodes(proc, pid, absent) else {
        return listening;
    };
    for table in ["net/tcp", "net/tcp6"] {
        let path = proc.of(pid, table);
        match read::head(&path, TCP_BYTES_MAX) {
            Ok(bytes) => listening.tcp.extend(
                tcp_sockets(&bytes)
                    .filter(|socket| socket.state == TCP_LISTEN && inodes.contains(&socket.inode))
                    .map(|socket| (socket.local.ip(), socket.local.port())),
            ),
            // Without IPv6 in the kernel there is no tcp6.
            Err(e) if e.is_gone() && table == "net/tcp6" => {}
            Err(e) => absent.push(e.to_string()),
        }
    }
    match read::whole(&proc.of(pid, "net/unix"), UNIX_BYTES_MAX) {
        Ok(bytes) => {
            let root = other_root(proc, pid, absent);
            listening.unix = unix_sockets(&bytes)
                .filter(|socket| socket.listening && inodes.contains(&socket.inode))
                .filter_map(|socket| match socket.name {
                    UnixName::Path(path) => {
                        let path = cwd.map_or_else(|| path.to_owned(), |cwd| cwd.join(path));
                        Some(UnixListener {
                            host_path: path_from_here(root.as_deref(), &path),
                            path,
                            inode: socket.inode,
                        })
                    }
                    UnixName::Abstract(_) | UnixName::Unnamed => None,
                })
                .collect();
        }
        Err(e) => absent.push(e.to_string()),
    }
    listening
}

/// The inodes of the process's sockets; needs CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH over another user's process.
fn socket_inodes(proc: &ProcRoot, pid: u32, absent: &mut Vec<String>) -> Option<HashSet<u64>> {
    let directory = proc.of(pid, "fd");
    let entries = fs::read_dir(&directory)
        .map_err(|e| {
            let e = io_error(&directory, e);
            absent.push(format!("{e} (so its listening sockets are unknown)"));
        })
        .ok()?;
    let mut inodes = HashSet::new();
    let mut refused = None;
    for (n, entry) in entries.flatten().enumerate() {
        if n == DESCRIPTORS_MAX {
            absent.push(format!(
                "{}: only the first {DESCRIPTORS_MAX} file descriptors were read",
                directory.display()
            ));
            break;
        }
        match fs::read_link(entry.path()) {
            Ok(target) => inodes.extend(socket_inode(&target)),
            // Closed since it was listed.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => refused = Some(io_error(&entry.path(), e)),
        }
    }
    if let Some(e) = refused {
        absent.push(format!(
            "{e} (so some of its listening sockets are unknown)"
        ));
    }
    Some(inodes)
}

fn socket_inode(target: &Path) -> Option<u64> {
    let target = target.to_str()?;
    target
        .strip_prefix("socket:[")?
        .strip_suffix(']')?
        .parse()
        .ok()
}

/// The way to the process's root directory, when it differs from the caller's.
fn other_root(proc: &ProcRoot, pid: u32, absent: &mut Vec<String>) -> Option<PathBuf> {
    let same_mounts = same_namespace(proc, pid, "mnt", absent)?;
    let root = link(&proc.of(pid, "root"), absent)?;
    (!same_mounts || root != Path::new("/")).then(|| proc.of(pid, "root"))
}

/// Where a path of a process with another root (`/proc/PID/root`) is reached from here. A unit of systemd with ProtectSystem= sees the same
/// files through mounts of its own: then the path is the same, and it outlives the process, which `/proc/PID/root` does not.
pub fn path_from_here(root: Option<&Path>, path: &Path) -> PathBuf {
    let Some(root) = root else {
        return path.to_owned();
    };
    let through = followed(root, path);
    let file = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    match (file(&through), file(path)) {
        (Some(theirs), Some(ours)) if theirs == ours => path.to_owned(),
        _ => through,
    }
}

/// Links that are followed on a path; the kernel's own limit (path_resolution(7)).
const LINKS_MAX: usize = 40;

/// A path below another root, with the links on it followed as a process does that has it as its root: one to `/run`
/// would else lead to our own, where another server may listen.
fn followed(root: &Path, path: &Path) -> PathBuf {
    let mut rest: Vec<OsString> = reversed(path);
    let mut done = PathBuf::new();
    let mut links = 0;
    while let Some(part) = rest.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        match fs::read_link(root.join(&done).join(&part)) {
            Ok(target) if links < LINKS_MAX => {
                links += 1;
                if target.is_absolute() {
                    done.clear();
                }
                rest.extend(reversed(&target));
            }
            _ => done.push(part),
        }
    }
    root.join(done)
}

/// The parts of a path, the last one first.
fn reversed(path: &Path) -> Vec<OsString> {
    path.components()
        .rev()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_of_another_root_stay_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("run/mysqld")).unwrap();
        fs::create_dir_all(root.join("var/lib")).unwrap();
        symlink("/run", root.join("var/run")).unwrap();
        symlink("../../../../run/mysqld", root.join("var/lib/sockets")).unwrap();
        symlink("round", root.join("var/round")).unwrap();
        let of = |path: &str| followed(root, Path::new(path));
        assert_eq!(of("/var/run/mysqld/s"), root.join("run/mysqld/s"));
        assert_eq!(of("/var/lib/sockets/s"), root.join("run/mysqld/s"));
        assert_eq!(of("/../../etc/s"), root.join("etc/s"));
        assert_eq!(of("/var/round/s"), root.join("var/round/s"));
    }

    #[test]
    fn a_file_that_is_the_same_from_here_has_its_own_path() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("s");
        fs::write(&socket, "").unwrap();
        // As of a unit with mounts of its own: another way to the same files.
        let root = dir.path().join("root");
        symlink("/", &root).unwrap();
        assert_eq!(path_from_here(Some(&root), &socket), socket);
        assert_eq!(path_from_here(None, &socket), socket);
        let other = dir.path().join("other");
        fs::create_dir(&other).unwrap();
        let inside = followed(&other, &socket);
        assert!(inside.starts_with(&other));
        assert_eq!(path_from_here(Some(&other), &socket), inside);
    }
}
