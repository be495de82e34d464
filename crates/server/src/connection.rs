//! A session with deadlines: statements in, rows as text out, and our own statements counted.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use model::Reading;

use crate::client::{Client, Deadline, Keep, Rows};
use crate::status_names::StatusOrder;
use crate::{Address, Login, OwnStatements, ServerError};

/// How long the server may take. Each is for the whole of it, not for one wait: a server that sends
/// a byte a second comes to it as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// For a connection until it is logged in.
    pub connect: Duration,
    /// For each question with all its rows.
    pub answer: Duration,
}

impl Deadlines {
    /// The same, and every wait ends within a tenth of a second when `stop` is set.
    pub fn or_until(self, stop: &Arc<AtomicBool>) -> Waits {
        Waits::from(self).or_until(stop)
    }
}

/// What ends a wait for the server.
#[derive(Debug, Clone)]
pub struct Waits {
    deadlines: Deadlines,
    stop: Option<Arc<AtomicBool>>,
    /// The end of several operations together.
    end: Option<Instant>,
}

impl Waits {
    /// The same, and every wait ends within a tenth of a second when `stop` is set.
    pub fn or_until(mut self, stop: &Arc<AtomicBool>) -> Self {
        self.stop = Some(stop.clone());
        self
    }

    /// The same, and no wait is longer than until this moment: the end of several questions
    /// together.
    pub fn no_later_than(mut self, end: Instant) -> Self {
        self.end = Some(end);
        self
    }

    fn deadline(&self, time: Duration) -> Deadline {
        Deadline::after(time, self.stop.as_ref()).no_later_than(self.end)
    }
}

impl From<Deadlines> for Waits {
    fn from(deadlines: Deadlines) -> Self {
        Self {
            deadlines,
            stop: None,
            end: None,
        }
    }
}

/// How long a kept connection waits for an answer. Long on purpose: giving up would leave a thread
/// of the server behind that still works on the question, and connecting anew would add one to it
/// at each attempt, in the very stall that is to be recorded. The recorder sees a missing answer
/// from another thread, and the kernel ends the wait when the server dies.
const KEPT_ANSWER: Duration = Duration::from_secs(3600);

/// Grants of our own account that are read.
const GRANTS_MAX: usize = 1000;

/// What keeps our own statements out of the slow log and the general log, and from waiting long.
/// Each is tried by itself: no version has all of them, and some need a privilege.
///
/// `min_examined_row_limit` keeps statements out of the slow log even when
/// `log_queries_not_using_indexes` is on (MySQL 8.4 manual, 7.4.5 "The Slow Query Log").
const SESSION_SETUP: [&str; 6] = [
    "SET SESSION long_query_time = 31536000",
    "SET SESSION min_examined_row_limit = 4294967295",
    "SET SESSION lock_wait_timeout = 2",
    "SET SESSION slow_query_log = 0",
    "SET SESSION max_statement_time = 30",
    "SET SESSION sql_log_off = 1",
];

/// A connection to the server.
pub struct Session {
    client: Client,
    waits: Waits,
    own: OwnStatements,
    /// Whether the login sees the sessions of others; not asked on short connections.
    pub(crate) sees_all_sessions: Option<bool>,
    /// The order in which this server tells its status.
    status_order: StatusOrder,
}

impl Session {
    /// Connects and logs in; nothing else is sent.
    pub fn connect(
        address: &Address,
        login: &Login,
        waits: impl Into<Waits>,
    ) -> Result<Self, ServerError> {
        let waits = waits.into();
        let deadline = waits.deadline(waits.deadlines.connect);
        Ok(Self {
            client: Client::connect(address, login, &deadline)?,
            waits,
            own: OwnStatements::default(),
            sees_all_sessions: None,
            status_order: StatusOrder::default(),
        })
    }

    /// Connects for long: once we are logged in there is no deadline for answers, and this session's
    /// statements stay out of the server's logs.
    pub fn connect_quiet(
        address: &Address,
        login: &Login,
        waits: impl Into<Waits>,
    ) -> Result<Self, ServerError> {
        let mut session = Self::connect(address, login, waits)?;
        session.waits.deadlines.answer = KEPT_ANSWER;
        for statement in SESSION_SETUP {
            match session.execute(statement) {
                Err(error) if error.is_connection_lost() => return Err(error),
                _ => {}
            }
        }
        session.sees_all_sessions =
            session
                .rows("SHOW GRANTS", GRANTS_MAX)
                .ok()
                .map(|(rows, _)| {
                    let wide = ["ALL PRIVILEGES ON *.*", "PROCESS", "SUPER"];
                    rows.iter()
                        .any(|row| wide.iter().any(|grant| row.column(0).contains(grant)))
                });
        Ok(session)
    }

