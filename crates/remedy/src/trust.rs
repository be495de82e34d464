//! Whether what we act on can have been written by somebody else.
//!
//! What a journal says is done, often as root: who can write it, or put another directory in its place, would change a
//! system by it. So every directory that leads to it counts as well.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Group and others may write.
const WRITABLE: u32 = 0o022;

/// In such a directory nobody can move or remove what is another one's (`S_ISVTX`).
const STICKY: u32 = 0o1000;

const ROOT: u32 = 0;

/// Why something is not trusted.
#[derive(Debug, Error)]
pub enum Distrust {
    /// It cannot be looked at, or made.
    #[error("{path}: {source}")]
    Io {
        /// What.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It belongs to somebody else than root and us.
    #[error("{path} belongs to user {owner}")]
    Owner {
        /// What.
        path: PathBuf,
        /// Whose.
        owner: u32,
    },
    /// Group or others may write.
    #[error("{path} can be written by others (mode {mode:04o})")]
    Writable {
        /// What.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It is a symbolic link, or a file.
    #[error("{path} is a link, not a directory")]
    NotADirectory {
        /// What.
        path: PathBuf,
    },
}

impl Distrust {
    /// What a person does about it.
    fn remedy(&self) -> String {
        match self {
            Self::Io { .. } => String::new(),
            Self::Owner { path, .. } => format!(
                "; use another directory, or chown {} {}",
                rustix::process::geteuid().as_raw(),
                path.display()
            ),
            Self::Writable { path, .. } => {
                format!("; use another directory, or chmod go-w {}", path.display())
            }
            Self::NotADirectory { .. } => "; name the directory that it points to".to_owned(),
        }
    }

    /// Why, and what to do about it, as the end of a sentence.
    pub fn advice(&self) -> String {
        format!("{self}{}", self.remedy())
    }
}

/// Fails when others than root and `caller` can write a file or directory, or put another one in its place. A link is
/// followed; what leads to it counts as well as what it leads to.
pub fn check_writers(path: &Path, caller: u32) -> Result<(), Distrust> {
    check_chain(path, caller, false)
}

/// `is_above`: the last component only leads to what is meant, too.
fn check_chain(path: &Path, caller: u32, is_above: bool) -> Result<(), Distrust> {
    let named = std::path::absolute(path).map_err(io(path))?;
    let real = named.canonicalize().map_err(io(path))?;
    for whole in [&named, &real] {
        for (above, part) in whole.ancestors().enumerate() {
            check_one(part, above > 0 || is_above, caller)?;
        }
    }
    Ok(())
}

fn check_one(path: &Path, is_above: bool, caller: u32) -> Result<(), Distrust> {
    let metadata = path.symlink_metadata().map_err(io(path))?;
    let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
    let path = || path.to_owned();
    if owner != ROOT && owner != caller {
        return Err(Distrust::Owner {
            path: path(),
            owner,
        });
    }
    // The mode of a link says nothing.
    let is_kept = is_above && mode & STICKY != 0;
    if !metadata.is_symlink() && mode & WRITABLE != 0 && !is_kept {
        return Err(Distrust::Writable { path: path(), mode });
    }
    Ok(())
}

/// Makes the directory of a journal where it is missing (0700), and refuses one that is not ours alone: a link, another
/// user's, one that others can write or replace. Nothing is made below a directory that is refused.
pub(crate) fn own_directory(dir: &Path) -> Result<(), Distrust> {
    let caller = rustix::process::geteuid().as_raw();
    let whole = std::path::absolute(dir).map_err(io(dir))?;
    if let Some(there) = whole
        .ancestors()
        .find(|part| part.symlink_metadata().is_ok())
        && there != whole
    {
        check_chain(there, caller, true)?;
    }
    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(&whole);
    let metadata = match (made, whole.symlink_metadata()) {
        (_, Ok(metadata)) => metadata,
        (Err(error), Err(_)) | (Ok(()), Err(error)) => return Err(io(dir)(error)),
    };
    if !metadata.is_dir() {
        return Err(Distrust::NotADirectory {
            path: dir.to_owned(),
        });
    }
    if metadata.uid() != caller {
        return Err(Distrust::Owner {
            path: dir.to_owned(),
            owner: metadata.uid(),
        });
    }
    check_writers(&whole, caller)
}

/// Fails when a directory that is open, with this owner and mode, is not the caller's alone.
pub(crate) fn is_own_directory(
    dir: &Path,
    (owner, mode): (u32, u32),
    caller: u32,
) -> Result<(), Distrust> {
    let path = dir.to_owned();
    if owner != caller {
        return Err(Distrust::Owner { path, owner });
    }
    match mode & WRITABLE {
        0 => Ok(()),
        _ => Err(Distrust::Writable {
            path,
            mode: mode & 0o7777,
        }),
    }
}

/// As [`own_directory`], but nothing is made: false where there is nothing.
pub(crate) fn has_own_directory(dir: &Path) -> Result<bool, Distrust> {
    match dir.symlink_metadata() {
        Ok(_) => own_directory(dir).map(|()| true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(io(dir)(error)),
    }
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Distrust + use<> {
    let path = path.to_owned();
    move |source| Distrust::Io { path, source }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_directory_of_ours_is_made_and_used() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b/c");
        assert!(!has_own_directory(&deep).unwrap());
        assert!(!dir.path().join("a").exists(), "looking makes nothing");
        own_directory(&deep).unwrap();
        assert_eq!(deep.metadata().unwrap().mode() & 0o777, 0o700);
        assert!(has_own_directory(&deep).unwrap());
        // A directory as /tmp is, with one of our own in it.
        mode(&dir.path().join("a"), 0o1777);
        own_directory(&deep).unwrap();
    }

    #[test]
    fn what_others_can_write_or_replace_is_refused_and_nothing_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let above = dir.path().join("above");
        let journal = above.join("deep/journal");
        own_directory(&journal).unwrap();
        for open in [0o777, 0o775, 0o702] {
            mode(&above, open);
            let error = own_directory(&journal).unwrap_err();
            assert!(matches!(error, Distrust::Writable { .. }), "{error}");
            let advice = error.advice();
            let wanted = format!("chmod go-w {}", above.display());
            assert!(advice.ends_with(&wanted), "{advice}");
            let new = above.join("new/journal");
            assert!(own_directory(&new).is_err());
            assert!(!above.join("new").exists());
        }
        mode(&above, 0o755);
        // Everybody may put files there, with this bit as well as without.
        for open in [0o777, 0o770, 0o1777] {
            mode(&journal, open);
            assert!(own_directory(&journal).is_err(), "{open:o}");
        }
        mode(&journal, 0o700);
        own_directory(&journal).unwrap();
    }

    #[test]
    fn a_link_is_refused_and_what_a_link_above_leads_to_counts() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        own_directory(&real.join("journal")).unwrap();
        symlink(real.join("journal"), &link).unwrap();
        let error = own_directory(&link).unwrap_err();
        assert!(matches!(error, Distrust::NotADirectory { .. }), "{error}");
        assert!(has_own_directory(&link).is_err());
        // One that leads nowhere is not followed either.
        let dangling = dir.path().join("dangling");
        symlink(dir.path().join("nowhere"), &dangling).unwrap();
        assert!(own_directory(&dangling).is_err());
        assert!(!dir.path().join("nowhere").exists());
        let above = dir.path().join("above");
        symlink(&real, &above).unwrap();
        own_directory(&above.join("journal")).unwrap();
        mode(&real, 0o777);
        assert!(own_directory(&above.join("journal")).is_err());
    }

    #[test]
    fn another_user_s_directory_is_refused_wherever_it_stands() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can give directories away");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let above = dir.path().join("above");
        let journal = above.join("journal");
        own_directory(&journal).unwrap();
        for path in [&journal, &above] {
            chown(path, Some(4711), None).unwrap();
            let error = own_directory(&journal).unwrap_err();
            assert!(
                matches!(error, Distrust::Owner { owner: 4711, .. }),
                "{error}"
            );
            assert!(error.advice().contains("chown 0 "), "{}", error.advice());
            chown(path, Some(0), None).unwrap();
        }
        own_directory(&journal).unwrap();
    }
}
