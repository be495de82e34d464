use model::{Millis, Sample};
use thiserror::Error;

/// A trigger written by the user: `Threads_running > 200 for 3s`,
/// `rate(vmstat.compact_stall) > 50`.
///
/// A name without a dot is a status variable of the server; case does not matter there.
#[derive(Debug, Clone, PartialEq)]
pub struct UserTrigger {
    /// As it was written.
    pub text: String,
    pub(crate) signal: String,
    pub(crate) rate: bool,
    pub(crate) comparison: Comparison,
    pub(crate) limit: f64,
    pub(crate) hold_ms: Millis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// Why a trigger cannot be used, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "trigger '{text}', column {column}: {problem}; write for example 'Threads_running > 200 for 3s' or 'rate(vmstat.compact_stall) > 50'"
)]
pub struct ExpressionError {
    /// The trigger as it was written.
    pub text: String,
    /// Column of the problem, from 1.
    pub column: usize,
    /// What is wrong.
    pub problem: String,
}

const COMPARISONS: [(&str, Comparison); 4] = [
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    (">", Comparison::Above),
    ("<", Comparison::Below),
];

impl UserTrigger {
    /// Reads a trigger.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let error = |rest: &str, problem: &str| ExpressionError {
            text: text.to_owned(),
            column: text.len() - rest.len() + 1,
            problem: problem.to_owned(),
        };
        let rest = text.trim_start();
        let (rate, rest) = match strip_word(rest, "rate") {
            Some(inner) => match inner.trim_start().strip_prefix('(') {
                Some(inner) => (true, inner.trim_start()),
                None => return Err(error(inner, "'(' expected after rate")),
            },
            None => (false, rest),
        };
        let length = rest
            .find(|c: char| c.is_whitespace() || "()<>=".contains(c))
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(length);
        if name.is_empty() {
            return Err(error(rest, "the name of a signal expected"));
        }
        let mut rest = after.trim_start();
        if rate {
            rest = rest
                .strip_prefix(')')
                .ok_or_else(|| error(rest, "')' expected"))?
                .trim_start();
        }
        let (comparison, rest) = COMPARISONS
            .iter()
            .find_map(|(sign, kind)| Some((*kind, rest.strip_prefix(sign)?.trim_start())))
            .ok_or_else(|| error(rest, "one of > >= < <= expected"))?;
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (number, after) = rest.split_at(length);
        let limit: f64 = number
            .parse()
            .ok()
            .filter(|limit: &f64| limit.is_finite())
            .ok_or_else(|| error(rest, "a number expected"))?;
        let rest = after.trim_start();
        let hold_ms = if rest.is_empty() {
            0
        } else {
            let Some(duration) = strip_word(rest, "for") else {
                return Err(error(rest, "'for' and a time expected, or the end"));
            };
            let duration = duration.trim();
            parse_ms(duration)
                .ok_or_else(|| error(duration, "a time such as 3s, 500ms or 2m expected"))?
        };
        let signal = if name.contains('.') {
            name.to_owned()
        } else {
            format!("status.{name}")
        };
        Ok(Self {
            text: text.trim().to_owned(),
            signal,
            rate,
            comparison,
            limit,
            hold_ms,
        })
    }

    /// The name of the signal it looks at.
    pub fn signal(&self) -> &str {
        &self.signal
    }

    /// The value of this trigger's signal in a sample. Status variables are found in any case.
    pub(crate) fn value_in(&self, sample: &Sample) -> Option<f64> {
        let taken = sample.outcome.as_ref().ok()?;
        taken
            .readings
            .iter()
            .find(|reading| {
                reading.name == self.signal
                    || (self.signal.starts_with("status.")
                        && reading.name.eq_ignore_ascii_case(&self.signal))
            })
            .map(|reading| reading.value)
    }

    pub(crate) fn holds(&self, value: f64) -> bool {
        match self.comparison {
            Comparison::Above => value > self.limit,
            Comparison::AtLeast => value >= self.limit,
            Comparison::Below => value < self.limit,
            Comparison::AtMost => value <= self.limit,
        }
    }
}

fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    (!rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.')).then_some(rest)
}

fn parse_ms(text: &str) -> Option<Millis> {
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
    (ms.is_finite() && ms <= 3_600_000.0).then_some(ms as Millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        let trigger = UserTrigger::parse("Threads_running > 200 for 3s").unwrap();
        assert_eq!(
            (
                trigger.signal.as_str(),
                trigger.rate,
                trigger.limit,
                trigger.hold_ms
            ),
            ("status.Threads_running", false, 200.0, 3000)
        );
        let trigger = UserTrigger::parse(" rate( vmstat.compact_stall )>=50 for 500ms").unwrap();
        assert_eq!(
            (
                trigger.signal.as_str(),
                trigger.rate,
                trigger.comparison,
                trigger.hold_ms
            ),
            ("vmstat.compact_stall", true, Comparison::AtLeast, 500)
        );
        assert_eq!(
            UserTrigger::parse("rate_x.y < 1").unwrap().signal,
            "rate_x.y"
        );
    }

    #[test]
    fn names_the_column_of_a_mistake() {
        for (text, column) in [
            ("", 1),
            ("Threads_running", 16),
            ("Threads_running >", 18),
            ("Threads_running > many", 19),
            ("Threads_running > 5 during 3s", 21),
            ("Threads_running > 5 for long", 25),
            ("rate vmstat.x > 1", 5),
            ("rate(vmstat.x > 1", 15),
            ("x.y > inf", 7),
        ] {
            let error = UserTrigger::parse(text).unwrap_err();
            assert_eq!(error.column, column, "{error}");
        }
    }
}
