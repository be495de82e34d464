//! Names that stand alone: of users, hosts, programs, tables, and what has points in it.

use std::net::IpAddr;

use super::paths::{
    component, is_data_end, is_library, is_number, is_source, is_version, version_number,
};
use super::pseudonyms::{NameKind, Pseudonyms};
use super::{variables, well_known};

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

/// Shorter words in names of threads name nobody.
const THREAD_LETTERS_MIN: usize = 3;

pub(super) fn user_(pseudonyms: &mut Pseudonyms<'_>, user: &str) -> String {
    match well_known::USERS.contains(&user.to_ascii_lowercase().as_str()) {
        true => user.to_owned(),
        false => pseudonyms.name(NameKind::User, user),
    }
}

/// A host's name or address, perhaps with a port.
pub(super) fn host_(pseudonyms: &mut Pseudonyms<'_>, host: &str) -> String {
    let bare = host.trim_matches(['[', ']']);
    if well_known::HOSTS.contains(&bare.to_ascii_lowercase().as_str()) {
        return host.to_owned();
    }
    if bare.parse::<IpAddr>().is_ok() {
        return address(pseudonyms, host);
    }
    match host.rsplit_once(':') {
        Some((name, port)) if is_number(port) && !name.is_empty() => {
            format!("{}:{port}", host_(pseudonyms, name))
        }
        _ => pseudonyms.name(NameKind::Host, host),
    }
}

/// `host:port`, perhaps with whoever logs in there: `user:password@host`.
pub(super) fn authority(pseudonyms: &mut Pseudonyms<'_>, authority: &str) -> String {
    let Some((login, host)) = authority.rsplit_once('@') else {
        return host_(pseudonyms, authority);
    };
    let host = host_(pseudonyms, host);
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let user = user_(pseudonyms, user);
    match password {
        "" => format!("{user}@{host}"),
        password => {
            pseudonyms.name(NameKind::Literal, password);
            format!("{user}:?@{host}")
        }
    }
}

/// `10.0.0.0/24`: an address, and how much of it is the network's.
pub(super) fn is_network(text: &str) -> bool {
    text.split_once('/')
        .is_some_and(|(head, mask)| head.parse::<IpAddr>().is_ok() && is_number(mask))
}

/// A network with another name for its address.
pub(super) fn network(pseudonyms: &mut Pseudonyms<'_>, text: &str) -> String {
    let (head, mask) = text.split_once('/').unwrap_or((text, ""));
    format!("{}/{mask}", address(pseudonyms, head))
}

pub(super) fn address(pseudonyms: &mut Pseudonyms<'_>, address: &str) -> String {
    let bare = address.trim_matches(['[', ']']);
    let is_everywhere = bare
        .parse::<IpAddr>()
        .is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified());
    match is_everywhere {
        true => address.to_owned(),
        false => pseudonyms.name(NameKind::Address, bare),
    }
}

/// The program behind a process or a thread.
pub(super) fn program(pseudonyms: &mut Pseudonyms<'_>, program: &str) -> String {
    let lower = program.to_ascii_lowercase();
    let is_known = well_known::PROGRAMS.contains(&lower.as_str())
        || is_kernel_thread(&lower)
        || is_number(program)
        || pseudonyms.is_own(program);
    match is_known {
        true => program.to_owned(),
        false => pseudonyms.name(NameKind::Program, program),
    }
}

/// A thread of a server, as a capture names it: by the server's words, or a plugin's or somebody's own.
pub(super) fn thread(pseudonyms: &mut Pseudonyms<'_>, thread: &str) -> String {
    let is_known = |part: &str| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let word = word.to_ascii_lowercase();
        word.chars().count() < THREAD_LETTERS_MIN
            || well_known::SERVER_THREADS.contains(&word.as_str())
            || well_known::PROGRAMS.contains(&word.as_str())
            || server_text::is_message_word(&word)
            || pseudonyms.is_own(&word)
    };
    let mut parts = thread.split(|c: char| !c.is_alphanumeric());
    match parts.all(is_known) {
        true => pseudonyms.sweep(thread).into_owned(),
        false => program(pseudonyms, thread),
    }
}

/// `kworker/0:1`, `kcompactd0`: no letters follow, or the name would be another one.
pub(super) fn is_kernel_thread(lower: &str) -> bool {
    well_known::THREADS.iter().any(|start| {
        lower.strip_prefix(start).is_some_and(|rest| {
            (start.ends_with('_') || !rest.starts_with(char::is_alphabetic))
                && rest
                    .split(|c: char| !c.is_alphabetic())
                    .all(|word| word.len() < 3 || well_known::THREAD_WORDS.contains(&word))
        })
    })
}

