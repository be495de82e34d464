//! Lines `key = value`, and values of settings.

use super::forms::Form;
use super::paths::is_number;
use super::pseudonyms::{NameKind, Pseudonyms};
use super::{line, names, paths, secrets, setting_words, statement, well_known, wordwise};

/// Ends of names of settings whose value is a name, whichever server or plugin has them.
const NAMING_ENDS: &[(&str, NameKind)] = &[
    ("_host", NameKind::Host),
    ("_hosts", NameKind::Host),
    ("_address", NameKind::Host),
    ("_addresses", NameKind::Host),
    ("_seeds", NameKind::Host),
    ("_peer", NameKind::Host),
    ("_donor", NameKind::Host),
    ("_donor_list", NameKind::Host),
    ("_allowlist", NameKind::Host),
    ("_whitelist", NameKind::Host),
    ("_hostname", NameKind::Host),
    ("_domainname", NameKind::Host),
    ("_domain", NameKind::Host),
    ("_realm", NameKind::Host),
    ("_node", NameKind::Host),
    ("_node_name", NameKind::Host),
    ("_user", NameKind::User),
    ("_users", NameKind::User),
    ("_account", NameKind::User),
    ("_accounts", NameKind::User),
    ("_principal", NameKind::User),
    ("_db", NameKind::Schema),
    ("_dbs", NameKind::Schema),
    ("_database", NameKind::Schema),
    ("_table", NameKind::Table),
    ("_tables", NameKind::Table),
    ("_uuid", NameKind::Uuid),
    ("_uid", NameKind::Uuid),
    ("_file", NameKind::Path),
    ("_filename", NameKind::Path),
    ("_dir", NameKind::Path),
    ("_dirs", NameKind::Path),
    ("_directory", NameKind::Path),
    ("_path", NameKind::Path),
    ("_basename", NameKind::Path),
    ("_index", NameKind::Path),
    ("_cmd", NameKind::Path),
    ("_command", NameKind::Path),
    ("_cert", NameKind::Path),
    ("_key", NameKind::Path),
    ("_name", NameKind::Name),
    ("_names", NameKind::Name),
    ("_group", NameKind::Name),
    ("_cluster", NameKind::Name),
    ("_label", NameKind::Name),
    ("_dn", NameKind::Name),
    ("_url", NameKind::Name),
    ("_uri", NameKind::Name),
    ("_role", NameKind::Name),
    ("_roles", NameKind::Name),
    ("_prefix", NameKind::Name),
    ("_connection", NameKind::Name),
    ("_info", NameKind::Name),
    ("_ident", NameKind::Name),
    ("_tag", NameKind::Name),
    ("_attributes", NameKind::Name),
];

/// Names with such an end whose value is a switch.
const NO_NAMES: [&str; 3] = [
    "innodb_encrypt_tables",
    "use_stat_tables",
    "session_track_transaction_info",
];

/// Shorter parts of a secret are not looked for by themselves.
const SECRET_PART_BYTES_MIN: usize = 8;

/// `key = value` and nothing else.
const SETTING: &str =
    r"^(?P<head>\s*(?:--|# ?)?(?P<key>[A-Za-z][\w.-]*)\s*=\s*)(?P<value>\S.*?)(?P<tail>\s*)$";

/// A line `key = value` with another value where that is somebody's; any other line as it is.
pub(super) fn rename(pseudonyms: &mut Pseudonyms<'_>, line: &str) -> String {
    static COMPILED_SETTING: Form = Form::new();
    let Some(form) = COMPILED_SETTING.on(SETTING, line) else {
        // Nothing can be promised.
        pseudonyms.overflow = true;
        return String::new();
    };
    let Some(found) = form.captures() else {
        return line.to_owned();
    };
    let part = |name: &str| found.name(name).map_or("", |part| part.as_str());
    let value = value(pseudonyms, part("key"), part("value"));
    format!("{}{value}{}", part("head"), part("tail"))
}

/// The value of a line `key = value` in a text that nobody knows the kind of. Whatever is no number and
/// no word of the server becomes another word.
fn value(pseudonyms: &mut Pseudonyms<'_>, key: &str, value: &str) -> String {
    let key = key_of(key);
    // What is said of it is somebody's own words.
    let value = value.split(" #").next().unwrap_or(value).trim_end();
    let quote = ['"', '\'']
        .into_iter()
        .find(|quote| value.len() > 1 && value.starts_with(*quote) && value.ends_with(*quote));
    match quote {
        Some(quote) => {
            let inner = value.trim_matches(quote);
            format!("{quote}{}{quote}", of_line(pseudonyms, &key, inner))
        }
        None => {
            let renamed = of_line(pseudonyms, &key, value);
            // Several words without quotes: `feedback_user_info = Acme Corp`. What is in quotes is judged as a whole
            // by whoever reads the line.
            let is_words = key.contains('_')
                && value.contains(char::is_whitespace)
                && !value.contains(|c: char| "/.@:'\"`()?".contains(c));
            match is_words && renamed == value {
                true => wordwise::rename(pseudonyms, value, &|pseudonyms, word| {
                    pseudonyms.is_own(word)
                }),
                false => renamed,
            }
        }
    }
}

