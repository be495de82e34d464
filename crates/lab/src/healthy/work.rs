//! What a healthy server does while it is looked at.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use testbed::{Load, Login, PrivateServer, ServerKind};

use crate::background::Background;

/// One load: what runs beside a capture.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// The clients: the name of a mix, how many, texts a second.
    clients: Option<(&'static str, usize, Option<f64>)>,
    /// What is done besides.
    more: More,
}

/// What is done beside the clients.
#[derive(Clone, Copy, PartialEq, Eq)]
enum More {
    Nothing,
    /// These statements, one after another, again and again, by so many sessions.
    Statements(&'static [&'static str], usize),
    /// Inserts of many rows at once.
    BulkLoad,
    /// `mysqldump` of the lab's tables, again and again.
    Dump,
    /// The server is stopped in order and started again.
    Restart,
    /// The server follows another one, which is written to as fast as it goes.
    Follow,
}

const fn clients(
    name: &'static str,
    mix: &'static str,
    count: usize,
    rate_per_second: Option<f64>,
) -> Kind {
    Kind {
        name,
        clients: Some((mix, count, rate_per_second)),
        more: More::Nothing,
    }
}

const fn beside_ordinary(name: &'static str, more: More) -> Kind {
    Kind {
        name,
        clients: Some(("ordinary", 4, Some(400.0))),
        more,
    }
}

pub(super) const KINDS: [Kind; 14] = [
    Kind {
        name: "idle",
        clients: None,
        more: More::Nothing,
    },
    clients("ordinary, 400 a second", "ordinary", 4, Some(400.0)),
    clients("ordinary, 16 clients at full speed", "ordinary", 16, None),
    clients(
        "point selects, 64 clients at full speed",
        "point-selects",
        64,
        None,
    ),
    clients(
        "transactions, 16 clients at full speed",
        "transactions",
        16,
        None,
    ),
    clients("reports, 2 clients", "reports", 2, None),
    beside_ordinary(
        "nightly report",
        More::Statements(
            &[
                "SELECT a.k DIV 50 AS part, COUNT(*), SUM(b.k), MAX(b.c) FROM freezeframe_lab.wide a \
                 JOIN freezeframe_lab.t b ON b.id = a.k % 10000 GROUP BY part ORDER BY 3 DESC",
                "SELECT c, COUNT(*) AS n, SUM(k) FROM freezeframe_lab.wide GROUP BY c ORDER BY n DESC LIMIT 100",
            ],
            1,
        ),
    ),
    beside_ordinary("backup by mysqldump", More::Dump),
    beside_ordinary("bulk load", More::BulkLoad),
    beside_ordinary(
        "index build",
        More::Statements(
            &[
                "ALTER TABLE freezeframe_lab.wide ADD INDEX lab_index (c, k)",
                "ALTER TABLE freezeframe_lab.wide DROP INDEX lab_index",
            ],
            1,
        ),
    ),
    Kind {
        name: "start-up and warm-up at full speed",
        clients: Some(("point-selects", 16, None)),
        more: More::Restart,
    },
    beside_ordinary("clean restart", More::Restart),
    Kind {
        name: "replica of a busy source",
        clients: Some(("point-selects", 4, Some(400.0))),
        more: More::Follow,
    },
    // As after a failover: all of them at once.
    clients("500 clients reconnect", "ordinary", 500, Some(1000.0)),
];

/// What is done in the load of that name, without its clients.
pub(crate) fn beside(name: &str, server: &PrivateServer) -> Result<Running> {
    let known = KINDS.iter().find(|kind| kind.name == name);
    let known = known.with_context(|| format!("the load '{name}' is gone"))?;
    let alone = Kind {
        name: known.name,
        clients: None,
        more: known.more,
    };
    alone.start(server)
}

/// For the loads that need more than the lab's tables.
pub(crate) const PREPARE: [&str; 3] = [
    "CREATE TABLE IF NOT EXISTS freezeframe_lab.wide (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, c VARCHAR(120) NOT NULL) ENGINE=InnoDB",
    "INSERT INTO freezeframe_lab.wide (k, c) SELECT a.k * 31 + b.k, CONCAT(b.id, a.c) FROM freezeframe_lab.t a JOIN freezeframe_lab.t b ON b.id <= 30",
    "CREATE TABLE IF NOT EXISTS freezeframe_lab.bulk (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, c VARCHAR(120) NOT NULL, KEY (k)) ENGINE=InnoDB",
];

/// What mysqldump does: everything in one snapshot.
const READ_ALL: &[&str] = &[
    "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    "SELECT * FROM freezeframe_lab.t",
    "SELECT * FROM freezeframe_lab.bulk",
    "SELECT * FROM freezeframe_lab.journal",
    "COMMIT",
];

/// Rows of one INSERT of a bulk load.
const BULK_ROWS: usize = 500;

/// Loads end by themselves after this, should we not end them.
const BOUND: Duration = Duration::from_secs(300);

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a backup is looked at.
const POLL: Duration = Duration::from_millis(50);

/// How many connections a server must have room for.
const CONNECTIONS_ARGUMENT: &str = "--max-connections=700";

/// A replica applies in parallel, and in the order of its source.
const PARALLEL_ARGUMENT: &str = "--slave-parallel-threads=4";

/// Clients that write to the source of a replica.
const WRITERS: usize = 8;

/// The tables of the server have changed without its source: rows that are there, or are not, are no error.
const SAY_BEFORE: &str = "SET GLOBAL slave_exec_mode = 'IDEMPOTENT'";

/// What makes a replica a server of its own again.
const SAY_AFTER: [&str; 2] = ["STOP SLAVE", "RESET SLAVE ALL"];

