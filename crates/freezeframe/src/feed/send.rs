//! The batches to the store, one after the other, the same bytes with the same token until it has them.
//!
//! **Nothing waits for a batch that is refused as it is**: of a host that had another name, of a clock that was wrong, too
//! large for the gateway. It is tried again, more and more seldom, and all others go on. One that the store cannot take
//! again and again, whatever it says, is tried behind the others: if they are taken, it is the batch.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fleet::any_store::{AnyError, AnyStore};
use fleet::clickhouse::Then;
use fleet::{Batch, Token};

use super::config::{Fleet, Place};
use super::spool::{Kind, Spool, Waiting};
use super::{FeedState, Part};
use crate::fleet::pause::Pause;

/// How often a store that does not do so by itself deletes what is too old.
const EXPIRE_EVERY: Duration = Duration::from_secs(6 * 3600);

/// When so many are refused one after the other, it is not the batches.
const REFUSED_MAX: u32 = 8;

/// When it failed so often in a row, another batch is tried.
const FAILED_MAX: u32 = 3;

/// Sends for one recorder.
pub(super) struct Sender {
    fleet: Fleet,
    store: Option<AnyStore>,
    pause: Pause,
    /// What was refused as it is, and when it is tried again.
    refused: BTreeMap<Token, Pause>,
    /// How many were refused since one was taken, and how often the store could not.
    refused_in_row: u32,
    failed_in_row: u32,
    expired: Option<Instant>,
}

impl Sender {
    pub(super) fn new(fleet: Fleet) -> Self {
        Self {
            fleet,
            store: None,
            pause: Pause::default(),
            refused: BTreeMap::new(),
            refused_in_row: 0,
            failed_in_row: 0,
            expired: None,
        }
    }

    /// Sends the next batch, if one waits and it is time; whether another one can be sent at once.
    pub(super) fn turn(&mut self, spool: &mut Spool, state: &FeedState, now: i64) -> bool {
        if !self.pause.is_over() {
            return false;
        }
        if spool.size().0 == 0 {
            // What was refused had to go for want of room.
            self.refused.clear();
            state.works(Part::Refused);
        }
        let is_due = |one: &Waiting| self.refused.get(&together(one)).is_none_or(Pause::is_over);
        let Some(one) = spool.first_of(is_due) else {
            return false;
        };
        let sent = match spool.read(&one) {
            Ok(Some(batch)) => {
                let inserted = self.insert(&batch, now);
                inserted.map_err(|error| (error.then(), error.to_string()))
            }
            Ok(None) => {
                state.lost(one.kind, "a file of the spool is damaged or gone");
                spool.remove(&one);
                return true;
            }
            // What the disk cannot read now holds up nothing else either.
            Err(error) => Err((Then::Leave, error.to_string())),
        };
        match sent {
            Ok(()) => {
                spool.remove(&one);
                state.sent(now);
                self.pause = Pause::default();
                self.refused_in_row = 0;
                self.refused.remove(&together(&one));
                if std::mem::take(&mut self.failed_in_row) > 0 {
                    // It may have been the store.
                    self.refused.values_mut().for_each(Pause::end);
                }
                if self.refused.is_empty() {
                    state.works(Part::Refused);
                }
                self.expire(now, state);
                true
            }
            Err((then, why))
                if then == Then::Leave || self.refused.contains_key(&together(&one)) =>
            {
                self.refused
                    .entry(together(&one))
                    .or_default()
                    .failed(Then::Leave);
                if then != Then::Leave {
                    self.store = None;
                }
                state.refused(&why);
                self.refused_in_row += 1;
                let is_one_too_many = self.refused_in_row.is_multiple_of(REFUSED_MAX);
                if is_one_too_many {
                    self.pause.failed(Then::Leave);
                }
                !is_one_too_many
            }
            Err((then, why)) => {
                // Whatever is wrong with it is looked for anew.
                self.store = None;
                self.failed(then, &why, state);
                self.failed_in_row += 1;
                if self.failed_in_row.is_multiple_of(FAILED_MAX) {
                    self.put_behind(&one, spool);
                }
                false
            }
        }
    }

