//! What the server was asked, in an incident file.

use model::{QueryDigest, TimedDigest, Window};
use rusqlite::{Transaction, params};

use crate::columns::{json, json_column, ms_column, word};
use crate::tables::{Table, Tables};

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
            word(&timed.digest.method)?,
            json(&timed.digest)?
        ])?;
    }
    Ok(())
}

pub(crate) fn read_queries(tables: &mut Tables<'_>) -> Vec<TimedDigest> {
    let table = Table::small("query_digest", "from_ms, to_ms, body").percent(40);
    let mut digests = tables.read(table.json("body"), |row| {
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
