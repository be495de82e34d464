//! Two incidents beside each other: what both are, which causes they have in common, which settings differ.

use diagnosis::compare::SettingChange;
use diagnosis::{Finding, Verdict};
use model::Incident;

use super::brief::{self, CLIENT_IMPACT, CONFIDENCE, CURRENT_ACTIVITY, DO_NOW, REFUTED, WHO};
use super::{compare, print_sheets};
use crate::document::{Part, Prose, Section};

/// What the two are called.
pub(crate) const NAMES: [&str; 2] = ["A", "B"];

/// Whether both have the same cause, in a sentence.
pub(crate) fn sentence(verdicts: [&Verdict; 2]) -> String {
    let [first, second] = verdicts.map(brief::found);
    match (first, second) {
        (Some(first), Some(second)) if first.cause == second.cause => {
            format!("The same cause in both: {}", first.title)
        }
        (None, None) => "No cause was found in either".to_owned(),
        (first, second) => format!("A: {}; B: {}", title(first), title(second)),
    }
}

fn title(found: Option<&Finding>) -> &str {
    found.map_or("no cause found", |finding| finding.title.as_str())
}

/// The answers that stand above the pictures, and those below them.
pub(crate) fn above(incident: &Incident, verdict: &Verdict) -> Vec<Part> {
    brief::answers_to(&[CLIENT_IMPACT], incident, verdict)
}

/// See [`above`].
pub(crate) fn below(incident: &Incident, verdict: &Verdict) -> Vec<Part> {
    brief::answers_to(
        &[DO_NOW, CURRENT_ACTIVITY, WHO, CONFIDENCE, REFUTED],
        incident,
        verdict,
    )
}

/// The causes of both, and those of one alone.
pub(crate) fn causes(verdicts: [&Verdict; 2]) -> Vec<Section> {
    let of = |verdict: &Verdict, cause: &str| {
        let all = verdict.findings.iter().chain(&verdict.folded);
        let mut same = all.filter(|finding| finding.cause == cause);
        same.next().map(|finding| finding.level.word())
    };
    let [first, second] = verdicts;
    let line = |finding: &Finding, levels: String| {
        Prose::from(format!("{} ", finding.title))
            .code(&finding.cause)
            .text(format!(" ({levels})"))
    };
    let all = |verdict: &'_ Verdict| -> Vec<Finding> {
        let all = verdict.findings.iter().chain(&verdict.folded);
        all.cloned().collect()
    };
    let in_both = all(first).into_iter().filter_map(|finding| {
        let other = of(second, &finding.cause)?;
        let levels = match finding.level.word() {
            level if level == other => format!("both {level}"),
            level => format!("A {level}, B {other}"),
        };
        Some(line(&finding, levels))
    });
    let alone = |one: &Verdict, other: &Verdict| -> Vec<Prose> {
        let own = all(one).into_iter();
        let own = own.filter(|finding| of(other, &finding.cause).is_none());
        own.map(|finding| line(&finding, finding.level.word().to_owned()))
            .collect()
    };
    let list = |lines: Vec<Prose>| match lines.is_empty() {
        true => Vec::new(),
        false => vec![Part::list(lines)],
    };
    [
        ("In both", list(in_both.collect())),
        ("Only in A", list(alone(first, second))),
        ("Only in B", list(alone(second, first))),
    ]
    .into_iter()
    .filter_map(|(title, parts)| Section::from_parts(title, parts))
    .collect()
}

/// Settings and facts that differ.
pub(crate) fn settings(rows: &[SettingChange]) -> Vec<Part> {
    match rows.is_empty() {
        true => vec![Part::Note("No difference in those that both have.".into())],
        false => compare::settings(rows, NAMES),
    }
}

/// Where an incident is from.
pub(crate) fn provenance(incident: &Incident, verdict: &Verdict) -> Vec<Part> {
    print_sheets::provenance(incident, verdict)
}
