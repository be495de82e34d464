//! A finding: why, against, what would refute it, what to do.

use diagnosis::{Finding, Level, Show, Verdict, Witness};
use model::Incident;

use crate::document::{List, Part, Prose, Section};
use crate::markup::{Markup, markup};
use crate::pick::Picked;
use crate::{anchors, standard, steps, units};

/// Ratios to the baseline below this are not worth a number.
const RATIO_MIN: f64 = 1.5;

/// Where a section of a finding stands on a page, which has two columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageColumn {
    /// What speaks for it and against it.
    Evidence,
    /// What to do.
    Remedy,
}

/// What findings point at: the charts of a page, where there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    /// The incident.
    pub(crate) incident: &'a Incident,
    /// All findings.
    pub(crate) verdict: &'a Verdict,
    /// The charts of the page; none on a terminal.
    pub(crate) picked: Option<&'a Picked>,
}

/// What the processors, the threads and the sessions are in.
pub(crate) fn mechanism(verdict: &Verdict) -> Vec<Part> {
    match verdict.mechanism.is_empty() {
        true => Vec::new(),
        false => {
            let says = verdict.mechanism.iter().map(|one| one.says.as_str());
            vec![Part::List(List::new(says).class("mechanism"))]
        }
    }
}

/// The sections of a finding, in the order in which a terminal has them.
pub(crate) fn sections(context: &Context<'_>, finding: &Finding) -> Vec<(PageColumn, Section)> {
    let remedy = &finding.remedy;
    let paired = remedy.paired();
    let actors = steps::who(&finding.actors);
    let who = match actors.is_empty() {
        true => Vec::new(),
        false => vec![Part::List(List::new(actors).class("who"))],
    };
    let unknown = match finding.level {
        Level::Suspicion => "Needed to decide",
        _ => "Unknown",
    };
    let risk = match remedy.risk.is_empty() {
        true => Vec::new(),
        false => vec![Part::Paragraph(Prose::with_code(&remedy.risk))],
    };
    use PageColumn::{Evidence, Remedy};
    let all = [
        (Evidence, "Why", witnesses(context, &finding.witnesses)),
        (Evidence, "Against", witnesses(context, &finding.against)),
        (Evidence, "Who", who),
        (Evidence, "Disproved if", steps(&finding.refuted_by)),
        (Evidence, unknown, steps(&in_words(&finding.unknown))),
        (Remedy, "Commands", steps(&remedy.fix)),
        (Remedy, "Do now", steps(&steps::with_undo(&paired.now))),
        (
            Remedy,
            "Permanent fix",
            steps(&steps::with_undo(&paired.durable)),
        ),
        (Remedy, "Undo", steps(&paired.rest)),
        (Remedy, "Risk", risk),
        (Remedy, "Verify", steps(&remedy.verify)),
        (Evidence, "Related", related(context.verdict, finding)),
        (Evidence, "References", steps(&finding.sources)),
    ];
    all.into_iter()
        .filter_map(|(half, title, parts)| Some((half, Section::from_parts(title, parts)?)))
        .collect()
}

/// How a line goes on that says which signals are missing.
const TAKEN_BY: &str = "; taken by ";

/// What is not known, with names for people in place of those of signals and settings.
fn in_words(lines: &[String]) -> Vec<String> {
    let word = |word: &str| {
        let name = word.trim_end_matches([',', ':', ';']);
        let is_signal = name.contains('.') && model::area_of(name).is_some();
        match (is_signal, word.get(name.len()..)) {
            (true, Some(behind)) => format!("{}{behind}", name_in_words(name)),
            _ => word.to_owned(),
        }
    };
    let lines = lines.iter();
    lines
        .map(|line| {
            // Behind it stand tables and files, which are looked for by their own names.
            let (signals, taken_by) = line.split_at(line.find(TAKEN_BY).unwrap_or(line.len()));
            let signals: Vec<String> = signals.split(' ').map(word).collect();
            signals.join(" ") + taken_by
        })
        .collect()
}

/// A name of the server's is what people look for.
fn name_in_words(name: &str) -> String {
    match name.split_once('.') {
        Some(("status" | "variables", own)) => own.to_owned(),
        _ => standard::in_words(name),
    }
}

fn steps(steps: &[impl AsRef<str>]) -> Vec<Part> {
    match steps.is_empty() {
        true => Vec::new(),
        false => {
            let steps = steps.iter().map(|step| step.as_ref().to_owned());
            vec![Part::Steps(steps.collect())]
        }
    }
}

/// Signs with their numbers.
pub(super) fn witnesses(context: &Context<'_>, witnesses: &[Witness]) -> Vec<Part> {
    if witnesses.is_empty() {
        return Vec::new();
    }
    let items = witnesses
        .iter()
        .map(|witness| (witness.says.as_str().into(), numbers(context, witness)));
    let list = List {
        class: "witnesses",
        ordered: true,
        items: items.collect(),
    };
    vec![Part::List(list)]
}

/// A number as its sentence has it: a share in per cent, bytes in their unit.
fn shown(value: f64, show: Show) -> String {
    match show {
        Show::Count => units::rounded(value),
        show => diagnosis::show(value, show),
    }
}

/// Whether a sentence has this number in one of the ways to write it.
fn says_it(says: &str, value: f64, show: Show) -> bool {
    let ways = [
        units::bare(value),
        units::rounded(value),
        diagnosis::show(value, show),
    ];
    ways.iter().any(|number| has_number(says, number))
}

