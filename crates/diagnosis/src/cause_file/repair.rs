//! From TOML to the keys of a cause file, past mistakes: what is wrong is told and taken out, so that what stands behind it
//! can be looked at too.

use std::ops::Range;

use serde::Deserialize;
use toml::de::{DeTable, DeValue, Deserializer};

use super::raw::RawCause;
use super::{Reader, is_key};

/// Mistakes of form that are told of one file, at the most.
const MISTAKES_MAX: usize = 100;

/// What is said of a sign's kind, which is no longer read.
const OLD_FORM: &str =
    "is of the form before 0.2: write a function in measure (docs/reference/causes.md)";

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
    let of = |list: &str| table.get_ref().get(list)?.get_ref().as_array();
    let mut signs = of("witness").into_iter().chain(of("against")).flatten();
    if let Some(kind) = signs.find_map(|sign| sign.get_ref().get("kind")) {
        reader.note(reader.error(kind.span().start, Some("kind"), OLD_FORM));
        return None;
    }
    for _ in 0..MISTAKES_MAX {
        let error = match RawCause::deserialize(Deserializer::from(table.clone())) {
            Ok(raw) => return Some(raw),
            Err(error) => error,
        };
        let span = error.span().unwrap_or(0..0);
        let message = error.message();
        let there = reader.text.get(span.clone()).filter(|key| is_key(key));
        let around = take_out(table.get_mut(), span.start);
        let is_unknown = message.starts_with("unknown field");
        let key = match is_unknown {
            true => there,
            false => around.as_deref().or(there),
        };
        reader.note(reader.error(span.start, key, message));
        let taken_out = around?;
        if !is_unknown {
            reader.taken_out.borrow_mut().push(taken_out);
        }
    }
    None
}

/// Takes the smallest key out that stands there with its value.
fn take_out(table: &mut DeTable, at: usize) -> Option<String> {
    let stands_there = |span: Range<usize>| span.start <= at && at < span.end.max(span.start + 1);
    let mut found = None;
    for (key, value) in table.iter_mut() {
        if stands_there(key.span()) {
            found = Some(key.clone());
            break;
        }
        let is_here = stands_there(value.span());
        let inner = match value.get_mut() {
            DeValue::Table(inner) => take_out(inner, at),
            DeValue::Array(list) => list.iter_mut().find_map(|one| match one.get_mut() {
                DeValue::Table(inner) => take_out(inner, at),
                _ => None,
            }),
            _ => None,
        };
        if inner.is_some() {
            return inner;
        }
        if is_here {
            found = Some(key.clone());
            break;
        }
    }
    let key = found?;
    table.remove(&key)?;
    Some(key.get_ref().to_string())
}
