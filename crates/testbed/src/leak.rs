//! An application that leaks its connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use mysql::prelude::Queryable;

use crate::{Error, IDLE_CONNECTIONS_MAX, Login};

/// How soon it knocks again when it was refused.
const AGAIN: Duration = Duration::from_millis(10);

/// How long a connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens connections and keeps them, and takes each place that gets free, until this is dropped: then they are closed.
pub struct Leak {
    stop: Arc<AtomicBool>,
    /// Told when all places are free.
    free: Receiver<()>,
}

impl Leak {
    /// Begins; it keeps `most` connections, so that the lab's own memory has a bound.
    ///
    /// `admin` may end the connections of others: closing some hundred in order takes seconds, in which some work flows
    /// again and some does not.
    pub fn begin(login: &Login, admin: &Login, most: usize) -> Result<Self, Error> {
        let mut admin = admin.connect(false, CONNECT_TIMEOUT)?;
        let stop = Arc::new(AtomicBool::new(false));
        let (free_in, free) = channel();
        let (stopped, login) = (stop.clone(), login.clone());
        let most = most.min(IDLE_CONNECTIONS_MAX);
        std::thread::Builder::new()
            .name("lab-leak".to_owned())
            .spawn(move || {
                let mut kept = Vec::new();
                while !stopped.load(Ordering::Relaxed) {
                    match login.connect_raw(false, CONNECT_TIMEOUT) {
                        Ok(connection) if kept.len() < most => kept.push(connection),
                        _ => std::thread::sleep(AGAIN),
                    }
                }
                for connection in &kept {
                    // The server may have ended meanwhile, and its connections with it.
                    let _ = admin.query_drop(format!("KILL {}", connection.connection_id()));
                }
                let _ = free_in.send(());
            })
            .map_err(Error::io("start a thread"))?;
        Ok(Self { stop, free })
    }
}

impl Drop for Leak {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.free.recv_timeout(2 * CONNECT_TIMEOUT);
    }
}
