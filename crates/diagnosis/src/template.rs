//! The sentence of a sign: `ran {value}[, {times} as often as before]`.

use crate::human::{self, Show};

/// A sentence with places for numbers. A part in square brackets is left out when a number in it
/// is not known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Place(Place),
    Optional(Vec<Part>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Value,
    Baseline,
    Limit,
    Times,
    Each,
}

const PLACES: [(&str, Place); 5] = [
    ("value", Place::Value),
    ("baseline", Place::Baseline),
    ("limit", Place::Limit),
    ("times", Place::Times),
    ("each", Place::Each),
];

/// What stands in the places.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filling {
    /// A text in place of the number, for facts.
    pub(crate) text: Option<String>,
    pub(crate) value: Option<f64>,
    pub(crate) baseline: Option<f64>,
    pub(crate) limit: Option<f64>,
    pub(crate) each: Option<String>,
}

impl Template {
    /// Reads a template; the error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['[', ']']) {
            let (head, tail) = rest.split_at(at);
            parts.extend(plain_parts(head)?);
            let Some(inner) = tail.strip_prefix('[') else {
                return Err("']' without '['".to_owned());
            };
            let Some((inside, after)) = inner.split_once(']') else {
                return Err("'[' is not closed".to_owned());
            };
            if inside.contains('[') {
                return Err("'[' inside of '['".to_owned());
            }
            let inside = plain_parts(inside)?;
            if !inside.iter().any(|part| matches!(part, Part::Place(_))) {
                return Err("a part in square brackets needs a place such as {baseline}".to_owned());
            }
            parts.push(Part::Optional(inside));
            rest = after;
        }
        parts.extend(plain_parts(rest)?);
        Ok(Self { parts })
    }

    /// Whether a place stands outside of square brackets.
    fn requires(&self, place: Place) -> bool {
        self.parts.contains(&Part::Place(place))
    }

    /// What is wrong with the use of places, given which numbers there will always be.
    pub(crate) fn check(&self, baseline: bool, each: bool) -> Result<(), String> {
        if !baseline && (self.requires(Place::Baseline) || self.requires(Place::Times)) {
            return Err(
                "{baseline} and {times} may be unknown here: put the part in square brackets"
                    .to_owned(),
            );
        }
        if self.requires(Place::Times) {
            return Err(
                "{times} is unknown when there was nothing before: put the part in square brackets"
                    .to_owned(),
            );
        }
        if !each && self.requires(Place::Each) {
            return Err("{each} needs each = true".to_owned());
        }
        Ok(())
    }

    /// The sentence.
    pub(crate) fn render(&self, filling: &Filling, how: Show) -> String {
        let mut out = String::new();
        let mut one = false;
        for part in &self.parts {
            let is_one = std::mem::take(&mut one);
            match part {
                Part::Text(text) if is_one => out.push_str(&singular(text)),
                Part::Text(text) => out.push_str(text),
                Part::Place(place) => {
                    let text = filled(*place, filling, how).unwrap_or_else(|| "unknown".to_owned());
                    one = text == "1" && how == Show::Count;
                    out.push_str(&text);
                }
                Part::Optional(parts) => {
                    let inside = parts.iter().map(|part| match part {
                        Part::Text(text) => Some(text.clone()),
                        Part::Place(place) => filled(*place, filling, how),
                        Part::Optional(_) => None,
                    });
                    out.extend(inside.collect::<Option<String>>());
                }
            }
        }
        out
    }
}

/// What stands for a number that is not said.
const ANY: &str = "…";

/// How a last clause begins that only says what most of the number is of.
const NAMING: [&str; 4] = ["such ", "most", "for ", "at "];

/// Words that lead to a number, and say nothing without it.
const LEADING: [&str; 12] = [
    "at", "by", "for", "from", "in", "is", "of", "only", "to", "up", "was", "were",
];

