//! Names that stand bare in a text, known by the words around them: `index mail_idx of table`,
//! `--user=shop`, `Query: insert into …`.
//!
//! What they stand in was taken for a log or a status by somebody else, who may have been wrong: a
//! settings file pasted behind a status is one to us. So these forms are looked for in all free text.

use super::forms::{Form, Found, Search};
use super::keywords::is_keyword;
use super::paths::is_number;
use super::pseudonyms::{NameKind, Pseudonyms};
use super::{names, secrets, setting_words, statement, well_known};

/// What is done with the group `name` of a form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    /// An index, a constraint, a partition: another name, unless InnoDB's own.
    Index,
    /// The same where prose may have the same form: a word of the server stays.
    PerhapsIndex,
    /// A host.
    Host,
    /// A user.
    User,
    /// A word that nobody else chose.
    Word,
    /// A program.
    Program,
    /// Nobody needs to know.
    Secret,
}

/// Forms with the name in the group `name`, in the order in which they are looked for. In front what every
/// line of the form holds, in lower case: a status has thousands of lines without any.
const FORMS: &[(&str, &str, Named)] = &[
    // 5.7 and later print indexes without quotes (`lock_rec_print()`, `dict_index_t::name`); 5.5 and 5.6
    // wrote `index "mail_idx" of table "shop"."t"`.
    (
        "index",
        r#"(?i)\bindex(?: name)? ["'`]?(?P<name>[^\s`'",;:()=]+)["'`]? (?:of|on|in|for) (?:the )?table\b"#,
        Named::Index,
    ),
    (
        "index",
        r"(?i)\b(?:in|of|find|using|on|for) index (?P<name>[\w$][^\s`'\x22,;:()=]*)",
        Named::PerhapsIndex,
    ),
    (
        "index",
        r"(?i)\bindex:? (?P<name>[\w$][^\s`'\x22,;:()=]*) (?:is|was|in|has|contains|not|does|cannot|could|id)\b",
        Named::PerhapsIndex,
    ),
    (
        "_",
        r"(?i)\b(?:index_name|lock_index|key_name|constraint_name|partition_name)\b[\s:=|]+(?P<name>[\w$][^\s`'\x22,;:()=|]*)",
        Named::Index,
    ),
    // The table monitor: `INDEX: name mail_idx, id 0 12, fields 1/5`, and what people write.
    (
        "index",
        r"(?:\bI(?:ndex|NDEX): (?:name )?)(?P<name>[\w$][^\s`'\x22,;:()=]*)",
        Named::Index,
    ),
    (
        "constraint",
        r#"(?i)\bconstraint "?(?P<name>[\w$][^\s`'",;:()=]*)"? (?:foreign|unique|check|primary|of|fails|failed|for)\b"#,
        Named::Index,
    ),
    (
        "corruption",
        r"(?i)\bcorruption (?:of|in|detected in) (?:index )?(?P<name>[\w$][^\s`'\x22,;:()=]*) in table\b",
        Named::Index,
    ),
    (
        "partition",
        r"(?i)\bpartition (?P<name>[\w$][^\s`'\x22,;:()=]*) (?:of|in|for) table\b",
        Named::Index,
    ),
    // Galera's nodes.
    (
        "member",
        r"\bMember \d+\.\d+ \((?P<name>[^)\s]+)\)",
        Named::Host,
    ),
    (
        "-",
        r"^\s*\d+: [0-9a-f]{8}-[0-9a-f-]{27}, (?P<name>\S+)",
        Named::Host,
    ),
    // The one that mysqld makes for its first account.
    (
        "password",
        r"(?i)\bpassword is generated for \S+: (?P<name>\S+)",
        Named::Secret,
    ),
    // Records of the kernel's audit: a command line in hexadecimal digits.
    (
        "audit",
        r"\b(?:proctitle|cmd|data|argv?|a\d{1,3}(?:\[\d+\])?)=(?P<name>[0-9A-Fa-f]{4,})\b",
        Named::Secret,
    ),
    // Arguments and pairs.
    (
        "=",
        r#"(?i)\b(?:[a-z]+[_-])?user(?:name)?=["']?(?P<name>[^\s"',;()]+)"#,
        Named::User,
    ),
    (
        "=",
        r#"(?i)\b(?:[a-z]+[_-])?(?:host|hostname|node|peer|server|source|master)=["']?(?P<name>[^\s"',;()]+)"#,
        Named::Host,
    ),
    (
        "=",
        r#"(?i)\b(?:cpuset|unit|container|pod|namespace|cluster|channel|database|schema|db|cluster[_-]name|node[_-]name|group[_-]name)=["']?(?P<name>[^\s"',;()/]+)"#,
        Named::Word,
    ),
    (
        "=",
        r#"(?:^|[\s"'])--[a-z][\w-]*=["']?(?P<name>[^\s"',;()/]+)"#,
        Named::Word,
    ),
    (
        "=",
        r#"\b[A-Z][A-Z0-9_]{2,}=["']?(?P<name>[^\s"',;()/:]+)"#,
        Named::Word,
    ),
    // Command lines of clients.
    (
        " -p",
        r"\b(?:mysql|mariadb)[\w-]*\b.*?\s-p(?P<name>[^\s-]\S*)",
        Named::Secret,
    ),
    (
        " -u",
        r"\b(?:mysql|mariadb)[\w-]*\b.*?\s-u ?(?P<name>[^\s-]\S*)",
        Named::User,
    ),
    (
        " -h",
        r"\b(?:mysql|mariadb)[\w-]*\b.*?\s-h ?(?P<name>[^\s-]\S*)",
        Named::Host,
    ),
    (
        "=",
        r#"(?i)\b(?:exe|comm|proc|program|process)=["']?(?P<name>[^\s"',;()/]+)"#,
        Named::Program,
    ),
];

