//! What the server itself counts by class of statement: two readings of
//! `performance_schema.events_statements_summary_by_digest`, and their difference.
//!
//! The table counts since it was last emptied. Columns that are no sums (`MIN_`, `AVG_`, `QUANTILE_…`) describe all that
//! time and not the window between two readings, so they are not read, but for the extremes: one that a window moved was
//! reached in the window.

mod coverage;
mod delta;
mod text;

use std::collections::{BTreeSet, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

use model::{Absent, QueryDigest, Reason};

use crate::connection::Row;
use crate::{OwnStatementFilter, ServerError, ServerVersion, Session};

use coverage::Counts;

pub use coverage::DigestCoverage;
pub use delta::delta;
pub use text::fingerprint_of_digest_text;

/// What is missing, in [`Absent::what`].
pub(crate) const WHAT: &str = "statement digests";

/// Rows that are read. The table has 10,000 at most unless the user made it larger
/// (`performance_schema_digests_size`, MySQL 8.4 manual, 29.15).
const ROWS_MAX: usize = 50_000;

/// Digests whose texts are asked for by name; of more, all texts are asked for. Each question walks the whole table.
const TEXTS_BY_NAME_MAX: usize = 500;

/// Fingerprints that a reader keeps between readings.
const TEXTS_MAX: usize = 100_000;

/// Seconds that the server may take for one question, where it knows such a limit; see [`Session::connect_quiet`].
const LIMITS: [&str; 3] = [
    "SET SESSION max_statement_time = 10",
    // MySQL 5.7 and later, milliseconds.
    "SET SESSION max_execution_time = 10000",
    // Moments are compared between readings; a session's zone may skip an hour.
    "SET SESSION time_zone = '+00:00'",
];

/// The sums, all of them in MySQL since 5.6 and in MariaDB since 10.0. No `DIGEST_TEXT`: it is most of the table's
/// bytes, and is asked for where a count has moved. No `WHERE` and no `ORDER BY`: the rows come in the order of their
/// slots, so that a limit cuts both readings at the same place.
const NUMBERS: &str = "SELECT SCHEMA_NAME, DIGEST, COUNT_STAR, SUM_TIMER_WAIT, MIN_TIMER_WAIT, MAX_TIMER_WAIT, \
    SUM_LOCK_TIME, SUM_ERRORS, SUM_WARNINGS, SUM_ROWS_AFFECTED, SUM_ROWS_SENT, SUM_ROWS_EXAMINED, \
    SUM_CREATED_TMP_TABLES, SUM_CREATED_TMP_DISK_TABLES, SUM_SORT_MERGE_PASSES, SUM_NO_INDEX_USED, FIRST_SEEN \
    FROM performance_schema.events_statements_summary_by_digest LIMIT ";

/// How much the server was asked, and what found no room. The name is ours, so that the question is known as our own.
const STATUS: &str = "SHOW GLOBAL STATUS WHERE 'freezeframe' <> '' \
    AND Variable_name IN ('Questions', 'Performance_schema_digest_lost')";

/// All statements that were counted, without a row for each class.
const COUNTED: &str = "SELECT SUM(COUNT_STAR) FROM performance_schema.events_statements_summary_by_digest WHERE 'freezeframe' <> ''";

/// The sums of one row since it was made. Times are picoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DigestSums {
    /// Statements that were executed (`COUNT_STAR`).
    pub count: u64,
    /// Their time together (`SUM_TIMER_WAIT`).
    pub wait: u64,
    /// The shortest statement of all; 0 where there was none.
    pub wait_min: u64,
    /// The longest statement of all (`MAX_TIMER_WAIT`).
    pub wait_max: u64,
    /// Time in which they waited for locks of tables.
    pub lock: u64,
    /// Statements that ended with an error.
    pub errors: u64,
    /// Warnings.
    pub warnings: u64,
    /// Rows changed.
    pub rows_affected: u64,
    /// Rows sent.
    pub rows_sent: u64,
    /// Rows examined.
    pub rows_examined: u64,
    /// Temporary tables.
    pub tmp_tables: u64,
    /// Temporary tables on disk.
    pub tmp_disk_tables: u64,
    /// Passes of sorts that did not fit into memory.
    pub merge_passes: u64,
    /// Statements that used no index.
    pub no_index_used: u64,
}

