//! Who took part in a stall, with the values that a command needs.

use serde::{Deserialize, Serialize};

use crate::human::{Show, show};

/// A session, a process or a disk that an incident names. What was not recorded is absent.
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
    /// Its name in a sentence: `connection 91 (app@web1)`, `process 4711`,
    /// `transaction 5123 without a connection`.
    pub fn name(&self) -> String {
        if let Some(id) = self.connection {
            let host = self.host.as_deref().filter(|host| !host.is_empty());
            let user = self.user.as_deref().filter(|user| !user.is_empty());
            return match (user.map(plain), host.map(plain)) {
                (Some(user), Some(host)) => format!("connection {id} ({user}@{host})"),
                (Some(user), None) => format!("connection {id} ({user})"),
                _ => format!("connection {id}"),
            };
        }
        if let Some(program) = &self.program {
            return format!("program {}", plain(program));
        }
        match (self.pid, &self.transaction) {
            (Some(pid), _) => format!("process {pid}"),
            (None, Some(transaction)) => {
                format!("transaction {transaction} without a connection")
            }
            (None, None) => String::new(),
        }
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
        let mut parts: Vec<String> = Vec::new();
        match (
            &self.statement_class,
            self.running_seconds,
            self.idle_seconds,
        ) {
            (Some(class), Some(time), _) => {
                parts.push(format!("{} for {}", class.to_uppercase(), seconds(time)));
            }
            (Some(class), None, _) => parts.push(class.to_uppercase()),
            (None, _, Some(time)) => parts.push(format!("idle for {}", seconds(time))),
            (None, Some(time), None) => parts.push(format!("at work for {}", seconds(time))),
            (None, None, None) if self.transaction.is_some() && self.connection.is_some() => {
                parts.push("idle".to_owned());
            }
            (None, None, None) => {}
        }
        if let Some(time) = self.transaction_seconds {
            parts.push(format!("transaction open for {}", seconds(time)));
        }
        if let Some(processors) = self.processors {
            parts.push(format!(
                "took {} of the CPUs",
                show(processors, Show::Count)
            ));
        }
        for (count, one, many) in [
            (self.row_locks, "row lock", "row locks"),
            (self.changed_rows, "changed row", "changed rows"),
        ] {
            if let Some(count) = count.filter(|count| *count > 0) {
                parts.push(format!("{count} {}", if count == 1 { one } else { many }));
            }
        }
        if let Some(lock) = &self.lock {
            let waiters = match self.waiters {
                Some(1) => "1 waits for ".to_owned(),
                Some(count) => format!("{count} wait for "),
                None => String::new(),
            };
            parts.push(format!("{waiters}{}", plain(lock)));
        }
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
