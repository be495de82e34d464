//! What by its form can only be somebody's, in a text where nothing of anybody may be left.
//!
//! The search for the names that were met finds those that were forgotten in one place and met in
//! another. It cannot find those that nobody met: these forms do, and they do not ask where a text
//! came from.

use std::net::Ipv4Addr;

use super::forms::Form as Ready;
use super::leak::Leak;
use super::pseudonyms::{Names, is_pseudonym};
use super::word_set::WordSet;
use super::{names, paths, well_known};

/// A form, and whether what it found may stay. Each has it in the group `it`.
struct Form {
    /// What it finds, in a word.
    kind: &'static str,
    /// Whether a text may have it at all: most have none, and need no regular expression for that.
    may_be: fn(&str) -> bool,
    form: &'static str,
    may_stay: fn(&WordSet, &str) -> bool,
}

/// Fewer hexadecimal digits in a row are those of an address.
const HEX_DIGITS_MIN: usize = 32;

const FORMS: [Form; 8] = [
    Form {
        kind: "index",
        may_be: |text| text.contains(' '),
        form: r#"(?i)\bindex (?:\\?["'`])?(?P<it>[^\s`'",;:()=\\]+)(?:\\?["'`])? of table\b"#,
        may_stay: |_, name| {
            let lower = name.to_ascii_lowercase();
            well_known::INNODB_NAMES.contains(&lower.as_str())
                || lower == "?"
                || well_known::INDEX_PROSE.contains(&lower.as_str())
                || is_pseudonym(&lower)
        },
    },
    Form {
        kind: "path",
        may_be: |text| text.contains('/'),
        form: r"(?:^|[^\w/)\]*}-])(?P<it>/[\w#~][\w#~.@%+-]*(?:/[\w#~][\w#~.@%+-]*)+)",
        may_stay: |_, path| {
            // Ends of sentences, and of names of signals.
            let path = path.trim_end_matches('.');
            let path = path.strip_suffix(".used_share").unwrap_or(path);
            path.split('/').all(paths::is_known_component)
        },
    },
    Form {
        kind: "UUID",
        may_be: |text| text.contains('-'),
        form: r"\b(?P<it>[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})\b",
        may_stay: |_, uuid| uuid.bytes().all(|byte| byte == b'0' || byte == b'-'),
    },
    Form {
        kind: "mail address",
        may_be: |text| text.contains('@'),
        form: r"(?P<it>[\w.+%-]+@[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)+)",
        may_stay: |_, _| false,
    },
    Form {
        kind: "address",
        may_be: has_points,
        form: r"(?:^|[^\w.-])(?P<it>\d{1,3}(?:\.\d{1,3}){3})(?:$|[^\w.-]|\.(?:\s|$))",
        may_stay: |_, address| {
            address.parse::<Ipv4Addr>().map_or(true, |ip| {
                ip.is_loopback() || ip.is_unspecified() || ip.octets().starts_with(&[255])
            })
        },
    },
    Form {
        kind: "host",
        may_be: |text| text.contains('.'),
        form: r#"(?i)\b(?P<it>[\w-]+(?:\.[\w-]+)*\.(?:com|net|org|local|localdomain|lan|internal|intranet|corp|example))\.?(?:$|[\s'":,;)/])"#,
        may_stay: |_, host| names::is_documentation(&host.to_ascii_lowercase()),
    },
    Form {
        kind: "value in quotes",
        may_be: |text| text.contains('\'') && text.contains('='),
        form: r"\b[\w-]+ ?= ?'(?P<it>[^'\n?]{2,})'",
        may_stay: |own, value| {
            value
                .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                .all(|word| {
                    let lower = word.to_ascii_lowercase();
                    word.is_empty()
                        || paths::is_number(word)
                        || own.contains(&lower)
                        || is_pseudonym(&lower)
                        || paths::is_known_component(word)
                })
        },
    },
    // Digests, keys, command lines; what a program is built of is nobody's.
    Form {
        kind: "run of hexadecimal digits",
        may_be: has_long_hex,
        form: r"(?i)\bbuild[ _-]?id(?:\[\w+\])?[:= ]*[0-9a-f]+|\b(?P<it>[0-9a-f]{32,})\b",
        may_stay: |_, hex| hex.bytes().all(|byte| byte.is_ascii_digit()),
    },
];

/// A point with a digit before and behind, three times, as an address has it.
fn has_points(text: &str) -> bool {
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let points = text
        .as_bytes()
        .windows(3)
        .filter(|three| digit(three.first()) && three.get(1) == Some(&b'.') && digit(three.last()));
    points.take(3).count() == 3
}

fn has_long_hex(text: &str) -> bool {
    let mut run = 0_usize;
    text.bytes().any(|byte| {
        run = if byte.is_ascii_hexdigit() { run + 1 } else { 0 };
        run >= HEX_DIGITS_MIN
    })
}

/// The [`FORMS`], each made ready when a text may have it.
static COMPILED: [Ready; FORMS.len()] = [const { Ready::new() }; FORMS.len()];

impl Names {
    /// The same in a text, and what by its form can only be somebody's though nobody met it as a name.
    pub fn find_in_text(&self, bytes: &[u8]) -> Option<Leak> {
        self.find(bytes)
            .or_else(|| find(&self.own, &String::from_utf8_lossy(bytes)))
    }
}

/// The first thing in a text that can only be somebody's. `own` are words of servers, in lower case.
fn find(own: &WordSet, text: &str) -> Option<Leak> {
    FORMS.iter().zip(&COMPILED).find_map(|(form, compiled)| {
        if !(form.may_be)(text) {
            return None;
        }
        let Some(compiled) = compiled.on(form.form, text) else {
            // What cannot be looked at is not shown.
            return Some(Leak::unsearchable(
                "anything (the forms cannot be searched for)",
            ));
        };
        compiled
            .all()
            .filter_map(|found| found.name("it"))
            .find(|it| !(form.may_stay)(own, it.as_str()))
            .map(|it| Leak::of_kind(form.kind, it.range()))
    })
}
