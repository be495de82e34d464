//! Why a login cannot be found.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why the login options cannot be used.
#[derive(Debug, Error)]
pub enum LoginError {
    /// A file cannot be read. It may be named in a configuration: what it is for belongs to the message.
    #[error("the login cannot be read: {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// An option file has a mistake.
    #[error("{path}:{line}: {problem}")]
    OptionFile {
        /// The file.
        path: PathBuf,
        /// Its line.
        line: usize,
        /// The mistake.
        problem: String,
    },
    /// A file of login paths cannot be used.
    #[error("{path}: {problem}")]
    LoginPath {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// A file of certificates or keys cannot be used.
    #[error("{path}: {problem}")]
    Tls {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
}

/// The file of a secret as a message may name it. What begins like no path may be the secret itself, written in its place.
pub fn file_of_secret(path: &Path) -> PathBuf {
    let begins = ["/", ".", ".."].iter().any(|begin| path.starts_with(begin));
    match begins || path.exists() {
        true => path.to_owned(),
        false => PathBuf::from("(what stands there is no path)"),
    }
}
