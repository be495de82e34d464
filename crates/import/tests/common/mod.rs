//! The project's captures, and what is found in a text.

#![allow(
    clippy::unwrap_used,
    reason = "clippy does not see that helpers of tests are test code"
)]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use diagnosis::{Catalogue, Finding, diagnose_closely};
use import::{Input, import};
use model::Incident;
use sha2::{Digest as _, Sha256};

/// A capture by its sidecar.
pub struct Capture {
    pub name: String,
    file: PathBuf,
    pub cause: String,
    /// Others that are accepted as the first one.
    also: Vec<String>,
}

impl Capture {
    fn read(sidecar: &Path) -> Self {
        let text = std::fs::read_to_string(sidecar).unwrap();
        let value = |key: &str| {
            let mut lines = text.lines();
            let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            value
                .unwrap_or_default()
                .trim()
                .trim_matches('"')
                .to_owned()
        };
        let names = |text: &str| -> Vec<String> {
            let names = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
            names
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect()
        };
        Self {
            name: sidecar.file_stem().unwrap().to_str().unwrap().to_owned(),
            file: sidecar.with_file_name(value("file")),
            cause: value("root_cause_id"),
            also: names(&value("acceptable_secondary")),
        }
    }

    /// It shows nothing that is in the catalogue.
    pub fn is_control(&self) -> bool {
        self.cause.starts_with("NONE") || self.cause.starts_with("OTHER")
    }

    /// Of it only numbers are told.
    pub fn is_of_the_check_half(&self) -> bool {
        Sha256::digest(self.name.as_bytes())[0] % 2 == 1
    }

    /// The cause is the known one, or accepted as well.
    pub fn is_right(&self, cause: &str) -> bool {
        self.cause == cause || self.also.iter().any(|also| also == cause)
    }

    pub fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.file).unwrap()
    }
}

/// All captures, each with what is read from it: once, for all tests that need it.
pub static READ: LazyLock<Vec<(Capture, Option<Incident>)>> = LazyLock::new(|| {
    let captures = captures().into_iter();
    captures
        .map(|capture| {
            let incident = read(&capture.bytes());
            (capture, incident)
        })
        .collect()
});

fn read(bytes: &[u8]) -> Option<Incident> {
    let path = "capture";
    import(&[Input { path, bytes }]).incident
}

/// What is found in a capture, the first first.
pub fn findings(bytes: &[u8]) -> Vec<Finding> {
    findings_of(read(bytes).as_ref())
}

/// What is found in what was read from a capture, the first first.
pub fn findings_of(incident: Option<&Incident>) -> Vec<Finding> {
    incident
        .map(|incident| diagnose_closely(incident, Catalogue::builtin()).findings)
        .unwrap_or_default()
}

/// All, in the order of their names.
pub fn captures() -> Vec<Capture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let mut sidecars: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    sidecars.sort();
    sidecars.iter().map(|path| Capture::read(path)).collect()
}
