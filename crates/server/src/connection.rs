use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use crate::{Address, Login, ServerError};

/// How long the server may take. Each is a limit for one wait on the socket; the recorder watches
/// the whole reading from another thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// For the TCP connect and for each step of the handshake.
    pub connect: Duration,
    /// For an answer on a connection that is made for one question.
    pub answer: Duration,
}

/// How long a kept connection waits for an answer. Long on purpose: giving up would leave a thread
/// of the server behind that still works on the question, and connecting anew would add one to it
/// at each attempt, in the very stall that is to be recorded. The recorder sees a missing answer
/// from another thread, and the kernel ends the wait when the server dies.
const KEPT_ANSWER: Duration = Duration::from_secs(3600);

/// Largest packet that is taken from a server, bytes: an InnoDB status has at most 1 MiB, a
/// processlist of 10,000 sessions about as much a packet a row.
const PACKET_BYTES_MAX: usize = 16 << 20;

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
    connection: Conn,
    /// Whether the login sees the sessions of others; not asked on short connections.
    pub(crate) sees_all_sessions: Option<bool>,
}

impl Session {
    /// Connects and logs in; nothing else is sent.
    pub fn connect(
        address: &Address,
        login: &Login,
        deadlines: Deadlines,
    ) -> Result<Self, ServerError> {
        let options = OptsBuilder::new()
            .user(Some(&login.user))
            .pass(login.password.as_deref())
            .prefer_socket(false)
            .tcp_connect_timeout(Some(deadlines.connect))
            .read_timeout(Some(deadlines.answer))
            .write_timeout(Some(deadlines.answer))
            // Without it the client asks the server for its limit, one more question per connect.
            .max_allowed_packet(Some(PACKET_BYTES_MAX))
            .stmt_cache_size(Some(0));
        let options = match address {
            Address::Socket(path) => options.socket(Some(path.to_string_lossy())),
            Address::Tcp(host, port) => options
                .ip_or_hostname(Some(host.as_str()))
                .tcp_port(*port)
                .socket(None::<String>),
        };
        Ok(Self {
            connection: Conn::new(options)?,
            sees_all_sessions: None,
        })
    }

    /// Connects for long: no deadline for answers, and this session's statements stay out of the
    /// server's logs.
    pub fn connect_quiet(
        address: &Address,
        login: &Login,
        deadlines: Deadlines,
    ) -> Result<Self, ServerError> {
        let kept = Deadlines {
            answer: KEPT_ANSWER,
            ..deadlines
        };
        let mut session = Self::connect(address, login, kept)?;
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
                        .any(|row| wide.iter().any(|grant| row.at(0).contains(grant)))
                });
        Ok(session)
    }

    /// The server's id of this connection.
    pub fn id(&self) -> u64 {
        u64::from(self.connection.connection_id())
    }

    /// Sends a statement that returns no rows.
    pub fn execute(&mut self, statement: &str) -> Result<(), ServerError> {
        Ok(self.connection.query_drop(statement)?)
    }

    /// The rows of a query as text; NULL is an empty text. Rows over `rows_max` are read and
    /// left out, counted in the second value.
    pub fn rows(&mut self, query: &str, rows_max: usize) -> Result<(Vec<Row>, usize), ServerError> {
        let mut rows = Vec::new();
        let mut left_out = 0;
        let mut result = self.connection.query_iter(query)?;
        let columns: std::rc::Rc<[String]> = result
            .columns()
            .as_ref()
            .iter()
            .map(|column| column.name_str().to_ascii_lowercase())
            .collect();
        for row in result.by_ref() {
            let row = row?;
            if rows.len() >= rows_max {
                left_out += 1;
                continue;
            }
            rows.push(Row {
                columns: columns.clone(),
                values: row.unwrap().into_iter().map(text_of).collect(),
            });
        }
        Ok((rows, left_out))
    }

    /// How long `SELECT 1` takes.
    pub fn ping(&mut self) -> Result<Duration, ServerError> {
        let begin = Instant::now();
        self.execute("SELECT 1")?;
        Ok(begin.elapsed())
    }
}

/// A row as text.
#[derive(Debug, Clone)]
pub struct Row {
    columns: std::rc::Rc<[String]>,
    values: Vec<String>,
}

impl Row {
    /// A row that was read elsewhere, such as in a text; the names are in lower case.
    pub fn new(columns: std::rc::Rc<[String]>, values: Vec<String>) -> Self {
        Self { columns, values }
    }

    /// The value of a column, by its name in lower case; empty when there is none.
    pub fn get(&self, column: &str) -> &str {
        let index = self.columns.iter().position(|name| name == column);
        index.map_or("", |index| self.at(index))
    }

    /// The columns with their values.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let names = self.columns.iter().map(String::as_str);
        names.zip(self.values.iter().map(String::as_str))
    }

    /// The value of a column by its position.
    pub fn at(&self, index: usize) -> &str {
        self.values.get(index).map_or("", String::as_str)
    }
}

fn text_of(value: mysql::Value) -> String {
    match value {
        mysql::Value::NULL => String::new(),
        mysql::Value::Bytes(bytes) => match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        },
        other => other.as_sql(true),
    }
}
