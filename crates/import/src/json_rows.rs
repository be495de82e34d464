//! Rows of the server's tables that a client wrote as JSON, an object a row.
//!
//! ```text
//! [{"Id":5,"User":"app","Host":"web1:50","db":"shop","Command":"Query","Time":9,"State":"init","Info":null},…]
//! ```
//!
//! MySQL Shell has `--result-format=json` (an object over several lines), `ndjson` (one a line) and
//! `json/array`; clients with windows export arrays, some within an object. They are written again as `\G` does,
//! with the columns in their order.

use std::borrow::Cow;
use std::fmt::Formatter;

use serde::Deserialize;
use serde::de::{Error, MapAccess, Visitor};
use serde_json::Deserializer;

use crate::line::{has, has_words};
use crate::printed_rows;

/// Largest text that is looked at.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// Columns of a row at the most: tables of the server have a hundred.
const COLUMNS_MAX: usize = 512;

/// Columns, one of which each table has whose rows are read; several in one entry belong together.
const SIGNS: [&[&str]; 14] = [
    &["state", "info"],
    &["state", "command"],
    &["variable_name"],
    &["type", "status"],
    &["trx_id"],
    &["waiting_pid"],
    &["blocking_pid"],
    &["engine_lock_id"],
    &["requesting_engine_lock_id"],
    &["requesting_trx_id"],
    &["lock_trx_id"],
    &["lock_status"],
    &["digest_text"],
    &["seconds_behind_source"],
];

/// The lines with their numbers, objects as the rows that they are; `None` where there is no such object.
pub(crate) fn unwrapped(text: &str) -> Option<Vec<(usize, Cow<'_, str>)>> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let begins = |text: &str| text.starts_with(['{', '[']);
    let begins_line = || has_words(text, "\n{") || has_words(text, "\n[");
    if !has(text, b'{') || !(begins(text.trim_start()) || begins_line()) {
        return None;
    }
    let mut lines = Vec::new();
    let (mut rows, mut number) = (0, 1);
    let (mut from, mut copied) = (0, 0);
    while let Some(at) = text.get(from..).and_then(|rest| rest.find('{')) {
        let at = from + at;
        from = at + 1;
        let Some((fields, length)) = text.get(at..).and_then(row) else {
            continue;
        };
        let before = text.get(copied..at).unwrap_or_default();
        between(before, AROUND, &mut number, &mut lines);
        rows += 1;
        lines.push((number, Cow::Owned(printed_rows::head(rows))));
        for (name, value) in fields {
            let field = printed_rows::name(&name) + &value;
            let parts = field.lines().map(|line| Cow::Owned(line.to_owned()));
            lines.extend(parts.map(|line| (number, line)));
        }
        let end = at + length;
        number += newlines(text.get(at..end).unwrap_or_default());
        (from, copied) = (end, end);
    }
    if rows == 0 {
        return None;
    }
    let rest = text.get(copied..).unwrap_or_default();
    between(rest, AROUND, &mut number, &mut lines);
    Some(lines)
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Signs that only part and surround objects.
const AROUND: &[char] = &[' ', '\t', '\r', ',', '[', ']', '}'];

/// Lines that are none of an object; those of signs around objects alone are left out.
pub(crate) fn between<'a>(
    text: &'a str,
    around: &[char],
    number: &mut usize,
    lines: &mut Vec<(usize, Cow<'a, str>)>,
) {
    for (index, line) in text.split('\n').enumerate() {
        *number += usize::from(index > 0);
        if !line.trim_matches(around).is_empty() {
            lines.push((*number, Cow::Borrowed(line)));
        }
    }
}

/// The columns of an object in their order, which a map of `serde_json` does not keep.
struct Row(Vec<(String, String)>);

/// A value as the client prints it. What holds others is none, and ends the object at once: so no `{` is passed twice.
struct Scalar(String);

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Columns;

        impl<'de> Visitor<'de> for Columns {
            type Value = Row;

            fn expecting(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row, A::Error> {
                let mut columns = Vec::new();
                while let Some((name, Scalar(value))) = map.next_entry()? {
                    if columns.len() == COLUMNS_MAX {
                        return Err(A::Error::custom("too many columns"));
                    }
                    columns.push((name, value));
                }
                Ok(Row(columns))
            }
        }

        deserializer.deserialize_map(Columns)
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Printed;

        impl Visitor<'_> for Printed {
            type Value = Scalar;

            fn expecting(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a text, a number, true, false or null")
            }

            fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar(text.to_owned()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }

            fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }

            fn visit_unit<E>(self) -> Result<Scalar, E> {
                Ok(Scalar("NULL".to_owned()))
            }
        }

        deserializer.deserialize_any(Printed)
    }
}

/// The row that the text begins with, and its length, where it is one of a table that is read.
fn row(text: &str) -> Option<(Vec<(String, String)>, usize)> {
    let mut rows = Deserializer::from_str(text).into_iter::<Row>();
    let Row(columns) = rows.next()?.ok()?;
    let has = |sign: &str| {
        let mut names = columns.iter();
        names.any(|(name, _)| name.eq_ignore_ascii_case(sign))
    };
    let is_row = SIGNS.iter().any(|signs| signs.iter().all(|sign| has(sign)));
    is_row.then(|| (columns, rows.byte_offset()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<(usize, String)> {
        let lines = unwrapped(text).unwrap_or_default().into_iter();
        lines
            .map(|(number, line)| (number, line.trim_matches(['*', ' ']).to_owned()))
            .collect()
    }

    fn numbered(lines: &[(usize, &str)]) -> Vec<(usize, String)> {
        lines
            .iter()
            .map(|(number, line)| (*number, (*line).to_owned()))
            .collect()
    }

    #[test]
    fn objects_are_rows_wherever_they_stand() {
        let rows = [
            (1, "1. row"),
            (1, "State: a {"),
            (1, "Info: NULL"),
            (1, "2. row"),
            (1, "State:"),
            (1, "Info: b"),
        ];
        let array = r#"[{"State":"a {","Info":null}, {"State":"","Info":"b"}]"#;
        assert_eq!(texts(array), numbered(&rows));
        assert_eq!(
            texts(&format!("{{\"query\":{array}}}"))[1..],
            numbered(&rows)[..]
        );
        let lines = "SQL > show processlist;\n{\n  \"State\": \"a\",\n  \"Info\": 5\n}\n{\n  \"State\": \"b\",\n  \"Info\": \"c\\nd\"\n}\n2 rows";
        assert_eq!(
            texts(lines),
            numbered(&[
                (1, "SQL > show processlist;"),
                (2, "1. row"),
                (2, "State: a"),
                (2, "Info: 5"),
                (6, "2. row"),
                (6, "State: b"),
                (6, "Info: c"),
                (6, "d"),
                (10, "2 rows"),
            ])
        );
        // The end is lost.
        assert_eq!(texts(&array[..40])[..3], numbered(&rows)[..3]);
    }

    #[test]
    fn other_objects_are_left() {
        for text in [
            "{\"a\":1}",
            "[{\"State\":{\"a\":1},\"Info\":2}]",
            "f {\n}\n[x]",
            "{{{{",
            "[[[[",
        ] {
            assert!(unwrapped(text).is_none(), "{text}");
        }
    }
}
