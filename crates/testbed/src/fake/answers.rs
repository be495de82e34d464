//! What such a server answers.

use std::time::Duration;

use model::{SignalKind, kind_of_status_variable};
use mysql::Row;
use mysql::prelude::Queryable;

use crate::hostile::talk::{column, end, error, ok, packet};
use crate::{Error, Login};

/// How long the real server may take.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Of the other counters so many change from second to second: one in eight of a real server's values does.
const ONE_IN: usize = 8;

/// Of the sessions that work one in so many is in a statement.
const RUNNING_IN: u64 = 4;

/// How long the sessions are idle that nobody needs, seconds; the first of them, and longer from one to the next.
const IDLE_SECONDS: usize = 60;

/// What rises on every server that works.
const BUSY: [&str; 6] = [
    "Questions",
    "Queries",
    "Com_select",
    "Bytes_sent",
    "Bytes_received",
    "Uptime",
];

/// Statements a second.
const RATE: f64 = 200.0;

/// The columns of a list of sessions.
const SESSION_COLUMNS: [&str; 8] = [
    "Id", "User", "Host", "db", "Command", "Time", "State", "Info",
];

/// What a server answers to the statements of the recorder.
#[derive(Debug, Clone)]
pub struct Answers {
    status: Vec<(String, String)>,
    variables: Vec<(String, String)>,
    innodb: String,
    sessions: usize,
}

impl Answers {
    /// As little as the recorder goes on with.
    pub fn small(sessions: usize) -> Self {
        let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let status = BUSY.map(|name| (name, "1")).into_iter();
        let more = [("Threads_connected", "1"), ("Threads_running", "1")];
        let variables = [("max_connections", "500"), ("performance_schema", "OFF")];
        Self {
            status: status.chain(more).map(pair).collect(),
            variables: variables.map(pair).into(),
            innodb: String::new(),
            sessions,
        }
    }

    /// What a real server says, and a list of so many sessions.
    pub fn of(login: &Login, sessions: usize) -> Result<Self, Error> {
        let mut connection = login.connect(false, TIMEOUT)?;
        let mut pairs = |sql: &str| {
            connection
                .query::<(String, String), _>(sql)
                .map_err(Error::client(format!("ask for {sql}")))
        };
        let status = pairs("SHOW GLOBAL STATUS")?;
        let mut variables = pairs("SHOW GLOBAL VARIABLES")?;
        // Tables of performance_schema are not answered for.
        for (name, value) in &mut variables {
            if name == "performance_schema" {
                "OFF".clone_into(value);
            }
        }
        let innodb: Option<Row> = connection
            .query_first("SHOW ENGINE INNODB STATUS")
            .map_err(Error::client("ask for the InnoDB status"))?;
        let text = innodb.and_then(|row| row.get::<String, _>(2));
        Ok(Self {
            status,
            variables,
            innodb: text.unwrap_or_default(),
            sessions,
        })
    }

    /// The answer to a statement: `seconds` after the start, behind `count` others, on connection `id`.
    pub(super) fn to(&self, statement: &str, seconds: f64, count: u64, id: u32) -> Vec<u8> {
        let upper = statement.to_ascii_uppercase();
        let version = "10.11.6-MariaDB";
        let is = |head: &str| upper.starts_with(head);
        if is("SELECT 1") {
            rows(&["1"], &[vec!["1".to_owned()]])
        } else if is("SHOW GLOBAL STATUS") {
            rows(&["Variable_name", "Value"], &self.status_at(seconds))
        } else if is("SHOW GLOBAL VARIABLES") || is("SHOW VARIABLES") {
            let of = |(name, value): &(String, String)| vec![name.clone(), value.clone()];
            let all: Vec<Vec<String>> = self.variables.iter().map(of).collect();
            rows(&["Variable_name", "Value"], &all)
        } else if is("SHOW PROCESSLIST") || is("SHOW FULL PROCESSLIST") {
            rows(&SESSION_COLUMNS, &self.sessions_at(seconds, count, id))
        } else if is("SHOW ENGINE INNODB STATUS") {
            let status = vec!["InnoDB".to_owned(), String::new(), self.innodb.clone()];
            rows(&["Type", "Name", "Status"], &[status])
        } else if is("SELECT @@VERSION, @@VERSION_COMMENT") {
            let values = vec![version.to_owned(), "only answers".to_owned()];
            rows(&["version", "comment"], &[values])
        } else if is("SELECT @@VERSION") {
            rows(&["version"], &[vec![version.to_owned()]])
        } else if is("SHOW GRANTS") {
            let all = "GRANT ALL PRIVILEGES ON *.* TO `root`".to_owned();
            rows(&["grants"], &[vec![all]])
        } else if is("SHOW") {
            rows(&["a"], &[])
        } else if is("SELECT") {
            error(1, 1146, b"Table doesn't exist")
        } else {
            ok(1)
        }
    }

