//! Answers in the format JSONCompact.

use serde_json::Value as Json;

use crate::questions::Format;
use crate::value::Value;

/// The rows of an answer; none when it is none.
pub(super) fn rows(body: &[u8]) -> Option<Vec<Vec<Json>>> {
    let mut answer: Json = serde_json::from_slice(body).ok()?;
    let Json::Array(rows) = answer.get_mut("data")?.take() else {
        return None;
    };
    let rows = rows.into_iter().map(|row| match row {
        Json::Array(cells) => Some(cells),
        _ => None,
    });
    rows.collect()
}

/// A whole number, also one that is written as a text, as some servers are set to do with those of 64 bits.
pub(super) fn unsigned(cell: &Json) -> Option<u64> {
    match cell {
        Json::String(text) => text.parse().ok(),
        cell => cell.as_u64(),
    }
}

/// A whole number with its sign.
pub(super) fn signed(cell: &Json) -> Option<i64> {
    match cell {
        Json::String(text) => text.parse().ok(),
        cell => cell.as_i64(),
    }
}

/// The value of a cell of an answer.
pub(super) fn value(cell: &Json, format: Format) -> Value {
    match format {
        Format::Hash => unsigned(cell).map_or(Value::Null, Value::Unsigned),
        Format::Count | Format::Moment => signed(cell).map_or(Value::Null, Value::Signed),
        Format::Number | Format::Duration | Format::Share => {
            let number = match cell {
                Json::String(text) => text.parse().ok(),
                cell => cell.as_f64(),
            };
            number.map_or(Value::Null, Value::Float)
        }
        Format::Text | Format::Sentence | Format::File => {
            cell.as_str().map_or(Value::Null, Value::from)
        }
        Format::List => {
            let words = cell.as_array().map(Vec::as_slice).unwrap_or_default();
            let words = words.iter().filter_map(Json::as_str);
            Value::List(words.map(Value::from).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read_with_and_without_quotes() {
        let rows =
            rows(br#"{"meta":[],"data":[[18446744073709551615,"7",1.5,["a"],null]]}"#).unwrap();
        let [big, count, number, list, null] = rows[0].as_slice() else {
            panic!("{rows:?}");
        };
        assert_eq!(value(big, Format::Hash), Value::Unsigned(u64::MAX));
        assert_eq!(value(count, Format::Count), Value::Signed(7));
        assert_eq!(value(number, Format::Share), Value::Float(1.5));
        assert_eq!(
            value(list, Format::List),
            Value::List(vec![Value::from("a")])
        );
        assert_eq!(value(null, Format::Text), Value::Null);
        assert_eq!(super::rows(b"Ok."), None);
    }
}
