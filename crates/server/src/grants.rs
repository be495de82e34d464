//! The account of a recorder: the least with which nothing of the server is absent, as SQL of each make and version.
//!
//! MySQL manual, 8.2 "Access Control and Account Management"; MariaDB documentation, "GRANT", "CREATE USER" and the
//! pages of the two authentication plugins. What is refused without each was tried on MariaDB 10.11 and MySQL 5.5, 9.7.

use crate::{ServerError, ServerVersion, Session};

/// Connections that the account may have. A recorder keeps two (beside a replica three) and opens a short one each
/// second; a check takes as many again. Fewer would make a refused probe look like a full server.
pub const CONNECTIONS_MAX: u32 = 8;

/// Lines of `SHOW GRANTS` that are read.
const ROWS_MAX: usize = 1000;

/// Something that the account needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequiredGrant {
    /// The privilege, as GRANT takes it.
    pub privilege: &'static str,
    /// What it is on.
    pub on: &'static str,
    /// What it is for.
    pub gives: &'static str,
    /// What is absent without it.
    pub without: &'static str,
    /// The source that has it when it works.
    pub source: &'static str,
}

/// How the server knows the account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authentication {
    /// By the system user who connects to the unix socket: no password is stored anywhere.
    Socket,
    /// By this password.
    Password(String),
}

/// What `freezeframe grants` prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountSql {
    /// Statements in order, without a semicolon, each with what it is for.
    pub statements: Vec<(String, &'static str)>,
    /// What to know beside them.
    pub notes: Vec<String>,
}

/// What a recorder needs on a server of this version.
pub fn needs(version: ServerVersion) -> [RequiredGrant; 3] {
    // REPLICATION CLIENT does not show a replica's status on MariaDB any more since 10.5.2, where SLAVE MONITOR came
    // with 10.5.9.
    let monitor = match (version.is_mariadb(), version.number) {
        (true, number) if number >= (10, 5, 9) => "SLAVE MONITOR",
        (true, number) if number >= (10, 5, 2) => "REPLICATION SLAVE ADMIN",
        _ => "REPLICATION CLIENT",
    };
    [
        RequiredGrant {
            privilege: "PROCESS",
            on: "*.*",
            gives: "the InnoDB status, and the sessions of all users",
            without: "innodb, and in processlist all sessions but our own: only probes and counters notice stalls",
            source: "innodb",
        },
        RequiredGrant {
            privilege: monitor,
            on: "*.*",
            gives: "how far a replica is behind",
            without: "replica: a replica that falls behind is not noticed",
            source: "replica",
        },
        RequiredGrant {
            privilege: "SELECT",
            on: "performance_schema.*",
            gives: "statements by class, and which sessions are compressed",
            without: "digests, compression: statements are known only from packets and logs",
            source: "digests",
        },
    ]
}

/// The statements that make the account. `name` and `host` are not escaped beyond quoting: backticks in them are doubled.
pub fn account_sql(
    version: ServerVersion,
    name: &str,
    host: &str,
    by: &Authentication,
) -> AccountSql {
    let quoted = |text: &str| format!("`{}`", text.replace('`', "``"));
    let account = format!("{}@{}", quoted(name), quoted(host));
    let mut sql = AccountSql {
        statements: Vec::new(),
        notes: Vec::new(),
    };
    let plugin = if version.is_mariadb() {
        "unix_socket"
    } else {
        "auth_socket"
    };
    let identified = match by {
        Authentication::Socket => {
            sql.notes.extend(plugin_note(version));
            sql.notes.push(format!(
                "the system user {name} logs in by the unix socket, without a password; for another user: --account"
            ));
            let with = if version.is_mariadb() { "VIA" } else { "WITH" };
            format!("IDENTIFIED {with} {plugin}")
        }
        Authentication::Password(password) => {
            let password = password.replace('\\', "\\\\").replace('\'', "''");
            sql.notes.push(
                "store the password in a file of mode 0600 (password_file of the configuration, --password-file)".to_owned(),
            );
            format!("IDENTIFIED BY '{password}'")
        }
    };
    // Options of resources at CREATE USER: MySQL 5.7.6, MariaDB 10.2.0; IF NOT EXISTS: 5.7.8, 10.1.3.
    let new_syntax = match version.is_mariadb() {
        true => version.is_from(10, 2, 0),
        false => version.is_from(5, 7, 8),
    };
    let limit = format!("WITH MAX_USER_CONNECTIONS {CONNECTIONS_MAX}");
    let connections = "a faulty recorder cannot use up the server's connections";
    if new_syntax {
        sql.statements.push((
            format!("CREATE USER IF NOT EXISTS {account} {identified} {limit}"),
            connections,
        ));
    } else {
        sql.statements
            .push((format!("CREATE USER {account} {identified}"), "the account"));
        sql.statements.push((
            format!("GRANT USAGE ON *.* TO {account} {limit}"),
            connections,
        ));
    }
    for need in needs(version) {
        sql.statements.push((
            format!("GRANT {} ON {} TO {account}", need.privilege, need.on),
            need.gives,
        ));
    }
    sql.notes.push(format!(
        "not granted: {}: such an account can connect even when clients are refused, so the probe would not notice that",
        match (version.is_mariadb(), version.is_from(8, 0, 0)) {
            (true, _) => "CONNECTION ADMIN, SUPER",
            (false, true) => "CONNECTION_ADMIN, SUPER",
            (false, false) => "SUPER",
        }
    ));
    sql
}

