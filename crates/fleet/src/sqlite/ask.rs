//! Questions to the store.

use rusqlite::types::Value as Cell;
use rusqlite::{OptionalExtension, params};

use super::cell::value;
use super::open::{Store, sqlite};
use crate::error::StoreError;
use crate::questions::{Parameter, Question};
use crate::row::Hash64;
use crate::subject::{STACKS_MAX, Subject};
use crate::value::{Value, id_text};

/// What a question is asked with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Given {
    /// From when on, milliseconds since 1970.
    pub since: i64,
    /// The moment of the question, milliseconds since 1970.
    pub now: i64,
    /// How many rows are wanted.
    pub rows: u32,
    /// The incident that the question is about.
    pub subject: Option<Subject>,
    /// A server as answers call it; nothing for all.
    pub server: String,
}

/// The rows of an answer, a value for each column of the question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The rows, the most important first.
    pub rows: Vec<Vec<Value>>,
}

/// What a store holds at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// Servers.
    pub hosts: u64,
    /// Incidents.
    pub incidents: u64,
    /// The first onset, milliseconds since 1970.
    pub first: Option<i64>,
    /// The end of the last, milliseconds since 1970.
    pub last: Option<i64>,
}

impl Given {
    fn cell(&self, parameter: Parameter) -> Cell {
        let subject = self.subject.as_ref();
        match parameter {
            Parameter::Since => Cell::Integer(self.since),
            Parameter::Now => Cell::Integer(self.now),
            Parameter::Rows => Cell::Integer(self.rows.into()),
            Parameter::Me => Cell::Text(subject.map_or_else(String::new, |me| id_text(&me.id.0))),
            Parameter::Cause => Cell::Text(subject.map_or_else(String::new, |me| me.cause.clone())),
            Parameter::Shape => Cell::Integer(subject.map_or(0, |me| me.shape.0).cast_signed()),
            Parameter::Server => Cell::Text(self.server.clone()),
            Parameter::Stacks => {
                let stacks = subject.map_or(&[][..], |me| me.stacks.as_slice());
                let stacks: Vec<i64> = stacks.iter().map(|id| id.0.cast_signed()).collect();
                Cell::Text(serde_json::Value::from(stacks).to_string())
            }
        }
    }
}

impl Store {
    /// Asks a question.
    ///
    /// # Errors
    ///
    /// When SQLite cannot read.
    pub fn ask(&self, question: &Question, given: &Given) -> Result<Answer, StoreError> {
        self.rows(question, given).map_err(sqlite(&self.path))
    }

    fn rows(&self, question: &Question, given: &Given) -> rusqlite::Result<Answer> {
        let mut statement = self.connection.prepare(question.sqlite)?;
        for parameter in question.parameters {
            let name = format!(":{}", parameter.name());
            if let Some(place) = statement.parameter_index(&name)? {
                statement.raw_bind_parameter(place, given.cell(*parameter))?;
            }
        }
        let mut answer = Answer::default();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            let cells = question.columns.iter().enumerate();
            let cells = cells.map(|(place, column)| Ok(value(row.get_ref(place)?, column.format)));
            answer.rows.push(cells.collect::<rusqlite::Result<_>>()?);
        }
        Ok(answer)
    }

    /// What there is.
    ///
    /// # Errors
    ///
    /// When SQLite cannot read.
    pub fn extent(&self) -> Result<Extent, StoreError> {
        let sql = "SELECT (SELECT count(*) FROM hosts), count(*), min(onset), max(onset + duration_ms) FROM incidents";
        let extent = self.connection.query_row(sql, [], |row| {
            Ok(Extent {
                hosts: row.get::<_, i64>(0)?.cast_unsigned(),
                incidents: row.get::<_, i64>(1)?.cast_unsigned(),
                first: row.get(2)?,
                last: row.get(3)?,
            })
        });
        extent.map_err(sqlite(&self.path))
    }

    /// The incident with this name or UUID, or the latest: what others are compared with. None where there is none.
    ///
    /// # Errors
    ///
    /// When SQLite cannot read.
    pub fn subject(&self, name: Option<&str>) -> Result<Option<Subject>, StoreError> {
        self.find_subject(name).map_err(sqlite(&self.path))
    }

    fn find_subject(&self, name: Option<&str>) -> rusqlite::Result<Option<Subject>> {
        let sql = "SELECT incident_id, cause, shape, name FROM incidents
                   WHERE ?1 IS NULL OR name = ?1 OR incident_id = ?1 ORDER BY onset DESC LIMIT 1";
        let found = self.connection.query_row(sql, [name], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get(1)?,
                row.get::<_, i64>(2)?,
                row.get(3)?,
            ))
        });
        let Some((id, cause, shape, name)) = found.optional()? else {
            return Ok(None);
        };
        // As `Subject::of` chooses them: by the share of the stall less that of the time before.
        let sql = "WITH seen AS (
                       SELECT kind, stack_id, sum(iif(phase = 'stall', ns, 0)) AS stall,
                              sum(iif(phase IN ('baseline', 'before'), ns, 0)) AS calm
                       FROM stacks WHERE incident_id = ?1 AND kind IN ('oncpu', 'wait') GROUP BY kind, stack_id
                   ), excess AS (
                       SELECT stack_id, stall * 1.0 / max(sum(stall) OVER one, 1) - calm * 1.0 / max(sum(calm) OVER one, 1) AS more
                       FROM seen WINDOW one AS (PARTITION BY kind)
                   )
                   SELECT stack_id FROM excess WHERE more > 0 ORDER BY more DESC, stack_id LIMIT ?2";
        let mut stacks = self.connection.prepare(sql)?;
        let stacks = stacks.query_map(params![id, STACKS_MAX as i64], |row| {
            Ok(Hash64(row.get::<_, i64>(0)?.cast_unsigned()))
        })?;
        Ok(Some(Subject {
            id: crate::value::id_of_text(&id).unwrap_or_default().into(),
            name,
            cause,
            shape: Hash64(shape.cast_unsigned()),
            stacks: stacks.collect::<rusqlite::Result<_>>()?,
        }))
    }
}
