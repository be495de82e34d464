//! The configuration without its texts. What is known to be harmless stays; what is not known goes.

use std::path::Path;

use toml::{Table, Value};

use crate::triggers;

/// A text of the configuration, with its key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Text {
    pub(super) key: String,
    pub(super) value: String,
}

/// The words that a setting may have; others are taken out.
const WORDS: [(&str, &[&str]); 2] = [
    ("hooks.on", &["start", "preliminary", "end", "verdict"]),
    (
        "hooks.format",
        &["json", "slack", "pagerduty", "alertmanager"],
    ),
];

/// What a bundle says of the configuration, and the texts that it must not hold.
pub(super) fn shown(path: &Path) -> (String, Vec<Text>) {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return (format!("# it cannot be read: {error}\n"), Vec::new()),
    };
    let table: Table = match toml::from_str(&text) {
        Ok(table) => table,
        Err(error) => {
            // Its message would quote the line.
            let at = error.span().map_or(0, |span| span.start);
            let line = 1 + text.get(..at).unwrap_or_default().matches('\n').count();
            let says = format!("# it is no TOML from line {line} on; nothing of it is shown\n");
            return (says, lines(&text));
        }
    };
    let mut texts = Vec::new();
    let mut table = Value::Table(table);
    take_out("", &mut table, &mut texts);
    let shown = toml::to_string(&table).unwrap_or_else(|_| "# it cannot be shown\n".to_owned());
    (shown, texts)
}

/// Of a file that is no TOML every value may be a secret.
fn lines(text: &str) -> Vec<Text> {
    let values = text.lines().filter_map(|line| line.split_once('='));
    values
        .map(|(_, value)| Text {
            key: "setting".to_owned(),
            value: value.trim().trim_matches(['"', '\'']).to_owned(),
        })
        .collect()
}

fn take_out(key: &str, value: &mut Value, texts: &mut Vec<Text>) {
    match value {
        Value::String(text) if !is_harmless(key, text) => {
            let said = format!("({} characters, taken out)", text.chars().count());
            texts.push(Text {
                key: key.to_owned(),
                value: std::mem::replace(text, said),
            });
        }
        Value::Array(values) => {
            for value in values {
                take_out(key, value, texts);
            }
        }
        Value::Table(table) => {
            for (name, value) in table.iter_mut() {
                let key = match key {
                    "" => name.clone(),
                    above => format!("{above}.{name}"),
                };
                take_out(&key, value, texts);
            }
        }
        _ => {}
    }
}

fn is_harmless(key: &str, text: &str) -> bool {
    // Names of signals and numbers: what is none is refused at the start.
    if key == "detect.triggers" {
        return triggers::parse(text).is_ok();
    }
    let words = WORDS.iter().find(|(of, _)| *of == key);
    words.is_some_and(|(_, words)| words.contains(&text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_known_words_stay_and_every_text_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f.toml");
        std::fs::write(
            &path,
            "dir = '/srv/s3cret'\nmisspelt = 's3cret'\n[server]\nport = 3306\n[detect]\n\
             triggers = ['Threads_running > 200', 's3cret > 1']\n[[hooks]]\non = ['verdict', 's3cret']\n\
             url = 'https://h/s3cret'\nheaders = ['a: s3cret']\n",
        )
        .unwrap();
        let (shown, texts) = shown(&path);
        assert!(!shown.contains("s3cret"), "{shown}");
        for kept in [
            "port = 3306",
            "\"Threads_running > 200\"",
            "\"verdict\"",
            "misspelt = ",
        ] {
            assert!(shown.contains(kept), "{kept}: {shown}");
        }
        let mut keys: Vec<&str> = texts.iter().map(|text| text.key.as_str()).collect();
        keys.sort_unstable();
        let expected = [
            "detect.triggers",
            "dir",
            "hooks.headers",
            "hooks.on",
            "hooks.url",
            "misspelt",
        ];
        assert_eq!(keys, expected);
    }

    #[test]
    fn what_is_no_toml_is_not_quoted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f.toml");
        std::fs::write(&path, "dir = 1\nuser = \"s3cret\nx = 's3cret2'\n").unwrap();
        let (shown, texts) = shown(&path);
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(shown.contains("line 2"), "{shown}");
        assert!(texts.iter().any(|text| text.value == "s3cret"), "{texts:?}");
        assert!(
            self::shown(&dir.path().join("none"))
                .0
                .contains("cannot be read")
        );
    }
}
