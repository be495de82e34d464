//! Cascades: scenarios one after another on one server, each begun by the remedy of the one before.

use std::path::Path;

use serde::Deserialize;
use toml::{Table, Value};

use crate::scenario::{check, read_small};
use crate::{Error, Scenario, ServerKind};

/// One file for each server: (name, text).
const FILES: [(&str, &str); 2] = [
    (
        "cascades/mysql-5.5.toml",
        include_str!("../cascades/mysql-5.5.toml"),
    ),
    (
        "cascades/mariadb.toml",
        include_str!("../cascades/mariadb.toml"),
    ),
];

/// Stories that follow from each other.
#[derive(Debug, Clone)]
pub struct Cascade {
    /// Its server.
    pub kind: ServerKind,
    /// What happens, in a sentence or two.
    pub what: String,
    /// What happens in turn. Arguments and environment of one hold for those that follow, and so does
    /// what its remedy changed.
    pub acts: Vec<Scenario>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    server: String,
    what: String,
    act: Vec<Table>,
}

/// Every cascade.
pub fn cascades() -> Result<Vec<Cascade>, Error> {
    FILES.iter().map(|(file, text)| read(file, text)).collect()
}

/// A cascade of a file of one's own.
pub fn cascade_file(path: &Path) -> Result<Cascade, Error> {
    read(&path.display().to_string(), &read_small(path)?)
}

fn read(file: &str, text: &str) -> Result<Cascade, Error> {
    let wrong = |problem: String| Error::Scenario {
        file: file.to_owned(),
        problem,
    };
    let said = |error: toml::de::Error| wrong(error.to_string().trim().to_owned());
    let read: File = toml::from_str(text).map_err(said)?;
    let kind = ServerKind::ALL
        .into_iter()
        .find(|kind| kind.need() == read.server)
        .ok_or_else(|| wrong(format!("there is no server '{}'", read.server)))?;
    let acts = read
        .act
        .into_iter()
        .map(|mut act| {
            act.insert(
                "servers".to_owned(),
                Value::Array(vec![Value::String(read.server.clone())]),
            );
            check(file, act.try_into().map_err(said)?)
        })
        .collect::<Result<Vec<Scenario>, Error>>()?;
    if acts.is_empty() {
        return Err(wrong("it has no act".to_owned()));
    }
    Ok(Cascade {
        kind,
        what: read.what,
        acts,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn every_cascade_can_be_read() {
        for cascade in cascades().unwrap() {
            assert!(cascade.acts.len() >= 2, "{}", cascade.kind.name());
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_the_file() {
        let error = read("cascades/x.toml", "server = 'mysql-4'\nwhat = ''\nact = []").unwrap_err();
        assert_eq!(
            error.to_string(),
            "cascades/x.toml: there is no server 'mysql-4'"
        );
    }
}
