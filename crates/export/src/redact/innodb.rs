//! `SHOW ENGINE INNODB STATUS` with other names.

use server_text::innodb::{StatusPart, rewrite};

use super::forms::Form;
use super::pseudonyms::{NameKind, Pseudonyms};
use super::{names, pieces, statement, states, text, well_known};

pub(super) fn rename(pseudonyms: &mut Pseudonyms<'_>, body: &str) -> String {
    let renamed = rewrite(body, &mut |part, lines| match part {
        StatusPart::Statement => statement::rename(pseudonyms, lines),
        StatusPart::Thread => thread(pseudonyms, lines),
        // What was taken for a line of InnoDB's may be one of a settings file pasted behind a status.
        StatusPart::Own => {
            let renamed = own(pseudonyms, lines);
            let renamed = text::rename(pseudonyms, &renamed);
            let renamed = pseudonyms.sweep(&renamed).into_owned();
            known_only(pseudonyms, &renamed)
        }
    });
    pseudonyms.sweep(&renamed).into_owned()
}

/// `MySQL thread id 5, OS thread handle 0x7f, query id 9 web1 10.0.0.5 shop updating`: host, address
/// and user, as far as they are there, and the state (`ha_innodb.cc`, `thd_get_error_context_description()`).
fn thread(pseudonyms: &mut Pseudonyms<'_>, line: &str) -> String {
    static ID: Form = Form::new();
    let form = ID.on(r"query id \d+ ?", line);
    let Some(id) = form.and_then(|form| form.find()) else {
        return known_only(pseudonyms, line);
    };
    let (head, tail) = line.split_at(id.end());
    let head = known_only(pseudonyms, head);
    let mut words_: Vec<String> = tail.split(' ').map(str::to_owned).collect();
    let is_address = |word: &str| word.parse::<std::net::IpAddr>().is_ok();
    let first = words_.first().cloned().unwrap_or_default();
    let second = words_.get(1).cloned().unwrap_or_default();
    // Where the state begins.
    let state = if is_state(pseudonyms, &first) {
        0
    } else if first == "system" && second == "user" {
        2
    } else if first == "event_scheduler" {
        1
    } else {
        let user = match is_address(&second) && words_.len() > 2 {
            true => 2,
            false => 1,
        };
        // The user may be anonymous, and then it is the state.
        let is_anonymous = words_
            .get(user)
            .is_none_or(|word| is_state(pseudonyms, word));
        for (index, word) in words_.iter_mut().enumerate().take(user + 1) {
            *word = match index == user {
                true if is_anonymous => word.clone(),
                true => names::user_(pseudonyms, word),
                false => names::host_(pseudonyms, word),
            };
        }
        match is_anonymous {
            true => user,
            false => user + 1,
        }
    };
    let said = words_.get(state..).unwrap_or_default().join(" ");
    words_.truncate(state);
    let who = words_.join(" ");
    // What somebody wrote behind it is no state, and is told in the same line.
    let said = match said.trim().is_empty() {
        true => said,
        false => states::state(pseudonyms, &said),
    };
    match (who.is_empty(), said.is_empty()) {
        (false, false) => format!("{head}{who} {said}"),
        _ => format!("{head}{who}{said}"),
    }
}

/// A line of InnoDB's without words that it does not have. Names in backquotes have others already; a quote without its
/// other one begins nothing.
fn known_only(pseudonyms: &Pseudonyms<'_>, line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    let last = parts.len().saturating_sub(1);
    let parts =
        parts
            .iter()
            .enumerate()
            .map(|(place, part)| match place % 2 == 0 || place == last {
                true => pieces::known_only(pseudonyms, part, is_transaction),
                false => (*part).to_owned(),
            });
    parts.collect::<Vec<_>>().join("`")
}

/// The number of a transaction as MySQL 5.5 prints it: `21FC3E`, `CECA`.
fn is_transaction(part: &str) -> bool {
    const DIGITS_MIN: usize = 4;
    let is_hex = part
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'));
    is_hex && (part.len() >= DIGITS_MIN || part.bytes().any(|byte| byte.is_ascii_digit()))
}

/// A state begins with a capital letter and is made of the server's words.
fn is_state(pseudonyms: &Pseudonyms<'_>, word: &str) -> bool {
    word.is_empty()
        || (word.starts_with(|c: char| c.is_ascii_uppercase()) && pseudonyms.is_own(word))
}

/// InnoDB's own lines name tables and indexes in backquotes, and before 5.1 as `schema/table`.
fn own(pseudonyms: &mut Pseudonyms<'_>, line: &str) -> String {
    static NAMES: Form = Form::new();
    let form = NAMES.on(
        r#"`(?P<schema>[^`\n]+)`\.`(?P<table>[^`\n]+)`|`(?P<back>[^`\n]+)`|(?P<head>\b[Tt]able (?:name )?|\bTABLE LOCK table )(?P<old>[^\s`'"/]+/[^\s`'":;,]+)|(?P<quote>"|')(?P<quoted>[\w$#@.-]+/[\w$#@.-]+)["']"#,
        line,
    );
    let Some(form) = form else {
        pseudonyms.overflow = true;
        return String::new();
    };
    let mut out = String::with_capacity(line.len());
    let mut at = 0;
    for found in form.all() {
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