impl Template {
    /// What the sentence is about, without its numbers: a title for a chart of them. `39 sessions waited for a lock` is
    /// `sessions waited for a lock`, and `the kernel used 60 % of the CPU time` is `the kernel used … of the CPU time`.
    /// `each` stands for a thing that is not named. A title may stand at the end of a sentence, so it has no gap at its
    /// own end: `a session had waited for 12 s` is `how long a session had waited`.
    pub(crate) fn title(&self, how: Show, each: Option<&str>) -> String {
        let each = each.unwrap_or(ANY);
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Place(Place::Each) => each,
            Part::Place(_) => ANY,
            Part::Optional(_) => "",
        });
        let text = without_naming(parts.collect::<String>().trim(), each);
        let text = match text.strip_prefix(ANY).map(str::trim_start) {
            Some(rest) if how == Show::Count => rest.to_owned(),
            Some(rest) if rest.starts_with("of ") => format!("share {rest}"),
            _ => text,
        };
        without_gap_at_end(text, how)
    }
}

/// A title without what only names one thing of several: ` (malloc)`, `, most of it for malloc`.
fn without_naming(text: &str, each: &str) -> String {
    let text = text.replace(" (…)", "").replace(&format!(" ({each})"), "");
    // Behind a colon stands what follows from it.
    let (first, behind) = text.split_at(text.find(": ").unwrap_or(text.len()));
    let is_naming = |(_, clause): &(&str, &str)| {
        NAMING.iter().any(|begin| clause.starts_with(begin))
            && (clause.ends_with(each) || clause.ends_with(ANY))
    };
    match first.rsplit_once(", ").filter(is_naming) {
        Some((kept, _)) => format!("{kept}{behind}"),
        None => text,
    }
}

/// A title whose number would stand last: without the words that lead to it, and as a question where it is a time.
fn without_gap_at_end(text: String, how: Show) -> String {
    let Some(mut head) = text.strip_suffix(ANY).map(str::trim_end) else {
        return text;
    };
    let leads = |(_, last): &(&str, &str)| LEADING.contains(last);
    while let Some((rest, _)) = head.rsplit_once(' ').filter(leads) {
        head = rest.trim_end_matches([',', ':']);
    }
    match how {
        Show::Seconds | Show::Milliseconds => format!("how long {head}"),
        _ => head.to_owned(),
    }
}

/// What stands behind "1": `threads waited` becomes `thread waited`.
fn singular(text: &str) -> String {
    const THINGS: [&str; 8] = [
        " thread",
        " session",
        " line",
        " task",
        " error",
        " worker",
        " transaction",
        " wait",
    ];
    let one = THINGS.into_iter().find_map(|thing| {
        let rest = text.strip_prefix(thing)?.strip_prefix('s')?;
        let is_whole = !rest.starts_with(|c: char| c.is_alphanumeric());
        is_whole.then(|| format!("{thing}{rest}"))
    });
    one.unwrap_or_else(|| text.to_owned())
}

fn plain_parts(text: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (head, tail) = rest.split_at(at);
        if !head.is_empty() {
            parts.push(Part::Text(head.to_owned()));
        }
        let inner = tail.strip_prefix('{');
        let Some((name, after)) = inner.and_then(|inner| inner.split_once('}')) else {
            return Err("'{' and '}' must stand around a place".to_owned());
        };
        let Some((_, place)) = PLACES.iter().find(|(known, _)| *known == name) else {
            return Err(format!(
                "'{{{name}}}' is not a place; there are {{value}}, {{baseline}}, {{limit}}, {{times}} and {{each}}"
            ));
        };
        parts.push(Part::Place(*place));
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_owned()));
    }
    Ok(parts)
}

