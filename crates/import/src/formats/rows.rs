//! Rows of the server's tables that tell of transactions, locks, threads and statements, in boxes, with tabs, or a row a
//! paragraph (`\G`): which table it is, by the names of its columns, and the rows as they stand there. What they tell
//! together is found out when all captures are read (`told`).

use std::collections::BTreeMap;

use crate::format::Candidate;
use crate::format::{Format, Gap, Group, Heads, Recogniser, sign};
use crate::format::{Next, Open};
use crate::formats::{processlist, replication, unread};
use crate::line::Line;
use crate::read::cells::Cells;
use crate::read::rows::{Rows, Table};
use crate::read::{Read, counted};
use crate::table_rows::add_row;
use crate::tables::{cells, field, is_query, is_rule, is_vertical_row, null, vertical_name};
use crate::times;
use model::OrderBy;

pub(crate) static FORMAT: Format = Format {
    id: "rows",
    group: Group::Server,
    name: "rows of the server's tables",
    printed_by: "`INNODB_TRX`, `INNODB_LOCKS`, `INNODB_LOCK_WAITS`, `data_locks`, `data_lock_waits`, `metadata_locks`, `threads`, digests, `INNODB_METRICS`, `sys` views of waits, `SHOW ENGINE INNODB MUTEX`",
    content: "who waits for whom, how long transactions are open, the workload",
    recognisers: &[Recogniser::new(90, "", sign::TABLE, is_rows)],
    continues,
    absorbs: |open, next| {
        let is_head = || {
            let behind = next.behind.map(Line::trimmed);
            is_vertical_row(next.text) && behind.is_some_and(is_transaction_field)
        };
        open.cells == 0 && (is_transaction_field(next.text) || is_head())
    },
    add: add_row,
    gap: Gap::Lines(6),
    is_table: true,
    heads: Heads::Each,
    preference: 11,
    read,
    ..Format::NONE
};

/// The columns of `INNODB_METRICS`, those of MariaDB too: names and counts alone have many tables.
const METRICS: [&str; 18] = [
    "name",
    "subsystem",
    "count",
    "max_count",
    "min_count",
    "avg_count",
    "count_reset",
    "max_count_reset",
    "min_count_reset",
    "avg_count_reset",
    "time_enabled",
    "time_disabled",
    "time_elapsed",
    "time_reset",
    "status",
    "enabled",
    "type",
    "comment",
];

/// What the names of InnoDB's counters begin with.
const METRIC_NAMES: [&str; 16] = [
    "trx_",
    "purge_",
    "lock_",
    "buffer_",
    "log_",
    "os_",
    "index_",
    "adaptive_hash_",
    "file_",
    "ibuf_",
    "innodb_",
    "dml_",
    "ddl_",
    "icp_",
    "metadata_",
    "undo_",
];

/// Names of columns that only this table has together.
const TABLES: [(Table, &[&str]); 16] = [
    (Table::Transactions, &["trx_id", "trx_state", "trx_started"]),
    (Table::Blockers, &["who_blocks", "num_waiters"]),
    (
        Table::MetadataWaits,
        &["object_schema", "object_name", "waiting_thread_id"],
    ),
    (
        Table::MetadataWaits,
        &["object_name", "waiting_pid", "blocking_pid"],
    ),
    (Table::LockWaits, &["waiting_trx_id", "waiting_thread"]),
    (Table::LockWaits, &["waiting_pid", "blocking_pid"]),
    (
        Table::LockWaits,
        &["wait_started", "wait_age", "locked_table"],
    ),
    (
        Table::LockWaitPairs,
        &["requesting_trx_id", "blocking_trx_id"],
    ),
    (Table::InnodbLocks, &["lock_id", "lock_trx_id", "lock_mode"]),
    (
        Table::DataLockWaits,
        &["requesting_engine_lock_id", "requesting_thread_id"],
    ),
    (
        Table::DataLocks,
        &["engine_lock_id", "engine_transaction_id", "thread_id"],
    ),
    (
        Table::MetadataLocks,
        &["object_type", "object_schema", "lock_duration"],
    ),
    (
        Table::Threads,
        &["thread_id", "processlist_id", "processlist_user"],
    ),
    (
        Table::Threads,
        &["processlist_id", "processlist_command", "processlist_state"],
    ),
    (Table::Threads, &["conn_id", "command", "state"]),
    (Table::Digests, &["digest", "digest_text", "count_star"]),
];

