//! Nothing of a literal survives: every syntax of literals, in every mode, cut off anywhere, with bytes that are no text.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::common;
use proptest::prelude::*;
use sql::{Fingerprinter, SqlMode, fingerprint_in, redact_in, redact_in_any_mode};

/// Secrets are made of these, and nothing else in the statements is.
const MARKS: [char; 5] = ['z', 'q', '7', 'Z', 'Q'];

/// Inside of strings: marks, and what ends a string early in a wrong reading. `\u{1}` stands for bytes that are no text.
const INSIDE: &[&str] = &[
    "zq", "q7Z", "77", " z", "(q", ";z", "-- z", "#q", "/*z", "*/q", "`z`", "@q", "?z", "é", "\n",
    "\0", "\u{1}", ")", ",", "in (7", "values", "=7", "..7",
];

fn mode() -> impl Strategy<Value = SqlMode> {
    any::<(bool, bool)>().prop_map(|(ansi_quotes, no_backslash_escapes)| SqlMode {
        ansi_quotes,
        no_backslash_escapes,
    })
}

/// The inside of a string, as parts: whether each is a quote of the string's kind, a backslash with what follows, or plain.
fn inside() -> impl Strategy<Value = Vec<(u8, &'static str)>> {
    prop::collection::vec((0_u8..8, prop::sample::select(INSIDE)), 0..6)
}

/// A string in quotes, as the mode has it.
fn quoted(parts: &[(u8, &str)], quote: char, mode: SqlMode) -> String {
    let other = if quote == '\'' { '"' } else { '\'' };
    let mut text = String::from(quote);
    for (kind, part) in parts {
        match kind {
            0 => text.extend([quote, quote]),
            1 => text.push(other),
            2 if mode.no_backslash_escapes => text.push('\\'),
            2 => text.extend(['\\', quote]),
            3 if !mode.no_backslash_escapes => text.push_str("\\\\"),
            _ => {}
        }
        text.push_str(part);
    }
    // No comment's end: inside of a version comment the lexer gives up, which the other tests cover.
    text = text.replace("*/", "z");
    text.push(quote);
    text
}

/// One literal in each syntax, chosen by a number.
fn literal(choice: usize, parts: &[(u8, &str)], mode: SqlMode) -> String {
    let single = quoted(parts, '\'', mode);
    let double = if mode.ansi_quotes {
        single.clone()
    } else {
        quoted(parts, '"', mode)
    };
    let plain: String = parts
        .iter()
        .map(|(_, part)| part.replace("*/", ""))
        .collect();
    let plain = plain.replace(['$', '\u{1}'], "");
    let numbers = [
        "7",
        "77.7",
        ".77",
        "77.",
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
        "_utf8mb4 b'1'",
        "- + 7",
        "77777777777777777777777",
    ];
    match choice {
        0..=3 => single,
        4 => double,
        5 => format!("N{single}"),
        6 => format!("_utf8mb4{single}"),
        7 => format!("_latin1 {double}"),
        8 => format!("{single} {double}"),
        9 => format!("{single}\n{single}\t{single}"),
        10 => format!("DATE{single}"),
        11 => format!("TIMESTAMP {single}"),
        12 => format!("{{d {single}}}"),
        13 => format!("d->{single}"),
        14 => format!("d ->> {single}"),
        15 => format!("$${plain}$$"),
        16 => format!("$b${plain}$b$"),
        17 => format!("n{single}"),
        other => numbers[other % numbers.len()].to_owned(),
    }
}

/// `~` is a literal, `^` a gap.
const SHAPES: &[&str] = &[
    "SELECT ^a,^b+~ FROM t1 WHERE c^=^~ AND d>- ~ OR e LIKE ~ LIMIT ~,~",
    "SELECT /*+ SET_VAR(a=~) */ t.* FROM t WHERE a = ~ AND b BETWEEN ~ AND ~",
    "INSERT INTO t (a, b) VALUES^(~,^~),(~, ~)^, (now(), ~) ON DUPLICATE KEY UPDATE a=VALUES(a), b=~",
    "INSERT INTO t VALUES (~,NULL,~),(DEFAULT,~,~)",
    "UPDATE t SET a=~,^b=a - ~ WHERE (a,b) IN ((~,~),(~,~))^AND c NOT IN (~,~,d,f(~))",
    "SELECT a FROM t WHERE b IN^(~^,~,^~)",
    "SELECT /*!80000 ~, */ `n` FROM t; SELECT ~ ; DELETE FROM t WHERE a=~;",
    "WITH c AS (SELECT ~) SELECT CASE WHEN a=~ THEN ~ ELSE ~ END FROM c",
    "SET PASSWORD FOR a = ~; SET @a = ~, b := ~",
    "CREATE TABLE t (a INT DEFAULT ~, b ENUM(~,~)) COMMENT=~",
    "CALL f(~, ~)^; DO (~)",
];
const GAPS: &[&str] = &[
    "",
    " ",
    "  ",
    "\n",
    " /* zq 7 */ ",
    "/**/",
    " -- z'q\n",
    " # 7\"\n",
];

