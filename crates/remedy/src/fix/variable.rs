//! Variables of the server: those of the running one, and those that MySQL 8 keeps for its next start.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use server::{Address, Login, ServerError, Session, Waits};

use super::undone::Undone;
use crate::general_log::quoted;
use crate::give_back::DEADLINES;
use crate::{ProcessId, ServerLogin};

/// The name of the server's lock, held by the connection that changes variables: what a killed process has left under
/// way is over before another one puts it back.
const SERVER_LOCK: &str = "freezeframe.fix";

/// How long a connection that was ended may take to be gone.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// A variable of the running server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobalVariable {
    /// Its name.
    pub name: String,
    /// What it was, as `SHOW GLOBAL VARIABLES` has it.
    pub before: String,
    /// What it is set to; once it is set, what the server made of it.
    pub after: String,
}

/// A variable that the server keeps for its next start (`SET PERSIST_ONLY`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersistedVariable {
    /// Its name.
    pub name: String,
    /// What was kept before; absent when nothing was.
    pub before: Option<String>,
    /// What is kept.
    pub after: String,
}

/// A server and a way in. It is connected to when it is needed.
pub struct Access {
    way: ServerLogin,
    login: Login,
    session: Option<Session>,
    waits: Waits,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the password.
        formatter
            .debug_struct("Access")
            .field("way", &self.way)
            .finish_non_exhaustive()
    }
}

impl Access {
    /// The server that is reached this way.
    pub fn new(way: ServerLogin, login: Login) -> Self {
        Self {
            way,
            login,
            session: None,
            waits: DEADLINES.into(),
        }
    }

    /// What ends the waits for the server from now on. A connection is let go that an earlier wait has spoilt.
    pub(super) fn set_waits(&mut self, waits: impl Into<Waits>) {
        self.waits = waits.into();
        if let Some(session) = &mut self.session {
            session.set_waits(self.waits.clone());
        }
        self.session.take_if(|session| !session.is_usable());
    }

    /// Where it listens, and how to get in again.
    pub fn server_login(&self) -> &ServerLogin {
        &self.way
    }

    /// Who we are to it.
    pub fn login(&self) -> &Login {
        &self.login
    }

    /// Its process has ended, and with it what was set in it.
    pub fn has_ended(&self) -> bool {
        self.way
            .process
            .is_some_and(|process: ProcessId| !process.is_alive())
    }

    /// The connection, made at the first use.
    pub fn session(&mut self) -> Result<&mut Session, String> {
        if self.session.is_none() {
            let address = Address::from(&self.way.address);
            let mut session = Session::connect(&address, &self.login, self.waits.clone())
                .map_err(|error| format!("{address}: {error}"))?;
            for statement in [
                "SET SESSION sql_mode = ''",
                "SET SESSION sql_log_off = 1",
                "SET SESSION long_query_time = 31536000",
            ] {
                match session.execute(statement) {
                    Err(error) if error.is_connection_lost() => return Err(error.to_string()),
                    _ => {}
                }
            }
            self.session = Some(session);
        }
        self.session
            .as_mut()
            .ok_or_else(|| "no connection".to_owned())
    }

    /// Forgets a connection that may be lost.
    pub(super) fn forget(&mut self) {
        self.session = None;
    }

    /// Becomes the only one of us that changes variables there. A connection that has the lock belongs to a process
    /// that is gone, since whoever changes something holds the journal's lock as well: it is ended.
    pub(super) fn become_only(&mut self) -> Result<(), String> {
        let session = self.session()?;
        let begin = Instant::now();
        let text = |error: ServerError| error.to_string();
        loop {
            let question = format!("SELECT GET_LOCK('{SERVER_LOCK}', 1)");
            let (rows, _) = session.rows(&question, 1).map_err(text)?;
            if rows.first().is_some_and(|row| row.column(0) == "1") {
                return Ok(());
            }
            if begin.elapsed() > LOCK_PATIENCE {
                return Err(format!(
                    "the server's lock {SERVER_LOCK} does not become free"
                ));
            }
            let question = format!("SELECT IS_USED_LOCK('{SERVER_LOCK}')");
            let (rows, _) = session.rows(&question, 1).map_err(text)?;
            let holder = rows
                .first()
                .and_then(|row| row.column(0).parse::<u64>().ok());
            if let Some(holder) = holder {
                match session.execute(&format!("KILL {holder}")) {
                    Err(error) if error.is_connection_lost() => return Err(text(error)),
                    _ => {}
                }
            }
        }
    }
}

impl GlobalVariable {
    /// Sets it; gives what the server made of it, which may have been rounded. What the server would not take back is
    /// not set: it may have started with a value that it refuses while it runs, as MariaDB does with an
    /// `innodb_log_file_size` below `innodb_log_buffer_size`. So the present value is set first, which changes nothing.
    pub(super) fn set(&self, access: &mut Access) -> Result<String, String> {
        let session = access.session()?;
        let before = global(session, &self.name)?;
        set_global(session, &self.name, &before).map_err(|why| {
            format!(
                "{} was not changed, because the change could not be undone: {why}",
                self.name
            )
        })?;
        set_global(session, &self.name, &self.after)?;
        let now = global(session, &self.name)?;
        if same(&now, &before) && !same(&now, &self.after) {
            return Err(format!(
                "{} is still {now} after {} was set",
                self.name, self.after
            ));
        }
        Ok(now)
    }