/// In lower case, with `_` between words.
fn key_of(name: &str) -> String {
    let name = name.to_ascii_lowercase().replace(['-', '.'], "_");
    match name.strip_prefix("loose_") {
        Some(name) => name.to_owned(),
        None => name,
    }
}

fn of_line(pseudonyms: &mut Pseudonyms<'_>, key: &str, value: &str) -> String {
    if let Some(renamed) = by_key(pseudonyms, key, value) {
        return renamed;
    }
    if is_servers(pseudonyms, value) {
        return value.to_owned();
    }
    if let Some(what) = by_end(key) {
        return one_or_more(pseudonyms, what, value);
    }
    let is_one = !value.contains(|c: char| c.is_whitespace() || "/.@:'\"`()?".contains(c));
    match is_one {
        true => one_or_more(pseudonyms, NameKind::Name, value),
        false => value.to_owned(),
    }
}

/// The value of a fact that is a setting, whatever it is called: words that servers and kernels have in settings stay,
/// numbers, versions and folders that every system has. Any other word becomes another one.
pub(super) fn of_fact(pseudonyms: &mut Pseudonyms<'_>, name: &str, value: &str) -> String {
    let key = key_of(name);
    if let Some(renamed) = by_key(pseudonyms, &key, value) {
        return renamed;
    }
    let what = by_end(&key).filter(|_| !NO_NAMES.contains(&key.as_str()));
    match what {
        Some(_) if is_plain(value) || is_servers(pseudonyms, value) => value.to_owned(),
        Some(what) => one_or_more(pseudonyms, what, value),
        None => {
            // What has a form first: an address is made of numbers.
            let renamed = line::value(pseudonyms, value);
            wordwise::rename(pseudonyms, &renamed, &setting_words::is_known)
        }
    }
}

/// The value of a setting that is known by its name: a statement, a secret, a name.
fn by_key(pseudonyms: &mut Pseudonyms<'_>, key: &str, value: &str) -> Option<String> {
    if well_known::SQL_VARIABLES.contains(&key) {
        return Some(statement::rename(pseudonyms, value));
    }
    if secrets::is_secret(key) {
        return Some(secret(pseudonyms, value));
    }
    if well_known::NAMING_VARIABLES.contains(&key) {
        return Some(naming(pseudonyms, key, value));
    }
    None
}

/// A secret, and its parts by themselves: `x-api-key=…,tenant=…`.
fn secret(pseudonyms: &mut Pseudonyms<'_>, value: &str) -> String {
    if secrets::is_none(value) {
        return value.to_owned();
    }
    pseudonyms.name(NameKind::Literal, value);
    for part in value.split(|c: char| c.is_whitespace() || ",;=".contains(c)) {
        if part.len() >= SECRET_PART_BYTES_MIN {
            pseudonyms.name(NameKind::Literal, part);
        }
    }
    "?".to_owned()
}

