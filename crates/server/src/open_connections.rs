//! What a server knows of the connections that are open: who they are, and what they have prepared. Packets do not tell
//! it of connections that were open before.

use std::collections::HashMap;

use crate::wire::PriorConnection;
use crate::{ServerError, Session};

/// Connections and prepared statements that are read.
const CONNECTIONS_MAX: usize = 20_000;
const PREPARED_MAX: usize = 20_000;

/// Statements that clients prepared by the protocol (MySQL 5.7 and later, MariaDB 10.5 and later, where
/// performance_schema is on), and those of `PREPARE`, whose numbers are of the same row. The text is what the server keeps of it: 1,024 bytes in all of them.
const PREPARED: &str = "SELECT t.PROCESSLIST_ID, p.STATEMENT_ID, p.SQL_TEXT \
    FROM performance_schema.prepared_statements_instances p \
    JOIN performance_schema.threads t ON t.THREAD_ID = p.OWNER_THREAD_ID LIMIT ";

/// The clients that are connected by TCP, our own session left out.
///
/// Two questions. Without performance_schema nothing is known of what is prepared; without the privilege `PROCESS` the
/// server tells the sessions of our own account only.
pub fn open_connections(session: &mut Session) -> Result<Vec<PriorConnection>, ServerError> {
    let (rows, _) = session.rows("SHOW PROCESSLIST", CONNECTIONS_MAX)?;
    let mut prepared = prepared_statements(session)?;
    let own = session.id().to_string();
    let known = rows.iter().filter(|row| row.get("id") != own);
    Ok(known
        .filter_map(|row| {
            // Of a unix socket's client there is no port.
            let (host, port) = row.get("host").rsplit_once(':')?;
            let id = row.get("id").parse().ok()?;
            let some = |text: &str| (!text.is_empty()).then(|| text.into());
            Some(PriorConnection {
                host: host.trim_matches(['[', ']']).to_owned(),
                port: port.parse().ok()?,
                id,
                user: some(row.get("user")),
                database: some(row.get("db")),
                prepared: prepared.remove(&id).unwrap_or_default(),
            })
        })
        .collect())
}

type Prepared = HashMap<u32, Vec<(u32, Vec<u8>)>>;

fn prepared_statements(session: &mut Session) -> Result<Prepared, ServerError> {
    let rows = match session.rows(&format!("{PREPARED}{PREPARED_MAX}"), PREPARED_MAX) {
        Ok((rows, _)) => rows,
        Err(error) if error.is_connection_lost() => return Err(error),
        // There is no such table, or we may not read it.
        Err(_) => return Ok(HashMap::new()),
    };
    let mut found = Prepared::new();
    for row in rows {
        if let (Ok(connection), Ok(id)) = (row.column(0).parse(), row.column(1).parse()) {
            let text = row.column(2).as_bytes().to_vec();
            found.entry(connection).or_default().push((id, text));
        }
    }
    Ok(found)
}