/// One row of the table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DigestRow {
    /// The sums.
    pub sums: DigestSums,
    /// When the row was made, as the server writes it: another one is another row.
    pub first_seen: String,
    /// The statement as the server normalised it; empty where it was not asked for.
    pub text: String,
}

/// The default database and the server's name of the class.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DigestKey {
    /// Empty where the session had none.
    pub schema: String,
    /// Hexadecimal digits.
    pub digest: String,
}

/// The table at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DigestReading {
    /// When, microseconds since 1970 UTC.
    pub at_us: i64,
    /// The rows of classes.
    pub rows: HashMap<DigestKey, DigestRow>,
    /// The row of all classes that found no room, when there is one.
    pub no_room: Option<DigestRow>,
    /// `Performance_schema_digest_lost`.
    pub lost: u64,
    /// `Questions`: statements that clients sent.
    pub questions: Option<u64>,
    /// Rows over our own limit.
    pub left_out: usize,
}

/// Reads the table again and again: each time what was asked since the time before.
#[derive(Debug, Default)]
pub struct DigestReader {
    previous: Option<DigestReading>,
    texts: HashMap<String, String>,
    asked: Option<DigestCoverage>,
    own: OwnStatementFilter,
}

impl DigestReader {
    /// A reader of one server, over one or more connections.
    pub fn new() -> Self {
        Self::default()
    }

    /// Prepares a session for reading, and tells whether there is something to read: what is off is an error that says
    /// how it is switched on. Once a connection.
    pub fn prepare(session: &mut Session) -> Result<(), Absent> {
        for statement in LIMITS {
            match session.execute(statement) {
                Err(error) if error.is_connection_lost() => return Err(error.absent(WHAT)),
                _ => {}
            }
        }
        is_on(session)
    }

    /// Reads the table; the difference to the reading before, or nothing at the first one.
    ///
    /// One question for the numbers, and one for the texts of classes that were not seen before, if any. An error leaves the reading before in force, so that the next difference covers both stretches.
    pub fn next(&mut self, session: &mut Session) -> Result<Option<QueryDigest>, ServerError> {
        let mut now = read_numbers(session)?;
        let Some(before) = &self.previous else {
            self.previous = Some(now);
            self.own.begin(session.own());
            return Ok(None);
        };
        let moved: BTreeSet<&str> = now
            .rows
            .iter()
            .filter(|(key, row)| delta::has_moved(before.rows.get(*key), row))
            .map(|(key, _)| key.digest.as_str())
            .collect();
        if self.texts.len() + moved.len() > TEXTS_MAX {
            self.texts.clear();
        }
        let unknown: Vec<&str> = moved
            .into_iter()
            .filter(|digest| !self.texts.contains_key(*digest))
            .collect();
        if !unknown.is_empty() {
            read_texts(session, &unknown, &mut self.texts)?;
        }
        for (key, row) in &mut now.rows {
            if let Some(text) = self.texts.get(&key.digest) {
                row.text.clone_from(text);
            }
        }
        self.asked = Counts::from_reading(&now).since(Counts::from_reading(before));
        let mut digest = delta(before, &now);
        self.own.take_out(&mut digest, session.own());
        for row in now.rows.values_mut() {
            row.text = String::new();
        }
        self.previous = Some(now);
        Ok(Some(digest))
    }

    /// How much the server was asked in the stretch of the last difference, where it tells.
    pub fn coverage(&self) -> Option<DigestCoverage> {
        self.asked
    }

    /// How much it was asked since the reading before, which stays in force: two short questions.
    pub fn measure_coverage(
        &self,
        session: &mut Session,
    ) -> Result<Option<DigestCoverage>, ServerError> {
        let Some(before) = &self.previous else {
            return Ok(None);
        };
        let (rows, _) = session.rows(COUNTED, 1)?;
        let now = Counts {
            counted: rows.first().map_or(0, |row| number(row.column(0))),
            questions: read_status(session)?.questions,
        };
        Ok(now.since(Counts::from_reading(before)))
    }

    /// Forgets the reading before: the next one begins anew.
    pub fn restart(&mut self) {
        self.previous = None;
    }
}

