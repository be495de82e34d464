//! Reads a call of a function: `threads(stack = ['a', 'b'], direct)`.

use super::{Parsed, Parser, is_of_word};
use crate::functions::{self, Argument, Arguments, Call, Value};

/// Longest call with its patterns, in bytes.
const CALL_BYTES_MAX: usize = 8_000;

/// Texts in a list, at the most.
const LIST_MAX: usize = 64;

impl Call {
    /// Reads a call of a function, which is all of the text; nothing where it does not begin with one.
    pub(crate) fn parse(text: &str) -> Parsed<Option<Self>> {
        let mut parser = Parser::new(text, CALL_BYTES_MAX)?;
        parser.blanks();
        let name = parser.run(is_of_word);
        let Some((kind, known)) = functions::find(name) else {
            return Ok(None);
        };
        let mut arguments = parser.arguments(name)?;
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

impl Parser<'_> {
    /// The arguments of a function, in parentheses.
    fn arguments(&mut self, function: &str) -> Parsed<Arguments> {
        let mut arguments = Arguments::at(self.column());
        self.expect("(", &format!("after {function}"))?;
        while !self.take(")") {
            self.blanks();
            let name = self.run(is_of_word).to_owned();
            if name.is_empty() {
                return Err(self.error(format!("an argument or ')' of {function} expected")));
            }
            let has_value = self.take("=");
            self.blanks();
            let column = self.column();
            let value = match has_value {
                true => self.value()?,
                false => Value::Flag,
            };
            if !self.take(",") && !self.rest.starts_with(')') {
                return Err(self.error(format!("')' expected or ',' after {name}")));
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
    fn value(&mut self) -> Parsed<Value> {
        match self.rest.chars().next() {
            Some('\'') => self.quoted().map(Value::Text),
            Some('[') => self.list().map(Value::List),
            Some(c) if c.is_ascii_digit() || c == '.' => self.number().map(Value::Number),
            Some(c) if c.is_ascii_alphabetic() => Ok(Value::Text(self.run(is_of_word).to_owned())),
            Some('-') if self.take("-") => self.number().map(|number| Value::Number(-number)),
            _ => Err(self.error("a text in single quotes, a word, a number or a list expected")),
        }
    }

    /// Texts in square brackets.
    fn list(&mut self) -> Parsed<Vec<String>> {
        let mut texts = Vec::new();
        self.take("[");
        while !self.take("]") {
            self.blanks();
            if !self.rest.starts_with('\'') || texts.len() >= LIST_MAX {
                return Err(self.error("a text in single quotes or ']' expected"));
            }
            texts.push(self.quoted()?);
            if !self.take(",") {
                self.expect("]", "or ',' in the list")?;
                break;
            }
        }
        Ok(texts)
    }
}
