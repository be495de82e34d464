//! A file of our own beside those of the user. It is only ever made where none is and removed again: there is no
//! content of anybody else's that could be lost.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::root::Root;
use super::undone::Undone;

/// More than any file of ours has.
const BYTES_MAX: u64 = 64 << 10;

/// All of the host must read them: they are settings, and hold no secret.
pub(super) const FILE_MODE: u32 = 0o644;
const DIRECTORY_MODE: u32 = 0o755;

/// A file that is put somewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnFile {
    /// Where, as the system names it.
    pub path: PathBuf,
    /// What is in it.
    pub content: String,
    /// Directories above it that were not there before, the outermost first.
    pub directories: Vec<PathBuf>,
    /// Who is told that it is there.
    pub reload: Option<Reload>,
}

/// Who must be told of a file that was made or removed. Telling changes nothing that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reload {
    /// `systemctl daemon-reload`
    Systemd,
}

impl OwnFile {
    pub(super) fn new(root: &Root, path: PathBuf, content: String, reload: Option<Reload>) -> Self {
        let missing = path
            .ancestors()
            .skip(1)
            .take_while(|dir| root.here(dir).symlink_metadata().is_err());
        let mut directories: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        directories.reverse();
        Self {
            path,
            content,
            directories,
            reload,
        }
    }

    /// What is at its place: nothing, our content, or something else.
    pub(super) fn is_ours(&self, root: &Root) -> std::io::Result<Option<bool>> {
        let here = root.here(&self.path);
        if let Some(parent) = here.ancestors().skip(1).find(|parent| parent.is_dir()) {
            root.holds(parent)?;
        }
        let metadata = match here.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            // A directory above it is a file.
            Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(None),
            Err(error) => return Err(error),
        };
        if !metadata.is_file() {
            return Ok(Some(false));
        }
        let mut content = Vec::new();
        File::open(&here)?
            .take(BYTES_MAX)
            .read_to_end(&mut content)?;
        Ok(Some(content == self.content.as_bytes()))
    }

    /// Puts it there, whole or not at all; fails when something is there.
    pub(super) fn make(&self, root: &Root, id: &str) -> std::io::Result<()> {
        for dir in &self.directories {
            let here = root.here(dir);
            match DirBuilder::new().mode(DIRECTORY_MODE).create(&here) {
                Ok(()) => {
                    // The umask has no say in what the server must be able to read.
                    std::fs::set_permissions(&here, Permissions::from_mode(DIRECTORY_MODE))?;
                    sync_parent(&here)?;
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        let here = root.here(&self.path);
        let parent = here.parent().unwrap_or(Path::new("/"));
        root.holds(parent)?;
        let temporary = self.temporary(root, id);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(FILE_MODE)
            .open(&temporary)?;
        file.write_all(self.content.as_bytes())?;
        file.set_permissions(Permissions::from_mode(FILE_MODE))?;
        file.sync_all()?;
        // Unlike a rename a link does not replace what somebody has put there meanwhile.
        let linked = std::fs::hard_link(&temporary, &here);
        std::fs::remove_file(&temporary)?;
        linked?;
        sync_parent(&here)
    }

    /// Takes it away, and the directories that were made for it where they are empty. Content that is not ours stays
    /// unless it is `forced`.
    pub(super) fn take_away(&self, root: &Root, id: &str, forced: bool) -> std::io::Result<Undone> {
        let here = root.here(&self.path);
        let temporary = self.temporary(root, id);
        if let Some(parent) = here.parent().filter(|parent| parent.is_dir()) {
            root.holds(parent)?;
        }
        match std::fs::remove_file(&temporary) {
            Err(error) if !is_missing(&error) => return Err(error),
            _ => {}
        }
        let undone = match self.is_ours(root)? {
            None => Undone::NothingToDo,
            Some(ours) if ours || forced => {
                std::fs::remove_file(&here)?;
                sync_parent(&here)?;
                Undone::Back
            }
            Some(_) => {
                return Ok(Undone::Changed {
                    now: "another content".to_owned(),
                });
            }
        };
        for dir in self.directories.iter().rev() {
            let here = root.here(dir);
            match std::fs::remove_dir(&here) {
                Ok(()) => sync_parent(&here)?,
                Err(error) if is_missing(&error) => {}
                // Somebody else has put something there.
                Err(_) => break,
            }
        }
        Ok(undone)
    }

    /// Its name while it is written. None of those who read such directories reads it: they go by how names end.
    fn temporary(&self, root: &Root, id: &str) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        root.here(&self.path)
            .with_file_name(format!(".{name}.{id}.freezeframe-new"))
    }
}

fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn sync_parent(path: &Path) -> std::io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    File::open(parent)?.sync_all()
}
