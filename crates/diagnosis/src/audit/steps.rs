//! The lines of a rule, read and done.

use std::collections::BTreeMap;

use expression::{Condition, Expression, Parsed, Parser};
use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};

use super::Untold::{self, Fine};
use super::special::{self, Value};
use super::{Judged, Look, Saw, Severity};
use crate::evaluate::measure_of;
use crate::human::{Show, show};
use crate::names::{Compiled, NamePattern};

/// Longest expression of a rule, in bytes.
const EXPRESSION_BYTES_MAX: usize = 200;

/// What is wrong with a line.
pub(super) type Wrong = Box<dyn std::error::Error>;

/// A line of a rule.
#[derive(Debug)]
pub(super) enum Step {
    /// Reads a value and gives it a name.
    Read {
        name: String,
        what: What,
        /// What stands for a value that the server's version does not have.
        or: Option<What>,
        /// What stands for one that is not there.
        otherwise: Option<What>,
    },
    /// Ends the rule where all of these are true.
    Fine(Vec<Test>),
    /// Ends the rule with a text: where the first conditions are true, by the last of these that are.
    Tell(Vec<(Severity, Vec<Test>)>, String),
}

/// What is read.
#[derive(Debug)]
pub(super) enum What {
    Number(Expression, Option<Show>),
    /// A fact, or a special reading.
    Text(String),
    /// Words with names of values in braces.
    Words(String),
}

#[derive(Debug)]
pub(super) enum Test {
    Number(Condition),
    /// Whether the text of this name is like that, or is not.
    Text(String, NamePattern, bool),
}

/// Values by name.
type Known = BTreeMap<String, Value>;

impl Step {
    pub(super) fn read(line: &str) -> Result<Self, Wrong> {
        if let Some(conditions) = line.strip_prefix("fine if ") {
            return Ok(Self::Fine(tests(conditions)?));
        }
        let (head, text) = line.split_once(": ").unwrap_or((line, ""));
        if head.starts_with("note") || head.starts_with("serious") {
            let ends: Result<_, Wrong> = head.split(", ").map(end).collect();
            return Ok(Self::Tell(ends?, text.to_owned()));
        }
        let (head, value) = line.split_once(" = ").ok_or("needs ' = '")?;
        let (name, unit) = head.split_once(": ").unwrap_or((head, ""));
        let (value, otherwise) = parted(value, " else ");
        let (value, or) = parted(value, " or ");
        let instead = |value: Option<&str>| match (value, unit) {
            (None, _) => Ok(None),
            (Some(value), "text") => Ok(Some(What::Words(value.to_owned()))),
            (Some("unknown"), _) => Ok(Some(What::Words("unknown".to_owned()))),
            (Some(value), unit) => What::read(value, unit).map(Some),
        };
        Ok(Self::Read {
            name: name.to_owned(),
            what: What::read(value, unit)?,
            or: instead(or)?,
            otherwise: instead(otherwise)?,
        })
    }

    /// Does these lines, one after the other.
    pub(super) fn all(steps: &[Self], look: &Look) -> Judged {
        let mut known = Known::new();
        for step in steps {
            match step {
                Self::Read {
                    name,
                    what,
                    or,
                    otherwise,
                } => {
                    let mut value = what.value(look, &known);
                    if let (Err(Fine), Some(or)) = (&value, or) {
                        value = or.value(look, &known);
                    }
                    if let (Err(_), Some(otherwise)) = (&value, otherwise) {
                        value = otherwise.value(look, &known);
                    }
                    known.insert(name.clone(), value?);
                }
                Self::Fine(tests) if all(tests, look, &known)? => return Err(Fine),
                Self::Fine(_) => {}
                Self::Tell(ends, text) => {
                    let mut severity = None;
                    for (of, tests) in ends {
                        match all(tests, look, &known)? {
                            true => severity = Some(*of),
                            false if severity.is_none() => break,
                            false => {}
                        }
                    }
                    if let Some(severity) = severity {
                        return Ok((severity, filled(text, &known)));
                    }
                }
            }
        }
        Err(Fine)
    }
}

/// What stands before a word, and behind it.
fn parted<'t>(text: &'t str, word: &str) -> (&'t str, Option<&'t str>) {
    text.rsplit_once(word)
        .map_or((text, None), |(value, instead)| (value, Some(instead)))
}

/// `note`, `serious if CONDITIONS`.
fn end(text: &str) -> Result<(Severity, Vec<Test>), Wrong> {
    let (word, conditions) = parted(text, " if ");
    let severity = match word {
        "note" => Severity::Note,
        "serious" => Severity::Serious,
        _ => return Err(format!("'{word}' is neither note nor serious").into()),
    };
    let tests = conditions.map(tests).transpose()?;
    Ok((severity, tests.unwrap_or_default()))
}

fn tests(text: &str) -> Result<Vec<Test>, Wrong> {
    text.split(" and ").map(test).collect()
}

fn test(text: &str) -> Result<Test, Wrong> {
    for (word, is) in [(" like ", true), (" unlike ", false)] {
        if let (name, Some(pattern)) = parted(text, word) {
            return Ok(Test::Text(
                name.to_owned(),
                NamePattern::parse(pattern, Compiled::Now)?,
                is,
            ));
        }
    }
    Ok(Test::Number(whole(text, Parser::condition)?))
}

