//! The sockets a process listens on: the inodes in its `fd` directory, looked up in its namespace's socket tables.

use super::{UnixListener, link, same_namespace};
use crate::procfs::net::{TCP_LISTEN, UnixName, tcp_sockets, unix_sockets};
use crate::read::{self, io_error};
use crate::roots::ProcRoot;
use std::collections::HashSet;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

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
                            host_path: host_path(root.as_deref(), &path),
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
            absent.push(format!("{e} (so its listening sockets are not known)"));
        })
        .ok()?;
    let mut inodes = HashSet::new();
    let mut refused = None;
    for (n, entry) in entries.flatten().enumerate() {
        if n == DESCRIPTORS_MAX {
            absent.push(format!(
                "{}: only the first {DESCRIPTORS_MAX} file descriptors were looked at",
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
        absent.push(format!("{e} (so its listening sockets are not all known)"));
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

fn host_path(root: Option<&Path>, path: &Path) -> PathBuf {
    match root {
        Some(root) => root.join(path.strip_prefix("/").unwrap_or(path)),
        None => path.to_owned(),
    }
}
