//! Values as SQLite's cells, and back.

use rusqlite::types::{ToSqlOutput, Value as Cell, ValueRef};
use serde_json::Value as Json;

use crate::questions::Format;
use crate::table::Type;
use crate::value::{Value, id_text};

/// The cell of a value that fits its column.
pub(super) fn cell(value: &Value, of: Type) -> ToSqlOutput<'_> {
    match (value, of) {
        (Value::Signed(value), Type::Choice(words)) => {
            let word = words.iter().find(|(_, code)| i64::from(*code) == *value);
            ToSqlOutput::Borrowed(ValueRef::Text(
                word.map_or("", |(word, _)| *word).as_bytes(),
            ))
        }
        (Value::Text(text), _) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        (value, _) => ToSqlOutput::Owned(owned(value)),
    }
}

fn owned(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        // The same bits: a hash is compared, never counted with.
        Value::Unsigned(value) => Cell::Integer(value.cast_signed()),
        Value::Signed(value) => Cell::Integer(*value),
        // SQLite knows no NaN: it would be NULL.
        Value::Float(value) if value.is_nan() => Cell::Real(0.0),
        Value::Float(value) => Cell::Real(*value),
        Value::Text(text) => Cell::Text(text.clone()),
        Value::Id(id) => Cell::Text(id_text(id)),
        Value::Floats(_) | Value::List(_) | Value::Map(_) => Cell::Text(json(value).to_string()),
    }
}

/// A number that is whole is written as one: `17`, not `17.0`.
fn number(value: f64) -> Json {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    match value {
        value if value.fract() == 0.0 && value.abs() < EXACT_MAX => Json::from(value as i64),
        value => Json::from(shortest(value)),
    }
}

/// What is of single precision with no more digits than that has: 0.05, not 0.05000000074505806.
fn shortest(value: f64) -> f64 {
    let single = value as f32;
    match f64::from(single) == value {
        true => single.to_string().parse().unwrap_or(value),
        false => value,
    }
}

fn json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Unsigned(value) => Json::from(value.cast_signed()),
        Value::Signed(value) => Json::from(*value),
        Value::Float(value) => number(*value),
        Value::Text(text) => Json::from(text.as_str()),
        Value::Id(id) => Json::from(id_text(id)),
        Value::Floats(values) => Json::Array(values.iter().copied().map(number).collect()),
        Value::List(values) => Json::Array(values.iter().map(json).collect()),
        Value::Map(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| {
                let key = match json(key) {
                    Json::String(key) => key,
                    key => key.to_string(),
                };
                (key, json(value))
            });
            Json::Object(pairs.collect())
        }
    }
}

/// The value of a cell of an answer.
pub(super) fn value(cell: ValueRef<'_>, format: Format) -> Value {
    match (cell, format) {
        (ValueRef::Null | ValueRef::Blob(_), _) => Value::Null,
        (ValueRef::Integer(value), Format::Hash) => Value::Unsigned(value.cast_unsigned()),
        (ValueRef::Integer(value), _) => Value::Signed(value),
        (ValueRef::Real(value), _) => Value::Float(value),
        (ValueRef::Text(text), Format::List) => list(text),
        (ValueRef::Text(text), _) => Value::Text(String::from_utf8_lossy(text).into_owned()),
    }
}

/// Texts of a JSON array; what else stands in it is no text that we wrote.
fn list(text: &[u8]) -> Value {
    let words: Vec<String> = serde_json::from_slice(text).unwrap_or_default();
    Value::List(words.into_iter().map(Value::Text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_they_need() {
        let values = [
            17.0,
            f64::from(0.05_f32),
            f64::from(3996.004_f32),
            0.1,
            1.0 / 3.0,
            f64::NAN,
        ];
        let text = json(&Value::Floats(values.to_vec())).to_string();
        assert_eq!(text, "[17,0.05,3996.004,0.1,0.3333333333333333,null]");
    }
}
