//! A gateway between recorders and the store, in a process of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use fleet::from_incident::hash_of_bytes;
use serde_json::Value;

use crate::product::program;

/// How often it is asked whether something waits.
const POLL: Duration = Duration::from_millis(50);

/// How long one answer may take.
const ANSWER: Duration = Duration::from_secs(10);

/// A gateway with a directory of its own, which writes to a store.
pub(crate) struct Gateway {
    below: PathBuf,
    store: String,
    port: u16,
    child: Option<Child>,
}

impl Gateway {
    /// Starts one.
    pub(crate) fn start(below: &Path, store: &str) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut gateway = Self {
            below: below.to_owned(),
            store: store.to_owned(),
            port,
            child: None,
        };
        gateway.run()?;
        Ok(gateway)
    }

    /// What recorders have as their fleet.
    pub(crate) fn url(&self) -> String {
        format!("gateway+http://127.0.0.1:{}", self.port)
    }

    /// The token of a recorder that sends for servers of any host.
    pub(crate) fn token(&self, host: &str) -> Result<String> {
        let output = self.command()?.args(["add-host", host, "--any"]).output()?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    /// Lets these hosts send, each with its token; before it is started. As `add-host` writes them, which is a process for
    /// each.
    pub(crate) fn let_send<'a>(
        below: &Path,
        hosts: impl Iterator<Item = (&'a str, String)>,
    ) -> Result<()> {
        let dir = below.join("gateway");
        std::fs::create_dir_all(&dir)?;
        let lines: String = hosts
            .map(|(name, token)| format!("{name} {}\n", hash_of_bytes(token.as_bytes())))
            .collect();
        std::fs::write(dir.join("hosts"), lines)?;
        Ok(())
    }

    /// Its process.
    pub(crate) fn process(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Kills it, and starts it again on the same files.
    pub(crate) fn kill_and_start(&mut self) -> Result<()> {
        self.kill();
        self.run()
    }

    /// Until the store has all that it took.
    pub(crate) fn wait_until_stored(&self, longest: Duration) -> Result<()> {
        let end = Instant::now() + longest;
        loop {
            let health = self.health()?;
            if health["waiting"] == 0 {
                return Ok(());
            }
            if Instant::now() > end {
                bail!("after {longest:?} the gateway is not done: {health}");
            }
            std::thread::sleep(POLL);
        }
    }

    fn command(&self) -> Result<Command> {
        let mut command = Command::new(program()?);
        command
            .args(["fleet", "gateway", "--dir"])
            .arg(self.below.join("gateway"));
        Ok(command)
    }

    fn run(&mut self) -> Result<()> {
        let gateway = self.command()?;
        // It ends with us, however we end (prctl(2), PR_SET_PDEATHSIG).
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(gateway.get_program())
            .args(gateway.get_args())
            .args(["--url", &self.store, "--salt-file"])
            .arg(self.below.join("salt"))
            .args(["--listen", &format!("127.0.0.1:{}", self.port)])
            .env("HOME", &self.below)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("the gateway cannot be started")?;
        let mut line = String::new();
        let output = child.stdout.take().context("it has no output")?;
        BufReader::new(output).read_line(&mut line)?;
        self.child = Some(child);
        match line.is_empty() {
            true => bail!("the gateway does not start"),
            false => Ok(()),
        }
    }

    fn health(&self) -> Result<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(ANSWER))?;
        write!(
            stream,
            "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (_, body) = answer.split_once("\r\n\r\n").context("no answer")?;
        Ok(serde_json::from_str(body)?)
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.kill();
    }
}
