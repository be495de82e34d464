//! A line that people and programs wrote for people: of a log, a remark, a value of a setting.
//!
//! Names are known in it by their form: quoted, in a path, with a point between, an address, beside a
//! word that says what follows. What has no form is known by the names that stand elsewhere in the same
//! incident.

use std::net::IpAddr;

use super::forms::{Form, Found};
use super::names::{address, dotted, host_, identifier, is_kernel_thread, qualified, user_};
use super::paths::{component, is_number, is_version};
use super::pseudonyms::{NameKind, Pseudonyms};
use super::{named, names, paths, random, secrets, statement, well_known};

/// Everything that may be a name by its form; the first alternative that fits is taken.
const FORMS: &str = concat!(
    r"(?P<both>`[^`\n]+`\.`[^`\n]+`)",
    r#"|(?P<ansi>"[^"\n]+"\."[^"\n]+")"#,
    r"|(?P<back>`[^`\n]+`)",
    r#"|(?P<double>"[^"\n]*")"#,
    r"|(?P<single>'[^'\n]*')",
    r"|(?P<url>\b[a-z][a-z0-9+.-]+://[^\s'\x22<>]+)",
    r"|(?P<uuid>\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b)",
    // Containers and images are told by the digest of their settings; audit records hold whole command lines.
    r"|(?P<hex>\b[0-9a-fA-F]{16,}\b)",
    r"|(?P<mac>\b(?:[0-9a-fA-F]{2}:){5,13}[0-9a-fA-F]{2}\b)",
    r"|(?P<six>(?:\b[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{0,4}){2,7}\b)|(?:::[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4}){0,6}\b))",
    r"|(?P<mail>[\w.%+-]+@[\w%-]+(?:\.[\w%-]+)*)",
    r"|(?P<drive>\b[A-Za-z]:\\[^\s'\x22`,;()\[\]<>|=]+)",
    r"|(?P<path>(?:\.{1,2}|~)?/[^\s'\x22`,;()\[\]<>|=]+)",
    r"|(?P<pair>\b[\w$#-]+/[\w$#@./-]+)",
    r"|(?P<dots>\b[\w$-]+(?:\.[\w$-]+)+)",
    r"|(?P<task>\b(?:[Cc]omm:? |task=|task |process \d+ \()[^\s,:)]+)",
    // Keys and tokens have no form but that they are no words.
    r"|(?P<long>\b[A-Za-z0-9+/_-]{16,}[^\s'\x22`,;()\[\]{}<>|]*)",
);

static FORM: Form = Form::new();

/// Beside these a slash is no separator of names.
const PAIRS: [&str; 12] = [
    "i/o",
    "read/write",
    "and/or",
    "n/a",
    "kb/s",
    "mb/s",
    "bytes/read",
    "tcp/ip",
    "on/off",
    "yes/no",
    "os/2",
    "client/server",
];

/// Units behind a slash.
const UNITS: [&str; 8] = ["s", "sec", "second", "min", "minute", "h", "op", "read"];

/// Digits in quotes that are no size or code.
const QUOTED_DIGITS_MIN: usize = 8;

/// The value of a setting, a line at a time: an equals sign in it makes no other setting.
pub(super) fn value(pseudonyms: &mut Pseudonyms<'_>, value: &str) -> String {
    let renamed: Vec<String> = value
        .split('\n')
        .map(|line| rename(pseudonyms, line))
        .collect();
    renamed.join("\n")
}