fn is_on(session: &mut Session) -> Result<(), Absent> {
    let unsupported = |detail: &str| Absent::new(WHAT, Reason::Unsupported, detail);
    let (rows, _) = session
        .rows("SELECT @@performance_schema, VERSION()", 1)
        .map_err(|error| error.absent(WHAT))?;
    let first = rows.first();
    if first.is_none_or(|row| row.column(0) != "1") {
        return Err(unsupported(why_off(first.map_or("", |row| row.column(1)))));
    }
    let consumer = session.rows(
        "SELECT ENABLED FROM performance_schema.setup_consumers \
         WHERE NAME IN ('global_instrumentation', 'thread_instrumentation', 'statements_digest') AND ENABLED <> 'YES'",
        3,
    );
    match consumer {
        Ok((off, _)) if !off.is_empty() => {
            return Err(unsupported(
                "performance_schema counts no digests; to switch them on: UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' \
                 WHERE NAME IN ('global_instrumentation', 'thread_instrumentation', 'statements_digest')",
            ));
        }
        Err(error) if error.is_connection_lost() => return Err(error.absent(WHAT)),
        // Without the right to look, the table itself tells.
        _ => {}
    }
    // Our own question of a moment ago is counted, unless nothing is.
    let table =
        "SELECT COUNT_STAR FROM performance_schema.events_statements_summary_by_digest LIMIT 1";
    match session.rows(table, 1) {
        Ok((rows, _)) if rows.is_empty() => Err(unsupported(
            "the table of digests stays empty: statement instruments are off \
             (performance_schema.setup_instruments), or performance_schema_digests_size is 0",
        )),
        Ok(_) => Ok(()),
        Err(error) => Err(why_refused(&error)),
    }
}

/// A switch that would bring nothing is not named: performance_schema is older than its digests.
fn why_off(version: &str) -> &'static str {
    let is_older = |version: ServerVersion| match version.is_mariadb() {
        true => !version.is_from(10, 0, 0),
        false => !version.is_from(5, 6, 0),
    };
    match ServerVersion::read(version).is_some_and(is_older) {
        true => "this version has none: they exist from MySQL 5.6 and MariaDB 10.0 on",
        false => {
            "performance_schema is off; to switch it on: performance_schema=ON in the server's option file"
        }
    }
}

fn why_refused(error: &ServerError) -> Absent {
    let absent = error.absent(WHAT);
    let hint = match absent.reason {
        Reason::Permission => "; GRANT SELECT ON performance_schema.* to this account",
        Reason::Unsupported => "; the table exists from MySQL 5.6 and MariaDB 10.0 on",
        _ => "",
    };
    Absent {
        detail: format!("{}{hint}", absent.detail),
        ..absent
    }
}

fn read_numbers(session: &mut Session) -> Result<DigestReading, ServerError> {
    // One row over the limit tells that there are more.
    let (rows, _) = session.rows(&format!("{NUMBERS}{}", ROWS_MAX + 1), ROWS_MAX + 1)?;
    let at_us = now_us();
    let mut reading = DigestReading {
        at_us,
        left_out: rows.len().saturating_sub(ROWS_MAX),
        ..DigestReading::default()
    };
    for row in rows.iter().take(ROWS_MAX) {
        let sums = row_of(row);
        match row.get("digest") {
            // NULL: the first slot, in which everything is counted that finds no room.
            "" => reading.no_room = Some(sums),
            digest => {
                let key = DigestKey {
                    schema: row.get("schema_name").to_owned(),
                    digest: digest.to_owned(),
                };
                reading.rows.insert(key, sums);
            }
        }
    }
    let status = read_status(session)?;
    reading.lost = status.lost;
    reading.questions = status.questions;
    Ok(reading)
}

struct Status {
    questions: Option<u64>,
    lost: u64,
}

fn read_status(session: &mut Session) -> Result<Status, ServerError> {
    let (rows, _) = session.rows(STATUS, 2)?;
    let value = |name: &str| {
        let row = rows
            .iter()
            .find(|row| row.column(0).eq_ignore_ascii_case(name))?;
        row.column(1).parse().ok()
    };
    Ok(Status {
        questions: value("Questions"),
        lost: value("Performance_schema_digest_lost").unwrap_or(0),
    })
}