/// The table with these columns, in lower case.
fn table_of(columns: &[String]) -> Option<Table> {
    let has = |name: &str| columns.iter().any(|column| column == name);
    if matches!(columns, [one, two, three] if one == "type" && two == "name" && three == "status") {
        return Some(Table::Mutexes);
    }
    if has("name") && has("count") && columns.iter().all(|name| METRICS.contains(&name.as_str())) {
        return Some(Table::Metrics);
    }
    TABLES
        .iter()
        .find(|(_, names)| names.iter().all(|name| has(name)))
        .map(|(table, _)| *table)
}

/// One of the lines tells of a counter of InnoDB.
fn has_metric(lines: &[&str]) -> bool {
    let is_name = |word: &str| METRIC_NAMES.iter().any(|start| word.starts_with(start));
    lines
        .iter()
        .any(|line| line.split(['|', '\t', ' ']).any(is_name))
}

/// A head of such a table, or a row in the form of `\G` with the first of its fields behind it.
fn is_rows(at: &Candidate<'_>) -> bool {
    let next = at.next;
    if is_vertical_row(at.text) {
        let names: Vec<String> = next
            .iter()
            .filter_map(|line| vertical_name(line.trim()))
            .map(|(name, _)| name.to_ascii_lowercase())
            .collect();
        return match table_of(&names) {
            Some(Table::Mutexes) => next.iter().take(3).any(|line| line.contains("waits=")),
            Some(Table::Metrics) => has_metric(next),
            table => table.is_some(),
        };
    }
    let cells = at.cells();
    if is_mutex_row(cells) {
        return true;
    }
    if cells.len() < 2 || !cells.iter().all(|cell| is_column(cell)) {
        return false;
    }
    let columns: Vec<String> = cells.iter().map(|cell| cell.to_ascii_lowercase()).collect();
    match table_of(&columns) {
        // SHOW ENGINE INNODB STATUS has the same columns.
        Some(Table::Mutexes) => next.iter().take(2).any(|line| line.contains("waits=")),
        Some(Table::Metrics) => has_metric(next),
        table => table.is_some(),
    }
}

/// A row of `SHOW ENGINE INNODB MUTEX`, which without its head (`mysql -N`) is known as well.
pub(crate) fn is_mutex_row(cells: &[&str]) -> bool {
    matches!(cells, ["InnoDB", _, waits] if waits.starts_with("waits=") || waits.starts_with("os_waits="))
}

