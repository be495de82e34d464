//! Reading an incident file, of any version, as far as it is sound.

use std::collections::HashMap;
use std::path::Path;

use model::{
    Absent, Clock, EARLIER_MAX, Fact, Incident, Millis, Reason, Series, Server, SignalKind,
    StackEvidence, Stall, TextKind, TimedAbsent, TimedFact, TimedText, Timeline, Trigger, Unit,
    Window,
};
use rusqlite::{Connection, Row};

use crate::StoreError;
use crate::budget::{READ_BYTES_MAX, ReadBudget, error_text, open_careful};
use crate::columns::{ms_column, text_column, unknown_value};
use crate::incident_file::{APPLICATION_ID, INCIDENT_FILE_VERSION};
use crate::incident_queries::read_queries;
use crate::incident_stacks::read_stacks;
use crate::tables::{Damage, Table, Tables};

/// The version from which a file has stacks.
const STACKS_SINCE: i64 = 2;

/// The version from which a file has digests of statements.
const QUERIES_SINCE: i64 = 3;

/// The version from which a file has functions with all that they called.
const CALLERS_SINCE: i64 = 4;

/// Ticks of a source that are read at the most: ten per second for an hour and more.
const TICKS_MAX: usize = 65_536;

/// Series that are read at the most: far more than a recorder writes.
const SERIES_MAX: usize = 65_536;

/// Absences that are read: each is told with the verdict, and a recorder has some dozens.
const ABSENT_MAX: usize = 10_000;

/// Memory for what says what the file is, bytes.
const HEAD_BYTES_MAX: u64 = 8 << 20;

/// An incident as far as it could be read.
#[derive(Debug)]
pub struct LoadedIncident {
    /// The incident.
    pub incident: Incident,
    /// What of it could not be read; empty for a sound file.
    pub damage: Vec<Damage>,
}