    /// Counts what it sends, and has sent, together with other sessions of the same server.
    pub fn count_in(&mut self, own: &OwnStatements) {
        own.take(&self.own);
        self.own = own.clone();
    }

    /// What it has sent, with those that it is counted together with.
    pub fn own(&self) -> &OwnStatements {
        &self.own
    }

    /// Whether it can be asked something: every answer came to its end.
    pub fn is_usable(&self) -> bool {
        self.client.is_usable()
    }

    /// What ends the waits from now on.
    pub fn set_waits(&mut self, waits: impl Into<Waits>) {
        self.waits = waits.into();
    }

    /// The server's id of this connection.
    pub fn id(&self) -> u64 {
        u64::from(self.client.id())
    }

    /// Sends a statement; rows are read and left out.
    pub fn execute(&mut self, statement: &str) -> Result<(), ServerError> {
        self.own.add(statement);
        let deadline = self.deadline();
        let answer = self.client.ask(statement, Keep::Rows(0), &deadline);
        Ok(answer.map(drop)?)
    }

    /// The rows of a query as text; NULL is an empty text. Rows over `rows_max` are read and
    /// left out, counted in the second value.
    pub fn rows(&mut self, query: &str, rows_max: usize) -> Result<(Vec<Row>, usize), ServerError> {
        self.own.add(query);
        let deadline = self.deadline();
        let answer = self.client.ask(query, Keep::Rows(rows_max), &deadline)?;
        let mut names = answer.columns;
        for name in &mut names {
            name.make_ascii_lowercase();
        }
        let columns: std::rc::Rc<[String]> = names.into();
        let width = columns.len();
        let all = std::rc::Rc::new(answer.rows);
        let rows = (0..all.len()).map(|index| Row {
            columns: columns.clone(),
            rows: all.clone(),
            first: index * width,
        });
        Ok((rows.collect(), answer.left_out))
    }

    /// The numbers of a query that tells names and values as a status does.
    pub(crate) fn status(&mut self, query: &str) -> Result<Vec<Reading>, ServerError> {
        self.own.add(query);
        let deadline = self.deadline();
        let mut status = self.status_order.begin();
        let mut look = |name: &[u8], value: &[u8]| status.take(name, value);
        let keep = Keep::Pairs(&mut look);
        self.client.ask(query, keep, &deadline)?;
        Ok(status.readings())
    }

    fn deadline(&self) -> Deadline {
        self.waits.deadline(self.waits.deadlines.answer)
    }

    /// How long `SELECT 1` takes.
    pub fn ping(&mut self) -> Result<Duration, ServerError> {
        let begin = Instant::now();
        self.execute("SELECT 1")?;
        Ok(begin.elapsed())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The client takes its leave where it can.
        if self.client.is_usable() {
            self.own.add_quit();
        }
    }
}

/// A row as text.
#[derive(Debug, Clone)]
pub struct Row {
    columns: std::rc::Rc<[String]>,
    /// The rows of the answer, this one and others.
    rows: std::rc::Rc<Rows>,
    /// The place of its first value among theirs.
    first: usize,
}

impl Row {
    /// A row that was read elsewhere, such as in a text; the names are in lower case.
    pub fn new(columns: std::rc::Rc<[String]>, values: &[impl AsRef<str>]) -> Self {
        Self {
            columns,
            rows: std::rc::Rc::new(Rows::of(values)),
            first: 0,
        }
    }

    /// The value of a column, by its name in lower case; empty when there is none.
    pub fn get(&self, column: &str) -> &str {
        let index = self.columns.iter().position(|name| name == column);
        index.map_or("", |index| self.column(index))
    }

    /// The columns with their values.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let names = self.columns.iter().map(String::as_str);
        names.zip((0..self.width()).map(|index| self.column(index)))
    }

    /// The value of a column by its position.
    pub fn column(&self, index: usize) -> &str {
        match index < self.width() {
            true => self.rows.value(self.first + index),
            false => "",
        }
    }

    /// How many values it has.
    fn width(&self) -> usize {
        match self.rows.len() {
            // Values may be fewer or more than names where it was read elsewhere.
            1 => self.rows.values(),
            _ => self.columns.len(),
        }
    }
}
