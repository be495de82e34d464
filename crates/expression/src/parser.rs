//! Reads expressions and conditions.

use crate::aggregate::LAST;
use crate::{AGGREGATES, Comparison, Condition, Expression, ExpressionError, Of, Operator};

/// Longest expression, in bytes.
const TEXT_BYTES_MAX: usize = 1_000;

/// Deepest nesting of parentheses and signs.
const DEPTH_MAX: usize = 32;

/// What was read, or why it cannot be.
pub type Parsed<T> = Result<T, ExpressionError>;

impl Expression {
    /// Reads an expression.
    pub fn parse(text: &str) -> Parsed<Self> {
        let mut parser = Parser::new(text, TEXT_BYTES_MAX)?;
        let expression = parser.expression()?;
        parser.end("an operator or the end expected")?;
        Ok(expression)
    }
}

impl Condition {
    /// Reads a condition: an expression, one of `>= <= > <`, an expression.
    pub fn parse(text: &str) -> Parsed<Self> {
        let mut parser = Parser::new(text, TEXT_BYTES_MAX)?;
        let condition = parser.condition()?;
        parser.end("an operator or the end expected")?;
        Ok(condition)
    }
}

/// A text and how far it is read. What reads more than expressions begins with one of these.
#[derive(Debug)]
pub struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    bare: bool,
}

impl<'a> Parser<'a> {
    /// At the begin of a text, which has a longest length in bytes.
    pub fn new(text: &'a str, bytes_max: usize) -> Parsed<Self> {
        let parser = Self {
            text,
            rest: text,
            bare: false,
        };
        if text.len() > bytes_max {
            return Err(parser.error(format!("longer than {bytes_max} bytes")));
        }
        Ok(parser)
    }

    /// A name alone is the latest reading of its signal, as triggers have it.
    #[must_use]
    pub fn with_bare_names(self) -> Self {
        Self { bare: true, ..self }
    }

    /// An expression.
    pub fn expression(&mut self) -> Parsed<Expression> {
        self.sum(0)
    }

    /// A condition: an expression, one of `>= <= > <`, an expression.
    pub fn condition(&mut self) -> Parsed<Condition> {
        let before = self.rest;
        let left = self.sum(0)?;
        let comparison = self.comparison()?;
        let right = self.sum(0)?;
        let read = before.len() - self.rest.len();
        Ok(Condition {
            text: before.get(..read).unwrap_or(before).trim().to_owned(),
            left,
            comparison,
            right,
        })
    }

