//! What of a comment is part of a statement: optimizer hints, and what a server runs.
//!
//! `/*+ … */` and `/*!99999 … */` may hold anything. A hint that no server knows is a warning, and one of a server before
//! MySQL 5.7 a comment like any other; a version that no server has is never run. People and frameworks leave remarks there.

use crate::broken_string::holds_mark;
use crate::lexer::{Lexer, TokenKind};
use crate::output::CUT_MARK;

/// Names of hints, without the `NO_` in front of them, in order. Sources: MySQL 9 Reference Manual, 10.9.3 "Optimizer
/// Hints"; MariaDB, "Optimizer Hints" and "New-style Optimizer Hints".
const NAMES: [&str; 28] = [
    "BKA",
    "BNL",
    "DERIVED_CONDITION_PUSHDOWN",
    "GROUP_INDEX",
    "HASH_JOIN",
    "ICP",
    "INDEX",
    "INDEX_MERGE",
    "JOIN_FIXED_ORDER",
    "JOIN_INDEX",
    "JOIN_ORDER",
    "JOIN_PREFIX",
    "JOIN_SUFFIX",
    "MAX_EXECUTION_TIME",
    "MERGE",
    "MRR",
    "ORDER_INDEX",
    "QB_NAME",
    "RANGE_OPTIMIZATION",
    "RESOURCE_GROUP",
    "ROWID_FILTER",
    "SECONDARY_ENGINE_OPTIMIZATION",
    "SEMIJOIN",
    "SET_VAR",
    "SKIP_SCAN",
    "SPLIT_MATERIALIZED",
    "SUBQUERY",
    "USE_SECONDARY_ENGINE",
];

/// Whether what a lexer reads next, behind `/*+`, are hints: names of hints, and what is in their parentheses. A
/// statement may end within one.
pub(crate) fn are_hints(inside: &Lexer<'_>) -> bool {
    let mut depth = 0_usize;
    let mut is_behind_name = false;
    for token in inside.clone() {
        let is_first = std::mem::take(&mut is_behind_name);
        match token.kind {
            TokenKind::HintClose => return true,
            TokenKind::Whitespace | TokenKind::Comment => is_behind_name = is_first,
            TokenKind::Word if holds_mark(token.text) => return false,
            TokenKind::LeftParen if depth > 0 || is_first => depth += 1,
            TokenKind::RightParen if depth > 0 => depth -= 1,
            TokenKind::Comma => {}
            TokenKind::Word if depth == 0 => {
                is_behind_name = is_name(token.text);
                if !is_behind_name && !token.text.chars().eq([CUT_MARK]) {
                    return false;
                }
            }
            _ if depth == 0 => return false,
            _ => {}
        }
    }
    true
}

fn is_name(word: &str) -> bool {
    let is_one = |word: &str| NAMES.iter().any(|name| name.eq_ignore_ascii_case(word));
    let begin = word.get(..3).unwrap_or_default();
    is_one(word) || (begin.eq_ignore_ascii_case("NO_") && word.get(3..).is_some_and(is_one))
}

/// Whether the begin of a version comment, `/*!99999`, tells a version that no server has.
pub(crate) fn is_of_no_version(open: &str) -> bool {
    let digits = open.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.len() >= 5 && digits.starts_with("99")
}

#[cfg(test)]
mod tests {
    use crate::{fingerprint, redact};

    #[test]
    fn what_is_no_hint_is_a_comment() {
        for hint in [
            "of Alice Secret",
            "secret(a)",
            "app=secret",
            "'secret'",
            "secret's",
            "INDEX(t a) secret",
            "MAX_EXECUTION_TIME(5) 4711",
            "INDEX(t) INDEX(t)) secret",
            "(secret)",
            "INDEX(t)(secret)",
            "\u{201c}secret\u{201d}",
        ] {
            let statement = format!("SELECT /*+ {hint} */ a FROM t");
            for text in [redact(&statement), fingerprint(&statement)] {
                assert!(!text.contains("secret") && !text.contains("4711"), "{text}");
            }
            // Behind a lone quote nobody knows where the comment ends.
            if !hint.contains("'s") {
                assert_eq!(redact(&statement), "SELECT a FROM t");
            }
            assert_eq!(redact(&format!("SELECT /*+ {hint}")), "SELECT");
        }
    }

    #[test]
    fn hints_stay() {
        for hint in [
            "",
            "MAX_EXECUTION_TIME(?)",
            "INDEX(t a, b) NO_INDEX_MERGE(t)",
            "no_icp(t) BKA(@qb t) QB_NAME(qb)",
            "SET_VAR(sort_buffer_size=?) JOIN_FIXED_ORDER()",
            "SEMIJOIN(@subq FIRSTMATCH, LOOSESCAN)",
        ] {
            let statement = format!("SELECT /*+ {hint} */ a FROM t");
            let once = redact(&statement);
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(words(&once), words(&statement));
            let once = fingerprint(&statement);
            assert!(once.starts_with("select /*+ "), "{once}");
            assert_eq!(fingerprint(&once), once);
        }
        assert_eq!(redact("SELECT /*+ INDEX(t 'x'"), "SELECT /*+ INDEX(t ?");
    }

    #[test]
    fn what_no_server_runs_is_a_comment() {
        for comment in [
            "/*!99999 secret word */",
            "/*!999999 secret */",
            "/*!999999\\- enable secret */",
            "/*M!999999 secret */",
            "/*!99999 a /* b */ secret /*!50000 secret */ secret */",
        ] {
            let statement = format!("SELECT {comment} a FROM t");
            assert_eq!(redact(&statement), "SELECT a FROM t");
            assert_eq!(fingerprint(&statement), "select a from t");
        }
        for cut in ["/*!99999 secret", "/*!99999 it's secret */ b, 'x'"] {
            assert_eq!(redact(&format!("SELECT a {cut}")), "SELECT a");
        }
        assert_eq!(
            redact("SELECT /*!40001 SQL_NO_CACHE */ /*M!100100 a, */ /*!90600 b */ FROM t"),
            "SELECT SQL_NO_CACHE a, b FROM t"
        );
    }
}
