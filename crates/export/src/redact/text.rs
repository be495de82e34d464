//! Text that people and programs wrote for people: lines of logs, remarks, values of settings.
//!
//! Names are known in it by their form: quoted, in a path, with a point between, an address, beside a
//! word that says what follows. What has no form is known by the names that stand elsewhere in the same
//! incident.

use std::net::IpAddr;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::book::{Book, What};
use super::paths::{component, is_data_end, is_library, is_source, is_version, version_number};
use super::{named, paths, statement, words};

/// Everything that may be a name by its form; the first alternative that fits is taken.
const FORMS: &str = concat!(
    r"(?P<both>`[^`\n]+`\.`[^`\n]+`)",
    r#"|(?P<ansi>"[^"\n]+"\."[^"\n]+")"#,
    r"|(?P<back>`[^`\n]+`)",
    r#"|(?P<double>"[^"\n]*")"#,
    r"|(?P<single>'[^'\n]*')",
    r"|(?P<url>\b[a-z][a-z0-9+.-]+://[^\s'\x22<>]+)",
    r"|(?P<uuid>\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b)",
    // Containers and images are told by the digest of their settings.
    r"|(?P<hex>\b[0-9a-f]{32,128}\b)",
    r"|(?P<mac>\b(?:[0-9a-fA-F]{2}:){5,13}[0-9a-fA-F]{2}\b)",
    r"|(?P<six>(?:\b[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{0,4}){2,7}\b)|(?:::[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4}){0,6}\b))",
    r"|(?P<mail>[\w.%+-]+@[\w%-]+(?:\.[\w%-]+)*)",
    r"|(?P<drive>\b[A-Za-z]:\\[^\s'\x22`,;()\[\]<>|=]+)",
    r"|(?P<path>(?:\.{1,2}|~)?/[^\s'\x22`,;()\[\]<>|=]+)",
    r"|(?P<pair>\b[\w$#-]+/[\w$#@./-]+)",
    r"|(?P<dots>\b[\w$-]+(?:\.[\w$-]+)+)",
    r"|(?P<task>\b(?:[Cc]omm:? |task=|task |process \d+ \()[^\s,:)]+)",
);

static FORM: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(FORMS).ok());

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

/// Abbreviations and names with points that are no names of anybody.
const DOTTED: [&str; 14] = [
    "e.g",
    "i.e",
    "mariadb.org",
    "mysql.com",
    "mariadb.com",
    "percona.com",
    "dev.mysql.com",
    "bugs.mysql.com",
    "jira.mariadb.org",
    "www.mysql.com",
    "kernel.org",
    "etc",
    "vm.swappiness",
    "d.h",
];

/// Digits in quotes that are no size or code.
const QUOTED_DIGITS_MIN: usize = 8;

/// Ends of names of hosts that no file, setting or function has.
const DOMAINS: [&str; 14] = [
    "com",
    "net",
    "org",
    "local",
    "localdomain",
    "lan",
    "internal",
    "intranet",
    "corp",
    "private",
    "example",
    "test",
    "invalid",
    "arpa",
];

/// The text with other names, a line at a time.
pub(super) fn rename(book: &mut Book<'_>, text: &str) -> String {
    let renamed: Vec<String> = text
        .split('\n')
        .map(|line| {
            let line = named::setting(book, line);
            line_(book, &line)
        })
        .collect();
    renamed.join("\n")
}

/// The same for the value of a setting, in which an equals sign makes no other setting.
pub(super) fn value(book: &mut Book<'_>, value: &str) -> String {
    let renamed: Vec<String> = value.split('\n').map(|line| line_(book, line)).collect();
    renamed.join("\n")
}