fn row_of(row: &Row) -> DigestRow {
    let get = |name: &str| number(row.get(name));
    DigestRow {
        sums: DigestSums {
            count: get("count_star"),
            wait: get("sum_timer_wait"),
            wait_min: get("min_timer_wait"),
            wait_max: get("max_timer_wait"),
            lock: get("sum_lock_time"),
            errors: get("sum_errors"),
            warnings: get("sum_warnings"),
            rows_affected: get("sum_rows_affected"),
            rows_sent: get("sum_rows_sent"),
            rows_examined: get("sum_rows_examined"),
            tmp_tables: get("sum_created_tmp_tables"),
            tmp_disk_tables: get("sum_created_tmp_disk_tables"),
            merge_passes: get("sum_sort_merge_passes"),
            no_index_used: get("sum_no_index_used"),
        },
        first_seen: row.get("first_seen").to_owned(),
        text: String::new(),
    }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

/// The texts of these digests. A digest is written into the question only when it is what servers make of one.
fn read_texts(
    session: &mut Session,
    digests: &[&str],
    texts: &mut HashMap<String, String>,
) -> Result<(), ServerError> {
    let (rows, _) = session.rows(&texts_question(digests), ROWS_MAX)?;
    for row in rows {
        if texts.len() < TEXTS_MAX {
            texts.insert(row.column(0).to_owned(), row.column(1).to_owned());
        }
    }
    Ok(())
}

fn texts_question(digests: &[&str]) -> String {
    const ALL: &str =
        "SELECT DIGEST, DIGEST_TEXT FROM performance_schema.events_statements_summary_by_digest";
    if digests.len() > TEXTS_BY_NAME_MAX {
        return format!("{ALL} LIMIT {ROWS_MAX}");
    }
    let is_digest =
        |digest: &&str| !digest.is_empty() && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut quoted: Vec<String> = digests
        .iter()
        .copied()
        .filter(is_digest)
        .map(|digest| format!("'{digest}'"))
        .collect();
    if quoted.is_empty() {
        quoted.push("''".to_owned());
    }
    format!("{ALL} WHERE DIGEST IN ({})", quoted.join(", "))
}

fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    })
}

/// Whether a class is one of the reader's own questions, by its fingerprint. Other tools read the table too; only our own
/// list of columns is left out.
pub(crate) fn is_own(fingerprint: &str) -> bool {
    const NUMBERS_START: &str =
        "select schema_name, digest, count_star, sum_timer_wait, min_timer_wait, max_timer_wait";
    const TEXTS_START: &str =
        "select digest, digest_text from performance_schema.events_statements_summary_by_digest";
    const STATUS_START: &str = "show global status where ?";
    const COUNTED_START: &str = "select sum(count_star) from performance_schema.events_statements_summary_by_digest where ?";
    [NUMBERS_START, TEXTS_START, STATUS_START, COUNTED_START]
        .iter()
        .any(|start| fingerprint.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_named_only_where_it_brings_something() {
        for (version, is_named) in [
            ("5.5.9", false),
            ("5.5.68-MariaDB", false),
            ("5.6.51-log", true),
            ("8.0.36-28", true),
            ("10.11.19-MariaDB-0+deb12u1", true),
            ("5.5.5-10.0.38-MariaDB", true),
            ("", true),
        ] {
            let why = why_off(version);
            assert_eq!(why.contains("performance_schema=ON"), is_named, "{version}");
        }
    }

    #[test]
    fn our_own_questions_are_known() {
        assert!(is_own(&sql::fingerprint(NUMBERS)));
        assert!(is_own(&sql::fingerprint(&texts_question(&["aa", "bb"]))));
        assert!(is_own(&sql::fingerprint(&texts_question(&["aa"; 1000]))));
        for question in [STATUS, COUNTED] {
            let fingerprint = sql::fingerprint(question);
            assert!(is_own(&fingerprint), "{fingerprint}");
        }
        assert!(!is_own(
            "select digest from performance_schema.events_statements_summary_by_digest"
        ));
    }

    #[test]
    fn a_digest_that_is_none_is_not_asked_for() {
        assert!(texts_question(&["ab12", "x' OR 1", ""]).ends_with("WHERE DIGEST IN ('ab12')"));
    }
}
