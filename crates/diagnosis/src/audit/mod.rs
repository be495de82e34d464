//! What could stall a server before it does: plain rules over what a short look at it found.
//!
//! Pure: a [`Look`] and the rules (`crates/diagnosis/audit`) in, lines out. A rule speaks only when
//! it has seen something; one whose evidence is absent says that and why. So a setting alone is
//! never a line: it takes what the setting does to this server.

mod look;
mod rules;
mod special;
mod steps;

pub use look::Look;
pub use rules::{Rule, rules};

use model::OrderBy;
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

/// Why a rule tells nothing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Untold {
    /// It saw nothing, or the server's version does not have what it looks at.
    Fine,
    /// Evidence is missing, and why.
    Missing(String),
}

/// What a rule saw, in words.
#[derive(Debug)]
pub(crate) struct Saw {
    pub(crate) text: String,
    /// The same without what may name a host, a path, a program.
    pub(crate) shared: String,
}

/// What came of a rule.
pub(crate) type Judged = Result<(Severity, Saw), Untold>;

/// A rule that found a problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditLine {
    /// Id of the rule.
    pub rule: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The problem, with the value that was read.
    pub saw: String,
    /// The same for strangers: what may name a host, a path or a program is hidden.
    #[serde(skip)]
    pub shared: String,
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
    /// What was seen, the serious first, else in the order of the rules.
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
    for rule in rules() {
        let id = rule.id.as_str();
        let fix = |id: &String| format!("freezeframe fix {id}");
        match rule.judge(look) {
            Ok((severity, saw)) => audit.lines.push(AuditLine {
                rule: id,
                severity,
                saw: saw.text,
                shared: saw.shared,
                why: &rule.why,
                cause: rule.cause.as_deref(),
                remedy: rule.cause.as_ref().map(fix),
                source: &rule.source,
            }),
            Err(Untold::Fine) => audit.fine.push(id),
            Err(Untold::Missing(why)) => audit.not_judged.push(NotJudged { rule: id, why }),
        }
    }
    audit
        .lines
        .order_by_key(|line| std::cmp::Reverse(line.severity));
    audit
}