    fn status_at(&self, seconds: f64) -> Vec<Vec<String>> {
        let of = |(index, (name, value)): (usize, &(String, String))| {
            let is_busy = BUSY.contains(&name.as_str());
            let rises = is_busy
                || index % ONE_IN == 0 && kind_of_status_variable(name) == SignalKind::Counter;
            let value = match value.parse::<f64>() {
                Ok(before) if name == "Uptime" => format!("{:.0}", before + seconds),
                Ok(before) if rises => {
                    let rate = if is_busy { RATE } else { 1.0 + index as f64 };
                    format!("{:.0}", before + seconds * rate)
                }
                _ => value.clone(),
            };
            vec![name.clone(), value]
        };
        self.status.iter().enumerate().map(of).collect()
    }

    /// A pool of sessions in calm. Every other one works all the time: a few of those are in a statement, each time others,
    /// and the rest has just finished one, as it must be where two hundred statements a second complete. The others of the
    /// pool are idle. Were the workers idle for longer, few would seem to finish anything, and the recorder would look twice
    /// in each second, as it does where sessions seem to be held.
    fn sessions_at(&self, seconds: f64, count: u64, id: u32) -> Vec<Vec<String>> {
        let session = |number: usize| {
            let works = number.is_multiple_of(2);
            let is_busy = works && (number as u64 / 2 + count).is_multiple_of(RUNNING_IN);
            let (command, state, info) = match is_busy {
                true => (
                    "Query",
                    "Sending data",
                    "SELECT name FROM shop WHERE id = 7",
                ),
                false => ("Sleep", "", ""),
            };
            let time = match works {
                true => 0,
                false => IDLE_SECONDS + number + seconds as usize,
            };
            [
                (1_000_000 + number).to_string().as_str(),
                "app",
                "10.0.0.7:4711",
                "shop",
                command,
                time.to_string().as_str(),
                state,
                info,
            ]
            .map(str::to_owned)
            .into()
        };
        let id = id.to_string();
        let own = [
            id.as_str(),
            "root",
            "localhost",
            "",
            "Query",
            "0",
            "starting",
            "SHOW PROCESSLIST",
        ];
        let mut all: Vec<Vec<String>> = (0..self.sessions).map(session).collect();
        all.push(own.map(str::to_owned).into());
        all
    }
}

/// A whole answer.
fn rows(columns: &[&str], rows: &[Vec<String>]) -> Vec<u8> {
    let count = u8::try_from(columns.len()).unwrap_or(250);
    let mut bytes = packet(1, &[count]);
    let mut sequence = 1_u8;
    let mut next = || {
        sequence = sequence.wrapping_add(1);
        sequence
    };
    for name in columns {
        bytes.extend(column(next(), name.as_bytes()));
    }
    bytes.extend(end(next()));
    for row in rows {
        let mut payload = Vec::new();
        for value in row {
            // An integer with its length (protocol::LengthEncodedInteger).
            match value.len() {
                length @ 0..=250 => payload.push(length as u8),
                length @ 251..=0xffff => {
                    payload.push(0xfc);
                    payload.extend_from_slice(&(length as u16).to_le_bytes());
                }
                length => {
                    payload.push(0xfd);
                    let [a, b, c, ..] = length.to_le_bytes();
                    payload.extend_from_slice(&[a, b, c]);
                }
            }
            payload.extend_from_slice(value.as_bytes());
        }
        bytes.extend(packet(next(), &payload));
    }
    bytes.extend(end(next()));
    bytes
}
