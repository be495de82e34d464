//! The language in which signs of causes and triggers of users say what to measure:
//! `rate(status.Com_show_warnings) / rate(status.Questions)`.
//!
//! It is read here and computed where the values are: over the windows of an incident by the
//! diagnosis, from one sample to the next by the detector.

mod aggregate;
mod parser;

use std::borrow::Cow;

pub use aggregate::{AGGREGATES, Aggregate, Of};
pub use parser::{Parsed, Parser, is_of_word};

/// What to compute from signals and facts.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A number as it is written.
    Number(f64),
    /// A fact read as a number, or whether it holds a word.
    Fact {
        /// Name of the fact: `variables.max_connections`.
        name: String,
        /// 1 where the fact has this word among those that commas or blanks part, else 0.
        word: Option<String>,
    },
    /// A function of one signal, or of all signals that match a pattern.
    Signal {
        /// How its values become a number.
        function: &'static Aggregate,
        /// What stands behind the signal, for functions that take a value.
        value: Option<f64>,
        /// Name of a signal, or a pattern with `*`.
        pattern: String,
    },
    /// Two expressions with an operator between them.
    Binary(Operator, Box<Expression>, Box<Expression>),
}

/// What stands between two expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`; a division by zero has no value.
    Divide,
    /// The larger one, or the one that is there.
    Largest,
}

impl Operator {
    /// What it makes of two numbers; not finite where there is no such number.
    pub fn apply(self, left: f64, right: f64) -> f64 {
        match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide => left / right,
            Self::Largest => left.max(right),
        }
    }
}

/// Two expressions compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// As it stands in the file.
    pub text: String,
    /// What stands before the comparison.
    pub left: Expression,
    /// How the two are compared.
    pub comparison: Comparison,
    /// What stands behind it.
    pub right: Expression,
}

/// How two numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>=`
    AtLeast,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `<`
    Below,
}

impl Comparison {
    /// Whether it is true of these two; nothing is true of NaN.
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::AtLeast => left >= right,
            Self::AtMost => left <= right,
            Self::Above => left > right,
            Self::Below => left < right,
        }
    }
}

/// Why an expression cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {}{problem}", argument.as_ref().map_or(String::new(), |name| format!("{name}: ")))]
pub struct ExpressionError {
    /// Column in the expression's text, in characters, from 1.
    pub column: usize,
    /// The argument at fault, where it is one of a function's.
    pub argument: Option<String>,
    /// What is wrong.
    pub problem: String,
    /// The name that is no function here: whoever knows more functions can say more.
    pub unknown: Option<String>,
}

impl Expression {
    /// The signals in it, in the order in which they stand there, each once.
    pub fn patterns(&self) -> Vec<&str> {
        let mut found = Vec::new();
        self.visit(&mut |pattern| {
            if !found.contains(&pattern) {
                found.push(pattern);
            }
        });
        found
    }

    /// The first fact in it.
    pub fn first_fact(&self) -> Option<&str> {
        match self {
            Self::Number(_) | Self::Signal { .. } => None,
            Self::Fact { name, .. } => Some(name),
            Self::Binary(_, left, right) => left.first_fact().or_else(|| right.first_fact()),
        }
    }

    fn visit<'a>(&'a self, see: &mut impl FnMut(&'a str)) {
        match self {
            Self::Number(_) | Self::Fact { .. } => {}
            Self::Signal { pattern, .. } => see(pattern),
            Self::Binary(_, left, right) => {
                left.visit(see);
                right.visit(see);
            }
        }
    }

    /// The same with a thing in place of the first `*` of every signal.
    pub fn bound(&self, thing: Option<&str>) -> Cow<'_, Self> {
        thing.map_or(Cow::Borrowed(self), |with| Cow::Owned(self.with(with)))
    }

    fn with(&self, thing: &str) -> Self {
        match self {
            Self::Number(_) | Self::Fact { .. } => self.clone(),
            Self::Signal {
                function,
                value,
                pattern,
            } => Self::Signal {
                function,
                value: *value,
                pattern: pattern.replacen('*', thing, 1),
            },
            Self::Binary(operator, left, right) => Self::Binary(
                *operator,
                Box::new(left.with(thing)),
                Box::new(right.with(thing)),
            ),
        }
    }
}

impl Condition {
    /// The same conditions with a thing in place of the first `*` of every signal.
    pub fn bound<'c>(conditions: &'c [Self], thing: Option<&str>) -> Cow<'c, [Self]> {
        let Some(thing) = thing else {
            return Cow::Borrowed(conditions);
        };
        let bound = conditions.iter().map(|condition| Self {
            text: condition.text.clone(),
            left: condition.left.with(thing),
            comparison: condition.comparison,
            right: condition.right.with(thing),
        });
        Cow::Owned(bound.collect())
    }
}
