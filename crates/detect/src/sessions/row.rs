//! One line of the processlist, and what kind of session it is.

/// A session as the processlist shows it.
#[derive(Debug, Clone, Copy)]
pub struct SessionRow<'a> {
    /// Connection id.
    pub id: u64,
    /// User name.
    pub user: &'a str,
    /// `Command`.
    pub command: &'a str,
    /// `Time`, whole seconds in the present state.
    pub seconds: f64,
    /// `State`.
    pub state: &'a str,
    /// The statement, or its beginning.
    pub statement: &'a str,
}

/// What a session does, as far as clients are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// It waits for its client.
    Idle,
    /// It is not let in yet.
    LoggingIn,
    /// A statement that somebody waits for. GET_LOCK() is one: where workers take turns it takes moments, and where one
    /// of several programs is to be active, and the others wait for hours, it is known as long before it is judged.
    Statement,
    /// The same, and the server says that it waits for another session or for the disk.
    Waiting,
    /// The server's own work, replication, or what is meant to take long: nobody's stall.
    Apart,
}

/// Commands of the server's own threads and of replication.
const APART: [&str; 8] = [
    "Daemon",
    "Binlog Dump",
    "Binlog Dump GTID",
    "Slave_IO",
    "Slave_SQL",
    "Slave_worker",
    "Killed",
    "Delayed insert",
];

/// Users of the server's own threads.
const OWN_USERS: [&str; 2] = ["system user", "event_scheduler"];

/// States in which the server waits for its client, or does what it was asked: sleep.
const CLIENT_STATES: [&str; 5] = [
    "user sleep",
    "writing to net",
    "sending to client",
    "sending to network",
    "reading from net",
];

/// Statements that take as long as the data is large, and that nobody expects at once.
const LONG_BY_NATURE: [&str; 11] = [
    "alter", "create", "drop", "optimize", "analyze", "load", "flush", "lock", "explain",
    "truncate", "prepare",
];

/// Classes of statements that change data.
const WRITES: [&str; 6] = [
    "insert", "update", "delete", "replace", "commit", "rollback",
];

/// First words of the same kind that have no class of their own.
const LONG_WORDS: [&str; 8] = [
    "backup", "check", "checksum", "repair", "kill", "shutdown", "reset", "change",
];

/// How mysqldump and mydumper mark the statements of a backup.
const BACKUP_MARK: &str = "SQL_NO_CACHE */ *";

/// How MariaDB and MySQL name who has not logged in yet.
const NOT_LOGGED_IN: &str = "unauthenticated user";

impl SessionRow<'_> {
    pub(super) fn doing(&self) -> Doing {
        if self.user == NOT_LOGGED_IN {
            return Doing::LoggingIn;
        }
        if OWN_USERS.contains(&self.user) || APART.contains(&self.command) {
            return Doing::Apart;
        }
        if self.command == "Sleep" {
            return Doing::Idle;
        }
        // A replica's thread in older servers.
        if self.command == "Connect" {
            return Doing::Apart;
        }
        let state = self.state.to_ascii_lowercase();
        if CLIENT_STATES.contains(&state.as_str()) || self.is_long_by_nature() {
            return Doing::Apart;
        }
        if state.starts_with("waiting") || state == "locked" {
            return Doing::Waiting;
        }
        Doing::Statement
    }

    /// It changes data, which is done in moments unless somebody or something is in the way.
    pub(super) fn writes(&self) -> bool {
        WRITES.contains(&sql::statement_class(self.statement))
    }

    fn is_long_by_nature(&self) -> bool {
        if self.statement.contains(BACKUP_MARK) {
            return true;
        }
        match sql::statement_class(self.statement) {
            "other" => {
                let word = self.statement.split_whitespace().next().unwrap_or("");
                LONG_WORDS
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(word))
            }
            class => LONG_BY_NATURE.contains(&class),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doing(user: &str, command: &str, state: &str, statement: &str) -> Doing {
        SessionRow {
            id: 1,
            user,
            command,
            seconds: 9.0,
            state,
            statement,
        }
        .doing()
    }

    #[test]
    fn what_takes_long_by_nature_is_apart() {
        let update = "UPDATE t SET k = 1";
        for (user, command, state, statement, expected) in [
            ("app", "Query", "Updating", update, Doing::Statement),
            (
                "app",
                "Execute",
                "Waiting for table metadata lock",
                update,
                Doing::Waiting,
            ),
            ("app", "Query", "Locked", update, Doing::Waiting),
            ("app", "Sleep", "", "", Doing::Idle),
            (
                "app",
                "Query",
                "User sleep",
                "SELECT SLEEP(9)",
                Doing::Apart,
            ),
            (
                "app",
                "Query",
                "Writing to net",
                "SELECT * FROM t",
                Doing::Apart,
            ),
            (
                "app",
                "Query",
                "copy to tmp table",
                "ALTER TABLE t ADD x INT",
                Doing::Apart,
            ),
            (
                "app",
                "Query",
                "Waiting for table metadata lock",
                "ALTER TABLE t ADD x INT",
                Doing::Apart,
            ),
            ("app", "Query", "", "CHECK TABLE t", Doing::Apart),
            (
                "dump",
                "Query",
                "Sending data",
                "SELECT /*!40001 SQL_NO_CACHE */ * FROM `t`",
                Doing::Apart,
            ),
            (
                "system user",
                "Slave_SQL",
                "Waiting for work from SQL thread",
                "",
                Doing::Apart,
            ),
            (
                "repl",
                "Binlog Dump",
                "Master has sent all binlog to slave",
                "",
                Doing::Apart,
            ),
            (
                "event_scheduler",
                "Daemon",
                "Waiting for next activation",
                "",
                Doing::Apart,
            ),
            (
                "unauthenticated user",
                "Connect",
                "login",
                "",
                Doing::LoggingIn,
            ),
        ] {
            assert_eq!(
                doing(user, command, state, statement),
                expected,
                "{command} {state} {statement}"
            );
        }
    }
}
