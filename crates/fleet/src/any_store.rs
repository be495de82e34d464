//! A store of either kind, by its URL.

use std::path::PathBuf;
use std::time::Instant;

use crate::batch::Batch;
use crate::clickhouse::{self, Address, Failure, Then};
use crate::error::StoreError;
use crate::questions::Question;
use crate::sqlite::{self, Answer, Extent, Given, Inserted};
use crate::subject::Subject;
use crate::url::StoreUrl;

/// A fleet's store.
pub enum AnyStore {
    /// A file.
    Sqlite(sqlite::Store),
    /// A server.
    ClickHouse(clickhouse::Store),
}

/// What a store of either kind complains about.
#[derive(Debug, thiserror::Error)]
pub enum AnyError {
    /// The file's.
    #[error(transparent)]
    Sqlite(#[from] StoreError),
    /// The server's, or the gateway's.
    #[error(transparent)]
    Server(#[from] Failure),
}

impl AnyError {
    /// What whoever sends does now. A file that cannot be written now may be later.
    pub fn then(&self) -> Then {
        match self {
            Self::Server(failure) => failure.then,
            Self::Sqlite(error) if error.is_of_rows() => Then::Leave,
            Self::Sqlite(_) => Then::Retry,
        }
    }
}

/// How a server is reached, beside its URL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// The password, when it is not in the URL.
    pub password: Option<String>,
    /// Certificates that are trusted instead of the system's.
    pub ca_file: Option<PathBuf>,
}

/// The server of this URL.
///
/// # Errors
///
/// When it is no URL of ClickHouse.
pub fn address(url: &str, access: Access) -> Result<Address, Failure> {
    let mut address = Address::parse(url)?;
    if let Some(password) = access.password {
        address = address.with_password(password);
    }
    Ok(match access.ca_file {
        Some(path) => address.with_ca_file(path),
        None => address,
    })
}

impl AnyStore {
    /// Opens a store to write to it.
    ///
    /// # Errors
    ///
    /// When there is none of this version.
    pub fn open(url: &StoreUrl, access: Access) -> Result<Self, AnyError> {
        Ok(match url {
            StoreUrl::Sqlite(path) => Self::Sqlite(sqlite::Store::open(path)?),
            StoreUrl::ClickHouse(url) => {
                Self::ClickHouse(clickhouse::Store::open(address(url, access)?)?)
            }
        })
    }

    /// Opens a store to write to it, and makes it where there is none. One of an older version is left as it is: who
    /// only writes to it does not change what others ask. `now`: seconds since 1970. `program`: the program's version.
    ///
    /// # Errors
    ///
    /// As [`AnyStore::open`], or when none can be made.
    pub fn open_or_init(
        url: &StoreUrl,
        access: Access,
        now: i64,
        program: &str,
    ) -> Result<Self, AnyError> {
        match url {
            StoreUrl::Sqlite(path) => match sqlite::Store::open(path) {
                Err(StoreError::NotThere { .. }) => {
                    let (store, _) = sqlite::Store::init(path, now, program)?;
                    Ok(Self::Sqlite(store))
                }
                opened => Ok(Self::Sqlite(opened?)),
            },
            StoreUrl::ClickHouse(url) => {
                let address = address(url, access)?;
                let store = clickhouse::Store::at(address.clone());
                if store.is_missing()? {
                    store.init(&clickhouse::Layout::Single, now, program)?;
                }
                Ok(Self::ClickHouse(clickhouse::Store::open(address)?))
            }
        }
    }

    /// Opens a store to ask it.
    ///
    /// # Errors
    ///
    /// As [`AnyStore::open`].
    pub fn open_to_read(url: &StoreUrl, access: Access) -> Result<Self, AnyError> {
        Ok(match url {
            StoreUrl::Sqlite(path) => Self::Sqlite(sqlite::Store::open_to_read(path)?),
            StoreUrl::ClickHouse(_) => return Self::open(url, access),
        })
    }

    /// Opens a store to ask it, which gives no answer after this moment.
    ///
    /// # Errors
    ///
    /// As [`AnyStore::open`].
    pub fn open_to_read_until(
        url: &StoreUrl,
        access: Access,
        end: Instant,
    ) -> Result<Self, AnyError> {
        Ok(match url {
            StoreUrl::Sqlite(path) => Self::Sqlite(sqlite::Store::open_to_read(path)?.until(end)?),
            StoreUrl::ClickHouse(url) => {
                let store = clickhouse::Store::at(address(url, access)?);
                Self::ClickHouse(store.until(end).checked()?)
            }
        })
    }

    /// Inserts a batch, exactly once, and says whether it was there, where a store can tell. `now`: seconds since 1970,
    /// kept with the token where a store keeps one.
    ///
    /// # Errors
    ///
    /// When the store does not take it.
    pub fn insert(&mut self, batch: &Batch, now: i64) -> Result<Option<Inserted>, AnyError> {
        match self {
            Self::Sqlite(store) => Ok(Some(store.insert(batch, now)?)),
            Self::ClickHouse(store) => {
                store.insert(batch)?;
                Ok(None)
            }
        }
    }

    /// Inserts these batches, exactly once each, with as few requests as one takes. After a failure the same ones are given
    /// again, in the same order. `now`: as for [`AnyStore::insert`].
    ///
    /// # Errors
    ///
    /// When the store does not take them: then it has none of them, or nobody knows.
    pub fn insert_all(&mut self, batches: Vec<Batch>, now: i64) -> Result<(), AnyError> {
        match self {
            Self::Sqlite(store) => store.insert_all(&batches, now).map(drop)?,
            Self::ClickHouse(store) => store.insert(&Batch::joined(batches))?,
        }
        Ok(())
    }

    /// The same, which keeps little of the store in memory.
    ///
    /// # Errors
    ///
    /// When the store does not let us.
    pub fn with_little(self) -> Result<Self, AnyError> {
        Ok(match self {
            Self::Sqlite(store) => Self::Sqlite(store.with_little()?),
            other => other,
        })
    }

    /// Keeps no memory for what comes next: for whoever waits a while.
    pub fn rest(&self) {
        if let Self::Sqlite(store) = self {
            store.rest();
        }
    }

    /// Deletes what is too old, where the store does not do so by itself. `now`: seconds since 1970.
    ///
    /// # Errors
    ///
    /// When the store does not let us.
    pub fn expire(&mut self, now: i64) -> Result<(), AnyError> {
        if let Self::Sqlite(store) = self {
            store.expire(now)?;
        }
        Ok(())
    }

    /// Asks a question.
    ///
    /// # Errors
    ///
    /// When the store does not answer.
    pub fn ask(&self, question: &Question, given: &Given) -> Result<Answer, AnyError> {
        Ok(match self {
            Self::Sqlite(store) => store.ask(question, given)?,
            Self::ClickHouse(store) => store.ask(question, given)?,
        })
    }

    /// What there is.
    ///
    /// # Errors
    ///
    /// When the store does not answer.
    pub fn extent(&self) -> Result<Extent, AnyError> {
        Ok(match self {
            Self::Sqlite(store) => store.extent()?,
            Self::ClickHouse(store) => store.extent()?,
        })
    }

    /// The incident with this name or UUID, or the latest. None where there is none.
    ///
    /// # Errors
    ///
    /// When the store does not answer.
    pub fn subject(&self, name: Option<&str>) -> Result<Option<Subject>, AnyError> {
        Ok(match self {
            Self::Sqlite(store) => store.subject(name)?,
            Self::ClickHouse(store) => store.subject(name)?,
        })
    }
}
