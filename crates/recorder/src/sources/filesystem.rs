//! How full the file system of the server's data is.

use kernel::places;
use kernel::read::ReadError;
use model::{Reading, Unit};

use super::logs::LogState;
use super::process::known;
use super::{Outcome, Reader, absent, readings, signals};

#[rustfmt::skip]
pub(crate) static FILESYSTEM: Reader<LogState> = Reader {
    source: "filesystem",
    signals: &[
        signals(&["filesystem.*.used_share"], "g", "of the data directory, as a server sees it that is not root; captures have mount points"),
    ],
    read: filesystem,
};

/// mysqld makes its data directory its working directory (sql/mysqld.cc), which is found without a login and in a
/// container, too. What root could still write counts as full, because the server is not root.
fn filesystem(state: &mut LogState) -> Outcome {
    const WHAT: &str = "filesystem";
    let server = known(&state.shared, WHAT)?;
    let link = state.proc.of(server.pid, "cwd");
    let failed = |source| {
        absent(
            WHAT,
            &ReadError::Io {
                path: link.clone(),
                source,
            },
        )
    };
    let directory = std::fs::read_link(&link).map_err(failed)?;
    let room = places::room(&link).map_err(failed)?;
    let mut found = Vec::new();
    if room.bytes > 0 {
        let used = 1.0 - room.free_bytes as f64 / room.bytes as f64;
        let name = format!("filesystem.{}.used_share", directory.display());
        found.push(Reading::gauge(name, Unit::Share, used));
    }
    Ok(readings(found))
}
