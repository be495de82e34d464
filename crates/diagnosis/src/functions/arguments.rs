//! The arguments of a function, by their names.

use crate::names::{Compiled, NamePattern};
use expression::ExpressionError;

/// Patterns in a list, at the most.
const PATTERNS_MAX: usize = 16;

/// What an argument is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Number(f64),
    List(Vec<String>),
    /// The name stands alone.
    Flag,
}

/// Arguments as they were written. What nobody asked for is a mistake.
#[derive(Debug)]
pub(crate) struct Arguments {
    /// Where they begin, as a column of the expression.
    pub(crate) column: usize,
    pub(crate) given: Vec<Argument>,
    asked: Vec<&'static str>,
    compiled: Compiled,
}

#[derive(Debug)]
pub(crate) struct Argument {
    pub(crate) name: String,
    /// Of its value.
    pub(crate) column: usize,
    pub(crate) value: Value,
}

pub(crate) type Read<T> = Result<T, ExpressionError>;

impl Arguments {
    pub(crate) fn at(column: usize, compiled: Compiled) -> Self {
        Self {
            column,
            given: Vec::new(),
            asked: Vec::new(),
            compiled,
        }
    }

    /// Something is missing.
    pub(crate) fn lack<T>(&self, problem: impl Into<String>) -> Read<T> {
        Err(ExpressionError {
            column: self.column,
            argument: None,
            problem: problem.into(),
            unknown: None,
        })
    }

    /// An argument is not what it should be.
    pub(crate) fn refuse<T>(&self, name: &str, problem: impl Into<String>) -> Read<T> {
        // Of two with the same name the later one is too many.
        let argument = self.given.iter().rfind(|one| one.name == name);
        Err(ExpressionError {
            column: argument.map_or(self.column, |one| one.column),
            argument: Some(name.to_owned()),
            problem: problem.into(),
            unknown: None,
        })
    }

    /// Nothing was given that nobody asked for, and nothing twice.
    pub(crate) fn end(&self, function: &str) -> Read<()> {
        for (at, one) in self.given.iter().enumerate() {
            let name = one.name.as_str();
            let mut before = self.given.iter().take(at);
            if before.any(|other| other.name == name) {
                return self.refuse(name, "is there twice");
            }
            if !self.asked.contains(&name) {
                let known = self.asked.join(", ");
                let problem = format!("is no argument of {function}; there are {known}");
                return self.refuse(name, problem);
            }
        }
        Ok(())
    }

    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.asked.push(name);
        let argument = self.given.iter().find(|one| one.name == name);
        argument.map(|one| one.value.clone())
    }

    /// A text, which is not empty.
    pub(crate) fn text(&mut self, name: &'static str) -> Read<Option<String>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Text(text)) if !text.trim().is_empty() => Ok(Some(text)),
            Some(Value::Text(_)) => self.refuse(name, "must not be empty"),
            Some(_) => self.refuse(name, "must be a text: write name = '…'"),
        }
    }

    /// One of some words.
    pub(crate) fn word<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&str, T)],
    ) -> Read<Option<T>> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, meant)) => Ok(Some(*meant)),
            None => {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                let problem = format!("must be one of {}", words.join(", "));
                self.refuse(name, problem)
            }
        }
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> Read<bool> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Flag) => Ok(true),
            Some(_) => self.refuse(name, "stands alone, without a value"),
        }
    }

    /// A number that is 0 or more.
    pub(crate) fn number(&mut self, name: &'static str) -> Read<Option<f64>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Number(number)) if number >= 0.0 => Ok(Some(number)),
            Some(_) => self.refuse(name, "must be 0 or more"),
        }
    }

    /// How many there must be, at the least.
    pub(crate) fn count(&mut self, name: &'static str, default: u64) -> Read<u64> {
        match self.number(name)? {
            None => Ok(default),
            Some(number) if number.fract() == 0.0 && number < 1e15 => Ok(number as u64),
            Some(_) => self.refuse(name, "must be a whole number"),
        }
    }

    /// A regular expression.
    pub(crate) fn pattern(&mut self, name: &'static str) -> Read<Option<NamePattern>> {
        let text = self.text(name)?;
        text.map(|text| self.parsed(name, &text)).transpose()
    }

    /// The same of one that must be there.
    pub(crate) fn needed(&mut self, name: &'static str) -> Read<NamePattern> {
        match self.pattern(name)? {
            Some(pattern) => Ok(pattern),
            None => self.lack(format!("needs {name} = '…'")),
        }
    }

    /// Regular expressions in a list; one may stand without brackets.
    pub(crate) fn patterns(&mut self, name: &'static str) -> Read<Vec<NamePattern>> {
        let texts = match self.take(name) {
            None => return Ok(Vec::new()),
            Some(Value::Text(text)) => vec![text],
            Some(Value::List(texts)) => texts,
            Some(_) => return self.refuse(name, "must be a list: write name = ['…', '…']"),
        };
        if texts.is_empty() || texts.len() > PATTERNS_MAX {
            let problem = format!("must have 1 to {PATTERNS_MAX} regular expressions");
            return self.refuse(name, problem);
        }
        texts.iter().map(|text| self.parsed(name, text)).collect()
    }

    fn parsed(&self, name: &str, text: &str) -> Read<NamePattern> {
        if text.trim().is_empty() {
            return self.refuse(name, "must not be empty");
        }
        NamePattern::parse(text, self.compiled)
            .or_else(|told| self.refuse(name, format!("not a regular expression: {told}")))
    }
}
