//! `Fingerprinter` tells what `fingerprint_in` tells, whatever it has seen before.

use crate::common;
use proptest::prelude::*;
use sql::{ClassKey, Fingerprinter, Lexer, SqlMode, fingerprint_id, fingerprint_in};

fn mode() -> impl Strategy<Value = SqlMode> {
    any::<(bool, bool)>().prop_map(|(ansi_quotes, no_backslash_escapes)| SqlMode {
        ansi_quotes,
        no_backslash_escapes,
    })
}

/// Parts of statements, many of them where a number, string or comment ends oddly.
const PARTS: &[&str] = &[
    "select",
    "insert into t(a, b)",
    "VALUES",
    "values",
    "value",
    "row",
    " in ",
    " IN ",
    " in",
    "not in (",
    " values (",
    "null",
    "NULL",
    "true",
    "default",
    "DEFAULT",
    "is",
    "as",
    "a",
    "t1",
    "b2.c3",
    "2024_t",
    "é",
    "_utf8",
    "_binary ",
    "N",
    "x",
    "0x",
    "0x1F",
    "0xfg",
    "0b01",
    "1e5",
    "1e",
    "1e-",
    "12",
    "7",
    "1.5",
    "1.",
    ".5",
    "1.2.3",
    "a.5",
    "a. 5",
    "5a",
    "'a'",
    "''",
    "'a''b'",
    "'a\\'b'",
    "'\\\\'",
    "\"a\"",
    "\"a\\\"b\"",
    "\"",
    "'",
    "\\",
    "`a1`",
    "`a``2`",
    "`",
    "@",
    "@a1",
    "@1",
    "@'h'",
    "@@x.5",
    "@`5`",
    "$",
    "$$",
    "$5",
    "$a$",
    "#",
    "--",
    "-- ",
    "--5",
    "- 5",
    "-",
    "+",
    "/*",
    "*/",
    "/*!",
    "/*!50000",
    "/*! 5, */",
    "/*+ m(5) */",
    "/*+",
    "/*M!",
    "/* 5 */",
    "/**/",
    "/*/",
    "(",
    ")",
    ",",
    ";",
    ".",
    "=",
    "?",
    "?+",
    "?+)",
    "->",
    "->>'$.a'",
    "(1,2)",
    "(1, 'a')",
    "(1, now())",
    "(null, 5)",
    "(1),(2)",
    ", (3)",
    "1,2,3",
    "\u{0}",
    "\u{b}",
    "\n",
    "\t",
    "\u{a0}",
    "…",
    " …",
];

fn statement() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        12 => prop::sample::select(PARTS).prop_map(|part| part.as_bytes().to_vec()),
        4 => (0_u32..2_000).prop_map(|number| number.to_string().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 1..6),
    ];
    let gap = prop::sample::select(vec!["", "", " ", " ", "  ", "\n", ","]);
    prop::collection::vec((part, gap), 0..30).prop_map(|parts| {
        parts
            .into_iter()
            .flat_map(|(part, gap)| [part, gap.as_bytes().to_vec()])
            .flatten()
            .collect()
    })
}

fn expected(statement: &[u8], mode: SqlMode) -> String {
    fingerprint_in(&String::from_utf8_lossy(statement), mode)
}

/// Where the two ways to read a backslash differ, that of what stands before it may be told. They may differ and
/// have the same fingerprint: `\'a\'b'` is an operator and a string that ends, or one that does not.
fn is_expected(statement: &[u8], mode: SqlMode, text: &str) -> bool {
    let usual = expected(statement, mode);
    let printed = String::from_utf8_lossy(statement);
    let other = SqlMode {
        no_backslash_escapes: true,
        ..mode
    };
    let backslash = statement.iter().position(|byte| *byte == b'\\');
    text == usual
        || mode == SqlMode::default()
            && !Lexer::new(&printed, mode).eq(Lexer::new(&printed, other))
            && backslash.is_some_and(|at| text == expected(&statement[..at], mode))
}

fn told(fingerprinter: &mut Fingerprinter, statement: &[u8]) -> (ClassKey, String) {
    let class = fingerprinter.class_of(statement);
    let text = fingerprinter.fingerprint_of(class).map(str::to_owned);
    (class, text.unwrap_or_else(|| "no text".to_owned()))
}

