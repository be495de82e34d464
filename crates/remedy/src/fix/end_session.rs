//! A session that others wait behind, ended when it is still the one that was recorded: numbers of connections come
//! again, and who was in front may have gone on long ago.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use server::{Row, Session};

use super::variable::Access;

/// Sessions that are looked through.
const SESSIONS_MAX: usize = 100_000;

/// How far an age may be off: the server tells whole seconds, and a reading may have taken some.
const AGE_SLACK_SECONDS: f64 = 5.0;

/// How long a session that was ended may take to be gone. A rollback goes on behind that.
const GONE_PATIENCE: Duration = Duration::from_secs(5);

/// Commands of sessions that are the server's own, or a replica's.
const NOT_CLIENTS: [&str; 5] = [
    "Daemon",
    "Connect",
    "Binlog Dump",
    "Binlog Dump GTID",
    "Slave_SQL",
];

/// Those who wait for a row behind a connection: by the tables of MariaDB and of MySQL up to 5.7, and of MySQL 8.
const ROW_WAITS: [&str; 2] = [
    "SELECT COUNT(DISTINCT w.requesting_trx_id) FROM information_schema.innodb_lock_waits w \
     JOIN information_schema.innodb_trx t ON t.trx_id = w.blocking_trx_id WHERE t.trx_mysql_thread_id = ",
    "SELECT COUNT(DISTINCT w.requesting_thread_id) FROM performance_schema.data_lock_waits w \
     JOIN performance_schema.threads t ON t.thread_id = w.blocking_thread_id WHERE t.processlist_id = ",
];

/// A session as it was recorded: by what it is known again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndSession {
    /// Its connection.
    pub connection: u64,
    /// Its user.
    pub user: String,
    /// Its host, without the port.
    pub host: String,
    /// Its transaction, as InnoDB prints the number.
    pub transaction: Option<String>,
    /// When that began, milliseconds since 1970 UTC.
    pub transaction_since_ms: Option<i64>,
    /// When it fell asleep, likewise; absent where it is known by its transaction.
    pub idle_since_ms: Option<i64>,
    /// What others wait for is a row.
    pub of_rows: bool,
}

/// A session of an incident that may be ended.
#[derive(Debug, Clone)]
pub struct Suspect {
    /// Its part: a name of the catalogue's `who`.
    pub who: String,
    /// What the incident says of it.
    pub says: String,
    /// Nobody else can be it, by the incident.
    pub sure: bool,
    /// What it is known by.
    pub session: EndSession,
    /// What it is now; else why it is left alone.
    pub looked: Result<LiveSession, String>,
}

/// A session that is still the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSession {
    /// What it does, in a few words.
    pub does: String,
    /// How many wait behind it, as far as the server tells: 0 where it does not.
    pub in_front_of: u64,
}

impl EndSession {
    /// Whether it is still the session that was recorded, and still in front of somebody; changes nothing. The error
    /// says what has changed.
    pub fn find_live(&self, access: &mut Access) -> Result<LiveSession, String> {
        let session = access.session()?;
        let rows = processlist(session)?;
        let id = self.connection.to_string();
        let Some(row) = rows.iter().find(|row| row.get("id") == id) else {
            return Err(format!("connection {id} has ended meanwhile"));
        };
        self.is_same(row)?;
        match &self.transaction {
            Some(transaction) => self.has_transaction(session, transaction)?,
            None => self.has_slept(row)?,
        }
        let in_front_of = self.in_front_of(session, &rows)?;
        Ok(LiveSession {
            does: does(row),
            in_front_of,
        })
    }

