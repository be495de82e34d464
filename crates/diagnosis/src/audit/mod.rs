//! What could stall a server before it does: plain rules over what a short look at it found.
//!
//! Pure: a [`Look`] and the one table of rules ([`RULES`]) in, lines out. A rule speaks only when
//! it has seen something; one whose evidence is absent says that and why. So a setting alone is
//! never a line: it takes what the setting does to this server.

mod host;
mod innodb;
mod limits;
mod load;
mod memory;
mod observation;
mod rules;
mod sql;

pub use observation::Look;
pub use rules::{RULES, Rule};

use serde::Serialize;

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing; nothing has to be done now.
    Note,
    /// Servers stalled with exactly this.
    Serious,
}

/// What a rule saw.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    severity: Severity,
    text: String,
}

/// Why a rule tells nothing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Untold {
    /// It saw nothing, or the server's version does not have what it looks at.
    Fine,
    /// Evidence is missing, and why.
    Missing(String),
}

/// What became of a rule.
pub(crate) type Judged = Result<Seen, Untold>;

fn serious(text: String) -> Judged {
    Ok(Seen {
        severity: Severity::Serious,
        text,
    })
}

fn note(text: String) -> Judged {
    Ok(Seen {
        severity: Severity::Note,
        text,
    })
}

fn graded(is_serious: bool, text: String) -> Judged {
    match is_serious {
        true => serious(text),
        false => note(text),
    }
}

/// Ends a rule that saw nothing.
fn fine_if(nothing: bool) -> Result<(), Untold> {
    match nothing {
        true => Err(Untold::Fine),
        false => Ok(()),
    }
}

/// What was read, or nothing where the server's version does not have it.
fn maybe<T>(read: Result<T, Untold>) -> Result<Option<T>, Untold> {
    match read {
        Err(Untold::Fine) => Ok(None),
        read => read.map(Some),
    }
}

/// What was read, or something else where the server's version does not have it.
fn or<T>(read: Result<T, Untold>, otherwise: T) -> Result<T, Untold> {
    Ok(maybe(read)?.unwrap_or(otherwise))
}

/// A rule that found a problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditLine {
    /// Id of the rule.
    pub rule: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The problem, with the value that was read.
    pub saw: String,
    /// Why it matters.
    pub why: &'static str,
    /// The cause of the catalogue that it may become; some rules have none.
    pub cause: Option<&'static str>,
    /// The command that shows what to do.
    pub remedy: Option<String>,
    /// Where this is known from.
    pub source: &'static str,
}

/// A rule that cannot be judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotJudged {
    /// Id of the rule.
    pub rule: &'static str,
    /// The evidence that is missing.
    pub why: String,
}

/// The answer of all rules.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Audit {
    /// What was seen, the serious first, else in the order of the table.
    pub lines: Vec<AuditLine>,
    /// Rules that saw nothing.
    pub fine: Vec<&'static str>,
    /// Rules without evidence.
    pub not_judged: Vec<NotJudged>,
}

impl Audit {
    /// Something serious was seen.
    pub fn is_serious(&self) -> bool {
        self.lines
            .iter()
            .any(|line| line.severity == Severity::Serious)
    }
}

/// Applies all rules.
pub fn audit(look: &Look) -> Audit {
    let mut audit = Audit::default();
    for rule in RULES {
        match (rule.judge)(look) {
            Ok(seen) => audit.lines.push(AuditLine {
                rule: rule.id,
                severity: seen.severity,
                saw: seen.text,
                why: rule.why,
                cause: rule.cause,
                remedy: rule.cause.map(|cause| format!("freezeframe fix {cause}")),
                source: rule.source,
            }),
            Err(Untold::Fine) => audit.fine.push(rule.id),
            Err(Untold::Missing(why)) => audit.not_judged.push(NotJudged { rule: rule.id, why }),
        }
    }
    audit
        .lines
        .sort_by_key(|line| std::cmp::Reverse(line.severity));
    audit
}
