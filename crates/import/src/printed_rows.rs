//! Rows as the client prints them with `\G`: a row a paragraph, a column a line.

/// The line in front of a row's columns; rows are counted from 1.
pub(crate) fn head(row: usize) -> String {
    let stars = "*".repeat(27);
    format!("{stars} {row}. row {stars}")
}

/// What stands in front of a column's value.
pub(crate) fn name(column: &str) -> String {
    format!("{column:>12}: ")
}
