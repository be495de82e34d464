//! Rows of tables as clients print them: in boxes, with tabs, or a row a paragraph (`\G`).

use crate::line::has;
use crate::value_notes;

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
    if has(text, b'\t') {
        return text.split('\t').map(str::trim_ascii).collect();
    }
    Vec::new()
}

/// A cell as it is told: nothing where it is `NULL`.
pub(crate) fn null(cell: &str) -> &str {
    if cell == "NULL" { "" } else { cell }
}

/// A cell without the marks that make it code in Markdown: `` `select 1` ``. They would make a name of a whole statement. A
/// name that is quoted in parts, `` `a`.`b` ``, keeps its own.
pub(crate) fn without_code_marks(cell: &str) -> &str {
    let marks = cell.bytes().take_while(|byte| *byte == b'`').count();
    let Some((begin, inner)) = cell.split_at_checked(marks).filter(|_| marks > 0) else {
        return cell;
    };
    let bare = inner.strip_suffix(begin).unwrap_or(inner);
    // Up to the first mark of its own.
    let first = bare.split('`').next().unwrap_or_default();
    match first.len() == bare.len() || first.contains(' ') || marks > 1 {
        true => bare,
        false => cell,
    }
}

/// The name and the value of a field of a row in the form of `\G`: `    trx_state: LOCK WAIT`. A
/// number is without what somebody noted behind it.
pub(crate) fn vertical_name(text: &str) -> Option<(&str, &str)> {
    let (name, value) = field(text, 64)?;
    Some((name, value_notes::without(value.trim_ascii())))
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
    name.contains('_') || text.len() < 200 && is_session_field(name)
}

/// A field of a session in a processlist, as any server has it.
pub(crate) fn is_session_field(name: &str) -> bool {
    FIELDS.iter().any(|field| name.eq_ignore_ascii_case(field))
}

/// Fields of a processlist in all servers.
const FIELDS: [&str; 23] = [
    "id",
    "user",
    "host",
    "db",
    "command",
    "time",
    "state",
    "info",
    "progress",
    "time_ms",
    "stage",
    "max_stage",
    "memory_used",
    "max_memory_used",
    "examined_rows",
    "sent_rows",
    "query_id",
    "info_binary",
    "tid",
    "rows_sent",
    "rows_examined",
    "rows_read",
    "execution_engine",
];

/// `Variable_name | Value`, `VARIABLE_NAME | VARIABLE_VALUE`; `variables_info` has other columns
/// beside the name.
pub(crate) fn is_name_value_head(text: &str) -> bool {
    let first = text.strip_prefix('|').unwrap_or(text).trim_ascii_start();
    let begin = first.get(..VARIABLE_NAME.len());
    begin.is_some_and(|begin| begin.eq_ignore_ascii_case(VARIABLE_NAME))
        && is_head_of_two(&cells(text))
}

const VARIABLE_NAME: &str = "variable_name";

pub(crate) fn is_head_of_two(cells: &[&str]) -> bool {
    match cells {
        [name] => name.eq_ignore_ascii_case(VARIABLE_NAME),
        [name, value] => {
            name.eq_ignore_ascii_case(VARIABLE_NAME)
                && value.to_ascii_lowercase().ends_with("value")
        }
        _ => false,
    }
}

/// The columns of a processlist, or those that somebody chose of it.
pub(crate) fn is_processlist_head(cells: &[&str]) -> bool {
    let has = |name: &str| cells.iter().any(|cell| cell.eq_ignore_ascii_case(name));
    cells.len() > 2 && has("Id") && has("State") && (has("Info") || (has("User") && has("Command")))
}

#[cfg(test)]
mod tests {
    use super::without_code_marks;

    #[test]
    fn marks_of_code_go_and_those_of_names_stay() {
        for (cell, bare) in [
            ("`select 1`", "select 1"),
            ("`update t set a = 'x'", "update t set a = 'x'"),
            ("`update `t` set a = 'x'`", "update `t` set a = 'x'"),
            ("``update `t` set a = 1``", "update `t` set a = 1"),
            ("`app`", "app"),
        ] {
            assert_eq!(without_code_marks(cell), bare);
        }
        for cell in ["", "a", "select `a`", "`a`.`b`", "`a`.b"] {
            assert_eq!(without_code_marks(cell), cell);
        }
    }
}
