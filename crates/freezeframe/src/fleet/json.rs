//! Answers as JSON: `docs/reference/json.md` is its contract.

use ::fleet::Value;
use ::fleet::questions::{Format, Question};
use ::fleet::sqlite::{Answer, Given};
use serde_json::{Map, Value as Json, json};

/// The questions.
pub(super) fn list(questions: &[&Question]) -> Vec<Json> {
    let questions = questions.iter();
    questions
        .map(|question| json!({"name": question.name, "asks": question.asks}))
        .collect()
}

pub(super) fn answer(question: &Question, given: &Given, answer: &Answer) -> Json {
    let rows = answer.rows.iter().map(|row| {
        let cells = question.columns.iter().zip(row);
        let cells =
            cells.map(|(column, value)| (column.name.to_owned(), cell(value, column.format)));
        Json::Object(cells.collect::<Map<_, _>>())
    });
    json!({
        "question": question.name,
        "asks": question.asks,
        "since": time(given.since),
        "now": time(given.now),
        "incident": given.subject.as_ref().map(|me| json!({
            "name": me.name,
            "cause": (!me.cause.is_empty()).then_some(&me.cause),
            "shape": me.shape.to_string(),
        })),
        "rows": rows.collect::<Vec<_>>(),
    })
}

fn time(ms: i64) -> Option<String> {
    let moment = jiff::Timestamp::from_millisecond(ms).ok()?;
    Some(moment.to_string())
}

fn cell(value: &Value, format: Format) -> Json {
    match (value, format) {
        (Value::Signed(ms), Format::Moment) => time(*ms).into(),
        (Value::Unsigned(hash), Format::Hash) => format!("{hash:016x}").into(),
        (Value::Unsigned(value), _) => (*value).into(),
        (Value::Signed(value), _) => (*value).into(),
        (Value::Float(value), _) => (*value).into(),
        (Value::Text(text), _) => text.as_str().into(),
        (Value::List(values), _) => values
            .iter()
            .map(|value| cell(value, Format::Text))
            .collect(),
        _ => Json::Null,
    }
}
