//! Where the log file goes, as the server names the place and as we reach it.

use std::path::{Path, PathBuf};

use kernel::roots::ProcRoot;
use kernel::servers::path_from_here;
use server::{ServerError, Session};

use crate::ProcessId;

/// A directory of the server's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogDirectory {
    /// As the server names it.
    pub(super) there: PathBuf,
    /// As we reach it.
    pub(super) here: PathBuf,
}

/// The server's data directory, and its directory for temporary files where the first is not reached: a server is
/// always permitted to write the one, and often confined to it (AppArmor, SELinux, `ProtectSystem=`).
pub(super) fn log_directories(
    session: &mut Session,
    process: Option<ProcessId>,
) -> Result<Vec<LogDirectory>, ServerError> {
    let (rows, _) = session.rows(
        "SELECT @@GLOBAL.datadir AS datadir, @@GLOBAL.tmpdir AS tmpdir",
        1,
    )?;
    let Some(row) = rows.first() else {
        return Ok(Vec::new());
    };
    let root = process.and_then(other_root);
    // Several temporary directories are separated by colons.
    let temporary = row.get("tmpdir").split(':').next().unwrap_or_default();
    Ok([row.get("datadir"), temporary]
        .into_iter()
        .map(Path::new)
        .filter(|there| there.is_absolute())
        .map(|there| LogDirectory {
            there: there.to_owned(),
            // The file may have to be removed after the server's end.
            here: path_from_here(root.as_deref(), there),
        })
        .collect())
}

/// The root of a process that sees other file systems than we do: in a container, a chroot, or with a mount namespace
/// of its own.
fn other_root(process: ProcessId) -> Option<PathBuf> {
    let proc = ProcRoot::default();
    let namespace = |path: PathBuf| std::fs::read_link(path).ok();
    let theirs = namespace(proc.of(process.pid, "ns").join("mnt"))?;
    let ours = namespace(proc.file("self/ns").join("mnt"))?;
    let root = proc.of(process.pid, "root");
    let changed_root = std::fs::read_link(&root).is_ok_and(|root| root != Path::new("/"));
    (theirs != ours || changed_root).then_some(root)
}

/// Bytes that may still be written to the file system of a path.
pub(crate) fn free_bytes(path: &Path) -> std::io::Result<u64> {
    let status = rustix::fs::statvfs(path)?;
    Ok(status.f_bavail.saturating_mul(status.f_frsize))
}
