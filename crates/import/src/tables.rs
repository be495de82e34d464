//! Rows of tables as clients print them: in boxes, with tabs, or a row a paragraph (`\G`).

use crate::formats::name_value::is_name_value_head;
use crate::formats::processlist::is_processlist_head;
use crate::notes;
use crate::split::{Next, Open, WRAPPED_LINES_MAX};

/// `*************************** 1. row ***************************`.
pub(crate) fn is_vertical_row(text: &str) -> bool {
    text.starts_with("*****") && text.ends_with("*****") && text.contains(". row ")
}

/// The cells of a row of a table, of `mysql`'s boxes or of tabs.
pub(crate) fn cells(text: &str) -> Vec<&str> {
    if let Some(inner) = text.strip_prefix('|') {
        let inner = inner.strip_suffix('|').unwrap_or(inner);
        return inner.split('|').map(str::trim_ascii).collect();
    }
    if text.contains('\t') {
        return text.split('\t').map(str::trim_ascii).collect();
    }
    Vec::new()
}

/// The name and the value of a field of a row in the form of `\G`: `    trx_state: LOCK WAIT`. A
/// number is without what somebody noted behind it.
pub(crate) fn vertical_name(text: &str) -> Option<(&str, &str)> {
    let (name, value) = field(text, 64)?;
    Some((name, notes::without(value.trim_ascii())))
}

/// A name of so many bytes at the most, and what is behind its colon.
pub(crate) fn field(text: &str, name_bytes_max: usize) -> Option<(&str, &str)> {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let end = text.bytes().position(|byte| !is_of_name(byte))?;
    let (name, rest) = text.split_at_checked(end)?;
    let value = rest.strip_prefix(':')?;
    (1..=name_bytes_max)
        .contains(&name.len())
        .then_some((name, value))
}

pub(crate) fn is_rule(text: &str) -> bool {
    text.starts_with('+')
        && text.len() >= 3
        && text.bytes().all(|byte| byte == b'+' || byte == b'-')
}

/// How many cells the rows behind a head have, where tabs part them.
pub(crate) fn cells_of_head(text: &str) -> usize {
    match text.starts_with(['|', '*']) || vertical_name(text).is_some() {
        true => 0,
        false => cells(text).len(),
    }
}

/// Columns that hold a statement.
pub(crate) fn holds_statement(name: &str) -> bool {
    const NAMES: [&str; 5] = [
        "info",
        "sql_text",
        "processlist_info",
        "digest_text",
        "query_sample_text",
    ];
    NAMES.iter().any(|one| name.eq_ignore_ascii_case(one)) || is_query(name)
}

/// A column of InnoDB's tables that holds a statement: `trx_query`.
pub(crate) fn is_query(name: &str) -> bool {
    const END: &str = "_query";
    let end = name.len().saturating_sub(END.len());
    name.get(end..)
        .is_some_and(|end| end.eq_ignore_ascii_case(END))
}

/// Clients align the names of fields on the right: one that stands further left than all is of a
/// statement, one behind blanks is a field. Long names have none in front, and are known by their
/// underscore.
pub(crate) fn is_padded(text: &str, name: &str) -> bool {
    name.contains('_') || text.len() < 200 && FIELDS.contains(&name.to_ascii_lowercase().as_str())
}

/// Fields of a processlist behind the statement or in front of it.
const FIELDS: [&str; 12] = [
    "id",
    "user",
    "host",
    "db",
    "command",
    "time",
    "state",
    "info",
    "progress",
    "stage",
    "rows_sent",
    "rows_examined",
];

/// Keeps in mind whether a line of a table with statements, in the form of `\G`, begins one of several lines.
pub(crate) fn add_row(open: &mut Open, text: &str) {
    match field(text, 64) {
        Some((name, _)) if !open.statement || is_padded(text, name) => {
            open.statement = holds_statement(name);
            open.carried = 0;
        }
        _ if is_vertical_row(text) => {
            open.statement = false;
            open.carried = 0;
        }
        _ => open.carried += 1,
    }
}

impl Open {
    /// A field of a row in the form of `\G`, or a line of the value of one.
    pub(crate) fn is_vertical_part(&self, next: &Next<'_>) -> bool {
        self.cells == 0
            && next.own.is_none()
            && (is_vertical_row(next.text)
                || vertical_name(next.text).is_some()
                || self.statement_goes_on(next))
    }

    /// A line of a statement that a field of a row holds.
    pub(crate) fn statement_goes_on(&self, next: &Next<'_>) -> bool {
        self.statement
            && next.own.is_none()
            && !next.text.is_empty()
            && self.carried < WRAPPED_LINES_MAX
    }

    /// A row of the table whose head was seen, in boxes or with tabs.
    pub(crate) fn is_row(&self, text: &str) -> bool {
        match self.cells {
            0 => {
                text.starts_with('|')
                    && !is_name_value_head(text)
                    && !is_processlist_head(&cells(text))
            }
            count => text.contains('\t') && cells(text).len() + 1 >= count,
        }
    }
}
