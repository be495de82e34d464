//! Writing an incident file: the schema's version, and its tables.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use model::{Incident, Series, Timeline, Window};
use rusqlite::{Connection, Transaction, params};

use crate::StoreError;
use crate::files::{make_private_dir, publish, touch_private};
use crate::incident_queries::write_queries;
use crate::incident_stacks::write_stacks;

/// Version of the incident file's format, SQLite's `user_version`.
pub const INCIDENT_FILE_VERSION: i64 = 4;

/// "Ffrm": SQLite's `application_id` of an incident file.
pub(crate) const APPLICATION_ID: i64 = 0x4666_726d;

/// The tables of an incident file, as they stand in each.
pub const INCIDENT_FILE_SCHEMA: &str = include_str!("frame.sql");

/// Writes an incident as one file, `dir/ID.frame`. Complete or not there: it is written under
/// another name, synced, and renamed.
pub fn write_incident(incident: &Incident, dir: &Path) -> Result<PathBuf, StoreError> {
    make_private_dir(dir)?;
    let path = dir.join(format!("{}.frame", incident.id));
    write_incident_file(incident, &path)?;
    Ok(path)
}

/// Writes an incident as this file, in a folder that is there. Complete or not there, as above.
pub fn write_incident_file(incident: &Incident, path: &Path) -> Result<(), StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = path.with_file_name(format!(".{name}.partial"));
    let written = write_partial(incident, &partial).and_then(|()| publish(&partial, path));
    if let Err(error) = written {
        // What is left of it is worth nothing; the first error is the one to tell.
        let _ = std::fs::remove_file(&partial);
        return Err(error.about(path));
    }
    Ok(())
}

fn write_partial(incident: &Incident, partial: &Path) -> Result<(), StoreError> {
    let _ = std::fs::remove_file(partial);
    touch_private(partial)?;
    let mut connection = Connection::open(partial).map_err(StoreError::sqlite(partial))?;
    write_tables(&mut connection, incident).map_err(StoreError::sqlite(partial))
}

fn write_tables(connection: &mut Connection, incident: &Incident) -> rusqlite::Result<()> {
    // The rename makes it atomic, so a journal would be work for nothing.
    connection.pragma_update(None, "journal_mode", "OFF")?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    // A number that is off by one must not cost the whole incident; readers tell it as damage.
    connection.pragma_update(None, "foreign_keys", "OFF")?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", INCIDENT_FILE_VERSION)?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(INCIDENT_FILE_SCHEMA)?;
    write_meta(&transaction, incident)?;
    write_timeline(&transaction, &incident.timeline)?;
    write_records(&transaction, incident)?;
    write_stacks(&transaction, incident)?;
    write_queries(&transaction, &incident.queries)?;
    transaction.commit()
}

/// `FROM-TO FROM-TO`, without the last one, which has keys of its own.
fn before_previous(earlier: &[Window]) -> Option<String> {
    let (_, earlier) = earlier.split_last()?;
    let listed = earlier
        .iter()
        .map(|stall| format!("{}-{}", stall.from, stall.to));
    let listed: Vec<String> = listed.collect();
    (!listed.is_empty()).then(|| listed.join(" "))
}

fn write_meta(transaction: &Transaction<'_>, incident: &Incident) -> rusqlite::Result<()> {
    let stall = &incident.stall;
    let rows: [(&str, Option<String>); 17] = [
        ("id", Some(incident.id.clone())),
        ("host", Some(incident.host.clone())),
        ("tool_version", Some(incident.tool_version.clone())),
        ("server.label", Some(incident.server.label.clone())),
        ("server.version", Some(incident.server.version.clone())),
        ("server.pid", incident.server.pid.map(|pid| pid.to_string())),
        ("server.address", Some(incident.server.address.clone())),
        (
            "clock.wall_at_zero_ms",
            Some(incident.clock.wall_at_zero_ms.to_string()),
        ),
        ("clock.boot_id", Some(incident.clock.boot_id.clone())),
        ("stall.onset_ms", Some(stall.onset.to_string())),
        ("stall.trigger_ms", Some(stall.trigger.to_string())),
        ("stall.end_ms", stall.end.map(|end| end.to_string())),
        (
            "previous.onset_ms",
            stall.previous().map(|stall| stall.from.to_string()),
        ),
        (
            "previous.end_ms",
            stall.previous().map(|stall| stall.to.to_string()),
        ),
        ("earlier_ms", before_previous(&stall.earlier)),
        ("window.from_ms", Some(incident.window.from.to_string())),
        ("window.to_ms", Some(incident.window.to.to_string())),
    ];
    let mut insert = transaction.prepare("INSERT INTO meta (key, value) VALUES (?1, ?2)")?;
    for (key, value) in rows {
        if let Some(value) = value {
            insert.execute(params![key, value])?;
        }
    }
    let mut insert =
        transaction.prepare("INSERT INTO stall_trigger (rule, says) VALUES (?1, ?2)")?;
    for trigger in &stall.triggers {
        insert.execute(params![trigger.rule, trigger.says])?;
    }
    Ok(())
}

fn write_timeline(transaction: &Transaction<'_>, timeline: &Timeline) -> rusqlite::Result<()> {
    let mut source =
        transaction.prepare("INSERT INTO source (id, name, ticks) VALUES (?1, ?2, ?3)")?;
    for (id, row) in timeline.sources.iter().enumerate() {
        let mut ticks = String::from("[");
        for (index, tick) in row.ticks.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let _ = write!(ticks, "{comma}{tick}");
        }
        ticks.push(']');
        source.execute(params![id as i64, row.name, ticks])?;
    }
    let mut series = transaction.prepare(
        "INSERT INTO series (name, unit, kind, source, changes) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for row in &timeline.series {
        series.execute(params![
            row.name,
            row.unit.name(),
            row.kind.name(),
            row.source as i64,
            changes_json(row)
        ])?;
    }
    Ok(())
}

/// `[[tick index, value], …]`: a value holds until the next entry, `null` is absent.
fn changes_json(series: &Series) -> String {
    let mut json = String::from("[");
    let mut last = f64::NAN;
    for (index, value) in series.values.iter().enumerate() {
        if *value == last || (value.is_nan() && last.is_nan()) {
            continue;
        }
        last = *value;
        let comma = if json.len() == 1 { "" } else { "," };
        let _ = if value.is_finite() {
            write!(json, "{comma}[{index},{value}]")
        } else {
            write!(json, "{comma}[{index},null]")
        };
    }
    json.push(']');
    json
}

fn write_records(transaction: &Transaction<'_>, incident: &Incident) -> rusqlite::Result<()> {
    let mut insert =
        transaction.prepare("INSERT INTO text (at_ms, kind, body) VALUES (?1, ?2, ?3)")?;
    for row in &incident.texts {
        insert.execute(params![
            row.at as i64,
            row.text.kind().name(),
            row.text.body()
        ])?;
    }
    let mut insert =
        transaction.prepare("INSERT INTO fact (at_ms, name, value) VALUES (?1, ?2, ?3)")?;
    for row in &incident.facts {
        insert.execute(params![row.at as i64, row.fact.name, row.fact.value])?;
    }
    let mut insert = transaction.prepare(
        "INSERT INTO absent (first_ms, last_ms, count, what, reason, detail)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for row in &incident.absent {
        let reason = serde_json::to_value(row.absent.reason).unwrap_or_default();
        insert.execute(params![
            row.first as i64,
            row.last as i64,
            row.count as i64,
            row.absent.what,
            reason.as_str().unwrap_or_default(),
            row.absent.detail
        ])?;
    }
    Ok(())
}
