//! Which connection a thread of the server works for.

use std::collections::HashMap;

use model::{Absent, Reason, ThreadSession};

use crate::connection::Row;
use crate::{ServerError, Session, processlist};

/// What is missing, in [`Absent::what`].
const WHAT: &str = "connections of threads";

/// Sessions that are looked at: more than threads are kept of a process.
const SESSIONS_MAX: usize = 20_000;

/// MySQL 5.7 and later and MariaDB 10.5 and later have `THREAD_OS_ID`; the table takes no lock of
/// the sessions, and is empty while performance_schema is off.
const FROM_PERFORMANCE_SCHEMA: &str = "SELECT THREAD_OS_ID AS tid, PROCESSLIST_ID AS id, \
    PROCESSLIST_COMMAND AS command, PROCESSLIST_TIME AS time, PROCESSLIST_STATE AS state, \
    LEFT(PROCESSLIST_INFO, 200) AS info FROM performance_schema.threads \
    WHERE THREAD_OS_ID IS NOT NULL AND PROCESSLIST_ID IS NOT NULL";

/// `TID` and `TIME_MS` are MariaDB's and Percona Server's. The server copies every statement for
/// this table, so it is for one question and not for one each second.
const FROM_PROCESSLIST: &str = "SELECT TID AS tid, ID AS id, COMMAND AS command, \
    TIME_MS / 1000 AS time, STATE AS state, LEFT(INFO, 200) AS info \
    FROM information_schema.PROCESSLIST WHERE TID IS NOT NULL";

/// The way of working in which every connection has a thread of its own.
const OWN_THREADS: &str = "one-thread-per-connection";

/// The session of each thread that works for one, by the thread's id in the server's pid
/// namespace; our own session is among them. Of the statements their class alone is kept.
///
/// Absent where connections share a pool of threads: there MariaDB 10.11's performance_schema names
/// the thread that logged a connection in, whichever works for it now, and its processlist none.
pub fn thread_sessions(session: &mut Session) -> Result<HashMap<u32, ThreadSession>, Absent> {
    match session.rows("SELECT @@thread_handling", 1) {
        Ok((rows, _)) if rows.iter().any(|row| row.column(0) != OWN_THREADS) => {
            return Err(Absent::new(
                WHAT,
                Reason::Unsupported,
                "connections share a pool of threads, and the server does not say which thread works for which connection",
            ));
        }
        Err(error) if error.is_connection_lost() => return Err(error.absent(WHAT)),
        // A server that does not know the variable knows no other way.
        _ => {}
    }
    let first = match session.rows(FROM_PERFORMANCE_SCHEMA, SESSIONS_MAX) {
        // Our own session at least is in it, unless performance_schema is off.
        Ok((rows, left_out)) if !rows.is_empty() => return by_thread(&rows, left_out),
        Ok(_) => None,
        Err(error) if error.is_connection_lost() => return Err(error.absent(WHAT)),
        Err(error) => Some(error),
    };
    match session.rows(FROM_PROCESSLIST, SESSIONS_MAX) {
        Ok((rows, left_out)) => by_thread(&rows, left_out),
        Err(error) if error.is_connection_lost() => Err(error.absent(WHAT)),
        Err(_) => Err(neither(first)),
    }
}

/// Why neither table tells the threads, from the first one's answer.
fn neither(first: Option<ServerError>) -> Absent {
    match first.map(|error| error.absent(WHAT)) {
        None => Absent::new(
            WHAT,
            Reason::Unsupported,
            "performance_schema is off, and this server's processlist has no thread ids",
        ),
        Some(absent) if absent.reason == Reason::Permission => Absent {
            detail: format!(
                "{}; GRANT SELECT ON performance_schema.* to this account",
                absent.detail
            ),
            ..absent
        },
        Some(absent) => Absent::new(
            WHAT,
            Reason::Unsupported,
            format!(
                "needs MySQL 5.7 or MariaDB 10.0, or later ({})",
                absent.detail
            ),
        ),
    }
}

fn by_thread(rows: &[Row], left_out: usize) -> Result<HashMap<u32, ThreadSession>, Absent> {
    if left_out > 0 {
        return Err(Absent::new(
            WHAT,
            Reason::Limit,
            format!("{left_out} sessions over {SESSIONS_MAX}"),
        ));
    }
    let mut sessions = HashMap::new();
    for row in rows {
        let (Ok(tid), Ok(connection)) = (row.get("tid").parse(), row.get("id").parse()) else {
            continue;
        };
        let command = row.get("command");
        let session = ThreadSession {
            connection,
            command: command.to_owned(),
            state: row.get("state").to_owned(),
            statement_class: class(row.get("info")).to_owned(),
            seconds: processlist::seconds(row),
        };
        claim(&mut sessions, tid, session);
    }
    Ok(sessions)
}

/// Two sessions of one thread: the table is not read at one moment, and the one that works is the
/// later truth.
fn claim(sessions: &mut HashMap<u32, ThreadSession>, tid: u32, session: ThreadSession) {
    let kept = sessions.entry(tid).or_insert_with(|| session.clone());
    if kept.command == "Sleep" {
        *kept = session;
    }
}

/// The class of a statement that may have been cut.
fn class(statement: &str) -> &'static str {
    match sql::statement_class(statement) {
        "" if !statement.is_empty() => "other",
        class => class,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(connection: u64, command: &str) -> ThreadSession {
        ThreadSession {
            connection,
            command: command.to_owned(),
            state: String::new(),
            statement_class: String::new(),
            seconds: 0.0,
        }
    }

    #[test]
    fn the_session_that_works_has_the_thread() {
        for order in [[1, 2], [2, 1]] {
            let mut sessions = HashMap::new();
            for connection in order {
                let command = if connection == 1 { "Sleep" } else { "Query" };
                claim(&mut sessions, 7, session(connection, command));
            }
            assert_eq!(sessions[&7].connection, 2);
        }
    }

    #[test]
    fn a_statement_that_was_cut_in_its_comment_has_a_class() {
        assert_eq!(class(""), "");
        assert_eq!(class("/* a comment that is cut"), "other");
        assert_eq!(class("SELECT 'secret"), "select");
    }

    #[test]
    fn why_neither_table_tells() {
        let error = |code| ServerError {
            outcome: model::ProbeOutcome::ServerError,
            code: Some(code),
            text: "what it says".to_owned(),
        };
        assert_eq!(neither(None).reason, Reason::Unsupported);
        assert_eq!(neither(Some(error(1054))).reason, Reason::Unsupported);
        let denied = neither(Some(error(1142)));
        assert_eq!(denied.reason, Reason::Permission);
        assert!(denied.detail.contains("GRANT SELECT ON performance_schema"));
    }
}
