//! What a verdict says to somebody who was woken up, in pieces, for views that have a line for each: as the first lines
//! of a report, without ids and without digits that nobody needs.

use diagnosis::{Finding, Rejected, Verdict, Witness};
use model::Server;

use crate::content::{absences, brief};

/// Longer signs end at the end of a clause, in characters.
const SIGN_MAX: usize = 160;

/// The verdict in sentences: the cause with its level, what else had a part in it, the sign that says most. Where no cause
/// was found, the verdict's own sentence.
pub fn verdict_text(verdict: &Verdict) -> String {
    let Some(first) = brief::found(verdict) else {
        return verdict.sentence.clone();
    };
    let relations = brief::relations(verdict);
    let sign = signs(&first.witnesses).into_iter().next();
    let sign = sign.map_or_else(String::new, |sign| {
        format!(" {}", brief::capital(&brief::sentence(&sign_text(sign))))
    });
    format!("{}.{relations}{sign}", brief::titled(first))
}

/// The signs of a finding without those that say again what one before says.
pub fn signs(witnesses: &[Witness]) -> Vec<&Witness> {
    brief::without_repetition(witnesses)
}

/// What a sign says, in short: `threads had to compact memory, at 866/s, 7.1/s before`.
pub fn sign_text(witness: &Witness) -> String {
    brief::witness_text(witness, SIGN_MAX)
        .trim_end_matches('.')
        .to_owned()
}

/// The step to try first for this server; empty without one.
pub fn first_step(server: &Server, finding: &Finding) -> String {
    let lines = brief::first_step(server, finding);
    lines.first().map_or_else(String::new, |line| line.plain())
}

/// Why a cause that looked alike is not it, without patterns and formulas.
pub fn rejection(rejected: &Rejected) -> String {
    absences::in_words(rejected)
}