/// What a setting's value is, by the end of its name.
fn by_end(variable: &str) -> Option<NameKind> {
    const WHOLE: [(&str, NameKind); 7] = [
        ("user", NameKind::User),
        ("host", NameKind::Host),
        ("database", NameKind::Schema),
        ("log_bin", NameKind::Path),
        ("datadir", NameKind::Path),
        ("proxy_user", NameKind::User),
        ("external_user", NameKind::User),
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
fn is_servers(pseudonyms: &Pseudonyms<'_>, value: &str) -> bool {
    value
        .split(|c: char| c.is_whitespace() || ",;:=|".contains(c))
        .all(|word| {
            // `(hidden)`, and what was replaced: `?`.
            let word = word.trim_matches(['?', '(', ')']);
            let digits = word.trim_end_matches(|c: char| "kKmMgGtTbBiIsS%".contains(c));
            word.is_empty()
                || is_number(word)
                || is_number(digits)
                || pseudonyms.is_own(word)
                || word == "hidden"
                || word == "built-in"
        })
}

/// What stands where no name is given.
fn is_plain(value: &str) -> bool {
    const PLAIN: [&str; 12] = [
        "",
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
    ];
    PLAIN.contains(&value.to_ascii_lowercase().as_str()) || well_known::HOSTS.contains(&value)
}

/// A setting whose value is a name, or several.
fn naming(pseudonyms: &mut Pseudonyms<'_>, variable: &str, value: &str) -> String {
    if is_plain(value) {
        return value.to_owned();
    }
    let what = if variable.contains("host") || variable.contains("address") {
        NameKind::Host
    } else if variable.contains("user") || variable.contains("account") {
        NameKind::User
    } else {
        by_end(variable).unwrap_or(
            match variable.contains("uid") || variable.contains("gtid") {
                true => NameKind::Uuid,
                false => NameKind::Name,
            },
        )
    };
    one_or_more(pseudonyms, what, value)
}

/// Names with commas between, perhaps behind a scheme: `gcomm://10.0.0.1,db2:4567?gmcast.segment=1`.
fn one_or_more(pseudonyms: &mut Pseudonyms<'_>, what: NameKind, value: &str) -> String {
    if let Some((scheme, rest)) = value.split_once("://") {
        let (hosts, options) = rest.split_at(rest.find(['?', '/']).unwrap_or(rest.len()));
        let hosts = one_or_more(pseudonyms, NameKind::Host, hosts);
        let options = options_of_address(pseudonyms, options);
        return format!("{scheme}://{hosts}{options}");
    }
    let parts: Vec<String> = value
        .split(',')
        .map(|part| {
            let name = part.trim();
            match what {
                _ if name.is_empty() => String::new(),
                NameKind::Uuid => uuids(pseudonyms, name),
                _ if names::is_network(name) => names::network(pseudonyms, name),
                _ if name.contains('/') => paths::path(pseudonyms, name),
                NameKind::Host => names::authority(pseudonyms, name),
                NameKind::User => match name.rsplit_once('@') {
                    Some((user, host)) => {
                        let (user, host) = (user.trim_matches(QUOTES), host.trim_matches(QUOTES));
                        format!(
                            "{}@{}",
                            names::user_(pseudonyms, user),
                            names::host_(pseudonyms, host)
                        )
                    }
                    None => names::user_(pseudonyms, name.trim_matches(QUOTES)),
                },
                NameKind::Path => files(pseudonyms, name),
                // `shop.orders`, `shop->archive`
                NameKind::Schema | NameKind::Table => places(pseudonyms, what, name),
                what => pseudonyms.name(what, name),
            }
        })
        .collect();
    parts.join(",")
}

/// `?gmcast.segment=1&pc.wait_prim=no`; what is no pair is no option.
fn options_of_address(pseudonyms: &mut Pseudonyms<'_>, options: &str) -> String {
    let renamed = line::value(pseudonyms, options);
    let mut out = String::with_capacity(renamed.len());
    for piece in renamed.split_inclusive(['?', '&']) {
        let word = piece.trim_matches(['?', '&', '/']);
        match word.is_empty() || word.contains('=') || is_servers(pseudonyms, word) {
            true => out.push_str(piece),
            false => out.push_str(&piece.replace(word, &pseudonyms.name(NameKind::Name, word))),
        }
    }
    out
}

/// `shop`, `shop.orders`, `shop.%`, `shop->archive`
fn places(pseudonyms: &mut Pseudonyms<'_>, what: NameKind, value: &str) -> String {
    let sides: Vec<String> = value
        .split("->")
        .map(|side| {
            let names: Vec<String> = side
                .split('.')
                .map(|name| match is_servers(pseudonyms, name) || name == "%" {
                    true => name.to_owned(),
                    false => pseudonyms.name(what, name),
                })
                .collect();
            names.join(".")
        })
        .collect();
    sides.join("->")
}

/// `ibdata1:12M;ibdata2:10M:autoextend`, or one file.
fn files(pseudonyms: &mut Pseudonyms<'_>, value: &str) -> String {
    let files: Vec<String> = value
        .split(';')
        .map(|file| match file.split_once(':') {
            Some((file, size)) => format!("{}:{size}", paths::component(pseudonyms, file)),
            None => paths::component(pseudonyms, file),
        })
        .collect();
    files.join(";")
}

const QUOTES: [char; 3] = ['\'', '"', '`'];

/// `0f8e…-…:1-55:57`, `0-1-55`: numbers of transactions stay.
fn uuids(pseudonyms: &mut Pseudonyms<'_>, value: &str) -> String {
    match value.split_once(':') {
        Some((uuid, numbers)) if is_number(&numbers.replace([':', '\n', ' '], "")) => {
            format!("{}:{numbers}", pseudonyms.name(NameKind::Uuid, uuid))
        }
        _ if is_number(value) => value.to_owned(),
        _ => pseudonyms.name(NameKind::Uuid, value),
    }
}
