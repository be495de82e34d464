//! A database server of our own in a temporary directory: installed, started, configured and stopped.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::files::{
    Log, copy_directory, find_program, private_directory, random_password, text_tail,
};
use crate::kind::{LOG_FILE_SIZE, NewData, servers_directory};
use crate::process::{Process, Program};
use crate::{Address, Error, Installed, Login, ServerKind, installed, template};

/// Longest path of a socket: `sun_path` has 108 bytes with the closing zero (unix(7)).
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// How many free ports are tried before a clash is believed to be something else.
const PORT_ATTEMPTS: usize = 5;

/// How often a starting server is asked, and how long one such question may take.
const START_POLL: Duration = Duration::from_millis(20);
const START_PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// The server refuses to run as root unless it is told to. Not `--user=root`: on that option
/// mariadb-install-db also gives the installed PAM plugin's directory to root, which would break
/// the logins of a server that is in service on this machine.
const AS_ROOT: &str = "-uroot";

/// How a private server is started.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which server.
    pub kind: ServerKind,
    /// The directory in which the server's own directory is made; `None` takes the system's
    /// directory for temporary files.
    pub base: Option<PathBuf>,
    /// Additional arguments of the server, after the lab's own, so that they win. Where the server
    /// listens is not to be changed with them.
    pub arguments: Vec<String>,
    /// Environment variables of the server, on top of ours (`LD_PRELOAD`, `GLIBC_TUNABLES`).
    pub environment: Vec<(String, String)>,
    /// How long the server may take until it answers.
    pub start_deadline: Duration,
    /// How long the server may take to end in order before it is killed.
    pub stop_deadline: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            kind: ServerKind::default(),
            base: None,
            arguments: Vec::new(),
            environment: Vec::new(),
            start_deadline: Duration::from_secs(60),
            stop_deadline: Duration::from_secs(20),
        }
    }
}

/// A database server of our own: its data, socket and log in a directory that only we may enter,
/// its port on the loopback address. Dropping it kills the server and removes the directory; when
/// we are killed the server is killed too, and only the directory stays behind.
pub struct PrivateServer {
    options: Options,
    setpriv: PathBuf,
    installed: Installed,
    directory: TempDir,
    port: u16,
    password: String,
    process: Option<Process>,
}

impl PrivateServer {
    /// Makes the directory and the data directory in it, starts the server and waits until it
    /// answers.
    pub fn start(options: &Options) -> Result<Self, Error> {
        let installed = installed(options.kind)?;
        let setpriv = find_program("setpriv", "util-linux")?;
        let mut server = Self {
            options: options.clone(),
            setpriv,
            installed,
            directory: private_directory(options.base.as_deref())?,
            port: 0,
            password: random_password()?,
            process: None,
        };
        let socket = server.socket();
        if socket.as_os_str().len() > SOCKET_PATH_BYTES_MAX {
            return Err(Error::SocketPathTooLong {
                path: socket,
                max: SOCKET_PATH_BYTES_MAX,
            });
        }
        fs::create_dir(server.temporary_directory())
            .map_err(Error::io("make the directory for temporary tables"))?;
        server.write_init_file()?;
        server.make_datadir()?;
        let mut attempt = 1;
        loop {
            server.port = free_port()?;
            match server.launch() {
                Err(Error::Ended { log, .. }) if attempt < PORT_ATTEMPTS && port_taken(&log) => {
                    attempt += 1;
                }
                result => return result.map(|()| server),
            }
        }
    }

    /// Its programs.
    pub fn installed(&self) -> &Installed {
        &self.installed
    }

