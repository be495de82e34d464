//! Mending a history that was written under older rules of redaction.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use model::{Text, TextKind};
use rusqlite::{Connection, params};

use crate::history_read::read_text;

/// Takes out of the texts of servers what today's rules leave out, and out of the file what stood there:
/// freed bytes are overwritten, and the log of changes is emptied. A text that cannot be read is deleted.
pub(crate) fn upgrade(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "secure_delete", true)?;
    let transaction = connection.unchecked_transaction()?;
    let ids: Vec<i64> = transaction
        .prepare("SELECT id FROM text WHERE kind IN (?1, ?2)")?
        .query_map(
            [TextKind::ErrorLog.name(), TextKind::InnodbStatus.name()],
            |row| row.get(0),
        )?
        .collect::<rusqlite::Result<_>>()?;
    for id in ids {
        match read_text(&transaction, id)? {
            Some(timed) => {
                let body = packed(&timed.text)?;
                transaction.execute("UPDATE text SET body = ?2 WHERE id = ?1", params![id, body])?
            }
            None => transaction.execute("DELETE FROM text WHERE id = ?1", [id])?,
        };
    }
    transaction.commit()?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// A text as the history holds it.
pub(crate) fn packed(text: &Text) -> rusqlite::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder
        .write_all(text.body().as_bytes())
        .and_then(|()| encoder.finish())
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
mod tests {
    use flate2::write::DeflateEncoder;

    use super::*;
    use crate::history_open::{HISTORY_VERSION, open_database};

    /// Stored as a file of version 1 has it: by hand, since there is no way to make such a text any more.
    fn insert(connection: &Connection, kind: TextKind, body: &[u8], level: Compression) {
        let mut encoder = DeflateEncoder::new(Vec::new(), level);
        encoder.write_all(body).unwrap();
        let packed = encoder.finish().unwrap();
        connection
            .execute(
                "INSERT INTO text (session, at_ms, kind, body) VALUES (1, 5, ?1, ?2)",
                params![kind.name(), packed],
            )
            .unwrap();
    }

    #[test]
    fn an_older_history_loses_its_values_when_it_is_opened() {
        const MARK: &str = "jane.roe@corp.invalid";
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("history.db");
        let connection = open_database(&path).unwrap();
        let line = format!(
            "2026-01-02  3:04:05 9 [ERROR] Event Scheduler: [root@localhost][a.b] Duplicate entry '{MARK}' for key\n"
        );
        // Not packed, so that the marks can be seen in the file.
        insert(
            &connection,
            TextKind::ErrorLog,
            line.repeat(500).as_bytes(),
            Compression::none(),
        );
        insert(
            &connection,
            TextKind::ErrorLog,
            line.as_bytes(),
            Compression::none(),
        );
        insert(
            &connection,
            TextKind::KernelLog,
            b"oom",
            Compression::none(),
        );
        connection.pragma_update(None, "user_version", 1).unwrap();
        drop(connection);
        let holds_mark = || {
            let files = std::fs::read_dir(dir.path()).unwrap();
            files
                .filter_map(|file| std::fs::read(file.unwrap().path()).ok())
                .any(|bytes| {
                    bytes
                        .windows(MARK.len())
                        .any(|part| part == MARK.as_bytes())
                })
        };
        assert!(holds_mark());
        let connection = open_database(&path).unwrap();
        assert!(!holds_mark());
        let version: i64 = connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap();
        assert_eq!(version, HISTORY_VERSION);
        let text = read_text(&connection, 2).unwrap().unwrap().text;
        assert_eq!(
            text.body(),
            "2026-01-02  3:04:05 9 [ERROR] Event Scheduler: ?\n"
        );
        assert_eq!(
            read_text(&connection, 3).unwrap().unwrap().text.body(),
            "oom"
        );
    }
}
