//! A function of our own in a private server, which allocates and frees for each row: analytic
//! engines did so, and the servers of the lab hardly do.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::victims::compile;
use crate::{Error, Login, say};

const SOURCE: &str = include_str!("udf/churn.c");

/// The library's name for `CREATE FUNCTION`.
const LIBRARY: &str = "freezeframe_churn.so";

/// How long making the function may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The function `freezeframe_churn(seed, allocations)`.
#[derive(Debug)]
pub struct Churn {
    directory: PathBuf,
}

impl Churn {
    /// Builds it in `dir` with `cc`.
    pub fn build(dir: &Path) -> Result<Self, Error> {
        // A directory of its own: the server loads any library of it.
        let directory = dir.join("plugin");
        fs::create_dir_all(&directory)
            .map_err(Error::io(format!("make {}", directory.display())))?;
        compile(SOURCE, &["-shared", "-fPIC"], &directory.join(LIBRARY))?;
        Ok(Self { directory })
    }

    /// What a server is to be started with.
    pub fn argument(&self) -> String {
        format!("--plugin-dir={}", self.directory.display())
    }

    /// Makes the function known to a server; it stays known when that starts again.
    pub fn install(&self, login: &Login) -> Result<(), Error> {
        let statements = [
            "DROP FUNCTION IF EXISTS freezeframe_churn".to_owned(),
            format!("CREATE FUNCTION freezeframe_churn RETURNS INTEGER SONAME '{LIBRARY}'"),
        ];
        say(login, &statements, TIMEOUT)
    }
}