    /// The store could not take this one: if there are others, they are tried first.
    fn put_behind(&mut self, one: &Waiting, spool: &Spool) {
        let of = together(one);
        let is_other = |other: &Waiting| {
            let other = together(other);
            other != of && self.refused.get(&other).is_none_or(Pause::is_over)
        };
        if spool.first_of(is_other).is_some() {
            self.refused.entry(of).or_default().failed(Then::Leave);
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

/// What is refused together: who sees what came of an incident finds all that was recorded of it.
fn together(one: &Waiting) -> Token {
    match one.kind {
        Kind::Evidence | Kind::Judgement => Token {
            seq: 0,
            ..one.token
        },
        Kind::Remedies | Kind::Minutes => one.token,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Write;
    use std::net::TcpListener;
    use std::sync::mpsc::{Receiver, channel};
    use std::sync::{Arc, Mutex};

    use fleet::any_store::Access;
    use fleet::gateway::Gateway;
    use fleet::row::{HealthRow, Seconds};

    use super::*;
    use crate::feed::config::{FleetConfig, Seconds as OfSeconds};
    use crate::http_request;

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
                let (head, body) = http_request::read(&mut stream);
                let (status, answer) = if body.starts_with(b"SELECT version()") {
                    (200, "26.9.2.1".to_owned())
                } else if body.starts_with(b"SELECT max(version)") {
                    (
                        200,
                        format!(r#"{{"data":[[{}]]}}"#, fleet::clickhouse::VERSION),
                    )
                } else {
                    let mut request = head.into_bytes();
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

    /// Tokens that a gateway has, and lives (`boot`) whose batches it refuses or cannot take.
    #[derive(Default)]
    struct Behind {
        taken: Vec<Token>,
        refused: BTreeSet<u64>,
        too_much: BTreeSet<u64>,
    }

    /// A gateway that refuses what it is told to, and a sender to it.
    fn gateway() -> (Sender, Arc<Mutex<Behind>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let behind = Arc::new(Mutex::new(Behind::default()));
        let known = behind.clone();
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let (_, body) = http_request::read(&mut stream);
                let token = fleet::batch_bytes::from_bytes(&body).unwrap().token;
                let mut behind = known.lock().unwrap();
                let status = if behind.refused.contains(&token.boot) {
                    "403 Forbidden"
                } else if behind.too_much.contains(&token.boot) {
                    "503 Service Unavailable"
                } else {
                    behind.taken.push(token);
                    "200 OK"
                };
                let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            }
        });
        let gateway = Gateway::parse(&format!("gateway+http://127.0.0.1:{port}")).unwrap();
        let fleet = Fleet {
            place: Place::Gateway(gateway.with_access(Access {
                password: Some("ffg_0".to_owned()),
                ..Access::default()
            })),
            name: "a gateway".to_owned(),
            salt_file: "/x".into(),
            cluster: String::new(),
            spool_bytes: 1 << 20,
            seconds: OfSeconds::Vital,
            frames: None,
        };
        (Sender::new(fleet), behind)
    }

    fn add(spool: &mut Spool, kind: Kind, boot: u64, seq: u64) {
        let mut batch = Batch::new(Token {
            host_id: 1,
            boot,
            seq,
        });
        batch.push(&HealthRow {
            ts: Seconds(1_795_000_000),
            ..HealthRow::default()
        });
        spool.push(kind, 60, &batch).unwrap();
    }

    /// As the feed does it; how many turns it took.
    fn send(sender: &mut Sender, spool: &mut Spool, state: &FeedState) -> usize {
        (0..100)
            .take_while(|_| sender.turn(spool, state, 7))
            .count()
    }

    #[test]
    fn what_is_refused_as_it_is_holds_up_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let (mut spool, state) = (
            Spool::open(dir.path(), 1 << 20).unwrap(),
            FeedState::default(),
        );
        let (mut sender, behind) = gateway();
        behind.lock().unwrap().refused.insert(66);
        for (kind, boot, seq) in [
            (Kind::Evidence, 66, 0),
            (Kind::Judgement, 66, 9),
            (Kind::Evidence, 77, 0),
            (Kind::Judgement, 77, 9),
            (Kind::Minutes, 2, 60),
            (Kind::Minutes, 2, 120),
        ] {
            add(&mut spool, kind, boot, seq);
        }
        assert_eq!(send(&mut sender, &mut spool, &state), 5);
        let taken = |behind: &Mutex<Behind>| -> Vec<(u64, u64)> {
            let behind = behind.lock().unwrap();
            let taken = behind.taken.iter();
            taken.map(|token| (token.boot, token.seq)).collect()
        };
        assert_eq!(taken(&behind), [(77, 0), (77, 9), (2, 60), (2, 120)]);
        // What came of an incident does not come before what was recorded of it.
        assert_eq!(spool.size().0, 2);
        let now = state.now();
        assert_eq!((now.sent, now.failures, now.lost), (4, 1, [0; 4]));
        assert!(now.trouble.is_some_and(|why| why.contains("403")));
        // Not before its time, which is longer each time.
        assert_eq!(send(&mut sender, &mut spool, &state), 0);
        let mut pauses = Vec::new();
        for _ in 0..3 {
            let pause = sender.refused.values_mut().next().unwrap();
            pauses.push(pause.length.as_secs());
            pause.end();
            assert_eq!(send(&mut sender, &mut spool, &state), 1);
        }
        assert_eq!(pauses, [30, 60, 120]);
        // Somebody permits it.
        behind.lock().unwrap().refused.clear();
        sender.refused.values_mut().for_each(Pause::end);
        assert_eq!(send(&mut sender, &mut spool, &state), 2);
        assert_eq!(taken(&behind)[4..], [(66, 0), (66, 9)]);
        assert_eq!((spool.size().0, state.now().trouble), (0, None));
    }

    #[test]
    fn what_the_store_cannot_take_again_and_again_is_behind_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let (mut spool, state) = (
            Spool::open(dir.path(), 1 << 20).unwrap(),
            FeedState::default(),
        );
        let (mut sender, behind) = gateway();
        behind.lock().unwrap().too_much.insert(66);
        for (kind, boot, seq) in [
            (Kind::Evidence, 66, 0),
            (Kind::Judgement, 66, 9),
            (Kind::Minutes, 2, 60),
            (Kind::Minutes, 2, 120),
        ] {
            add(&mut spool, kind, boot, seq);
        }
        for _ in 0..FAILED_MAX {
            assert_eq!(send(&mut sender, &mut spool, &state), 0);
            assert!(!sender.pause.is_over());
            sender.pause.end();
        }
        // A minute, the first one once more, the other minute.
        assert_eq!(send(&mut sender, &mut spool, &state), 3);
        assert_eq!(behind.lock().unwrap().taken.len(), 2);
        assert_eq!((spool.size().0, state.now().failures), (2, 4));
        assert!(sender.pause.is_over());
        behind.lock().unwrap().too_much.clear();
        sender.refused.values_mut().for_each(Pause::end);
        assert_eq!(send(&mut sender, &mut spool, &state), 2);
        let taken = behind.lock().unwrap().taken.clone();
        let taken: Vec<(u64, u64)> = taken.iter().map(|one| (one.boot, one.seq)).collect();
        assert_eq!(taken, [(2, 60), (2, 120), (66, 0), (66, 9)]);
        assert_eq!((spool.size().0, state.now().trouble), (0, None));
    }

    #[test]
    fn where_all_are_refused_it_is_asked_seldom() {
        let dir = tempfile::tempdir().unwrap();
        let (mut spool, state) = (
            Spool::open(dir.path(), 1 << 20).unwrap(),
            FeedState::default(),
        );
        let (mut sender, behind) = gateway();
        behind.lock().unwrap().refused.insert(2);
        for seq in 1..=20 {
            add(&mut spool, Kind::Minutes, 2, seq * 60);
        }
        assert_eq!(send(&mut sender, &mut spool, &state), 7);
        assert_eq!(send(&mut sender, &mut spool, &state), 0);
        assert_eq!(state.now().failures, 8);
        assert!(!sender.pause.is_over());
        sender.pause.end();
        assert_eq!(send(&mut sender, &mut spool, &state), 7);
        assert_eq!(sender.pause.length.as_secs(), 60);
        behind.lock().unwrap().refused.clear();
        sender.pause.end();
        // Those that were not tried yet, and then the others in their time.
        assert_eq!(send(&mut sender, &mut spool, &state), 4);
        sender.refused.values_mut().for_each(Pause::end);
        assert_eq!(send(&mut sender, &mut spool, &state), 16);
        assert_eq!((spool.size().0, state.now().lost), (0, [0; 4]));
        assert_eq!(behind.lock().unwrap().taken.len(), 20);
        assert!(sender.refused.is_empty());
    }
}
