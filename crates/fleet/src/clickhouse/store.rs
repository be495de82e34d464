//! The store, and statements to it.

use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::address::Address;
use super::ddl::VERSION;
use super::failure::{Failure, Then};
use super::{json, request, version};

/// How long a question or an insert may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// A fleet's store in ClickHouse.
#[derive(Debug, Clone)]
pub struct Store {
    pub(super) address: Address,
    /// When whoever asks waits no longer.
    until: Option<Instant>,
}

impl Store {
    /// The store at this address; nothing is asked yet.
    pub fn at(address: Address) -> Self {
        Self {
            address,
            until: None,
        }
    }

    /// The same, which waits for no answer after this moment.
    pub fn until(self, end: Instant) -> Self {
        Self {
            until: Some(end),
            ..self
        }
    }

    /// How long the next statement may take.
    fn deadline(&self) -> Duration {
        let left = |end: Instant| end.saturating_duration_since(Instant::now());
        self.until.map_or(DEADLINE, left).min(DEADLINE)
    }

    /// The store at this address, when it is there in this program's version.
    ///
    /// # Errors
    ///
    /// When the server is too old or cannot be reached, or its tables are not those of this version.
    pub fn open(address: Address) -> Result<Self, Failure> {
        Self::at(address).checked()
    }

    /// This store, when it is there in this program's version.
    ///
    /// # Errors
    ///
    /// As [`Store::open`].
    pub fn checked(self) -> Result<Self, Failure> {
        self.check_server()?;
        match self.version()? {
            Some(found) if found == VERSION => Ok(self),
            Some(found) => Err(self.stop(format!(
                "its tables have version {found}, but {VERSION} is needed; `freezeframe fleet init` upgrades them"
            ))),
            None => Err(self.stop(
                "no store of a fleet; `freezeframe fleet init` makes one".to_owned(),
            )),
        }
    }

    /// What the server answers to a statement, as it writes it: for whoever measures a store. Nothing is retried.
    ///
    /// # Errors
    ///
    /// When the server refuses the statement, or needs longer than `deadline`.
    pub fn answer(&self, statement: &str, deadline: Duration) -> Result<String, Failure> {
        let parameters = [("database", self.address.database.as_str())];
        let body = statement.as_bytes().to_vec();
        let answer = request::post(&self.address, &parameters, body, deadline)?;
        Ok(String::from_utf8_lossy(&answer).trim_end().to_owned())
    }

    /// Whether there is a server and no store of a fleet on it.
    ///
    /// # Errors
    ///
    /// When the server is too old or cannot be reached.
    pub fn is_missing(&self) -> Result<bool, Failure> {
        self.check_server()?;
        Ok(self.version()?.is_none())
    }

    /// How people call it: its URL without user and password.
    pub fn shown(&self) -> String {
        self.address.shown()
    }

    pub(super) fn stop(&self, what: String) -> Failure {
        Failure::stop(&self.shown(), what)
    }

    /// Complains when the server is too old.
    pub(super) fn check_server(&self) -> Result<(), Failure> {
        // Without the database, which may not be there, and without settings that an old one does not know.
        let statement = b"SELECT version()".to_vec();
        let answer = request::post(&self.address, &[], statement, self.deadline())?;
        version::check(&self.shown(), &String::from_utf8_lossy(&answer))
    }

    /// The version of the tables; none without them. A newer one than ours is an error.
    pub(super) fn version(&self) -> Result<Option<u32>, Failure> {
        let rows = match self.rows("SELECT max(version) FROM schema_version", &[]) {
            Ok(rows) => rows,
            // No such table, no such database.
            Err(Failure {
                code: Some(60 | 81),
                ..
            }) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let cell = rows.first().and_then(|row| row.first());
        match cell.and_then(json::unsigned) {
            None | Some(0) => Ok(None),
            Some(found) if found > VERSION.into() => Err(self.stop(format!(
                "its tables were made by a newer freezeframe (version {found}; this one knows up to {VERSION}): use a newer one"
            ))),
            Some(found) => Ok(u32::try_from(found).ok()),
        }
    }

    /// Runs a statement that gives rows.
    pub(super) fn rows(
        &self,
        statement: &str,
        parameters: &[(&str, &str)],
    ) -> Result<Vec<Vec<Json>>, Failure> {
        let database = ("database", self.address.database.as_str());
        let is_elsewhere = parameters.iter().any(|(name, _)| *name == "database");
        let mut all: Vec<(&str, &str)> = (!is_elsewhere).then_some(database).into_iter().collect();
        all.extend([
            ("default_format", "JSONCompact"),
            // An error of the last row is an answer of its own, not the end of the rows before it.
            ("wait_end_of_query", "1"),
            // Where tables stand across a cluster, each server asks all of the others.
            ("distributed_product_mode", "global"),
            // Equal keys are in one partition: `FINAL` need not look across.
            ("do_not_merge_across_partitions_select_final", "1"),
            ("output_format_json_quote_64bit_integers", "0"),
            ("output_format_json_quote_denormals", "0"),
        ]);
        all.extend_from_slice(parameters);
        let statement = statement.as_bytes().to_vec();
        let body = request::post(&self.address, &all, statement, self.deadline())?;
        json::rows(&body).ok_or_else(|| Failure {
            then: Then::Stop,
            code: None,
            said: format!("{}: its answer cannot be read", self.shown()),
        })
    }

    /// Runs a statement that gives nothing.
    pub(super) fn run(&self, statement: &str, parameters: &[(&str, &str)]) -> Result<(), Failure> {
        let body = statement.as_bytes().to_vec();
        request::post(&self.address, parameters, body, self.deadline()).map(drop)
    }

    /// The same in the store's database, for what takes its time.
    pub(super) fn run_within(
        &self,
        statement: &str,
        parameters: &[(&str, &str)],
        deadline: Duration,
    ) -> Result<(), Failure> {
        let mut all = vec![("database", self.address.database.as_str())];
        all.extend_from_slice(parameters);
        let body = statement.as_bytes().to_vec();
        request::post(&self.address, &all, body, deadline).map(drop)
    }
}
