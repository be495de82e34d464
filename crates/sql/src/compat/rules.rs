//! The rules, in the order in which they are applied. Above each stands the expression that it is.
//!
//! Each is one pass: where an expression would look at the same bytes again and again, what it found is remembered.

use std::borrow::Cow;

use super::text::{
    byte, end_of, find_pair, has_word, is_boundary, is_space, is_word, replace_all, skip_spaces,
    tail,
};

type Query<'a> = Cow<'a, [u8]>;

/// Rules 1 to 4: statements whose fingerprint is not made of their text.
pub(super) fn special_case(query: &[u8]) -> Option<Vec<u8>> {
    // \ASELECT /\*!40001 SQL_NO_CACHE \*/ \* FROM `
    if query.starts_with(b"SELECT /*!40001 SQL_NO_CACHE */ * FROM `") {
        return Some(b"mysqldump".to_vec());
    }
    if has_mark_of_toolkit(query) {
        return Some(b"percona-toolkit".to_vec());
    }
    // \Aadministrator command:
    if query.starts_with(b"administrator command: ") {
        return Some(query.to_vec());
    }
    call(query)
}

/// `/\*\w+\.\w+:[0-9]/[0-9]\*/`, which pt-table-checksum writes into its statements.
fn has_mark_of_toolkit(query: &[u8]) -> bool {
    let is_mark = |start: usize| {
        let point = end_of(query, start, is_word);
        let colon = end_of(query, point + 1, is_word);
        point > start
            && byte(query, point) == b'.'
            && colon > point + 1
            && matches!(
                tail(query, colon),
                [b':', b'0'..=b'9', b'/', b'0'..=b'9', b'*', b'/', ..]
            )
    };
    let mut from = 0;
    while let Some(open) = find_pair(query, from, *b"/*") {
        if is_mark(open + 2) {
            return true;
        }
        from = open + 1;
    }
    false
}

/// `\A\s*(call\s+\S+)\(`: up to the last parenthesis before a blank.
fn call(query: &[u8]) -> Option<Vec<u8>> {
    let start = skip_spaces(query, 0);
    let after_call = start + 4;
    let name = skip_spaces(query, after_call);
    if !has_word(query, start, b"call") || name == after_call {
        return None;
    }
    let name_end = end_of(query, name, |byte| !is_space(byte));
    let rest = query.get(name + 1..name_end)?;
    let parenthesis = rest.iter().rposition(|&byte| byte == b'(')?;
    let call = query.get(start..name + 1 + parenthesis)?;
    Some(call.to_ascii_lowercase())
}

/// Rule 5: `\A((?:INSERT|REPLACE)(?: IGNORE)?\s+INTO.+?VALUES\s*\(.*?\))\s*,\s*\(`; what follows the first row is dropped.
pub(super) fn first_row(query: &[u8]) -> &[u8] {
    first_row_end(query)
        .and_then(|end| query.get(..end))
        .unwrap_or(query)
}

fn first_row_end(query: &[u8]) -> Option<usize> {
    let verb = [b"INSERT".as_slice(), b"REPLACE"]
        .into_iter()
        .find(|verb| has_word(query, 0, verb))?
        .len();
    let after_verb = if has_word(query, verb, b" IGNORE") {
        verb + b" IGNORE".len()
    } else {
        verb
    };
    let into = skip_spaces(query, after_verb);
    if into == after_verb || !has_word(query, into, b"INTO") {
        return None;
    }
    // If no parenthesis closes the row that the first VALUES opens, none does for a later VALUES.
    let row = (into + 5..query.len()).find_map(|at| {
        if !has_word(query, at, b"VALUES") {
            return None;
        }
        let open = skip_spaces(query, at + 6);
        (byte(query, open) == b'(').then_some(open + 1)
    })?;
    (row..query.len()).find_map(|at| {
        if byte(query, at) != b')' {
            return None;
        }
        let comma = skip_spaces(query, at + 1);
        let next_row = skip_spaces(query, comma + 1);
        (byte(query, comma) == b',' && byte(query, next_row) == b'(').then_some(at + 1)
    })
}

/// Rule 6: `s#/\*[^!].*?\*/##g`
pub(super) fn drop_block_comments(query: &mut Query<'_>) {
    let mut has_end = true;
    replace_all(
        query,
        |byte| byte == b'/',
        |text, at, _| {
            if !has_end || !tail(text, at).starts_with(b"/*") || matches!(byte(text, at + 2), b'!')
            {
                return None;
            }
            let end = find_pair(text, at + 3, *b"*/");
            has_end = end.is_some();
            end.map(|end| end + 2)
        },
    );
}

