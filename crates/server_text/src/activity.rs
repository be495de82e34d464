//! What a session does, takes and waits for, by the first words of its statement and by the server's word for its state.

use model::Session;

/// A lock that stays when the statement that took it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// `LOCK TABLES`.
    Tables,
    /// All tables: `FLUSH TABLES WITH READ LOCK`, a backup's lock, `read_only`.
    Everything,
}

/// What sessions wait for, as far as a state tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// A metadata lock of a table or another object.
    Metadata,
    /// A lock of all tables.
    Global,
    /// That the versions of tables from before a FLUSH are given back.
    Flush,
    /// A table's own lock.
    Table,
    /// A name of GET_LOCK().
    Name,
    /// Anything else.
    Other,
}

/// First words of statements that change what tables are.
const DDL: [&str; 8] = [
    "alter ",
    "drop ",
    "truncate ",
    "create ",
    "rename ",
    "optimize ",
    "repair ",
    "analyze ",
];

/// What a session waits for; nothing when its state does not say that it waits.
pub fn wait(state: &str) -> Option<Wait> {
    let state = state.to_ascii_lowercase();
    let Some(what) = state.strip_prefix("waiting for ") else {
        return match state.as_str() {
            "locked" => Some(Wait::Table),
            "user lock" => Some(Wait::Name),
            _ => None,
        };
    };
    let has = |word: &str| what.contains(word);
    Some(match () {
        () if has("global read lock") || has("commit lock") || has("backup") => Wait::Global,
        () if has("flush") => Wait::Flush,
        () if has("metadata lock") => Wait::Metadata,
        () if has("table level lock") || what.trim() == "table" => Wait::Table,
        () => Wait::Other,
    })
}

/// What a statement takes beyond its end.
pub fn takes(statement: &str) -> Option<Takes> {
    let text = head(statement);
    let begins = |words: &str| text.starts_with(words);
    if begins("lock table") {
        return Some(Takes::Tables);
    }
    let flush = begins("flush ") && text.contains("table") && text.contains("with read lock");
    let read_only = begins("set global") && text.contains("read_only");
    let backup = begins("backup stage") || begins("backup lock") || begins("lock instance");
    (flush || read_only || backup).then_some(Takes::Everything)
}

/// A statement that changes what tables are.
pub fn is_ddl(statement: &str) -> bool {
    let text = head(statement);
    DDL.iter().any(|word| text.starts_with(word))
}

/// A statement that asks the server about itself; not what lists sessions and transactions only, as everybody does who
/// looks at a stall.
pub fn asks_for_metadata(statement: &str) -> bool {
    let text = statement.to_ascii_lowercase();
    let has = |word: &&str| text.contains(word);
    let schemas = ["information_schema", "performance_schema"];
    let others = ["warnings", "processlist", "innodb_trx"];
    (schemas.iter().any(has) || head(statement).starts_with("show ")) && !others.iter().any(has)
}

/// A statement that sends the events of the binary log.
pub fn lists_binlog(statement: &str) -> bool {
    head(statement).starts_with("show binlog events")
}

/// A statement that closes all tables, or takes a lock of all.
pub fn is_global(statement: &str) -> bool {
    head(statement).starts_with("flush ") || takes(statement) == Some(Takes::Everything)
}

/// The session is in its commit, by its state: what it holds it gives back when that ends, and no earlier.
///
/// From the manuals' lists of thread states: `Commit` (MariaDB), `query end` (MySQL up to 5.7), `waiting for handler
/// commit` (MySQL 8), and the waits for a turn in the binary log or for a replica.
pub fn commits(session: &Session) -> bool {
    let state = session.state.to_ascii_lowercase();
    let state = state.trim();
    [
        "commit",
        "committing",
        "query end",
        "waiting for handler commit",
    ]
    .contains(&state)
        || state.starts_with("waiting for semi-sync ack")
        || ["waiting for prior transaction to", "waiting for preceding"]
            .iter()
            .any(|begin| state.starts_with(begin) && state.contains("commit"))
}

/// The session runs a client's statement.
pub fn runs(session: &Session) -> bool {
    matches!(session.command.as_str(), "Query" | "Execute") && !session.statement.is_empty()
}

/// The same, and it waits for no lock.
pub fn works(session: &Session) -> bool {
    runs(session) && wait(&session.state).is_none()
}

/// A replica's applier that has events to apply and waits for nobody. By the manuals' lists of replication states, which
/// also have those of the threads that read from the source.
pub fn applies(session: &Session) -> bool {
    let state = session.state.to_ascii_lowercase();
    let others = ["has read all", "master", "source", "binlog dump", "wsrep"];
    session.user == "system user"
        && !state.is_empty()
        && wait(&session.state).is_none()
        && !others.iter().any(|other| state.contains(other))
}

/// The first words, in lower case, with one blank between them and no comment in front.
fn head(statement: &str) -> String {
    let mut text = statement.trim_start();
    while let Some((_, rest)) = text
        .strip_prefix("/*")
        .and_then(|text| text.split_once("*/"))
    {
        text = rest.trim_start();
    }
    let words = text.split_whitespace().take(8);
    words.collect::<Vec<_>>().join(" ").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(user: &str, state: &str) -> Session {
        Session {
            id: 1,
            user: user.to_owned(),
            host: String::new(),
            db: String::new(),
            command: "Connect".to_owned(),
            seconds: 1.0,
            state: state.to_owned(),
            statement: String::new(),
        }
    }

    #[test]
    fn an_applier_is_at_work_when_it_neither_waits_nor_reads_from_the_source() {
        for (user, state, expected) in [
            ("system user", "Update_rows_log_event::find_row()", true),
            (
                "system user",
                "Applying batch of row changes (update)",
                true,
            ),
            ("system user", "Waiting for work from SQL thread", false),
            (
                "system user",
                "Waiting for preceding transaction to commit",
                false,
            ),
            (
                "system user",
                "Queueing source event to the relay log",
                false,
            ),
            (
                "system user",
                "Slave has read all relay log; waiting for more updates",
                false,
            ),
            ("system user", "", false),
            ("app", "Update_rows_log_event::find_row()", false),
        ] {
            assert_eq!(applies(&session(user, state)), expected, "{user} {state}");
        }
    }

    #[test]
    fn what_asks_the_server_about_itself_is_told_from_the_users_own() {
        for (statement, expected) in [
            (
                "SELECT COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE",
                true,
            ),
            ("/* exporter */ show  table status from shop", true),
            ("SHOW GLOBAL STATUS", true),
            ("SHOW WARNINGS", false),
            ("SHOW FULL PROCESSLIST", false),
            ("SELECT * FROM INFORMATION_SCHEMA.INNODB_TRX", false),
            ("SELECT a FROM shop.schema_information", false),
            ("UPDATE t SET show_it = ?", false),
        ] {
            assert_eq!(asks_for_metadata(statement), expected, "{statement}");
        }
    }
}
