//! The makes and versions of servers that the test bed knows, and the arguments of each.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::files::find_program;

/// Directory of the servers that `scripts/servers` fetched; the same rule stands there.
const SERVERS_VARIABLE: &str = "FREEZEFRAME_SERVERS";

const MARIADB_PACKAGE: &str =
    "mariadb-server-core and mariadb-client-core (Debian, Ubuntu), mariadb-server (Fedora, RHEL)";

/// One size for the installation and the server, so that the redo log is not written anew.
pub(crate) const LOG_FILE_SIZE: &str = "--innodb-log-file-size=16M";

/// A make and age of database server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ServerKind {
    /// The MariaDB that is installed on this machine.
    #[default]
    MariaDb,
    /// MySQL 5.5.9, not stripped: the server of the published stories, with `kernel_mutex`.
    MySql55,
    /// MySQL 9 of Debian unstable. Its process is the loader: `/proc/PID/exe` and the name are
    /// those of `ld-linux-x86-64.so.2`.
    MySql9,
    /// MariaDB 11.4.5, 314 MB with debug information.
    MariaDb11,
}

impl ServerKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::MariaDb, Self::MySql55, Self::MySql9, Self::MariaDb11];

    /// Its category in `scripts/need`, for the fetched ones also its name in their directory.
    pub fn need(self) -> &'static str {
        match self {
            Self::MariaDb => "server",
            Self::MySql55 => "mysql-5.5",
            Self::MySql9 => "mysql-9",
            Self::MariaDb11 => "mariadb-11",
        }
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::MariaDb => "the installed MariaDB",
            Self::MySql55 => "MySQL 5.5.9",
            Self::MySql9 => "MySQL 9",
            Self::MariaDb11 => "MariaDB 11.4.5",
        }
    }

    /// Whether the lab can make it a replica ([`crate::follow`]).
    pub fn can_follow(self) -> bool {
        matches!(self, Self::MariaDb | Self::MariaDb11)
    }

    /// Arguments of the server that only this kind has, or that have another name elsewhere.
    pub(crate) fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::MariaDb => &["--skip-log-bin", "--performance-schema=OFF", LOG_FILE_SIZE],
            Self::MariaDb11 => &[
                "--skip-log-bin",
                "--performance-schema=OFF",
                LOG_FILE_SIZE,
                // Else each start makes a key, which takes it 4 to 13 s of CPU time.
                "--skip-ssl",
            ],
            // Neither a binary log nor performance_schema unless asked for.
            Self::MySql55 => &[LOG_FILE_SIZE],
            Self::MySql9 => &[
                "--skip-log-bin",
                // The size of the data directory that is copied.
                "--innodb-redo-log-capacity=32M",
                // A second port, on all addresses, and a socket in /tmp.
                "--mysqlx=OFF",
                // Its compiled-in directory does not exist.
                "--secure-file-priv=",
            ],
        }
    }

    /// What the server runs at each start: root over TCP has this password, and there is no other
    /// account than root. One statement a line.
    pub(crate) fn init_sql(self, password: &str) -> String {
        let account = "root@127.0.0.1";
        match self {
            Self::MariaDb | Self::MariaDb11 => format!(
                "CREATE OR REPLACE USER {account} IDENTIFIED BY '{password}';\n\
                 GRANT ALL ON *.* TO {account} WITH GRANT OPTION;\n"
            ),
            // The data directory brings anonymous users and a root without a password over TCP.
            Self::MySql55 => format!(
                "DELETE FROM mysql.user WHERE user <> 'root' OR host <> 'localhost';\n\
                 FLUSH PRIVILEGES;\n\
                 GRANT ALL ON *.* TO {account} IDENTIFIED BY '{password}' WITH GRANT OPTION;\n"
            ),
            Self::MySql9 => format!(
                "CREATE USER IF NOT EXISTS {account};\n\
                 ALTER USER {account} IDENTIFIED BY '{password}';\n\
                 GRANT ALL ON *.* TO {account} WITH GRANT OPTION;\n"
            ),
        }
    }
}

/// The programs of a server that is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Which one.
    pub kind: ServerKind,
    /// Its program.
    pub program: PathBuf,
    /// The loader that starts it, with its arguments before the program; empty for a program that
    /// the kernel starts.
    pub(crate) loader: Vec<PathBuf>,
    /// `--basedir` and `--lc-messages-dir`, for a server that is not where it was built for.
    pub(crate) base: Option<(PathBuf, PathBuf)>,
    pub(crate) data: NewData,
}

/// Where a new data directory comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NewData {
    /// This program makes it.
    InstallDb(PathBuf),
    /// It is copied.
    Copy(PathBuf),
}

/// Finds a server; the error says how to get it.
pub fn installed(kind: ServerKind) -> Result<Installed, Error> {
    if kind == ServerKind::MariaDb {
        return Ok(Installed {
            kind,
            program: find_program("mariadbd", MARIADB_PACKAGE)?,
            loader: Vec::new(),
            base: None,
            data: NewData::InstallDb(find_program("mariadb-install-db", MARIADB_PACKAGE)?),
        });
    }
    let servers = servers_directory();
    let directory = servers.join(kind.need());
    // The directory gets this name when it is whole.
    if !directory.is_dir() {
        return Err(Error::NotFetched {
            name: kind.name(),
            need: kind.need(),
            servers,
        });
    }
    let data = NewData::Copy(directory.join("data"));
    Ok(match kind {
        ServerKind::MySql9 => {
            let usr = directory.join("usr");
            Installed {
                kind,
                program: usr.join("sbin/mysqld"),
                loader: vec![
                    usr.join("lib64/ld-linux-x86-64.so.2"),
                    "--library-path".into(),
                    usr.join("lib/x86_64-linux-gnu"),
                ],
                base: Some((usr.clone(), usr.join("share/mysql"))),
                data,
            }
        }
        _ => Installed {
            kind,
            program: directory.join(if kind == ServerKind::MySql55 {
                "bin/mysqld"
            } else {
                "bin/mariadbd"
            }),
            loader: Vec::new(),
            base: Some((directory.clone(), directory.join("share"))),
            data,
        },
    })
}

/// Where the fetched servers are, and what is kept of the installed one.
pub(crate) fn servers_directory() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(servers) = variable(SERVERS_VARIABLE) {
        return servers.into();
    }
    let cache = match variable("XDG_CACHE_HOME") {
        Some(cache) => PathBuf::from(cache),
        None => Path::new(&variable("HOME").unwrap_or_default()).join(".cache"),
    };
    cache.join("freezeframe/servers")
}
