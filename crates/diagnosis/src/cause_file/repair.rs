//! From TOML to the keys of a cause file, past mistakes: what is wrong is told and taken out, or
//! filled in, so that what stands behind it can be looked at too.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue, Deserializer};

use super::raw::RawCause;
use super::{Reader, is_key, old_form};

/// Mistakes of form that are told of one file, at the most.
const MISTAKES_MAX: usize = 100;

/// What takes the place of something that is missing, so that the rest can be read. Nobody sees it:
/// the file is refused.
const FILLING: &str = r#"
id = "x"
title = "x"
what = "x"
refuted_by = ["x"]
sources = ["x"]
now = ["x"]
durable = ["x"]
undo = ["x"]
risk = "x"
verify = ["x"]
says = "x"
cause = "x"
difference = "x"
witness = []
[remedy]
"#;

/// The keys of a file, or nothing; mistakes are noted.
pub(super) fn read(reader: &Reader) -> Option<RawCause> {
    let (mut table, errors) = DeTable::parse_recoverable(reader.text);
    let mut lines = Vec::new();
    for error in errors.iter().take(MISTAKES_MAX) {
        let at = error.span().map_or(0, |span| span.start);
        // What follows in a broken line is mostly the same mistake.
        let line = reader.line(at);
        if !lines.contains(&line) {
            lines.push(line);
            reader.note(reader.error(at, None, error.message()));
        }
    }
    if !lines.is_empty() {
        return None;
    }
    old_form::translate(reader, table.get_mut());
    let mut taken_out: Vec<String> = Vec::new();
    for _ in 0..MISTAKES_MAX {
        let error = match RawCause::deserialize(Deserializer::from(table.clone())) {
            Ok(raw) => return Some(raw),
            Err(error) => error,
        };
        let span = error.span().unwrap_or(0..0);
        let message = error.message();
        if let Some(missing) = missing_field(message) {
            let was_taken_out = taken_out.iter().position(|key| key == missing);
            match was_taken_out {
                Some(index) => {
                    taken_out.swap_remove(index);
                }
                None => reader.note(reader.error(span.start, Some(missing), message)),
            }
            if !fill(&mut table, &span, missing)
                && !take_out(table.get_mut(), span.start, &mut taken_out)
            {
                return None;
            }
        } else {
            let done = take_out(table.get_mut(), span.start, &mut taken_out);
            let there = reader.text.get(span.clone()).filter(|key| is_key(key));
            let around = taken_out.last().filter(|_| done).map(String::as_str);
            let key = match message.starts_with("unknown field") {
                true => there,
                false => around.or(there),
            };
            reader.note(reader.error(span.start, key, message));
            if !done {
                return None;
            }
            reader.taken_out.replace(taken_out.clone());
        }
    }
    None
}

/// ``missing field `id` ``
fn missing_field(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.strip_suffix('`')
}

/// Puts something in the place of a missing key; `span` is where its table stands.
fn fill(table: &mut Spanned<DeTable>, span: &Range<usize>, key: &str) -> bool {
    let Ok(filling) = DeTable::parse(FILLING) else {
        return false;
    };
    let filling = filling.into_inner();
    let Some((key, value)) = filling.get_key_value(key) else {
        return false;
    };
    let Some(inner) = inner_table(table.get_mut(), span) else {
        // The file itself.
        table.get_mut().insert(key.clone(), value.clone());
        return true;
    };
    inner.insert(key.clone(), value.clone()).is_none()
}

/// The table that stands exactly there.
fn inner_table<'t, 'i>(
    table: &'t mut DeTable<'i>,
    span: &Range<usize>,
) -> Option<&'t mut DeTable<'i>> {
    for (_, value) in table.iter_mut() {
        let is_it = value.span() == *span;
        match value.get_mut() {
            DeValue::Table(inner) if is_it => return Some(inner),
            DeValue::Array(list) => {
                for one in list.iter_mut() {
                    let is_it = one.span() == *span;
                    if let DeValue::Table(inner) = one.get_mut()
                        && is_it
                    {
                        return Some(inner);
                    }
                }
            }
            _ => {}
        }
    }
    None
}

/// Takes the smallest thing out that stands there: a key with its value, or an entry of a list.
fn take_out(table: &mut DeTable, at: usize, keys: &mut Vec<String>) -> bool {
    let mut found = None;
    for (key, value) in table.iter_mut() {
        let stands_there =
            |span: Range<usize>| span.start <= at && at < span.end.max(span.start + 1);
        if stands_there(key.span()) {
            found = Some(key.clone());
            break;
        }
        let is_here = stands_there(value.span());
        let done = match value.get_mut() {
            DeValue::Table(inner) => take_out(inner, at, keys),
            DeValue::Array(list) => {
                let mut done = false;
                for one in list.iter_mut() {
                    if let DeValue::Table(inner) = one.get_mut() {
                        done = done || take_out(inner, at, keys);
                    }
                }
                done || {
                    let index = list.iter().position(|one| {
                        matches!(one.get_ref(), DeValue::Table(_)) && stands_there(one.span())
                    });
                    index.is_some_and(|index| {
                        let kept = list.iter().enumerate().filter(|(at, _)| *at != index);
                        let mut rest = DeArray::new();
                        kept.for_each(|(_, one)| rest.push(one.clone()));
                        *list = rest;
                        true
                    })
                }
            }
            _ => false,
        };
        if done {
            return true;
        }
        if is_here {
            found = Some(key.clone());
            break;
        }
    }
    found.is_some_and(|key| {
        keys.push(key.get_ref().to_string());
        table.remove(&key).is_some()
    })
}