proptest! {
    #![proptest_config(common::cases(1_000))]

    #[test]
    fn the_memo_tells_the_fingerprint(statements in prop::collection::vec(statement(), 1..6), mode in mode()) {
        let mut fingerprinter = Fingerprinter::new(mode);
        for _ in 0..2 {
            for statement in &statements {
                let (class, text) = told(&mut fingerprinter, statement);
                prop_assert!(is_expected(statement, mode, &text), "{text}: {}", String::from_utf8_lossy(statement));
                prop_assert_eq!(class.to_string(), fingerprint_id(&text));
            }
        }
    }

    #[test]
    fn the_memo_tells_the_fingerprint_of_any_bytes(statement in prop::collection::vec(any::<u8>(), 0..200), mode in mode()) {
        let (_, text) = told(&mut Fingerprinter::new(mode), &statement);
        prop_assert!(is_expected(&statement, mode, &text), "{}", text);
    }

    /// Where a fingerprint is cut off, it is cut at the same place.
    #[test]
    fn the_memo_tells_the_fingerprint_of_long_statements(
        head in statement(),
        padding in prop::sample::select(vec!["a", "a,", "\u{fffd}", "1,", "a=1 ", "-a", "'a',"]),
        length in prop_oneof![0_usize..2_100, Just(600), Just(390), Just(655)],
        tail in prop::sample::select(vec![" in (1,2)", " values (1,2),(3,4)", "b in (1, a, 2", "b values (1),(2", " in (null"]),
        items in 0_usize..700,
    ) {
        let mut statement = head;
        while statement.len() < length {
            statement.extend_from_slice(padding.as_bytes());
        }
        statement.extend_from_slice(tail.as_bytes());
        statement.extend(std::iter::repeat_n(b",1".as_slice(), items).flatten());
        let mut invalid = statement.clone();
        invalid.iter_mut().filter(|byte| **byte == b'a').for_each(|byte| *byte = 0xff);
        for statement in [statement, invalid] {
            let (_, text) = told(&mut Fingerprinter::new(SqlMode::default()), &statement);
            prop_assert!(is_expected(&statement, SqlMode::default(), &text), "{text}: {}", String::from_utf8_lossy(&statement));
        }
    }
}

#[test]
fn readings_that_differ_may_have_one_fingerprint() {
    let statement = br"\'a\'b'";
    let (_, text) = told(&mut Fingerprinter::new(SqlMode::default()), statement);
    assert_eq!(text, "");
    assert!(is_expected(statement, SqlMode::default(), &text));
}

#[test]
fn statements_that_differ_in_values_share_a_class() {
    let mut fingerprinter = Fingerprinter::new(SqlMode::default());
    let first = fingerprinter.class_of(b"SELECT c FROM sbtest1 WHERE id=1");
    for statement in [
        "SELECT c FROM sbtest1 WHERE id=5034",
        "select c from sbtest1 where id = -1.5e3",
        "SELECT c FROM sbtest1 WHERE id='x' /* request 7 */",
    ] {
        assert_eq!(fingerprinter.class_of(statement.as_bytes()), first);
    }
    let other = fingerprinter.class_of(b"SELECT c FROM sbtest2 WHERE id=1");
    assert_ne!(other, first);
    assert_eq!(
        fingerprinter.fingerprint_of(first),
        Some("select c from sbtest1 where id = ?")
    );
    assert_eq!(
        Fingerprinter::new(SqlMode::default()).class_of(b"select c from sbtest1 where id=?"),
        first
    );
}

/// A comment is no part of the statement, so no list starts in one.
#[test]
fn a_word_in_a_comment_opens_no_list() {
    for statement in [
        "a #b in \n(1, 2)",
        "a -- b in\n(1, 2)",
        "a /* b in */(1, 2)",
    ] {
        let (_, text) = told(
            &mut Fingerprinter::new(SqlMode::default()),
            statement.as_bytes(),
        );
        assert_eq!(text, "a(?, ?)");
    }
}

#[test]
fn many_classes_are_told_apart_in_bounded_memory() {
    let mut fingerprinter = Fingerprinter::new(SqlMode::default());
    for number in 0..40_000 {
        let statement = format!("SELECT a{number} FROM t WHERE b = {number}");
        let class = fingerprinter.class_of(statement.as_bytes());
        assert_eq!(
            fingerprinter.fingerprint_of(class),
            Some(format!("select a{number} from t where b = ?").as_str())
        );
    }
    let forgotten = ClassKey::of_fingerprint("select a39998 from t where b = ?");
    assert_eq!(fingerprinter.fingerprint_of(forgotten), None);
}

#[test]
fn long_lists_and_texts_have_their_fingerprint() {
    let mut fingerprinter = Fingerprinter::new(SqlMode::default());
    let rows = vec!["(1, 'it''s', NULL, 0xFF)"; 50_000].join(",");
    let functions = vec!["(1, now())"; 50_000].join(",");
    let long = "'a' ".repeat(100_000);
    for statement in [
        format!("INSERT INTO t VALUES {rows} ON DUPLICATE KEY UPDATE a = 5"),
        format!("INSERT INTO t VALUES {functions}"),
        format!(
            "SELECT a FROM t WHERE b NOT IN ({}7)",
            "7, ".repeat(100_000)
        ),
        format!("SELECT {long} FROM t"),
        format!("SELECT {}", "a, ".repeat(100_000)),
    ] {
        let (_, text) = told(&mut fingerprinter, statement.as_bytes());
        assert_eq!(text, expected(statement.as_bytes(), SqlMode::default()));
    }
}
