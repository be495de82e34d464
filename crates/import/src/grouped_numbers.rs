//! Numbers in the cells of tables whose thousands a client or a spreadsheet parted: `| 1,234,567 |`.

use std::borrow::Cow;

use crate::line::{Line, has};

/// Writes them without; numbers within other text stay, and so do those with a decimal comma.
pub(crate) fn join(lines: &mut [Line<'_>]) {
    for line in lines {
        let text = line.text.trim_ascii_start();
        let separator = match text.starts_with('|') {
            true => '|',
            false => '\t',
        };
        let may_be = has(text, b',') && text.contains(separator);
        if may_be && text.split(separator).any(is_grouped) {
            let cells = text.split(separator).map(|cell| match is_grouped(cell) {
                true => Cow::Owned(cell.replace(',', "")),
                false => Cow::Borrowed(cell),
            });
            let cells: Vec<Cow<'_, str>> = cells.collect();
            line.text = Cow::Owned(cells.join(&separator.to_string()));
        }
    }
}

/// One to three digits, and groups of three.
fn is_grouped(cell: &str) -> bool {
    let mut groups = cell.trim_ascii().split(',');
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups.next().unwrap_or_default();
    let mut rest = groups.peekable();
    (1..=3).contains(&first.len())
        && is_digits(first)
        && rest.peek().is_some()
        && rest.all(|group| group.len() == 3 && is_digits(group))
}

#[cfg(test)]
mod tests {
    use crate::clean;

    #[test]
    fn cells_with_a_number_alone() {
        for (line, text) in [
            ("| a_b | 1,234,567 | 1,5 |", "| a_b | 1234567 | 1,5 |"),
            ("a_b\t12,345", "a_b\t12345"),
            ("| a in (1,234) | 1,2345 |", "| a in (1,234) | 1,2345 |"),
            ("12,345 rows", "12,345 rows"),
        ] {
            assert_eq!(clean::lines(line)[0].text, text);
        }
    }
}
