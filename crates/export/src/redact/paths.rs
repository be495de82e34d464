//! Paths, folder by folder, and versions: what of them tells nothing of whose they are.

use std::sync::LazyLock;

use super::forms::Form;
use super::pseudonyms::{NameKind, Pseudonyms, is_pseudonym};
use super::well_known::{self, Words};

/// Folders and files as servers, distributions and containers name them.
pub(super) static PATH: Words = LazyLock::new(|| include_str!("words/paths.txt").lines().collect());

/// Ends of names of source and program files, which stay as they are.
const CODE: &[&str] = &["cc", "c", "h", "ic", "hh", "cpp", "hpp", "i", "yy"];

/// Ends of names of data files: what stands before them is a name.
pub(super) const DATA: &[&str] = &[
    "ibd", "frm", "par", "myd", "myi", "mad", "mai", "csv", "csm", "trg", "trn", "err", "log",
    "pid", "sock", "sql", "opt", "isl", "cfg", "cfp", "txt", "bak", "old", "pem", "cnf", "conf",
    "sh", "py", "pl", "rb", "js", "go", "rs", "php", "jar", "tar", "gz", "zst", "xz", "dump",
    "json", "yml", "yaml", "ini", "tmp", "lock", "service", "socket", "slice", "scope", "mount",
    "target", "timer", "info", "d", "key", "crt", "index",
];

/// What a folder of a server's sources is called before its version.
const SOURCES: &[&str] = &[
    "mysql-",
    "mariadb-",
    "percona-server-",
    "percona-xtradb-cluster-",
    "mysql-server-",
    "mysql-community-",
    "mariadb-server-",
];

/// A path, folder by folder. A remark in brackets of source files stays: `/build/x.cc:12`.
pub(super) fn path(pseudonyms: &mut Pseudonyms<'_>, path: &str) -> String {
    let tail = path.trim_end_matches(['.', ',', ':', '!', '?']);
    let end = path.get(tail.len()..).unwrap_or_default();
    let parts: Vec<String> = tail
        .split('/')
        .map(|part| component(pseudonyms, part))
        .collect();
    format!("{}{end}", parts.join("/"))
}

/// Whether each part of a path is one that every host may have.
pub fn is_known_path(path: &str) -> bool {
    path.split('/')
        .all(|part| part.is_empty() || is_known_component(part))
}

/// A folder or a file that tells nothing of whose it is, or is renamed already.
pub(super) fn is_known_component(part: &str) -> bool {
    let lower = part.to_ascii_lowercase();
    let is_known = PATH.contains(&lower.as_str())
        || well_known::SCHEMAS.contains(&lower.as_str())
        || well_known::PROGRAMS.contains(&lower.as_str())
        || is_library(part)
        || is_number(part)
        || is_version(part)
        || SOURCES
            .iter()
            .any(|start| lower.strip_prefix(start).is_some_and(is_version))
        || is_pseudonym(&lower);
    if is_known {
        return true;
    }
    if let Some((stem, end)) = lower.rsplit_once('.') {
        // A table may be called `err`, and then the end of `shop.err` was replaced, too.
        let is_end = is_data_end(end) || is_pseudonym(end);
        return is_source(end) || (is_end && is_known_component(stem));
    }
    lower
        .split_once("#p#")
        .is_some_and(|(table, partition)| is_known_component(table) && is_pseudonym(partition))
}

/// The end of the name of a file of sources, which stays.
pub(super) fn is_source(end: &str) -> bool {
    let lower = end.to_ascii_lowercase();
    CODE.contains(&lower.split(':').next().unwrap_or_default())
}

/// What stands before the end of such a file is a name.
pub(super) fn is_data_end(end: &str) -> bool {
    let lower = end.to_ascii_lowercase();
    DATA.contains(&lower.split(':').next().unwrap_or_default()) || is_number(end)
}

pub(super) fn component(pseudonyms: &mut Pseudonyms<'_>, part: &str) -> String {
    if is_known_component(part) {
        return part.to_owned();
    }
    // `mysql-bin.000012`
    if let Some((stem, end)) = part.rsplit_once('.')
        && is_data_end(end)
    {
        return format!("{}.{end}", component(pseudonyms, stem));
    }
    // Partitions: `orders#P#p2019`.
    if let Some((table, partition)) = part.split_once("#P#").or_else(|| part.split_once("#p#")) {
        return format!(
            "{}#P#{}",
            component(pseudonyms, table),
            pseudonyms.name(NameKind::Name, partition)
        );
    }
    pseudonyms.name(NameKind::Path, part)
}

/// `libc.so.6`, and not `shop.sock`.
pub(super) fn is_library(part: &str) -> bool {
    part.rsplit_once(".so").is_some_and(|(_, version)| {
        version.is_empty() || version.starts_with('.') && is_number(version)
    })
}

/// Where the suffix of `8.0.36-log` begins.
pub(super) fn version_number(text: &str) -> Option<usize> {
    static NUMBER: Form = Form::new();
    // Digits of all languages would take hundreds of KiB, here and below.
    let form = NUMBER.on(
        r"^[0-9]{1,3}\.[0-9]{1,3}(?:\.[0-9]{1,6}){0,2}(?:-[0-9]+)*[-~+]",
        text,
    )?;
    let end = form.find()?.end();
    (end < text.len()).then_some(end)
}

/// What a builder added to a version, where not all of them add it: `acme` of `8.0.36-acme`.
pub fn builders_suffix(version: &str) -> Option<&str> {
    let suffix = version.get(version_number(version)?..)?;
    let is_word = suffix.starts_with(|c: char| c.is_alphabetic());
    (is_word && !is_version(version)).then_some(suffix)
}

/// `10.11.19-MariaDB-0+deb12u1`, `TLSv1.2`, `3.0.19`, `2.2.5ms`.
pub(super) fn is_version(text: &str) -> bool {
    static VERSION: Form = Form::new();
    let form = concat!(
        r"(?i)^(?:v|tlsv|sslv|gtid|http/)?[0-9]{1,4}(?:\.[0-9]{1,6}){1,4}(?:[a-z]{1,2})?",
        r"(?:[-+~._]?(?:mariadb|mysql|percona|maria|server|community|commercial|enterprise|cluster|wsrep|log|debug|lts|rc[0-9]*|ga|m[0-9]+|alpha|beta|dmr",
        r"|deb[0-9]+(?:u[0-9]+)?|ubu[0-9]+|ubuntu|el[0-9]+|fc[0-9]+|amzn[0-9]+|uek|aws|gcp|rds|azure|google|generic|cloud|amd64|arm64|x86_64|aarch64|lowlatency|virtual|default|pve",
        r"|bpo[0-9]*|rt[0-9]+|bionic|focal|jammy|noble|bullseye|bookworm|buster|stretch|trixie|xenial|microsoft|standard|wsl[0-9]|linuxkit|[0-9]+(?:\.[0-9]+)*))*$"
    );
    let form = VERSION.on(form, text);
    form.is_some_and(|form| form.is_match())
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
