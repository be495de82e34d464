//! From the journal to the store: batches of many hosts at once, the same ones until it has them.
//!
//! **Nothing waits for a batch that the store refuses as it is.** A group that is refused is halved until it is one batch,
//! and that one is set aside and tried again by itself, more and more seldom.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ::fleet::any_store::{AnyError, AnyStore};
use ::fleet::batch_bytes;
use ::fleet::clickhouse::Then;
use ::fleet::gateway::{Group, GroupLimits, Journal, Narrowed};
use anyhow::{Context, Result};

use super::state::{Part, State, add, locked};
use crate::fleet::now_ms;
use crate::fleet::pause::Pause;
use crate::gateway_config::Settings;

/// What goes together: the rows of hundreds of hosts' minute, a few hundred MB of memory at the most. A server takes a
/// hundred pieces of a table at once, which are days here.
const LIMITS: GroupLimits = GroupLimits {
    batches: 2_000,
    cells: 2_000_000,
    bytes: 16 << 20,
    days: 60,
};

/// How long a batch waits for others, seconds.
const LINGER: i64 = 2;

/// How often it is looked for what waits.
const NAP: Duration = Duration::from_millis(200);

/// How often a store that does not do so by itself deletes what is too old.
const EXPIRE_EVERY: Duration = Duration::from_secs(6 * 3600);

/// When so many are refused one after the other, it is not the batches.
const REFUSED_MAX: u32 = 3;

/// When a server says so often that it cannot take a group, it is given half of it.
const ANSWERS_MAX: u32 = 5;

/// Brings one journal to one store.
pub(super) struct Delivery {
    settings: Settings,
    journal: Arc<Mutex<Journal>>,
    state: Arc<State>,
    store: Option<AnyStore>,
    pause: Pause,
    /// When one that was set aside is tried again, and which one was tried last.
    aside_pause: Pause,
    aside_last: i64,
    /// How many were set aside since a group was taken.
    refused_in_row: u32,
    /// How often a server said since then that it cannot.
    answers_in_row: u32,
    expired: Option<Instant>,
}

impl Delivery {
    pub(super) fn new(
        settings: &Settings,
        journal: Arc<Mutex<Journal>>,
        state: Arc<State>,
    ) -> Self {
        Self {
            settings: settings.clone(),
            journal,
            state,
            store: None,
            pause: Pause::default(),
            aside_pause: Pause::default(),
            aside_last: 0,
            refused_in_row: 0,
            answers_in_row: 0,
            expired: None,
        }
    }

    pub(super) fn start(mut self) -> Result<()> {
        kernel::own_threads::start("ff-deliver", move || {
            loop {
                if !self.turn() {
                    std::thread::sleep(NAP);
                }
            }
        })
        .context("cannot start the thread that writes to the store")?;
        Ok(())
    }

    /// Brings the next group, if it is time; whether another one may be due at once.
    fn turn(&mut self) -> bool {
        if !self.pause.is_over() {
            return false;
        }
        if self.aside_pause.is_over()
            && let Some(is_more) = self.try_aside()
        {
            return is_more;
        }
        if !self.is_due() {
            return false;
        }
        let group = match locked(&self.journal).group(&LIMITS) {
            Ok(Some(group)) => group,
            Ok(None) => return false,
            Err(error) => {
                self.state.trouble(Part::Store, &error.to_string());
                return false;
            }
        };
        let now = now_ms() / 1000;
        let batches = self.batches(&group);
        let count = batches.len();
        let sent = self
            .store(now)
            .and_then(|store| store.insert_all(batches, now));
        kernel::heap::give_back();
        if let Err(error) = sent {
            add(&self.state.failures, 1);
            return match error.then() {
                Then::Leave => self.narrow(&group, &error.to_string()),
                _ => {
                    self.try_less(&group, &error);
                    self.failed(&error)
                }
            };
        }
        if let Err(error) = locked(&self.journal).done(&group) {
            self.state.trouble(Part::Store, &error.to_string());
            return false;
        }
        add(&self.state.stored, count);
        add(&self.state.inserts, 1);
        self.state.look_at(&self.journal);
        self.state.works(Part::Store);
        // There is room again, and the disk took that.
        self.state.works(Part::Journal);
        self.pause = Pause::default();
        self.answers_in_row = 0;
        if std::mem::take(&mut self.refused_in_row) > 0 {
            // It may have been the store after all.
            self.aside_pause = Pause::default();
        }
        self.expire(now);
        true
    }

