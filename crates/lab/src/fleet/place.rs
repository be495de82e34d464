//! Where a simulated fleet is kept: a store by its URL, a file of our own, or a development server.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use fleet::any_store::{Access, AnyStore};
use fleet::url::StoreUrl;
use tempfile::TempDir;

/// The script that runs the development server, in a checkout.
const SCRIPT: &str = "scripts/fleet-server";

/// The variable with the password of a store by URL, as `freezeframe fleet` has it.
const PASSWORD: &str = "FREEZEFRAME_FLEET_PASSWORD";

/// A ClickHouse of our own, below a temporary directory. It ends with us: its input is ours.
pub(crate) struct DevelopmentServer {
    child: Child,
    dir: TempDir,
    port: u16,
}

impl DevelopmentServer {
    /// Starts one. None where it was not fetched.
    ///
    /// # Errors
    ///
    /// When it does not start.
    pub(crate) fn start() -> Result<Option<Self>> {
        if !Path::new(SCRIPT).exists() {
            return Ok(None);
        }
        let dir = tempfile::tempdir()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let child = spawn(dir.path(), port)?;
        Ok(child.map(|child| Self { child, dir, port }))
    }

    /// Its URL with the database of the lab.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/freezeframe_lab", self.port)
    }

    /// Its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Kills it, and starts it again on the same files.
    pub(crate) fn kill_and_start(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        self.child =
            spawn(self.dir.path(), self.port)?.context("the development server is gone")?;
        Ok(())
    }
}

impl Drop for DevelopmentServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts the server, and waits until it listens. None where it was not fetched.
fn spawn(dir: &Path, port: u16) -> Result<Option<Child>> {
    let mut child = Command::new(SCRIPT)
        .arg("run")
        .arg(dir)
        .arg(port.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context(SCRIPT)?;
    let mut line = String::new();
    let output = child.stdout.take().context("it has no output")?;
    BufReader::new(output).read_line(&mut line)?;
    if !line.is_empty() {
        return Ok(Some(child));
    }
    let ended = child.wait()?;
    match ended.code() {
        Some(3) => Ok(None),
        _ => bail!("{SCRIPT} run: {ended}"),
    }
}

/// A store that is open, and what it needs.
pub(super) struct Place {
    pub(super) store: AnyStore,
    /// As people are told it.
    pub(super) shown: String,
    /// The file, where it is one.
    pub(super) file: Option<PathBuf>,
    server: Option<DevelopmentServer>,
    _dir: Option<TempDir>,
}

impl Place {
    /// The process of the store, where it is ours.
    pub(super) fn process(&self) -> Option<u32> {
        match &self.store {
            AnyStore::Sqlite(_) => Some(std::process::id()),
            AnyStore::ClickHouse(_) => self.server.as_ref().map(DevelopmentServer::process),
        }
    }

    /// The store of this URL, made where there is none.
    pub(super) fn at(url: &str, now: i64) -> Result<Self> {
        let parsed: StoreUrl = url.parse()?;
        let access = match &parsed {
            StoreUrl::Sqlite(_) => Access::default(),
            StoreUrl::ClickHouse(_) => Access {
                password: std::env::var(PASSWORD).ok(),
                ..Access::default()
            },
        };
        let store = AnyStore::open_or_init(&parsed, access, now, env!("CARGO_PKG_VERSION"))?;
        Ok(Self {
            store,
            shown: url.rsplit('@').next().unwrap_or_default().to_owned(),
            file: match parsed {
                StoreUrl::Sqlite(path) => Some(path),
                StoreUrl::ClickHouse(_) => None,
            },
            server: None,
            _dir: None,
        })
    }

    /// A file that goes when it is dropped.
    pub(super) fn of_our_own(now: i64) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let url = format!("sqlite://{}", dir.path().join("fleet.db").display());
        Ok(Self {
            _dir: Some(dir),
            shown: "SQLite, a file of its own".to_owned(),
            ..Self::at(&url, now)?
        })
    }

    /// On a development server that ends when it is dropped. None where it was not fetched.
    pub(super) fn development(now: i64) -> Result<Option<Self>> {
        let Some(server) = DevelopmentServer::start()? else {
            return Ok(None);
        };
        let url = server.url();
        Ok(Some(Self {
            server: Some(server),
            shown: "ClickHouse, a development server".to_owned(),
            ..Self::at(&url, now)?
        }))
    }
}