/// What a list of incidents shows.
#[derive(Debug, Clone)]
pub struct IncidentSummary {
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
/// [`LoadedIncident::damage`], as is what was left out because it is over [`READ_BYTES_MAX`] of memory; only a
/// file without its description (`meta`) is an error.
pub fn read_incident(path: &Path) -> Result<LoadedIncident, StoreError> {
    read_incident_within(path, READ_BYTES_MAX)
}

/// The same with another limit on its memory, bytes.
pub fn read_incident_within(path: &Path, bytes_max: u64) -> Result<LoadedIncident, StoreError> {
    let (connection, head) = open(path)?;
    let mut tables = Tables {
        connection: &connection,
        account: ReadBudget::new(bytes_max),
        damage: head.damage,
    };
    let mut timeline = Timeline::default();
    read_sources(&mut tables, &mut timeline);
    read_series(&mut tables, &mut timeline);
    let texts = Table::small("text", "at_ms, kind, body").percent(60);
    let texts = tables.read(texts.large("body"), text_row);
    let stacks = match head.version >= STACKS_SINCE {
        true => read_stacks(&mut tables, head.version >= CALLERS_SINCE),
        false => StackEvidence::default(),
    };
    let queries = match head.version >= QUERIES_SINCE {
        true => read_queries(&mut tables),
        false => Vec::new(),
    };
    let facts = tables.read(
        Table::small("fact", "at_ms, name, value").percent(10),
        fact_row,
    );
    let columns = "first_ms, last_ms, count, what, reason, detail";
    let absent = tables.read(
        Table::small("absent", columns).percent(10).rows(ABSENT_MAX),
        absent_row,
    );
    let incident = Incident {
        mentions: Vec::new(),
        known_words: Vec::new(),
        id: head.summary.id,
        host: head.summary.host,
        tool_version: head.tool_version,
        server: head.summary.server,
        clock: head.summary.clock,
        stall: head.summary.stall,
        window: head.window,
        timeline,
        texts,
        stacks,
        queries,
        facts,
        absent,
    };
    Ok(LoadedIncident {
        incident,
        damage: tables.damage,
    })
}

/// Reads only what a list of incidents shows.
pub fn read_summary(path: &Path) -> Result<IncidentSummary, StoreError> {
    Ok(open(path)?.1.summary)
}

struct Head {
    summary: IncidentSummary,
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
    let connection = open_careful(path).map_err(StoreError::sqlite(path))?;
    let pragma = |name: &str| -> Result<i64, StoreError> {
        connection
            .pragma_query_value(None, name, |row| row.get(0))
            .map_err(|error| not_a_frame(error_text(&error)))
    };
    if pragma("application_id")? != APPLICATION_ID {
        return Err(not_a_frame("it is another SQLite file".to_owned()));
    }
    let found = pragma("user_version")?;
    if found > INCIDENT_FILE_VERSION {
        return Err(StoreError::TooNew {
            path: path.to_owned(),
            found,
            known: INCIDENT_FILE_VERSION,
        });
    }
    let mut tables = Tables {
        connection: &connection,
        account: ReadBudget::new(HEAD_BYTES_MAX),
        damage: Vec::new(),
    };
    let meta: HashMap<String, String> = tables
        .read(Table::small("meta", "key, value").percent(50), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .into_iter()
        .collect();
    let head = head(tables, &meta, found).ok_or_else(|| {
        not_a_frame("its table 'meta' is damaged or incomplete; nothing can be read".into())
    })?;
    Ok((connection, head))
}

/// The stalls before it. Older files know of the last one only.
fn earlier(meta: &HashMap<String, String>) -> Vec<Window> {
    let ms = |text: &str| text.parse::<Millis>().ok();
    let of_key = |key: &str| ms(meta.get(key)?);
    let listed = meta.get("earlier_ms").map_or("", String::as_str);
    let listed = listed.split_whitespace().filter_map(|stall| {
        let (from, to) = stall.split_once('-')?;
        Some(Window {
            from: ms(from)?,
            to: ms(to)?,
        })
    });
    let last = of_key("previous.onset_ms").zip(of_key("previous.end_ms"));
    let last = last.map(|(from, to)| Window { from, to });
    listed.chain(last).take(EARLIER_MAX).collect()
}

fn head(mut tables: Tables<'_>, meta: &HashMap<String, String>, version: i64) -> Option<Head> {
    let text = |key: &str| meta.get(key).cloned().unwrap_or_default();
    let ms = |key: &str| meta.get(key)?.parse::<Millis>().ok();
    let trigger = ms("stall.trigger_ms")?;
    let onset = ms("stall.onset_ms").unwrap_or(trigger);
    let stall = Stall {
        onset,
        trigger,
        end: ms("stall.end_ms"),
        earlier: earlier(meta),
        triggers: tables.read(Table::small("stall_trigger", "rule, says"), |row| {
            Ok(Trigger {
                rule: row.get(0)?,
                says: row.get(1)?,
            })
        }),
    };
    let summary = IncidentSummary {
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
        damage: tables.damage,
    })
}

fn read_sources(tables: &mut Tables<'_>, timeline: &mut Timeline) {
    let mut unreadable = Vec::new();
    let table = Table::small("source", "name, ticks")
        .percent(15)
        .json("ticks");
    tables.each(table, size_of::<model::Source>(), |row| {
        let name: String = row.get(0)?;
        match serde_json::from_str::<Vec<Millis>>(text_column(row, 1)?) {
            Ok(ticks) if ticks.len() <= TICKS_MAX && ticks.is_sorted() => {
                timeline.add_source(&name, ticks);
            }
            _ => {
                // Kept without its ticks, so that the ids of the sources after it stay right.
                timeline.add_source(&name, Vec::new());
                unreadable.push((name, timeline.sources.len()));
            }
        }
        Ok(0)
    });
    tables
        .damage
        .extend(unreadable.into_iter().map(|(name, rows_read)| Damage {
            table: "source",
            rows_read,
            problem: format!("the ticks of source '{name}' cannot be read"),
            is_limit: false,
        }));
}

fn read_series(tables: &mut Tables<'_>, timeline: &mut Timeline) {
    let mut unreadable = 0;
    let columns = "name, unit, kind, source, changes";
    let table = Table::small("series", columns).percent(70).large("changes");
    // The name is in the list by names as well.
    let fixed = 2 * size_of::<Series>() + 100;
    tables.each(table, fixed, |row| {
        let (name, unit): (String, String) = (row.get(0)?, row.get(1)?);
        let (kind, source): (String, i64) = (row.get(2)?, row.get(3)?);
        let changes = text_column(row, 4)?;
        let series = (|| {
            let source = usize::try_from(source).ok()?;
            let ticks = timeline.sources.get(source)?.ticks.len();
            if timeline.series.len() >= SERIES_MAX {
                return None;
            }
            Some(Series {
                unit: Unit::from_name(&unit)?,
                kind: SignalKind::from_name(&kind)?,
                source,
                values: values_of(changes, ticks)?,
                name,
            })
        })();
        Ok(match series {
            Some(series) => {
                let bytes = series.values.len() * size_of::<f64>();
                timeline.add_series(series);
                bytes as u64
            }
            None => {
                unreadable += 1;
                0
            }
        })
    });
    if unreadable > 0 {
        tables.damage.push(Damage {
            table: "series",
            rows_read: timeline.series.len(),
            problem: format!("{unreadable} series cannot be read"),
            is_limit: false,
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