    /// Nothing can be brought to the store now.
    fn failed(&mut self, error: &AnyError) -> bool {
        // Whatever is wrong with it is looked for anew.
        self.store = None;
        self.pause.failed(error.then());
        self.state.trouble(Part::Store, &error.to_string());
        false
    }

    /// A server that says again and again that it cannot may have been given too much at once. One batch stays the next one:
    /// nobody said that it is refused.
    fn try_less(&mut self, group: &Group, error: &AnyError) {
        let is_answer = matches!(error, AnyError::Server(failure) if failure.code.is_some());
        if !is_answer {
            return;
        }
        self.answers_in_row += 1;
        if self.answers_in_row.is_multiple_of(ANSWERS_MAX) && group.batches.len() > 1 {
            // What the disk does not take leaves the group as it is.
            let _ = locked(&self.journal).narrow(group);
        }
    }

    /// The store refuses a group as it is; whether another one is due at once.
    fn narrow(&mut self, group: &Group, why: &str) -> bool {
        let narrowed = locked(&self.journal).narrow(group);
        self.state.look_at(&self.journal);
        match narrowed {
            Ok(Narrowed::Halved) => true,
            Ok(Narrowed::SetAside { lost }) => {
                add(&self.state.lost, lost);
                self.state.set_aside(why);
                self.aside_pause.failed(Then::Leave);
                self.refused_in_row += 1;
                let is_one_too_many = self.refused_in_row.is_multiple_of(REFUSED_MAX);
                if is_one_too_many {
                    self.pause.failed(Then::Leave);
                    self.state.trouble(Part::Store, why);
                }
                !is_one_too_many
            }
            Err(error) => {
                self.pause.failed(Then::Retry);
                self.state.trouble(Part::Store, &error.to_string());
                false
            }
        }
    }

    /// Brings one batch that was set aside; whether another one may be due at once. None where none was.
    fn try_aside(&mut self) -> Option<bool> {
        let next = locked(&self.journal).next_aside(self.aside_last);
        // What is wrong with the file is told by what waits.
        let one = next.ok().flatten()?;
        self.aside_last = one.id;
        let now = now_ms() / 1000;
        let batches: Vec<fleet::Batch> = self.batch(&one.bytes).into_iter().collect();
        let count = batches.len();
        let sent = self
            .store(now)
            .and_then(|store| store.insert_all(batches, now));
        kernel::heap::give_back();
        if let Err(error) = sent {
            add(&self.state.failures, 1);
            // What waits goes on, whatever is wrong with this one.
            self.aside_pause.failed(Then::Leave);
            return Some(match error.then() {
                Then::Leave => true,
                _ => self.failed(&error),
            });
        }
        if let Err(error) = locked(&self.journal).forget_aside(&one) {
            self.aside_pause.failed(Then::Retry);
            self.state.trouble(Part::Store, &error.to_string());
            return Some(false);
        }
        add(&self.state.stored, count);
        add(&self.state.inserts, 1);
        self.state.look_at(&self.journal);
        self.state.works(Part::Store);
        self.aside_pause = Pause::default();
        self.refused_in_row = 0;
        Some(true)
    }

    /// Enough waits, or the oldest has waited long enough.
    fn is_due(&self) -> bool {
        let waiting = self.state.waiting();
        let now = now_ms() / 1000;
        let is_old = waiting
            .oldest_at
            .is_some_and(|at| now - at >= LINGER || at > now);
        waiting.batches > 0
            && (is_old
                || waiting.batches >= LIMITS.batches as u64
                || waiting.bytes >= LIMITS.bytes as u64)
    }

    /// What the disk has damaged since costs itself only.
    fn batches(&self, group: &Group) -> Vec<fleet::Batch> {
        let batches = group.batches.iter();
        batches.filter_map(|bytes| self.batch(bytes)).collect()
    }

