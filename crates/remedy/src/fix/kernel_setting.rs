//! A setting of the running kernel: a file below `/proc/sys` or `/sys`.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::root::Root;
use super::undone::Undone;

/// More than any setting has.
const BYTES_MAX: usize = 4096;

/// A setting, what it was and what it becomes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelSetting {
    /// Its file, as the system names it.
    pub path: PathBuf,
    /// The file as it was, with all choices where it lists them (`always [madvise] never`).
    pub shown: String,
    /// The value that was in force.
    pub before: String,
    /// The value that is set.
    pub after: String,
    /// Another setting that brings the previous state back when it is set to this value: of `vm.dirty_bytes` that was 0,
    /// `vm.dirty_ratio` (Documentation/admin-guide/sysctl/vm.rst: only one of the two is in force).
    pub instead: Option<(PathBuf, String)>,
}

impl KernelSetting {
    /// The setting as it is now.
    pub(super) fn read(root: &Root, path: &Path) -> std::io::Result<String> {
        let bytes = kernel::read::head(&root.here(path), BYTES_MAX)
            .map_err(|error| std::io::Error::other(error.to_string()))?;
        String::from_utf8(bytes).map_err(|_| std::io::Error::other("is no text"))
    }

    /// Sets it and asks the kernel whether it is.
    pub(super) fn set(&self, root: &Root) -> std::io::Result<()> {
        self.write(root, &self.path, &self.after)?;
        let now = in_force(&Self::read(root, &self.path)?).to_owned();
        if now != self.after {
            return Err(std::io::Error::other(format!(
                "the kernel has {now} after {} was set",
                self.after
            )));
        }
        Ok(())
    }

    /// Sets what was there before, unless somebody else has set another value meanwhile and it is not `forced`.
    pub(super) fn set_back(&self, root: &Root, forced: bool) -> std::io::Result<Undone> {
        if !root.is_real() {
            self.clear(root);
        }
        let raw = Self::read(root, &self.path)?;
        let now = in_force(&raw);
        if now == self.before {
            return Ok(Undone::NothingToDo);
        }
        if now != self.after && !forced {
            return Ok(Undone::Changed {
                now: now.to_owned(),
            });
        }
        match &self.instead {
            Some((path, value)) if root.is_real() => self.write(root, path, value)?,
            _ => self.write(root, &self.path, &self.before)?,
        }
        let raw = Self::read(root, &self.path)?;
        if in_force(&raw) == self.before {
            return Ok(Undone::Back);
        }
        Err(std::io::Error::other(format!(
            "the kernel has {} after {} was set",
            in_force(&raw),
            self.before
        )))
    }

    fn write(&self, root: &Root, path: &Path, value: &str) -> std::io::Result<()> {
        let here = root.here(path);
        if !root.is_real() {
            return self.write_plain(root, &here, value);
        }
        // Neither made nor cut: a kernel without the setting is an error.
        OpenOptions::new()
            .write(true)
            .open(&here)?
            .write_all(value.as_bytes())
    }

    /// Where no kernel stands behind the file, it becomes what the kernel would show, all at once.
    fn write_plain(&self, root: &Root, here: &Path, value: &str) -> std::io::Result<()> {
        root.holds(here.parent().unwrap_or(Path::new("/")))?;
        let metadata = here.symlink_metadata()?;
        if !metadata.is_file() {
            return Err(std::io::Error::other("is no plain file"));
        }
        let temporary = temporary(here);
        std::fs::write(&temporary, shown_with(&self.shown, &self.before, value))?;
        std::fs::set_permissions(&temporary, metadata.permissions())?;
        std::fs::rename(&temporary, here)
    }

    /// What a killed process left of the above.
    fn clear(&self, root: &Root) {
        match std::fs::remove_file(temporary(&root.here(&self.path))) {
            Err(error) if error.kind() != ErrorKind::NotFound => {}
            _ => {}
        }
    }
}

fn temporary(here: &Path) -> PathBuf {
    let name = here.file_name().unwrap_or_default().to_string_lossy();
    here.with_file_name(format!(".{name}.freezeframe-new"))
}

/// The value in force: the one in brackets where the file lists all.
pub fn in_force(raw: &str) -> &str {
    raw.split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or(raw.trim(), |(value, _)| value)
}

/// What the kernel shows when another value is in force.
fn shown_with(shown: &str, before: &str, value: &str) -> String {
    if value == before {
        return shown.to_owned();
    }
    if !shown.contains('[') {
        let end = if shown.ends_with('\n') { "\n" } else { "" };
        return format!("{value}{end}");
    }
    let plain = shown.replace(['[', ']'], "");
    let words: Vec<String> = plain
        .trim_end()
        .split(' ')
        .map(|word| {
            if word == value {
                format!("[{word}]")
            } else {
                word.to_owned()
            }
        })
        .collect();
    format!("{}\n", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_in_brackets_is_in_force() {
        assert_eq!(in_force("always [madvise] never\n"), "madvise");
        assert_eq!(in_force("60\n"), "60");
        let shown = "always [madvise] never\n";
        assert_eq!(
            shown_with(shown, "madvise", "never"),
            "always madvise [never]\n"
        );
        assert_eq!(shown_with(shown, "madvise", "madvise"), shown);
        assert_eq!(shown_with("60\n", "60", "1"), "1\n");
    }
}
