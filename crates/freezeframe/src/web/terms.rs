//! What an incident can be found by.

use std::collections::BTreeSet;

use diagnosis::Verdict;
use model::{Incident, ProcessList, TextKind};

/// Words of one incident that are kept.
const TERMS_MAX: usize = 500;

/// Characters of each.
const CHARS_MAX: usize = 400;

/// Processlists that are looked through, the first of the stall.
const LISTS_MAX: usize = 60;

/// Something that an incident can be found by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Term {
    /// What it is, in a word.
    pub(super) kind: &'static str,
    pub(super) text: String,
    /// It stands in the list anyhow.
    pub(super) is_shown: bool,
}

impl Term {
    fn has(&self, word: &str) -> bool {
        self.text.to_lowercase().contains(word)
    }
}

/// Every word of what is searched for is in one of them. Answers with the first that is not in the list anyhow.
pub(super) fn found(terms: &[Term], searched: &str) -> Option<Option<String>> {
    let lower = searched.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let of_word = |word: &&str| {
        terms
            .iter()
            .filter(|term| term.has(word))
            .min_by_key(|term| !term.is_shown)
    };
    // A term with all of them tells most.
    let all = terms
        .iter()
        .filter(|term| words.iter().all(|word| term.has(word)));
    let best = all.min_by_key(|term| !term.is_shown);
    let each: Option<Vec<&Term>> = words.iter().map(of_word).collect();
    let each = each?;
    let told = best.or_else(|| each.into_iter().find(|term| !term.is_shown));
    Some(
        told.filter(|term| !term.is_shown)
            .map(|term| format!("{}: {}", term.kind, term.text)),
    )
}

/// The terms of an incident.
pub(super) fn terms_of(incident: &Incident, verdict: &Verdict, server: &str) -> Vec<Term> {
    let mut all = Terms::default();
    let findings = verdict.findings.iter().chain(&verdict.folded);
    for (number, finding) in findings.enumerate() {
        all.push("cause", &finding.title, number == 0);
        all.push("cause", &finding.cause, false);
    }
    all.push("felt", &report::client_impact(incident), true);
    all.push("server", server, true);
    all.push("version", &incident.server.version, false);
    all.push("name", &incident.id, false);
    for trigger in &incident.stall.triggers {
        all.push("noticed by", &trigger.rule, false);
        all.push("noticed by", &trigger.says, false);
    }
    for timed in &incident.queries {
        for class in &timed.digest.classes {
            all.push("statement", &class.fingerprint, false);
            all.push("digest", &class.id, false);
            all.push("digest", class.compat_id.as_deref().unwrap_or(""), false);
            let users = class.users.iter().map(|user| ("user", user));
            let databases = class.databases.iter().map(|name| ("database", name));
            let hosts = class.hosts.iter().map(|host| ("client host", host));
            for (kind, counted) in users.chain(databases).chain(hosts) {
                all.push(kind, &counted.name, false);
            }
        }
    }
    let stall = incident.stall_window();
    let lists = incident.texts.iter().filter(|timed| {
        timed.text.kind() == TextKind::Processlist && (stall.from..=stall.to).contains(&timed.at)
    });
    for timed in lists.take(LISTS_MAX) {
        let Some(list) = ProcessList::from_text(timed.text.body()) else {
            continue;
        };
        for session in &list.longest {
            all.push("user", &session.user, false);
            all.push("database", &session.db, false);
            all.push("state", &session.state, false);
            all.push("statement", &session.statement, false);
        }
    }
    all.terms
}

#[derive(Default)]
struct Terms {
    seen: BTreeSet<Term>,
    terms: Vec<Term>,
}

impl Terms {
    fn push(&mut self, kind: &'static str, text: &str, is_shown: bool) {
        if text.is_empty() || self.terms.len() >= TERMS_MAX {
            return;
        }
        let term = Term {
            kind,
            text: text.chars().take(CHARS_MAX).collect(),
            is_shown,
        };
        if self.seen.insert(term.clone()) {
            self.terms.push(term);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_must_be_found_and_what_is_hidden_is_told() {
        let term = |kind, text: &str, is_shown| Term {
            kind,
            text: text.to_owned(),
            is_shown,
        };
        let terms = [
            term("cause", "Row locks", true),
            term("statement", "UPDATE Orders SET a = ?", false),
            term("user", "shop", false),
        ];
        assert_eq!(found(&terms, "row LOCKS"), Some(None));
        let told = Some(Some("statement: UPDATE Orders SET a = ?".to_owned()));
        assert_eq!(found(&terms, "orders"), told);
        assert_eq!(found(&terms, "update orders"), told);
        assert_eq!(
            found(&terms, "locks shop"),
            Some(Some("user: shop".to_owned()))
        );
        assert_eq!(found(&terms, "orders nobody"), None);
        assert_eq!(found(&terms, " "), Some(None));
    }
}