    fn batch(&self, bytes: &[u8]) -> Option<fleet::Batch> {
        match batch_bytes::from_bytes(bytes) {
            Ok(batch) => Some(batch),
            Err(error) => {
                add(&self.state.lost, 1);
                cli::output::note(&format!("gateway: lost: a batch of the journal: {error}"));
                None
            }
        }
    }

    fn store(&mut self, now: i64) -> Result<&mut AnyStore, AnyError> {
        let opened = match self.store.take() {
            Some(store) => store,
            None => {
                let (url, access) = (&self.settings.store, self.settings.access.clone());
                AnyStore::open_or_init(url, access, now, env!("CARGO_PKG_VERSION"))?
            }
        };
        Ok(self.store.insert(opened))
    }

    fn expire(&mut self, now: i64) {
        if self.expired.is_some_and(|at| at.elapsed() < EXPIRE_EVERY) {
            return;
        }
        self.expired = Some(Instant::now());
        if let Some(Err(error)) = self.store.as_mut().map(|store| store.expire(now)) {
            self.state.trouble(Part::Store, &error.to_string());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::path::Path;

    use ::fleet::Token;
    use ::fleet::any_store::Access;
    use ::fleet::gateway::{Arrival, Waiting, days};
    use ::fleet::row::{HealthRow, Seconds};
    use ::fleet::url::StoreUrl;

    use super::*;
    use crate::http_request;

    /// What a server refuses, how it says so, and what it has taken: numbers of batches.
    #[derive(Default)]
    struct Behind {
        refused: Vec<u64>,
        says: &'static str,
        /// Batches in one insert that are too many.
        most: Option<usize>,
        taken: Vec<u64>,
        inserts: usize,
    }

    fn mark(number: u64) -> String {
        format!("mark {number}.")
    }

    /// A server with a store.
    fn server() -> (u16, Arc<Mutex<Behind>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let behind = Arc::new(Mutex::new(Behind::default()));
        let known = behind.clone();
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let (_, body) = http_request::read(&mut stream);
                let body = String::from_utf8_lossy(&body).into_owned();
                let (status, answer) = if body.starts_with("SELECT version()") {
                    (200, "26.9.2.1".to_owned())
                } else if body.starts_with("SELECT max(version)") {
                    let version = ::fleet::clickhouse::VERSION;
                    (200, format!(r#"{{"data":[[{version}]]}}"#))
                } else {
                    let mut behind = known.lock().unwrap();
                    behind.inserts += 1;
                    let here = (1..100).filter(|number| body.contains(&mark(*number)));
                    let here: Vec<u64> = here.collect();
                    let is_refused = here.iter().any(|number| behind.refused.contains(number))
                        || behind.most.is_some_and(|most| here.len() > most);
                    match is_refused {
                        true => (500, behind.says.to_owned()),
                        false => {
                            behind.taken.extend(here);
                            (200, String::new())
                        }
                    }
                };
                let length = answer.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n{answer}"
                );
            }
        });
        (port, behind)
    }

    /// A journal with batches of these numbers, and what brings them to the server.
    fn delivery(dir: &Path, port: u16, numbers: std::ops::RangeInclusive<u64>) -> Delivery {
        let mut journal = Journal::open(&dir.join("journal.db"), 1 << 20).unwrap();
        let arrivals = numbers.map(|seq| {
            let mut batch = fleet::Batch::new(Token {
                host_id: 1,
                boot: 2,
                seq,
            });
            batch.push(&HealthRow {
                ts: Seconds(1_795_000_000),
                absent: vec![mark(seq)],
                ..HealthRow::default()
            });
            Arrival {
                token: batch.token,
                bytes: batch_bytes::to_bytes(&batch).unwrap(),
                days: days(&batch),
                cells: batch.cells(),
            }
        });
        journal.add(&arrivals.collect::<Vec<_>>(), 7).unwrap();
        let settings = Settings {
            store: StoreUrl::ClickHouse(format!("http://127.0.0.1:{port}/f")),
            access: Access::default(),
            listen: ([127, 0, 0, 1], 0).into(),
            salt_file: dir.join("salt"),
            dir: dir.to_owned(),
            journal_bytes: 1 << 20,
        };
        let (journal, state) = (Arc::new(Mutex::new(journal)), Arc::new(State::default()));
        state.look_at(&journal);
        Delivery::new(&settings, journal, state)
    }

