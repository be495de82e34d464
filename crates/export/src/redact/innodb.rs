//! `SHOW ENGINE INNODB STATUS` with other names.

use std::sync::LazyLock;

use regex::Regex;
use server_text::innodb::{StatusPart, rewrite};

use super::pseudonyms::{NameKind, Pseudonyms};
use super::{names, statement, text, well_known};

pub(super) fn rename(pseudonyms: &mut Pseudonyms<'_>, body: &str) -> String {
    let renamed = rewrite(body, &mut |part, lines| match part {
        StatusPart::Statement => statement::rename(pseudonyms, lines),
        StatusPart::Thread => thread(pseudonyms, lines),
        // What was taken for a line of InnoDB's may be one of a settings file pasted behind a status.
        StatusPart::Own => {
            let renamed = own(pseudonyms, lines);
            text::rename(pseudonyms, &renamed)
        }
    });
    pseudonyms.sweep(&renamed).into_owned()
}

/// `MySQL thread id 5, OS thread handle 0x7f, query id 9 web1 10.0.0.5 shop updating`: host, address
/// and user, as far as they are there, and the state (`ha_innodb.cc`, `thd_get_error_context_description()`).
fn thread(pseudonyms: &mut Pseudonyms<'_>, line: &str) -> String {
    static ID: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"query id \d+ ?").ok());
    let Some(id) = ID.as_ref().and_then(|form| form.find(line)) else {
        return line.to_owned();
    };
    let (head, tail) = line.split_at(id.end());
    let mut words_: Vec<String> = tail.split(' ').map(str::to_owned).collect();
    let is_address = |word: &str| word.parse::<std::net::IpAddr>().is_ok();
    let first = words_.first().cloned().unwrap_or_default();
    let second = words_.get(1).cloned().unwrap_or_default();
    let is_system = first == "system" && second == "user" || first == "event_scheduler";
    if is_state(pseudonyms, &first) || is_system {
        return line.to_owned();
    }
    let user = match is_address(&second) && words_.len() > 2 {
        true => 2,
        false => 1,
    };
    for (index, word) in words_.iter_mut().enumerate().take(user + 1) {
        *word = match index == user {
            // The user may be anonymous, and then it is the state.
            true if is_state(pseudonyms, word) => word.clone(),
            true => names::user_(pseudonyms, word),
            false => names::host_(pseudonyms, word),
        };
    }
    format!("{head}{}", words_.join(" "))
}

/// A state begins with a capital letter and is made of the server's words.
fn is_state(pseudonyms: &Pseudonyms<'_>, word: &str) -> bool {
    word.is_empty()
        || (word.starts_with(|c: char| c.is_ascii_uppercase()) && pseudonyms.is_own(word))
}

/// InnoDB's own lines name tables and indexes in backquotes, and before 5.1 as `schema/table`.
fn own(pseudonyms: &mut Pseudonyms<'_>, line: &str) -> String {
    static NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"`(?P<schema>[^`\n]+)`\.`(?P<table>[^`\n]+)`|`(?P<back>[^`\n]+)`|(?P<head>\b[Tt]able (?:name )?|\bTABLE LOCK table )(?P<old>[^\s`'"/]+/[^\s`'":;,]+)|(?P<quote>"|')(?P<quoted>[\w$#@.-]+/[\w$#@.-]+)["']"#).ok()
    });
    let Some(form) = NAMES.as_ref() else {
        pseudonyms.overflow = true;
        return String::new();
    };
    let mut out = String::with_capacity(line.len());
    let mut at = 0;
    for found in form.captures_iter(line) {
        let Some(whole) = found.get(0) else { continue };
        out.push_str(line.get(at..whole.start()).unwrap_or_default());
        at = whole.end();
        let group = |name: &str| found.name(name).map(|found| found.as_str());
        if let (Some(schema), Some(table)) = (group("schema"), group("table")) {
            out.push_str(&names::qualified(pseudonyms, schema, table));
        } else if let Some(back) = group("back") {
            // Old servers put schema and table into one pair: `shop/orders`.
            let renamed = match back.split_once('/') {
                Some((schema, table)) => old(pseudonyms, schema, table),
                None => names::identifier(pseudonyms, back),
            };
            out.push_str(&format!("`{renamed}`"));
        } else if let Some((schema, table)) = group("old")
            .or(group("quoted"))
            .and_then(|old| old.split_once('/'))
        {
            let quote = group("quote").unwrap_or_default();
            let renamed = old(pseudonyms, schema, table);
            out.push_str(&format!(
                "{}{quote}{renamed}{quote}",
                group("head").unwrap_or_default()
            ));
        } else {
            out.push_str(whole.as_str());
        }
    }
    out.push_str(line.get(at..).unwrap_or_default());
    out
}

fn old(pseudonyms: &mut Pseudonyms<'_>, schema: &str, table: &str) -> String {
    match well_known::SCHEMAS.contains(&schema.to_ascii_lowercase().as_str()) {
        true => format!("{schema}/{table}"),
        false => format!(
            "{}/{}",
            pseudonyms.name(NameKind::Schema, schema),
            pseudonyms.name(NameKind::Table, table)
        ),
    }
}
