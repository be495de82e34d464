//! What holds for every statement, cut off anywhere.

use crate::common;
use proptest::prelude::*;
use sql::TokenKind::{Number, String as Text, Unterminated};
use sql::{
    Lexer, REDACTED_BYTES_MAX, SqlMode, fingerprint, fingerprint_in, redact, redact_in,
    statement_class,
};

/// Any text, and texts made of what the lexer knows, in any order.
fn soup() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        8 => prop::sample::select(vec![
            "select", "SELECT", "values", "VALUES", "value", "row", "in", "IN", "null", "is", "not", "set", "default",
            "with", "from", "and", "a", "b", "t1", "2024_t", "é", "_utf8", "N", "x", "0x", "12e", "$a", "$$", "$b$", "…",
        ]),
        6 => prop::sample::select(vec![
            "1", "-1", "1.5", ".5", "1e3", "0xFF", "'a'", "\"a\"", "'it''s'", "N'a'", "x'41'", "_utf8'a'", "_utf8 0x1",
            "?", "?+", "`a b`", "`A``é`", "@a", "@a.b", "@@c.d", "@`E`", "@'f'",
        ]),
        8 => prop::sample::select(vec![
            "(", ")", ",", "(", ")", ",", ".", ";", "=", "+", "-", "*", "/", "->", "->>", "<=>", ":=", "@", "!", "\\", "#",
        ]),
        2 => prop::sample::select(vec!["'", "\"", "`", "/*", "*/", "/*!", "/*!80000", "/*+", "/*M!", "-- ", "--", "\n", "\0"]),
    ];
    let gap = prop::sample::select(vec!["", "", " ", " ", "  ", "/**/", "\n"]);
    let fragments = prop::collection::vec((fragment, gap), 0..40).prop_map(|parts| {
        parts
            .iter()
            .flat_map(|(fragment, gap)| [*fragment, *gap])
            .collect::<String>()
    });
    prop_oneof![1 => any::<String>(), 9 => fragments]
}

fn mode() -> impl Strategy<Value = SqlMode> {
    any::<(bool, bool)>().prop_map(|(ansi_quotes, no_backslash_escapes)| SqlMode {
        ansi_quotes,
        no_backslash_escapes,
    })
}

/// A literal made of nothing but `z`, `q`, `7` and what must not end a literal early.
fn secret() -> impl Strategy<Value = String> {
    let inside = prop::collection::vec(
        prop::sample::select(vec![
            "zq", "q7z", "77", " z", "(q", ";z", "-- z", "#q", "/*z", "*/q", "`z", "@q", "?z", "é",
            "\n", "\\\\", "\\'", "\\\"", "''", "\"\"",
        ]),
        0..6,
    )
    .prop_map(|parts| parts.concat());
    let quoted = (
        prop::sample::select(vec!["", "N", "_utf8mb4", "_latin1 "]),
        inside,
        any::<bool>(),
    )
        .prop_map(|(introducer, inside, double)| match (introducer, double) {
            ("N", _) | (_, false) => format!("{introducer}'{}'", inside.replace("\"\"", "z")),
            _ => format!("{introducer}\"{}\"", inside.replace("''", "z")),
        });
    // A backslash before the other quote, or a lone quote of the other kind, is an ordinary character.
    let number = prop::sample::select(vec![
        "7",
        "77.7",
        ".77",
        "7e7",
        "77E-7",
        "7.7e+7",
        "-77",
        "+7",
        "- 7",
        "0x77",
        "0X7f",
        "0b1",
        "x'77'",
        "X'7F'",
        "b'1'",
        "_binary x'77'",
        "_latin1 0x77",
    ])
    .prop_map(str::to_string);
    prop_oneof![2 => quoted, 1 => number]
}

/// Statements with `~` where a value goes, a blank wherever blanks and comments may be, `^` where blanks only may be.
const TEMPLATES: &[&str] = &[
    "SELECT a , b + ~ FROM t1 WHERE c = ~ AND d > - ~ OR e LIKE ~ LIMIT ~",
    "SELECT /*+^SET_VAR(^a=^~)^*/ t . * FROM t WHERE a -> ~ = ~ AND b BETWEEN ~ AND ~",
    "INSERT INTO t ( a , b ) VALUES ( ~ , ~ ) , ( ~ , ~ ) , ( now( ) , ~ ) ON DUPLICATE KEY UPDATE a = VALUES ( a ) , b = ~",
    "UPDATE t SET a = ~ , b = a - ~ WHERE ( a , b ) IN ( ( ~ , ~ ) , ( ~ , ~ ) ) AND c NOT IN ( ~ , ~ , d , f( ~ ) )",
    "SET PASSWORD FOR a = ~ , b = ~ @ ~",
    "SELECT /*!80000 ~ , */ `n` FROM t WHERE a = ~ ; SELECT ~",
    "WITH c AS ( SELECT ~ ) SELECT CASE WHEN a = ~ THEN ~ ELSE ~ END FROM c",
];

fn fill(template: &str, secrets: &[String], gaps: &[&str]) -> String {
    let mut secrets = secrets.iter().cycle();
    let mut gaps = gaps.iter().cycle();
    let mut statement = String::new();
    for part in template.split(' ') {
        statement.push_str(
            &part
                .replacen('~', secrets.next().map_or("", String::as_str), 1)
                .replace('^', " "),
        );
        statement.push_str(gaps.next().unwrap_or(&" "));
    }
    statement
}

