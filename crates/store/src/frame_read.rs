use std::collections::HashMap;
use std::path::Path;

use model::{
    Absent, Clock, Fact, Incident, Kind, Millis, Reason, Series, Server, StackEvidence, Stall,
    TextKind, TimedAbsent, TimedFact, TimedText, Timeline, Trigger, Unit, Window,
};
use rusqlite::{Connection, OpenFlags, Row};

use crate::StoreError;
use crate::frame::{APPLICATION_ID, FRAME_VERSION};
use crate::frame_queries::read_queries;
use crate::frame_stacks::read_stacks;

/// The version from which a file has stacks.
const STACKS_SINCE: i64 = 2;

/// The version from which a file has digests of statements.
const QUERIES_SINCE: i64 = 3;

/// The version from which a file has functions with all that they called.
const CALLERS_SINCE: i64 = 4;

/// Ticks of a source that are read at the most: ten per second for an hour and more.
const TICKS_MAX: usize = 65_536;

/// Series and values that are read at the most: far more than a recorder writes, and no more memory
/// than a desk has.
const SERIES_MAX: usize = 65_536;
const VALUES_MAX: usize = 48_000_000;

/// A part of a file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The table.
    pub table: &'static str,
    /// Rows read before the damage.
    pub rows_read: usize,
    /// What is wrong.
    pub problem: String,
}

/// An incident as far as it could be read.
#[derive(Debug)]
pub struct Loaded {
    /// The incident.
    pub incident: Incident,
    /// What of it could not be read; empty for a sound file.
    pub damage: Vec<Damage>,
}

/// What a list of incidents shows.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Name.
    pub id: String,
    /// Host name.
    pub host: String,
    /// Server.
    pub server: Server,
    /// Its clock.
    pub clock: Clock,
    /// The stall.
    pub stall: Stall,
}

/// Reads an incident file. Damaged tables are read as far as they go and told in
/// [`Loaded::damage`]; only a file without its description (`meta`) is an error.
pub fn read_frame(path: &Path) -> Result<Loaded, StoreError> {
    let (connection, head) = open(path)?;
    let mut damage = head.damage;
    let mut timeline = Timeline::default();
    read_sources(&connection, &mut timeline, &mut damage);
    read_series(&connection, &mut timeline, &mut damage);
    let incident = Incident {
        id: head.summary.id,
        host: head.summary.host,
        tool_version: head.tool_version,
        server: head.summary.server,
        clock: head.summary.clock,
        stall: head.summary.stall,
        window: head.window,
        timeline,
        texts: read_table(
            &connection,
            "text",
            "at_ms, kind, body",
            &mut damage,
            text_row,
        ),
        stacks: if head.version >= STACKS_SINCE {
            read_stacks(&connection, head.version >= CALLERS_SINCE, &mut damage)
        } else {
            StackEvidence::default()
        },
        queries: if head.version >= QUERIES_SINCE {
            read_queries(&connection, &mut damage)
        } else {
            Vec::new()
        },
        facts: read_table(
            &connection,
            "fact",
            "at_ms, name, value",
            &mut damage,
            fact_row,
        ),
        absent: read_table(
            &connection,
            "absent",
            "first_ms, last_ms, count, what, reason, detail",
            &mut damage,
            absent_row,
        ),
    };
    Ok(Loaded { incident, damage })
}

/// Reads only what a list of incidents shows.
pub fn read_summary(path: &Path) -> Result<Summary, StoreError> {
    Ok(open(path)?.1.summary)
}

struct Head {
    summary: Summary,
    tool_version: String,
    window: Window,
    version: i64,
    damage: Vec<Damage>,
}

