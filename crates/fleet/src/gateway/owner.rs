//! Whether all of a batch belongs to the host that sends it.
//!
//! A server's id is a hash of the fleet's salt, the host's name and the server's label, and every batch has the rows of
//! `hosts` that its ids are made of. So the gateway, which has the salt, remembers nothing to know whose a row is.

use std::collections::BTreeSet;

use crate::batch::Batch;
use crate::from_incident::{frame_id, host_id, incident_id, stack_id};
use crate::row::{FrameRow, HostRow, IncidentRow, StackFramesRow};
use crate::row::{Hash64, Row as _};
use crate::table::{Partition, Table, Type};
use crate::tables::SCHEMA_VERSION;
use crate::value::Value;

/// Whose rows a recorder may send.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owner {
    /// The host that it runs on.
    pub name: String,
    /// Further hosts, whose servers it records from afar.
    pub also: Vec<String>,
    /// Servers of any host.
    pub any: bool,
}

/// Why a batch is not its sender's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    /// A server of another host.
    #[error("the token is of host '{of}', but the batch has rows of host '{found}'")]
    Host {
        /// Whose token it is.
        of: String,
        /// Whose rows they are.
        found: String,
    },
    /// The id is not that of the named server.
    #[error(
        "the id of host '{0}' was made with another salt: salt_file must be the same on all hosts and at the gateway"
    )]
    Salt(String),
    /// Rows of a server that the batch does not name.
    #[error("the batch has rows of '{0}' whose server it does not name")]
    Unnamed(&'static str),
    /// The batch is numbered as one of another host.
    #[error("the batch is numbered as one of another host than '{0}', or with another salt")]
    Token(String),
    /// An id that is not of what it stands for.
    #[error("an id in '{0}' is not made of its row")]
    Id(&'static str),
    /// Rows that recorders do not send.
    #[error("a recorder sends no rows of '{0}'")]
    Table(&'static str),
}

impl Owner {
    fn may_send(&self, host: &str) -> bool {
        self.any || self.name == host || self.also.iter().any(|one| one == host)
    }
}

/// Looks whether all of a batch belongs to this sender.
///
/// # Errors
///
/// When anything in it does not.
pub fn check_owner(batch: &Batch, owner: &Owner, salt: &[u8]) -> Result<(), Foreign> {
    let mut own: BTreeSet<u64> = BTreeSet::new();
    let mut names: BTreeSet<&str> = owner.also.iter().map(String::as_str).collect();
    names.insert(&owner.name);
    for row in batch.rows_of(HostRow::TABLE) {
        let host = text(HostRow::TABLE, row, "host");
        if !owner.may_send(host) {
            return Err(Foreign::Host {
                of: owner.name.clone(),
                found: host.to_owned(),
            });
        }
        let id = host_id(salt, host, text(HostRow::TABLE, row, "label"));
        if hash(HostRow::TABLE, row, "host_id") != Some(id) {
            return Err(Foreign::Salt(host.to_owned()));
        }
        own.insert(id.0);
        names.insert(host);
    }
    for rows in batch.tables() {
        let table = rows.table;
        if table.name == SCHEMA_VERSION.name {
            return Err(Foreign::Table(table.name));
        }
        let is_of_server = table.column("host_id").is_some();
        for row in &rows.rows {
            let is_own = || hash(table, row, "host_id").is_some_and(|id| own.contains(&id.0));
            if is_of_server && !is_own() {
                return Err(Foreign::Unnamed(table.name));
            }
            if !is_made_of_its_row(table, row) {
                return Err(Foreign::Id(table.name));
            }
        }
    }
    // Minutes are numbered by the recorder's host, incidents by their server.
    let of_host = |name: &&str| host_id(salt, name, "").0 == batch.token.host_id;
    match owner.any || own.contains(&batch.token.host_id) || names.iter().any(of_host) {
        true => Ok(()),
        false => Err(Foreign::Token(owner.name.clone())),
    }
}

/// What is shared by all hosts is what its id is made of, so that none can rename another's.
fn is_made_of_its_row(table: &Table, row: &[Value]) -> bool {
    let word = |name: &str| text(table, row, name);
    if table.name == FrameRow::TABLE.name {
        let id = frame_id(word("module"), word("function"), word("build_id"));
        hash(table, row, "frame_id") == Some(id)
    } else if table.name == StackFramesRow::TABLE.name {
        let frames: Vec<Hash64> = match value(table, row, "frames") {
            Some(Value::List(frames)) => frames.iter().filter_map(as_hash).collect(),
            _ => Vec::new(),
        };
        hash(table, row, "stack_id") == Some(stack_id(&frames))
    } else if table.name == IncidentRow::TABLE.name {
        let of = hash(table, row, "host_id").unwrap_or_default();
        let id = incident_id(of, word("name"));
        matches!(value(table, row, "incident_id"), Some(Value::Id(own)) if *own == id.0)
    } else {
        true
    }
}

fn value<'a>(table: &Table, row: &'a [Value], name: &str) -> Option<&'a Value> {
    let place = table
        .columns
        .iter()
        .position(|column| column.name == name)?;
    row.get(place)
}

fn text<'a>(table: &Table, row: &'a [Value], name: &str) -> &'a str {
    match value(table, row, name) {
        Some(Value::Text(text)) => text,
        _ => "",
    }
}

fn hash(table: &Table, row: &[Value], name: &str) -> Option<Hash64> {
    as_hash(value(table, row, name)?)
}

fn as_hash(value: &Value) -> Option<Hash64> {
    match value {
        Value::Unsigned(id) => Some(Hash64(*id)),
        _ => None,
    }
}

/// The first and the last day, since 1970, by which rows of this batch are put into pieces of their tables. A store takes
/// only so many pieces at once.
pub fn days(batch: &Batch) -> Option<(i64, i64)> {
    let mut found: Option<(i64, i64)> = None;
    for rows in batch.tables() {
        let (Partition::Day(name) | Partition::Month(name)) = rows.table.partition else {
            continue;
        };
        let seconds = match rows.table.column(name).map(|column| column.of) {
            Some(Type::Millis) => 86_400_000,
            _ => 86_400,
        };
        for row in &rows.rows {
            if let Some(Value::Signed(at)) = value(rows.table, row, name) {
                let day = at.div_euclid(seconds);
                let (first, last) = found.unwrap_or((day, day));
                found = Some((first.min(day), last.max(day)));
            }
        }
    }
    found
}
