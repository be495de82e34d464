//! Rows of the server's tables, in boxes, with tabs, or a row a paragraph (`\G`): as they stand
//! there. What they tell together is found out when all captures are read (`told`).

use crate::clean::Line;
use crate::kind::{Table, cells, is_mutex_row, is_vertical_row, table_of, vertical_name};
use crate::times;

use super::{Read, counted};

/// Rows of one table that are kept.
const ROWS_MAX: usize = 50_000;

/// Bytes of one value that are kept.
const VALUE_BYTES_MAX: usize = 16 << 10;

/// A table at a moment.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    pub(crate) table: Table,
    /// When, where the capture tells.
    pub(crate) at: Option<i64>,
    /// How many prints of the same table stand in front of it in this piece.
    pub(crate) nth: u64,
    /// Names of the columns, in lower case.
    pub(crate) columns: std::sync::Arc<[String]>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Rows {
    /// The values of some columns, row by row; empty where there is no such column.
    pub(crate) fn each<const N: usize>(
        &self,
        columns: [&str; N],
    ) -> impl Iterator<Item = [&str; N]> {
        let places = columns.map(|name| self.columns.iter().position(|column| column == name));
        self.rows.iter().map(move |row| {
            places.map(|place| {
                place
                    .and_then(|place| row.get(place))
                    .map_or("", String::as_str)
            })
        })
    }
}

pub(super) fn read(lines: &[Line<'_>]) -> Read {
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
    let rows: usize = all.iter().map(|rows| rows.rows.len()).sum();
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
    classes.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let named: Vec<String> = classes
        .iter()
        .take(NAMED)
        .filter(|(time, text)| *time > 0.0 && !text.is_empty())
        .map(|(time, text)| {
            let fingerprint = server::digests::fingerprint_of_digest_text(text);
            let short: String = fingerprint.chars().take(NAMED_CHARS).collect();
            format!("{:.0} % {short}", time * 100.0 / all)
        })
        .collect();
    let classes = counted(rows.rows.len(), "class", "classes");
    match named.is_empty() {
        true => classes,
        false => format!("{classes}; most time: {}", named.join("; ")),
    }
}

#[derive(Default)]
struct Reader {
    read: Read,
    at: Option<i64>,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    /// The row that is being read, field by field.
    fields: Vec<(String, String)>,
    /// Names of the fields of the first row.
    names: Vec<String>,
}

impl Reader {
    fn line(&mut self, line: &Line<'_>) {
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
        } else if text.starts_with('|') || (text.contains('\t') && self.fields.is_empty()) {
            self.cells(line, text);
        } else if let Some((name, value)) = vertical_name(text).filter(|_| self.is_field(text)) {
            if self.fields.len() < 200 {
                self.fields.push((name.to_ascii_lowercase(), cut(value)));
            }
        } else if let Some((_, value)) = self.fields.last_mut()
            && !text.is_empty()
            && value.len() < VALUE_BYTES_MAX
        {
            value.push(' ');
            value.push_str(text);
        }
    }

    /// In a statement of several lines, what looks like a field is one only when the row has such.
    fn is_field(&self, text: &str) -> bool {
        let in_statement = self.fields.last().is_some_and(|(name, _)| {
            name == "info" || name == "digest_text" || name.ends_with("_query")
        });
        !in_statement
            || vertical_name(text).is_some_and(|(name, _)| {
                let name = name.to_ascii_lowercase();
                name.contains('_') || self.names.contains(&name)
            })
    }

    fn cells(&mut self, line: &Line<'_>, text: &str) {
        let cells = cells(text);
        let lower: Vec<String> = cells.iter().map(|cell| cell.to_ascii_lowercase()).collect();
        if table_of(&lower).is_some() {
            self.end_row();
            self.end_table();
            self.columns = lower;
            return;
        }
        if self.columns.is_empty() && is_mutex_row(&cells) {
            self.columns = ["type", "name", "status"].map(str::to_owned).into();
        }
        if self.columns.is_empty() || self.rows.len() >= ROWS_MAX {
            return;
        }
        let mut values: Vec<String> = cells.iter().map(|cell| cut(null(cell))).collect();
        let wanted = self.columns.len();
        if values.len() > wanted {
            // A statement may hold the separator: it is nearly always the widest column.
            let over = values.len() - wanted;
            let widest = self
                .columns
                .iter()
                .position(|name| {
                    name.ends_with("query") || name == "digest_text" || name.ends_with("info")
                })
                .unwrap_or(wanted - 1);
            let parts: Vec<String> = values.drain(widest..=widest + over).collect();
            values.insert(widest, parts.join("|"));
        } else if values.len() < wanted {
            if self.read.skipped.len() < 100 {
                self.read
                    .skipped
                    .push((line.number, "a row has too few columns".into()));
            }
            values.resize(wanted, String::new());
        }
        self.rows.push(values);
    }

    fn end_row(&mut self) {
        let fields = std::mem::take(&mut self.fields);
        if fields.is_empty() || self.rows.len() >= ROWS_MAX {
            return;
        }
        let (names, values): (Vec<String>, Vec<String>) = fields
            .into_iter()
            .map(|(name, value)| (name, null(&value).to_owned()))
            .unzip();
        if self.names.is_empty() {
            self.names.clone_from(&names);
        }
        if names == self.names {
            self.rows.push(values);
            return;
        }
        // A row that was cut, or one of another table behind which the first line is missing.
        let by_name = |name: &String| {
            let place = names.iter().position(|other| other == name);
            place.and_then(|place| values.get(place).cloned())
        };
        self.rows.push(
            self.names
                .iter()
                .map(|name| by_name(name).unwrap_or_default())
                .collect(),
        );
    }

    fn end_table(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let names = std::mem::take(&mut self.names);
        let columns = match names.is_empty() {
            true => std::mem::take(&mut self.columns),
            false => names,
        };
        let Some(table) = table_of(&columns) else {
            return;
        };
        if rows.is_empty() {
            return;
        }
        let nth = self
            .read
            .rows
            .iter()
            .filter(|before| before.table == table)
            .count() as u64;
        self.read.rows.push(Rows {
            table,
            at: self.at,
            nth,
            columns: columns.into(),
            rows,
        });
    }
}

fn cut(value: &str) -> String {
    value
        .get(..value.floor_char_boundary(VALUE_BYTES_MAX))
        .unwrap_or(value)
        .to_owned()
}

fn null(cell: &str) -> &str {
    if cell == "NULL" { "" } else { cell }
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
        let told: Vec<_> = read.rows.iter().map(|rows| (rows.at, rows.nth)).collect();
        let (first, second) = (Some(1_700_000_000_500), Some(1_700_000_001_500));
        assert_eq!(told, [(first, 0), (second, 1), (second, 2)]);
    }
}
