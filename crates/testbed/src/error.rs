//! What can go wrong in the test bed.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// What can go wrong in the lab.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program that a private server needs is not on this machine.
    #[error(
        "{program} is not installed: neither in PATH nor in {directories}; `scripts/need server` \
         installs it, or by hand: package {package}"
    )]
    NotInstalled {
        /// The program's name.
        program: &'static str,
        /// The well-known directories that were searched besides PATH.
        directories: String,
        /// The packages that bring it, for Debian and Ubuntu and for the Red Hat family.
        package: &'static str,
    },
    /// A server that `scripts/need` fetches is not on this machine.
    #[error("{name} is not in {}: `scripts/need {need}` fetches it", servers.display())]
    NotFetched {
        /// The server.
        name: &'static str,
        /// The category of `scripts/need`.
        need: &'static str,
        /// The directory of the fetched servers.
        servers: PathBuf,
    },
    /// A library is not on this machine.
    #[error("{library} is not installed: apt-get install {package}")]
    NoLibrary {
        /// Its file.
        library: &'static str,
        /// Debian's package.
        package: &'static str,
    },
    /// A scenario's file is wrong.
    #[error("{file}: {problem}")]
    Scenario {
        /// Which.
        file: String,
        /// Why.
        problem: String,
    },
    /// The operating system refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was being done, with the path where there is one.
        what: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The socket's path does not fit into a socket address (unix(7): `sun_path` has 108 bytes).
    #[error("the socket path {} is longer than {max} bytes; choose a shorter directory", path.display())]
    SocketPathTooLong {
        /// The path that does not fit.
        path: PathBuf,
        /// The longest path that fits.
        max: usize,
    },
    /// The data directory could not be set up.
    #[error("mariadb-install-db failed ({status}); the end of its output:\n{output}")]
    Install {
        /// How it ended.
        status: ExitStatus,
        /// The last lines that it wrote.
        output: String,
    },
    /// The server ended before it answered.
    #[error("the server ended while it started ({status}); the end of its error log:\n{log}")]
    Ended {
        /// How it ended.
        status: ExitStatus,
        /// The last lines of its error log.
        log: String,
    },
    /// The server runs and does not answer.
    #[error(
        "the server did not answer within {deadline:?} ({last}); the end of its error log:\n{log}"
    )]
    NoAnswer {
        /// How long was waited.
        deadline: Duration,
        /// What the last attempt said.
        last: String,
        /// The last lines of its error log.
        log: String,
    },
    /// The private server is not running: stopped, killed, or ended by itself.
    #[error("the private server is not running")]
    NotRunning,
    /// A load that cannot be run as described.
    #[error("load: {0}")]
    Load(String),
    /// There is no victim of that name.
    #[error("there is no victim '{0}'")]
    NoSuchVictim(String),
    /// A victim could not be compiled.
    #[error("cc failed on {name} ({status}); the end of its output:\n{output}")]
    Compile {
        /// The victim.
        name: String,
        /// How the compiler ended.
        status: ExitStatus,
        /// The last lines that it wrote.
        output: String,
    },
    /// A victim ended before it said what it is.
    #[error("{} said nothing and ended ({status})", program.display())]
    VictimEnded {
        /// Its program.
        program: PathBuf,
        /// How it ended.
        status: ExitStatus,
    },
    /// The server or the connection to it refused a statement.
    #[error("{what}: {source}")]
    Client {
        /// What was being done.
        what: String,
        /// The client library's words.
        source: Box<mysql::Error>,
    },
}

impl Error {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    pub(crate) fn client(what: impl Into<String>) -> impl FnOnce(mysql::Error) -> Self {
        let what = what.into();
        move |source| Self::Client {
            what,
            source: Box::new(source),
        }
    }
}
