//! Rows that clients with windows, spreadsheets and consoles export: cells parted by commas, semicolons or tabs, with
//! quotation marks around them or not (RFC 4180), also as the values of an INSERT.

use std::borrow::Cow;

/// Cells of a row at the most.
const CELLS_MAX: usize = 64;

/// A cell of a row.
pub(crate) struct Cell<'a> {
    /// What stands in it, marks within it as they were written.
    pub(crate) text: &'a str,
    quote: Option<char>,
}

impl<'a> Cell<'a> {
    /// It has quotation marks around it.
    pub(crate) fn is_quoted(&self) -> bool {
        self.quote.is_some()
    }

    /// What it holds.
    pub(crate) fn content(&self) -> Cow<'a, str> {
        let Some(quote) = self.quote else {
            return Cow::Borrowed(self.text);
        };
        let doubled = [quote, quote].iter().collect::<String>();
        let escaped = ['\\', quote].iter().collect::<String>();
        match self.text.contains(&doubled) || self.text.contains(&escaped) {
            true => {
                let text = self.text.replace(&doubled, &quote.to_string());
                Cow::Owned(text.replace(&escaped, &quote.to_string()))
            }
            false => Cow::Borrowed(self.text),
        }
    }
}

/// The cells of a line; none where it is no row.
pub(crate) fn cells(line: &str, separator: char) -> Vec<Cell<'_>> {
    let mut cells = Vec::new();
    let mut rest = values(line.trim());
    loop {
        let text = rest.trim_start_matches(' ');
        let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (cell, behind) = match quote {
            Some(quote) => {
                let inner = text.get(1..).unwrap_or_default();
                let Some(end) = end_of_quoted(inner, quote) else {
                    return Vec::new();
                };
                let (text, behind) = inner.split_at(end);
                (text, behind.get(1..).unwrap_or_default())
            }
            None => {
                let (text, behind) = rest.split_at(rest.find(separator).unwrap_or(rest.len()));
                (text.trim_matches(' '), behind)
            }
        };
        cells.push(Cell { text: cell, quote });
        let behind = behind.trim_start_matches(' ');
        if behind.is_empty() {
            return cells;
        }
        match behind.strip_prefix(separator) {
            Some(behind) if cells.len() < CELLS_MAX => rest = behind,
            _ => return Vec::new(),
        }
    }
}

/// `(5, 'app', NULL),` → `5, 'app', NULL`.
fn values(line: &str) -> &str {
    let inner = || {
        let line = line.trim_end_matches([',', ';']);
        line.strip_prefix('(')?.strip_suffix(')')
    };
    inner().unwrap_or(line)
}

/// Where the quotation mark is that ends a cell: within it they are doubled, or a backslash stands in front of them.
fn end_of_quoted(text: &str, quote: char) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find([quote, '\\'])?;
        let behind = text.get(at + 1..)?;
        let is_mark = text.get(at..)?.starts_with(quote);
        if is_mark && !behind.starts_with(quote) {
            return Some(at);
        }
        from = at + 1 + behind.chars().next().map_or(0, char::len_utf8);
    }
}

/// The row as `mysql` prints it.
pub(crate) fn boxed(cells: &[Cell<'_>]) -> String {
    let mut row = String::from("|");
    for cell in cells {
        row.push(' ');
        row.push_str(&cell.content());
        row.push_str(" |");
    }
    row
}

#[cfg(test)]
mod tests {
    use super::{boxed, cells};

    #[test]
    fn rows_of_exports_are_those_of_mysql() {
        for (line, separator, row) in [
            ("\"a \"\"b\"\", c\",d,", ',', "| a \"b\", c | d |  |"),
            ("5; \"a;b\" ;NULL", ';', "| 5 | a;b | NULL |"),
            ("('it\\'s', 5, NULL),", ',', "| it's | 5 | NULL |"),
            ("a\t'b''c'", '\t', "| a | b'c |"),
            ("a", ',', "| a |"),
        ] {
            assert_eq!(boxed(&cells(line, separator)), row, "{line}");
        }
        for line in ["\"a", "\"a\"b,c", "\"a\"\"", "'a\\"] {
            assert!(cells(line, ',').is_empty(), "{line}");
        }
    }
}