fn filled(place: Place, filling: &Filling, how: Show) -> Option<String> {
    let number = |value: Option<f64>| value.map(|value| human::show(value, how));
    match place {
        Place::Value => filling.text.clone().or_else(|| number(filling.value)),
        Place::Baseline => number(filling.baseline),
        Place::Limit => number(filling.limit),
        Place::Times => {
            let baseline = filling.baseline.filter(|baseline| *baseline > 0.0)?;
            Some(human::times(filling.value? / baseline))
        }
        Place::Each => filling.each.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filling(value: f64, baseline: Option<f64>) -> Filling {
        Filling {
            value: Some(value),
            baseline,
            limit: Some(500.0),
            ..Filling::default()
        }
    }

    #[test]
    fn one_is_singular() {
        for (text, value, expected) in [
            ("{value} threads waited", 1.0, "1 thread waited"),
            ("{value} threads waited", 2.0, "2 threads waited"),
            ("{value} threads waited", 0.5, "0.5 threads waited"),
            ("{value} sessions", 1.0, "1 session"),
            ("{value} linesmen", 1.0, "1 linesmen"),
        ] {
            let template = Template::parse(text).unwrap();
            assert_eq!(
                template.render(&filling(value, None), Show::Count),
                expected
            );
        }
        let template = Template::parse("{value} threads").unwrap();
        assert_eq!(
            template.render(&filling(0.01, None), Show::Percent),
            "1 % threads"
        );
    }

    #[test]
    fn a_title_has_no_numbers() {
        for (text, how, expected) in [
            (
                "{value} sessions waited for a lock[, against {baseline} before the onset]",
                Show::Count,
                "sessions waited for a lock",
            ),
            (
                "{value} of the samples were in compaction ({each})",
                Show::Percent,
                "share of the samples were in compaction",
            ),
            (
                "up to {value} waited for {each}",
                Show::Count,
                "up to … waited for a lock",
            ),
            (
                "the kernel used {value} of it",
                Show::Percent,
                "the kernel used … of it",
            ),
        ] {
            let title = Template::parse(text).unwrap().title(how, Some("a lock"));
            assert_eq!(title, expected);
        }
    }

    /// `Left out, because measured on one side only: threads on average waited for ….`
    #[test]
    fn a_title_has_no_gap_at_its_end() {
        for (text, how, expected) in [
            (
                "{value} threads on average waited for {each}",
                Show::Count,
                "threads on average waited for a lock",
            ),
            (
                "a session had been changing rows or waiting for them for {value}",
                Show::Seconds,
                "how long a session had been changing rows or waiting for them",
            ),
            (
                "a statement took up to {value}",
                Show::Milliseconds,
                "how long a statement took",
            ),
            (
                "{value} of the time was spent waiting, mostly for {each}",
                Show::Percent,
                "share of the time was spent waiting",
            ),
            (
                "locks took {value} of the time in waits, most of it {each}",
                Show::Percent,
                "locks took … of the time in waits",
            ),
            (
                "{value} threads waited for locks, most of them for {each}: that is the cause",
                Show::Count,
                "threads waited for locks: that is the cause",
            ),
            (
                "up to {value} threads waited for {each}, held by a reader",
                Show::Count,
                "up to … threads waited for a lock, held by a reader",
            ),
            (
                "locks were taken, at {value}",
                Show::PerSecond,
                "locks were taken",
            ),
            ("the size was {value}", Show::Bytes, "the size"),
        ] {
            let title = Template::parse(text).unwrap().title(how, Some("a lock"));
            assert_eq!(title, expected);
        }
    }

    #[test]
    fn unknown_parts_are_left_out() {
        let template = Template::parse(
            "ran {value}[, {times} as often as before ({baseline})], limit {limit}",
        )
        .unwrap();
        assert_eq!(
            template.render(&filling(12_000.0, Some(1_000.0)), Show::PerSecond),
            "ran 12 k/s, 12 times as often as before (1 k/s), limit 500/s"
        );
        for baseline in [None, Some(0.0)] {
            assert_eq!(
                template.render(&filling(12_000.0, baseline), Show::PerSecond),
                "ran 12 k/s, limit 500/s"
            );
        }
    }

    #[test]
    fn mistakes_are_told() {
        for (text, expected) in [
            ("a {valu}", "'{valu}' is not a place"),
            ("a {value", "must stand around a place"),
            ("a }", "must stand around a place"),
            ("a [b {value}", "'[' is not closed"),
            ("a ] b", "']' without '['"),
            ("a [b [{value}]]", "'[' inside of '['"),
            ("a [b]", "needs a place"),
        ] {
            let error = Template::parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let template = Template::parse("{value} against {baseline}").unwrap();
        assert!(template.check(false, false).is_err());
        assert!(template.check(true, false).is_ok());
        let template = Template::parse("{value} on {each}").unwrap();
        assert!(template.check(true, false).is_err());
        assert!(template.check(true, true).is_ok());
    }
}
