//! What a statement takes and what it waits for, by its first words and by the server's states.

use model::Session;

/// A lock that stays when the statement that took it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// `LOCK TABLES`.
    Tables,
    /// All tables: `FLUSH TABLES WITH READ LOCK`, a backup's lock, `read_only`.
    Everything,
}

/// What sessions wait for, as far as a state tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
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
pub(super) fn wait(state: &str) -> Option<Wait> {
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
pub(super) fn takes(statement: &str) -> Option<Takes> {
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
pub(super) fn is_ddl(statement: &str) -> bool {
    let text = head(statement);
    DDL.iter().any(|word| text.starts_with(word))
}

/// A statement that sends the events of the binary log.
pub(super) fn lists_binlog(statement: &str) -> bool {
    head(statement).starts_with("show binlog events")
}

/// A statement that closes all tables, or takes a lock of all.
pub(super) fn is_global(statement: &str) -> bool {
    head(statement).starts_with("flush ") || takes(statement) == Some(Takes::Everything)
}

/// The session is in its commit, by its state: what it holds it gives back when that ends, and no earlier.
///
/// From the manuals' lists of thread states: `Commit` (MariaDB), `query end` (MySQL up to 5.7), `waiting for handler
/// commit` (MySQL 8), and the waits for a turn in the binary log or for a replica.
pub(super) fn commits(session: &Session) -> bool {
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

/// The session runs a client's statement and waits for no lock.
pub(super) fn works(session: &Session) -> bool {
    matches!(session.command.as_str(), "Query" | "Execute")
        && wait(&session.state).is_none()
        && !session.statement.is_empty()
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
