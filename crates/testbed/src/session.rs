//! Single sessions: statements said once, and sessions that stay with their locks held.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use mysql::prelude::Queryable;

use crate::{Error, Login};

/// Says statements one after another over a connection of its own, which is closed then.
pub fn say(login: &Login, statements: &[String], timeout: Duration) -> Result<(), Error> {
    let mut connection = login.connect(false, timeout)?;
    for sql in statements {
        connection
            .query_drop(sql)
            .map_err(Error::client(format!("say {sql}")))?;
    }
    Ok(())
}

/// A statement that begins so is none: the session says nothing for the number of seconds that follows.
const WAIT: &str = "lab: wait ";

/// The longest such time.
const WAIT_MAX: Duration = Duration::from_secs(600);

/// What follows is asked for, and its answer is not taken: the server has to keep it until the session ends.
const UNREAD: &str = "lab: unread ";

fn wait_of(statement: &str) -> Option<Duration> {
    let seconds: u64 = statement.strip_prefix(WAIT)?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(WAIT_MAX))
}

/// Whether the connection is gone. One that waited too long for an answer still holds its locks.
fn is_lost(error: &mysql::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error, mysql::Error::IoError(error) if matches!(
        error.kind(),
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof
    ))
}

/// A session that said something and stays, its transaction open, until this is dropped.
#[derive(Debug)]
pub struct HeldSession {
    _end: Sender<()>,
}

impl HeldSession {
    /// As [`Self::begin_telling`], for who sees by other means what has failed.
    pub fn begin(login: &Login, statements: &[String], timeout: Duration) -> Result<Self, Error> {
        Self::begin_telling(login, statements, timeout, |_| ())
    }

    /// Connects and begins to say the statements. They may wait for locks themselves, so nobody
    /// waits for them; `tell` is given what fails, but for a connection that the server closed.
    pub fn begin_telling(
        login: &Login,
        statements: &[String],
        timeout: Duration,
        tell: fn(&str),
    ) -> Result<Self, Error> {
        let mut connection = login.connect(false, timeout)?;
        let statements = statements.to_vec();
        let (end, ended) = channel::<()>();
        std::thread::Builder::new()
            .name("lab-session".to_owned())
            .spawn(move || {
                for sql in &statements {
                    if let Some(time) = wait_of(sql) {
                        if ended.recv_timeout(time) == Err(RecvTimeoutError::Disconnected) {
                            return;
                        }
                        continue;
                    }
                    if let Some(sql) = sql.strip_prefix(UNREAD) {
                        match connection.query_iter(sql) {
                            Ok(answer) => {
                                let _ = ended.recv();
                                drop(answer);
                                return;
                            }
                            Err(error) if is_lost(&error) => return,
                            Err(error) => tell(&format!("lab: {sql}: {error}")),
                        }
                        continue;
                    }
                    match connection.query_drop(sql) {
                        Ok(()) => (),
                        // The server was killed or stopped, as some breaks do on purpose.
                        Err(error) if is_lost(&error) => return,
                        Err(error) => tell(&format!("lab: {sql}: {error}")),
                    }
                }
                // Nothing is sent: it returns when the other end is dropped.
                let _ = ended.recv();
            })
            .map_err(Error::io("start a session's thread"))?;
        Ok(Self { _end: end })
    }
}
