//! Expressions, what they parse to, and where errors are reported.

use super::*;
use proptest::prelude::*;

fn signal(function: &str, pattern: &str) -> Expression {
    let mut known = AGGREGATES.iter();
    Expression::Signal {
        function: known.find(|known| known.name == function).unwrap(),
        value: (function == "share").then_some(3.0),
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
            signal("rate", "disk.*.read_ms"),
            signal("rate", "disk.*.reads"),
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
        signal("share", "probe.connect_outcome")
    );
    assert_eq!(
        Expression::parse("mean('processlist.state.Waiting (x)')").unwrap(),
        signal("mean", "processlist.state.Waiting (x)")
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
    assert_eq!(read.right, signal("last", "rate_c"));
    assert_eq!(condition("rat (a.b) > 1").unwrap_err().column, 1);
    assert!(Condition::parse("a.b > 1").is_err(), "not in signs");
}

#[test]
fn binding_replaces_the_star() {
    let read = Expression::parse("rate(disk.*.reads) + rate(cpu.all.user)").unwrap();
    let bound = read.bound(Some("sda"));
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