fn open(path: &Path) -> Result<(Connection, Head), StoreError> {
    // SQLite says "unable to open" for everything; the file system says why.
    let there = std::fs::File::open(path)
        .and_then(|file| file.metadata())
        .map_err(StoreError::io(path))?;
    let not_a_frame = |problem: String| StoreError::NotAFrame {
        path: path.to_owned(),
        problem,
    };
    // For SQLite that is a database without tables.
    if there.is_file() && there.len() == 0 {
        return Err(not_a_frame("the file is empty".to_owned()));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(StoreError::sqlite(path))?;
    let pragma = |name: &str| -> Result<i64, StoreError> {
        connection
            .pragma_query_value(None, name, |row| row.get(0))
            .map_err(|error| not_a_frame(error.to_string()))
    };
    if pragma("application_id")? != APPLICATION_ID {
        return Err(not_a_frame("it is another SQLite file".to_owned()));
    }
    let found = pragma("user_version")?;
    if found > FRAME_VERSION {
        return Err(StoreError::TooNew {
            path: path.to_owned(),
            found,
            known: FRAME_VERSION,
        });
    }
    let mut damage = Vec::new();
    let meta: HashMap<String, String> =
        read_table(&connection, "meta", "key, value", &mut damage, |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .into_iter()
        .collect();
    let head = head(&connection, &meta, found, damage).ok_or_else(|| {
        not_a_frame("its table 'meta' is damaged or incomplete; nothing can be told of it".into())
    })?;
    Ok((connection, head))
}

fn head(
    connection: &Connection,
    meta: &HashMap<String, String>,
    version: i64,
    mut damage: Vec<Damage>,
) -> Option<Head> {
    let text = |key: &str| meta.get(key).cloned().unwrap_or_default();
    let ms = |key: &str| meta.get(key)?.parse::<Millis>().ok();
    let trigger = ms("stall.trigger_ms")?;
    let onset = ms("stall.onset_ms").unwrap_or(trigger);
    let stall = Stall {
        onset,
        trigger,
        end: ms("stall.end_ms"),
        previous: ms("previous.onset_ms")
            .zip(ms("previous.end_ms"))
            .map(|(from, to)| Window { from, to }),
        triggers: read_table(
            connection,
            "stall_trigger",
            "rule, says",
            &mut damage,
            |row| {
                Ok(Trigger {
                    rule: row.get(0)?,
                    says: row.get(1)?,
                })
            },
        ),
    };
    let summary = Summary {
        id: meta.get("id")?.clone(),
        host: text("host"),
        server: Server {
            label: text("server.label"),
            version: text("server.version"),
            pid: meta.get("server.pid").and_then(|pid| pid.parse().ok()),
            address: text("server.address"),
        },
        clock: Clock {
            wall_at_zero_ms: meta.get("clock.wall_at_zero_ms")?.parse().ok()?,
            boot_id: text("clock.boot_id"),
        },
        stall,
    };
    Some(Head {
        summary,
        tool_version: text("tool_version"),
        window: Window {
            from: ms("window.from_ms").unwrap_or(onset),
            to: ms("window.to_ms").unwrap_or(trigger),
        },
        version,
        damage,
    })
}

/// Reads the rows of a table up to its end or its first damage.
pub(crate) fn read_table<T>(
    connection: &Connection,
    table: &'static str,
    columns: &str,
    damage: &mut Vec<Damage>,
    read_row: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Vec<T> {
    let mut rows_read = Vec::new();
    let result = (|| -> rusqlite::Result<()> {
        let mut statement = connection.prepare(&format!("SELECT {columns} FROM {table}"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            rows_read.push(read_row(row)?);
        }
        Ok(())
    })();
    if let Err(error) = result {
        damage.push(Damage {
            table,
            rows_read: rows_read.len(),
            problem: error.to_string(),
        });
    }
    rows_read
}

fn read_sources(connection: &Connection, timeline: &mut Timeline, damage: &mut Vec<Damage>) {
    let rows = read_table(connection, "source", "name, ticks", damage, |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    });
    for (name, ticks) in rows {
        match serde_json::from_str::<Vec<Millis>>(&ticks) {
            Ok(ticks) if ticks.len() <= TICKS_MAX && ticks.is_sorted() => {
                timeline.add_source(&name, ticks);
            }
            _ => {
                // Kept without its ticks, so that the ids of the sources after it stay right.
                timeline.add_source(&name, Vec::new());
                damage.push(Damage {
                    table: "source",
                    rows_read: timeline.sources.len(),
                    problem: format!("the ticks of source '{name}' cannot be read"),
                });
            }
        }
    }
}

fn read_series(connection: &Connection, timeline: &mut Timeline, damage: &mut Vec<Damage>) {
    let columns = "name, unit, kind, source, changes";
    let rows = read_table(connection, "series", columns, damage, |row| {
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, String>(2)?,
            row.get::<_, i64>(3)?,
            row.get::<_, String>(4)?,
        ))
    });
    let mut unreadable = 0;
    let mut values = 0;
    for (name, unit, kind, source, changes) in rows {
        let series = (|| {
            let source = usize::try_from(source).ok()?;
            let ticks = timeline.sources.get(source)?.ticks.len();
            values += ticks;
            if values > VALUES_MAX || timeline.series.len() >= SERIES_MAX {
                return None;
            }
            Some(Series {
                unit: Unit::from_name(&unit)?,
                kind: Kind::from_name(&kind)?,
                source,
                values: values_of(&changes, ticks)?,
                name,
            })
        })();
        match series {
            Some(series) => {
                timeline.add_series(series);
            }
            None => unreadable += 1,
        }
    }
    if unreadable > 0 {
        damage.push(Damage {
            table: "series",
            rows_read: timeline.series.len(),
            problem: format!("{unreadable} series cannot be read"),
        });
    }
}

fn values_of(changes: &str, ticks: usize) -> Option<Vec<f64>> {
    let changes: Vec<(usize, Option<f64>)> = serde_json::from_str(changes).ok()?;
    let mut values = Vec::with_capacity(ticks);
    let mut last = f64::NAN;
    for (index, value) in changes {
        if index > ticks || index < values.len() {
            return None;
        }
        values.resize(index, last);
        last = value.unwrap_or(f64::NAN);
    }
    values.resize(ticks, last);
    Some(values)
}

fn text_row(row: &Row<'_>) -> rusqlite::Result<TimedText> {
    let kind: String = row.get(1)?;
    let kind = TextKind::from_name(&kind).ok_or_else(|| unknown_value(1, &kind))?;
    let body: String = row.get(2)?;
    Ok(TimedText {
        at: ms_column(row, 0)?,
        text: server_text::stored(kind, &body),
    })
}

fn fact_row(row: &Row<'_>) -> rusqlite::Result<TimedFact> {
    Ok(TimedFact {
        at: ms_column(row, 0)?,
        fact: Fact {
            name: row.get(1)?,
            value: row.get(2)?,
        },
    })
}

fn absent_row(row: &Row<'_>) -> rusqlite::Result<TimedAbsent> {
    let reason: String = row.get(4)?;
    let reason: Reason = serde_json::from_value(serde_json::Value::String(reason.clone()))
        .map_err(|_| unknown_value(4, &reason))?;
    Ok(TimedAbsent {
        first: ms_column(row, 0)?,
        last: ms_column(row, 1)?,
        count: ms_column(row, 2)?,
        absent: Absent {
            what: row.get(3)?,
            reason,
            detail: row.get(5)?,
        },
    })
}

pub(crate) fn ms_column(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

pub(crate) fn unknown_value(column: usize, value: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(
        column,
        rusqlite::types::Type::Text,
        format!("unknown value '{value}'").into(),
    )
}