/// Whether the plugin of the unix socket is there by itself.
///
/// MariaDB has it built in since 10.4.3; MySQL's came with 5.5.10, and has to be installed once.
fn plugin_note(version: ServerVersion) -> Option<String> {
    let install = match (version.is_mariadb(), version.number) {
        (true, number) if number >= (10, 4, 3) => return None,
        (true, _) => "INSTALL SONAME 'auth_socket'",
        (false, number) if number < (5, 5, 10) => {
            return Some(format!(
                "{version} has no auth_socket (it came with 5.5.10): freezeframe grants --password"
            ));
        }
        (false, _) => "INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'",
    };
    Some(format!(
        "once on each server, where SHOW PLUGINS does not list it: {install};"
    ))
}

/// What an account has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Granted {
    /// Privileges in capitals, each with what it is on: `("PROCESS", "*.*")`.
    privileges: Vec<(String, String)>,
    /// Connections at once that it is limited to; 0 is no limit.
    pub connections_max: Option<u32>,
}

impl Granted {
    /// Asks for the privileges of our own account; needs none.
    pub fn ask(session: &mut Session) -> Result<Self, ServerError> {
        let (rows, _) = session.rows("SHOW GRANTS", ROWS_MAX)?;
        let mut granted = Self::default();
        for row in &rows {
            granted.add(row.column(0));
        }
        let limit = session.rows("SELECT @@SESSION.max_user_connections", 1)?.0;
        granted.connections_max = limit.first().and_then(|row| row.column(0).parse().ok());
        Ok(granted)
    }

    /// A line of `SHOW GRANTS`: `GRANT PROCESS, SELECT ON *.* TO …`.
    fn add(&mut self, line: &str) {
        let Some((privileges, rest)) = line
            .strip_prefix("GRANT ")
            .and_then(|line| line.split_once(" ON "))
        else {
            return;
        };
        let Some((on, _)) = rest.split_once(" TO ") else {
            return;
        };
        let on = on.replace('`', "").to_lowercase();
        for privilege in privileges.split(',') {
            self.privileges
                .push((privilege.trim().to_uppercase(), on.clone()));
        }
    }

    /// Whether the account has what is needed, by itself or by something wider.
    pub fn has(&self, need: &RequiredGrant) -> bool {
        let is_wide = |privilege: &str| {
            privilege == "ALL PRIVILEGES"
                || privilege == need.privilege
                // Before MySQL 8 and MariaDB 10.5 it shows a replica's status, too.
                || (privilege == "SUPER" && need.privilege == "REPLICATION CLIENT")
        };
        self.privileges.iter().any(|(privilege, on)| {
            let is_on = on == "*.*" || on == need.on;
            is_on && is_wide(privilege)
        })
    }

    /// What it may do that a recorder does not need, and that makes it see less or break more.
    pub fn too_much(&self) -> Vec<&str> {
        const WIDE: [&str; 5] = [
            "ALL PRIVILEGES",
            "SUPER",
            "CONNECTION ADMIN",
            "CONNECTION_ADMIN",
            "FILE",
        ];
        let all = self.privileges.iter();
        let mut wide: Vec<&str> = all
            .filter(|(privilege, on)| on == "*.*" && WIDE.contains(&privilege.as_str()))
            .map(|(privilege, _)| privilege.as_str())
            .collect();
        wide.dedup();
        wide
    }
}

