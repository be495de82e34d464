//! One client of a load: sends its statements at its pace and counts answers, errors and latencies.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, DriverError};

use crate::latency::Histogram;
use crate::watch::{Waited, Watch};
use crate::{Login, ROWS};

/// How far a client of a paced load may be behind its schedule and still catch up, by sending
/// statements back to back; what is due for longer is left out.
pub const CATCH_UP_MAX: Duration = Duration::from_secs(1);

/// What stands between the statements of one text: they are sent one after another, as a
/// transaction is. When one fails the rest is left out and the transaction rolled back.
pub const STATEMENT_SEPARATOR: &str = ";\n";

/// A client waits this long before it connects again, doubled with each failure up to
/// [`RECONNECT_BACKOFF_MAX`].
const RECONNECT_BACKOFF_MIN: Duration = Duration::from_millis(10);

/// Longest time between two attempts to connect.
pub const RECONNECT_BACKOFF_MAX: Duration = Duration::from_secs(1);

/// Clients that are watched knock this often together, so that it is known when they may come in again.
const WATCHED_KNOCKS_A_SECOND: u32 = 40;

/// And each at most this often.
const WATCHED_BACKOFF_MIN: Duration = Duration::from_millis(100);

/// What a statement fails with that is killed with its connection: `ER_SERVER_SHUTDOWN` of MySQL,
/// `ER_QUERY_INTERRUPTED`, `ER_CONNECTION_KILLED` of MariaDB, or no answer at all.
const KILLED: [&str; 4] = [
    "server error 1053",
    "server error 1317",
    "server error 1927",
    "connection lost",
];

/// Statements to send, by whom and how fast.
#[derive(Debug, Clone)]
pub struct Load {
    /// Where to and as whom.
    pub login: Login,
    /// How many clients at the same time, each with a connection of its own.
    pub clients: usize,
    /// Texts of [`Self::statements`] a second of all clients together; `None` sends as fast as answers come.
    pub rate_per_second: Option<f64>,
    /// Whether the clients use the compressed protocol.
    pub compression: bool,
    /// Whether each text goes over a connection of its own.
    pub reconnect: bool,
    /// Weights and texts, chosen at random by weight; `{row}` becomes a random number from 1 to
    /// [`crate::ROWS`], the same in the whole text. A text is a statement, or several with
    /// [`crate::STATEMENT_SEPARATOR`] between them.
    pub statements: Vec<(u32, String)>,
    /// For how long, at most [`crate::LOAD_SECONDS_MAX`].
    pub duration: Duration,
    /// How long a client waits for the server at each read and write before it drops the
    /// connection and makes a new one.
    pub timeout: Duration,
}

/// What clients did so far.
#[derive(Default)]
pub(crate) struct Done {
    pub(crate) latency: Histogram,
    pub(crate) statements: u64,
    pub(crate) transactions: u64,
    pub(crate) errors: BTreeMap<String, u64>,
    pub(crate) skipped: u64,
    /// Whether the client has come back: there is nothing to add any more.
    pub(crate) ended: bool,
    /// The server's number for its connection.
    pub(crate) connection: Option<u32>,
}

impl Done {
    pub(crate) fn add(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        self.statements += other.statements;
        self.transactions += other.transactions;
        self.skipped += other.skipped;
        for (kind, count) in &other.errors {
            *self.errors.entry(kind.clone()).or_default() += count;
        }
    }
}

/// The counts behind a lock; they are whole at any time, also after a panic of their client.
pub(crate) fn lock(done: &Mutex<Done>) -> MutexGuard<'_, Done> {
    done.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells a client that the load is over: by being dropped on the other side.
pub(crate) type End = Receiver<()>;