fn line_(book: &mut Book<'_>, line: &str) -> String {
    let line = syslog_host(book, line);
    let line = named::rename(book, &line);
    let Some(form) = FORM.as_ref() else {
        book.overflow = true;
        return String::new();
    };
    let mut out = String::with_capacity(line.len());
    let mut at = 0;
    while let Some(found) = form.captures_at(&line, at) {
        let Some(whole) = found.get(0) else { break };
        out.push_str(line.get(at..whole.start()).unwrap_or_default());
        let before = line.get(..whole.start()).unwrap_or_default();
        let behind = line.get(whole.end()..).unwrap_or_default();
        match one(book, &found, before, behind) {
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
    book.sweep(&out).into_owned()
}

fn one(book: &mut Book<'_>, found: &Captures<'_>, before: &str, behind: &str) -> Option<String> {
    let group = |name: &str| found.name(name).map(|found| found.as_str());
    let after_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let before_word = behind.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    if let Some(both) = group("both") {
        let (schema, table) = both.split_once("`.`")?;
        return Some(qualified(
            book,
            schema.trim_matches('`'),
            table.trim_matches('`'),
        ));
    }
    if let Some(both) = group("ansi") {
        let (schema, table) = both.split_once("\".\"")?;
        let (schema, table) = (schema.trim_matches('"'), table.trim_matches('"'));
        return Some(qualified(book, schema, table).replace('`', "\""));
    }
    if let Some(text) = group("back") {
        let inner = text.trim_matches('`');
        return Some(format!("`{}`", identifier(book, inner)));
    }
    for (group_name, quote) in [("double", '"'), ("single", '\'')] {
        if let Some(text) = group(group_name) {
            let inner = text.trim_matches(quote);
            // `N'…'`, `x'…'`, `_utf8mb4'…'`
            if after_word && is_introducer(before) {
                book.name(What::Literal, inner);
                return Some(format!("{quote}?{quote}"));
            }
            // An apostrophe is no quote.
            if after_word || before_word {
                return None;
            }
            return Some(format!("{quote}{}{quote}", quoted(book, inner, before)));
        }
    }
    if let Some(url) = group("url") {
        let (scheme, rest) = url.split_once("://")?;
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if DOTTED.contains(&host.to_ascii_lowercase().as_str()) {
            return Some(url.to_owned());
        }
        return Some(format!(
            "{scheme}://{}{}",
            host_(book, host),
            paths::path(book, path)
        ));
    }
    if let Some(uuid) = group("uuid") {
        // All zeros stand for none.
        let is_none = uuid.bytes().all(|byte| byte == b'0' || byte == b'-');
        return Some(match is_none {
            true => uuid.to_owned(),
            false => book.name(What::Uuid, uuid),
        });
    }
    if let Some(hex) = group("hex") {
        return Some(book.name(What::Uuid, hex));
    }
    if let Some(mac) = group("mac") {
        return Some(book.name(What::Address, mac));
    }
    if let Some(six) = group("six") {
        // A time of day, a class of C++.
        let is_address =
            six.parse::<IpAddr>().is_ok() && (six.contains("::") || six.matches(':').count() == 7);
        return match is_address && !after_word {
            true => Some(address(book, six)),
            false => None,
        };
    }
    if let Some(mail) = group("mail") {
        let (user, host) = mail.rsplit_once('@')?;
        return Some(format!("{}@{}", user_(book, user), host_(book, host)));
    }
    if let Some(drive) = group("drive") {
        let parts: Vec<String> = drive
            .split('\\')
            .map(|part| component(book, part))
            .collect();
        return Some(parts.join("\\"));
    }
    if let Some(path) = group("path") {
        return match after_word {
            true => None,
            false => Some(paths::path(book, path)),
        };
    }
    if let Some(pair) = group("pair") {
        return Some(self::pair(book, pair));
    }
    if let Some(dots) = group("dots") {
        return Some(dotted(book, dots));
    }
    let task = group("task")?;
    let cut = task.rfind([' ', '=', '(']).map_or(0, |at| at + 1);
    let (head, program) = task.split_at(cut);
    Some(format!("{head}{}", self::program(book, program)))
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
fn syslog_host(book: &mut Book<'_>, line: &str) -> String {
    static SYSLOG: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"^((?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.+-]+Z?) )(\S+)( kernel: | \S+\[\d+\]: )").ok()
    });
    let found = SYSLOG.as_ref().and_then(|form| form.captures(line));
    let part = |number| {
        found
            .as_ref()
            .and_then(|found| found.get(number))
            .map(|part| part.as_str())
    };
    match (part(0), part(1), part(2), part(3)) {
        (Some(whole), Some(head), Some(host), Some(tail)) => {
            let rest = line.get(whole.len()..).unwrap_or_default();
            format!("{head}{}{tail}{rest}", host_(book, host))
        }
        _ => line.to_owned(),
    }
}

