//! Where an export goes: readable by its owner only, and never over something that is there, unless
//! that was asked for.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use export::stalk;
use model::Incident;

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
            Ok(there) if there.is_dir() => bail!("{}: it is a directory", self.path.display()),
            Ok(_) if !self.force => {
                bail!(
                    "{}: it is there already; --force replaces it",
                    self.path.display()
                )
            }
            _ => Ok(()),
        }
    }

    pub(super) fn write(&self, bytes: &[u8]) -> Result<()> {
        if self.path == Path::new("-") {
            use std::io::Write;
            return Ok(std::io::stdout().lock().write_all(bytes)?);
        }
        self.check()?;
        Ok(store::write_private(&self.path, bytes)?)
    }

    /// Writes an incident under another name, searches it as it lies there, and gives it its name only
    /// when nothing was found. Answers how many bytes it has.
    pub(super) fn write_incident(
        &self,
        incident: &Incident,
        search: impl Fn(&Path, &str, &[u8]) -> Result<()>,
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
        search: &impl Fn(&Path, &str, &[u8]) -> Result<()>,
    ) -> Result<u64> {
        store::write_frame_file(incident, unchecked)?;
        let mut found = Ok(());
        store::each_cell(unchecked, &mut |cell| {
            let place = format!(
                "table {}, row {}, column {}",
                cell.table, cell.row, cell.column
            );
            found = search(&self.path, &place, cell.bytes);
            found.is_ok()
        })?;
        found?;
        let bytes = std::fs::read(unchecked).with_context(|| unchecked.display().to_string())?;
        search(&self.path, "the file's bytes", &bytes)?;
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
                        "{}: there is something in it already; --force writes beside it and replaces files of the same names",
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

    pub(super) fn write(&self, files: &[stalk::File]) -> Result<()> {
        let make = |path: &Path| {
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(path)
                .with_context(|| path.display().to_string())
        };
        make(&self.path)?;
        for file in files {
            let path = self.path.join(&file.path);
            if let Some(folder) = path.parent() {
                make(folder)?;
            }
            store::write_private(&path, &file.bytes)?;
        }
        Ok(())
    }
}