/// The work of client `number`, until `end` says that it is over. The counts are shared, because
/// a client that gets stuck does not hand them over at the end.
pub(crate) fn run(
    load: &Load,
    number: usize,
    start: Instant,
    end: &End,
    done: &Mutex<Done>,
    watch: Option<&Watch>,
) {
    let felt = Felt { watch, number };
    let backoff_max = felt.backoff_max(load.clients);
    let mut is_out = false;
    let mut random = Random::new(number);
    let mut schedule = load
        .rate_per_second
        .map(|rate| Schedule::new(rate, load.clients, number, start));
    let mut connection: Option<Conn> = None;
    let mut backoff = RECONNECT_BACKOFF_MIN;
    while !is_over(end) {
        let failure = match &mut connection {
            None => {
                let begun = felt.begins();
                let answer = load.login.connect_raw(load.compression, load.timeout);
                felt.ends(Waited::Connect, begun, answer.as_ref().err());
                match answer {
                    Ok(new) => {
                        if std::mem::take(&mut is_out) {
                            felt.is_back();
                        }
                        lock(done).connection = Some(new.connection_id());
                        connection = Some(new);
                        continue;
                    }
                    Err(error) => error,
                }
            }
            Some(open) => {
                if let Some(schedule) = &mut schedule {
                    lock(done).skipped += schedule.skip_overdue(Instant::now());
                    if wait(end, schedule.next()) {
                        break;
                    }
                }
                let text = text(&load.statements, &mut random);
                match send(open, &text, end, done, felt) {
                    Ok(()) => {
                        backoff = RECONNECT_BACKOFF_MIN;
                        if load.reconnect {
                            connection = None;
                        }
                        continue;
                    }
                    Err(error) => error,
                }
            }
        };
        let kind = kind(&failure);
        // When the load is over, the lab itself ends what still waits.
        if is_over(end) && KILLED.contains(&kind.as_str()) {
            break;
        }
        *lock(done).errors.entry(kind).or_default() += 1;
        let usable = connection.is_some() && matches!(failure, mysql::Error::MySqlError(_));
        if !usable {
            connection = None;
            is_out = true;
            lock(done).connection = None;
            wait(end, Instant::now() + backoff);
            backoff = (2 * backoff).min(backoff_max);
        }
    }
}

/// The log of a client that is watched.
#[derive(Clone, Copy)]
struct Felt<'a> {
    watch: Option<&'a Watch>,
    number: usize,
}

impl Felt<'_> {
    fn backoff_max(self, clients: usize) -> Duration {
        let between = Duration::from_secs(clients as u64) / WATCHED_KNOCKS_A_SECOND;
        match self.watch {
            Some(_) => between.clamp(WATCHED_BACKOFF_MIN, RECONNECT_BACKOFF_MAX),
            None => RECONNECT_BACKOFF_MAX,
        }
    }

    fn begins(self) -> i64 {
        self.watch.map_or(0, |watch| watch.begins(self.number))
    }

    fn ends(self, waited: Waited, begun_ms: i64, error: Option<&mysql::Error>) {
        if let Some(watch) = self.watch {
            watch.ends(self.number, waited, begun_ms, error.map(kind));
        }
    }

    fn is_back(self) {
        if let Some(watch) = self.watch {
            watch.ends(self.number, Waited::Back, watch.now_ms(), None);
        }
    }

    fn answered(self, ns: u64) {
        if let Some(watch) = self.watch {
            watch.answered(ns);
        }
    }
}

/// Sends the statements of a text. The end of the load is one between them, too.
fn send(
    connection: &mut Conn,
    text: &str,
    end: &End,
    done: &Mutex<Done>,
    felt: Felt,
) -> Result<(), mysql::Error> {
    let mut several = false;
    for sql in text.split(STATEMENT_SEPARATOR) {
        if several && is_over(end) {
            return Ok(());
        }
        let sent = Instant::now();
        let begun = felt.begins();
        let answer = connection.query_drop(sql);
        felt.ends(Waited::Statement, begun, answer.as_ref().err());
        match answer {
            Ok(()) => {
                let ns = u64::try_from(sent.elapsed().as_nanos()).unwrap_or(u64::MAX);
                felt.answered(ns);
                let mut done = lock(done);
                done.latency.record(ns);
                done.statements += 1;
            }
            Err(error @ mysql::Error::MySqlError(_)) if several => {
                connection.query_drop("ROLLBACK")?;
                return Err(error);
            }
            Err(error) => return Err(error),
        }
        several = true;
    }
    if text.contains(STATEMENT_SEPARATOR) {
        lock(done).transactions += 1;
    }
    Ok(())
}

fn is_over(end: &End) -> bool {
    matches!(end.try_recv(), Err(TryRecvError::Disconnected))
}

/// Waits until a moment, or until the load is over: then it says so.
fn wait(end: &End, until: Instant) -> bool {
    let time = until.saturating_duration_since(Instant::now());
    !time.is_zero() && end.recv_timeout(time) == Err(RecvTimeoutError::Disconnected)
}

