//! Where threads stand, by incident: what `new-in-stalls` adds up. It is made of `stacks` as they come in, because to
//! look up the frames of every stack of a thousand incidents takes most of a second. Of hundreds of places of an incident
//! the heaviest are told apart (`../places.rs`).

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};

use crate::places::PLACES_MAX;
use crate::tables::STACKS;
use crate::value::{Value, id_text};

/// On a processor the three innermost functions; waiting the three innermost of the program itself, as all waits end in
/// the same few of kernel and C library. Empty where there is none. The last column says of those that are not among the
/// heaviest that they are small.
const OF_INCIDENT: &str = "
    WITH sums AS (
        SELECT kind, functions, ts, host_id, max(phase = 'stall') AS is_stall,
               sum(iif(phase = 'stall', ns, 0)) AS stall_ns, sum(iif(phase = 'stall', 0, ns)) AS calm_ns
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
        GROUP BY kind, functions, ts, host_id
    ), shares AS (
        SELECT *, max(stall_ns * 1.0 / max(sum(stall_ns) OVER incident, 1),
                      calm_ns * 1.0 / max(sum(calm_ns) OVER incident, 1)) AS share
        FROM sums
        WINDOW incident AS (PARTITION BY kind, ts, host_id)
    )
    SELECT kind, functions, ts, host_id, is_stall, stall_ns, calm_ns,
           functions <> '' AND row_number() OVER (
               PARTITION BY kind, ts, host_id, functions <> '' ORDER BY share DESC, functions) > ?2
    FROM shares";

/// What was seen of a place.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    is_stall: i64,
    stall_ns: i64,
    calm_ns: i64,
}

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
    let mut forget = connection.prepare_cached(
        "DELETE FROM stack_sums
         WHERE kind = ?1 AND place = (SELECT place FROM places WHERE functions = ?2) AND ts = ?3 AND incident = ?4",
    )?;
    let mut keep =
        |kind: &str, functions: &str, ts: i64, host: i64, sum: Sum| -> rusqlite::Result<usize> {
            let place: i64 = name.query_row([functions], |row| row.get(0))?;
            let (is_stall, stall, calm) = (sum.is_stall, sum.stall_ns, sum.calm_ns);
            insert.execute(params![
                kind, place, ts, incident, host, is_stall, stall, calm
            ])
        };
    // What has no name or is small, by kind, time and server.
    let mut rest: BTreeMap<(String, i64, i64), Sum> = BTreeMap::new();
    let mut rows = sums.query(params![id, i64::from(PLACES_MAX)])?;
    while let Some(row) = rows.next()? {
        let (kind, functions): (String, String) = (row.get(0)?, row.get(1)?);
        let (ts, host): (i64, i64) = (row.get(2)?, row.get(3)?);
        let sum = Sum {
            is_stall: row.get(4)?,
            stall_ns: row.get(5)?,
            calm_ns: row.get(6)?,
        };
        let is_small: bool = row.get(7)?;
        if is_small {
            // It was none before another batch came, or for an older version.
            forget.execute(params![kind, functions, ts, incident])?;
        }
        if is_small || functions.is_empty() {
            let all = rest.entry((kind, ts, host)).or_default();
            all.is_stall = all.is_stall.max(sum.is_stall);
            all.stall_ns = all.stall_ns.saturating_add(sum.stall_ns);
            all.calm_ns = all.calm_ns.saturating_add(sum.calm_ns);
        } else {
            keep(&kind, &functions, ts, host, sum)?;
        }
    }
    for ((kind, ts, host), sum) in rest {
        keep(&kind, "", ts, host, sum)?;
    }
    Ok(())
}
