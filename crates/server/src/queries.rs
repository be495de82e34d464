//! The questions that the recorder asks, each with what becomes of the answer.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use model::{Fact, OwnText, Reading, SourceData, Text, Unit};

use server_text::innodb;

use crate::processlist::Shown;
use crate::public_value::public_value;
use crate::{Row, ServerError, Session};

/// Rows of variables or of a process list that are kept.
const ROWS_MAX: usize = 20_000;

/// `@@version` and `@@version_comment`.
pub fn version(session: &mut Session) -> Result<String, ServerError> {
    let (rows, _) = session.rows("SELECT @@version, @@version_comment", 1)?;
    Ok(rows.first().map_or_else(String::new, |row| {
        format!("{} ({})", row.column(0), row.column(1))
    }))
}

/// `SHOW GLOBAL STATUS`: every numeric variable as a signal.
pub fn status(session: &mut Session) -> Result<SourceData, ServerError> {
    Ok(SourceData {
        readings: session.status("SHOW GLOBAL STATUS")?,
        ..SourceData::default()
    })
}

/// `SHOW PROCESSLIST`, as histograms and the longest sessions. Not `FULL`: the first hundred
/// characters of a statement tell its class, and whole statements may be megabytes each.
/// `also` sees the same rows and adds what it reads from them.
pub fn processlist(
    session: &mut Session,
    own: &[u64],
    also: impl FnOnce(&[Row]) -> Vec<Reading>,
) -> Result<SourceData, ServerError> {
    let (rows, left_out) = session.rows("SHOW PROCESSLIST", ROWS_MAX)?;
    let mut taken = processlist_taken(&rows, own);
    taken.readings.extend(also(&rows));
    let user = || rows.first().map(|row| row.get("user"));
    let is_one_user = || rows.iter().all(|row| Some(row.get("user")) == user());
    if session.sees_all_sessions == Some(false) && is_one_user() {
        taken.absent.push(model::Absent::new(
            "processlist",
            model::Reason::Permission,
            "only the sessions of our own account can be seen: it has no PROCESS privilege",
        ));
    }
    if left_out > 0 {
        taken.absent.push(model::Absent::new(
            "processlist",
            model::Reason::Limit,
            format!("{left_out} sessions over {ROWS_MAX} were not counted"),
        ));
    }
    Ok(taken)
}

/// `SHOW ENGINE INNODB STATUS`: the text without literals, and its signals.
pub fn innodb_status(session: &mut Session) -> Result<SourceData, ServerError> {
    let (rows, _) = session.rows("SHOW ENGINE INNODB STATUS", 1)?;
    // Three columns (Type, Name, Status) since 5.1, one before.
    let text = rows.first().map_or("", |row| match row.column(2) {
        "" => row.column(0),
        text => text,
    });
    Ok(innodb_taken(text))
}

/// What a text of `SHOW ENGINE INNODB STATUS` tells, or a part of one.
pub fn innodb_taken(text: &str) -> SourceData {
    let status = innodb::parse(text);
    let readings = innodb::signals(&status)
        .into_iter()
        .map(|(name, value)| Reading::gauge(name, unit_of_innodb(name), value))
        .collect();
    let mut texts = vec![server_text::innodb_status(text)];
    // An empty list says that nobody waited, which a text that was cut off before cannot.
    if status.semaphores.listed {
        let waits = serde_json::to_string(&status.semaphore_waits).unwrap_or_default();
        texts.push(Text::own(OwnText::Semaphores, waits));
    }
    SourceData {
        readings,
        texts,
        ..SourceData::default()
    }
}

/// What the rows of a process list tell: its columns are named as the server names them, in lower
/// case. `own` are connections to leave out.
pub fn processlist_taken(rows: &[Row], own: &[u64]) -> SourceData {
    list_taken(rows, own, Shown::TOLD)
}

/// The same of a list that somebody showed to others, in which he may have written: `state` is what a state was before.
pub fn pasted_processlist_taken(
    rows: &[Row],
    own: &[u64],
    state: fn(&str) -> Cow<'_, str>,
) -> SourceData {
    list_taken(rows, own, Shown::pasted(state))
}

fn list_taken(rows: &[Row], own: &[u64], shown: Shown) -> SourceData {
    let list = crate::processlist::summarise(rows, own, shown);
    SourceData {
        readings: crate::processlist::readings(&list),
        texts: vec![Text::own(
            OwnText::Processlist,
            serde_json::to_string(&list).unwrap_or_default(),
        )],
        ..SourceData::default()
    }
}

fn unit_of_innodb(name: &str) -> Unit {
    if name.contains("_seconds") {
        Unit::Seconds
    } else if name.ends_with("_bytes") {
        Unit::Bytes
    } else if name.ends_with("_pages") {
        Unit::Pages
    } else {
        Unit::Count
    }
}

/// An answer to `SHOW GLOBAL VARIABLES`, as a number that another one does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VariablesSeen(u64);

/// `SHOW GLOBAL VARIABLES` as facts; none where the answer is the one that was `seen` last, as it nearly always is.
pub fn variables(
    session: &mut Session,
    seen: &mut Option<VariablesSeen>,
) -> Result<Vec<Fact>, ServerError> {
    let (rows, _) = session.rows("SHOW GLOBAL VARIABLES", ROWS_MAX)?;
    let mut hasher = std::hash::DefaultHasher::new();
    for row in &rows {
        (row.column(0), row.column(1)).hash(&mut hasher);
    }
    let now = Some(VariablesSeen(hasher.finish()));
    if std::mem::replace(seen, now) == now {
        return Ok(Vec::new());
    }
    Ok(rows
        .iter()
        .map(|row| variable_fact(row.column(0), row.column(1)))
        .collect())
}

/// A variable as a fact; what may be a secret is hidden.
pub fn variable_fact(name: &str, value: &str) -> Fact {
    Fact::new(format!("variables.{name}"), public_value(name, value))
}

/// How many sessions use the compressed protocol, where performance_schema counts per thread.
///
/// Materialises the status of every thread: asked once a stall, not each second.
pub fn compressed_sessions(session: &mut Session) -> Result<SourceData, ServerError> {
    let (rows, _) = session.rows(
        "SELECT VARIABLE_VALUE, COUNT(*) FROM performance_schema.status_by_thread \
         WHERE VARIABLE_NAME = 'Compression' GROUP BY VARIABLE_VALUE",
        10,
    )?;
    let count = |wanted: Option<&str>| -> f64 {
        rows.iter()
            .filter(|row| wanted.is_none_or(|wanted| row.column(0).eq_ignore_ascii_case(wanted)))
            .filter_map(|row| row.column(1).parse::<f64>().ok())
            .sum()
    };
    if rows.is_empty() {
        return Ok(SourceData {
            absent: vec![model::Absent::new(
                "compressed sessions",
                model::Reason::Unsupported,
                "performance_schema is off or has no status by thread",
            )],
            ..SourceData::default()
        });
    }
    Ok(SourceData {
        readings: vec![
            Reading::gauge("sessions.counted", Unit::Count, count(None)),
            Reading::gauge("sessions.compressed", Unit::Count, count(Some("ON"))),
        ],
        ..SourceData::default()
    })
}