    /// The path of its socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("mysqld.sock")
    }

    /// Its port on 127.0.0.1; the same after [`Self::restart`].
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The directory that holds everything of this server.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Its data directory.
    pub fn datadir(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Its error log.
    pub fn error_log(&self) -> PathBuf {
        self.directory.path().join("error.log")
    }

    /// Its process id, or `None` after [`Self::stop`] and [`Self::kill`].
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// The administrator's login over the socket: no password, because nobody else reaches the
    /// socket in its directory of mode 0700.
    pub fn login(&self) -> Login {
        Login {
            address: Address::Socket(self.socket()),
            user: "root".to_owned(),
            password: None,
        }
    }

    /// The administrator's login over TCP, with a random password: every user of this machine
    /// reaches the port.
    pub fn tcp_login(&self) -> Login {
        Login {
            address: Address::Tcp(Ipv4Addr::LOCALHOST.to_string(), self.port),
            user: "root".to_owned(),
            password: Some(self.password.clone()),
        }
    }

    /// Ends the server in order: SIGTERM, and SIGKILL when it has not ended by the stop deadline.
    /// The data stays for [`Self::restart`]. Stopping a server that does not run does nothing.
    pub fn stop(&mut self) -> Result<(), Error> {
        match self.process.take() {
            None => Ok(()),
            Some(process) => process
                .end(self.options.stop_deadline)
                .map(drop)
                .map_err(Error::io("stop the server")),
        }
    }

    /// Ends the server with SIGKILL, as the kernel's out-of-memory killer does.
    pub fn kill(&mut self) -> Result<(), Error> {
        self.process
            .take()
            .ok_or(Error::NotRunning)?
            .kill()
            .map(drop)
            .map_err(Error::io("kill the server"))
    }

    /// Stops the server if it runs, and starts it again on the same data, socket and port.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.stop()?;
        self.launch()
    }

    /// Other arguments and environment variables from the next [`Self::restart`] on.
    pub fn change(&mut self, arguments: Vec<String>, environment: Vec<(String, String)>) {
        self.options.arguments = arguments;
        self.options.environment = environment;
    }

    /// Freezes the server (SIGSTOP): the kernel still accepts connections for it, and nothing
    /// answers. On return all its threads stand still.
    pub fn pause(&self) -> Result<(), Error> {
        let process = self.process.as_ref().ok_or(Error::NotRunning)?;
        if process.pause().map_err(Error::io("pause the server"))? {
            Ok(())
        } else {
            Err(Error::NotRunning)
        }
    }

    /// Ends [`Self::pause`] (SIGCONT).
    pub fn resume(&self) -> Result<(), Error> {
        self.process
            .as_ref()
            .ok_or(Error::NotRunning)?
            .signal(Signal::CONT)
            .map_err(Error::io("resume the server"))
    }

    /// Of its own, because a starting server deletes the temporary tables that it finds in its
    /// directory: in `/tmp` those of any other server of the same user.
    fn temporary_directory(&self) -> PathBuf {
        self.directory.path().join("tmp")
    }

    fn init_file(&self) -> PathBuf {
        self.directory.path().join("init.sql")
    }

    /// The statements that the server runs at each start, before it accepts connections.
    fn write_init_file(&self) -> Result<(), Error> {
        let sql = self.installed.kind.init_sql(&self.password);
        fs::write(self.init_file(), sql).map_err(Error::io("write the server's init file"))
    }

    fn make_datadir(&self) -> Result<(), Error> {
        match &self.installed.data {
            NewData::InstallDb(install) => {
                let programs: [&Path; 2] = [&self.installed.program, install];
                // The owner of the files is whoever started the server.
                let options = [LOG_FILE_SIZE, user_argument().unwrap_or_default()];
                let of = (&programs[..], &options[..]);
                template::datadir(&servers_directory(), of, &self.datadir(), |to| {
                    self.install_datadir(install, to)
                })
            }
            NewData::Copy(from) => copy_directory(from, &self.datadir()),
        }
    }

    fn install_datadir(&self, install: &Path, to: &Path) -> Result<(), Error> {
        let output = Command::new(install)
            .args(["--no-defaults", "--auth-root-authentication-method=normal"])
            // `--force` only leaves out the look-up of this machine's own name.
            .args(["--skip-test-db", "--force"])
            .arg(option("--datadir=", to))
            // Not `--tmpdir`: the script would break its path at a space.
            .env("TMPDIR", self.temporary_directory())
            .args(user_argument())
            .arg(LOG_FILE_SIZE)
            // Without the hundreds of fsync calls, which take seconds on a busy disk: data that a
            // crash of the machine destroys is only made again.
            .arg("--loose-debug-no-sync")
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .output()
            .map_err(Error::io(format!("run {}", install.display())))?;
        if output.status.success() {
            return Ok(());
        }
        Err(Error::Install {
            status: output.status,
            output: text_tail(&[output.stdout, output.stderr].concat()),
        })
    }

    fn launch(&mut self) -> Result<(), Error> {
        let mut arguments: Vec<OsString> = vec![
            "--no-defaults".into(),
            option("--datadir=", self.datadir()),
            option("--socket=", self.socket()),
            option("--log-error=", self.error_log()),
            option("--pid-file=", self.directory.path().join("mysqld.pid")),
            option("--tmpdir=", self.temporary_directory()),
            option("--init-file=", self.init_file()),
            format!("--port={}", self.port).into(),
            "--bind-address=127.0.0.1".into(),
            "--skip-name-resolve".into(),
            "--innodb-buffer-pool-size=128M".into(),
            "--innodb-flush-log-at-trx-commit=2".into(),
        ];
        let own = self.installed.kind.arguments();
        arguments.extend(own.iter().map(OsString::from));
        if let Some((base, messages)) = &self.installed.base {
            arguments.push(option("--basedir=", base));
            arguments.push(option("--lc-messages-dir=", messages));
        }
        arguments.extend(user_argument().map(OsString::from));
        arguments.extend(self.options.arguments.iter().map(OsString::from));
        let program = Program {
            setpriv: self.setpriv.clone(),
            loader: self.installed.loader.clone(),
            path: self.installed.program.clone(),
            arguments,
            environment: self.options.environment.clone(),
        };
        let log = Log::from_here(self.error_log());
        let login = self.login();
        let process = self.process.insert(Process::start(&program, &log.path)?);
        let answer = wait_until_it_answers(process, &login, self.options.start_deadline, &log);
        if answer.is_err() {
            self.process = None;
        }
        answer
    }
}

