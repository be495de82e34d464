//! Words of SQL itself: statements, clauses, types, functions.

use std::sync::LazyLock;

/// Whether a word, in lower case, is one of SQL's own.
pub(crate) fn is_keyword(word: &str) -> bool {
    WORDS.binary_search(&word).is_ok()
}

/// Behind these stands a name, whatever word it is.
pub(super) const BEFORE_NAMES: &[&str] = &[
    "from",
    "join",
    "straight_join",
    "into",
    "update",
    "table",
    "tables",
    "database",
    "schema",
    "use",
    "view",
    "procedure",
    "references",
    "describe",
    "truncate",
    "call",
    "trigger",
    "event",
    "index",
    "key",
    "constraint",
    "user",
    "savepoint",
    "to",
    "as",
    "handler",
    "prepare",
    "execute",
    "partition",
];

/// Words of SQL that may stand where a name is expected.
pub(super) const NO_NAMES: &[&str] = &[
    "select",
    "if",
    "not",
    "exists",
    "low_priority",
    "ignore",
    "high_priority",
    "delayed",
    "quick",
    "outfile",
    "dumpfile",
    "with",
    "read",
    "write",
    "set",
    "values",
    "value",
    "where",
    "skip",
    "locked",
    "nowait",
    "of",
    "dual",
    "lateral",
    "json_table",
    "only",
    "identified",
    "for",
    "force",
    "using",
    "on",
    "primary",
    "unique",
    "in",
    "by",
    "order",
    "group",
    "limit",
    "and",
    "or",
    "left",
    "right",
    "inner",
    "outer",
    "cross",
    "natural",
    "join",
    "as",
    "session",
    "global",
    "columns",
    "like",
    "end",
    "table",
    "view",
    "add",
    "drop",
    "rename",
    "current_user",
    "savepoint",
    "char",
    "signed",
    "unsigned",
    "decimal",
    "date",
    "datetime",
    "time",
    "binary",
    "json",
    "double",
    "float",
    "real",
    "integer",
    "begin",
    "full",
    "concurrent",
    "local",
    "partition",
    "into",
    "update",
    "default",
    "current_timestamp",
    "interval",
    "all",
    "distinct",
    "sql_no_cache",
    "tables",
    "snapshot",
    "index",
    "user",
    "isolation",
    "ordinality",
    "on_duplicate",
];

/// In the order of their bytes.
static WORDS: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("keywords.txt").lines().collect());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted_so_that_they_are_found() {
        assert!(WORDS.is_sorted());
        assert!(is_keyword("select") && is_keyword("zerofill") && is_keyword("abs"));
        assert!(!is_keyword("orders"));
    }
}