    /// Sets what was there before. `interrupted`: whether it had been set, and what to, is not known.
    pub(super) fn set_back(
        &self,
        access: &mut Access,
        forced: bool,
        interrupted: bool,
    ) -> Result<Undone, String> {
        // Another one may run in its place, which was started with our value by a durable change.
        let ended = access.has_ended();
        let session = match access.session() {
            Err(_) if ended => return Ok(Undone::ServerEnded),
            session => session?,
        };
        let now = global(session, &self.name)?;
        if same(&now, &self.before) {
            return Ok(Undone::NothingToDo);
        }
        if ended && !same(&now, &self.after) {
            return Ok(Undone::ServerEnded);
        }
        if !same(&now, &self.after) && !forced && !interrupted {
            return Ok(Undone::Changed { now });
        }
        set_global(session, &self.name, &self.before)?;
        let now = global(session, &self.name)?;
        if same(&now, &self.before) {
            return Ok(Undone::Back);
        }
        Err(format!(
            "{} is {now} after {} was set",
            self.name, self.before
        ))
    }
}

impl PersistedVariable {
    pub(super) fn set(&self, access: &mut Access) -> Result<(), String> {
        let session = access.session()?;
        persist(session, &self.name, &self.after)
    }

    pub(super) fn set_back(&self, access: &mut Access, forced: bool) -> Result<Undone, String> {
        let session = access.session()?;
        let now = persisted(session, &self.name)?;
        let equal = |one: &Option<String>, other: &Option<String>| match (one, other) {
            (Some(one), Some(other)) => same(one, other),
            (None, None) => true,
            _ => false,
        };
        if equal(&now, &self.before) {
            return Ok(Undone::NothingToDo);
        }
        if !equal(&now, &Some(self.after.clone())) && !forced {
            return Ok(Undone::Changed {
                now: now.unwrap_or_else(|| "nothing".to_owned()),
            });
        }
        match &self.before {
            Some(before) => persist(session, &self.name, before)?,
            None => session
                .execute(&format!("RESET PERSIST {}", self.name))
                .map_err(|error| error.to_string())?,
        }
        Ok(Undone::Back)
    }
}

/// The value of a global variable, as text.
fn global(session: &mut Session, name: &str) -> Result<String, String> {
    let question = format!(
        "SHOW GLOBAL VARIABLES WHERE Variable_name = {}",
        quoted(name)
    );
    let (rows, _) = session
        .rows(&question, 1)
        .map_err(|error| error.to_string())?;
    rows.first()
        .map(|row| row.column(1).to_owned())
        .ok_or_else(|| format!("this server has no variable {name}"))
}

/// What is kept of a variable for the next start.
fn persisted(session: &mut Session, name: &str) -> Result<Option<String>, String> {
    let question = format!(
        "SELECT variable_value FROM performance_schema.persisted_variables WHERE variable_name = {}",
        quoted(name)
    );
    let (rows, _) = session
        .rows(&question, 1)
        .map_err(|error| error.to_string())?;
    Ok(rows.first().map(|row| row.column(0).to_owned()))
}

fn set_global(session: &mut Session, name: &str, value: &str) -> Result<(), String> {
    let statement = set_statement("GLOBAL", name, value);
    session
        .execute(&statement)
        .map_err(|error| format!("{statement}: {error}"))
}

fn persist(session: &mut Session, name: &str, value: &str) -> Result<(), String> {
    let statement = set_statement("PERSIST_ONLY", name, value);
    session
        .execute(&statement)
        .map_err(|error| format!("{statement}: {error}"))
}

/// The statement that sets a variable: numbers without quotes, everything else, `ON` and `OFF` included, within.
pub(super) fn set_statement(scope: &str, name: &str, value: &str) -> String {
    format!("SET {scope} {name} = {}", literal(value))
}

fn literal(value: &str) -> String {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let is_number = digits.bytes().any(|b| b.is_ascii_digit())
        && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && digits.matches('.').count() <= 1;
    if is_number {
        value.to_owned()
    } else {
        quoted(value)
    }
}

/// Whether two texts are one value: case, `ON` for 1 and zeros behind the point are no difference.
pub(super) fn same(one: &str, other: &str) -> bool {
    let plain = |text: &str| match text.trim().to_ascii_lowercase().as_str() {
        "on" | "yes" | "true" => "1".to_owned(),
        "off" | "no" | "false" => "0".to_owned(),
        other => other.to_owned(),
    };
    let (one, other) = (plain(one), plain(other));
    one == other
        || matches!(
            (one.parse::<f64>(), other.parse::<f64>()),
            (Ok(one), Ok(other)) if one == other && one.abs() < 9e15
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_literals() {
        assert_eq!(set_statement("GLOBAL", "x", "7"), "SET GLOBAL x = 7");
        assert_eq!(set_statement("GLOBAL", "x", "-1.5"), "SET GLOBAL x = -1.5");
        assert_eq!(set_statement("GLOBAL", "x", "OFF"), "SET GLOBAL x = 'OFF'");
        assert_eq!(
            set_statement("GLOBAL", "x", "+02:00"),
            "SET GLOBAL x = '+02:00'"
        );
        assert_eq!(set_statement("GLOBAL", "x", "."), "SET GLOBAL x = '.'");
        assert_eq!(
            set_statement("GLOBAL", "x", "1; DROP"),
            "SET GLOBAL x = '1; DROP'"
        );
    }

    #[test]
    fn one_value_has_several_texts() {
        assert!(same("ON", "1") && same("off", "0") && same("1.000000", "1"));
        assert!(!same("ON", "OFF") && !same("2", "1") && !same("all", "none"));
    }
}
