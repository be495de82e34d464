//! Lines `key = value`, and values of settings.

use std::sync::LazyLock;

use regex::Regex;

use super::book::{Book, What};
use super::paths::is_number;
use super::{line, names, paths, statement, words};

/// Ends of names of settings whose value is a name, whichever server or plugin has them.
const NAMING_ENDS: &[(&str, What)] = &[
    ("_host", What::Host),
    ("_hosts", What::Host),
    ("_address", What::Host),
    ("_addresses", What::Host),
    ("_seeds", What::Host),
    ("_peer", What::Host),
    ("_donor", What::Host),
    ("_domain", What::Host),
    ("_realm", What::Host),
    ("_node", What::Host),
    ("_node_name", What::Host),
    ("_user", What::User),
    ("_users", What::User),
    ("_account", What::User),
    ("_accounts", What::User),
    ("_principal", What::User),
    ("_db", What::Schema),
    ("_dbs", What::Schema),
    ("_database", What::Schema),
    ("_table", What::Table),
    ("_tables", What::Table),
    ("_uuid", What::Uuid),
    ("_uid", What::Uuid),
    ("_file", What::Path),
    ("_filename", What::Path),
    ("_dir", What::Path),
    ("_directory", What::Path),
    ("_path", What::Path),
    ("_basename", What::Path),
    ("_index", What::Path),
    ("_cmd", What::Path),
    ("_command", What::Path),
    ("_cert", What::Path),
    ("_key", What::Path),
    ("_name", What::Name),
    ("_names", What::Name),
    ("_group", What::Name),
    ("_cluster", What::Name),
    ("_label", What::Name),
    ("_dn", What::Name),
    ("_url", What::Name),
    ("_uri", What::Name),
    ("_role", What::Name),
    ("_roles", What::Name),
    ("_prefix", What::Name),
    ("_connection", What::Name),
];

/// Parts of names of settings that are nobody's business.
const SECRET_PARTS: [&str; 8] = [
    "password",
    "passwd",
    "_pwd",
    "_auth",
    "secret",
    "token",
    "api_key",
    "access_key",
];

/// `key = value` and nothing else.
const SETTING: &str =
    r"^(?P<head>\s*(?:--|# ?)?(?P<key>[A-Za-z][\w.-]*)\s*=\s*)(?P<value>\S.*?)(?P<tail>\s*)$";

/// A line `key = value` with another value where that is somebody's; any other line as it is.
pub(super) fn rename(book: &mut Book<'_>, line: &str) -> String {
    static COMPILED_SETTING: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(SETTING).ok());
    let Some(form) = COMPILED_SETTING.as_ref() else {
        // Nothing can be promised.
        book.overflow = true;
        return String::new();
    };
    let Some(found) = form.captures(line) else {
        return line.to_owned();
    };
    let part = |name: &str| found.name(name).map_or("", |part| part.as_str());
    let value = value(book, part("key"), part("value"));
    format!("{}{value}{}", part("head"), part("tail"))
}

/// The value of a line `key = value` in a text that nobody knows the kind of. Whatever is no number and
/// no word of the server becomes another word.
fn value(book: &mut Book<'_>, key: &str, value: &str) -> String {
    let key = key.to_ascii_lowercase().replace(['-', '.'], "_");
    let key = key.strip_prefix("loose_").unwrap_or(&key);
    // What is said of it is somebody's own words.
    let value = value.split(" #").next().unwrap_or(value).trim_end();
    let quote = ['"', '\'']
        .into_iter()
        .find(|quote| value.len() > 1 && value.starts_with(*quote) && value.ends_with(*quote));
    let inner = match quote {
        Some(quote) => value.trim_matches(quote),
        None => value,
    };
    let renamed = setting_value(book, key, inner);
    match quote {
        Some(quote) => format!("{quote}{renamed}{quote}"),
        None => renamed,
    }
}

fn setting_value(book: &mut Book<'_>, key: &str, value: &str) -> String {
    if words::SQL_VARIABLES.contains(&key) {
        return statement::rename(book, value);
    }
    if SECRET_PARTS.iter().any(|part| key.contains(part)) && !is_servers(book, value) {
        book.name(What::Literal, value);
        return "?".to_owned();
    }
    if words::NAMING_VARIABLES.contains(&key) {
        return naming(book, key, value);
    }
    if is_servers(book, value) {
        return value.to_owned();
    }
    if let Some(what) = by_end(key) {
        return one_or_more(book, what, value);
    }
    let is_one = !value.contains(|c: char| c.is_whitespace() || "/.@:'\"`()?".contains(c));
    match is_one {
        true => one_or_more(book, What::Name, value),
        false => value.to_owned(),
    }
}

