//! The heads of tables: a row alone does not tell which table it is of, and two columns, a name and
//! a value, are not always the server's variables.

use crate::line::{Line, has};
use crate::tables::{self, is_rule};

/// Goes down a text, line by line.
#[derive(Default)]
pub(crate) struct Heads<'a> {
    /// The head of the table that the lines are in.
    head: Option<usize>,
    /// The line before.
    before: &'a str,
}

impl<'a> Heads<'a> {
    /// For a line that is a row of a table, with or without a box, the line of the head above it,
    /// where one is visible. A head is its own. To be asked of each line in turn.
    pub(crate) fn of_row(
        &mut self,
        index: usize,
        text: &'a str,
        behind: &[Line<'_>],
    ) -> Option<usize> {
        let next = |ahead: usize| behind.get(ahead).map_or("", Line::trimmed);
        let before = std::mem::replace(&mut self.before, text);
        if is_row(text) {
            if self.head.is_none() && !is_row(before) && is_any_rule(next(0)) && is_row(next(1)) {
                self.head = Some(index);
            }
            return self.head;
        }
        let has_tab = has(text, b'\t');
        if has_tab && is_tabbed_head(before, text, next(0)) {
            self.head = Some(index);
            return self.head;
        }
        let is_rule = is_any_rule(text);
        if has_tab && !is_rule {
            return self.head;
        }
        // The rule below the last row ends a table; some clients have one between all rows.
        if !is_rule || !is_row(next(0)) {
            self.head = None;
        }
        None
    }
}

fn is_row(text: &str) -> bool {
    text.starts_with('|') && !is_any_rule(text)
}

/// `+----+---+` of `mysql`, `|----|---|` of Markdown.
fn is_any_rule(text: &str) -> bool {
    is_rule(text)
        || (text.starts_with('|')
            && text.contains("--")
            && text.bytes().all(|byte| b"|-: ".contains(&byte)))
}

/// information_schema and performance_schema name their columns with capital letters; no variable is
/// called so.
fn is_tabbed_head(before: &str, text: &str, next: &str) -> bool {
    if before.contains('\t') || !next.contains('\t') {
        return false;
    }
    let cells = tables::cells(text);
    let is_capital = |cell: &&str| {
        !cell.is_empty()
            && cell
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
            && cell.starts_with(|c: char| c.is_ascii_uppercase())
    };
    cells.iter().all(is_capital) && tables::cells(next).len() == cells.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(text: &str) -> Vec<Option<usize>> {
        let lines: Vec<Line<'_>> = (1..)
            .zip(text.lines())
            .map(|(number, text)| Line {
                number,
                text: text.into(),
            })
            .collect();
        let mut heads = Heads::default();
        lines
            .iter()
            .enumerate()
            .map(|(index, line)| {
                let behind = lines.get(index + 1..).unwrap_or_default();
                heads.of_row(index, line.trimmed(), behind)
            })
            .collect()
    }

    #[test]
    fn rows_have_the_head_above_them() {
        let text =
            "+---+---+\n| a | b |\n+---+---+\n| 1 | 2 |\n| 3 | 4 |\n+---+---+\n\n| 5 | 6 |\n";
        let (head, none) = (Some(1), None);
        assert_eq!(
            heads(text),
            [none, head, none, head, head, none, none, none]
        );
        // What is left of a table that was cut has none.
        let text = "| 1 | 2 |\n| 3 | 4 |\n+---+---+\n\n+---+---+\n| 5 | 6 |\n| 7 | 8 |\n";
        assert!(heads(text).iter().all(Option::is_none), "{text}");
        let text = "| a | b |\n|---|:--|\n| 1 | 2 |\n";
        assert_eq!(heads(text), [Some(0), None, Some(0)]);
    }

    #[test]
    fn capitals_above_tabs_are_a_head() {
        assert_eq!(
            heads("NAME\tCOUNT\na_b\t1\nc_d\t2\n\na_b\t1\n"),
            [Some(0), Some(0), Some(0), None, None]
        );
        assert_eq!(heads("Queries\t5\na_b\t1\n"), [None, None]);
    }
}
