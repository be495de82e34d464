use std::path::PathBuf;

use kernel::roots::ProcRoot;
use kernel::servers;
use serde::{Deserialize, Serialize};
use server::{Address, Login, LoginError, LoginOptions};

use crate::general_log::GeneralLogChange;
use crate::journal::{Form, Record};

/// A change for a time, as the journal keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The form of this file.
    pub version: u32,
    /// 16 hexadecimal digits, also the name of its file.
    pub id: String,
    /// On which server, and how to get in again.
    pub server: ServerWay,
    /// What is changed, and what was there before.
    pub change: Change,
    /// When it was taken, microseconds since 1970 UTC.
    pub taken_us: i64,
    /// When it is to be given back at the latest, likewise.
    pub deadline_us: i64,
    /// Who took it: while that process lives, nobody else gives it back but its watchdog.
    pub owner: ProcessId,
}

impl Record for Lease {
    const FORM: Form = Form {
        suffix: ".lease.json",
        version: 1,
        bytes_max: 64 << 10,
        one: "a lease",
        all: "leases",
        at_work: "giving this lease back",
    };

    fn id(&self) -> &str {
        &self.id
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn taken_us(&self) -> i64 {
        self.taken_us
    }
}

/// What a lease changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Change {
    /// The general log is on and goes to a file of ours.
    GeneralLog(GeneralLogChange),
}

/// A process, told from a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Process id.
    pub pid: u32,
    /// Start, in ticks since boot.
    pub start_time_ticks: u64,
}

impl ProcessId {
    /// Ourselves.
    pub fn own() -> Self {
        let pid = std::process::id();
        let proc = ProcRoot::default();
        let stat = kernel::read::head(&proc.of(pid, "stat"), 4096).ok();
        let stat = stat.and_then(|bytes| kernel::procfs::task_stat::parse(&bytes));
        Self {
            pid,
            start_time_ticks: stat.map_or(0, |stat| stat.start_time_ticks),
        }
    }

    /// Whether it still runs.
    pub fn is_alive(self) -> bool {
        servers::is_alive(&ProcRoot::default(), self.pid, self.start_time_ticks)
    }
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// A unix socket.
    Socket(PathBuf),
    /// Host and port.
    Tcp(String, u16),
}

impl From<&Address> for Way {
    fn from(address: &Address) -> Self {
        match address {
            Address::Socket(path) => Self::Socket(path.clone()),
            Address::Tcp(host, port) => Self::Tcp(host.clone(), *port),
        }
    }
}

impl From<&Way> for Address {
    fn from(way: &Way) -> Self {
        match way {
            Way::Socket(path) => Self::Socket(path.clone()),
            Way::Tcp(host, port) => Self::Tcp(host.clone(), *port),
        }
    }
}

/// A server and how to log in to it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerWay {
    /// Where it listens.
    pub address: Way,
    /// Its process, when it runs on this host and was found.
    pub process: Option<ProcessId>,
    /// How to log in.
    pub login: LoginWay,
}

/// How to log in again. Never a password: the files that hold it, and who reads them must be permitted to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginWay {
    /// The user name, as it was used.
    pub user: String,
    /// The file whose first line is the password.
    pub password_file: Option<PathBuf>,
    /// The option file that was read.
    pub defaults_file: Option<PathBuf>,
}

impl LoginWay {
    /// Makes the login again. A password that came from the environment is taken from there again (`environment`).
    pub fn login(&self, environment: Option<String>) -> Result<Login, LoginError> {
        let options = LoginOptions {
            user: Some(self.user.clone()),
            password_file: self.password_file.clone(),
            defaults_file: self.defaults_file.clone(),
            environment_password: environment,
            home: None,
            system_user: self.user.clone(),
        };
        server::find_login(&options).map(|found| found.login)
    }
}
