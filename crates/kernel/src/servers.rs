//! The database servers on this host, and how to reach each.
//!
//! Discovery works without privilege and then knows less: every gap is named in [`ServerProcess::absent`]. It reads
//! `cmdline`, and `maps` of a process that is started through a loader, which wait for that process's `mmap_lock`:
//! call it on a thread with a deadline. A server costs about 10 ms of CPU time, since the kernel walks its whole table of
//! connections for `net/tcp`; [`is_alive`] is the cheap question for one that is known already.

mod identify;
mod sockets;

pub use sockets::path_from_here;

use crate::procfs::task_stat::{self, PF_KTHREAD, TaskStat};
use crate::procfs::task_status;
use crate::read::{self, ReadError, io_error};
use crate::roots::ProcRoot;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Processes looked at; further ones are counted.
const PROCESSES_MAX: usize = 131_072;
/// Enough for `stat`'s 52 numbers and a name.
const STAT_BYTES_MAX: usize = 4096;
/// More of a command line than any server has; the rest is not looked at.
const CMDLINE_BYTES_MAX: usize = 256 << 10;

/// A running mysqld or mariadbd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerProcess {
    /// Process id.
    pub pid: u32,
    /// Start in ticks since boot: with the pid it names this run of the server, see [`is_alive`].
    pub start_time_ticks: u64,
    /// The server's executable as the process sees it; when `via_loader`, the mapped one, not the loader.
    pub exe: Option<PathBuf>,
    /// Started as `ld.so [options] mysqld …`: `/proc/PID/exe` and the name are the loader's.
    pub via_loader: bool,
    /// `mariadbd` or `mysqld`, by the name of the executable. An old MariaDB is called `mysqld` too.
    pub program: String,
    /// Effective user id.
    pub uid: Option<u32>,
    /// Unix sockets it listens on, those of other protocols (`mysqlx.sock`) included. Abstract names are left out.
    pub unix_sockets: Vec<UnixListener>,
    /// TCP addresses it listens on, in its own network namespace, those of other protocols included (X protocol,
    /// administration, Galera).
    pub tcp_ports: Vec<(IpAddr, u16)>,
    /// Whether it is in the caller's network namespace, so that `tcp_ports` can be connected to from here and
    /// [`crate::accept_queue`] sees its sockets. Absent when that cannot be read.
    pub same_net_namespace: Option<bool>,
    /// Its data directory, as the process sees it.
    pub datadir: Option<Datadir>,
    /// What could not be read, and why.
    pub absent: Vec<String>,
}

/// A unix socket that a server listens on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixListener {
    /// As the process sees it.
    pub path: PathBuf,
    /// Where to connect from here: through `/proc/PID/root` when the process sees other files there, else `path`.
    pub host_path: PathBuf,
    /// Inode, for [`crate::accept_queue::unix_by_inode`].
    pub inode: u64,
}

/// A guess at the data directory; the server's own `@@datadir` is the truth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datadir {
    /// The directory.
    pub path: PathBuf,
    /// What tells it.
    pub source: DatadirSource,
}

/// What tells the data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatadirSource {
    /// `--datadir` on the command line.
    CommandLine,
    /// The working directory: the server changes into its data directory (sql/mysqld.cc, `my_setwd`).
    WorkingDirectory,
}

/// What discovery found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Discovery {
    /// By process id.
    pub servers: Vec<ServerProcess>,
    /// Processes not looked at because of a limit.
    pub over_limit: usize,
}

/// Finds every server. Fails only when the processes cannot be listed; a procfs mounted with `hidepid` hides those of
/// other users without a word (proc(5)).
pub fn discover(proc: &ProcRoot) -> Result<Discovery, ReadError> {
    let (pids, over_limit) = processes(proc)?;
    Ok(Discovery {
        servers: pids
            .into_iter()
            .filter_map(|pid| server(proc, pid))
            .collect(),
        over_limit,
    })
}

