//! Arguments that only we can tell to be wrong.

use std::fmt;
use std::path::Path;

use anyhow::{Result, anyhow};

/// What is wrong with the arguments: told in one line, with exit code 2 as for those that clap refuses.
#[derive(Debug)]
pub struct Usage(String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Refuses `-` where a file is written and nothing else: a file of that name is never meant, and hard to remove.
pub fn file_only(option: &str, path: Option<&Path>) -> Result<()> {
    match path == Some(Path::new("-")) {
        true => Err(usage(anyhow!(
            "{option} -: this is not written to standard output; name a file"
        ))),
        false => Ok(()),
    }
}

/// An error that the arguments are to blame for, and nothing that was found.
pub fn usage(error: impl Into<anyhow::Error>) -> anyhow::Error {
    Usage(format!("{:#}", error.into())).into()
}
