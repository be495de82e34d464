//! Reads a call of a function: `threads(stack = ['a', 'b'], direct)`.

use expression::{Parsed, Parser, is_of_word};

use super::{Argument, Arguments, Value, find};
use crate::measure::Call;
use crate::names::Compiled;

/// Longest call with its patterns, in bytes.
const CALL_BYTES_MAX: usize = 8_000;

/// Texts in a list, at the most.
const LIST_MAX: usize = 64;

impl Call {
    /// Reads a call of a function, which is all of the text; nothing where it does not begin with one.
    pub(crate) fn parse(text: &str, compiled: Compiled) -> Parsed<Option<Self>> {
        let mut parser = Parser::new(text, CALL_BYTES_MAX)?;
        parser.blanks();
        let name = parser.run(is_of_word);
        let Some((kind, known)) = find(name) else {
            return Ok(None);
        };
        let mut arguments = arguments_of(&mut parser, name, compiled)?;
        parser.end(&format!("{name} stands alone: the end expected"))?;
        let function = (known.read)(&mut arguments)?;
        arguments.end(name)?;
        Ok(Some(Self {
            kind,
            unit: known.unit,
            function,
        }))
    }
}

/// The arguments of a function, in parentheses.
fn arguments_of(parser: &mut Parser<'_>, function: &str, compiled: Compiled) -> Parsed<Arguments> {
    let mut arguments = Arguments::at(parser.column(), compiled);
    parser.expect("(", &format!("after {function}"))?;
    while !parser.take(")") {
        parser.blanks();
        let name = parser.run(is_of_word).to_owned();
        if name.is_empty() {
            return Err(parser.error(format!("an argument or ')' of {function} expected")));
        }
        let has_value = parser.take("=");
        parser.blanks();
        let column = parser.column();
        let value = match has_value {
            true => value(parser)?,
            false => Value::Flag,
        };
        if !parser.take(",") && !parser.rest().starts_with(')') {
            return Err(parser.error(format!("')' expected or ',' after {name}")));
        }
        arguments.given.push(Argument {
            name,
            column,
            value,
        });
    }
    Ok(arguments)
}

/// What an argument is: `'a text'`, `a_word`, `5`, `['a', 'list']`.
fn value(parser: &mut Parser<'_>) -> Parsed<Value> {
    match parser.rest().chars().next() {
        Some('\'') => parser.quoted().map(Value::Text),
        Some('[') => list(parser).map(Value::List),
        Some(c) if c.is_ascii_digit() || c == '.' => parser.number().map(Value::Number),
        Some(c) if c.is_ascii_alphabetic() => Ok(Value::Text(parser.run(is_of_word).to_owned())),
        Some('-') if parser.take("-") => parser.number().map(|number| Value::Number(-number)),
        _ => Err(parser.error("a text in single quotes, a word, a number or a list expected")),
    }
}

/// Texts in square brackets.
fn list(parser: &mut Parser<'_>) -> Parsed<Vec<String>> {
    let mut texts = Vec::new();
    parser.take("[");
    while !parser.take("]") {
        parser.blanks();
        if !parser.rest().starts_with('\'') || texts.len() >= LIST_MAX {
            return Err(parser.error("a text in single quotes or ']' expected"));
        }
        texts.push(parser.quoted()?);
        if !parser.take(",") {
            parser.expect("]", "or ',' in the list")?;
            break;
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn never_panics_on_any_text(text in ".{0,120}") {
            let _ = Call::parse(&format!("threads({text}"), Compiled::Now);
        }

        #[test]
        fn never_panics_on_calls(text in "(sessions|threads|log_largest)\\((state|stack|line|direct)? ?=? ?('[a(]{0,2}'{0,3}|[\\[\\],5.-]{0,6}|\u{e9}|kernel){0,4}[,)]{0,2}") {
            if let Err(error) = Call::parse(&text, Compiled::Now) {
                prop_assert!(error.column >= 1 && error.column <= text.chars().count() + 1);
            }
        }
    }
}