/// Whether a sentence has this number, and not as a part of a longer one.
fn has_number(says: &str, number: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
    says.match_indices(number).any(|(at, found)| {
        let (before, after) = (says.get(..at), says.get(at + found.len()..));
        let mut next = after.unwrap_or_default().chars();
        let goes_on = match next.next() {
            Some('.' | ',') => next.next().is_some_and(|c| c.is_ascii_digit()),
            Some(c) => is_digit(c),
            None => false,
        };
        !goes_on && !before.is_some_and(|before| before.ends_with(is_digit))
    })
}

/// A witness' numbers and where they are from.
fn numbers(context: &Context<'_>, witness: &Witness) -> Prose {
    let mut out = Prose::default()
        .page(Markup::literal("<span class=\"source\">"))
        .terminal("(")
        .text(&witness.source)
        .page(Markup::literal("</span>"));
    let calm = match context.incident.calm_after() {
        Some(_) => "afterwards",
        None => "before",
    };
    let numbers = [
        ("measured", witness.value),
        (calm, witness.baseline),
        ("limit", witness.limit),
    ];
    for (name, value) in numbers {
        // What the sentence says is not said twice.
        if let Some(value) = value.filter(|value| !says_it(&witness.says, *value, witness.show)) {
            out = out
                .page(Markup::literal(" <span>"))
                .terminal("; ")
                .text(format!("{name} "))
                .strong(shown(value, witness.show))
                .page(Markup::literal("</span>"));
        }
    }
    if let (Some(value), Some(baseline)) = (witness.value, witness.baseline)
        && baseline > 0.0
        && value / baseline >= RATIO_MIN
    {
        let times = Prose::default().strong(units::rounded(value / baseline));
        let times = times
            .text(format!(" times as much as {calm}"))
            .markup(usize::MAX);
        out = out.page(markup!(" <span>{}</span>", times));
    }
    if witness.conclusive {
        out = out
            .page(Markup::literal(" <span class=\"tag\">"))
            .terminal("; ")
            .text("conclusive")
            .page(Markup::literal("</span>"));
    }
    out = out.terminal(")");
    match context.picked {
        Some(picked) => out.then(links(context.incident, picked, witness)),
        None => out,
    }
}

/// Links to the charts of a witness, or to the place where the evidence of its source stands.
fn links(incident: &Incident, picked: &Picked, witness: &Witness) -> Prose {
    let charts = picked.charts_of(incident, witness);
    let is_fact = |name: &String| incident.facts.iter().any(|timed| timed.fact.name == *name);
    if charts.is_empty() {
        let section = match witness.source.as_str() {
            _ if witness.signals.iter().any(is_fact) => "facts",
            "variables" | "thp" | "host" | "server" => "facts",
            "processlist" => "sessions",
            "innodb" => "innodb",
            "threads" => "threads",
            _ => return Prose::default(),
        };
        return Prose::from(" ").link(section.to_owned(), "evidence");
    }
    let many = charts.len() > 1;
    charts
        .iter()
        .enumerate()
        .fold(Prose::default(), |out, (number, chart)| {
            let label = match many {
                true => format!("chart {}", number + 1),
                false => "chart".to_owned(),
            };
            out.text(" ").link(anchors::chart(*chart), label)
        })
}

/// The causes that it is related to; a page has a link to the finding, where there is one.
fn related(verdict: &Verdict, finding: &Finding) -> Vec<Part> {
    if finding.relations.is_empty() {
        return Vec::new();
    }
    let lines = finding.relations.iter().map(|relation| {
        let all = verdict.findings.iter().chain(&verdict.folded);
        let other = all
            .enumerate()
            .find(|(_, other)| other.cause == relation.cause);
        let kind = Prose::from(format!("{} ", relation.kind.replace('-', " ")));
        let name = match other {
            Some((index, other)) => Prose::default().link(anchors::finding(index), &other.title),
            None => Prose::default().code(&relation.cause),
        };
        kind.terminal(&relation.cause).page(name.markup(usize::MAX))
    });
    vec![Part::list(lines)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_has_names_for_people() {
        let lines = [
            "status.Questions, probe.connect_us are not in the record; taken by SHOW GLOBAL STATUS",
            "semaphores is not in the record",
            "sessions.compressed is not in the record; taken by performance_schema.status_by_thread, where performance_schema is on",
        ];
        assert_eq!(
            in_words(&lines.map(str::to_owned)),
            [
                "Questions, connect (probe latency) are not in the record; taken by SHOW GLOBAL STATUS",
                "semaphores is not in the record",
                "compressed (which sessions use compression) is not in the record; taken by performance_schema.status_by_thread, where performance_schema is on",
            ]
        );
    }

    #[test]
    fn numbers_are_what_the_sentence_says_they_are() {
        assert_eq!(shown(0.596, Show::Percent), "59.6 %");
        assert_eq!(shown(67_108_864.0, Show::Bytes), "64 MiB");
        assert_eq!(shown(48_112.4, Show::Count), "48,100");
        for says in [
            "it grew by 48.1 k a second",
            "it grew by 48,112 a second",
            "it grew by 48,100 a second",
        ] {
            assert!(says_it(says, 48_112.4, Show::Count), "{says}");
        }
        assert!(!says_it("it grew by 48.2 k", 48_112.4, Show::Count));
        for (says, number, has) in [
            ("the kernel used 59.6 % of the CPU time", "59.6 %", true),
            ("39 sessions at a time, against 0 before", "39", true),
            ("39 sessions at a time, against 0 before", "9", false),
            ("it was at 7.5, then it ended at 7.", "7", true),
            ("it was at 7.5", "7", false),
            ("12,345 rows", "12", false),
            ("at 866/s", "866/s", true),
        ] {
            assert_eq!(has_number(says, number), has, "{says}: {number}");
        }
    }
}
