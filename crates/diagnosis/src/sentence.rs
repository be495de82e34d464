//! The verdict in one sentence.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use model::Incident;

use crate::actors;
use crate::fallback::evident_facts;
use crate::idle::idle;
use crate::judge::Unjudged;
use crate::verdict::{Finding, Level, Verdict};

/// Causes named in the sentence as not judged, at the most.
const UNJUDGED_MAX: usize = 8;

/// Sources of absent evidence named in the sentence, at the most.
const SOURCES_MAX: usize = 8;

/// The sentence for findings in order.
pub(crate) fn found(findings: &[Finding]) -> Option<String> {
    let main = findings.first()?;
    let related = |kind: &str| -> Vec<&str> {
        main.relations
            .iter()
            .filter(|relation| relation.kind == kind)
            .map(|relation| relation.cause.as_str())
            .collect()
    };
    let mut text = format!(
        "{}: {} ({})",
        capital(main.level.word()),
        main.title,
        main.cause
    );
    let is_possible = |cause: &str| {
        let mut all = findings.iter();
        all.any(|one| one.cause == cause && one.level == Level::Possible)
    };
    // A root that is no more than possible stands behind its consequence, and is not said to be probable.
    let (perhaps, probably): (Vec<&str>, Vec<&str>) = related("effect-of")
        .into_iter()
        .partition(|cause| is_possible(cause));
    let mut told = vec![main.cause.as_str()];
    for (words, causes) in [
        ("aggravated by", related("aggravated-by")),
        ("followed by", related("root-of")),
        ("probably a consequence of", probably),
        ("perhaps a consequence of", perhaps),
    ] {
        if !causes.is_empty() {
            text.push_str(&format!(", {words} {}", and(&causes)));
        }
        told.extend(causes);
    }
    // A setting was there before the stall: what was measured says more.
    let measured = main.witnesses.iter().find(|one| one.value.is_some());
    if let Some(witness) = measured.or(main.witnesses.first()) {
        text.push_str(&format!(": {}", witness.says));
    }
    // A quoted line may bring its own.
    if !text.ends_with('.') {
        text.push('.');
    }
    if let Some(actor) = actors::in_front(&main.actors) {
        text.push_str(&format!(" First in the queue: {}.", actor.says));
    }
    let others: Vec<String> = findings
        .iter()
        .filter(|finding| !told.contains(&finding.cause.as_str()))
        .map(|finding| format!("{} ({})", finding.cause, finding.level.word()))
        .collect();
    if !others.is_empty() {
        text.push_str(&format!(" Also found: {}.", and(&others)));
    }
    Some(text)
}

/// The sentence when nothing was found. `unjudged` are causes that could not be judged.
pub(crate) fn nothing(incident: &Incident, unjudged: &[(String, Unjudged)]) -> String {
    let mut text = idle(incident).map_or_else(String::new, |says| format!("{says} "));
    text.push_str("No known cause fits what was recorded.");
    let seen = evident_facts(incident);
    if !seen.is_empty() {
        text.push_str(&format!(" Seen: {}.", seen.join("; ")));
    }
    if unjudged.is_empty() {
        return text;
    }
    let sources: BTreeSet<&str> = unjudged
        .iter()
        .flat_map(|(_, one)| one.sources.iter().map(String::as_str))
        .collect();
    let sources: Vec<&str> = sources.into_iter().collect();
    // A long list of them helps nobody: what is absent is told by itself, with what takes it.
    let absent = match sources.len() {
        0..=SOURCES_MAX => format!(" ({})", sources.join(", ")),
        _ => String::new(),
    };
    // Those that something speaks for are worth a name; the others are told by their number.
    let causes = |pointed_at: bool| -> Vec<&str> {
        let of = unjudged
            .iter()
            .filter(|(_, one)| one.pointed_at == pointed_at);
        let mut causes: Vec<&str> = of.map(|(cause, _)| cause.as_str()).collect();
        causes.sort_unstable();
        causes
    };
    let (mut named, mut others) = (causes(true), causes(false));
    if named.len() + others.len() <= UNJUDGED_MAX {
        named.append(&mut others);
        named.sort_unstable();
    }
    let more = others.len() + named.len().saturating_sub(UNJUDGED_MAX);
    named.truncate(UNJUDGED_MAX);
    let mut causes = named.join(", ");
    if more > 0 {
        let and = if causes.is_empty() { "" } else { " and " };
        let plural = if more == 1 { "" } else { "s" };
        causes.push_str(&format!("{and}{more} other cause{plural}"));
        if named.is_empty() {
            causes = format!("{more} cause{plural} of the catalogue");
        }
    }
    text.push_str(&format!(
        " Not checked, because evidence is missing{absent}: {causes}."
    ));
    text
}

/// The sentence where no cause is found and it was looked closer: what was seen is in what, and what may be it.
pub(crate) fn suspected(verdict: &Verdict) -> String {
    let mut text = verdict.sentence.clone();
    if let Some(first) = verdict.mechanism.first() {
        text.push_str(&format!(" {}", first.says));
    }
    if !verdict.findings.is_empty() {
        text.push_str(&maybe(&verdict.findings));
    }
    text
}

/// Which suspicions there are, in their order.
pub(crate) fn maybe(findings: &[Finding]) -> String {
    let titles = findings.iter();
    let titles = titles.map(|finding| format!("{} ({})", finding.title, finding.cause));
    let titles: Vec<String> = titles.collect();
    format!(" It may be: {}.", titles.join("; or "))
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars).collect()
}

/// Words with commas between them, and "and" before the last.
pub(crate) fn and<W: Borrow<str>>(words: &[W]) -> String {
    match words.split_last() {
        Some((last, [])) => last.borrow().to_owned(),
        Some((last, head)) => format!("{} and {}", head.join(", "), last.borrow()),
        None => String::new(),
    }
}
