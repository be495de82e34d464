//! Whether what a recorder would send to the fleet would arrive: for `check`, which changes nothing.

use std::path::Path;

use anyhow::Result;
use fleet::any_store::{AnyStore, address};
use fleet::clickhouse;
use fleet::from_incident::host_id;
use fleet::row::HostRow;
use fleet::url::StoreUrl;
use fleet::{Batch, Token};
use serde_json::{Value, json};

use super::config::{Fleet, Place};
use super::frame_place::directory;
use super::{FleetConfig, remedies};
use crate::fleet::salt;

/// What came of trying the fleet that is configured.
pub(crate) struct FleetReached {
    /// Where it is, without user and password.
    name: String,
    /// What is there, or why nothing would arrive.
    outcome: Result<&'static str>,
    /// Why fixes that root makes would not be sent.
    untold: Option<String>,
    /// Where files of incidents go, and what is there; nothing where they stay.
    frames: Option<(String, Result<&'static str>)>,
}

/// Tries the fleet that is configured, for a recorder with its incidents in `dir`; nothing where none is.
pub(crate) fn reached(config: &FleetConfig, dir: &Path) -> Result<Option<FleetReached>> {
    let fleet = config.fleet()?;
    Ok(fleet.map(|fleet| FleetReached {
        outcome: tried(&fleet),
        untold: match fleet.place {
            // It gets the incidents alone.
            Place::Directory(_) => None,
            Place::Store(..) | Place::Gateway(_) => remedies::untold(dir),
        },
        frames: fleet
            .frames
            .as_ref()
            .map(|place| (place.shown(), place.tried())),
        name: fleet.name,
    }))
}

fn tried(fleet: &Fleet) -> Result<&'static str> {
    let is_made = match &fleet.place {
        Place::Directory(path) => {
            directory(path)?;
            fleet.salt_file.exists()
        }
        Place::Store(StoreUrl::Sqlite(path), _) => {
            directory(path.parent().unwrap_or(Path::new("/")))?;
            path.exists()
        }
        Place::Gateway(gateway) => {
            let salt = salt::read(&fleet.salt_file)?;
            gateway.check(&signed(&salt))?;
            return Ok("reached; it takes what this host sends");
        }
        Place::Store(StoreUrl::ClickHouse(url), access) => {
            salt::read(&fleet.salt_file)?;
            !clickhouse::Store::at(address(url, access.clone())?).is_missing()?
        }
    };
    if !is_made {
        return Ok("reached; the recorder creates what is missing");
    }
    salt::read(&fleet.salt_file)?;
    if let Place::Store(url, access) = &fleet.place {
        AnyStore::open(url, access.clone())?;
    }
    Ok("reached")
}

/// A batch as this host's minutes are: by its name and the fleet's salt.
fn signed(salt: &[u8]) -> Batch {
    let host = recorder::host_name();
    let host_id = host_id(salt, &host, "");
    let mut batch = Batch::new(Token {
        host_id: host_id.0,
        ..Token::default()
    });
    batch.push(&HostRow {
        host_id,
        host,
        ..HostRow::default()
    });
    batch
}

impl FleetReached {
    /// Why nothing would arrive, in a line; nothing where it would.
    pub(crate) fn failed(&self) -> Option<String> {
        // Each names the store, or the file of it that is wrong.
        let of_frames = self.frames.as_ref().map(|(_, found)| found.as_ref().err());
        let errors = [self.outcome.as_ref().err(), of_frames.flatten()];
        let errors: Vec<String> = errors
            .into_iter()
            .flatten()
            .map(|error| format!("{error:#}"))
            .collect();
        (!errors.is_empty()).then(|| format!("fleet: {}", errors.join("; ")))
    }

    /// For people.
    pub(crate) fn as_text(&self) -> String {
        let text = match &self.outcome {
            Ok(found) => format!("{}: {found}", self.name),
            Err(_) => format!("{}: nothing can be sent there, see below", self.name),
        };
        let text = match &self.untold {
            Some(why) => format!("{text}; root's fixes are not sent: {why}"),
            None => text,
        };
        match &self.frames {
            Some((name, Ok(found))) => format!("{text}; files of incidents, {name}: {found}"),
            Some((name, Err(_))) => {
                format!("{text}; files of incidents cannot be sent to {name}, see below")
            }
            None => text,
        }
    }

    /// For programs.
    pub(crate) fn as_json(&self) -> Value {
        let (ok, says) = match &self.outcome {
            Ok(found) => (true, (*found).to_owned()),
            Err(error) => (false, format!("{error:#}")),
        };
        let mut all =
            json!({"name": self.name, "ok": ok, "says": says, "fixes_not_sent": self.untold});
        if let Some((name, found)) = &self.frames {
            all["frames"] = match found {
                Ok(found) => json!({"name": name, "ok": true, "says": found}),
                Err(error) => json!({"name": name, "ok": false, "says": format!("{error:#}")}),
            };
        }
        all
    }
}
