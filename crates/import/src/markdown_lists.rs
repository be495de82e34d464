//! Signs of Markdown around the rows of a table that somebody wrote as a list.

/// Signs of a list in front of a line.
const BULLETS: [&str; 4] = ["- ", "* ", "+ ", "• "];

/// A row of a table, or a rule between its rows, without the sign of a list in front of it and the
/// backquotes around it: ``- `| 12 | app |` `` → `| 12 | app |`. All other lines stay.
pub(crate) fn unlisted(line: &str) -> &str {
    let text = line.trim_start();
    if !text.starts_with(['-', '*', '+', '•', '`']) {
        return line;
    }
    let text = BULLETS
        .iter()
        .find_map(|bullet| text.strip_prefix(bullet))
        .map_or(text, str::trim_start);
    let quoted = text
        .strip_prefix('`')
        .and_then(|inner| inner.strip_suffix('`'));
    let row = quoted.unwrap_or(text);
    if row.len() < line.trim_start().len() && is_of_box(row) {
        row
    } else {
        line
    }
}

/// `| a | b |` or `+---+---+`, from end to end.
fn is_of_box(text: &str) -> bool {
    let is_row = text.len() > 2 && text.starts_with('|') && text.ends_with('|');
    is_row || (text.starts_with("+-") && text.ends_with("-+"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_list_are_rows() {
        let row = "| 12 | app `a` |";
        for marked in [
            "- `| 12 | app `a` |`",
            "`| 12 | app `a` |`",
            "  * | 12 | app `a` |",
            "• `| 12 | app `a` |`",
            "+ | 12 | app `a` |",
        ] {
            assert_eq!(unlisted(marked), row, "{marked}");
        }
        assert_eq!(unlisted("- `+----+---+`"), "+----+---+");
    }

    #[test]
    fn other_lines_stay() {
        for line in [
            "  | 12 | app |",
            "- | 12",
            "- `select a | b`",
            "* text",
            "``` | a |",
            "- `",
            "`|`",
            "- |-5.00%-- main",
            "",
        ] {
            assert_eq!(unlisted(line), line);
        }
    }
}