fn is_column(cell: &str) -> bool {
    !cell.is_empty()
        && cell.len() <= 64
        && cell.starts_with(|c: char| c.is_ascii_alphabetic())
        && cell
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn continues(open: &Open, next: &Next<'_>) -> bool {
    let others = [&processlist::FORMAT, &replication::FORMAT, &unread::FORMAT];
    let is_another = || next.own.is_some_and(|own| others.contains(&own));
    is_rule(next.text)
        || open.is_row(next.text)
        || (open.cells == 0 && next.own.is_none() && vertical_name(next.text).is_some())
        || (open.cells == 0 && !is_another() && is_vertical_row(next.text))
        || open.statement_goes_on(next)
}

/// `trx_started: 2026-11-23 07:36:53`, `requesting_trx_id: 5`: a field of the tables of transactions and
/// locks, which nothing else has.
fn is_transaction_field(text: &str) -> bool {
    const BEGINS: [&str; 6] = [
        "trx_",
        "requesting_",
        "requested_",
        "blocking_",
        "waiting_",
        "lock_",
    ];
    BEGINS.iter().any(|begin| text.starts_with(begin)) && field(text, 64).is_some()
}

/// Rows of one table that are kept.
const ROWS_MAX: usize = 50_000;

/// Bytes of one value that are kept.
const VALUE_BYTES_MAX: usize = 16 << 10;

fn read(lines: &[Line<'_>]) -> Read {
    let mut reader = Reader::default();
    for line in lines {
        reader.line(line);
    }
    reader.end_row();
    reader.end_table();
    let mut read = reader.read;
    read.brought = brought(&read.rows);
    read.what = what(&read.rows);
    read
}

fn what(all: &[Rows]) -> Option<String> {
    let mut names: Vec<&str> = all.iter().map(|rows| name(rows.table)).collect();
    names.dedup();
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

fn name(table: Table) -> &'static str {
    match table {
        Table::Transactions => "INNODB_TRX",
        Table::LockWaits | Table::Blockers => "waits for row locks",
        Table::InnodbLocks => "INNODB_LOCKS",
        Table::LockWaitPairs => "INNODB_LOCK_WAITS",
        Table::DataLocks => "data_locks",
        Table::DataLockWaits => "data_lock_waits",
        Table::MetadataLocks => "metadata_locks",
        Table::MetadataWaits => "waits for metadata locks",
        Table::Threads => "threads",
        Table::Digests => "statement digests",
        Table::Mutexes => "InnoDB mutexes",
        Table::Metrics => "INNODB_METRICS",
    }
}

/// Classes of statements that are named.
const NAMED: usize = 3;

/// Characters of a statement that are named.
const NAMED_CHARS: usize = 70;

fn brought(all: &[Rows]) -> String {
    if let [only] = all
        && only.table == Table::Digests
    {
        return digests_in_words(only);
    }
    let rows: usize = all.iter().map(Rows::len).sum();
    let rows = counted(rows, "row", "rows");
    match all.len() {
        1 => rows,
        prints => format!("{rows} in {prints} tables"),
    }
}

/// One print of the digests tells no rates: what had most time since the table was last emptied.
fn digests_in_words(rows: &Rows) -> String {
    let mut classes: Vec<(f64, &str)> = rows
        .each(["sum_timer_wait", "digest_text"])
        .map(|[time, text]| (time.parse().unwrap_or(0.0), text))
        .collect();
    let all: f64 = classes.iter().map(|(time, _)| time).sum();
    classes.order_by(|(a, _), (b, _)| b.total_cmp(a));
    let named: Vec<String> = classes
        .iter()
        .take(NAMED)
        .filter(|(time, text)| *time > 0.0 && !text.is_empty())
        .map(|(time, text)| {
            let fingerprint = server::digests::fingerprint_of_digest_text(text);
            let fingerprint = sql::without_remark(&fingerprint);
            let short: String = fingerprint.chars().take(NAMED_CHARS).collect();
            format!("{:.0} % {short}", time * 100.0 / all)
        })
        .collect();
    let classes = counted(rows.len(), "class", "classes");
    match named.is_empty() {
        true => classes,
        false => format!("{classes}; most time: {}", named.join("; ")),
    }
}

#[derive(Default)]
struct Reader<'a> {
    read: Read,
    at: Option<i64>,
    /// How often each table was printed.
    printed: BTreeMap<Table, u64>,
    /// Names of the columns, in lower case, once they are known.
    columns: Vec<String>,
    /// The rows of the table.
    values: Cells,
    /// The names of the row that is being read field by field, and the values.
    names: Vec<&'a str>,
    fields: Cells,
    /// The lines of the statement that is being read; none when the last field is none.
    statement: Option<String>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: &'a Line<'_>) {
        let text = line.trimmed();
        if let Some(at) = times::ts(text) {
            self.end_row();
            self.end_table();
            self.at = Some(at);
        } else if is_vertical_row(text) {
            self.end_row();
            if text.contains("* 1. row *") {
                self.end_table();
            }
        } else if text.starts_with('|') || (self.names.is_empty() && text.contains('\t')) {
            self.cells(line, text);
        } else if let Some((name, value)) =
            vertical_name(text).filter(|(name, _)| self.is_field(name))
        {
            if self.names.len() < 200 {
                self.end_value();
                self.names.push(name);
                self.fields.push(cut(value));
                self.statement = is_statement(name).then(|| cut(value).to_owned());
            }
        } else if !text.is_empty() {
            self.goes_on(text);
        }
    }

    /// A line of a value that has several. Where a statement ends is asked when all its lines are known.
    fn goes_on(&mut self, text: &str) {
        let has_lines = self.has_lines();
        match &mut self.statement {
            Some(statement) if statement.len() < VALUE_BYTES_MAX => {
                statement.push('\n');
                statement.push_str(text);
            }
            Some(_) => {}
            // Other values have one line: what stands below one is somebody's.
            None if has_lines => self.fields.lengthen(text, VALUE_BYTES_MAX),
            None => {}
        }
    }

    /// Whether the last field holds a text that may have several lines.
    fn has_lines(&self) -> bool {
        let last = self.names.last().map(|name| name.to_ascii_lowercase());
        last.is_some_and(|name| {
            let words = ["text", "query", "statement", "info", "state"];
            words.iter().any(|word| name.contains(word))
        })
    }

    /// Takes the lines of a statement, without what people wrote below it.
    fn end_value(&mut self) {
        let Some(statement) = self.statement.take() else {
            return;
        };
        let end = sql::end_of_statement(&statement);
        let own = statement.get(..end).unwrap_or_default();
        for line in own.split_terminator('\n').skip(1) {
            self.fields.lengthen(line, VALUE_BYTES_MAX);
        }
    }

    /// In a statement of several lines, what looks like a field is one only when the row has such.
    fn is_field(&self, name: &str) -> bool {
        let in_statement = self
            .names
            .last()
            .is_some_and(|last| is_statement(last) || last.eq_ignore_ascii_case("digest_text"));
        !in_statement
            || name.contains('_')
            || self
                .columns
                .iter()
                .any(|column| column.eq_ignore_ascii_case(name))
    }

    fn cells(&mut self, line: &Line<'_>, text: &str) {
        let joined: String;
        let mut cells = cells(text);
        // A row that begins with a number is no head.
        if !cells
            .first()
            .is_some_and(|cell| cell.starts_with(|c: char| c.is_ascii_digit()))
        {
            let lower: Vec<String> = cells.iter().map(|cell| cell.to_ascii_lowercase()).collect();
            if table_of(&lower).is_some() {
                self.end_row();
                self.end_table();
                self.columns = lower;
                return;
            }
        }
        if self.columns.is_empty() && is_mutex_row(&cells) {
            self.columns = ["type", "name", "status"].map(str::to_owned).into();
        }
        if self.columns.is_empty() || self.is_full() {
            return;
        }
        let wanted = self.columns.len();
        if cells.len() > wanted {
            // A statement may hold the separator: it is nearly always the widest column.
            let over = cells.len() - wanted;
            let widest = self
                .columns
                .iter()
                .position(|name| {
                    name.ends_with("query") || name == "digest_text" || name.ends_with("info")
                })
                .unwrap_or(wanted - 1);
            let parts: Vec<&str> = cells.drain(widest..=widest + over).collect();
            joined = parts.join("|");
            cells.insert(widest, &joined);
        } else if cells.len() < wanted {
            if self.read.skipped.len() < 100 {
                self.read
                    .skipped
                    .push((line.number, "a row has too few columns".into()));
            }
            cells.resize(wanted, "");
        }
        for cell in cells {
            self.values.push(cut(null(cell)));
        }
    }

    fn is_full(&self) -> bool {
        self.values.len() >= ROWS_MAX * self.columns.len()
    }

    fn end_row(&mut self) {
        self.end_value();
        if self.columns.is_empty() {
            self.columns = self
                .names
                .iter()
                .map(|name| name.to_ascii_lowercase())
                .collect();
        }
        if !self.names.is_empty() && !self.is_full() {
            let is = |(column, name): (&String, &&str)| {
                column == name || column.eq_ignore_ascii_case(name)
            };
            let is_whole = self.columns.len() == self.names.len()
                && self.columns.iter().zip(&self.names).all(is);
            for (place, column) in self.columns.iter().enumerate() {
                // A row that was cut, or one of another table behind which the first line is missing.
                let place = match is_whole {
                    true => Some(place),
                    false => self.names.iter().position(|name| is((column, name))),
                };
                let value = place.and_then(|place| self.fields.get(place));
                self.values.push(null(value.unwrap_or_default()));
            }
        }
        self.names.clear();
        self.fields.clear();
    }

    fn end_table(&mut self) {
        let values = std::mem::take(&mut self.values);
        let columns = std::mem::take(&mut self.columns);
        let Some(table) = table_of(&columns).filter(|_| !values.is_empty()) else {
            return;
        };
        let printed = self.printed.entry(table).or_default();
        let nth = *printed;
        *printed += 1;
        self.read.rows.push(Rows {
            table,
            at: self.at,
            nth,
            columns,
            values,
        });
    }
}