/// The [`FORMS`], each made ready when its word is met: a recorder that sends to a fleet meets few of them.
static COMPILED: [Form; FORMS.len()] = [const { Form::new() }; FORMS.len()];

/// `password: x`, `"api-key":"x"`, `Authorization: Bearer x`; headers go on to the end of the line. The name in the group
/// `key`, the value in one of the others.
const SECRETS: [fn() -> String; 2] = [
    || r"(?i)(?P<key>[\w.-]*[_.-]headers|\b(?:set-)?cookie)\s?[:=]\s?(?P<name>\S.*)$".to_owned(),
    || {
        format!(
            r#"(?i)(?P<key>[\w.-]*(?:{})[\w-]*)\\?["']?\s?[:=]\s?(?:(?:apikey|basic|bearer|digest|token)\s+)?(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|\\?["']?(?P<name>[^\s"',;)]+))"#,
            secrets::form()
        )
    },
];

/// The [`SECRETS`].
static COMPILED_SECRETS: [Form; SECRETS.len()] = [const { Form::new() }; SECRETS.len()];

/// Statements in the middle of a line, and what begins one.
const STATEMENT: &str = concat!(
    r"(?i)(?:\b(?:query|statement|sql)(?: \([0-9a-fx]+\))?: ?'?",
    r"|\b(?:query|statement) (?:was|is):? '?)(?P<said>[a-z]+\b.*)$",
    r"|(?P<plain>\b(?:insert (?:ignore )?into|replace into|delete from|update \S+ set|select .+ from",
    r"|load data (?:local )?infile|create user|alter user|identified by|values ?\() ?.*)$",
);

/// A line with other names where words around them say what they are.
pub(super) fn rename(pseudonyms: &mut Pseudonyms<'_>, line: &str) -> String {
    static COMPILED_STATEMENT: Form = Form::new();
    let Some(statement) = COMPILED_STATEMENT.on(STATEMENT, line) else {
        return nothing_can_be_promised(pseudonyms);
    };
    let mut line = match statement.captures() {
        Some(found) => said(pseudonyms, line, &found),
        None => line.to_owned(),
    };
    if secrets::is_mentioned(&line) {
        for (form, compiled) in SECRETS.iter().zip(&COMPILED_SECRETS) {
            let Some(form) = compiled.made_on(form, &line) else {
                return nothing_can_be_promised(pseudonyms);
            };
            line = without_secrets(pseudonyms, &line, &form);
        }
    }
    let lower = line.to_ascii_lowercase();
    for ((word, form, named), compiled) in FORMS.iter().zip(&COMPILED) {
        if !lower.contains(word) {
            continue;
        }
        let Some(form) = compiled.on(form, &line) else {
            return nothing_can_be_promised(pseudonyms);
        };
        if form.is_match() {
            line = replaced(pseudonyms, &line, &form, *named);
        }
    }
    line
}

fn nothing_can_be_promised(pseudonyms: &mut Pseudonyms<'_>) -> String {
    pseudonyms.overflow = true;
    String::new()
}

