//! Who took part in a stall, with the values that a command needs.

use serde::{Deserialize, Serialize};
use server_text::activity;

use crate::human::{Show, show};

/// A session, a crowd of them, a process, a disk or a setting that an incident names. What was not recorded is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Actor {
    /// Whose part it has: a name of the catalogue's `who` (docs/reference/causes.md).
    pub who: String,
    /// Nobody else of the record can be it. Without that it is one of those that may be.
    pub sure: bool,
    /// The same in words.
    pub says: String,
    /// Connection id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<u64>,
    /// User of the account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The client's host, without its port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// How many sessions it is, where several of one account run the same: none of them has its connection told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u64>,
    /// What these run, without literals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    /// Name of a disk or a setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thing: Option<String>,
    /// How it is: a setting's value, how busy a disk was, what an applier does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Class of its statement; absent while it runs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement_class: Option<String>,
    /// For how long it has done nothing, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_seconds: Option<f64>,
    /// For how long its statement runs or waits, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_seconds: Option<f64>,
    /// Its transaction, as InnoDB prints the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<String>,
    /// For how long that is open, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_seconds: Option<f64>,
    /// Rows that it has locked, about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_locks: Option<u64>,
    /// Rows that it has changed, about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_rows: Option<u64>,
    /// The lock that others wait for, with table and index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
    /// How many wait for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiters: Option<u64>,
    /// Process id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Name of a program beside the server, as the kernel has it: 15 bytes at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// How many processors it kept busy, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<f64>,
    /// When the ages were read, milliseconds since 1970 UTC; absent where the record tells no time of day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_ms: Option<i64>,
}

impl Actor {
    /// Its name in a sentence: `connection 91 (app@web1)`, `40 sessions of app@web1`, `process 4711`,
    /// `transaction 5123 without a connection`, `disk sda`.
    pub fn name(&self) -> String {
        let known =
            |name: &Option<String>| name.as_deref().filter(|name| !name.is_empty()).map(plain);
        let account = match (known(&self.user), known(&self.host)) {
            (Some(user), Some(host)) => format!("{user}@{host}"),
            (user, _) => user.unwrap_or_default(),
        };
        match (self.sessions, self.connection, self.pid, &self.transaction) {
            (Some(count), ..) => format!("{count} sessions of {account}"),
            (_, Some(id), ..) if account.is_empty() => format!("connection {id}"),
            (_, Some(id), ..) => format!("connection {id} ({account})"),
            (.., Some(pid), _) => format!("process {pid}"),
            (.., Some(transaction)) => format!("transaction {transaction} without a connection"),
            _ => match (known(&self.program), known(&self.thing)) {
                (Some(program), _) => format!("program {program}"),
                (None, thing) => thing.unwrap_or_default(),
            },
        }
    }

    /// Its statement changes what tables are.
    pub fn runs_ddl(&self) -> bool {
        // A class is the first word of a statement.
        let class = self.statement_class.as_deref();
        class.is_some_and(|class| activity::is_ddl(&format!("{class} table")))
    }

    /// The value of a place in a step of a remedy.
    pub(crate) fn place(&self, place: &str) -> Option<String> {
        match place {
            "id" => self.connection.map(|id| id.to_string()),
            "pid" => self.pid.map(|pid| pid.to_string()),
            "program" => self.program.clone().filter(|name| is_word(name)),
            "who" => Some(self.says.clone()).filter(|says| !says.is_empty()),
            _ => None,
        }
    }

    /// Says what is known of it.
    pub(super) fn reported(mut self) -> Self {
        let seconds = |value: f64| show(value, Show::Seconds);
        let times = (self.idle_seconds, self.running_seconds);
        let is_idle = self.transaction.is_some() && self.connection.is_some() && times.1.is_none();
        let (does, time) = match (&self.statement_class, times) {
            (Some(class), (_, time)) => (class.to_uppercase(), time),
            (None, (Some(time), _)) => ("idle".to_owned(), Some(time)),
            (None, (None, Some(time))) if time >= 1.0 => ("at work".to_owned(), Some(time)),
            (None, _) => (if is_idle { "idle" } else { "" }.to_owned(), None),
        };
        let up_to = self.sessions.map_or("", |_| "up to ");
        let mut parts: Vec<String> = self.value.iter().map(|value| plain(value)).collect();
        parts.push(match time {
            Some(time) if time >= 1.0 => format!("{does} for {up_to}{}", seconds(time)),
            _ => does,
        });
        let open = self.transaction_seconds.map(seconds);
        parts.extend(open.map(|time| format!("transaction open for {time}")));
        let cpus = self.processors.map(|count| show(count, Show::Count));
        parts.extend(cpus.map(|cpus| format!("took {cpus} of the CPUs")));
        let s = |count: u64| if count == 1 { "" } else { "s" };
        for (count, what) in [
            (self.row_locks, "row lock"),
            (self.changed_rows, "changed row"),
        ] {
            let some = count.filter(|count| *count > 0);
            parts.extend(some.map(|count| format!("{count} {what}{}", s(count))));
        }
        if let Some(lock) = &self.lock {
            let wait =
                |count| format!("{count} {} for ", if count == 1 { "waits" } else { "wait" });
            let waiters = self.waiters.map_or_else(String::new, wait);
            parts.push(format!("{waiters}{}", plain(lock)));
        }
        parts.retain(|part| !part.is_empty());
        self.says = match parts.is_empty() {
            true => self.name(),
            false => format!("{}: {}", self.name(), parts.join(", ")),
        };
        self
    }
}

/// It may stand in a command.
fn is_word(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-:/".contains(c);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain)
}

/// A name that users of the server gave, as it may stand in front of a command: a blank behind a colon begins one there.
fn plain(name: &str) -> String {
    let is_odd = |c: char| c.is_control() || c == ';' || c == '`';
    name.replace(": ", "_").replace(is_odd, "_")
}
