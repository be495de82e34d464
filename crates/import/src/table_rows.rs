//! Which lines go on with a table that has begun.

use crate::format::{Next, Open, WRAPPED_LINES_MAX};
use crate::tables::{
    cells, field, holds_statement, is_name_value_head, is_padded, is_processlist_head,
    is_vertical_row, vertical_name,
};

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