/// The line with its statement renamed, up to the quote that ends it.
fn said(pseudonyms: &mut Pseudonyms<'_>, line: &str, found: &Found<'_>) -> String {
    let Some(sql) = found.name("said").or_else(|| found.name("plain")) else {
        return line.to_owned();
    };
    let first = sql
        .as_str()
        .split(|c: char| !c.is_ascii_alphabetic())
        .next();
    if !first.is_some_and(|first| is_keyword(&first.to_ascii_lowercase())) {
        return line.to_owned();
    }
    let head = line.get(..sql.start()).unwrap_or_default();
    let (sql, tail) = match head.ends_with('\'') {
        true => {
            let end = sql.as_str().rfind('\'').unwrap_or(sql.as_str().len());
            sql.as_str().split_at(end)
        }
        false => (sql.as_str(), ""),
    };
    let mut renamed = statement::rename(pseudonyms, sql);
    if !head.ends_with('\'') {
        // What opened before it is not closed in it.
        renamed = renamed.trim_end().to_owned();
    }
    format!("{head}{renamed}{tail}")
}

fn replaced(
    pseudonyms: &mut Pseudonyms<'_>,
    line: &str,
    form: &Search<'_>,
    named: Named,
) -> String {
    let mut out = String::with_capacity(line.len());
    let mut at = 0;
    for found in form.all() {
        let Some(name) = found.name("name") else {
            continue;
        };
        out.push_str(line.get(at..name.start()).unwrap_or_default());
        out.push_str(&one(pseudonyms, name.as_str(), named));
        at = name.end();
    }
    out.push_str(line.get(at..).unwrap_or_default());
    out
}

/// The line without the values of what is called like a secret.
fn without_secrets(pseudonyms: &mut Pseudonyms<'_>, line: &str, form: &Search<'_>) -> String {
    let mut out = String::with_capacity(line.len());
    let mut at = 0;
    for found in form.all() {
        let key = found.name("key").map_or("", |key| key.as_str());
        let value = found
            .name("double")
            .or_else(|| found.name("single"))
            .or_else(|| found.name("name"));
        // A policy has words of the server and numbers.
        let is_servers =
            |value: &str| is_plain(pseudonyms, value) || setting_words::is_known(pseudonyms, value);
        let Some(value) =
            value.filter(|value| secrets::is_secret(key) || !is_servers(value.as_str()))
        else {
            continue;
        };
        out.push_str(line.get(at..value.start()).unwrap_or_default());
        out.push_str(&one(pseudonyms, value.as_str(), Named::Secret));
        at = value.end();
    }
    out.push_str(line.get(at..).unwrap_or_default());
    out
}

fn one(pseudonyms: &mut Pseudonyms<'_>, name: &str, named: Named) -> String {
    let bare = name.trim_end_matches(['.', ':']);
    let end = name.get(bare.len()..).unwrap_or_default();
    let lower = bare.to_ascii_lowercase();
    let renamed = match named {
        Named::Index | Named::PerhapsIndex if well_known::INDEX_PROSE.contains(&lower.as_str()) => {
            bare.to_owned()
        }
        Named::PerhapsIndex if is_plain(pseudonyms, bare) => bare.to_owned(),
        Named::Index | Named::PerhapsIndex => names::identifier(pseudonyms, bare),
        Named::Host if is_plain(pseudonyms, bare) => bare.to_owned(),
        Named::Host => names::host_(pseudonyms, bare),
        Named::User => names::user_(pseudonyms, bare),
        Named::Word if is_plain(pseudonyms, bare) => bare.to_owned(),
        Named::Word if bare.contains('.') => names::dotted(pseudonyms, bare),
        Named::Word => pseudonyms.name(NameKind::Name, bare),
        Named::Program => names::program(pseudonyms, bare),
        Named::Secret if secrets::is_none(bare) => bare.to_owned(),
        Named::Secret => {
            pseudonyms.name(NameKind::Literal, bare);
            "?".to_owned()
        }
    };
    format!("{renamed}{end}")
}

/// Numbers, and words of the server and the kernel.
fn is_plain(pseudonyms: &Pseudonyms<'_>, word: &str) -> bool {
    is_number(word) || pseudonyms.is_own(word) || word.starts_with(['(', '?'])
}

#[cfg(test)]
mod tests {
    use super::super::forms::both::can_be_made;
    use super::*;

    #[test]
    fn every_form_can_be_looked_for() {
        for (word, form, _) in FORMS {
            assert!(can_be_made(form), "{word}: {form}");
        }
        assert!(SECRETS.iter().all(|form| can_be_made(&form())));
    }
}