    /// Ends it, after another look.
    pub(super) fn end(&self, access: &mut Access) -> Result<(), String> {
        self.find_live(access)
            .map_err(|why| format!("no session was killed: {why}"))?;
        let session = access.session()?;
        let kill = format!("KILL {}", self.connection);
        session
            .execute(&kill)
            .map_err(|error| format!("{kill}: {error}"))?;
        let begin = Instant::now();
        let id = self.connection.to_string();
        while begin.elapsed() < GONE_PATIENCE {
            let rows = processlist(session)?;
            if rows.iter().all(|row| row.get("id") != id) {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    fn is_same(&self, row: &Row) -> Result<(), String> {
        let id = self.connection;
        let (user, host) = (row.get("user"), host(row));
        if NOT_CLIENTS.contains(&row.get("command")) || user == "system user" {
            return Err(format!(
                "connection {id} belongs to the server itself or to a replica"
            ));
        }
        if user != self.user || host != self.host {
            return Err(format!(
                "connection {id} is {user}@{host} now, and was {}@{} in the incident",
                self.user, self.host
            ));
        }
        Ok(())
    }

    fn has_transaction(&self, session: &mut Session, transaction: &str) -> Result<(), String> {
        let id = self.connection;
        let question = format!(
            "SELECT trx_id, UNIX_TIMESTAMP() - UNIX_TIMESTAMP(trx_started) \
             FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = {id}"
        );
        let (rows, _) = session.rows(&question, 1).map_err(|error| {
            format!("unknown whether connection {id} still has the same transaction: {error}")
        })?;
        let Some(row) = rows.first() else {
            return Err(format!("the transaction of connection {id} has ended"));
        };
        let other = || Err(format!("connection {id} has another transaction now"));
        let now = row.column(0);
        // Not every server gives one that only reads a number.
        if !matches!(now, "" | "0") && !transaction.is_empty() && transaction != "0" {
            return if now == transaction { Ok(()) } else { other() };
        }
        match self.transaction_since_ms {
            Some(since) if fits(row.column(1), since) => Ok(()),
            _ => other(),
        }
    }

    fn has_slept(&self, row: &Row) -> Result<(), String> {
        let id = self.connection;
        let Some(since) = self.idle_since_ms else {
            return Err(format!(
                "the incident does not say when connection {id} became idle"
            ));
        };
        if row.get("command") != "Sleep" || !fits(row.get("time"), since) {
            return Err(format!("connection {id} was active since"));
        }
        Ok(())
    }

    /// How many wait behind it; an error when nobody does.
    fn in_front_of(&self, session: &mut Session, rows: &[Row]) -> Result<u64, String> {
        let id = self.connection;
        if self.of_rows {
            for question in ROW_WAITS {
                let Ok((rows, _)) = session.rows(&format!("{question}{id}"), 1) else {
                    continue;
                };
                let count = rows.first().and_then(|row| row.column(0).parse().ok());
                return match count.unwrap_or(0) {
                    0 => Err(format!("no session waits behind connection {id} any more")),
                    count => Ok(count),
                };
            }
            return Ok(0);
        }
        let waits = |row: &Row| {
            let state = row.get("state").to_ascii_lowercase();
            NOT_CLIENTS
                .iter()
                .all(|command| *command != row.get("command"))
                && (state.starts_with("waiting for ") || state == "locked")
        };
        match rows.iter().any(waits) {
            true => Ok(0),
            false => Err("no session waits for a lock any more".to_owned()),
        }
    }
}

fn processlist(session: &mut Session) -> Result<Vec<Row>, String> {
    let (rows, _) = session
        .rows("SHOW PROCESSLIST", SESSIONS_MAX)
        .map_err(|error| error.to_string())?;
    Ok(rows)
}

fn host(row: &Row) -> &str {
    let host = row.get("host");
    host.rsplit_once(':').map_or(host, |(host, _)| host)
}

fn does(row: &Row) -> String {
    let state = Some(row.get("state")).filter(|state| !state.is_empty());
    let state = state.map_or(String::new(), |state| format!(", {state}"));
    format!("{}{state} for {} s", row.get("command"), row.get("time"))
}

/// Whether an age in seconds is that of something that began then.
fn fits(age: &str, since_ms: i64) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ms = now.map_or(0, |since| since.as_millis() as i64);
    let expected = now_ms.saturating_sub(since_ms) as f64 / 1000.0;
    let age = age.parse::<f64>();
    age.is_ok_and(|age| (age - expected).abs() <= AGE_SLACK_SECONDS)
}
