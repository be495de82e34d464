//! Reads a user's files. Whatever lies there, it takes little time and memory.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Files of a directory at the most.
const FILES_MAX: usize = 1_000;

/// Bytes read of a file: more than a cause may have, so that a larger one is told as such.
const BYTES_MAX: u64 = 512 * 1024;

/// Files with their texts.
#[derive(Default)]
pub(super) struct Files {
    /// Path and text.
    pub(super) texts: Vec<(String, String)>,
    /// What could not be read, and why.
    pub(super) unreadable: Vec<String>,
}

impl Files {
    /// Every `*.toml` of a directory, by name; hidden ones and directories in it are passed over.
    pub(super) fn add_directory(&mut self, path: &Path) {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => {
                self.unreadable.push(format!("{}: {error}", path.display()));
                return;
            }
        };
        let mut paths: Vec<_> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().as_encoded_bytes();
                name.ends_with(b".toml") && !name.starts_with(b".")
            })
            .take(FILES_MAX + 1)
            .collect();
        if paths.len() > FILES_MAX {
            self.unreadable.push(format!(
                "{}: more than {FILES_MAX} files; the others were not read",
                path.display()
            ));
            paths.truncate(FILES_MAX);
        }
        paths.sort();
        for path in paths {
            self.add_file(&path);
        }
    }

    pub(super) fn add_file(&mut self, path: &Path) {
        match text(path) {
            Ok(text) => self.texts.push((path.display().to_string(), text)),
            Err(problem) => self
                .unreadable
                .push(format!("{}: {problem}", path.display())),
        }
    }
}

fn text(path: &Path) -> Result<String, String> {
    // A pipe would wait for somebody to write.
    let is_file = fs::metadata(path)
        .map_err(|error| error.to_string())?
        .is_file();
    if !is_file {
        return Err("not a file".to_owned());
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(BYTES_MAX).read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let head = error.as_bytes().get(..at).unwrap_or_default();
        let line = 1 + head.iter().filter(|byte| **byte == b'\n').count();
        format!("line {line}: not UTF-8")
    })
}