/// The kind of a failure, as [`crate::LoadResult::errors`] names it.
fn kind(error: &mysql::Error) -> String {
    let io_kind = match error {
        mysql::Error::MySqlError(error) => return format!("server error {}", error.code),
        mysql::Error::IoError(error) => Some(error.kind()),
        // Reads and writes fail as this; the library does not export the inner error's type.
        mysql::Error::CodecError(error) => error
            .source()
            .and_then(|source| source.downcast_ref::<io::Error>())
            .map(io::Error::kind),
        mysql::Error::DriverError(DriverError::ConnectTimeout) => Some(io::ErrorKind::TimedOut),
        mysql::Error::DriverError(DriverError::CouldNotConnect(Some((_, _, kind)))) => Some(*kind),
        _ => None,
    };
    match io_kind {
        None => "other",
        Some(io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => "timeout",
        Some(io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => "connection refused",
        Some(_) => "connection lost",
    }
    .to_owned()
}

/// When a client of a paced load sends: at even intervals, the clients shifted against each other.
struct Schedule {
    next: Instant,
    interval: Duration,
}

impl Schedule {
    fn new(rate_per_second: f64, clients: usize, number: usize, start: Instant) -> Self {
        let between = Duration::from_secs_f64(1.0 / rate_per_second);
        Self {
            next: start + between.mul_f64(number as f64),
            interval: between.mul_f64(clients as f64),
        }
    }

    /// The moment of the next statement; each call is one statement.
    fn next(&mut self) -> Instant {
        let now = self.next;
        self.next += self.interval;
        now
    }

    /// Leaves out what has been due for longer than [`CATCH_UP_MAX`], and says how much that was.
    fn skip_overdue(&mut self, now: Instant) -> u64 {
        let behind = now.saturating_duration_since(self.next + CATCH_UP_MAX);
        let skipped = (behind.as_secs_f64() / self.interval.as_secs_f64()).ceil();
        self.next += self.interval.mul_f64(skipped);
        skipped as u64
    }
}

/// A text chosen by weight, its `{row}` filled in with one number.
fn text<'a>(statements: &'a [(u32, String)], random: &mut Random) -> Cow<'a, str> {
    let total = statements
        .iter()
        .map(|(weight, _)| u64::from(*weight))
        .sum();
    let mut at = random.below(total);
    let mut chosen = "";
    for (weight, text) in statements {
        chosen = text;
        match at.checked_sub(u64::from(*weight)) {
            Some(rest) => at = rest,
            None => break,
        }
    }
    if chosen.contains("{row}") {
        let row = 1 + random.below(u64::from(ROWS));
        Cow::Owned(chosen.replace("{row}", &row.to_string()))
    } else {
        Cow::Borrowed(chosen)
    }
}

/// xorshift64*, seeded by the client's number: the same load sends the same statements.
struct Random(u64);

impl Random {
    fn new(number: usize) -> Self {
        Self((number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// A number below `end`; 0 when `end` is 0.
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = u128::from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D));
        ((high * u128::from(end)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_come_by_their_weight() {
        let statements = vec![
            (3, "a".to_owned()),
            (0, "never".to_owned()),
            (1, "b".to_owned()),
        ];
        let mut random = Random::new(0);
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for _ in 0..40_000 {
            *counts
                .entry(text(&statements, &mut random).into_owned())
                .or_default() += 1;
        }
        assert!(!counts.contains_key("never"));
        assert!((29_000..31_000).contains(&counts["a"]), "{counts:?}");
        assert_eq!(counts["a"] + counts["b"], 40_000);
    }

    #[test]
    fn rows_are_filled_in_and_cover_the_table() {
        let statements = vec![(1, "{row} {row}".to_owned())];
        let mut random = Random::new(7);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200_000 {
            let filled = text(&statements, &mut random);
            let (one, two) = filled.split_once(' ').unwrap();
            assert_eq!(one, two);
            seen.insert(one.parse::<u32>().unwrap());
        }
        assert_eq!(seen.first(), Some(&1));
        assert_eq!(seen.last(), Some(&ROWS));
        assert_eq!(seen.len(), ROWS as usize);
    }

    #[test]
    fn clients_differ() {
        let mut first = Random::new(0);
        let mut second = Random::new(1);
        assert!((0..10).any(|_| first.below(1000) != second.below(1000)));
    }

    #[test]
    fn a_schedule_is_even_and_catches_up_for_a_second_at_most() {
        let start = Instant::now();
        let mut schedule = Schedule::new(100.0, 10, 3, start);
        assert_eq!(schedule.next(), start + Duration::from_millis(30));
        assert_eq!(schedule.next(), start + Duration::from_millis(130));
        assert_eq!(
            schedule.skip_overdue(start + Duration::from_millis(1230)),
            0
        );
        // Due at 230 ms; at 5 s everything due before 4 s is left out: 38 statements.
        assert_eq!(schedule.skip_overdue(start + Duration::from_secs(5)), 38);
        assert_eq!(schedule.next(), start + Duration::from_millis(4030));
    }
}
