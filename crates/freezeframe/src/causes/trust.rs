//! Whether what root does by a user's own cause can have been written by somebody else.
//!
//! `[[fix]]` of a cause is acted on by `fix --apply`: who can write the file, or put another one in its place, would
//! change settings as root.

use std::path::PathBuf;

use remedy::check_writers;

/// Fails with a sentence when others than root and `caller` can write one of these: a directory of causes with its files.
pub(super) fn check(paths: &[PathBuf], caller: u32) -> Result<(), String> {
    let mut each = paths.iter().map(|path| check_writers(path, caller));
    each.try_for_each(|checked| checked.map_err(|why| why.to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::path::Path;

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
        if me == 0 {
            std::os::unix::fs::chown(dir.path(), Some(4711), None).unwrap();
            let error = check(&[dir.path().to_owned()], 0).unwrap_err();
            assert!(error.contains("belongs to user 4711"), "{error}");
            assert_eq!(check(&[dir.path().to_owned()], 4711), Ok(()));
        } else {
            let error = check(&[dir.path().to_owned()], me + 1).unwrap_err();
            assert!(error.contains("belongs to user"), "{error}");
        }
    }
}
