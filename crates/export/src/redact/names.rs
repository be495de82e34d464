//! Names that stand alone: of users, hosts, programs, tables, and what has points in it.

use std::net::IpAddr;

use super::book::{Book, What};
use super::paths::{
    component, is_data_end, is_library, is_number, is_source, is_version, version_number,
};
use super::words;

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

pub(super) fn address(book: &mut Book<'_>, address: &str) -> String {
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
pub(super) fn is_kernel_thread(lower: &str) -> bool {
    words::THREADS.iter().any(|start| {
        lower.strip_prefix(start).is_some_and(|rest| {
            (start.ends_with('_') || !rest.starts_with(char::is_alphabetic))
                && rest
                    .split(|c: char| !c.is_alphabetic())
                    .all(|word| word.len() < 3 || words::THREAD_WORDS.contains(&word))
        })
    })
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

/// A vendor's name, in lower case or not.
pub(super) fn is_vendors(host: &str) -> bool {
    DOTTED.contains(&host.to_ascii_lowercase().as_str())
}

/// Where the vendors explain things; in lower case.
pub(super) fn is_documentation(lower: &str) -> bool {
    DOTTED.iter().any(|known| {
        lower
            .strip_suffix(known)
            .is_some_and(|head| head.is_empty() || head.ends_with('.'))
    })
}
