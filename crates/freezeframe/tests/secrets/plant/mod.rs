//! Planting: markers in everything that a server quotes.

mod clients;
mod crash;
mod locks;
mod replica;
mod statements;

use std::path::Path;
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use testbed::{PrivateServer, ServerKind};

pub(crate) use clients::{Clients, WAYS, Way, certificate};
pub(crate) use crash::crash;
pub(crate) use replica::{REPLICA_ARGUMENTS, channels, replicate};

use crate::markers::Markers;

/// How long one statement may take: those in flight take six seconds, on slow machines more.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(40);

/// A planted server: what is asked of it from here on.
pub(crate) struct Planting<'a> {
    pub(crate) server: &'a PrivateServer,
    pub(crate) kind: ServerKind,
    pub(crate) markers: &'a Markers,
}

impl Planting<'_> {
    /// A session of the administrator, which writes no binary log.
    pub(crate) fn session(&self) -> Conn {
        let mut session = self.server.login().connect(false, TIMEOUT).unwrap();
        for statement in ["SET NAMES utf8", "SET SESSION sql_log_bin = 0"] {
            session.query_drop(statement).unwrap();
        }
        session
    }

    /// Says statements one after another and gives those that failed, with the error.
    pub(crate) fn say(&self, session: &mut Conn, statements: &[&str]) -> Vec<String> {
        let mut failed = Vec::new();
        for statement in statements {
            let sql = self.markers.fill(statement);
            if let Err(error) = all_results(session, &sql) {
                failed.push(format!("{statement}: {error}"));
            }
        }
        failed
    }

    /// Everything that has to be there first. Nothing of it may fail, but for what a version does not have.
    pub(crate) fn set_up(&self) {
        let mut session = self.session();
        let failed = self.say(&mut session, statements::SET_UP);
        assert!(failed.is_empty(), "{failed:#?}");
        let slow = "CREATE PROCEDURE `{schema}`.slow(a TEXT, b TEXT) BEGIN DECLARE x TEXT DEFAULT '{token}'; \
                    SELECT SLEEP(6), a, b, x, '{person}'; END";
        let failed = self.say(&mut session, &[slow]);
        assert!(failed.is_empty(), "{failed:#?}");
    }

    /// Errors, warnings, events, settings, damaged tables, unsafe statements.
    pub(crate) fn server_speaks(&self) {
        let mut session = self.session();
        self.say(&mut session, statements::ERRORS);
        let mut session = self.session();
        self.say(&mut session, statements::EVENTS);
        let mut session = self.server.login().connect(false, TIMEOUT).unwrap();
        session.query_drop("SET NAMES utf8").unwrap();
        self.say(&mut session, statements::UNSAFE);
        self.damage();
        let mut session = self.session();
        self.say(&mut session, statements::SETTINGS);
        self.refused_by_init_connect();
        let undo = [
            "SET GLOBAL init_connect = 'SET @`{variable}` = ''{email}'''",
            "RESET PERSIST",
            "SET GLOBAL init_slave = ''",
            "SET GLOBAL init_replica = ''",
        ];
        self.say(&mut session, &undo);
    }

    /// A round of statements into the general log, for those who would send it.
    pub(crate) fn fill_general_log(&self) {
        let mut session = self.session();
        let on = [
            "SET GLOBAL general_log_file = 'general.log'",
            "SET GLOBAL general_log = ON",
        ];
        self.say(&mut session, &on);
        self.say(&mut session, statements::ERRORS);
        self.say(&mut session, &["SET GLOBAL general_log = OFF"]);
    }

    /// Accounts without privileges are turned away by an `init_connect` that fails.
    fn refused_by_init_connect(&self) {
        for _ in 0..2 {
            let login = clients::login_as(self.server, "plain", self.markers.text("password"));
            if let Ok(mut connection) = login.connect(false, TIMEOUT) {
                let _ = connection.query_drop(self.markers.fill("SELECT '{email}'"));
            }
        }
    }

    /// Damages files of tables behind the server's back and asks for them.
    fn damage(&self) {
        let mut session = self.session();
        self.say(&mut session, statements::TO_DAMAGE);
        let schema = self.server.datadir().join(self.markers.text("schema"));
        overwrite(&schema.join("old.MYI"));
        overwrite(&schema.join("garbled.frm"));
        overwrite(&schema.join("garbled.MYI"));
        overwrite(&schema.join("garbled.MYD"));
        self.say(&mut session, statements::DAMAGED);
    }

    /// Statements that take seconds, each in a session of its own, while the recorder looks.
    pub(crate) fn in_flight(&self) -> Vec<std::thread::JoinHandle<()>> {
        let statements = statements::IN_FLIGHT.iter().enumerate();
        let started = statements.map(|(place, statement)| {
            let sql = self.markers.fill(statement);
            // Over the socket and over TCP, so that the packets have them too.
            let login = if place % 2 == 0 {
                self.server.tcp_login()
            } else {
                self.server.login()
            };
            std::thread::spawn(move || {
                if let Ok(mut session) = login.connect(place % 4 == 0, TIMEOUT) {
                    let _ = session.query_drop("SET NAMES utf8");
                    let _ = session.query_drop("SET SESSION sql_log_bin = 0");
                    let _ = all_results(&mut session, &sql);
                }
            })
        });
        started.collect()
    }
}

/// Reads all that a statement gives.
pub(crate) fn all_results(session: &mut Conn, sql: &str) -> Result<(), mysql::Error> {
    let mut result = session.query_iter(sql)?;
    while let Some(set) = result.iter() {
        for row in set {
            row?;
        }
    }
    Ok(())
}

/// The head of a file is no longer what it was; where there is no such file nothing is done.
fn overwrite(file: &Path) {
    use std::io::Write as _;
    if let Ok(mut file) = std::fs::File::options().write(true).open(file) {
        file.write_all(&[0x58; 40]).unwrap();
        file.set_len(200).unwrap();
    }
}