/// The line with other names.
pub(super) fn rename(pseudonyms: &mut Pseudonyms<'_>, line: &str) -> String {
    let line = syslog_host(pseudonyms, line);
    let line = named::rename(pseudonyms, &line);
    let Some(form) = FORM.on(FORMS, &line) else {
        pseudonyms.overflow = true;
        return String::new();
    };
    let mut out = String::with_capacity(line.len());
    let mut at = 0;
    while let Some(found) = form.captures_at(at) {
        let Some(whole) = found.get(0) else { break };
        out.push_str(line.get(at..whole.start()).unwrap_or_default());
        let before = line.get(..whole.start()).unwrap_or_default();
        let behind = line.get(whole.end()..).unwrap_or_default();
        match one(pseudonyms, &found, before, behind) {
            Some(renamed) => {
                out.push_str(&renamed);
                at = whole.end();
            }
            // Not a form after all: go on behind its first letter.
            None => {
                let next = whole.start()
                    + line
                        .get(whole.start()..)
                        .and_then(|rest| rest.chars().next())
                        .map_or(1, char::len_utf8);
                out.push_str(line.get(whole.start()..next).unwrap_or_default());
                at = next;
            }
        }
        if at >= line.len() {
            break;
        }
    }
    out.push_str(line.get(at..).unwrap_or_default());
    pseudonyms.sweep(&out).into_owned()
}

fn one(
    pseudonyms: &mut Pseudonyms<'_>,
    found: &Found<'_>,
    before: &str,
    behind: &str,
) -> Option<String> {
    let group = |name: &str| found.name(name).map(|found| found.as_str());
    let after_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let before_word = behind.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    if let Some(both) = group("both") {
        let (schema, table) = both.split_once("`.`")?;
        return Some(qualified(
            pseudonyms,
            schema.trim_matches('`'),
            table.trim_matches('`'),
        ));
    }
    if let Some(both) = group("ansi") {
        let (schema, table) = both.split_once("\".\"")?;
        let (schema, table) = (schema.trim_matches('"'), table.trim_matches('"'));
        return Some(qualified(pseudonyms, schema, table).replace('`', "\""));
    }
    if let Some(text) = group("back") {
        let inner = text.trim_matches('`');
        return Some(format!("`{}`", identifier(pseudonyms, inner)));
    }
    for (group_name, quote) in [("double", '"'), ("single", '\'')] {
        if let Some(text) = group(group_name) {
            let inner = text.trim_matches(quote);
            // `N'…'`, `x'…'`, `_utf8mb4'…'`
            if after_word && is_introducer(before) {
                pseudonyms.name(NameKind::Literal, inner);
                return Some(format!("{quote}?{quote}"));
            }
            // An apostrophe is no quote.
            if after_word || before_word {
                return None;
            }
            return Some(format!(
                "{quote}{}{quote}",
                quoted(pseudonyms, inner, before)
            ));
        }
    }
    if let Some(url) = group("url") {
        let (scheme, rest) = url.split_once("://")?;
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if names::is_vendors(host) {
            return Some(url.to_owned());
        }
        return Some(format!(
            "{scheme}://{}{}",
            names::authority(pseudonyms, host),
            paths::path(pseudonyms, path)
        ));
    }
    if let Some(uuid) = group("uuid") {
        // All zeros stand for none.
        let is_none = uuid.bytes().all(|byte| byte == b'0' || byte == b'-');
        return Some(match is_none {
            true => uuid.to_owned(),
            false => pseudonyms.name(NameKind::Uuid, uuid),
        });
    }
    if let Some(hex) = group("hex") {
        return match random::is_known_hex(hex, before) {
            true => None,
            false => Some(pseudonyms.name(NameKind::Uuid, hex)),
        };
    }
    if let Some(mac) = group("mac") {
        return Some(pseudonyms.name(NameKind::Address, mac));
    }
    if let Some(six) = group("six") {
        // A time of day, a class of C++.
        let is_address =
            six.parse::<IpAddr>().is_ok() && (six.contains("::") || six.matches(':').count() == 7);
        return match is_address && !after_word {
            true => Some(address(pseudonyms, six)),
            false => None,
        };
    }
    if let Some(mail) = group("mail") {
        let (user, host) = mail.rsplit_once('@')?;
        return Some(format!(
            "{}@{}",
            user_(pseudonyms, user),
            host_(pseudonyms, host)
        ));
    }
    if let Some(drive) = group("drive") {
        let parts: Vec<String> = drive
            .split('\\')
            .map(|part| component(pseudonyms, part))
            .collect();
        return Some(parts.join("\\"));
    }
    if let Some(path) = group("path") {
        return match after_word {
            true => None,
            false => Some(paths::path(pseudonyms, path)),
        };
    }
    if let Some(pair) = group("pair") {
        return Some(self::pair(pseudonyms, pair));
    }
    if let Some(dots) = group("dots") {
        return Some(dotted(pseudonyms, dots));
    }
    if let Some(long) = group("long") {
        return random::is_random(long).then(|| {
            pseudonyms.name(NameKind::Literal, long);
            "?".to_owned()
        });
    }
    let task = group("task")?;
    let cut = task.rfind([' ', '=', '(']).map_or(0, |at| at + 1);
    let (head, program) = task.split_at(cut);
    Some(format!("{head}{}", names::program(pseudonyms, program)))
}

