//! Texts within one document of JSON: what a log's console, a collector of answers or a tracker's interface exports.
//!
//! ```text
//! [{"insertId": "a1", "textPayload": "2026-11-21T06:25:01Z 9 [Warning] …"}, …]
//! {"changed": true, "stdout": "*** 1. row ***\n Id: 5\n…", "stdout_lines": […]}
//! ```

use std::borrow::Cow;

use serde_json::{Map, Value};

/// Largest document that is looked at: its values take several times as much.
const DOCUMENT_BYTES_MAX: usize = 4 << 20;

/// Names under which shippers of logs and their consoles keep a line: docker, fluent-bit; Elastic; journald; Google;
/// CloudWatch; Loki; Splunk.
pub(crate) const MESSAGES: [&str; 9] = [
    "log",
    "message",
    "msg",
    "MESSAGE",
    "textPayload",
    "@message",
    "line",
    "_raw",
    "content",
];

/// A list of so many texts is the lines of one.
const LINES_MIN: usize = 3;

/// The lines of its texts, all with the number of the first; `None` where it is no such document.
pub(crate) fn unwrapped(text: &str) -> Option<Vec<(usize, Cow<'_, str>)>> {
    let document = text.trim();
    if !document.starts_with(['{', '[', '"']) || document.len() > DOCUMENT_BYTES_MAX {
        return None;
    }
    let value = serde_json::from_str(document).ok()?;
    let mut lines = Vec::new();
    match &value {
        Value::String(text) => add(text, &mut lines),
        value => collect(value, &mut lines),
    }
    let lines = lines.into_iter().map(|line| (1, Cow::Owned(line)));
    let lines: Vec<_> = lines.collect();
    (!lines.is_empty()).then_some(lines)
}

/// The text of an object that holds a line of a log.
pub(crate) fn message(fields: &Map<String, Value>) -> Option<&str> {
    // An event of the server that is not whole.
    if fields.contains_key("prio") {
        return None;
    }
    MESSAGES.iter().find_map(|name| fields.get(*name)?.as_str())
}

fn collect(value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(message) = message(fields) {
                add(message, lines);
                return;
            }
            if let Some(table) = fields.values().find_map(|rows| table(fields, rows)) {
                lines.extend(table);
                return;
            }
            let is_told = fields.values().any(is_text);
            for value in fields.values() {
                // Its lines stand beside the text as a list.
                if !(is_told && is_list_of_lines(value)) {
                    collect(value, lines);
                }
            }
        }
        Value::Array(values) if is_list_of_lines(value) => {
            let texts = values.iter().filter_map(Value::as_str);
            texts.for_each(|text| add(text, lines));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, lines)),
        Value::String(text) if is_text(value) => add(text, lines),
        _ => {}
    }
}

/// The head of a table and its rows, each a list beside the other, with tabs between cells.
fn table(fields: &Map<String, Value>, rows: &Value) -> Option<Vec<String>> {
    let rows: Vec<&Vec<Value>> = rows
        .as_array()?
        .iter()
        .map(Value::as_array)
        .collect::<Option<_>>()?;
    let columns = rows.first()?.len();
    let mut heads = fields.values().filter(|value| is_list_of_lines(value));
    let head = heads.find_map(|head| head.as_array().filter(|head| head.len() == columns))?;
    let row = |cells: &Vec<Value>| {
        let cells = cells.iter().map(|cell| match cell {
            Value::String(text) => text.replace(['\n', '\t'], " "),
            Value::Null => "NULL".to_owned(),
            other => other.to_string(),
        });
        cells.collect::<Vec<_>>().join("\t")
    };
    Some(
        std::iter::once(row(head))
            .chain(rows.into_iter().map(row))
            .collect(),
    )
}

/// A text of several lines.
fn is_text(value: &Value) -> bool {
    let text = value.as_str().map_or("", str::trim_end);
    text.contains('\n')
}

fn is_list_of_lines(value: &Value) -> bool {
    let values = value.as_array().map_or(&[][..], Vec::as_slice);
    values.len() >= LINES_MIN && values.iter().all(Value::is_string)
}

fn add(text: &str, lines: &mut Vec<String>) {
    let text = text.trim_end_matches(['\n', '\r']);
    lines.extend(text.split('\n').map(str::to_owned));
}

#[cfg(test)]
mod tests {
    use super::unwrapped;

    fn texts(text: &str) -> Vec<String> {
        let lines = unwrapped(text).unwrap_or_default().into_iter();
        lines.map(|(_, line)| line.into_owned()).collect()
    }

    #[test]
    fn texts_of_documents() {
        for document in [
            r#"[{"id": 1, "textPayload": "a"}, {"textPayload": "b\nc\n"}]"#,
            r#"{"hits": {"hits": [{"_source": {"message": "a\nb"}}, {"_source": {"message": "c"}}]}}"#,
            r#"{"rc": 0, "stdout": "a\nb\nc\n", "stdout_lines": ["a", "b", "c"]}"#,
            r#"{"stdout_lines": ["a", "b", "c"]}"#,
            r#""a\nb\nc""#,
        ] {
            assert_eq!(texts(document), ["a", "b", "c"], "{document}");
        }
        let table = r#"{"columns": ["Id", "State", "Info"], "rows": [[5, "init", null]]}"#;
        assert_eq!(texts(table), ["Id\tState\tInfo", "5\tinit\tNULL"]);
    }

    #[test]
    fn other_documents_stay() {
        for text in [
            "",
            "a",
            "{\"a\": 1}",
            "{\"a\": \"b\"}",
            "[1, 2]",
            "{\"log\": \"cut",
        ] {
            assert!(unwrapped(text).is_none(), "{text}");
        }
    }
}