/// A password that nobody has: 24 letters and digits.
pub fn new_password() -> Result<String, getrandom::Error> {
    const LETTERS: &[u8] = b"abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes)?;
    let letter = |byte: &u8| LETTERS.get(usize::from(*byte) % LETTERS.len());
    // What policies of passwords ask for: both cases, a digit, something else.
    let random: String = bytes
        .iter()
        .filter_map(letter)
        .map(|c| *c as char)
        .collect();
    Ok(format!("{random}-aA9"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sql(version: &str, by: &Authentication) -> (Vec<String>, String) {
        let version = ServerVersion::read(version).unwrap();
        let sql = account_sql(version, "freezeframe", "localhost", by);
        let statements = sql.statements.into_iter().map(|(sql, _)| sql).collect();
        (statements, sql.notes.join("\n"))
    }

    #[test]
    fn each_version_gets_what_it_understands() {
        let (mariadb, notes) = sql("10.11.19-MariaDB", &Authentication::Socket);
        assert_eq!(
            mariadb,
            [
                "CREATE USER IF NOT EXISTS `freezeframe`@`localhost` IDENTIFIED VIA unix_socket WITH MAX_USER_CONNECTIONS 8",
                "GRANT PROCESS ON *.* TO `freezeframe`@`localhost`",
                "GRANT SLAVE MONITOR ON *.* TO `freezeframe`@`localhost`",
                "GRANT SELECT ON performance_schema.* TO `freezeframe`@`localhost`",
            ]
        );
        assert!(!notes.contains("INSTALL"), "{notes}");
        let (mysql, notes) = sql("8.0.36", &Authentication::Socket);
        assert!(mysql[0].ends_with("IDENTIFIED WITH auth_socket WITH MAX_USER_CONNECTIONS 8"));
        assert!(mysql[2].contains("GRANT REPLICATION CLIENT ON"));
        assert!(notes.contains("INSTALL PLUGIN auth_socket SONAME 'auth_socket.so';"));
        assert!(notes.contains("CONNECTION_ADMIN"));
        let (old, notes) = sql("5.5.9", &Authentication::Password("it's".to_owned()));
        assert_eq!(
            old[..2],
            [
                "CREATE USER `freezeframe`@`localhost` IDENTIFIED BY 'it''s'",
                "GRANT USAGE ON *.* TO `freezeframe`@`localhost` WITH MAX_USER_CONNECTIONS 8",
            ]
        );
        assert!(notes.contains("password_file"), "{notes}");
        let (_, notes) = sql("5.5.9", &Authentication::Socket);
        assert!(notes.contains("no auth_socket"), "{notes}");
        let monitor = |version: &str| sql(version, &Authentication::Socket).0.join("\n");
        assert!(monitor("mariadb 10.5.4").contains("REPLICATION SLAVE ADMIN"));
        assert!(monitor("mariadb 10.4").contains("REPLICATION CLIENT"));
        assert!(
            sql("mariadb 10.1", &Authentication::Socket)
                .1
                .contains("INSTALL SONAME")
        );
    }

    #[test]
    fn names_cannot_end_their_quotes() {
        let version = ServerVersion::read("8.0").unwrap();
        let odd = account_sql(version, "a`b", "%", &Authentication::Password("\\'".into()));
        assert!(
            odd.statements[0]
                .0
                .contains("`a``b`@`%` IDENTIFIED BY '\\\\'''")
        );
    }

    #[test]
    fn what_an_account_has_is_read_from_its_grants() {
        let mut granted = Granted::default();
        for line in [
            "GRANT PROCESS, SLAVE MONITOR ON *.* TO `ff`@`localhost` IDENTIFIED VIA unix_socket WITH MAX_USER_CONNECTIONS 8",
            "GRANT SELECT ON `performance_schema`.* TO `ff`@`localhost`",
            "GRANT `role` TO `ff`@`localhost`",
            "nonsense",
        ] {
            granted.add(line);
        }
        let has = |version: &str| {
            let needs = needs(ServerVersion::read(version).unwrap());
            needs.map(|need| granted.has(&need))
        };
        assert_eq!(has("mariadb 10.11"), [true, true, true]);
        assert_eq!(has("mysql 8.0"), [true, false, true], "REPLICATION CLIENT");
        assert!(granted.too_much().is_empty());
        let mut all = Granted::default();
        all.add("GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION");
        assert!(
            needs(ServerVersion::read("8.0").unwrap())
                .iter()
                .all(|need| all.has(need))
        );
        assert_eq!(all.too_much(), ["ALL PRIVILEGES"]);
        let mut own_schema = Granted::default();
        own_schema.add("GRANT ALL PRIVILEGES ON `app`.* TO `app`@`%`");
        assert!(
            !needs(ServerVersion::read("8.0").unwrap())
                .iter()
                .any(|need| own_schema.has(need))
        );
    }

    #[test]
    fn passwords_differ_and_fit_policies() {
        let (a, b) = (new_password().unwrap(), new_password().unwrap());
        assert_ne!(a, b);
        assert!(a.len() == 28 && a.ends_with("-aA9"));
    }
}
