//! The same statement by several sessions at once, and how long all of them take.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;

use crate::{CLIENTS_MAX, Error, Login};

/// Connects so many sessions, lets them say the statement at the same moment, each so many times, and
/// gives the time until the last answer is there.
pub fn at_once(
    login: &Login,
    sessions: usize,
    statement: &str,
    times: usize,
    timeout: Duration,
) -> Result<Duration, Error> {
    if sessions == 0 || sessions > CLIENTS_MAX {
        return Err(Error::Load(format!(
            "{sessions} sessions; 1 to {CLIENTS_MAX} are possible"
        )));
    }
    // All of them connect first: one that cannot would keep the others waiting.
    let connections = (0..sessions)
        .map(|_| login.connect(false, timeout))
        .collect::<Result<Vec<_>, _>>()?;
    let ready = Arc::new(Barrier::new(sessions + 1));
    let mut threads = Vec::new();
    for mut connection in connections {
        let (ready, statement) = (ready.clone(), statement.to_owned());
        let thread = thread::Builder::new()
            .name("lab-session".to_owned())
            .spawn(move || {
                ready.wait();
                (0..times).try_for_each(|_| connection.query_drop(&statement))
            })
            .map_err(Error::io("start a session's thread"))?;
        threads.push(thread);
    }
    ready.wait();
    let start = Instant::now();
    let answers: Vec<_> = threads.into_iter().map(thread::JoinHandle::join).collect();
    let time = start.elapsed();
    for answer in answers {
        match answer {
            Ok(answer) => answer.map_err(Error::client(format!("say {statement}")))?,
            Err(_) => return Err(Error::Load("a session's thread failed".to_owned())),
        }
    }
    Ok(time)
}