/// The ids of all processes that are seen, rising, and how many were left out. [`server`] asks of each.
pub fn processes(proc: &ProcRoot) -> Result<(Vec<u32>, usize), ReadError> {
    let mut pids = Vec::new();
    let mut over_limit = 0;
    for entry in fs::read_dir(proc.path()).map_err(|e| io_error(proc.path(), e))? {
        let entry = entry.map_err(|e| io_error(proc.path(), e))?;
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        if pids.len() < PROCESSES_MAX {
            pids.push(pid);
        } else {
            over_limit += 1;
        }
    }
    pids.sort_unstable();
    Ok((pids, over_limit))
}

/// The process `pid`, when it is a server.
pub fn server(proc: &ProcRoot, pid: u32) -> Option<ServerProcess> {
    let stat = running(proc, pid)?;
    let mut absent = Vec::new();
    let identity = identify::identify(proc, pid, &stat.comm, &mut absent)?;
    let cwd = link(&proc.of(pid, "cwd"), &mut absent);
    let datadir = datadir(&cmdline(proc, pid, &mut absent), cwd.as_deref());
    let uid = note(task_status::read(&proc.of(pid, "status")), &mut absent)
        .and_then(|status| status.effective_uid);
    let same_net_namespace = same_namespace(proc, pid, "net", &mut absent);
    let listening = sockets::listening(proc, pid, cwd.as_deref(), &mut absent);
    // Another process may have got the number while this one was read.
    if !is_alive(proc, pid, stat.start_time_ticks) {
        return None;
    }
    Some(ServerProcess {
        pid,
        start_time_ticks: stat.start_time_ticks,
        exe: identity.exe,
        via_loader: identity.via_loader,
        program: identity.program.to_owned(),
        uid,
        unix_sockets: listening.unix,
        tcp_ports: listening.tcp,
        same_net_namespace,
        datadir,
        absent,
    })
}

/// Whether the process that had this id and start time still runs. Another one with the same id, and a zombie, do not
/// count.
pub fn is_alive(proc: &ProcRoot, pid: u32, start_time_ticks: u64) -> bool {
    running(proc, pid).is_some_and(|stat| stat.start_time_ticks == start_time_ticks)
}

/// The `stat` of a process that has code of its own and has not ended.
fn running(proc: &ProcRoot, pid: u32) -> Option<TaskStat> {
    let bytes = read::head(&proc.of(pid, "stat"), STAT_BYTES_MAX).ok()?;
    task_stat::parse(&bytes)
        .filter(|stat| stat.flags & PF_KTHREAD == 0 && !matches!(stat.state, 'Z' | 'X' | 'x'))
}

fn cmdline(proc: &ProcRoot, pid: u32, absent: &mut Vec<String>) -> Vec<u8> {
    note(
        read::head(&proc.of(pid, "cmdline"), CMDLINE_BYTES_MAX),
        absent,
    )
    .unwrap_or_default()
}

fn datadir(cmdline: &[u8], cwd: Option<&Path>) -> Option<Datadir> {
    // A relative --datadir is relative to basedir, which is not known here.
    let named = identify::option_value(cmdline, b"datadir").filter(|path| path.is_absolute());
    match (named, cwd) {
        (Some(path), _) => Some(Datadir {
            path,
            source: DatadirSource::CommandLine,
        }),
        (None, Some(cwd)) => Some(Datadir {
            path: cwd.to_owned(),
            source: DatadirSource::WorkingDirectory,
        }),
        (None, None) => None,
    }
}

/// Whether `pid` and the caller share a namespace (namespaces(7): equal links name one namespace).
fn same_namespace(proc: &ProcRoot, pid: u32, kind: &str, absent: &mut Vec<String>) -> Option<bool> {
    let theirs = link(&proc.of(pid, "ns").join(kind), absent)?;
    let ours = link(&proc.file("self/ns").join(kind), absent)?;
    Some(theirs == ours)
}

fn link(path: &Path, absent: &mut Vec<String>) -> Option<PathBuf> {
    note(fs::read_link(path).map_err(|e| io_error(path, e)), absent)
}

fn note<T>(result: Result<T, ReadError>, absent: &mut Vec<String>) -> Option<T> {
    result.map_err(|e| absent.push(e.to_string())).ok()
}
