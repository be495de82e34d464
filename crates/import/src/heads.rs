//! The heads of tables: a row alone does not tell which table it is of, and two columns, a name and
//! a value, are not always the server's variables.

use crate::kind;
use crate::line::is_rule;

/// For each line that is a row of a table, with or without a box, the line of the head above it,
/// where one is visible. A head is its own.
pub(crate) fn of_rows(texts: &[&str]) -> Vec<Option<usize>> {
    let mut heads = vec![None; texts.len()];
    let mut head = None;
    let mut before = "";
    for (index, text) in texts.iter().enumerate() {
        let text = text.trim_ascii();
        let next = |ahead: usize| {
            texts
                .get(index + ahead)
                .map_or("", |line| line.trim_ascii())
        };
        if is_row(text) {
            if head.is_none() && !is_row(before) && is_any_rule(next(1)) && is_row(next(2)) {
                head = Some(index);
            }
            if let Some(place) = heads.get_mut(index) {
                *place = head;
            }
        } else if is_tabbed_head(before, text, next(1)) {
            head = Some(index);
            if let Some(place) = heads.get_mut(index) {
                *place = head;
            }
        } else if head.is_some() && text.contains('\t') && !is_any_rule(text) {
            if let Some(place) = heads.get_mut(index) {
                *place = head;
            }
        } else if !is_any_rule(text) {
            head = None;
        } else if !is_row(next(1)) {
            // The rule below the last row; some clients have one between all rows.
            head = None;
        }
        before = text;
    }
    heads
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
    if before.contains('\t') || !text.contains('\t') || !next.contains('\t') {
        return false;
    }
    let cells = kind::cells(text);
    let is_capital = |cell: &&str| {
        !cell.is_empty()
            && cell
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
            && cell.starts_with(|c: char| c.is_ascii_uppercase())
    };
    cells.iter().all(is_capital) && kind::cells(next).len() == cells.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(text: &str) -> Vec<Option<usize>> {
        of_rows(&text.lines().collect::<Vec<_>>())
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
