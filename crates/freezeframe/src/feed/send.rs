//! The batches to the store, one after the other, the same bytes with the same token until it has them.

use std::time::{Duration, Instant};

use fleet::Batch;
use fleet::any_store::{AnyError, AnyStore};
use fleet::clickhouse::Then;

use super::config::{Fleet, Place};
use super::spool::Spool;
use super::{FeedState, Part};
use crate::fleet::pause::Pause;

/// How often a store that does not do so by itself deletes what is too old.
const EXPIRE_EVERY: Duration = Duration::from_secs(6 * 3600);

/// Sends for one recorder.
pub(super) struct Sender {
    fleet: Fleet,
    store: Option<AnyStore>,
    pause: Pause,
    expired: Option<Instant>,
}

impl Sender {
    pub(super) fn new(fleet: Fleet) -> Self {
        Self {
            fleet,
            store: None,
            pause: Pause::default(),
            expired: None,
        }
    }

    /// Sends the next batch, if one waits and it is time; whether another one can be sent at once.
    pub(super) fn turn(&mut self, spool: &mut Spool, state: &FeedState, now: i64) -> bool {
        let Some(one) = spool.first().filter(|_| self.pause.is_over()) else {
            return false;
        };
        let batch = match spool.read(&one) {
            Ok(Some(batch)) => batch,
            Ok(None) => {
                state.lost(one.kind, "a file of the spool is damaged or gone");
                spool.remove(&one);
                return true;
            }
            Err(error) => {
                self.failed(Then::Retry, &error.to_string(), state);
                return false;
            }
        };
        match self.insert(&batch, now) {
            Ok(()) => {
                spool.remove(&one);
                state.sent(now);
                self.pause = Pause::default();
                self.expire(now, state);
                true
            }
            Err(error) => {
                // Whatever is wrong with it is looked for anew.
                self.store = None;
                self.failed(error.then(), &error.to_string(), state);
                false
            }
        }
    }

    fn insert(&mut self, batch: &Batch, now: i64) -> Result<(), AnyError> {
        let (url, access) = match &self.fleet.place {
            Place::Store(url, access) => (url, access),
            Place::Gateway(gateway) => return Ok(gateway.insert(batch)?),
            // Nothing waits for one.
            Place::Directory(path) => {
                return Err(AnyError::Sqlite(fleet::error::StoreError::NotAStore {
                    path: path.clone(),
                }));
            }
        };
        let store = match self.store.take() {
            Some(store) => store,
            None => AnyStore::open_or_init(url, access.clone(), now, env!("CARGO_PKG_VERSION"))?
                .with_little()?,
        };
        self.store.insert(store).insert(batch, now).map(drop)
    }

    fn failed(&mut self, then: Then, why: &str, state: &FeedState) {
        self.pause.failed(then);
        state.failed(why);
    }

    /// Nothing is sent for a while.
    pub(super) fn rest(&self) {
        if let Some(store) = &self.store {
            store.rest();
        }
    }

