//! Amazon RDS, Enhanced Monitoring: what the agent on the server's host tells each second to minute, a JSON object each,
//! also as texts within the answer of CloudWatch Logs. Each becomes one line.

use std::borrow::Cow;

use serde_json::{Deserializer, Value};

use crate::columns::is_server_program;
use crate::json_rows::between;
use crate::line::{has, has_words};

/// A line begins so: keys are in the order of the alphabet.
pub(crate) const BEGIN: &str = "{\"cpuUtilization\":";

/// Largest text that is looked at.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// One object has some ten kilobytes.
const OBJECT_BYTES_MAX: usize = 512 << 10;

/// What begins like an object and is none: so often the rest of the text is looked at.
const FAILURES_MAX: usize = 100;

/// Signs that only part objects.
const AROUND: &[char] = &[' ', '\t', '\r', ',', '[', ']'];

/// The first key of each object.
const FIRST: &str = "engine";

/// The lines with their numbers, objects as one line each; `None` where there is no such object.
pub(crate) fn unwrapped(text: &str) -> Option<Vec<(usize, Cow<'_, str>)>> {
    let may_be = text.len() <= TEXT_BYTES_MAX && has(text, b'{');
    if !may_be || !has_words(text, "cpuUtilization") {
        return None;
    }
    let mut lines = Vec::new();
    let (mut from, mut number, mut copied, mut failures) = (0, 1, 0, 0);
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(FIRST)) {
        let key = from + at;
        from = key + FIRST.len();
        if failures >= FAILURES_MAX {
            break;
        }
        let Some(begin) = object_start(text, key).filter(|begin| *begin >= copied) else {
            continue;
        };
        let Some((object, end)) = object_at(text, begin) else {
            failures += 1;
            continue;
        };
        between(text.get(copied..begin)?, AROUND, &mut number, &mut lines);
        lines.push((number, Cow::Owned(object)));
        number += text.get(begin..end)?.matches('\n').count();
        (from, copied) = (end, end);
    }
    if copied == 0 {
        return None;
    }
    between(text.get(copied..)?, AROUND, &mut number, &mut lines);
    Some(lines)
}

/// Where the object begins whose first key is here; with the quotation mark of the text that holds it.
fn object_start(text: &str, key: usize) -> Option<usize> {
    let before = text.get(..key)?;
    if let Some(before) = before.strip_suffix("\"{\\\"") {
        return Some(before.len());
    }
    let before = before.strip_suffix('"')?.trim_ascii_end();
    before.strip_suffix('{').map(str::len)
}

/// The object as one line, and where it ends.
fn object_at(text: &str, begin: usize) -> Option<(String, usize)> {
    let rest = text.get(begin..)?;
    let mut most = rest.len().min(OBJECT_BYTES_MAX);
    while !rest.is_char_boundary(most) {
        most -= 1;
    }
    let mut values = Deserializer::from_str(rest.get(..most)?).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let end = begin + values.byte_offset();
    let mut object: Value = match value {
        Value::String(text) => serde_json::from_str(&text).ok()?,
        other => other,
    };
    // Every thread is in it, which makes long lines; the memory of one is that of all.
    if let Some(all) = object.get_mut("processList").and_then(Value::as_array_mut) {
        all.retain(is_server);
        all.truncate(1);
    }
    let is_one = object.get("cpuUtilization").is_some_and(Value::is_object);
    is_one.then(|| (object.to_string(), end))
}

fn is_server(process: &Value) -> bool {
    let name = process["name"].as_str();
    name.is_some_and(is_server_program)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &str = "{\"engine\":\"MYSQL\",\"numVCPUs\":1,\"cpuUtilization\":{\"user\":1.6}}";

    fn numbered(text: &str) -> Vec<(usize, String)> {
        let lines = unwrapped(text).unwrap_or_default();
        lines
            .into_iter()
            .map(|(number, line)| (number, line.into_owned()))
            .collect()
    }

    #[test]
    fn objects_in_every_form_are_one_line() {
        let one = "{\"cpuUtilization\":{\"user\":1.6},\"engine\":\"MYSQL\",\"numVCPUs\":1}";
        assert!(one.starts_with(BEGIN));
        let pretty = OBJECT.replace(',', ",\n  ").replace("{\"e", "{\n  \"e");
        assert_eq!(
            numbered(&format!("[{OBJECT},\n{pretty}]\nsee it")),
            [
                (1, one.to_owned()),
                (2, one.to_owned()),
                (6, "see it".to_owned())
            ]
        );
        let escaped = OBJECT.replace('"', "\\\"");
        let answer = format!("{{\"events\": [\n{{\"message\": \"{escaped}\"}}\n]}}\n");
        let lines = numbered(&answer);
        assert!(lines.contains(&(2, one.to_owned())), "{lines:?}");
    }

    #[test]
    fn what_only_looks_like_it_is_none() {
        for text in [
            "cpuUtilization of the engine",
            "{\"engine\":\"MYSQL\"} cpuUtilization",
            "{\"engine\":\"MYSQL\",\"cpuUtilization\":5",
            "{\"engine\":\"MYSQL\",\"cpuUtilization\":5}",
        ] {
            assert_eq!(unwrapped(text), None, "{text}");
        }
        let hostile = format!("cpuUtilization{}", "{\"engine\":[".repeat(100_000));
        assert_eq!(unwrapped(&hostile), None);
    }
}
