//! Values of settings and other facts.

use super::book::{Book, What};
use super::{statement, text, words};

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
    }
    if name == "packets.show_warnings.senders" {
        return senders(book, value);
    }
    text::rename(book, value)
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
    if value.contains('/') && !variable.contains("uid") {
        return text::path(book, value);
    }
    let parts: Vec<String> = value
        .split(',')
        .map(|part| {
            let part = part.trim();
            let what = if variable.contains("host") || variable.contains("address") {
                What::Host
            } else if variable.contains("user") || variable.contains("account") {
                What::User
            } else if variable.ends_with("_db") {
                What::Schema
            } else if variable.ends_with("_table") {
                What::Table
            } else if variable.contains("uid") || variable.contains("gtid") {
                What::Uuid
            } else if variable.ends_with("_file") {
                What::Path
            } else {
                What::Name
            };
            match what {
                What::Host => text::host_(book, part),
                What::User => text::user_(book, part),
                what => book.name(what, part),
            }
        })
        .collect();
    parts.join(",")
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
