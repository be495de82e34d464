//! Lines of a server's error log without literals.

use crate::innodb;

/// Longest line that is kept, in bytes.
const LINE_BYTES_MAX: usize = 1000;

/// Words that begin a statement, or a part of one with literals in it, with what must follow some of them:
/// alone they are English.
const STATEMENTS: [(&str, &[&str]); 26] = [
    (
        "insert",
        &["into", "ignore", "low_priority", "high_priority", "delayed"],
    ),
    ("replace", &["into"]),
    ("update", &[]),
    ("delete", &["from", "ignore", "low_priority", "quick"]),
    ("select", &[]),
    ("values", &[]),
    ("value", &["("]),
    ("where", &[]),
    ("call", &[]),
    ("load", &["data", "xml"]),
    ("set", &["password", "global", "session", "@", "names"]),
    ("grant", &[]),
    ("revoke", &[]),
    (
        "create",
        &[
            "user",
            "table",
            "server",
            "procedure",
            "function",
            "event",
            "trigger",
            "view",
        ],
    ),
    ("alter", &["user", "table", "server", "event"]),
    ("identified", &[]),
    ("change", &["master", "replication"]),
    ("execute", &["immediate"]),
    ("prepare", &[]),
    ("with", &["recursive"]),
    ("do", &["sleep", "release_lock"]),
    ("explain", &[]),
    ("having", &[]),
    ("query:", &[]),
    ("statement:", &[]),
    ("sql:", &[]),
];

/// `text` without literals: InnoDB's printouts as in its status ([`innodb::redact`]), and of other lines what
/// stands from the beginning of a statement on, up to the next line with a date. Lines over 1,000 bytes are cut.
pub fn redact_error_log(text: &str) -> String {
    let text = innodb::redact(text);
    let mut out = String::with_capacity(text.len());
    let mut in_statement = false;
    for line in text.lines() {
        let line = line
            .get(..line.floor_char_boundary(LINE_BYTES_MAX))
            .unwrap_or(line);
        let begins = begins_entry(line);
        if in_statement && !begins {
            // The rest of a statement of several lines: nobody can tell where its strings begin.
            continue;
        }
        in_statement = false;
        match statement_at(line) {
            None => out.push_str(line),
            Some(at) => {
                let (head, statement) = line.split_at(at);
                out.push_str(head);
                out.push_str(&sql::redact_in_any_mode(statement));
                in_statement = true;
            }
        }
        out.push('\n');
    }
    out
}

/// A line with a date at its begin, or one of InnoDB's own.
fn begins_entry(line: &str) -> bool {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let dated = match line.as_bytes().get(digits) {
        Some(b'-') => digits == 4,
        Some(b' ') => digits == 6,
        _ => false,
    };
    dated
        || ["InnoDB:", "---", "===", "--Thread ", "Version: '"]
            .iter()
            .any(|head| line.starts_with(head))
}

/// Where a statement begins in a line.
fn statement_at(line: &str) -> Option<usize> {
    let mut from = 0;
    let lower = line.to_ascii_lowercase();
    while let Some(rest) = lower.get(from..) {
        let start = from + rest.find(|c: char| c.is_ascii_alphabetic())?;
        let word = lower.get(start..)?;
        let length = word
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(word.len());
        let (word, after) = word.split_at(length);
        let with_colon = after.starts_with(':');
        let after = after.trim_start_matches([':', ' ', '\'', '"', '\t']);
        let is_one = STATEMENTS.iter().any(|(known, next)| {
            let same = match known.strip_suffix(':') {
                Some(known) => with_colon && known == word,
                None => *known == word,
            };
            same && (next.is_empty() || next.iter().any(|next| after.starts_with(next)))
        });
        if is_one {
            return Some(start);
        }
        from = start + length.max(1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_lose_their_literals_and_the_rest_stays() {
        for (line, expected) in [
            (
                "2026-01-02T03:04:05.000001Z 0 [Note] InnoDB: page_cleaner: 1000ms intended loop took 4013ms. The settings might not be optimal. (flushed=200 and evicted=0, during the time.)",
                None,
            ),
            (
                "2026-01-02  3:04:05 0 [ERROR] Error in accept: Too many open files",
                None,
            ),
            (
                "2026-01-02  3:04:05 9 [Warning] Aborted connection 9 to db: 'shop' user: 'app' host: 'h' (Got timeout reading communication packets)",
                None,
            ),
            (
                "2026-01-02  3:04:05 9 [Warning] Unsafe statement written to the binary log. Statement: INSERT INTO t VALUES ('secret', 12)",
                Some("Statement: INSERT INTO t VALUES (?, ?)"),
            ),
            (
                "2026-01-02  3:04:05 9 [ERROR] Slave SQL: Error 'x' on query. Default database: 'd'. Query: 'update t set a = \"secret\" where b = 5'",
                Some("Query:"),
            ),
        ] {
            let redacted = redact_error_log(line);
            match expected {
                None => assert_eq!(redacted.trim_end(), line),
                Some(part) => assert!(redacted.contains(part), "{redacted}"),
            }
            assert!(!redacted.contains("secret"), "{redacted}");
        }
    }

    #[test]
    fn a_statement_of_several_lines_shows_nothing() {
        let text = "2026-01-02  3:04:05 9 [ERROR] Query: 'INSERT INTO t\nVALUES ('secret one\nsecret two', 3)\n2026-01-02  3:04:06 9 [Note] next\n";
        let redacted = redact_error_log(text);
        assert!(!redacted.contains("secret"), "{redacted}");
        assert!(redacted.contains("[Note] next"), "{redacted}");
        let long = format!("2026-01-02  3:04:05 0 [Note] {}\n", "é".repeat(5_000));
        assert!(redact_error_log(&long).len() <= LINE_BYTES_MAX + 1);
    }
}
