//! Reads expressions and conditions.

use crate::{Aggregate, Comparison, Condition, Expression, ExpressionError, Operator};

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
        let expression = parser.sum(0)?;
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
        let function = match name {
            "rate" => Some(Aggregate::Rate),
            "delta" => Some(Aggregate::Delta),
            "mean" => Some(Aggregate::Mean),
            "max" => Some(Aggregate::Max),
            "min" => Some(Aggregate::Min),
            "last" => Some(Aggregate::Last),
            "p95" => Some(Aggregate::P95),
            "share" => Some(Aggregate::Share(0.0)),
            "fact" => None,
            _ => {
                self.rest = start;
                return Err(self.error(format!(
                    "'{name}' is not a function; there are rate, delta, mean, max, min, last, p95, share, largest and fact"
                )));
            }
        };
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
            Some(Aggregate::Share(_)) => {
                self.expect(",", "and a value after the signal")?;
                self.blanks();
                Expression::Signal {
                    function: Aggregate::Share(self.number()?),
                    pattern,
                }
            }
            Some(function) => Expression::Signal { function, pattern },
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
        function: Aggregate::Last,
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn signal(function: Aggregate, pattern: &str) -> Expression {
        Expression::Signal {
            function,
            pattern: pattern.to_owned(),
        }
    }

    fn binary(operator: Operator, left: Expression, right: Expression) -> Expression {
        Expression::Binary(operator, Box::new(left), Box::new(right))
    }

    #[test]
    fn precedence_and_names() {
        use Expression::Number;
        assert_eq!(
            Expression::parse("rate(disk.*.read_ms) / rate(disk.*.reads)").unwrap(),
            binary(
                Operator::Divide,
                signal(Aggregate::Rate, "disk.*.read_ms"),
                signal(Aggregate::Rate, "disk.*.reads"),
            )
        );
        assert_eq!(
            Expression::parse("1 + 2*3 - 4").unwrap(),
            binary(
                Operator::Subtract,
                binary(
                    Operator::Add,
                    Number(1.0),
                    binary(Operator::Multiply, Number(2.0), Number(3.0))
                ),
                Number(4.0),
            )
        );
        assert_eq!(
            Expression::parse("share( probe.connect_outcome , 3 )").unwrap(),
            signal(Aggregate::Share(3.0), "probe.connect_outcome")
        );
        assert_eq!(
            Expression::parse("mean('processlist.state.Waiting (x)')").unwrap(),
            signal(Aggregate::Mean, "processlist.state.Waiting (x)")
        );
        let fact = |name: &str, word: Option<&str>| Expression::Fact {
            name: name.to_owned(),
            word: word.map(str::to_owned),
        };
        assert_eq!(
            Expression::parse("fact(variables.max_connections)").unwrap(),
            fact("variables.max_connections", None)
        );
        assert_eq!(
            Expression::parse("fact(variables.log_output, TABLE)").unwrap(),
            fact("variables.log_output", Some("TABLE"))
        );
        assert_eq!(Expression::parse("1e6").unwrap(), Number(1e6));
        assert_eq!(Expression::parse("2.5E-3").unwrap(), Number(0.0025));
    }

    #[test]
    fn signs_in_names_are_not_operators() {
        let expression = Expression::parse("max(a-b/c@d#e:f*) - min(x.y)").unwrap();
        assert_eq!(expression.patterns(), ["a-b/c@d#e:f*", "x.y"]);
    }

    #[test]
    fn conditions() {
        let condition = Condition::parse("rate(a.b) >= 20 * max(c.d)").unwrap();
        assert_eq!(condition.comparison, Comparison::AtLeast);
        assert_eq!(condition.right.patterns(), ["c.d"]);
        let error = Condition::parse("rate(a.b) = 2").unwrap_err();
        assert_eq!(error.to_string(), "column 11: one of >= <= > < expected");
    }

    #[test]
    fn a_name_alone_is_the_latest_reading() {
        let condition = |text: &'static str| {
            let mut parser = Parser::new(text, 200).unwrap().with_bare_names();
            parser.condition().map(|read| (read, parser.rest()))
        };
        let (read, rest) =
            condition("disk.dm-0.in_flight - 1 >= 0.5 * Threads_running for 3s").unwrap();
        assert_eq!(read.left.patterns(), ["disk.dm-0.in_flight"]);
        assert_eq!(read.right.patterns(), ["Threads_running"]);
        assert_eq!(
            read.text,
            "disk.dm-0.in_flight - 1 >= 0.5 * Threads_running"
        );
        assert_eq!(rest, "for 3s");
        let (read, _) = condition("rate(a.b) / 'x y' > rate_c").unwrap();
        assert_eq!(read.left.patterns(), ["a.b", "x y"]);
        assert_eq!(read.right, signal(Aggregate::Last, "rate_c"));
        assert_eq!(condition("rat (a.b) > 1").unwrap_err().column, 1);
        assert!(Condition::parse("a.b > 1").is_err(), "not in signs");
    }

    #[test]
    fn binding_replaces_the_star() {
        let bound = Expression::parse("rate(disk.*.reads) + rate(cpu.all.user)")
            .unwrap()
            .bound(Some("sda"));
        assert_eq!(bound.patterns(), ["disk.sda.reads", "cpu.all.user"]);
    }

    #[test]
    fn errors_say_where() {
        for (text, expected) in [
            (
                "",
                "column 1: a number, a function or '(' expected, found the end",
            ),
            (
                "rate(a.b) +",
                "column 12: a number, a function or '(' expected, found the end",
            ),
            ("1 + rat(a)", "column 5: 'rat' is not a function"),
            (
                "largest(max(a))",
                "column 15: ',' expected and another expression in largest",
            ),
            (
                "largest(max(a), 1",
                "column 18: ')' expected to close largest",
            ),
            ("rate a", "column 6: '(' expected after rate"),
            ("rate()", "column 6: the name of a signal expected"),
            ("rate(a.b", "column 9: ')' expected to close rate"),
            (
                "(1 + 2",
                "column 7: ')' expected after the expression in parentheses",
            ),
            ("1 2", "column 3: an operator or the end expected"),
            ("mean('a", "column 6: the quote is not closed"),
            (
                "share(a.b)",
                "column 10: ',' expected and a value after the signal",
            ),
            (
                "ä",
                "column 1: a number, a function or '(' expected, found 'ä'",
            ),
            ("1e999", "column 1: '1e999' is not a number"),
            ("1e", "column 1: '1e' is not a number"),
            ("..", "column 1: '.' is not a number"),
        ] {
            let error = Expression::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn depth_and_length_have_limits() {
        let deep = format!("{}1{}", "(".repeat(400), ")".repeat(400));
        assert!(
            Expression::parse(&deep)
                .unwrap_err()
                .problem
                .contains("deeper")
        );
        let minus = format!("{}1", "-".repeat(900));
        assert!(
            Expression::parse(&minus)
                .unwrap_err()
                .problem
                .contains("deeper")
        );
        let long = format!("1{}", "+1".repeat(600));
        assert!(
            Expression::parse(&long)
                .unwrap_err()
                .problem
                .contains("longer")
        );
    }

    proptest! {
        #[test]
        fn never_panics_on_any_text(text in ".{0,120}") {
            let _ = Expression::parse(&text);
            let _ = Condition::parse(&text);
            if let Ok(parser) = Parser::new(&text, 200) {
                let _ = parser.with_bare_names().condition();
            }
        }

        #[test]
        fn never_panics_on_near_misses(
            words in prop::collection::vec(
                prop::sample::select(vec![
                    "rate", "max", "share", "fact", "(", ")", ",", "'", "*", "/", "+", "-", " ",
                    "a.b", "disk.*.x", "1", "2.5", "e", ".", ">=", "<", "ä", "\u{1F9CA}",
                ]),
                0..40,
            )
        ) {
            let text = words.concat();
            for error in [Expression::parse(&text).err(), Condition::parse(&text).err()]
                .into_iter()
                .flatten()
            {
                prop_assert!(error.column >= 1 && error.column <= text.chars().count() + 1);
            }
        }
    }
}
