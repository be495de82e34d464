//! Signs that look at what the server was asked.

use std::collections::HashMap;

use model::{Millis, QueryClass, QueryDigest, QueryWay, Window};

use super::{Number, Outcome, Seen, absent, over_stall};
use crate::catalogue::{STATEMENTS, Sign};
use crate::deep::{StatementsCounting, StatementsTest};
use crate::evidence::Evidence;
use crate::human::Show;

/// The ways in which statements are seen, the one that tells most first.
const WAYS: [QueryWay; 5] = [
    QueryWay::PerformanceSchema,
    QueryWay::SlowLog,
    QueryWay::GeneralLog,
    QueryWay::Packets,
    QueryWay::StatementCounters,
];

/// The source that a way is: what witnesses must differ in to be independent.
pub(crate) fn source(way: QueryWay) -> &'static str {
    match way {
        QueryWay::SlowLog => "slow_log",
        QueryWay::GeneralLog => "general_log",
        QueryWay::PerformanceSchema => "performance_schema",
        QueryWay::Packets => "packets",
        QueryWay::StatementCounters => "status",
    }
}

pub(super) fn test(sign: &Sign, test: &StatementsTest, evidence: &Evidence) -> Outcome {
    let mut chosen = None;
    for way in ways(test) {
        let stall = count(test, evidence, way, |from, to| {
            evidence.tells_of_stall(from, to)
        });
        if let Some(counted) = stall {
            chosen = Some((way, counted));
            break;
        }
    }
    let missing = test.way.map_or(STATEMENTS, source);
    let (way, seen, baseline) = match chosen {
        Some((way, counted)) if counted.statements >= test.min_statements => {
            let before = count(test, evidence, way, |from, to| {
                evidence.tells_of_before(from, to)
            });
            let enough = |counted: &Counted| match test.counting {
                StatementsCounting::PerSecond => true,
                _ => counted.statements >= test.min_statements,
            };
            let baseline = before
                .filter(enough)
                .and_then(|before| value(test, &before));
            let seen = value(test, &counted).map_or_else(|| absent(missing), Seen::Number);
            (source(way), seen, baseline)
        }
        Some((way, _)) => (source(way), Seen::Nothing, None),
        None => (missing, absent(missing), None),
    };
    let (what, show) = what(test);
    let number = Number {
        seen,
        baseline,
        what,
        show,
        each: None,
        source: way,
    };
    over_stall(sign, &test.limits, &test.only_if, evidence, number)
}

/// The number in each look at the statements, by the first way that looked.
pub(crate) fn numbers(test: &StatementsTest, evidence: &Evidence) -> Vec<(Window, f64)> {
    let digests = || evidence.incident.queries.iter();
    let mut known: HashMap<&str, bool> = HashMap::new();
    let way = ways(test).find(|way| digests().any(|timed| timed.digest.way == *way));
    digests()
        .filter(|timed| Some(timed.digest.way) == way)
        .filter_map(|timed| {
            let mut counted = Counted {
                looked_ms: timed.window.to.saturating_sub(timed.window.from),
                ..Counted::default()
            };
            add(test, &timed.digest, &mut counted, &mut known);
            Some((timed.window, value(test, &counted)?))
        })
        .collect()
}

/// The ways that could tell.
fn ways(test: &StatementsTest) -> impl Iterator<Item = QueryWay> {
    WAYS.into_iter()
        .filter(|way| test.way.is_none_or(|wanted| wanted == *way))
        // Counters know neither statements nor times.
        .filter(|way| {
            *way != QueryWay::StatementCounters
                || (test.statement.is_none() && test.counting != StatementsCounting::Time)
        })
}

/// What is counted, in words.
pub(crate) fn what(test: &StatementsTest) -> (String, Show) {
    let (what, show) = match test.counting {
        StatementsCounting::Share => ("the share of statements", Show::Percent),
        StatementsCounting::Time => ("the share of the statements' time", Show::Percent),
        StatementsCounting::PerSecond => ("statements", Show::PerSecond),
    };
    let of = match (&test.class, &test.statement) {
        (Some(class), None) => format!("of class '{class}'"),
        (None, Some(statement)) => format!("like /{}/", statement.as_str()),
        (Some(class), Some(statement)) => {
            format!("of class '{class}' like /{}/", statement.as_str())
        }
        (None, None) => "of any class".to_owned(),
    };
    (format!("{what} {of}"), show)
}

/// Statements of some stretch of time.
#[derive(Default)]
struct Counted {
    statements: u64,
    matching: u64,
    /// Absent where the way tells no times.
    seconds: Option<f64>,
    matching_seconds: f64,
    looked_ms: Millis,
}

/// Nothing when this way looked at no such time.
fn count(
    test: &StatementsTest,
    evidence: &Evidence,
    way: QueryWay,
    tells: impl Fn(Millis, Millis) -> bool,
) -> Option<Counted> {
    let mut counted: Option<Counted> = None;
    // The same classes stand in digest after digest.
    let mut known: HashMap<&str, bool> = HashMap::new();
    for timed in &evidence.incident.queries {
        let window = timed.window;
        if timed.digest.way != way || !tells(window.from, window.to) {
            continue;
        }
        let counted = counted.get_or_insert_default();
        counted.looked_ms = counted
            .looked_ms
            .saturating_add(window.to.saturating_sub(window.from));
        add(test, &timed.digest, counted, &mut known);
    }
    counted
}

fn add<'d>(
    test: &StatementsTest,
    digest: &'d QueryDigest,
    counted: &mut Counted,
    known: &mut HashMap<&'d str, bool>,
) {
    counted.statements = counted.statements.saturating_add(digest.count);
    let folded = digest.folded.and_then(|folded| folded.seconds);
    if let Some(seconds) = folded {
        *counted.seconds.get_or_insert(0.0) += seconds;
    }
    for class in &digest.classes {
        let seconds = class.sum("Query_time");
        if let Some(seconds) = seconds {
            *counted.seconds.get_or_insert(0.0) += seconds;
        }
        if matches(test, class, known) {
            counted.matching = counted.matching.saturating_add(class.count);
            counted.matching_seconds += seconds.unwrap_or(0.0);
        }
    }
}

fn matches<'d>(
    test: &StatementsTest,
    class: &'d QueryClass,
    known: &mut HashMap<&'d str, bool>,
) -> bool {
    test.class
        .as_ref()
        .is_none_or(|kind| kind.eq_ignore_ascii_case(&class.kind))
        && test.statement.as_ref().is_none_or(|regex| {
            let text = class.fingerprint.as_str();
            *known.entry(text).or_insert_with(|| regex.is_match(text))
        })
}

fn value(test: &StatementsTest, counted: &Counted) -> Option<f64> {
    match test.counting {
        StatementsCounting::Share => {
            (counted.statements > 0).then(|| counted.matching as f64 / counted.statements as f64)
        }
        StatementsCounting::Time => {
            let all = counted.seconds.filter(|seconds| *seconds > 0.0)?;
            Some(counted.matching_seconds / all)
        }
        StatementsCounting::PerSecond => (counted.looked_ms > 0)
            .then(|| counted.matching as f64 * 1000.0 / counted.looked_ms as f64),
    }
}
