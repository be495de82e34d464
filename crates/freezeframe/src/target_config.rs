//! What is written of a server that is recorded by name, and what is wrong with it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use recorder::MetricsFrom;
use serde::Deserialize;
use server::TlsMode;

/// Characters of a name: part of file names and of metrics.
const NAME_CHARS_MAX: usize = 64;

/// Targets of one recorder.
const TARGETS_MAX: usize = 1000;

/// A server with a name. What is left out is as in `[server]`, but for where it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TargetConfig {
    pub(crate) name: String,
    #[serde(deserialize_with = "host")]
    pub(crate) host: Option<String>,
    pub(crate) port: Option<u16>,
    #[serde(deserialize_with = "socket")]
    pub(crate) socket: Option<PathBuf>,
    pub(crate) user: Option<String>,
    pub(crate) password_file: Option<PathBuf>,
    pub(crate) defaults_file: Option<PathBuf>,
    pub(crate) login_path: Option<String>,
    #[serde(deserialize_with = "ssl_mode")]
    pub(crate) ssl_mode: Option<TlsMode>,
    pub(crate) ssl_ca: Option<PathBuf>,
    pub(crate) ssl_cert: Option<PathBuf>,
    pub(crate) ssl_key: Option<PathBuf>,
    /// It runs on another host although its address is of this one: the way leads through a tunnel or a proxy.
    pub(crate) remote: bool,
    /// What its operator says of its host: `file:PATH` or `command:PROGRAM`.
    #[serde(deserialize_with = "metrics")]
    pub(crate) metrics: Option<MetricsFrom>,
    /// What a person says of it, for metrics and events.
    pub(crate) labels: BTreeMap<String, String>,
}

impl TargetConfig {
    fn check(&self) -> Result<()> {
        let name = &self.name;
        ensure!(!name.is_empty(), "a target needs a name");
        let is_word = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        ensure!(
            name.len() <= NAME_CHARS_MAX
                && name.starts_with(|c: char| c.is_ascii_alphanumeric())
                && name.chars().all(is_word),
            "name: at most {NAME_CHARS_MAX} letters, digits, '.', '_' and '-', beginning with a letter or digit"
        );
        let is_placed = self.host.is_some()
            || self.port.is_some()
            || self.socket.is_some()
            || self.defaults_file.is_some()
            || self.login_path.is_some();
        ensure!(
            is_placed,
            "'{name}' needs host, port or socket, or an option file or login path with them"
        );
        ensure!(
            self.socket.is_none() || (self.host.is_none() && self.port.is_none()),
            "'{name}' has both a socket and a host or port"
        );
        for (number, label) in (1..).zip(self.labels.keys()) {
            let mut letters = label.chars();
            let first = letters.next();
            ensure!(
                first.is_some_and(|c| c.is_ascii_alphabetic())
                    && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
                    && label != "server",
                "'{name}': label {number}, in alphabetical order: its name needs letters, digits and '_', a letter first, and not 'server'"
            );
        }
        Ok(())
    }
}

/// What is wrong with them, with its line.
pub(crate) fn check(path: &Path, text: &str, targets: &[TargetConfig]) -> Result<()> {
    ensure!(
        targets.len() <= TARGETS_MAX,
        "{}: more than {TARGETS_MAX} targets",
        path.display()
    );
    let mut names = BTreeSet::new();
    for (index, target) in targets.iter().enumerate() {
        let checked = target.check().and_then(|()| {
            // Files are told apart by them, on any file system.
            let is_new = names.insert(target.name.to_ascii_lowercase());
            ensure!(is_new, "two targets are called '{}'", target.name);
            Ok(())
        });
        if let Err(error) = checked {
            let lines = text.lines().enumerate();
            let mut heads = lines.filter(|(_, line)| line.trim_start().starts_with("[[targets]]"));
            let line = heads.nth(index).map_or(1, |(line, _)| line + 1);
            bail!("{}:{line}: targets: {error:#}", path.display());
        }
    }
    Ok(())
}

/// A way to the numbers of a managed host.
fn metrics<'de, D: serde::Deserializer<'de>>(text: D) -> Result<Option<MetricsFrom>, D::Error> {
    let text = String::deserialize(text)?;
    text.parse().map(Some).map_err(serde::de::Error::custom)
}

