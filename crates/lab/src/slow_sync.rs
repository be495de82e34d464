//! A library that makes a server's writes to disk durable more slowly: as a disk does that is overloaded or broken.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::victims::compile;

const SOURCE: &str = include_str!("preload/slow_sync.c");

/// The library, and the file that says how slow.
#[derive(Debug)]
pub struct SlowSync {
    library: PathBuf,
    file: PathBuf,
}

impl SlowSync {
    /// Builds the library in `dir` with `cc`; nothing is slow yet.
    pub fn build(dir: &Path) -> Result<Self, Error> {
        let library = dir.join("slow_sync.so");
        compile(SOURCE, &["-shared", "-fPIC"], &library)?;
        let slow = Self {
            library,
            file: dir.join("slow_sync.ms"),
        };
        slow.set(0)?;
        Ok(slow)
    }

    /// What a server is to be started with.
    pub fn environment(&self) -> Vec<(String, String)> {
        let text = |path: &Path| path.display().to_string();
        vec![
            ("LD_PRELOAD".to_owned(), text(&self.library)),
            ("SLOW_SYNC_MS_FILE".to_owned(), text(&self.file)),
        ]
    }

    /// From now on each fsync and fdatasync takes so much longer.
    pub fn set(&self, milliseconds: u32) -> Result<(), Error> {
        // Renamed, so that no call reads half a number.
        let new = self.file.with_extension("new");
        fs::write(&new, milliseconds.to_string())
            .and_then(|()| fs::rename(&new, &self.file))
            .map_err(Error::io(format!("write {}", self.file.display())))
    }
}
