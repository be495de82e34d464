//! Values as columns: words that serde writes, and JSON.

use rusqlite::Row;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) fn json<T: Serialize>(value: &T) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

/// The word that serde writes for a value without fields.
pub(crate) fn word<T: Serialize>(value: &T) -> rusqlite::Result<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Ok(word),
        Ok(other) => Ok(other.to_string()),
        Err(error) => Err(rusqlite::Error::ToSqlConversionFailure(error.into())),
    }
}

pub(crate) fn word_column<T: DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<T> {
    let word: String = row.get(column)?;
    serde_json::from_value(serde_json::Value::String(word.clone()))
        .map_err(|_| unknown_value(column, &word))
}

pub(crate) fn json_column<T: DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<T> {
    serde_json::from_str(text_column(row, column)?).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            rusqlite::types::Type::Text,
            error.to_string().into(),
        )
    })
}

/// A text as it lies in the row, without a copy.
pub(crate) fn text_column<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<&'a str> {
    Ok(row.get_ref(column)?.as_str()?)
}

pub(crate) fn ms_column(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

pub(crate) fn unknown_value(column: usize, value: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(
        column,
        rusqlite::types::Type::Text,
        format!("unknown value '{value}'").into(),
    )
}
