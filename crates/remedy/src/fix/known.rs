//! Which journals of fixes there are besides the usual one: whoever lists leases later does not know the directory that
//! one was made with. A file of a path a line, beside the incidents.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::Entry;
use crate::JournalError;
use crate::journal::distrusted;
use crate::trust::{check_writers, own_directory};

/// The file.
const NAME: &str = "fix-dirs";

/// Paths that are kept. People have one or two; scripts that make a directory each time have more.
const PATHS_MAX: usize = 1_000;

/// Bytes of the file that are read.
const BYTES_MAX: u64 = 1 << 20;

/// Remembers a journal in a directory of ours, so that [`known_journals`] has it. Those whose directory is gone are
/// forgotten on the way, and the oldest ones where there are more than a thousand.
pub fn remember_journal(state: &Path, journal: &Path) -> Result<(), JournalError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| JournalError::Io { path, source }
    };
    let line = journal.as_os_str().as_bytes();
    if line.contains(&b'\n') || !journal.is_absolute() {
        let why = std::io::Error::other("a path with a line break is not remembered");
        return Err(failed(journal)(why));
    }
    own_directory(state).map_err(distrusted::<Entry>)?;
    let lock_path = state.join(format!("{NAME}.lock"));
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(&lock_path)
        .map_err(failed(&lock_path))?;
    flock(&lock, FlockOperation::LockExclusive)
        .map_err(|error| failed(&lock_path)(error.into()))?;
    let path = state.join(NAME);
    let mut paths = read(&path).map_err(failed(&path))?;
    paths.retain(|known| known != journal && known.is_dir());
    paths.push(journal.to_owned());
    let kept = paths.len().saturating_sub(PATHS_MAX);
    let mut text = Vec::new();
    for known in paths.iter().skip(kept) {
        text.extend(known.as_os_str().as_bytes());
        text.push(b'\n');
    }
    let temporary = state.join(format!("{NAME}.tmp"));
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)
        .and_then(|mut file| {
            file.write_all(&text)?;
            file.sync_all()
        })
        .and_then(|()| std::fs::rename(&temporary, &path))
        .map_err(failed(&path))
}

/// The journals that were remembered, the oldest first; also such as are gone.
pub fn known_journals(state: &Path) -> Result<Vec<PathBuf>, JournalError> {
    let path = state.join(NAME);
    if !path.exists() {
        return Ok(Vec::new());
    }
    check_writers(&path, rustix::process::geteuid().as_raw()).map_err(distrusted::<Entry>)?;
    read(&path).map_err(|source| JournalError::Io { path, source })
}

fn read(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes)?;
    let lines = bytes.split(|byte| *byte == b'\n');
    let paths = lines.map(|line| PathBuf::from(OsStr::from_bytes(line)));
    Ok(paths
        .filter(|path| path.is_absolute())
        .take(PATHS_MAX)
        .collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn journals_are_remembered_once_and_forgotten_when_they_are_gone() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        assert!(known_journals(&state).unwrap().is_empty());
        assert!(!state.exists(), "looking makes nothing");
        let journals: Vec<PathBuf> = (0..3).map(|n| dir.path().join(format!("j{n}"))).collect();
        for journal in &journals {
            std::fs::create_dir(journal).unwrap();
            remember_journal(&state, journal).unwrap();
        }
        remember_journal(&state, &journals[0]).unwrap();
        let wanted = [1, 2, 0].map(|at| journals[at].clone());
        assert_eq!(known_journals(&state).unwrap(), wanted);
        std::fs::remove_dir(&journals[1]).unwrap();
        remember_journal(&state, &journals[2]).unwrap();
        let wanted = [0, 2].map(|at| journals[at].clone());
        assert_eq!(known_journals(&state).unwrap(), wanted);
        assert!(remember_journal(&state, Path::new("/a\nb")).is_err());
        assert!(remember_journal(&state, Path::new("relative")).is_err());
        // Whoever can write there could have us look anywhere.
        std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(
            known_journals(&state),
            Err(JournalError::NotOurs { .. })
        ));
        assert!(remember_journal(&state, &journals[0]).is_err());
    }

    #[test]
    fn a_damaged_file_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let text = "/x\n".repeat(5000) + "\u{0}relative\n\n/y";
        std::fs::write(dir.path().join(NAME), text).unwrap();
        assert_eq!(known_journals(dir.path()).unwrap().len(), PATHS_MAX);
    }
}
