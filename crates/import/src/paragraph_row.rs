//! A session that is a paragraph (`\G`), while it is read: a field a line, and a value may have several lines.

use std::borrow::Cow;

use crate::session_values::is_of_server;
use crate::value_notes;

/// Of a longer statement nobody asks whether a string is open at its end: one may be. It would be read once for each of
/// its lines.
const LEXED_BYTES_MAX: usize = 8 << 10;

/// Whether a string or a comment of a statement may have no end.
pub(crate) fn may_be_open(statement: &str) -> bool {
    statement.len() > LEXED_BYTES_MAX || sql::is_open(statement)
}

/// The fields that were read.
#[derive(Default)]
pub(crate) struct ParagraphRow<'a> {
    fields: Vec<(&'a str, Cow<'a, str>)>,
    /// Where lines of the last field's value begin, but for the first: the blank before each.
    breaks: Vec<usize>,
}

impl<'a> ParagraphRow<'a> {
    /// Names and values.
    pub(crate) fn fields(&self) -> &[(&'a str, Cow<'a, str>)] {
        &self.fields
    }

    /// The next field, without what people noted behind its value.
    pub(crate) fn push(&mut self, name: &'a str, value: &'a str) {
        self.end_value();
        let value = match name.eq_ignore_ascii_case("state") {
            true => value_notes::without_behind(value, is_of_server),
            false => value_notes::without(value),
        };
        self.fields.push((name, Cow::Borrowed(value)));
    }

    /// A line of a value that has several.
    pub(crate) fn goes_on(&mut self, text: &str) {
        let is_own = |name: &str| {
            name.eq_ignore_ascii_case("info")
                || (name.eq_ignore_ascii_case("state") && is_of_server(text))
        };
        if let Some((_, value)) = self
            .fields
            .last_mut()
            .filter(|(name, _)| is_own(name) && !text.is_empty() && value_goes_on(text))
        {
            let value = value.to_mut();
            self.breaks.push(value.len());
            value.push(' ');
            value.push_str(text);
        }
    }

    /// Leaves out what people wrote below a statement.
    pub(crate) fn end_value(&mut self) {
        let breaks = std::mem::take(&mut self.breaks);
        if breaks.is_empty() || !self.is_in_statement() {
            return;
        }
        let Some((_, value)) = self.fields.last_mut() else {
            return;
        };
        let mut lines = String::with_capacity(value.len());
        let mut from = 0;
        for at in breaks {
            lines.push_str(value.get(from..at).unwrap_or_default());
            lines.push('\n');
            from = at + 1;
        }
        lines.push_str(value.get(from..).unwrap_or_default());
        let end = sql::end_of_statement(&lines);
        if end < lines.len() {
            value
                .to_mut()
                .truncate(lines.get(..end).unwrap_or_default().trim_end().len());
        }
    }

    /// Whether a string or a comment of the statement that is being read has no end yet.
    pub(crate) fn is_in_literal(&self) -> bool {
        let last = self.fields.last();
        self.is_in_statement() && last.is_some_and(|(_, value)| may_be_open(value))
    }

    /// Whether the last field is the statement.
    pub(crate) fn is_in_statement(&self) -> bool {
        let last = self.fields.last();
        last.is_some_and(|(name, _)| name.eq_ignore_ascii_case("info"))
    }

    /// The next row begins.
    pub(crate) fn clear(&mut self) {
        self.fields.clear();
    }
}

/// A statement of several lines, and no rule of a table.
fn value_goes_on(text: &str) -> bool {
    !text.starts_with("+-") && !text.starts_with('*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_ends_where_prose_begins() {
        let mut row = ParagraphRow::default();
        row.push("State", "updating  <-- ours");
        row.push("Info", "update t");
        row.goes_on("set a = 'x");
        assert!(row.is_in_literal());
        row.goes_on("y'");
        assert!(row.is_in_statement() && !row.is_in_literal());
        row.goes_on("her password is hunter2");
        row.goes_on("+----+");
        row.end_value();
        let fields: Vec<(&str, &str)> = row
            .fields()
            .iter()
            .map(|(name, value)| (*name, value.as_ref()))
            .collect();
        assert_eq!(
            fields,
            [("State", "updating"), ("Info", "update t set a = 'x y'")]
        );
        row.clear();
        assert!(row.fields().is_empty() && !row.is_in_statement());
    }
}
