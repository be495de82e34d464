//! What the server was asked, in an incident file.

use model::{QueryDigest, TimedDigest, Window};
use rusqlite::{Connection, Transaction, params};

use crate::columns::{json, json_column, word};
use crate::frame_read::{Damage, ms_column, read_table};

pub(crate) fn write_queries(
    transaction: &Transaction<'_>,
    digests: &[TimedDigest],
) -> rusqlite::Result<()> {
    let mut insert = transaction
        .prepare("INSERT INTO query_digest (from_ms, to_ms, way, body) VALUES (?1, ?2, ?3, ?4)")?;
    for timed in digests {
        insert.execute(params![
            timed.window.from as i64,
            timed.window.to as i64,
            word(&timed.digest.way)?,
            json(&timed.digest)?
        ])?;
    }
    Ok(())
}

pub(crate) fn read_queries(connection: &Connection, damage: &mut Vec<Damage>) -> Vec<TimedDigest> {
    let columns = "from_ms, to_ms, body";
    let mut digests = read_table(connection, "query_digest", columns, damage, |row| {
        Ok(TimedDigest {
            window: Window {
                from: ms_column(row, 0)?,
                to: ms_column(row, 1)?,
            },
            digest: json_column::<QueryDigest>(row, 2)?,
        })
    });
    digests.sort_by_key(|timed| timed.window.from);
    digests
}