    /// What is not read yet.
    pub fn rest(&self) -> &'a str {
        self.rest
    }

    /// A mistake where it is now.
    pub fn error(&self, problem: impl Into<String>) -> ExpressionError {
        ExpressionError {
            column: self.column(),
            argument: None,
            problem: problem.into(),
            unknown: None,
        }
    }

    /// The column that it is at, in characters, from 1.
    pub fn column(&self) -> usize {
        let read = self.text.len() - self.rest.len();
        self.text.get(..read).map_or(0, |head| head.chars().count()) + 1
    }

    /// Reads blanks.
    pub fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Reads this token, and blanks before it, where it is the next one.
    pub fn take(&mut self, token: &str) -> bool {
        self.blanks();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Reads this token, which must come.
    pub fn expect(&mut self, token: &str, place: &str) -> Parsed<()> {
        if self.take(token) {
            Ok(())
        } else {
            Err(self.error(format!("'{token}' expected {place}")))
        }
    }

    /// Nothing may follow.
    pub fn end(&mut self, problem: &str) -> Parsed<()> {
        self.blanks();
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.error(problem))
        }
    }

    /// The characters at the front that `wanted` accepts.
    pub fn run(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let end = self
            .rest
            .find(|c: char| !wanted(c))
            .unwrap_or(self.rest.len());
        let (head, rest) = self.rest.split_at(end);
        self.rest = rest;
        head
    }

    fn sum(&mut self, depth: usize) -> Parsed<Expression> {
        let mut left = self.product(depth)?;
        loop {
            let operator = if self.take("+") {
                Operator::Add
            } else if self.take("-") {
                Operator::Subtract
            } else {
                return Ok(left);
            };
            let right = self.product(depth)?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
    }

    fn product(&mut self, depth: usize) -> Parsed<Expression> {
        let mut left = self.factor(depth)?;
        loop {
            let operator = if self.take("*") {
                Operator::Multiply
            } else if self.take("/") {
                Operator::Divide
            } else {
                return Ok(left);
            };
            let right = self.factor(depth)?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
    }

    fn factor(&mut self, depth: usize) -> Parsed<Expression> {
        if depth > DEPTH_MAX {
            return Err(self.error(format!("nested deeper than {DEPTH_MAX}")));
        }
        if self.take("(") {
            let inner = self.sum(depth + 1)?;
            self.expect(")", "after the expression in parentheses")?;
            return Ok(inner);
        }
        if self.take("-") {
            let inner = self.factor(depth + 1)?;
            return Ok(Expression::Binary(
                Operator::Subtract,
                Box::new(Expression::Number(0.0)),
                Box::new(inner),
            ));
        }
        self.blanks();
        match self.rest.chars().next() {
            Some(c) if c.is_ascii_digit() || c == '.' => self.number().map(Expression::Number),
            Some(c) if c.is_ascii_alphabetic() => self.call(depth),
            Some('\'') if self.bare => self.name().map(latest),
            Some(c) => {
                Err(self.error(format!("a number, a function or '(' expected, found '{c}'")))
            }
            None => Err(self.error("a number, a function or '(' expected, found the end")),
        }
    }

    /// A number: `5`, `0.25`, `1e6`.
    pub fn number(&mut self) -> Parsed<f64> {
        let before = self.rest;
        let mut end = digits(before, 0);
        if before.get(end..).is_some_and(|rest| rest.starts_with('.')) {
            end = digits(before, end + 1);
        }
        if before
            .get(end..)
            .is_some_and(|rest| rest.starts_with(['e', 'E']))
        {
            let sign = usize::from(
                before
                    .get(end + 1..)
                    .is_some_and(|rest| rest.starts_with(['+', '-'])),
            );
            end = digits(before, end + 1 + sign);
        }
        let (head, rest) = before.split_at(end);
        match head.parse::<f64>() {
            Ok(number) if number.is_finite() => {
                self.rest = rest;
                Ok(number)
            }
            _ => Err(self.error(format!("'{head}' is not a number"))),
        }
    }

    fn call(&mut self, depth: usize) -> Parsed<Expression> {
        let start = self.rest;
        if self.bare
            && let Some(name) = self.bare_name()
        {
            return Ok(latest(name));
        }
        let name = self.run(is_of_word);
        if name == "largest" {
            return self.largest(depth);
        }
        let function = AGGREGATES.iter().find(|known| known.name == name);
        if function.is_none() && name != "fact" {
            self.rest = start;
            let known: Vec<&str> = AGGREGATES.iter().map(|known| known.name).collect();
            let known = known.join(", ");
            let problem =
                format!("'{name}' is not a function; there are {known}, largest and fact");
            return Err(ExpressionError {
                unknown: Some(name.to_owned()),
                ..self.error(problem)
            });
        }
        self.expect("(", &format!("after {name}"))?;
        let pattern = self.name()?;
        let expression = match function {
            None => Expression::Fact {
                name: pattern,
                word: match self.take(",") {
                    true => Some(self.name()?),
                    false => None,
                },
            },
            Some(function) => Expression::Signal {
                function,
                value: match function.of {
                    Of::ReadingsAndValue(_) => {
                        self.expect(",", "and a value after the signal")?;
                        self.blanks();
                        Some(self.number()?)
                    }
                    _ => None,
                },
                pattern,
            },
        };
        self.expect(")", &format!("to close {name}"))?;
        Ok(expression)
    }

    /// A name that no `(` follows. A sign between letters or digits belongs to it, except `*` and `/`: a difference has
    /// blanks around its `-`.
    fn bare_name(&mut self) -> Option<String> {
        let mut end = 0;
        for (at, c) in self.rest.char_indices() {
            let inner = "-@#:".contains(c)
                && self
                    .rest
                    .get(at + 1..)
                    .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()));
            if !(is_of_word(c) || c == '.' || inner) {
                break;
            }
            end = at + c.len_utf8();
        }
        let (name, rest) = self.rest.split_at_checked(end)?;
        if name.is_empty() || rest.trim_start().starts_with('(') {
            return None;
        }
        self.rest = rest;
        Some(name.to_owned())
    }

    /// What is behind `largest`: two expressions.
    fn largest(&mut self, depth: usize) -> Parsed<Expression> {
        self.expect("(", "after largest")?;
        let left = self.sum(depth + 1)?;
        self.expect(",", "and another expression in largest")?;
        let right = self.sum(depth + 1)?;
        self.expect(")", "to close largest")?;
        Ok(Expression::Binary(
            Operator::Largest,
            Box::new(left),
            Box::new(right),
        ))
    }

    /// The name of a signal or fact, bare or in single quotes.
    fn name(&mut self) -> Parsed<String> {
        self.blanks();
        let name = match self.rest.starts_with('\'') {
            true => self.quoted()?,
            false => {
                let is_in_name = |c: char| c.is_ascii_alphanumeric() || "._-*/@#:".contains(c);
                self.run(is_in_name).to_owned()
            }
        };
        if name.is_empty() {
            return Err(self.error("the name of a signal expected"));
        }
        Ok(name)
    }

    /// A text in single quotes; a quote within it is written twice.
    pub fn quoted(&mut self) -> Parsed<String> {
        let mut text = String::new();
        let mut rest = self.rest.strip_prefix('\'').unwrap_or(self.rest);
        loop {
            let Some((head, tail)) = rest.split_once('\'') else {
                return Err(self.error("the quote is not closed"));
            };
            text.push_str(head);
            match tail.strip_prefix('\'') {
                Some(more) => {
                    text.push('\'');
                    rest = more;
                }
                None => {
                    self.rest = tail;
                    return Ok(text);
                }
            }
        }
    }

    fn comparison(&mut self) -> Parsed<Comparison> {
        for (token, comparison) in [
            (">=", Comparison::AtLeast),
            ("<=", Comparison::AtMost),
            (">", Comparison::Above),
            ("<", Comparison::Below),
        ] {
            if self.take(token) {
                return Ok(comparison);
            }
        }
        Err(self.error("one of >= <= > < expected"))
    }
}

/// Whether a character is of a word: letters, digits and `_`.
pub fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn latest(pattern: String) -> Expression {
    Expression::Signal {
        function: &LAST,
        value: None,
        pattern,
    }
}

/// The end of the digits that begin at `from`; all are ASCII, so it is a boundary of characters.
fn digits(text: &str, from: usize) -> usize {
    let count = text.get(from..).map_or(0, |rest| {
        rest.bytes().take_while(u8::is_ascii_digit).count()
    });
    (from + count).min(text.len())
}

#[cfg(test)]
mod tests;
