//! Questions to the store.

use super::failure::Failure;
use super::json::{signed, unsigned, value};
use super::store::Store;
use crate::questions::{Parameter, Question};
use crate::row::Hash64;
use crate::sqlite::{Answer, Extent, Given};
use crate::subject::{STACKS_MAX, Subject};
use crate::value::{id_of_text, id_text};

/// A parameter's value, as the engine reads it.
fn text(given: &Given, parameter: Parameter) -> String {
    let subject = given.subject.as_ref();
    match parameter {
        Parameter::Since => given.since.to_string(),
        Parameter::Now => given.now.to_string(),
        Parameter::Rows => given.rows.to_string(),
        Parameter::Me => subject.map_or_else(String::new, |me| id_text(&me.id.0)),
        Parameter::Cause => subject.map_or_else(String::new, |me| escaped(&me.cause)),
        Parameter::Shape => subject.map_or(0, |me| me.shape.0).to_string(),
        Parameter::Server => escaped(&given.server),
        Parameter::Stacks => {
            let stacks = subject.map_or(&[][..], |me| me.stacks.as_slice());
            let stacks: Vec<String> = stacks.iter().map(|id| id.0.to_string()).collect();
            format!("[{}]", stacks.join(","))
        }
    }
}

/// A text as TSV has it: parameters are read so.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\t', "\\t")
        .replace('\n', "\\n")
}

impl Store {
    /// Asks a question.
    ///
    /// # Errors
    ///
    /// When the server does not answer it.
    pub fn ask(&self, question: &Question, given: &Given) -> Result<Answer, Failure> {
        let statement = question.clickhouse.ok_or_else(|| {
            self.stop(format!(
                "'{}' has no statement for ClickHouse",
                question.name
            ))
        })?;
        let parameters: Vec<(String, String)> = question
            .parameters
            .iter()
            .map(|parameter| {
                (
                    format!("param_{}", parameter.name()),
                    text(given, *parameter),
                )
            })
            .collect();
        let parameters: Vec<(&str, &str)> = parameters
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let mut answer = Answer::default();
        for row in self.rows(statement, &parameters)? {
            let cells = row.iter().zip(question.columns);
            answer.rows.push(
                cells
                    .map(|(cell, column)| value(cell, column.format))
                    .collect(),
            );
        }
        Ok(answer)
    }

    /// What there is.
    ///
    /// # Errors
    ///
    /// When the server does not answer.
    pub fn extent(&self) -> Result<Extent, Failure> {
        let sql = "SELECT (SELECT count() FROM hosts FINAL), count(), toUnixTimestamp64Milli(min(onset)), \
                   max(toUnixTimestamp64Milli(onset) + duration_ms) FROM incidents FINAL";
        let rows = self.rows(sql, &[])?;
        let cell = |place: usize| rows.first().and_then(|row| row.get(place));
        let incidents = cell(1).and_then(unsigned).unwrap_or(0);
        let moment = |place: usize| cell(place).and_then(signed).filter(|_| incidents > 0);
        Ok(Extent {
            hosts: cell(0).and_then(unsigned).unwrap_or(0),
            incidents,
            first: moment(2),
            last: moment(3),
        })
    }

    /// The incident with this name or UUID, or the latest: what others are compared with. None where there is none.
    ///
    /// # Errors
    ///
    /// When the server does not answer.
    pub fn subject(&self, name: Option<&str>) -> Result<Option<Subject>, Failure> {
        let sql = "SELECT toString(incident_id), cause, shape, name FROM incidents FINAL \
                   WHERE {any:UInt8} OR name = {name:String} OR toString(incident_id) = {name:String} \
                   ORDER BY onset DESC LIMIT 1";
        let any = if name.is_none() { "1" } else { "0" };
        let wanted = escaped(name.unwrap_or_default());
        let rows = self.rows(sql, &[("param_any", any), ("param_name", &wanted)])?;
        let Some([id, cause, shape, name]) = rows.first().map(Vec::as_slice) else {
            return Ok(None);
        };
        let text = |cell: &serde_json::Value| cell.as_str().unwrap_or_default().to_owned();
        let (id, rows_max) = (text(id), STACKS_MAX.to_string());
        // As `Subject::of` chooses them: by the share of the stall less that of the time before.
        let sql = "WITH seen AS (
                       SELECT kind, stack_id, sumIf(ns, phase = 'stall') AS stall,
                              sumIf(ns, phase IN ('baseline', 'before')) AS calm
                       FROM stacks FINAL
                       WHERE incident_id = {id:UUID} AND kind IN ('oncpu', 'wait')
                       GROUP BY kind, stack_id
                   ), excess AS (
                       SELECT stack_id, stall / greatest(sum(stall) OVER (PARTITION BY kind), 1)
                                        - calm / greatest(sum(calm) OVER (PARTITION BY kind), 1) AS more
                       FROM seen
                   )
                   SELECT stack_id FROM excess WHERE more > 0
                   ORDER BY more DESC, reinterpretAsInt64(stack_id) LIMIT {rows:UInt32}";
        let stacks = self.rows(sql, &[("param_id", &id), ("param_rows", &rows_max)])?;
        let stacks = stacks.iter().filter_map(|row| unsigned(row.first()?));
        Ok(Some(Subject {
            id: id_of_text(&id).unwrap_or_default().into(),
            name: text(name),
            cause: text(cause),
            shape: Hash64(unsigned(shape).unwrap_or(0)),
            stacks: stacks.map(Hash64).collect(),
        }))
    }
}
