//! Where threads stand, by incident: what `new-in-stalls` adds up. It is made of `stacks` as they come in, because to
//! look up the frames of every stack of a thousand incidents takes most of a second.

use std::collections::BTreeSet;

use rusqlite::{Connection, params};

use crate::tables::STACKS;
use crate::value::{Value, id_text};

/// On a processor the three innermost functions; waiting the three innermost of the program itself, as all waits end in
/// the same few of kernel and C library. Empty where there is none.
const OF_INCIDENT: &str = "
    SELECT kind, functions, ts, host_id, max(phase = 'stall'),
           sum(iif(phase = 'stall', ns, 0)), sum(iif(phase = 'stall', 0, ns))
    FROM (
        SELECT s.*, coalesce((
            SELECT group_concat(name, ' < ') FROM (
                SELECT frames.function AS name
                FROM stack_frames AS f, json_each(f.frames) AS frame CROSS JOIN frames
                WHERE f.stack_id = s.stack_id AND frames.frame_id = frame.value
                  AND (s.kind = 'oncpu' OR frames.module NOT GLOB '[[]*' AND frames.module NOT GLOB 'lib*'
                       AND frames.module NOT GLOB 'ld-*')
                ORDER BY frame.key LIMIT 3)
        ), '') AS functions
        FROM stacks AS s
        WHERE s.incident_id = ?1 AND s.kind IN ('oncpu', 'wait') AND s.phase IN ('baseline', 'before', 'stall')
    )
    GROUP BY kind, functions, ts, host_id";

/// Adds up the stacks of these rows' incidents, those of earlier batches among them.
pub(super) fn update(connection: &Connection, stacks: &[Vec<Value>]) -> rusqlite::Result<()> {
    let column = STACKS.columns.iter();
    let place = column.take_while(|column| column.name != "incident_id");
    let place = place.count();
    let ids = stacks.iter().filter_map(|row| match row.get(place) {
        Some(Value::Id(id)) => Some(id_text(id)),
        _ => None,
    });
    ids.collect::<BTreeSet<_>>()
        .iter()
        .try_for_each(|id| of_incident(connection, id))
}

/// The same of all stacks that are there.
pub(super) fn update_all(connection: &Connection) -> rusqlite::Result<()> {
    let mut ids = connection.prepare("SELECT DISTINCT incident_id FROM stacks")?;
    let ids = ids.query_map([], |row| row.get::<_, String>(0))?;
    let ids = ids.collect::<rusqlite::Result<Vec<_>>>()?;
    ids.iter().try_for_each(|id| of_incident(connection, id))
}

fn of_incident(connection: &Connection, id: &str) -> rusqlite::Result<()> {
    let mut sums = connection.prepare_cached(OF_INCIDENT)?;
    let mut name = connection.prepare_cached(
        "INSERT INTO places (functions) VALUES (?1)
         ON CONFLICT (functions) DO UPDATE SET functions = excluded.functions RETURNING place",
    )?;
    let mut insert = connection.prepare_cached(
        "INSERT OR REPLACE INTO stack_sums (kind, place, ts, incident, host_id, is_stall, stall_ns, calm_ns)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    // Half of its 128 bits tell it apart as well, and are read in half of the time.
    let digits: String = id.chars().filter(|c| *c != '-').take(16).collect();
    let incident = u64::from_str_radix(&digits, 16).unwrap_or(0).cast_signed();
    let mut rows = sums.query([id])?;
    while let Some(row) = rows.next()? {
        let functions: String = row.get(1)?;
        let place: i64 = name.query_row([functions], |row| row.get(0))?;
        let kind: String = row.get(0)?;
        let [ts, host, is_stall, stall, calm]: [i64; 5] = [
            row.get(2)?,
            row.get(3)?,
            row.get(4)?,
            row.get(5)?,
            row.get(6)?,
        ];
        insert.execute(params![
            kind, place, ts, incident, host, is_stall, stall, calm
        ])?;
    }
    Ok(())
}
