//! Finds installed server programs, and reads and writes the files of a private server.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::Error;

/// Directories where distributions and the vendor's archives put MariaDB's programs; the server
/// itself is usually outside an ordinary user's PATH.
const PROGRAM_DIRECTORIES: [&str; 7] = [
    "/usr/sbin",
    "/usr/bin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/local/libexec",
    "/usr/local/mysql/bin",
];

/// Lines of a log or an output, counted from its end, that go into an error message.
const TAIL_LINES: usize = 20;

/// Bytes of the random password of the TCP account, before they are written in hexadecimal.
const PASSWORD_BYTES: usize = 16;

/// Bytes of a log, counted from its end, that are read for them.
const LOG_TAIL_BYTES: u64 = 8192;

/// The path of an installed program: first PATH, then [`PROGRAM_DIRECTORIES`].
pub(crate) fn find_program(program: &'static str, package: &'static str) -> Result<PathBuf, Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(PROGRAM_DIRECTORIES.iter().map(PathBuf::from))
        .map(|directory| directory.join(program))
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| Error::NotInstalled {
            program,
            directories: PROGRAM_DIRECTORIES.join(", "),
            package,
        })
}

/// A new directory that only we may enter, in `base` or else where temporary files go.
pub(crate) fn private_directory(base: Option<&Path>) -> Result<TempDir, Error> {
    let base = match base {
        Some(base) => base.to_path_buf(),
        None => std::env::temp_dir(),
    };
    let make = || {
        let base = std::path::absolute(&base)?;
        fs::create_dir_all(&base)?;
        tempfile::Builder::new()
            .prefix("freezeframe-lab-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(base)
    };
    make().map_err(Error::io(format!("make a directory in {}", base.display())))
}

/// Copies a directory of files and directories; what is linked is copied as what it is linked to.
pub(crate) fn copy_directory(from: &Path, to: &Path) -> Result<(), Error> {
    fn copy(from: &Path, to: &Path) -> io::Result<()> {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let target = to.join(entry.file_name());
            if entry.path().is_dir() {
                copy(&entry.path(), &target)?;
            } else {
                fs::copy(entry.path(), target)?;
            }
        }
        Ok(())
    }
    copy(from, to).map_err(Error::io(format!(
        "copy {} to {}",
        from.display(),
        to.display()
    )))
}

/// A password that nobody guesses, of hexadecimal digits.
pub(crate) fn random_password() -> Result<String, Error> {
    let mut bytes = [0; PASSWORD_BYTES];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(Error::io("read /dev/urandom"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A log file, looked at from where it ended at one moment.
pub(crate) struct Log {
    pub(crate) path: PathBuf,
    from_bytes: u64,
}

impl Log {
    /// What is written to the file from now on.
    pub(crate) fn from_here(path: PathBuf) -> Self {
        let from_bytes = fs::metadata(&path).map_or(0, |file| file.len());
        Self { path, from_bytes }
    }

    /// Its last lines, at most [`LOG_TAIL_BYTES`]; in their place what kept them from being read,
    /// because this only ever explains another error.
    pub(crate) fn tail(&self) -> String {
        let read = || {
            let mut file = File::open(&self.path)?;
            let length = file.metadata()?.len();
            let start = self.from_bytes.max(length.saturating_sub(LOG_TAIL_BYTES));
            file.seek(SeekFrom::Start(start))?;
            let mut bytes = Vec::new();
            file.take(LOG_TAIL_BYTES).read_to_end(&mut bytes)?;
            Ok::<_, io::Error>(text_tail(&bytes))
        };
        read().unwrap_or_else(|error| format!("(cannot read {}: {error})", self.path.display()))
    }
}

/// The last [`TAIL_LINES`] lines of a text.
pub(crate) fn text_tail(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.len().saturating_sub(TAIL_LINES);
    lines.get(first..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_says_what_to_install() {
        let error = find_program("freezeframe-no-such-program", "some-package").unwrap_err();
        let text = error.to_string();
        assert!(text.contains("scripts/need server"), "{text}");
        assert!(text.contains("some-package"), "{text}");
    }

    #[test]
    fn a_log_shows_its_last_lines_and_nothing_older() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        fs::write(&path, "old\n").unwrap();
        let log = Log::from_here(path.clone());
        assert_eq!(log.tail(), "");
        fs::write(&path, "old\none\ntwo\n").unwrap();
        assert_eq!(log.tail(), "one\ntwo");
        let lines: String = (0..5000).map(|n| format!("line {n}\n")).collect();
        fs::write(&path, lines).unwrap();
        let tail = log.tail();
        assert!(tail.starts_with("line 4980\n"), "{tail}");
        assert!(tail.ends_with("line 4999"), "{tail}");
    }

    #[test]
    fn an_unreadable_log_is_named() {
        let log = Log::from_here("/nonexistent/log".into());
        assert!(log.tail().contains("/nonexistent/log"));
    }
}
