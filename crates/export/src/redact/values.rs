//! Values of settings and other facts.

use super::book::{Book, What};
use super::{paths, statement, text, words};

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

/// The value of a fact with other names.
pub(super) fn rename(book: &mut Book<'_>, name: &str, value: &str) -> String {
    if let Some(variable) = name.strip_prefix("variables.") {
        let lower = variable.to_ascii_lowercase();
        if words::SQL_VARIABLES.contains(&lower.as_str()) {
            return statement::rename(book, value);
        }
        if words::NAMING_VARIABLES.contains(&lower.as_str()) {
            return naming(book, &lower, value);
        }
        if let Some(what) = by_end(&lower)
            && !is_servers(book, value)
        {
            return one_or_more(book, what, value);
        }
    }
    match name {
        "packets.show_warnings.senders" => senders(book, value),
        "server.program" => text::program(book, value),
        "server.unix_sockets" => {
            let sockets: Vec<String> = value.split(' ').map(|one| socket(book, one)).collect();
            sockets.join(" ")
        }
        _ => text::value(book, value),
    }
}

/// The value of a line `key = value` in a text that nobody knows the kind of. Whatever is no number and
/// no word of the server becomes another word.
pub(super) fn setting(book: &mut Book<'_>, key: &str, value: &str) -> String {
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
fn by_end(variable: &str) -> Option<What> {
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
fn is_servers(book: &Book<'_>, value: &str) -> bool {
    value
        .split(|c: char| c.is_whitespace() || ",;:=|".contains(c))
        .all(|word| {
            let digits = word.trim_end_matches(|c: char| "kKmMgGtTbBiIsS%".contains(c));
            word.is_empty()
                || text::is_number(word)
                || text::is_number(digits)
                || book.is_own(word)
                || word.starts_with(['?', '('])
        })
}

/// `@name` is a socket without a file.
fn socket(book: &mut Book<'_>, socket: &str) -> String {
    match socket.strip_prefix('@') {
        Some(name) if !name.contains('/') && !name.is_empty() => {
            format!("@{}", book.name(What::Path, name))
        }
        _ => text::rename(book, socket),
    }
}

/// A setting whose value is a name, or several.
fn naming(book: &mut Book<'_>, variable: &str, value: &str) -> String {
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
fn one_or_more(book: &mut Book<'_>, what: What, value: &str) -> String {
    if let Some((scheme, rest)) = value.split_once("://") {
        let (hosts, options) = rest.split_at(rest.find(['?', '/']).unwrap_or(rest.len()));
        return format!(
            "{scheme}://{}{}",
            one_or_more(book, What::Host, hosts),
            text::rename(book, options)
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
                What::Host => text::host_(book, name),
                What::User => match name.rsplit_once('@') {
                    Some((user, host)) => {
                        let (user, host) = (user.trim_matches(QUOTES), host.trim_matches(QUOTES));
                        format!("{}@{}", text::user_(book, user), text::host_(book, host))
                    }
                    None => text::user_(book, name.trim_matches(QUOTES)),
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
        Some((uuid, numbers)) if text::is_number(&numbers.replace([':', '\n', ' '], "")) => {
            format!("{}:{numbers}", book.name(What::Uuid, uuid))
        }
        _ if text::is_number(value) => value.to_owned(),
        _ => book.name(What::Uuid, value),
    }
}

/// `user orm (75 %), app (20 %); host 10.0.0.7 (100 %); program Connector/J (98 %)`.
fn senders(book: &mut Book<'_>, value: &str) -> String {
    let parts: Vec<String> = value
        .split("; ")
        .map(|part| {
            let Some((word, names)) = part.split_once(' ') else {
                return String::new();
            };
            let names: Vec<String> = names
                .split(", ")
                .map(|one| {
                    let (name, share) = one.rsplit_once(" (").unwrap_or((one, ""));
                    let renamed = match word {
                        "user" => text::user_(book, name),
                        "host" => text::host_(book, name),
                        _ => connector(book, name),
                    };
                    match share {
                        "" => renamed,
                        share => format!("{renamed} ({share}"),
                    }
                })
                .collect();
            format!("{word} {}", names.join(", "))
        })
        .collect();
    parts.join("; ")
}

/// A client library keeps its name; a program that gave its own does not.
pub(super) fn connector(book: &mut Book<'_>, name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let is_known = name.is_empty()
        || words::USERS.contains(&lower.as_str())
        || words::CONNECTORS.contains(&lower.as_str())
        || words::PROGRAMS.contains(&lower.as_str());
    match is_known {
        true => name.to_owned(),
        false => book.name(What::Program, name),
    }
}
