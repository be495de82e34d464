//! The verdict in one sentence.

use std::collections::BTreeMap;

use model::Incident;

use crate::verdict::Finding;

/// Causes named in the sentence as not judged, at the most.
const UNJUDGED_MAX: usize = 8;

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
    let mut told = vec![main.cause.as_str()];
    for (kind, words) in [
        ("aggravated-by", "aggravated by"),
        ("root-of", "followed by"),
        ("effect-of", "probably a consequence of"),
    ] {
        let causes = related(kind);
        if !causes.is_empty() {
            text.push_str(&format!(", {words} {}", and(&causes)));
        }
        told.extend(causes);
    }
    if let Some(witness) = main.witnesses.first() {
        text.push_str(&format!(": {}", witness.says));
    }
    text.push('.');
    let others: Vec<String> = findings
        .iter()
        .filter(|finding| !told.contains(&finding.cause.as_str()))
        .map(|finding| format!("{} ({})", finding.cause, finding.level.word()))
        .collect();
    if !others.is_empty() {
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        text.push_str(&format!(" Also found: {}.", and(&others)));
    }
    Some(text)
}

/// The sentence when nothing was found. `unjudged` are causes that could not be judged, by the
/// sources that are absent.
pub(crate) fn nothing(incident: &Incident, unjudged: &BTreeMap<String, Vec<String>>) -> String {
    let mut text = "No known cause fits what was recorded.".to_owned();
    let seen: Vec<&str> = incident
        .stall
        .triggers
        .iter()
        .map(|trigger| trigger.says.trim().trim_end_matches('.'))
        .filter(|says| !says.is_empty())
        .collect();
    if !seen.is_empty() {
        text.push_str(&format!(" Seen: {}.", seen.join("; ")));
    }
    if !unjudged.is_empty() {
        let mut causes: Vec<&str> = unjudged.values().flatten().map(String::as_str).collect();
        causes.sort_unstable();
        causes.dedup();
        let more = causes.len().saturating_sub(UNJUDGED_MAX);
        causes.truncate(UNJUDGED_MAX);
        let more = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let sources: Vec<&str> = unjudged.keys().map(String::as_str).collect();
        text.push_str(&format!(
            " Not judged, because evidence is absent ({}): {}{more}.",
            sources.join(", "),
            causes.join(", ")
        ));
    }
    text
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

fn and(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, head)) => format!("{} and {last}", head.join(", ")),
        None => String::new(),
    }
}