/// Whether a text ends with what makes the string behind it another kind of literal.
fn is_introducer(before: &str) -> bool {
    let word = before
        .rsplit(|c: char| !(c.is_alphanumeric() || c == '_'))
        .next()
        .unwrap_or_default();
    word.starts_with('_') || ["n", "x", "b"].contains(&word.to_ascii_lowercase().as_str())
}

/// `Nov 21 00:01:02 HOST kernel: …`, as syslog writes it.
fn syslog_host(pseudonyms: &mut Pseudonyms<'_>, line: &str) -> String {
    static SYSLOG: Form = Form::new();
    let form = SYSLOG.on(
        r"^((?:[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.+-]+Z?) )(\S+)( kernel: | \S+\[[0-9]+\]: )",
        line,
    );
    let found = form.and_then(|form| form.captures());
    let part = |number| {
        found
            .as_ref()
            .and_then(|found| found.get(number))
            .map(|part| part.as_str())
    };
    match (part(0), part(1), part(2), part(3)) {
        (Some(whole), Some(head), Some(host), Some(tail)) => {
            let rest = line.get(whole.len()..).unwrap_or_default();
            format!("{head}{}{tail}{rest}", host_(pseudonyms, host))
        }
        _ => line.to_owned(),
    }
}

/// What stands in quotes.
fn quoted(pseudonyms: &mut Pseudonyms<'_>, inner: &str, before_: &str) -> String {
    let lower = inner.to_ascii_lowercase();
    let before = before_
        .trim_end_matches([' ', '=', ':'])
        .to_ascii_lowercase();
    if well_known::USERS.contains(&lower.as_str()) || well_known::HOSTS.contains(&lower.as_str()) {
        return inner.to_owned();
    }
    // It was left out already.
    if inner == "?" {
        return inner.to_owned();
    }
    // What it is stands in front.
    if before.ends_with("user") {
        return user_(pseudonyms, inner);
    }
    if before.ends_with('@') || before.ends_with("host") {
        return host_(pseudonyms, inner);
    }
    if before.ends_with("db") || before.ends_with("database") || before.ends_with("schema") {
        return match well_known::SCHEMAS.contains(&lower.as_str()) {
            true => inner.to_owned(),
            false => pseudonyms.name(NameKind::Schema, inner),
        };
    }
    if before.ends_with("duplicate entry") || before.ends_with("value") || before.ends_with("near")
    {
        pseudonyms.name(NameKind::Literal, inner);
        return "?".to_owned();
    }
    if inner.parse::<IpAddr>().is_ok() {
        return address(pseudonyms, inner);
    }
    // InnoDB's own name of a latch, as it stands in its sources.
    if is_latch(before_) {
        return inner.to_owned();
    }
    // A long number is somebody's: of a card, an account, a telephone.
    if inner.len() >= QUOTED_DIGITS_MIN && inner.bytes().all(|byte| b"0123456789 -".contains(&byte))
    {
        pseudonyms.name(NameKind::Literal, inner);
        return "?".to_owned();
    }
    if is_number(inner) || is_version(inner) {
        return inner.to_owned();
    }
    let is_one = !inner.contains(|c: char| c.is_whitespace());
    if is_one && inner.starts_with("--") {
        return option(pseudonyms, inner);
    }
    if let Some((user, host)) = inner.rsplit_once('@')
        && is_one
    {
        return format!("{}@{}", user_(pseudonyms, user), host_(pseudonyms, host));
    }
    if inner.contains('/') && !inner.contains(' ') {
        return paths::path(pseudonyms, inner);
    }
    // Settings, functions, words of the server.
    if is_one && !before.ends_with("table") && pseudonyms.is_own(inner) {
        return inner.to_owned();
    }
    if is_one {
        return match inner.contains('.') {
            true => dotted(pseudonyms, inner),
            false => pseudonyms.name(NameKind::Name, inner),
        };
    }
    let first = inner.split_whitespace().next().unwrap_or_default();
    if super::keywords::is_keyword(&first.to_ascii_lowercase()) {
        return statement::rename(pseudonyms, inner);
    }
    // Words that are all the server's own are a remark; anything else may be a value.
    let mut letters = inner
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    if letters.all(|word| pseudonyms.is_own(word) || is_number(word)) {
        return inner.to_owned();
    }
    pseudonyms.name(NameKind::Literal, inner);
    "?".to_owned()
}