/// What a setting's value is, by the end of its name.
pub(super) fn by_end(variable: &str) -> Option<What> {
    const WHOLE: [(&str, What); 7] = [
        ("user", What::User),
        ("host", What::Host),
        ("database", What::Schema),
        ("log_bin", What::Path),
        ("datadir", What::Path),
        ("proxy_user", What::User),
        ("external_user", What::User),
    ];
    WHOLE
        .iter()
        .find(|(name, _)| variable == *name)
        .or_else(|| {
            NAMING_ENDS
                .iter()
                .filter(|(end, _)| variable.ends_with(end))
                .max_by_key(|(end, _)| end.len())
        })
        .map(|(_, what)| *what)
}

/// A number with its unit, or words of the server.
pub(super) fn is_servers(book: &Book<'_>, value: &str) -> bool {
    value
        .split(|c: char| c.is_whitespace() || ",;:=|".contains(c))
        .all(|word| {
            let digits = word.trim_end_matches(|c: char| "kKmMgGtTbBiIsS%".contains(c));
            word.is_empty()
                || is_number(word)
                || is_number(digits)
                || book.is_own(word)
                || word.starts_with(['?', '('])
        })
}

/// A setting whose value is a name, or several.
pub(super) fn naming(book: &mut Book<'_>, variable: &str, value: &str) -> String {
    let is_plain = value.is_empty()
        || [
            "on",
            "off",
            "default",
            "null",
            "*",
            "0",
            "1",
            "(hidden)",
            "(built-in)",
            "auto",
            "automatic",
        ]
        .contains(&value.to_ascii_lowercase().as_str())
        || words::HOSTS.contains(&value);
    if is_plain {
        return value.to_owned();
    }
    let what = if variable.contains("host") || variable.contains("address") {
        What::Host
    } else if variable.contains("user") || variable.contains("account") {
        What::User
    } else {
        by_end(variable).unwrap_or(
            match variable.contains("uid") || variable.contains("gtid") {
                true => What::Uuid,
                false => What::Name,
            },
        )
    };
    one_or_more(book, what, value)
}

/// Names with commas between, perhaps behind a scheme: `gcomm://10.0.0.1,db2:4567?gmcast.segment=1`.
pub(super) fn one_or_more(book: &mut Book<'_>, what: What, value: &str) -> String {
    if let Some((scheme, rest)) = value.split_once("://") {
        let (hosts, options) = rest.split_at(rest.find(['?', '/']).unwrap_or(rest.len()));
        return format!(
            "{scheme}://{}{}",
            one_or_more(book, What::Host, hosts),
            line::value(book, options)
        );
    }
    let parts: Vec<String> = value
        .split(',')
        .map(|part| {
            let name = part.trim();
            match what {
                _ if name.is_empty() => String::new(),
                What::Uuid => uuids(book, name),
                _ if name.contains('/') => paths::path(book, name),
                What::Host => names::host_(book, name),
                What::User => match name.rsplit_once('@') {
                    Some((user, host)) => {
                        let (user, host) = (user.trim_matches(QUOTES), host.trim_matches(QUOTES));
                        format!("{}@{}", names::user_(book, user), names::host_(book, host))
                    }
                    None => names::user_(book, name.trim_matches(QUOTES)),
                },
                What::Path => files(book, name),
                // `shop.orders`, `shop->archive`
                What::Schema | What::Table => places(book, what, name),
                what => book.name(what, name),
            }
        })
        .collect();
    parts.join(",")
}

/// `shop`, `shop.orders`, `shop.%`, `shop->archive`
fn places(book: &mut Book<'_>, what: What, value: &str) -> String {
    let sides: Vec<String> = value
        .split("->")
        .map(|side| {
            let names: Vec<String> = side
                .split('.')
                .map(|name| match is_servers(book, name) || name == "%" {
                    true => name.to_owned(),
                    false => book.name(what, name),
                })
                .collect();
            names.join(".")
        })
        .collect();
    sides.join("->")
}

/// `ibdata1:12M;ibdata2:10M:autoextend`, or one file.
fn files(book: &mut Book<'_>, value: &str) -> String {
    let files: Vec<String> = value
        .split(';')
        .map(|file| match file.split_once(':') {
            Some((file, size)) => format!("{}:{size}", paths::component(book, file)),
            None => paths::component(book, file),
        })
        .collect();
    files.join(";")
}

const QUOTES: [char; 3] = ['\'', '"', '`'];

/// `0f8e…-…:1-55:57`, `0-1-55`: numbers of transactions stay.
fn uuids(book: &mut Book<'_>, value: &str) -> String {
    match value.split_once(':') {
        Some((uuid, numbers)) if is_number(&numbers.replace([':', '\n', ' '], "")) => {
            format!("{}:{numbers}", book.name(What::Uuid, uuid))
        }
        _ if is_number(value) => value.to_owned(),
        _ => book.name(What::Uuid, value),
    }
}