    /// As the thread does it, up to the next nap.
    fn turns(delivery: &mut Delivery) {
        let turns = (0..100).take_while(|_| delivery.turn()).count();
        assert!(turns < 100);
    }

    fn waits(delivery: &Delivery) -> (u64, u64) {
        let Waiting { batches, aside, .. } = delivery.state.waiting();
        (batches, aside)
    }

    const REFUSED: &str = "Code: 27. DB::Exception: Cannot parse input";

    #[test]
    fn a_batch_that_the_store_refuses_holds_up_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let (port, behind) = server();
        behind.lock().unwrap().refused = vec![3];
        behind.lock().unwrap().says = REFUSED;
        let mut delivery = delivery(dir.path(), port, 1..=5);
        turns(&mut delivery);
        assert_eq!(behind.lock().unwrap().taken, [1, 2, 4, 5]);
        assert_eq!(waits(&delivery), (0, 1));
        // Others were taken, so the store is well.
        assert_eq!(delivery.state.wrong(Part::Store), None);
        // Not before its time, which is longer each time.
        let inserts = behind.lock().unwrap().inserts;
        turns(&mut delivery);
        assert_eq!(behind.lock().unwrap().inserts, inserts);
        assert_eq!(delivery.aside_pause.length.as_secs(), 30);
        delivery.aside_pause.end();
        turns(&mut delivery);
        assert_eq!(behind.lock().unwrap().inserts, inserts + 1);
        assert_eq!(delivery.aside_pause.length.as_secs(), 60);
        // A gateway that was killed knows it, too.
        drop(delivery);
        let mut delivery = self::delivery(dir.path(), port, 6..=6);
        assert_eq!(waits(&delivery), (1, 1));
        behind.lock().unwrap().refused.clear();
        turns(&mut delivery);
        assert_eq!(behind.lock().unwrap().taken[4..], [3, 6]);
        assert_eq!(waits(&delivery), (0, 0));
    }

    #[test]
    fn where_all_are_refused_few_are_set_aside() {
        let dir = tempfile::tempdir().unwrap();
        let (port, behind) = server();
        behind.lock().unwrap().refused = (1..=9).collect();
        behind.lock().unwrap().says = REFUSED;
        let mut delivery = delivery(dir.path(), port, 1..=9);
        turns(&mut delivery);
        assert_eq!(waits(&delivery), (6, 3));
        assert!(!delivery.pause.is_over());
        let why = delivery.state.wrong(Part::Store).unwrap();
        assert!(why.contains("code 27"), "{why}");
        behind.lock().unwrap().refused.clear();
        delivery.pause.end();
        turns(&mut delivery);
        let mut taken = behind.lock().unwrap().taken.clone();
        taken.sort_unstable();
        assert_eq!(taken, (1..=9).collect::<Vec<_>>());
        assert_eq!(waits(&delivery), (0, 0));
        assert_eq!(delivery.state.wrong(Part::Store), None);
    }

    #[test]
    fn a_server_that_has_no_memory_for_all_at_once_gets_less() {
        let dir = tempfile::tempdir().unwrap();
        let (port, behind) = server();
        behind.lock().unwrap().most = Some(2);
        behind.lock().unwrap().says = "Code: 241. DB::Exception: Memory limit exceeded";
        let mut delivery = delivery(dir.path(), port, 1..=4);
        for _ in 1..=ANSWERS_MAX {
            assert!(behind.lock().unwrap().taken.is_empty());
            turns(&mut delivery);
            assert!(!delivery.pause.is_over());
            delivery.pause.end();
        }
        turns(&mut delivery);
        assert_eq!(behind.lock().unwrap().taken, [1, 2, 3, 4]);
        assert_eq!(waits(&delivery), (0, 0));
        assert_eq!(
            delivery
                .state
                .lost
                .load(std::sync::atomic::Ordering::Relaxed),
            0
        );
    }
}