/// Rule 7: `s/(?:--|#)[^'"\r\n]*(?=[\r\n]|\Z)//g`
pub(super) fn drop_line_comments(query: &mut Query<'_>) {
    // Where the comment that starts last would end: all that start before end there too.
    let mut known_end = 0;
    replace_all(
        query,
        |byte| matches!(byte, b'-' | b'#'),
        |text, at, _| {
            let rest = tail(text, at);
            if !rest.starts_with(b"--") && !rest.starts_with(b"#") {
                return None;
            }
            if known_end <= at {
                known_end = end_of(text, at, |byte| {
                    !matches!(byte, b'\'' | b'"' | b'\r' | b'\n')
                });
            }
            let has_quote = matches!(byte(text, known_end), b'\'' | b'"');
            (!has_quote).then_some(known_end)
        },
    );
}

/// Rule 8: `s/\Ause \S+\Z/use ?/i`, which ends it.
pub(super) fn use_of_any_database(query: &[u8]) -> Option<Vec<u8>> {
    let end = end_of(query, 4, |byte| !is_space(byte));
    let rest = tail(query, end);
    let is_use = has_word(query, 0, b"use ") && end > 4 && matches!(rest, b"" | b"\n");
    is_use.then(|| [b"use ?", rest].concat())
}

/// Rule 9 before 3.4: `s/\\["']//g`, `s/".*?"/?/sg`, `s/'.*?'/?/sg`
pub(super) fn strings_before_3_4(query: &mut Query<'_>) {
    replace_all(
        query,
        |byte| byte == b'\\',
        |text, at, _| matches!(tail(text, at), [b'\\', b'"' | b'\'', ..]).then_some(at + 2),
    );
    for quote in *b"\"'" {
        replace_all(
            query,
            |byte| byte == quote,
            |text, at, output| {
                let end = end_of(text, at + 1, |byte| byte != quote);
                output.push(b'?');
                // The last quote has no partner; nothing follows it that could match.
                (end < text.len()).then_some(end + 1)
            },
        );
    }
}

/// Rule 9 since 3.4, seven expressions.
pub(super) fn strings(query: &mut Query<'_>) {
    if query.contains(&b'\\') {
        drop_backslashes(query);
    }
    // s/([^\\])(".*?[^\\]?")/$1?/sg and the same for '
    for quote in *b"\"'" {
        if !query.contains(&quote) {
            continue;
        }
        replace_all(
            query,
            |byte| byte != b'\\',
            |text, at, output| match tail(text, at) {
                [first, second, ..] if *first != b'\\' && *second == quote => {
                    output.extend_from_slice(&[*first, b'?']);
                    string_end(text, at + 2, quote)
                }
                _ => None,
            },
        );
    }
}

fn drop_backslashes(query: &mut Query<'_>) {
    // s/([^\\])(\\')/$1/sg and the same for "
    for quote in *b"'\"" {
        replace_all(
            query,
            |byte| byte != b'\\',
            |text, at, output| match tail(text, at) {
                [first, b'\\', last, ..] if *first != b'\\' && *last == quote => {
                    output.push(*first);
                    Some(at + 3)
                }
                _ => None,
            },
        );
    }
    // s/\\\\//sg; s/\\'//sg; s/\\"//sg
    for escaped in *b"\\'\"" {
        replace_all(
            query,
            |byte| byte == b'\\',
            |text, at, _| {
                tail(text, at)
                    .starts_with(&[b'\\', escaped])
                    .then_some(at + 2)
            },
        );
    }
}

/// The end of `.*?[^\\]?"`: at each place, first a byte that is no backslash with a quote behind it, then a quote.
fn string_end(text: &[u8], from: usize, quote: u8) -> Option<usize> {
    let at = end_of(text, from, |byte| byte != quote);
    if at >= text.len() {
        return None;
    }
    // The byte before the quote is the one that is no backslash, unless it is one or belongs to the start: then it is the
    // quote itself where another follows.
    let is_byte_before = at == from || byte(text, at - 1) == b'\\';
    let takes_two = is_byte_before && byte(text, at + 1) == quote;
    Some(at + 1 + usize::from(takes_two))
}

/// Rule 10: `s/\bfalse\b|\btrue\b/?/isg`
pub(super) fn truth_values(query: &mut Query<'_>) {
    replace_words(query, &[b"false", b"true"]);
}

/// Rule 11: `s/[0-9+-][0-9a-f.xb+-]*/?/g`
pub(super) fn numbers(query: &mut Query<'_>) {
    replace_all(
        query,
        |byte| matches!(byte, b'0'..=b'9' | b'+' | b'-'),
        |text, at, output| {
            output.push(b'?');
            Some(end_of(
                text,
                at + 1,
                |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'.' | b'x' | b'+' | b'-'),
            ))
        },
    );
}