fn gaps() -> impl Strategy<Value = Vec<&'static str>> {
    let gap = prop::sample::select(vec![
        " ",
        "  ",
        "\n",
        "\t",
        " /* z'q7 */ ",
        " -- z\"q7\n",
        " # 7'\n",
        " /**/ ",
    ]);
    prop::collection::vec(gap, 1..8)
}

fn secrets() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(secret(), 12)
}

/// Each form of the statement up to each of its characters.
fn prefixes(statement: &str) -> impl Iterator<Item = &str> {
    statement
        .char_indices()
        .map(|(end, _)| &statement[..end])
        .chain([statement])
}

fn shows_secret(text: &str) -> bool {
    text.contains(['z', 'q', '7', 'Z', 'Q'])
}

proptest! {
    #![proptest_config(common::cases(2_000))]

    #[test]
    fn tokens_are_the_statement(statement in soup(), mode in mode()) {
        let tokens: Vec<&str> = Lexer::new(&statement, mode).map(|token| token.text).collect();
        prop_assert!(tokens.iter().all(|token| !token.is_empty()));
        prop_assert_eq!(tokens.concat(), statement);
    }

    #[test]
    fn redacted_text_has_no_literals(statement in soup(), mode in mode()) {
        let redacted = redact_in(&statement, mode);
        prop_assert!(redacted.len() <= REDACTED_BYTES_MAX);
        for text in [redacted, fingerprint_in(&statement, mode)] {
            for token in Lexer::new(&text, mode) {
                prop_assert!(!matches!(token.kind, Text | Number | Unterminated), "{:?} in {}", token, text);
            }
        }
        statement_class(&statement);
    }

    #[test]
    fn a_fingerprint_is_its_own(statement in soup(), mode in mode()) {
        let once = fingerprint_in(&statement, mode);
        prop_assert_eq!(fingerprint_in(&once, mode), once);
    }

    /// Texts that reach the limit in every part of a list.
    #[test]
    fn a_cut_fingerprint_is_its_own(statement in soup(), length in 2_000_usize..2_050, rest in soup()) {
        let padding = "a".repeat(length);
        for statement in [format!("{statement} {padding} {rest}"), format!("{padding} in ({statement}), {rest}"),
            format!("{padding} values ({statement}), ({rest})"), statement.repeat(40)] {
            let once = fingerprint(&statement);
            prop_assert!(once.len() <= REDACTED_BYTES_MAX);
            prop_assert_eq!(fingerprint(&once), once);
        }
    }

    #[test]
    fn statements_group_by_shape(
        template in prop::sample::select(TEMPLATES),
        first in (secrets(), gaps()),
        second in (secrets(), gaps()),
    ) {
        // Not the end of a comment: inside a version comment the lexer gives up on purpose.
        let shape = |values: &[String], gaps: &[&str]| {
            let values: Vec<String> = values.iter().map(|value| value.replace("*/", "z")).collect();
            fill(template, &values, gaps)
        };
        let first = shape(&first.0, &first.1);
        let second = shape(&second.0, &second.1);
        prop_assert_eq!(fingerprint(&first), fingerprint(&second));
        prop_assert_eq!(fingerprint(&redact(&first)), fingerprint(&first));
        prop_assert_eq!(statement_class(&first), statement_class(&second));
    }
}

/// Found by `a_cut_fingerprint_is_its_own`.
#[test]
fn commas_at_the_end_of_rows_go_all_at_once() {
    for statement in [
        "values (),,",
        "values (),,values(),,,",
        "values (1),,(2),, ,",
    ] {
        let once = fingerprint(statement);
        assert_eq!(fingerprint(&once), once, "{statement}");
    }
}

proptest! {
    #![proptest_config(common::cases(200))]

    #[test]
    fn no_secret_survives_at_any_cut(
        template in prop::sample::select(TEMPLATES),
        secrets in secrets(),
        gaps in gaps(),
    ) {
        let statement = fill(template, &secrets, &gaps);
        for prefix in prefixes(&statement) {
            let (redacted, print) = (redact(prefix), fingerprint(prefix));
            prop_assert!(!shows_secret(&redacted), "{} of {}", redacted, prefix);
            prop_assert!(!shows_secret(&print), "{} of {}", print, prefix);
            prop_assert_eq!(fingerprint(&print), print);
        }
    }

    #[test]
    fn no_secret_survives_where_backslashes_are_ordinary(secrets in prop::collection::vec("[zq7\\\\ \"]{0,5}", 4), cut in 0_usize..60) {
        let mode = SqlMode { ansi_quotes: false, no_backslash_escapes: true };
        let values: Vec<String> = secrets.iter().map(|secret| format!("'{secret}\\'")).collect();
        let statement = format!("SELECT * FROM t WHERE a IN ({})", values.join(","));
        let prefix = statement.get(..cut).unwrap_or(&statement);
        for text in [redact_in(prefix, mode), fingerprint_in(prefix, mode)] {
            prop_assert!(!shows_secret(&text), "{} of {}", text, prefix);
        }
    }
}
