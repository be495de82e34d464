//! What the server was asked.

use std::collections::HashMap;
use std::sync::Arc;

use model::{Millis, QueryDigest, QueryMethod, Window};

use super::{Arguments, Read};
use crate::evidence::Evidence;
use crate::human::Show;
use crate::measure::{Function, Kind, Measured, Seen, Sign, Taken, absent, known};
use crate::names::NamePattern;

pub(crate) static KIND: Kind = Kind {
    name: "statements",
    documentation: r"
**Statements** in the stall; the source is the way.

| | |
|---|---|
| `statements_share(…)`, `statements_time(…)`, `statements_rate(…)` | share of statements; of their time; a second |
| `class`, `statement` (one at least) | the kind exactly, any case; without literals |
| `way` | `performance_schema`, `packets`, `slow_log`, `general_log`, `status` (`Com_*`). Default: the first of performance_schema, slow log, general log, packets, counters that saw the stall |
| `min_statements` | default 50 |
",
    taken: Taken::Stretches,
    each: None,
    names: None,
    functions: &[
        known("statements_share", Show::Percent, |from| {
            Statements::read(from, Counting::Share)
        }),
        known("statements_time", Show::Percent, |from| {
            Statements::read(from, Counting::Time)
        }),
        known("statements_rate", Show::PerSecond, |from| {
            Statements::read(from, Counting::PerSecond)
        }),
    ],
};

/// The name under which digests of statements are missed, by whichever way.
const STATEMENTS: &str = "statements";

/// Statements that must have been seen where a file does not say it.
const MIN_STATEMENTS: u64 = 50;

/// The ways in which statements are seen, the one that tells most first, with the source that each is: what witnesses
/// must differ in to be independent.
const WAYS: [(&str, QueryMethod); 5] = [
    ("performance_schema", QueryMethod::PerformanceSchema),
    ("slow_log", QueryMethod::SlowLog),
    ("general_log", QueryMethod::GeneralLog),
    ("packets", QueryMethod::Packets),
    ("status", QueryMethod::StatementCounters),
];

#[derive(Debug)]
struct Statements {
    /// The kind of statement, exactly this; case does not matter.
    class: Option<String>,
    /// On the statement without literals.
    statement: Option<NamePattern>,
    way: Option<QueryMethod>,
    counting: Counting,
    min_statements: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counting {
    /// Of the statements.
    Share,
    /// Of their time.
    Time,
    PerSecond,
}

impl Statements {
    fn read(from: &mut Arguments, counting: Counting) -> Read<Arc<dyn Function>> {
        let read = Self {
            class: from.text("class")?,
            statement: from.pattern("statement")?,
            way: from.word("way", &WAYS)?,
            counting,
            min_statements: from.count("min_statements", MIN_STATEMENTS)?.max(1),
        };
        if read.class.is_none() && read.statement.is_none() {
            return from.lack("needs class, statement or both");
        }
        if read.way == Some(QueryMethod::StatementCounters) && !read.is_told_by_counters() {
            let problem = "status knows classes of statements, neither statements nor times";
            return from.refuse("way", problem);
        }
        Ok(Arc::new(read))
    }

    /// Counters know neither statements nor times.
    fn is_told_by_counters(&self) -> bool {
        self.statement.is_none() && self.counting != Counting::Time
    }

    /// The ways that could tell.
    fn ways(&self) -> impl Iterator<Item = QueryMethod> {
        WAYS.into_iter()
            .map(|(_, way)| way)
            .filter(|way| self.way.is_none_or(|wanted| wanted == *way))
            .filter(|way| *way != QueryMethod::StatementCounters || self.is_told_by_counters())
    }

    fn value(&self, counted: &Counted) -> Option<f64> {
        match self.counting {
            Counting::Share => (counted.statements > 0)
                .then(|| counted.matching as f64 / counted.statements as f64),
            Counting::Time => {
                let all = counted.seconds.filter(|seconds| *seconds > 0.0)?;
                Some(counted.matching_seconds / all)
            }
            Counting::PerSecond => (counted.looked_ms > 0)
                .then(|| counted.matching as f64 * 1000.0 / counted.looked_ms as f64),
        }
    }
}

impl Function for Statements {
    fn source(&self) -> &'static str {
        let mut ways = WAYS.into_iter();
        let way = ways.find(|(_, way)| Some(*way) == self.way);
        way.map_or(STATEMENTS, |(source, _)| source)
    }

