//! The little language in which a cause says what to measure:
//! `rate(status.Com_show_warnings) / rate(status.Questions)`.

mod parser;

/// What to compute from signals and facts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expression {
    Number(f64),
    /// A fact read as a number, or whether it holds a word.
    Fact {
        name: String,
        word: Option<String>,
    },
    /// A function of one signal, or of all signals that match a pattern.
    Signal {
        function: Aggregate,
        pattern: String,
    },
    Binary(Operator, Box<Expression>, Box<Expression>),
}

/// How the values of a window become one number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Aggregate {
    Rate,
    Delta,
    Mean,
    Max,
    Min,
    Last,
    /// The value that 95 % of the readings do not exceed.
    P95,
    /// Share of the readings with exactly this value, for codes.
    Share(f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// The larger one, or the one that is there.
    Largest,
}

/// Two expressions compared.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    /// As it stands in the file.
    pub(crate) text: String,
    pub(crate) left: Expression,
    pub(crate) comparison: Comparison,
    pub(crate) right: Expression,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    AtLeast,
    AtMost,
    Above,
    Below,
}

/// Why an expression cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {}{problem}", argument.as_ref().map_or(String::new(), |name| format!("{name}: ")))]
pub(crate) struct ExpressionError {
    /// Column in the expression's text, in characters, from 1.
    pub(crate) column: usize,
    /// The argument at fault, where it is one of a function's.
    pub(crate) argument: Option<String>,
    pub(crate) problem: String,
}

impl Expression {
    /// The signals in it, in the order in which they stand there, each once.
    pub(crate) fn patterns(&self) -> Vec<&str> {
        let mut found = Vec::new();
        self.visit(&mut |pattern| {
            if !found.contains(&pattern) {
                found.push(pattern);
            }
        });
        found
    }

    /// The first fact in it.
    pub(crate) fn first_fact(&self) -> Option<&str> {
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
    pub(crate) fn bound(&self, thing: Option<&str>) -> Self {
        let Some(with) = thing else {
            return self.clone();
        };
        match self {
            Self::Number(_) | Self::Fact { .. } => self.clone(),
            Self::Signal { function, pattern } => Self::Signal {
                function: *function,
                pattern: pattern.replacen('*', with, 1),
            },
            Self::Binary(operator, left, right) => Self::Binary(
                *operator,
                Box::new(left.bound(thing)),
                Box::new(right.bound(thing)),
            ),
        }
    }
}

impl Condition {
    /// The same with a thing in place of the first `*` of every signal.
    pub(crate) fn bound(&self, thing: Option<&str>) -> Self {
        Self {
            text: self.text.clone(),
            left: self.left.bound(thing),
            comparison: self.comparison,
            right: self.right.bound(thing),
        }
    }
}
