//! A lease as the journal keeps it: the change, its owner, and how its server is reached again.

use std::path::PathBuf;

use kernel::roots::ProcRoot;
use kernel::servers;
use serde::{Deserialize, Serialize};
use server::{Address, Login, LoginError, LoginOptions, Tls, TlsOptions};

use crate::general_log::GeneralLogChange;
use crate::journal::{JournalFormat, Record};

/// A change for a time, as the journal keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The form of this file.
    pub version: u32,
    /// 16 hexadecimal digits, also the name of its file.
    pub id: String,
    /// On which server, and how to get in again.
    pub server: ServerLogin,
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
    const FORM: JournalFormat = JournalFormat {
        suffix: ".lease.json",
        version: 1,
        bytes_max: 64 << 10,
        one: "a lease",
        all: "leases",
        at_work: "undoing this lease",
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
pub enum ServerAddress {
    /// A unix socket.
    Socket(PathBuf),
    /// Host and port.
    Tcp(String, u16),
}

impl From<&Address> for ServerAddress {
    fn from(address: &Address) -> Self {
        match address {
            Address::Socket(path) => Self::Socket(path.clone()),
            Address::Tcp(host, port) => Self::Tcp(host.clone(), *port),
        }
    }
}

impl From<&ServerAddress> for Address {
    fn from(way: &ServerAddress) -> Self {
        match way {
            ServerAddress::Socket(path) => Self::Socket(path.clone()),
            ServerAddress::Tcp(host, port) => Self::Tcp(host.clone(), *port),
        }
    }
}

/// A server and how to log in to it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerLogin {
    /// Where it listens.
    pub address: ServerAddress,
    /// Its process, when it runs on this host and was found.
    pub process: Option<ProcessId>,
    /// How to log in.
    pub login: LoginSource,
}

/// How to log in again. Never a password: the files that hold it, and who reads them must be permitted to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginSource {
    /// The user name, as it was used.
    pub user: String,
    /// The file whose first line is the password.
    pub password_file: Option<PathBuf>,
    /// The option file that was read.
    pub defaults_file: Option<PathBuf>,
    /// The login path that was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login_path: Option<String>,
    /// The file of login paths that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login_file: Option<PathBuf>,
    /// How the way to the server is protected.
    #[serde(default, skip_serializing_if = "TlsSource::is_usual")]
    pub tls: TlsSource,
}

/// How the way to a server is protected: by its mode and by files, of which only the names are written down.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TlsSource {
    /// The name of the mode.
    pub mode: Option<String>,
    /// Authorities.
    pub ca: Option<PathBuf>,
    /// Our certificate.
    pub cert: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
    /// It is wanted on this host, too.
    pub is_wanted: bool,
}

impl TlsSource {
    /// Nothing was said of it: journals have no word of it then, as those of older versions.
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

impl From<&TlsOptions> for TlsSource {
    fn from(options: &TlsOptions) -> Self {
        Self {
            mode: options.mode.map(|mode| mode.name().to_owned()),
            ca: options.ca.clone(),
            cert: options.cert.clone(),
            key: options.key.clone(),
            is_wanted: options.is_wanted,
        }
    }
}

impl From<&TlsSource> for TlsOptions {
    fn from(way: &TlsSource) -> Self {
        Self {
            mode: way.mode.as_ref().and_then(|mode| mode.parse().ok()),
            ca: way.ca.clone(),
            cert: way.cert.clone(),
            key: way.key.clone(),
            is_wanted: way.is_wanted,
        }
    }
}

impl LoginSource {
    /// The protection alone, for who has the password already. Without its files the server decides whether it does.
    pub(crate) fn tls(&self) -> Tls {
        Tls::new((&self.tls).into()).unwrap_or_default()
    }

    /// Makes the login again. A password that came from the environment is taken from there again (`environment`).
    pub fn login(&self, environment: Option<String>) -> Result<Login, LoginError> {
        let options = LoginOptions {
            user: Some(self.user.clone()),
            password_file: self.password_file.clone(),
            defaults_file: self.defaults_file.clone(),
            login_path: self.login_path.clone(),
            login_file: self.login_file.clone(),
            environment_password: environment,
            home: None,
            system_user: self.user.clone(),
            tls: (&self.tls).into(),
        };
        server::find_login(&options).map(|found| found.login)
    }
}
