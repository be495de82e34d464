//! Where an export goes: readable by its owner only, and never over something that is there, unless
//! that was asked for.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cli::output;
use export::stalk;
use model::Incident;

/// What of an incident's file is searched.
pub(super) enum SearchedPart<'a> {
    /// A cell of a table: a text. Which one.
    Cell(&'a str),
    /// The file as it lies there.
    File,
}

/// A file to be written; `-` is standard output.
pub(super) struct File {
    path: PathBuf,
    force: bool,
}

impl File {
    /// Refuses what is in the way.
    pub(super) fn at(path: &Path, force: bool) -> Result<Self> {
        let file = Self {
            path: path.to_owned(),
            force,
        };
        file.check()?;
        Ok(file)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn check(&self) -> Result<()> {
        if self.path == Path::new("-") {
            return Ok(());
        }
        let there = self.path.symlink_metadata();
        match there {
            Ok(there) if there.is_dir() => bail!("{}: is a directory", self.path.display()),
            Ok(_) if !self.force => {
                bail!(
                    "{}: already exists; --force replaces it",
                    self.path.display()
                )
            }
            _ => Ok(()),
        }
    }

    pub(super) fn write(&self, bytes: &[u8]) -> Result<()> {
        if self.path == Path::new("-") {
            return output::pass_on(bytes);
        }
        self.check()?;
        Ok(store::write_private(&self.path, bytes)?)
    }

    /// Writes an incident under another name, searches it as it lies there, and gives it its name only
    /// when nothing was found. Answers how many bytes it has.
    pub(super) fn write_incident(
        &self,
        incident: &Incident,
        search: impl Fn(&Path, SearchedPart<'_>, &[u8]) -> Result<()>,
    ) -> Result<u64> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let unchecked = self.path.with_file_name(format!(".{name}.unchecked"));
        // Of an earlier attempt that was cut off.
        let _ = std::fs::remove_file(&unchecked);
        let done = self.checked(&unchecked, incident, &search);
        if done.is_err() {
            // The first error is the one to tell.
            let _ = std::fs::remove_file(&unchecked);
        }
        done
    }

    fn checked(
        &self,
        unchecked: &Path,
        incident: &Incident,
        search: &impl Fn(&Path, SearchedPart<'_>, &[u8]) -> Result<()>,
    ) -> Result<u64> {
        store::write_incident_file(incident, unchecked).map_err(|error| error.about(&self.path))?;
        let mut found = Ok(());
        store::each_cell(unchecked, &mut |cell| {
            let place = format!(
                "table {}, row {}, column {}",
                cell.table, cell.row, cell.column
            );
            found = search(&self.path, SearchedPart::Cell(&place), cell.bytes);
            found.is_ok()
        })?;
        found?;
        let bytes = std::fs::read(unchecked).with_context(|| unchecked.display().to_string())?;
        search(&self.path, SearchedPart::File, &bytes)?;
        self.check()?;
        std::fs::rename(unchecked, &self.path).with_context(|| self.path.display().to_string())?;
        Ok(bytes.len() as u64)
    }
}

/// A directory to be filled.
pub(super) struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Refuses one with something in it.
    pub(super) fn at(path: &Path, force: bool) -> Result<Self> {
        match std::fs::read_dir(path) {
            Ok(mut entries) => {
                let is_used = entries.next().is_some();
                if is_used && !force {
                    bail!(
                        "{}: is not empty; --force writes into it and replaces files of the same names",
                        path.display()
                    );
                }
            }
            Err(error) if path.symlink_metadata().is_ok() => {
                return Err(error).with_context(|| path.display().to_string());
            }
            _ => {}
        }
        Ok(Self {
            path: path.to_owned(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the files; when that fails, what was made for it is taken away again.
    pub(super) fn write(&self, files: &[stalk::File]) -> Result<()> {
        let mut made = Made::default();
        let written = self.fill(files, &mut made);
        if written.is_err() {
            made.remove();
        }
        written
    }

    fn fill(&self, files: &[stalk::File], made: &mut Made) -> Result<()> {
        made.directory(&self.path)?;
        for file in files {
            let path = self.path.join(&file.path);
            if let Some(folder) = path.parent() {
                made.directory(folder)?;
            }
            made.file(&path, &file.bytes)?;
        }
        Ok(())
    }
}

/// What was not there before.
#[derive(Default)]
struct Made {
    /// In the order in which they were made.
    directories: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Made {
    fn directory(&mut self, path: &Path) -> Result<()> {
        let missing: Vec<&Path> = path
            .ancestors()
            .take_while(|path| !path.as_os_str().is_empty() && path.symlink_metadata().is_err())
            .collect();
        for path in missing.into_iter().rev() {
            std::fs::DirBuilder::new()
                .mode(0o700)
                .create(path)
                .with_context(|| path.display().to_string())?;
            self.directories.push(path.to_owned());
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, bytes: &[u8]) -> Result<()> {
        let is_new = path.symlink_metadata().is_err();
        if is_new {
            self.files.push(path.to_owned());
            // It is written under this name first.
            let mut partial = path.as_os_str().to_owned();
            partial.push(".partial");
            self.files.push(partial.into());
        }
        Ok(store::write_private(path, bytes)?)
    }

    /// What cannot be removed stays: the error that led here is the one to tell.
    fn remove(&self) {
        for file in self.files.iter().rev() {
            let _ = std::fs::remove_file(file);
        }
        for directory in self.directories.iter().rev() {
            // One in which somebody else put something stays.
            let _ = std::fs::remove_dir(directory);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn file(path: &str) -> stalk::File {
        stalk::File {
            path: path.to_owned(),
            bytes: b"x".to_vec(),
            note: "",
        }
    }

    #[test]
    fn what_could_not_be_finished_is_taken_away() {
        let dir = tempfile::tempdir().unwrap();
        // A file stands where a folder has to be.
        let files = [file("README"), file("before/a"), file("README/b")];
        let deep = dir.path().join("one/two");
        assert!(Directory::at(&deep, false).unwrap().write(&files).is_err());
        assert!(!dir.path().join("one").exists());
        // What was there stays.
        let there = dir.path().join("there");
        std::fs::create_dir(&there).unwrap();
        std::fs::write(there.join("notes.txt"), "mine").unwrap();
        std::fs::write(there.join("README"), "old").unwrap();
        assert!(Directory::at(&there, true).unwrap().write(&files).is_err());
        let mut names: Vec<String> = std::fs::read_dir(&there)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["README", "notes.txt"]);
    }
}
