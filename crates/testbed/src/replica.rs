//! A private server that follows another one, and clients that read from it what they know to be on the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Value};

use crate::{Error, Login, PrivateServer, say};

/// Arguments of a source: it writes a binary log of rows.
pub const SOURCE_ARGUMENTS: [&str; 3] =
    ["--server-id=1", "--log-bin=binlog", "--binlog-format=ROW"];

/// Arguments of what follows it.
pub const REPLICA_ARGUMENTS: [&str; 1] = ["--server-id=2"];

/// How long a statement of the set-up may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How long a reader waits for the replica before it gives up, seconds: longer than any break.
const WAIT_SECONDS: u32 = 700;

/// What the source has written so far.
const POSITION: &str = "SELECT @@gtid_binlog_pos";

/// Makes a MariaDB follow another one, from where that is now. What is in both already must be the same.
pub fn follow(replica: &PrivateServer, source: &PrivateServer) -> Result<(), Error> {
    let mut connection = source.login().connect(false, TIMEOUT)?;
    let position = ask(&mut connection, POSITION)?;
    let Login { user, password, .. } = source.tcp_login();
    let statements = [
        format!("SET GLOBAL gtid_slave_pos = '{position}'"),
        format!(
            "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {}, MASTER_USER = '{user}', \
             MASTER_PASSWORD = '{}', MASTER_SSL = 0, MASTER_SSL_VERIFY_SERVER_CERT = 0, MASTER_USE_GTID = slave_pos",
            source.port(),
            password.unwrap_or_default()
        ),
        "START SLAVE".to_owned(),
    ];
    say(&replica.login(), &statements, TIMEOUT)?;
    let wait = format!(
        "SELECT MASTER_GTID_WAIT('{position}', {})",
        TIMEOUT.as_secs()
    );
    let mut connection = replica.login().connect(false, 2 * TIMEOUT)?;
    match ask(&mut connection, &wait)?.as_str() {
        "0" => Ok(()),
        _ => Err(Error::Load(format!(
            "the replica has not come to {position} within {TIMEOUT:?}"
        ))),
    }
}

/// Clients of an application that must read what it has written: each asks the source what it has, waits until the
/// replica has that, and reads there. They end when this is dropped.
pub struct CausalReads {
    replica: Login,
    over: Arc<AtomicBool>,
    ids: Vec<u32>,
    clients: Vec<JoinHandle<()>>,
}

impl CausalReads {
    /// Connects so many clients to both servers; `sql` is what they read.
    pub fn begin(
        replica: &PrivateServer,
        source: &PrivateServer,
        clients: usize,
        sql: &str,
    ) -> Result<Self, Error> {
        let mut reads = Self {
            replica: replica.login(),
            over: Arc::new(AtomicBool::new(false)),
            ids: Vec::new(),
            clients: Vec::new(),
        };
        for _ in 0..clients {
            let patience = Duration::from_secs(u64::from(WAIT_SECONDS)) + TIMEOUT;
            let written = source.tcp_login().connect(false, TIMEOUT)?;
            let read = replica.tcp_login().connect(false, patience)?;
            reads.ids.push(read.connection_id());
            let (over, sql) = (reads.over.clone(), sql.to_owned());
            let client = thread::Builder::new()
                .name("lab-reader".to_owned())
                .spawn(move || read_until(&over, written, read, &sql))
                .map_err(Error::io("start a reader's thread"))?;
            reads.clients.push(client);
        }
        Ok(reads)
    }
}

fn read_until(over: &AtomicBool, mut source: Conn, mut replica: Conn, sql: &str) {
    while !over.load(Ordering::Relaxed) {
        let read = ask(&mut source, POSITION).and_then(|position| {
            let wait = format!("SELECT MASTER_GTID_WAIT('{position}', {WAIT_SECONDS})");
            ask(&mut replica, &wait)?;
            replica.query_drop(sql).map_err(Error::client("read"))
        });
        if read.is_err() {
            // Its connection was ended, or the server was.
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

impl Drop for CausalReads {
    /// Who waits for a replica that does not come on would wait for minutes: their connections are ended.
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Ok(mut connection) = self.replica.connect(false, TIMEOUT) {
            for id in &self.ids {
                // It may have ended meanwhile.
                let _ = connection.query_drop(format!("KILL {id}"));
            }
        }
        for client in self.clients.drain(..) {
            let _ = client.join();
        }
    }
}

/// The one value of the answer as text.
fn ask(connection: &mut Conn, sql: &str) -> Result<String, Error> {
    let value: Option<Value> = connection
        .query_first(sql)
        .map_err(Error::client(sql.to_owned()))?;
    Ok(match value {
        Some(Value::Bytes(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        Some(Value::NULL) | None => String::new(),
        Some(other) => other.as_sql(true),
    })
}
