//! A library that makes calls of a server slower: writing files through to the disk, as a disk does that is overloaded
//! or broken, and looking up the names of clients, as with a resolver that drops the questions.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::Error;
use crate::victims::compile;

const SOURCE: &str = include_str!("preload/slow_sync.c");

/// What is slow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slow {
    /// Each fsync and fdatasync takes so much longer, milliseconds.
    pub sync_ms: u32,
    /// Only of files whose path has this in it; at most 63 bytes without a space count.
    pub files: Option<String>,
    /// Each look-up of a client's name takes so long and fails, milliseconds.
    pub names_ms: u32,
}

/// The library, and the file that says how slow.
#[derive(Debug)]
pub struct SlowSync {
    library: PathBuf,
    file: PathBuf,
    /// How slow it is when nothing is done to it.
    at_rest: Mutex<Slow>,
}

impl SlowSync {
    /// Builds the library in `dir` with `cc`; nothing is slow yet.
    pub fn build(dir: &Path) -> Result<Self, Error> {
        let library = dir.join("slow_sync.so");
        compile(SOURCE, &["-shared", "-fPIC"], &library)?;
        let slow = Self {
            library,
            file: dir.join("slow_sync.ms"),
            at_rest: Mutex::default(),
        };
        slow.set(&Slow::default())?;
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

    /// From now on, and after each [`Self::back`].
    pub fn rest(&self, what: &Slow) -> Result<(), Error> {
        *self.at_rest.lock().unwrap_or_else(PoisonError::into_inner) = what.clone();
        self.set(what)
    }

    /// As it is when nothing is done to it.
    pub fn back(&self) -> Result<(), Error> {
        let at_rest = self.at_rest.lock().unwrap_or_else(PoisonError::into_inner);
        self.set(&at_rest)
    }

    /// From now on.
    pub fn set(&self, what: &Slow) -> Result<(), Error> {
        let files = what.files.as_deref().unwrap_or_default();
        let text = format!("{} {} {files}", what.sync_ms, what.names_ms);
        // Renamed, so that no call reads half a number.
        let new = self.file.with_extension("new");
        fs::write(&new, text)
            .and_then(|()| fs::rename(&new, &self.file))
            .map_err(Error::io(format!("write {}", self.file.display())))
    }
}