/// A name of the database: `t`, `s.t`.
pub(super) fn identifier(book: &mut Book<'_>, inner: &str) -> String {
    let lower = inner.to_ascii_lowercase();
    if words::INNODB_NAMES.contains(&lower.as_str()) || words::SCHEMAS.contains(&lower.as_str()) {
        return inner.to_owned();
    }
    match inner.split_once(['.', '/']) {
        Some((schema, _)) if words::SCHEMAS.contains(&schema.to_ascii_lowercase().as_str()) => {
            inner.to_owned()
        }
        Some((schema, table)) => format!(
            "{}{}{}",
            book.name(What::Schema, schema),
            inner.get(schema.len()..=schema.len()).unwrap_or("."),
            book.name(What::Table, table)
        ),
        None => book.name(What::Name, inner),
    }
}

/// A schema and a table, in backquotes.
pub(super) fn qualified(book: &mut Book<'_>, schema: &str, table: &str) -> String {
    match words::SCHEMAS.contains(&schema.to_ascii_lowercase().as_str()) {
        true => format!("`{schema}`.`{table}`"),
        false => format!(
            "`{}`.`{}`",
            book.name(What::Schema, schema),
            book.name(What::Table, table)
        ),
    }
}

/// What stands in quotes.
fn quoted(book: &mut Book<'_>, inner: &str, before_: &str) -> String {
    let lower = inner.to_ascii_lowercase();
    let before = before_
        .trim_end_matches([' ', '=', ':'])
        .to_ascii_lowercase();
    if words::USERS.contains(&lower.as_str()) || words::HOSTS.contains(&lower.as_str()) {
        return inner.to_owned();
    }
    // What it is stands in front.
    if before.ends_with("user") {
        return user_(book, inner);
    }
    if before.ends_with('@') || before.ends_with("host") {
        return host_(book, inner);
    }
    if before.ends_with("db") || before.ends_with("database") || before.ends_with("schema") {
        return match words::SCHEMAS.contains(&lower.as_str()) {
            true => inner.to_owned(),
            false => book.name(What::Schema, inner),
        };
    }
    if before.ends_with("duplicate entry") || before.ends_with("value") || before.ends_with("near")
    {
        book.name(What::Literal, inner);
        return "?".to_owned();
    }
    if inner.parse::<IpAddr>().is_ok() {
        return address(book, inner);
    }
    // InnoDB's own name of a latch, as it stands in its sources.
    if is_latch(before_) {
        return inner.to_owned();
    }
    // A long number is somebody's: of a card, an account, a telephone.
    if inner.len() >= QUOTED_DIGITS_MIN && inner.bytes().all(|byte| b"0123456789 -".contains(&byte))
    {
        book.name(What::Literal, inner);
        return "?".to_owned();
    }
    if is_number(inner) || is_version(inner) {
        return inner.to_owned();
    }
    if let Some((user, host)) = inner.rsplit_once('@')
        && !inner.contains(char::is_whitespace)
    {
        return format!("{}@{}", user_(book, user), host_(book, host));
    }
    if inner.contains('/') && !inner.contains(' ') {
        return paths::path(book, inner);
    }
    // Settings, functions, words of the server.
    let is_one = !inner.contains(|c: char| c.is_whitespace());
    if is_one && !before.ends_with("table") && (book.is_own(inner) || lower.starts_with("--")) {
        return inner.to_owned();
    }
    if is_one {
        return match inner.contains('.') {
            true => dotted(book, inner),
            false => book.name(What::Name, inner),
        };
    }
    let first = inner.split_whitespace().next().unwrap_or_default();
    if super::keywords::is_keyword(&first.to_ascii_lowercase()) {
        return statement::rename(book, inner);
    }
    // Words that are all the server's own are a remark; anything else may be a value.
    let mut letters = inner
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    if letters.all(|word| book.is_own(word) || is_number(word)) {
        return inner.to_owned();
    }
    book.name(What::Literal, inner);
    "?".to_owned()
}

/// `Mutex at 0x7f5c `, `on RW-latch at 0x7f5c `: the name that follows is one of InnoDB's sources.
fn is_latch(before: &str) -> bool {
    static LATCH: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?:[Mm]utex|RW-latch|lock)(?: at)? 0x[0-9a-fA-F]+ $").ok());
    LATCH.as_ref().is_some_and(|form| form.is_match(before))
}

pub(super) fn user_(book: &mut Book<'_>, user: &str) -> String {
    match words::USERS.contains(&user.to_ascii_lowercase().as_str()) {
        true => user.to_owned(),
        false => book.name(What::User, user),
    }
}

