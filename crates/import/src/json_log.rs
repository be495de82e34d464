//! Logs whose lines a collector wrapped in JSON, an object a line.
//!
//! ```text
//! {"log":"2026-11-21T06:25:01Z 9 [Warning] …\n","stream":"stderr","time":"…"}
//! {"prio":2,"err_code":10914,"msg":"…","time":"2026-11-21T06:25:01Z","thread":9,"subsystem":"Server"}
//! ```
//!
//! The first is of docker's `json-file` and of fluent-bit. The second is MySQL 8's `log_sink_json`
//! (MySQL manual, "Error Logging in JSON Format"); people print it over several lines as well. Both
//! are written again as the server's own log has them.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde_json::{Map, Value};

use crate::json_text;
use crate::line::has;

/// Longest object that is read, in bytes: docker parts lines at 16 KiB.
const OBJECT_BYTES_MAX: usize = 64 << 10;

/// Lines of one object of `log_sink_json` at the most, which has some twenty fields.
const OBJECT_LINES_MAX: usize = 32;

/// Words of `prio`, from 0, as the server's own log has them.
const LEVELS: [&str; 4] = ["System", "ERROR", "Warning", "Note"];

/// The lines with their numbers, objects as the lines that they hold; `None` where there is no
/// such object.
pub(crate) fn unwrapped(text: &str) -> Option<Vec<(usize, Cow<'_, str>)>> {
    if !may_hold(text) {
        return None;
    }
    let lines: Vec<&str> = text.split('\n').collect();
    let mut out = Vec::with_capacity(lines.len());
    let mut any = false;
    let mut index = 0;
    while let Some(line) = lines.get(index) {
        let rest = lines.get(index..).unwrap_or_default();
        let (held, taken) = match object(line.trim(), rest) {
            Some((held, taken)) => {
                any = true;
                (held, taken)
            }
            None => (vec![Cow::Borrowed(*line)], 1),
        };
        out.extend(held.into_iter().map(|held| (index + 1, held)));
        index += taken;
    }
    any.then_some(out)
}

/// Names under which a line is kept, as JSON has them.
static NAMES: LazyLock<Vec<Finder<'_>>> = LazyLock::new(|| {
    let names = json_text::MESSAGES.iter().chain(&["prio"]);
    let finders = names.map(|name| Finder::new(&format!("\"{name}\"")).into_owned());
    finders.collect()
});

/// The text may have an object with such a name.
fn may_hold(text: &str) -> bool {
    let has_name = |name: &Finder<'_>| name.find(text.as_bytes()).is_some();
    has(text, b'{') && NAMES.iter().any(has_name)
}

/// The lines that an object holds, and how many lines it stands on.
fn object<'a>(line: &str, rest: &[&str]) -> Option<(Vec<Cow<'a, str>>, usize)> {
    if !line.starts_with('{') {
        return None;
    }
    if line != "{" {
        return Some((held_by(line)?, 1));
    }
    let lines = rest.get(..rest.len().min(OBJECT_LINES_MAX))?;
    let is_end = |line: &&str| matches!(line.trim(), "}" | "},");
    let taken = lines.iter().position(is_end)? + 1;
    let lines = lines.get(..taken)?;
    if lines.iter().map(|line| line.len()).sum::<usize>() > OBJECT_BYTES_MAX {
        return None;
    }
    let event = event(&parsed(lines.join("\n").trim())?)?;
    Some((vec![Cow::Owned(event)], taken))
}

/// The lines that the object on one line holds.
fn held_by<'a>(line: &str) -> Option<Vec<Cow<'a, str>>> {
    if !may_hold(line) {
        return None;
    }
    let fields = parsed(line)?;
    if let Some(event) = event(&fields) {
        return Some(vec![Cow::Owned(event)]);
    }
    let log = json_text::message(&fields)?;
    let inner = log.trim_end_matches(['\n', '\r']).split('\n');
    let held = inner.map(|line| {
        // The server's own objects, within those of the collector.
        let event = parsed(line.trim()).and_then(|fields| event(&fields));
        Cow::Owned(event.unwrap_or_else(|| line.to_owned()))
    });
    Some(held.collect())
}