impl Drop for PrivateServer {
    /// Nobody needs the data any more, so nobody waits for the server to write them.
    fn drop(&mut self) {
        // The directory follows when the fields are dropped.
        if let Some(process) = self.process.take() {
            let _ = process.kill();
        }
    }
}

fn wait_until_it_answers(
    process: &mut Process,
    login: &Login,
    deadline: Duration,
    log: &Log,
) -> Result<(), Error> {
    let until = Instant::now() + deadline;
    loop {
        if let Some(status) = process.ended().map_err(Error::io("wait for the server"))? {
            return Err(Error::Ended {
                status,
                log: log.tail(),
            });
        }
        let last = match ask(login) {
            Ok(()) => return Ok(()),
            Err(error) => error.to_string(),
        };
        if Instant::now() >= until {
            return Err(Error::NoAnswer {
                deadline,
                last,
                log: log.tail(),
            });
        }
        thread::sleep(START_POLL);
    }
}

fn ask(login: &Login) -> Result<(), Error> {
    login
        .connect(false, START_PROBE_TIMEOUT)?
        .query_drop("SELECT 1")
        .map_err(Error::client("SELECT 1"))
}

/// A port that was free a moment ago: another program can take it before the server does.
fn free_port() -> Result<u16, Error> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(Error::io("find a free port on 127.0.0.1"))
}

/// Whether the server says that its port is taken (sql/mysqld.cc, `activate_tcp_port`).
fn port_taken(log: &str) -> bool {
    log.contains("Bind on TCP/IP port") && log.contains("Address already in use")
}

fn user_argument() -> Option<&'static str> {
    rustix::process::geteuid().is_root().then_some(AS_ROOT)
}

fn option(name: &str, value: impl AsRef<OsStr>) -> OsString {
    let mut option = OsString::from(name);
    option.push(value);
    option
}
