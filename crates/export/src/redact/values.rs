//! Values of facts.

use super::book::{Book, What};
use super::names::{host_, program, user_};
use super::settings::{by_end, is_servers, naming, one_or_more};
use super::{line, statement, text, words};

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
        "server.program" => program(book, value),
        "server.unix_sockets" => {
            let sockets: Vec<String> = value.split(' ').map(|one| socket(book, one)).collect();
            sockets.join(" ")
        }
        _ => line::value(book, value),
    }
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
                        "user" => user_(book, name),
                        "host" => host_(book, name),
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
