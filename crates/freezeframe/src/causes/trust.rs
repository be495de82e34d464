//! Whether what root does by a user's own cause can have been written by somebody else.
//!
//! `[[fix]]` of a cause is acted on by `fix --apply`: who can write the file, or put another one in its place, would
//! change settings as root.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Group and others may write.
const WRITABLE: u32 = 0o022;

/// In such a directory everybody has only files of their own (`S_ISVTX`).
const STICKY: u32 = 0o1000;

const ROOT: u32 = 0;

/// Fails with a sentence when others than root and `caller` can write one of these: a directory of causes with its files.
/// A link is followed; what leads to it counts as well as what it leads to.
pub(super) fn check(paths: &[PathBuf], caller: u32) -> Result<(), String> {
    for path in paths {
        let told = |error: std::io::Error| format!("{}: {error}", path.display());
        let named = std::path::absolute(path).map_err(told)?;
        let real = named.canonicalize().map_err(told)?;
        for whole in [&named, &real] {
            for (above, part) in whole.ancestors().enumerate() {
                check_one(part, above > 0, caller)?;
            }
        }
    }
    Ok(())
}

/// `is_above`: it only leads to what is read.
fn check_one(path: &Path, is_above: bool, caller: u32) -> Result<(), String> {
    let shown = path.display();
    let metadata = path
        .symlink_metadata()
        .map_err(|error| format!("{shown}: {error}"))?;
    let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
    if owner != ROOT && owner != caller {
        return Err(format!("{shown} belongs to user {owner}"));
    }
    // The mode of a link says nothing.
    let is_kept = is_above && mode & STICKY != 0;
    if !metadata.is_symlink() && mode & WRITABLE != 0 && !is_kept {
        return Err(format!(
            "{shown} can be written by others (mode {mode:04o})"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn what_others_can_write_is_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let causes = dir.path().join("causes.d");
        let file = causes.join("own.toml");
        fs::create_dir(&causes).unwrap();
        fs::write(&file, "").unwrap();
        let mode = |path: &Path, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let me = dir.path().metadata().unwrap().uid();
        let both = [causes.clone(), file.clone()];
        mode(&causes, 0o755);
        mode(&file, 0o644);
        assert_eq!(check(&both, me), Ok(()));
        // Everybody may put files there, with this bit as well as without.
        for open in [0o777, 0o775, 0o1777] {
            mode(&causes, open);
            let error = check(&both, me).unwrap_err();
            assert!(error.contains(&format!("mode {open:04o}")), "{error}");
        }
        mode(&causes, 0o755);
        mode(&file, 0o664);
        let error = check(&both, me).unwrap_err();
        assert!(error.contains("own.toml can be written"), "{error}");
        mode(&file, 0o644);
        // Who can write above it puts another directory in its place.
        mode(dir.path(), 0o777);
        assert!(check(&both, me).is_err());
        mode(dir.path(), 0o755);
        // A link is as good as what it leads to.
        let elsewhere = dir.path().join("open.toml");
        fs::write(&elsewhere, "").unwrap();
        mode(&elsewhere, 0o666);
        let link = causes.join("link.toml");
        symlink(&elsewhere, &link).unwrap();
        let error = check(&[link], me).unwrap_err();
        assert!(error.contains("open.toml"), "{error}");
    }

    #[test]
    fn what_is_another_user_s_is_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let me = dir.path().metadata().unwrap().uid();
        if me == ROOT {
            std::os::unix::fs::chown(dir.path(), Some(4711), None).unwrap();
            let error = check(&[dir.path().to_owned()], ROOT).unwrap_err();
            assert!(error.contains("belongs to user 4711"), "{error}");
            assert_eq!(check(&[dir.path().to_owned()], 4711), Ok(()));
        } else {
            let error = check(&[dir.path().to_owned()], me + 1).unwrap_err();
            assert!(error.contains("belongs to user"), "{error}");
        }
    }
}
