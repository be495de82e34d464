mod call;

use super::{Aggregate, Comparison, Condition, Expression, ExpressionError, Operator};
use crate::functions;

/// Longest expression, in bytes.
const TEXT_BYTES_MAX: usize = 1_000;

/// Deepest nesting of parentheses and signs.
const DEPTH_MAX: usize = 32;

type Parsed<T> = Result<T, ExpressionError>;

impl Expression {
    /// Reads an expression.
    pub(crate) fn parse(text: &str) -> Parsed<Self> {
        let mut parser = Parser::new(text, TEXT_BYTES_MAX)?;
        let expression = parser.sum(0)?;
        parser.end("an operator or the end expected")?;
        Ok(expression)
    }
}

impl Condition {
    /// Reads a condition: an expression, one of `>= <= > <`, an expression.
    pub(crate) fn parse(text: &str) -> Parsed<Self> {
        let mut parser = Parser::new(text, TEXT_BYTES_MAX)?;
        let left = parser.sum(0)?;
        let comparison = parser.comparison()?;
        let right = parser.sum(0)?;
        parser.end("an operator or the end expected")?;
        Ok(Self {
            text: text.trim().to_owned(),
            left,
            comparison,
            right,
        })
    }
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, bytes_max: usize) -> Parsed<Self> {
        let parser = Self { text, rest: text };
        if text.len() > bytes_max {
            return Err(parser.error(format!("longer than {bytes_max} bytes")));
        }
        Ok(parser)
    }

    fn error(&self, problem: impl Into<String>) -> ExpressionError {
        ExpressionError {
            column: self.column(),
            argument: None,
            problem: problem.into(),
        }
    }

    fn column(&self) -> usize {
        let read = self.text.len() - self.rest.len();
        self.text.get(..read).map_or(0, |head| head.chars().count()) + 1
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, token: &str) -> bool {
        self.blanks();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str, place: &str) -> Parsed<()> {
        if self.take(token) {
            Ok(())
        } else {
            Err(self.error(format!("'{token}' expected {place}")))
        }
    }

    fn end(&mut self, problem: &str) -> Parsed<()> {
        self.blanks();
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.error(problem))
        }
    }

    /// The characters at the front that `wanted` accepts.
    fn run(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
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
            Some(c) => {
                Err(self.error(format!("a number, a function or '(' expected, found '{c}'")))
            }
            None => Err(self.error("a number, a function or '(' expected, found the end")),
        }
    }

    fn number(&mut self) -> Parsed<f64> {
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
        let begin = self.rest;
        let name = self.run(is_of_word);
        if name == "largest" {
            return self.largest(depth);
        }
        let unknown = || match functions::find(name) {
            Some(_) => format!("{name} stands alone: it is all of a measure"),
            None => format!(
                "'{name}' is not a function; there are rate, delta, mean, max, min, last, p95, share, largest and fact, \
                 and alone {}",
                functions::names().join(", ")
            ),
        };
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
                self.rest = begin;
                return Err(self.error(unknown()));
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
    fn quoted(&mut self) -> Parsed<String> {
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

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
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
            let _ = functions::Call::parse(&format!("threads({text}"));
        }

        #[test]
        fn never_panics_on_calls(text in "(sessions|threads|log_largest)\\((state|stack|line|direct)? ?=? ?('[a(]{0,2}'{0,3}|[\\[\\],5.-]{0,6}|\u{e9}|kernel){0,4}[,)]{0,2}") {
            if let Err(error) = functions::Call::parse(&text) {
                prop_assert!(error.column >= 1 && error.column <= text.chars().count() + 1);
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