/// What the server is started with.
pub(crate) fn arguments(kind: ServerKind) -> Vec<String> {
    let mut arguments = vec![CONNECTIONS_ARGUMENT];
    if kind.can_follow() {
        arguments.extend(testbed::REPLICA_ARGUMENTS);
        arguments.push(PARALLEL_ARGUMENT);
    }
    arguments.into_iter().map(str::to_owned).collect()
}

/// A load that runs.
pub(crate) struct Running {
    loads: Vec<Background>,
    dump: Option<Dump>,
    source: Option<PrivateServer>,
    server: Login,
}

impl Kind {
    /// The server is restarted in it.
    pub(super) fn restarts(&self) -> bool {
        self.more == More::Restart
    }

    /// Whether this make of server can do it.
    pub(super) fn is_for(&self, kind: ServerKind) -> bool {
        self.more != More::Follow || kind.can_follow()
    }

    pub(super) fn start(&self, server: &PrivateServer) -> Result<Running> {
        let mut loads = Vec::new();
        let mut source = None;
        if let Some((mix, clients, rate)) = self.clients {
            let mix = testbed::mix(mix).with_context(|| format!("the mix '{mix}' is gone"))?;
            loads.push(load(server, mix.statements(), clients, rate)?);
        }
        let mut dump = None;
        match self.more {
            More::Statements(texts, clients) => {
                // One text: its statements are said in their order.
                let text = texts.join(testbed::STATEMENT_SEPARATOR);
                loads.push(load(server, vec![(1, text)], clients, None)?);
            }
            More::BulkLoad => {
                let rows = vec!["({row}, REPEAT('bulk', 25))"; BULK_ROWS].join(", ");
                let text = format!("INSERT INTO freezeframe_lab.bulk (k, c) VALUES {rows}");
                loads.push(load(server, vec![(1, text)], 1, None)?);
            }
            More::Dump if can_dump(server)? => dump = Some(Dump::start(server)?),
            // An old server with a new client's mysqldump, which asks for columns that it does not have.
            More::Dump => {
                let text = READ_ALL.join(testbed::STATEMENT_SEPARATOR);
                loads.push(load(server, vec![(1, text)], 1, None)?);
            }
            More::Follow => {
                let followed = start_source(server)?;
                let mix = testbed::mix("transactions").context("the mix 'transactions' is gone")?;
                loads.push(load(&followed, mix.statements(), WRITERS, None)?);
                source = Some(followed);
            }
            More::Nothing | More::Restart => {}
        }
        Ok(Running {
            loads,
            dump,
            source,
            server: server.login(),
        })
    }
}

impl Running {
    pub(crate) fn end(self) -> Result<()> {
        for load in &self.loads {
            load.tell_to_end();
        }
        for load in self.loads {
            load.end()?;
        }
        if self.source.is_some() {
            testbed::say(&self.server, &SAY_AFTER.map(str::to_owned), PATIENCE)?;
        }
        self.dump.map_or(Ok(()), Dump::end)
    }
}

/// Another server of the same kind, which this one follows.
fn start_source(server: &PrivateServer) -> Result<PrivateServer> {
    let source = PrivateServer::start(&testbed::Options {
        kind: server.installed().kind,
        arguments: testbed::SOURCE_ARGUMENTS.map(str::to_owned).to_vec(),
        ..testbed::Options::default()
    })?;
    for mix in testbed::MIXES {
        mix.prepare(&source.login())?;
    }
    testbed::say(&server.login(), &[SAY_BEFORE.to_owned()], PATIENCE)?;
    testbed::follow(server, &source)?;
    Ok(source)
}

fn load(
    server: &PrivateServer,
    statements: Vec<(u32, String)>,
    clients: usize,
    rate_per_second: Option<f64>,
) -> Result<Background> {
    Background::start(Load {
        login: server.tcp_login(),
        clients,
        rate_per_second,
        compression: false,
        reconnect: false,
        statements,
        duration: BOUND,
        timeout: PATIENCE,
    })
}

/// A backup, again and again.
struct Dump {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<()>>,
}

impl Dump {
    fn start(server: &PrivateServer) -> Result<Self> {
        let socket = server.socket();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::Builder::new()
            .name("lab-dump".to_owned())
            .spawn(move || {
                while !stopped.load(Ordering::Relaxed) {
                    once(&socket, &stopped)?;
                }
                Ok(())
            })?;
        Ok(Self { stop, thread })
    }

    fn end(self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.join() {
            Ok(result) => result,
            Err(_) => bail!("the backup's thread failed"),
        }
    }
}

/// Whether mysqldump is installed and knows this server.
fn can_dump(server: &PrivateServer) -> Result<bool> {
    match dump(&server.socket(), &["--no-data"]) {
        Ok(mut child) => Ok(child.wait()?.success()),
        Err(error) => match error.downcast_ref::<std::io::Error>() {
            Some(cause) if cause.kind() == ErrorKind::NotFound => Ok(false),
            _ => Err(error),
        },
    }
}

fn once(socket: &Path, stopped: &AtomicBool) -> Result<()> {
    let mut child = dump(socket, &[])?;
    loop {
        if let Some(status) = child.try_wait()? {
            if !status.success() {
                bail!("mysqldump failed: {status}");
            }
            return Ok(());
        }
        if stopped.load(Ordering::Relaxed) {
            child.kill()?;
            child.wait()?;
            return Ok(());
        }
        std::thread::sleep(POLL);
    }
}

fn dump(socket: &Path, more: &[&str]) -> Result<Child> {
    Command::new("mysqldump")
        .args(["--no-defaults", "--user=root", "--single-transaction"])
        .arg(format!("--socket={}", socket.display()))
        .args(more)
        .arg("freezeframe_lab")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("mysqldump cannot be started")
}