/// `--login-path=shop`: an option of a program, with another value. Its name is made of words that servers use.
fn option(pseudonyms: &mut Pseudonyms<'_>, text: &str) -> String {
    let bare = text.trim_start_matches('-');
    let dashes = text.get(..text.len() - bare.len()).unwrap_or_default();
    let (name, value) = match bare.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (bare, None),
    };
    let is_word = |word: &str| {
        is_number(word) || pseudonyms.is_own(word) || server_text::is_message_word(word)
    };
    let is_servers = secrets::is_secret(name)
        || name
            .split(['-', '_'])
            .all(|word| word.is_empty() || is_word(word));
    let shown = match is_servers {
        true => name.to_owned(),
        false => pseudonyms.name(NameKind::Name, name),
    };
    let Some(value) = value else {
        return format!("{dashes}{shown}");
    };
    let value = match value {
        value if secrets::is_secret(name) && !secrets::is_none(value) => {
            pseudonyms.name(NameKind::Literal, value);
            "?".to_owned()
        }
        value if ["", "?"].contains(&value) || is_number(value) || pseudonyms.is_own(value) => {
            value.to_owned()
        }
        value if value.contains('/') => paths::path(pseudonyms, value),
        value if value.contains('.') => dotted(pseudonyms, value),
        value => pseudonyms.name(NameKind::Name, value),
    };
    format!("{dashes}{shown}={value}")
}

/// `Mutex at 0x7f5c `, `on RW-latch at 0x7f5c `: the name that follows is one of InnoDB's sources.
fn is_latch(before: &str) -> bool {
    static LATCH: Form = Form::new();
    let form = LATCH.on(
        r"(?:[Mm]utex|RW-latch|lock)(?: at)? 0x[0-9a-fA-F]+ $",
        before,
    );
    form.is_some_and(|form| form.is_match())
}

/// `schema/table`, and much that is not: `reads/s`.
fn pair(pseudonyms: &mut Pseudonyms<'_>, text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let parts: Vec<&str> = text.split('/').collect();
    let is_unit = parts.len() == 2
        && parts
            .last()
            .is_some_and(|last| UNITS.contains(&last.trim_end_matches('.')));
    let is_plain = parts
        .iter()
        .all(|part| is_number(part) || pseudonyms.is_own(part));
    if PAIRS.contains(&lower.as_str()) || is_unit || is_plain {
        return text.to_owned();
    }
    // A program's version, a kernel's thread: `kworker/0:1`.
    if parts.first().is_some_and(|first| is_kernel_thread(first)) {
        return text.to_owned();
    }
    paths::path(pseudonyms, text)
}