/// Rule 12: `s/[xb.+-]\?/?/g`
pub(super) fn leftovers(query: &mut Query<'_>) {
    replace_all(
        query,
        |byte| matches!(byte, b'x' | b'b' | b'.' | b'+' | b'-'),
        |text, at, output| {
            output.push(b'?');
            matches!(tail(text, at), [b'x' | b'b' | b'.' | b'+' | b'-', b'?', ..]).then_some(at + 2)
        },
    );
}

/// Rule 13: `s/\A\s+//`, `chomp`, `tr[ \n\t\r\f][ ]s`, `lc`
pub(super) fn plain_blanks_lower_case(query: &[u8]) -> Query<'static> {
    let query = tail(query, skip_spaces(query, 0));
    let query = query.strip_suffix(b"\n").unwrap_or(query);
    let mut output = Vec::with_capacity(query.len());
    let mut after_blank = false;
    for &byte in query {
        let is_blank = is_space(byte) && byte != 0x0b;
        if !is_blank {
            output.push(byte.to_ascii_lowercase());
        } else if !after_blank {
            output.push(b' ');
        }
        after_blank = is_blank;
    }
    Cow::Owned(output)
}

/// Rule 14: `s/\bnull\b/?/g`
pub(super) fn nulls(query: &mut Query<'_>) {
    replace_words(query, &[b"null"]);
}

fn replace_words(query: &mut Query<'_>, words: &[&[u8]]) {
    let starts = |byte: u8| {
        let lower = byte.to_ascii_lowercase();
        words.iter().any(|word| word.first() == Some(&lower))
    };
    replace_all(query, starts, |text, at, output| {
        let word = words.iter().find(|word| has_word(text, at, word))?;
        let end = at + word.len();
        output.push(b'?');
        (is_boundary(text, at) && is_boundary(text, end)).then_some(end)
    });
}

/// Rule 15: `s{\b(in|values?)(?:[\s,]*\([\s?,]*\))+}{$1(?+)}g`
pub(super) fn lists(query: &mut Query<'_>) {
    replace_all(
        query,
        |byte| matches!(byte, b'i' | b'v'),
        |text, at, output| {
            let words = [b"in".as_slice(), b"values", b"value"];
            let word = words
                .into_iter()
                .find(|word| tail(text, at).starts_with(word))
                .filter(|_| is_boundary(text, at))?;
            let mut end = at + word.len();
            while let Some(group_end) = list_end(text, end) {
                end = group_end;
            }
            output.extend_from_slice(word);
            output.extend_from_slice(b"(?+)");
            (end > at + word.len()).then_some(end)
        },
    );
}

/// The end of `[\s,]*\([\s?,]*\)`.
fn list_end(text: &[u8], from: usize) -> Option<usize> {
    let open = end_of(text, from, |byte| is_space(byte) || byte == b',');
    if byte(text, open) != b'(' {
        return None;
    }
    let close = end_of(text, open + 1, |byte| {
        is_space(byte) || matches!(byte, b'?' | b',')
    });
    (byte(text, close) == b')').then_some(close + 1)
}

/// Rule 17: `s/\blimit \?(?:, ?\?| offset \?)?/limit ?/`, once.
pub(super) fn limit(query: &mut Query<'_>) {
    let mut is_done = false;
    replace_all(
        query,
        |byte| byte == b'l',
        |text, at, output| {
            let limit: &[u8] = b"limit ?";
            if is_done || !tail(text, at).starts_with(limit) || !is_boundary(text, at) {
                return None;
            }
            is_done = true;
            output.extend_from_slice(limit);
            let end = at + limit.len();
            let more = [b", ?".as_slice(), b",?", b" offset ?"];
            let more = more
                .into_iter()
                .find(|more| tail(text, end).starts_with(more));
            Some(end + more.map_or(0, <[u8]>::len))
        },
    );
}

/// Rule 18: after the first `\bORDER BY `, `s/\G(.+?)\s+ASC/$1/g`. No word ends behind `ASC`: `ascii` loses its start.
pub(super) fn ascending(query: &mut Query<'_>) {
    let order: &[u8] = b"order by ";
    let start =
        (0..query.len()).find(|&at| tail(query, at).starts_with(order) && is_boundary(query, at));
    let Some(start) = start else {
        return;
    };
    // Each match has a byte before the blanks.
    let mut first = start + order.len() + 1;
    // No match starts in these blanks: what follows them is known.
    let mut known = 0;
    replace_all(query, is_space, |text, at, _| {
        if at < first || at < known {
            return None;
        }
        let end = skip_spaces(text, at);
        if !tail(text, end).starts_with(b"asc") {
            known = end;
            return None;
        }
        first = end + 3 + 1;
        Some(end + 3)
    });
}