type Filling = (Vec<(usize, Vec<(u8, &'static str)>)>, Vec<&'static str>);

fn filling() -> impl Strategy<Value = Filling> {
    (
        prop::collection::vec((0_usize..60, inside()), 8),
        prop::collection::vec(prop::sample::select(GAPS), 1..5),
    )
}

fn fill(shape: &str, (literals, gaps): &Filling, mode: SqlMode) -> Vec<u8> {
    let mut literals = literals.iter().cycle();
    let mut gaps = gaps.iter().cycle();
    let mut statement = String::new();
    for character in shape.chars() {
        match character {
            '~' => {
                let (choice, parts) = literals.next().unwrap();
                statement.push_str(&literal(*choice, parts, mode));
            }
            '^' => statement.push_str(gaps.next().unwrap()),
            other => statement.push(other),
        }
    }
    // A byte of a longer character alone, another encoding, the start of a character that ends with a quote.
    let mut bytes = [0xff, 0xe4, 0x80, 0xf0].iter().cycle();
    statement
        .into_bytes()
        .into_iter()
        .map(|byte| {
            if byte == 1 {
                *bytes.next().unwrap()
            } else {
                byte
            }
        })
        .collect()
}

/// All that is ever shown of a statement.
fn shown(statement: &[u8], mode: SqlMode) -> Vec<String> {
    let text = String::from_utf8_lossy(statement);
    let mut fingerprinter = Fingerprinter::new(mode);
    let class = fingerprinter.class_of(statement);
    let mut shown = vec![
        redact_in(&text, mode),
        fingerprint_in(&text, mode),
        fingerprinter.fingerprint_of(class).unwrap().to_owned(),
    ];
    if !mode.ansi_quotes {
        shown.push(redact_in_any_mode(&text));
    }
    shown
}

proptest! {
    #![proptest_config(common::cases(200))]

    #[test]
    fn no_literal_survives(shape in prop::sample::select(SHAPES), filling in filling(), mode in mode(), step in 1_usize..5) {
        let statement = fill(shape, &filling, mode);
        for length in (0..statement.len()).step_by(step).chain([statement.len()]) {
            let prefix = &statement[..length];
            for text in shown(prefix, mode) {
                prop_assert!(!text.contains(MARKS), "{} of {}", text, prefix.escape_ascii());
            }
        }
    }

    /// The same shape has one class, whatever its literals are.
    #[test]
    fn literals_do_not_make_classes(
        shape in prop::sample::select(SHAPES),
        first in filling(),
        second in filling(),
        mode in mode(),
    ) {
        // These two are more than a literal: an operator and a cast.
        let usual = |filling: &Filling| {
            let (literals, gaps) = filling.clone();
            let literals = literals.into_iter().map(|(choice, parts)| {
                (if (10..=14).contains(&choice) { 0 } else { choice }, parts)
            });
            (literals.collect(), gaps)
        };
        let (first, second) = (usual(&first), usual(&second));
        let (first, second) = (fill(shape, &first, mode), fill(shape, &second, mode));
        let class = |statement: &[u8]| Fingerprinter::new(mode).class_of(statement);
        // Where nobody knows whether a backslash is an escape, what stands before it is all that is told.
        let is_cut = |statement: &[u8]| {
            let backslash = statement.iter().position(|byte| *byte == b'\\');
            mode == SqlMode::default()
                && backslash.is_some_and(|at| class(statement) == class(&statement[..at]))
        };
        prop_assert!(class(&first) == class(&second) || is_cut(&first) || is_cut(&second));
    }
}
