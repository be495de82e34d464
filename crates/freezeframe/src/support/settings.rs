//! The configuration without its texts. What is known to be harmless stays; what is not known goes.

use std::path::Path;

use model::names_a_secret;
use toml::{Table, Value};

use crate::triggers;

/// A text of the configuration, with its key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Text {
    pub(super) key: String,
    pub(super) value: String,
}

/// The words that a setting may have; others are taken out.
const WORDS: [(&str, &[&str]); 3] = [
    ("fleet.seconds", &["vital", "all"]),
    ("hooks.on", &["start", "preliminary", "end", "verdict"]),
    (
        "hooks.format",
        &["json", "slack", "pagerduty", "alertmanager", "otlp"],
    ),
];

/// Words that the names of settings are made of. A name with another word in it may be a value in the wrong place.
const NAME_WORDS: [&str; 80] = [
    "above",
    "after",
    "answer",
    "before",
    "burn",
    "ca",
    "causes",
    "cert",
    "cluster",
    "completions",
    "days",
    "deadline",
    "defaults",
    "detect",
    "dir",
    "file",
    "fleet",
    "format",
    "frames",
    "free",
    "gateway",
    "general",
    "headers",
    "history",
    "hooks",
    "host",
    "hosts",
    "hour",
    "hours",
    "hung",
    "incident",
    "incidents",
    "journal",
    "keep",
    "key",
    "labels",
    "limit",
    "listen",
    "log",
    "login",
    "max",
    "mebibytes",
    "metrics",
    "min",
    "mode",
    "ms",
    "name",
    "new",
    "on",
    "password",
    "path",
    "per",
    "port",
    "probe",
    "program",
    "queries",
    "region",
    "remote",
    "restart",
    "retention",
    "salt",
    "same",
    "seconds",
    "secret",
    "server",
    "share",
    "shell",
    "slow",
    "socket",
    "spool",
    "ssl",
    "statement",
    "stuck",
    "system",
    "targets",
    "times",
    "triggers",
    "url",
    "user",
    "usual",
];

/// What a section of names ends with that its owner makes up.
const LABELS: &str = "labels";

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
    take_out("", true, &mut table, &mut texts);
    let shown = toml::to_string(&table).unwrap_or_else(|_| "# it cannot be shown\n".to_owned());
    (shown, texts)
}

/// Of a file that is no TOML every value may be a secret. What a line names stays known by it: there may be more secrets in
/// a file that it leads to.
fn lines(text: &str) -> Vec<Text> {
    let values = text.lines().filter_map(|line| line.split_once('='));
    values
        .map(|(key, value)| Text {
            key: match key.trim() {
                key if is_name(key) => key.to_owned(),
                _ => "setting".to_owned(),
            },
            value: value.trim().trim_matches(['"', '\'']).to_owned(),
        })
        .collect()
}

/// Whether it can be the name of a setting, or one that was mistyped of its words.
fn is_name(key: &str) -> bool {
    key.split('_').all(|word| NAME_WORDS.contains(&word))
}

/// Takes out of a value what may be somebody's. `is_ours`: all names in front of it are those of settings.
fn take_out(key: &str, is_ours: bool, value: &mut Value, texts: &mut Vec<Text>) {
    let last = key.rsplit('.').next().unwrap_or_default();
    let number = match value {
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Datetime(date) => Some(date.to_string()),
        _ => None,
    };
    if let Some(number) = number {
        // `password = 4711`: what a name tells of its value is so whatever was written there.
        let is_secret = names_a_secret(last);
        if is_secret {
            texts.push(Text {
                key: key.to_owned(),
                value: number,
            });
        }
        if is_secret || !is_ours {
            *value = Value::String("(a number, taken out)".to_owned());
        }
        return;
    }
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
                take_out(key, is_ours, value, texts);
            }
        }
        Value::Table(table) => {
            let mut unknown = 0;
            for (name, mut value) in std::mem::take(table) {
                let is_ours = is_ours && last != LABELS && is_name(&name);
                let name = match is_ours {
                    true => name,
                    false => {
                        unknown += 1;
                        format!("(name {unknown})")
                    }
                };
                let key = match key {
                    "" => name.clone(),
                    above => format!("{above}.{name}"),
                };
                take_out(&key, is_ours, &mut value, texts);
                table.insert(name, value);
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
            "\"(name 1)\" = ",
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
        ];
        assert_eq!(
            keys,
            ["(name 1)"].into_iter().chain(expected).collect::<Vec<_>>()
        );
    }

    fn shown_of(text: &str) -> (String, Vec<Text>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f.toml");
        std::fs::write(&path, text).unwrap();
        shown(&path)
    }

    #[test]
    fn a_name_that_is_no_settings_and_its_numbers_go() {
        let (shown, _) = shown_of(
            "hunter2 = 1\n[s3cret]\nmore = 4711081\nport = 4711082\n[server]\nport = 3306\n\
             s3cret_too = 2026-11-30\nmax_port = 4\n[[targets]]\nname = 'a'\n[targets.labels]\ns3cret = 'x'\nhost = 'y'\n",
        );
        for gone in ["hunter2", "s3cret", "4711", "2026", "host"] {
            assert!(!shown.contains(gone), "{gone}: {shown}");
        }
        for kept in [
            "[server]",
            "port = 3306",
            "max_port = 4",
            "[targets.labels]",
        ] {
            assert!(shown.contains(kept), "{kept}: {shown}");
        }
    }

    #[test]
    fn a_number_behind_the_name_of_a_secret_is_one() {
        let (shown, texts) = shown_of(
            "[server]\npassword = 47110815\n[[hooks]]\nsecret = 815.5\ndeadline_seconds = 5\n",
        );
        assert!(!shown.contains("815"), "{shown}");
        assert!(shown.contains("deadline_seconds = 5"), "{shown}");
        let values: Vec<&str> = texts.iter().map(|text| text.value.as_str()).collect();
        assert_eq!(values.len(), 2, "{values:?}");
        assert!(values.contains(&"47110815"), "{values:?}");
    }

    #[test]
    fn all_settings_are_known_by_their_names() {
        // Which there are is told for one that is none.
        for section in [
            "",
            "[server]",
            "[incident]",
            "[history]",
            "[retention]",
            "[detect]",
            "[queries]",
            "[fleet]",
            "[gateway]",
            "[[hooks]]",
            "[[targets]]",
        ] {
            let text = format!("{section}\nno_such_setting = 1\n");
            let told = toml::from_str::<crate::config::Config>(&text).unwrap_err();
            let message = told.message().to_owned();
            let (_, names) = message.split_once("expected ").unwrap();
            for name in names.split('`').skip(1).step_by(2) {
                assert!(is_name(name), "{name}");
            }
        }
        assert!(!is_name("no_such_setting"));
    }

    #[test]
    fn what_is_no_toml_is_not_quoted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f.toml");
        std::fs::write(&path, "dir = 1\nuser = \"s3cret\nx = 's3cret2'\n").unwrap();
        let (shown, texts) = shown(&path);
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(shown.contains("line 2"), "{shown}");
        let of_user = texts.iter().find(|text| text.value == "s3cret").unwrap();
        assert_eq!(of_user.key, "user");
        assert!(
            self::shown(&dir.path().join("none"))
                .0
                .contains("cannot be read")
        );
    }
}
