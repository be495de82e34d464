//! Triggers of the user's own: `Threads_running > 200 for 3s`.

use expression::{Condition, Expression, ExpressionError, Of, Parser};
use model::Millis;
use thiserror::Error;

/// Longest trigger, in bytes.
const TEXT_BYTES_MAX: usize = 500;

/// Longest time of `for`, milliseconds.
const HOLD_MS_MAX: f64 = 3_600_000.0;

/// A trigger written by the user: a condition in the language of the signs, and how long it must
/// hold. A name without a dot is a status variable of the server; case does not matter there.
#[derive(Debug, Clone, PartialEq)]
pub struct UserTrigger {
    /// As it was written.
    pub text: String,
    pub(crate) condition: Condition,
    pub(crate) hold_ms: Millis,
}

/// Why a trigger cannot be used, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "trigger '{text}', column {column}: {problem}; write for example 'Threads_running > 200 for 3s' or 'rate(vmstat.compact_stall) > 50'"
)]
pub struct TriggerError {
    /// The trigger as it was written.
    pub text: String,
    /// Column of the problem in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub problem: String,
}

impl UserTrigger {
    /// Reads a trigger.
    pub fn parse(text: &str) -> Result<Self, TriggerError> {
        read(text).map_err(|error| TriggerError {
            text: text.to_owned(),
            column: error.column,
            problem: error.problem,
        })
    }

    /// The signals that it looks at, in the order of the text.
    pub fn signals(&self) -> Vec<String> {
        let mut names = Vec::new();
        for side in [&self.condition.left, &self.condition.right] {
            for pattern in side.patterns() {
                let name = signal_name(pattern);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }
}

fn read(text: &str) -> Result<UserTrigger, ExpressionError> {
    let mut parser = Parser::new(text, TEXT_BYTES_MAX)?.with_bare_names();
    let condition = parser.condition()?;
    let hold_ms = if parser.take("for") {
        parser.blanks();
        let duration = parser.error("a time such as 3s, 500ms or 2m expected");
        let hold_ms = milliseconds(parser.rest()).ok_or(duration)?;
        parser.run(|_| true);
        hold_ms
    } else {
        0
    };
    parser.end("an operator, 'for' and a time, or the end expected")?;
    let trigger = UserTrigger {
        text: text.trim().to_owned(),
        condition,
        hold_ms,
    };
    for side in [&trigger.condition.left, &trigger.condition.right] {
        check(side, text)?;
    }
    if trigger.signals().is_empty() {
        return Err(error_at(text, text, "the name of a signal expected"));
    }
    Ok(trigger)
}

/// A trigger sees one reading after the other, of whole names.
fn check(expression: &Expression, text: &str) -> Result<(), ExpressionError> {
    match expression {
        Expression::Number(_) => Ok(()),
        Expression::Fact { name, .. } => Err(error_at(
            text,
            name,
            "a trigger looks at signals, not at facts",
        )),
        Expression::Signal { pattern, .. } if pattern.contains('*') => Err(error_at(
            text,
            pattern,
            "a trigger needs the whole name of a signal, without '*'",
        )),
        Expression::Signal { function, .. } if matches!(function.of, Of::Rate | Of::Last) => Ok(()),
        Expression::Signal { pattern, .. } => Err(error_at(
            text,
            pattern,
            "a trigger looks at the latest reading: the name alone, or rate(name)",
        )),
        Expression::Binary(_, left, right) => check(left, text).and_then(|()| check(right, text)),
    }
}

fn error_at(text: &str, at: &str, problem: &str) -> ExpressionError {
    let before = text.find(at).and_then(|at| text.get(..at));
    ExpressionError {
        column: before.map_or(0, |before| before.chars().count()) + 1,
        argument: None,
        problem: problem.to_owned(),
        unknown: None,
    }
}

/// The whole name of a signal that a trigger names.
pub(crate) fn signal_name(pattern: &str) -> String {
    if pattern.contains('.') {
        pattern.to_owned()
    } else {
        format!("status.{pattern}")
    }
}

fn milliseconds(text: &str) -> Option<Millis> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "ms" => 1.0,
        "" | "s" => 1000.0,
        "m" | "min" => 60_000.0,
        _ => return None,
    };
    let ms = number.parse::<f64>().ok()? * factor;
    (ms.is_finite() && ms <= HOLD_MS_MAX).then_some(ms as Millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        let read = |text| {
            let trigger = UserTrigger::parse(text).unwrap();
            (trigger.signals().join(" "), trigger.hold_ms)
        };
        for (text, signals, hold_ms) in [
            (
                "Threads_running > 200 for 3s",
                "status.Threads_running",
                3000,
            ),
            (
                " rate( vmstat.compact_stall )>=50 for 500ms",
                "vmstat.compact_stall",
                500,
            ),
            ("rate_x.y < 1", "rate_x.y", 0),
            (
                "disk.dm-0.in_flight >= 5 for 1m",
                "disk.dm-0.in_flight",
                60_000,
            ),
            (
                "'processlist.state.Waiting for x' > 3 for 2",
                "processlist.state.Waiting for x",
                2000,
            ),
            ("x.y > -3", "x.y", 0),
            (
                "rate(Com_commit) < 0.1 * rate(Questions) for 2s",
                "status.Com_commit status.Questions",
                2000,
            ),
            ("largest(a.b, a.c) - a.d > 1e6", "a.b a.c a.d", 0),
        ] {
            assert_eq!(read(text), (signals.to_owned(), hold_ms), "{text}");
        }
    }

    #[test]
    fn names_the_column_of_a_mistake() {
        for (text, column) in [
            ("", 1),
            ("Threads_running", 16),
            ("Threads_running >", 18),
            ("Threads_running > 5 during 3s", 21),
            ("Threads_running > 5 for long", 25),
            ("rate(vmstat.x > 1", 15),
            ("1 > 2", 1),
            ("mean(x.y) > 1", 6),
            ("rate(disk.*.reads) > 1", 6),
            ("x.y > fact(variables.max_connections)", 12),
        ] {
            let error = UserTrigger::parse(text).unwrap_err();
            assert_eq!(error.column, column, "{error}");
        }
    }
}