/// A host's name or address, perhaps with a port.
pub(super) fn host_(book: &mut Book<'_>, host: &str) -> String {
    let bare = host.trim_matches(['[', ']']);
    if words::HOSTS.contains(&bare.to_ascii_lowercase().as_str()) {
        return host.to_owned();
    }
    if bare.parse::<IpAddr>().is_ok() {
        return address(book, host);
    }
    match host.rsplit_once(':') {
        Some((name, port)) if is_number(port) && !name.is_empty() => {
            format!("{}:{port}", host_(book, name))
        }
        _ => book.name(What::Host, host),
    }
}

fn address(book: &mut Book<'_>, address: &str) -> String {
    let bare = address.trim_matches(['[', ']']);
    let is_everywhere = bare
        .parse::<IpAddr>()
        .is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified());
    match is_everywhere {
        true => address.to_owned(),
        false => book.name(What::Address, bare),
    }
}

/// The program behind a process or a thread.
pub(super) fn program(book: &mut Book<'_>, program: &str) -> String {
    let lower = program.to_ascii_lowercase();
    let is_known = words::PROGRAMS.contains(&lower.as_str())
        || is_kernel_thread(&lower)
        || is_number(program)
        || book.is_own(program);
    match is_known {
        true => program.to_owned(),
        false => book.name(What::Program, program),
    }
}

/// `kworker/0:1`, `kcompactd0`: no letters follow, or the name would be another one.
fn is_kernel_thread(lower: &str) -> bool {
    words::THREADS.iter().any(|start| {
        lower.strip_prefix(start).is_some_and(|rest| {
            (start.ends_with('_') || !rest.starts_with(char::is_alphabetic))
                && rest
                    .split(|c: char| !c.is_alphabetic())
                    .all(|word| word.len() < 3 || words::THREAD_WORDS.contains(&word))
        })
    })
}

/// `schema/table`, and much that is not: `reads/s`.
fn pair(book: &mut Book<'_>, text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let parts: Vec<&str> = text.split('/').collect();
    let is_unit = parts.len() == 2
        && parts
            .last()
            .is_some_and(|last| UNITS.contains(&last.trim_end_matches('.')));
    let is_plain = parts
        .iter()
        .all(|part| is_number(part) || book.is_own(part));
    if PAIRS.contains(&lower.as_str()) || is_unit || is_plain {
        return text.to_owned();
    }
    // A program's version, a kernel's thread: `kworker/0:1`.
    if parts.first().is_some_and(|first| is_kernel_thread(first)) {
        return text.to_owned();
    }
    paths::path(book, text)
}

pub(super) fn dotted(book: &mut Book<'_>, text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let parts: Vec<&str> = text.split('.').collect();
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
        return text.to_owned();
    };
    if text.parse::<IpAddr>().is_ok() {
        return address(book, text);
    }
    let first_digit = first.starts_with(|c: char| c.is_ascii_digit());
    let is_documentation = is_documentation(&lower);
    if DOMAINS.contains(&last.to_ascii_lowercase().as_str()) && !is_documentation {
        return book.name(What::Host, text);
    }
    // The number of a version stays, what its builder added does not.
    if let Some(number) = version_number(text)
        && !is_version(text)
    {
        let (number, suffix) = text.split_at(number);
        return format!("{number}{}", book.name(What::Name, suffix));
    }
    let is_kept = is_documentation
        || is_number(text)
        || is_version(text)
        || is_source(last)
        || is_library(text)
        || (parts.len() == 2 && words::SCHEMAS.contains(&first.to_ascii_lowercase().as_str()))
        // Settings and signals of ours: `status.Threads_running`, `status.`.
        || parts.iter().all(|part| part.is_empty() || book.is_own(part) || is_number(part));
    if is_kept {
        return text.to_owned();
    }
    if is_data_end(last) && !(is_number(last) && first_digit) {
        return component(book, text);
    }
    if parts.len() == 2 {
        return identifier(book, text);
    }
    book.name(What::Host, text)
}

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b".:+-%,xX".contains(&byte))
        || text
            .strip_prefix("0x")
            .is_some_and(|hex| !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Where the vendors explain things; in lower case.
pub(super) fn is_documentation(lower: &str) -> bool {
    DOTTED.iter().any(|known| {
        lower
            .strip_suffix(known)
            .is_some_and(|head| head.is_empty() || head.ends_with('.'))
    })
}