/// A name of the database: `t`, `s.t`.
pub(super) fn identifier(pseudonyms: &mut Pseudonyms<'_>, inner: &str) -> String {
    let lower = inner.to_ascii_lowercase();
    if well_known::INNODB_NAMES.contains(&lower.as_str())
        || well_known::SCHEMAS.contains(&lower.as_str())
    {
        return inner.to_owned();
    }
    match inner.split_once(['.', '/']) {
        Some((schema, _))
            if well_known::SCHEMAS.contains(&schema.to_ascii_lowercase().as_str()) =>
        {
            inner.to_owned()
        }
        Some((schema, table)) => format!(
            "{}{}{}",
            pseudonyms.name(NameKind::Schema, schema),
            inner.get(schema.len()..=schema.len()).unwrap_or("."),
            pseudonyms.name(NameKind::Table, table)
        ),
        None => pseudonyms.name(NameKind::Name, inner),
    }
}

/// A schema and a table, in backquotes.
pub(super) fn qualified(pseudonyms: &mut Pseudonyms<'_>, schema: &str, table: &str) -> String {
    match well_known::SCHEMAS.contains(&schema.to_ascii_lowercase().as_str()) {
        true => format!("`{schema}`.`{table}`"),
        false => format!(
            "`{}`.`{}`",
            pseudonyms.name(NameKind::Schema, schema),
            pseudonyms.name(NameKind::Table, table)
        ),
    }
}

pub(super) fn dotted(pseudonyms: &mut Pseudonyms<'_>, text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let parts: Vec<&str> = text.split('.').collect();
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
        return text.to_owned();
    };
    if text.parse::<IpAddr>().is_ok() {
        return address(pseudonyms, text);
    }
    let first_digit = first.starts_with(|c: char| c.is_ascii_digit());
    let is_documentation = is_documentation(&lower);
    if DOMAINS.contains(&last.to_ascii_lowercase().as_str()) && !is_documentation {
        return pseudonyms.name(NameKind::Host, text);
    }
    // The number of a version stays, what its builder added does not.
    if let Some(number) = version_number(text)
        && !is_version(text)
    {
        let (number, suffix) = text.split_at(number);
        return format!("{number}{}", pseudonyms.name(NameKind::Name, suffix));
    }
    let is_kept = is_documentation
        || is_number(text)
        || is_version(text)
        || is_source(last)
        || is_library(text)
        || (parts.len() == 2 && well_known::SCHEMAS.contains(&first.to_ascii_lowercase().as_str()))
        // Settings and signals of ours: `status.Threads_running`, `status.`.
        || parts.iter().all(|part| part.is_empty() || pseudonyms.is_own(part) || is_number(part));
    if is_kept {
        return text.to_owned();
    }
    if is_data_end(last) && !(is_number(last) && first_digit) {
        return component(pseudonyms, text);
    }
    if parts.len() == 2 {
        return identifier(pseudonyms, text);
    }
    pseudonyms.name(NameKind::Host, text)
}

/// A vendor's name, in lower case or not.
pub(super) fn is_vendors(host: &str) -> bool {
    DOTTED.contains(&host.to_ascii_lowercase().as_str())
}

/// The name of a fact or a signal, with other names for the parts of a variable's that are no server's and no kernel's.
pub(super) fn variable(pseudonyms: &mut Pseudonyms<'_>, name: &str) -> String {
    let Some((area, variable)) = variables::parted(name) else {
        return name.to_owned();
    };
    let parts: Vec<String> = variable
        .split('.')
        .map(|part| part_of(pseudonyms, area, part))
        .collect();
    format!("{area}{}", parts.join("."))
}

/// A name that stands alone where servers have names of variables: of a number in the head of a slow log, which whoever
/// stands before the server may add to.
pub(super) fn part_of_variable(pseudonyms: &mut Pseudonyms<'_>, part: &str) -> String {
    part_of(pseudonyms, "variables.", part)
}

fn part_of(pseudonyms: &mut Pseudonyms<'_>, area: &str, part: &str) -> String {
    match variables::is_own(area, part) {
        true => part.to_owned(),
        false => pseudonyms.name(NameKind::Name, part),
    }
}

/// Where the vendors explain things; in lower case.
pub(super) fn is_documentation(lower: &str) -> bool {
    DOTTED.iter().any(|known| {
        lower
            .strip_suffix(known)
            .is_some_and(|head| head.is_empty() || head.ends_with('.'))
    })
}