/// Whether a column of this name has statements of clients.
fn is_statement(name: &str) -> bool {
    is_query(name) || name.eq_ignore_ascii_case("info")
}

fn cut(value: &str) -> &str {
    value
        .get(..value.floor_char_boundary(VALUE_BYTES_MAX))
        .unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn three_forms_say_the_same() {
        let boxes = "+---+\n| trx_id | trx_state | trx_started | trx_query |\n+---+\n| 5 | LOCK WAIT | 2020-01-01 00:00:00 | update t set a = b|c |\n+---+\n";
        let tabs = "trx_id\ttrx_state\ttrx_started\ttrx_query\n5\tLOCK WAIT\t2020-01-01 00:00:00\tupdate t set a = b|c\n";
        let vertical = "***** 1. row *****\n     trx_id: 5\n  trx_state: LOCK WAIT\ntrx_started: 2020-01-01 00:00:00\n  trx_query: update t\nset a = b|c\n";
        for text in [boxes, tabs, vertical] {
            let read = read(&clean::lines(text));
            assert_eq!(read.rows.len(), 1, "{text}");
            let rows: Vec<_> = read.rows[0].each(["trx_id", "trx_query", "none"]).collect();
            assert_eq!(rows, [["5", "update t set a = b|c", ""]], "{text}");
            assert_eq!(read.what.as_deref(), Some("INNODB_TRX"));
        }
    }

    #[test]
    fn what_people_write_below_a_statement_is_none_of_it() {
        let remark = "her password is hunter2\nThanks, Alice";
        let row = "***** 1. row *****\n     trx_id: 5\n  trx_state: LOCK WAIT\ntrx_started: 2020-01-01 00:00:00\n  trx_query: update t\nset a = b\n";
        for text in [
            format!("{row}{remark}\n"),
            format!("{row}{remark}\n{row}"),
            format!("{row}{remark}\n  trx_state: RUNNING\n"),
        ] {
            let read = read(&clean::lines(&text));
            let rows: Vec<_> = read.rows[0].each(["trx_id", "trx_query"]).collect();
            assert!(
                rows.iter().all(|row| *row == ["5", "update t set a = b"]),
                "{rows:?}"
            );
        }
    }

    #[test]
    fn what_people_write_below_a_value_of_one_line_is_none_of_it() {
        let text = "***** 1. row *****\n     trx_id: 5\n  trx_state: RUNNING\ntrx_started: 2020-01-01 00:00:00\nher card is hunter2\n  trx_query: update t\nset a = b\n";
        let read = read(&clean::lines(text));
        let rows: Vec<_> = read.rows[0]
            .each(["trx_state", "trx_started", "trx_query"])
            .collect();
        assert_eq!(
            rows,
            [["RUNNING", "2020-01-01 00:00:00", "update t set a = b"]]
        );
    }

    /// An alias on a line of its own is one only if the statement goes on behind it.
    #[test]
    fn a_statement_is_judged_when_all_its_lines_are_known() {
        let text = "***** 1. row *****\n     trx_id: 5\n  trx_state: LOCK WAIT\ntrx_started: 2020-01-01 00:00:00\n  trx_query: select * from (\nselect 1\n)\nx\nwhere 1\nher password is hunter2\n";
        let read = read(&clean::lines(text));
        let rows: Vec<_> = read.rows[0].each(["trx_query"]).collect();
        assert_eq!(rows, [["select * from ( select 1 ) x where 1"]]);
    }

    #[test]
    fn a_note_behind_a_number_is_none_of_it() {
        let text = "***** 1. row *****\n object_schema: shop\n   object_name: t\nwaiting_thread_id: 7\n  blocking_pid: 34117   -- holds it\n waiting_query: select 1 -- a\n";
        let read = read(&clean::lines(text));
        let rows: Vec<_> = read.rows[0]
            .each(["blocking_pid", "waiting_query"])
            .collect();
        assert_eq!(rows, [["34117", "select 1 -- a"]]);
    }

    #[test]
    fn each_print_is_a_moment() {
        let row = "***** 1. row *****\ntrx_id: 5\ntrx_state: RUNNING\ntrx_started: x\n";
        let text = format!("TS 1700000000.5 x\n{row}TS 1700000001.5 x\n{row}{row}");
        let read = read(&clean::lines(&text));
        let prints: Vec<_> = read.rows.iter().map(|rows| (rows.at, rows.nth)).collect();
        let (first, second) = (Some(1_700_000_000_500), Some(1_700_000_001_500));
        assert_eq!(prints, [(first, 0), (second, 1), (second, 2)]);
    }
}