    fn words(&self, _: bool) -> String {
        let mut what = match self.counting {
            Counting::Share => "the share of statements",
            Counting::Time => "the share of the statements' time",
            Counting::PerSecond => "statements",
        }
        .to_owned();
        if let Some(class) = &self.class {
            what += &format!(" of class '{class}'");
        }
        if let Some(statement) = &self.statement {
            what += &format!(" like /{}/", statement.text());
        }
        what
    }

    fn measure(&self, sign: &Sign, evidence: &Evidence) -> Measured {
        let stall = self.ways().find_map(|way| {
            let counted = count(self, evidence, way, Evidence::tells_of_stall);
            Some((way, counted?))
        });
        let missing = self.source();
        let enough = |counted: &Counted| counted.statements >= self.min_statements;
        let (way, seen, baseline) = match &stall {
            Some((way, counted)) if enough(counted) => {
                let before = count(self, evidence, *way, Evidence::tells_of_before);
                let baseline = before
                    .filter(|before| self.counting == Counting::PerSecond || enough(before))
                    .and_then(|before| self.value(&before));
                let seen = self.value(counted);
                let seen = seen.map_or_else(|| absent(missing), Seen::Number);
                (Some(way), seen, baseline)
            }
            Some((way, _)) => (Some(way), Seen::Nothing, None),
            None => (None, absent(missing), None),
        };
        let mut measured = Measured::over_stall(sign, evidence, seen, baseline);
        if let Some((source, _)) = WAYS.iter().find(|(_, known)| Some(known) == way) {
            measured.source = Some((*source).to_owned());
        }
        measured
    }

    /// The number in each look at the statements, by the first way that looked.
    fn readings(&self, evidence: &Evidence) -> Vec<(Window, f64)> {
        let digests = || evidence.incident.queries.iter();
        let mut known: HashMap<&str, bool> = HashMap::new();
        let way = self
            .ways()
            .find(|way| digests().any(|timed| timed.digest.method == *way));
        digests()
            .filter(|timed| Some(timed.digest.method) == way)
            .filter_map(|timed| {
                let mut counted = Counted {
                    looked_ms: timed.window.length(),
                    ..Counted::default()
                };
                add(self, &timed.digest, &mut counted, &mut known);
                Some((timed.window, self.value(&counted)?))
            })
            .collect()
    }
}

/// Statements of some stretch of time.
#[derive(Default)]
struct Counted {
    statements: u64,
    matching: u64,
    /// Absent where the way tells no times, or nobody asks.
    seconds: Option<f64>,
    matching_seconds: f64,
    looked_ms: Millis,
}

/// Nothing when this way looked at no such time.
fn count<'e>(
    test: &Statements,
    evidence: &Evidence<'e>,
    way: QueryMethod,
    tells: impl Fn(&Evidence<'e>, Millis, Millis) -> bool,
) -> Option<Counted> {
    let mut counted: Option<Counted> = None;
    // The same classes stand in digest after digest.
    let mut known: HashMap<&str, bool> = HashMap::new();
    for timed in &evidence.incident.queries {
        let window = timed.window;
        if timed.digest.method != way || !tells(evidence, window.from, window.to) {
            continue;
        }
        let counted = counted.get_or_insert_default();
        counted.looked_ms = counted.looked_ms.saturating_add(window.length());
        add(test, &timed.digest, counted, &mut known);
    }
    counted
}

fn add<'d>(
    test: &Statements,
    digest: &'d QueryDigest,
    counted: &mut Counted,
    known: &mut HashMap<&'d str, bool>,
) {
    counted.statements = counted.statements.saturating_add(digest.count);
    let asks_for_time = test.counting == Counting::Time;
    let folded = digest.folded.and_then(|folded| folded.seconds);
    if let Some(seconds) = folded {
        *counted.seconds.get_or_insert(0.0) += seconds;
    }
    for class in &digest.classes {
        let seconds = asks_for_time.then(|| class.sum("Query_time")).flatten();
        if let Some(seconds) = seconds {
            *counted.seconds.get_or_insert(0.0) += seconds;
        }
        let is_kind = |kind: &String| kind.eq_ignore_ascii_case(&class.kind);
        let text = class.fingerprint.as_str();
        let is_like =
            |pattern: &NamePattern| *known.entry(text).or_insert_with(|| pattern.is_match(text));
        if test.class.as_ref().is_none_or(is_kind) && test.statement.as_ref().is_none_or(is_like) {
            counted.matching = counted.matching.saturating_add(class.count);
            counted.matching_seconds += seconds.unwrap_or(0.0);
        }
    }
}
