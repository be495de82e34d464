//! `/proc/PID/mountinfo` (proc_pid_mountinfo(5)): which file system a path is on.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::text::{fields, lines};
use crate::read::{self, ReadError};

/// A line is some hundred bytes; hosts with ten thousand mounts exist.
const MOUNTINFO_BYTES_MAX: usize = 8 << 20;

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where it is mounted.
    pub point: PathBuf,
    /// Its type, such as `ext4`.
    pub file_system: String,
    /// Options of the mount and of the file system.
    pub options: String,
}

/// The mount that an absolute path without links is on: the one with the longest mount point, of
/// several on one point the last, which hides the others.
pub fn of_path(bytes: &[u8], path: &Path) -> Option<Mount> {
    lines(bytes)
        .filter_map(mount)
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.components().count())
}

fn mount(line: &[u8]) -> Option<Mount> {
    let mut rest = fields(line);
    let point = PathBuf::from(OsString::from_vec(unescaped(rest.nth(4)?)));
    let own = String::from_utf8_lossy(rest.next()?).into_owned();
    // A lone hyphen ends the optional fields; type, source and the file system's options follow.
    rest.find(|&field| field == b"-")?;
    let file_system = String::from_utf8_lossy(rest.next()?).into_owned();
    let options = rest.nth(1).map_or(own.clone(), |more| {
        format!("{own},{}", String::from_utf8_lossy(more))
    });
    Some(Mount {
        point,
        file_system,
        options,
    })
}

/// Blanks and backslashes stand as `\040` and the like.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        let octal = (first == b'\\')
            .then(|| tail.get(..3))
            .flatten()
            .and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok());
        match octal {
            Some(byte) => {
                out.push(byte);
                rest = tail.get(3..).unwrap_or_default();
            }
            None => {
                out.push(first);
                rest = tail;
            }
        }
    }
    out
}

/// Reads a `mountinfo` file.
pub fn read(path: &Path) -> Result<Vec<u8>, ReadError> {
    read::whole(path, MOUNTINFO_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_and_last_mount_point_counts() {
        let text = b"25 1 8:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro\n\
            30 25 8:2 / /var/lib/my\\040sql rw,noatime - xfs /dev/vdb rw,discard\n\
            31 30 0:9 / /var/lib/my\\040sql rw - nfs4 server:/x rw,hard\n\
            broken line\n";
        let at = |path: &str| of_path(text, Path::new(path)).unwrap();
        assert_eq!(at("/var/lib/mysql").file_system, "ext4");
        assert_eq!(
            at("/var/lib/mysql").options,
            "rw,relatime,rw,errors=remount-ro"
        );
        assert_eq!(at("/var/lib/my sql/data").file_system, "nfs4");
        assert!(of_path(b"", Path::new("/x")).is_none());
    }

    #[test]
    fn escapes_of_any_kind_are_no_trouble() {
        assert_eq!(unescaped(b"a\\040b\\"), b"a b\\");
        assert_eq!(unescaped(b"\\9zz\\04"), b"\\9zz\\04");
    }
}