    fn expire(&mut self, now: i64, state: &FeedState) {
        if self.expired.is_some_and(|at| at.elapsed() < EXPIRE_EVERY) {
            return;
        }
        self.expired = Some(Instant::now());
        if let Some(Err(error)) = self.store.as_mut().map(|store| store.expire(now)) {
            state.trouble(Part::Sending, &error.to_string());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::mpsc::{Receiver, channel};

    use fleet::row::{HealthRow, Seconds};
    use fleet::{Batch, Token};

    use super::*;
    use crate::feed::config::FleetConfig;
    use crate::feed::spool::Kind;

    /// What a server does with an insert.
    #[derive(Clone, Copy)]
    enum Does {
        Refuses,
        TakesAndLosesTheAnswer,
        Takes,
    }

    /// A server with a store that does these in turn; it hands over each insert, head and body.
    fn server(does: Vec<Does>) -> (u16, Receiver<Vec<u8>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, got) = channel();
        std::thread::spawn(move || {
            let mut does = does.into_iter();
            while let Ok((mut stream, _)) = listener.accept() {
                let mut request = Vec::new();
                let mut byte = [0];
                while !request.ends_with(b"\r\n\r\n") {
                    stream.read_exact(&mut byte).unwrap();
                    request.push(byte[0]);
                }
                let head = String::from_utf8(request.clone()).unwrap();
                let length = head
                    .lines()
                    .find_map(|line| line.strip_prefix("Content-Length: "));
                let mut body = vec![0; length.unwrap().parse().unwrap()];
                stream.read_exact(&mut body).unwrap();
                let (status, answer) = if body.starts_with(b"SELECT version()") {
                    (200, "26.9.2.1".to_owned())
                } else if body.starts_with(b"SELECT max(version)") {
                    (
                        200,
                        format!(r#"{{"data":[[{}]]}}"#, fleet::clickhouse::VERSION),
                    )
                } else {
                    request.extend(&body);
                    sender.send(request).unwrap();
                    match does.next().unwrap() {
                        Does::Refuses => (503, String::new()),
                        Does::TakesAndLosesTheAnswer => continue,
                        Does::Takes => (200, String::new()),
                    }
                };
                let length = answer.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n{answer}"
                );
            }
        });
        (port, got)
    }

    fn sender(port: u16) -> Sender {
        let config = format!("url = 'http://127.0.0.1:{port}/f'\nsalt_file = '/x'");
        let config: FleetConfig = toml::from_str(&config).unwrap();
        Sender::new(config.fleet().unwrap().unwrap())
    }

    fn spool(dir: &std::path::Path) -> Spool {
        let mut batch = Batch::new(Token {
            host_id: 1,
            boot: 2,
            seq: 3,
        });
        batch.push(&HealthRow {
            ts: Seconds(1_795_000_000),
            ..HealthRow::default()
        });
        let mut spool = Spool::open(dir, 1 << 20).unwrap();
        spool.push(Kind::Minutes, 60, &batch).unwrap();
        spool
    }

    #[test]
    fn the_same_bytes_with_the_same_token_until_the_store_says_that_it_has_them() {
        let dir = tempfile::tempdir().unwrap();
        let (mut spool, state) = (spool(dir.path()), FeedState::default());
        let does = [Does::Refuses, Does::TakesAndLosesTheAnswer, Does::Takes];
        let (port, got) = server(does.into());
        let mut sender = sender(port);
        let mut pauses = Vec::new();
        for _ in does {
            assert!(!sender.turn(&mut spool, &state, 7) || spool.first().is_none());
            // Not before its time.
            assert!(!sender.turn(&mut spool, &state, 7));
            pauses.push(sender.pause.length.as_secs());
            sender.pause.end();
        }
        let sent: Vec<Vec<u8>> = got.try_iter().collect();
        assert_eq!(sent.len(), 3);
        assert!(sent.iter().all(|request| *request == sent[0]));
        let head = String::from_utf8_lossy(&sent[0]);
        assert!(head.contains("insert_deduplication_token=0000000000000001-0000000000000002-3&"));
        assert_eq!(pauses, [30, 60, 0]);
        let now = state.now();
        assert_eq!((now.sent, now.failures, now.lost), (1, 2, [0; 4]));
        assert_eq!((now.sent_at, now.trouble), (Some(7), None));
        assert_eq!(spool.size(), (0, 0));
    }

    #[test]
    fn a_store_that_is_away_is_asked_less_and_less_often() {
        let dir = tempfile::tempdir().unwrap();
        let (mut spool, state) = (spool(dir.path()), FeedState::default());
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut sender = sender(port);
        let mut pauses = Vec::new();
        for _ in 0..12 {
            assert!(!sender.turn(&mut spool, &state, 7));
            assert!(!sender.pause.is_over());
            pauses.push(sender.pause.length.as_secs());
            sender.pause.end();
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]);
        assert_eq!((state.now().failures, spool.size().0), (12, 1));
        assert!(
            state
                .now()
                .trouble
                .is_some_and(|why| why.contains("127.0.0.1"))
        );
    }

    #[test]
    fn a_damaged_batch_is_counted_and_the_next_one_is_sent() {
        let dir = tempfile::tempdir().unwrap();
        let (mut spool, state) = (spool(dir.path()), FeedState::default());
        for file in std::fs::read_dir(dir.path()).unwrap() {
            std::fs::write(file.unwrap().path(), "FFB1").unwrap();
        }
        let (port, _) = server(Vec::new());
        let mut sender = sender(port);
        assert!(sender.turn(&mut spool, &state, 7));
        assert!(!sender.turn(&mut spool, &state, 7));
        assert_eq!((state.now().lost, state.now().sent), ([1, 0, 0, 0], 0));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