/// A host, and no address with a login.
pub(crate) fn host<'de, D: serde::Deserializer<'de>>(text: D) -> Result<Option<String>, D::Error> {
    let text = server::host_name(String::deserialize(text)?);
    text.map(Some).map_err(serde::de::Error::custom)
}

/// The path of a socket, and no address with a login.
pub(crate) fn socket<'de, D: serde::Deserializer<'de>>(
    text: D,
) -> Result<Option<PathBuf>, D::Error> {
    let text = server::socket_path(String::deserialize(text)?);
    text.map(|path| Some(path.into()))
        .map_err(serde::de::Error::custom)
}

/// A mode of TLS by its name.
pub(crate) fn ssl_mode<'de, D: serde::Deserializer<'de>>(
    text: D,
) -> Result<Option<TlsMode>, D::Error> {
    let text = String::deserialize(text)?;
    text.parse().map(Some).map_err(serde::de::Error::custom)
}

/// The message without the value that it quotes, which may be a secret: `invalid type: string "…", expected u64`. What
/// was expected stays. An unknown key stays if it is made of words of the known ones: any other may be a value in the
/// wrong place.
fn without_value(message: &str) -> String {
    if let Some((key, expected)) = unknown_key(message) {
        let is_word = |word: &str| {
            expected
                .split(|c: char| !c.is_ascii_alphanumeric())
                .any(|known| known == word)
        };
        return match key.split('_').all(is_word) {
            true => message.to_owned(),
            false => format!("{UNKNOWN_KEY}{expected}"),
        };
    }
    for (head, instead) in [
        ("invalid type: string ", "invalid type: a text"),
        // A text was expected: a PIN in the place of a name.
        ("invalid type: integer ", "invalid type: a whole number"),
        ("invalid type: floating point ", "invalid type: a number"),
        ("invalid value: string ", "invalid value: a text"),
        ("unknown variant ", "unknown word"),
    ] {
        if message.starts_with(head) {
            // The last one: the value may hold the same words.
            let expected = message.rfind(", expected ");
            let expected = expected.and_then(|at| message.get(at..));
            return format!("{instead}{}", expected.unwrap_or_default());
        }
    }
    message.to_owned()
}

/// The message with what was expected as a person calls it.
fn in_plain_words(message: &str) -> String {
    for (types, words) in [
        (
            &["u8", "u16", "u32", "u64", "usize"][..],
            "a whole number from 0 on",
        ),
        (&["i32", "i64"][..], "a whole number"),
        (&["f32", "f64"][..], "a number"),
        (&["a boolean"][..], "true or false"),
    ] {
        let mut types = types.iter();
        let head = types.find_map(|name| message.strip_suffix(*name)?.strip_suffix(", expected "));
        if let Some(head) = head {
            return format!("{head}, expected {words}");
        }
    }
    message.to_owned()
}

/// What is said of a key that is not told.
const UNKNOWN_KEY: &str = "unknown field";

/// The key that is none, and the rest of the message: ``unknown field `probe`, expected one of …``.
fn unknown_key(message: &str) -> Option<(&str, &str)> {
    let rest = message.strip_prefix("unknown field `")?;
    // The last one: the key may hold the same words.
    let at = rest
        .rfind("`, expected ")
        .or_else(|| rest.rfind("`, there are no fields"))?;
    Some((rest.get(..at)?, rest.get(at + 1..)?))
}

/// Line and message of a mistake, in one line; the message of an unknown key names it, if it is one that was mistyped.
pub(crate) fn error_position(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map_or(1, |span| {
        text.get(..span.start)
            .map_or(1, |before| before.matches('\n').count() + 1)
    });
    let message = in_plain_words(&without_value(error.message().trim())).replace('\n', " ");
    let key = text
        .lines()
        .nth(line - 1)
        .and_then(|line| Some(line.split_once('=')?.0.trim()))
        // Not the begin of a value that has the sign in it.
        .filter(|key| {
            key.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
        });
    let is_hidden = message.starts_with(&format!("{UNKNOWN_KEY},"));
    match key {
        Some(key) if !is_hidden && !message.contains(key) => format!("{line}: {key}: {message}"),
        _ => format!("{line}: {message}"),
    }
}