/// All of a text, read with bare names.
fn whole<'t, T>(text: &'t str, read: fn(&mut Parser<'t>) -> Parsed<T>) -> Parsed<T> {
    let mut parser = Parser::new(text, EXPRESSION_BYTES_MAX)?.with_bare_names();
    let found = read(&mut parser)?;
    parser.end("an operator or the end expected")?;
    Ok(found)
}

impl What {
    fn read(value: &str, unit: &str) -> Result<Self, Wrong> {
        let unit = match unit {
            "text" => return Ok(Self::Text(value.to_owned())),
            "words" => return Ok(Self::Words(value.to_owned())),
            "" => None,
            unit => Some(Show::deserialize(StrDeserializer::<Error>::new(unit))?),
        };
        Ok(Self::Number(whole(value, Parser::expression)?, unit))
    }

    fn value(&self, look: &Look, known: &Known) -> Result<Value, Untold> {
        match self {
            Self::Number(expression, unit) => {
                let number = value(expression, look, known)?;
                let text = unit.map_or_else(|| number.to_string(), |unit| show(number, unit));
                Ok(Value::of_number(number, text))
            }
            Self::Text(name) => match special::named(name) {
                Some(special) => special(look),
                None if is_of_few(name) => special::text(look.fact(name)?),
                None => special::name(look.fact(name)?),
            },
            Self::Words(words) => {
                let filled = filled(words, known);
                Ok(Value::of_both(filled.text, filled.shared))
            }
        }
    }
}

/// Whether all of these are true, one after the other.
fn all(tests: &[Test], look: &Look, known: &Known) -> Result<bool, Untold> {
    for test in tests {
        let is_true = match test {
            Test::Number(condition) => {
                let left = value(&condition.left, look, known)?;
                let right = value(&condition.right, look, known)?;
                condition.comparison.holds(left, right)
            }
            Test::Text(name, pattern, is) => {
                let value = known.get(name).ok_or_else(|| look.missing(name))?;
                pattern.is_match(&value.text) == *is
            }
        };
        if !is_true {
            return Ok(false);
        }
    }
    Ok(true)
}

fn value(expression: &Expression, look: &Look, known: &Known) -> Result<f64, Untold> {
    Ok(match expression {
        Expression::Number(number) => *number,
        Expression::Fact { name, .. } => look.number(name)?,
        Expression::Signal {
            function, pattern, ..
        } => match (known.get(pattern), special::named(pattern)) {
            (Some(value), _) => value.number,
            (None, Some(special)) => special(look)?.number,
            (None, None) => {
                let measure = measure_of(function).ok_or_else(|| look.missing(pattern))?;
                look.signal(pattern, measure)?
            }
        },
        Expression::Binary(operator, left, right) => {
            let left = value(left, look, known)?;
            operator.apply(left, value(right, look, known)?)
        }
    })
}

/// The words with the texts of the values that they name.
fn filled(words: &str, known: &Known) -> Saw {
    let mut parts = words.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    let mut saw = Saw {
        shared: first.clone(),
        text: first,
    };
    for (name, rest) in parts.filter_map(|part| part.split_once('}')) {
        let value = known.get(name);
        saw.text += value.map_or("", |value| &value.text);
        saw.shared += value.map_or("", |value| &value.shared);
        saw.text += rest;
        saw.shared += rest;
    }
    saw
}

/// Facts whose text is a number, or one of the few that the kernel or the server know: they name nobody.
const OF_FEW: [&str; 25] = [
    "cgroup.cpu_max",
    "limits.core_bytes",
    "place.datadir.file_system",
    "server.allocator",
    "sysctl.net.core.somaxconn",
    "sysctl.net.ipv4.tcp_max_syn_backlog",
    "sysctl.vm.swappiness",
    "thp.defrag",
    "thp.enabled",
    "thp.server",
    "variables.back_log",
    "variables.general_log",
    "variables.innodb_doublewrite",
    "variables.innodb_doublewrite_files",
    "variables.innodb_flush_log_at_trx_commit",
    "variables.innodb_flush_method",
    "variables.innodb_numa_interleave",
    "variables.log_output",
    "variables.open_files_limit",
    "variables.performance_schema",
    "variables.query_cache_type",
    "variables.skip_name_resolve",
    "variables.slow_query_log",
    "variables.sync_binlog",
    "variables.thread_handling",
];

pub(super) fn is_of_few(fact: &str) -> bool {
    OF_FEW.contains(&fact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_line_is_told() {
        for (line, expected) in [
            ("share", "needs ' = '"),
            ("share: metres = last(a.b)", "unknown variant"),
            ("share = last(a.b) -", "a number, a function or '('"),
            ("fine if share", "one of >= <= > <"),
            ("fine if name like (", "unclosed group"),
            ("note, loud if 1 > 0: a", "'loud' is neither"),
        ] {
            let told = Step::read(line).unwrap_err().to_string();
            assert!(told.contains(expected), "{line}: {told}");
        }
    }
}