fn parsed(text: &str) -> Option<Map<String, Value>> {
    let text = text.trim_end_matches(',');
    if text.len() > OBJECT_BYTES_MAX || !text.starts_with('{') {
        return None;
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => Some(fields),
        _ => None,
    }
}

/// An event of `log_sink_json` as the server's own log has it: `prio` is the number of its level,
/// `label` the word.
fn event(fields: &Map<String, Value>) -> Option<String> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let number = |name: &str| fields.get(name).and_then(Value::as_u64);
    let level = usize::try_from(number("prio")?).ok()?;
    let level = LEVELS.get(level).copied().or(text("label"))?;
    let (time, message) = (text("time")?, text("msg")?);
    let thread = number("thread").unwrap_or(0);
    let code = number("err_code").unwrap_or(0);
    let part = text("subsystem").unwrap_or("Server");
    let message = message.replace('\n', " ");
    Some(format!(
        "{time} {thread} [{level}] [MY-{code:06}] [{part}] {message}"
    ))
}

#[cfg(test)]
mod tests {
    use crate::{Input, clean, import};

    fn texts(text: &str) -> Vec<(usize, String)> {
        let lines = clean::lines(text);
        let text = |line: &crate::line::Line<'_>| (line.number, line.text.to_string());
        lines.iter().map(text).collect()
    }

    const EVENT: &str = r#"{ "prio" : 2, "err_code" : 10914, "msg" : "Too many connections", "time" : "2026-11-21T06:25:01.5Z", "thread" : 8, "subsystem" : "Server", "label" : "Warning" }"#;
    const LINE: &str =
        "2026-11-21T06:25:01.5Z 8 [Warning] [MY-010914] [Server] Too many connections";

    #[test]
    fn lines_of_collectors_are_those_of_the_log() {
        let text = "the log:\n{\"log\":\"2026-11-21T06:25:01Z 9 [Note] \\\"a\\\" <b>\\n\",\"stream\":\"stderr\"}\n\
            {\"stream\":\"stderr\",\"log\":\"one\\r\\ntwo\\r\\n\",\"time\":\"x\"}\nend";
        assert_eq!(
            texts(text),
            [
                (1, "the log:"),
                (2, "2026-11-21T06:25:01Z 9 [Note] \"a\" <b>"),
                (3, "one"),
                (3, "two"),
                (4, "end")
            ]
            .map(|(number, text)| (number, text.to_owned()))
        );
    }

    #[test]
    fn events_of_the_server_are_lines_of_its_log() {
        let within = format!("{{\"log\":{}}}", serde_json::json!(format!("{EVENT}\n")));
        for text in [EVENT.to_owned(), format!("{EVENT},"), within] {
            assert_eq!(texts(&text), [(1, LINE.to_owned())], "{text}");
        }
        let spread = EVENT.replace("{ ", "  {\n ").replace(", ", ",\n  ");
        let spread = spread.replace(" }", "\n}");
        assert_eq!(
            texts(&format!("{spread},\n{spread}\nend")),
            [
                (1, LINE.to_owned()),
                (10, LINE.to_owned()),
                (19, "end".to_owned())
            ]
        );
    }

    #[test]
    fn what_is_no_line_of_a_log_stays() {
        for text in [
            "{\"log\": 5}",
            "{\"log\":\"cut at its e",
            "{\"prio\":2,\"msg\":\"no time\"}",
            "{\n  \"prio\": 2\n}",
            "{\n\"prio\"",
            "{\n  \"query_block\": {\n    \"log\": 1\n  }\n}",
        ] {
            let lines: Vec<String> = texts(text).into_iter().map(|(_, text)| text).collect();
            assert_eq!(lines.join("\n"), text);
        }
    }

    #[test]
    fn such_a_log_is_an_error_log() {
        let wrapped = format!("{{\"log\":\"{LINE}\\n\"}}\n").repeat(2);
        let bytes = wrapped.as_bytes();
        let imported = import(&[Input { path: "x", bytes }]);
        let part = &imported.parts[0];
        assert_eq!(part.kind, "error log");
        assert_eq!((part.lines, part.skipped.as_deref()), (Some((1, 2)), None));
    }
}
