//! What a verdict says to somebody who was woken up, in pieces, for views that have a line for each: as the first lines
//! of a report, without ids and without digits that nobody needs.

use diagnosis::{Finding, Rejected, Verdict, Witness};
use model::Server;

use crate::content::{absences, brief};
use crate::standard;

/// Longer signs end at the end of a clause, in characters.
const SIGN_MAX: usize = 160;

/// How a verdict without a finding goes on.
const NOT_JUDGED: &str = " Not checked, because evidence is missing";

/// The verdict in sentences: the cause with its level, what else had a part in it, the sign that says most. Where no cause
/// was found, the verdict's own sentence.
pub fn verdict_text(verdict: &Verdict) -> String {
    let Some(first) = brief::found(verdict) else {
        // Behind that stand the ids of dozens of causes.
        return match verdict.sentence.split_once(NOT_JUDGED) {
            Some((seen, _)) => {
                format!("{seen} Not every cause could be checked, because evidence is missing.")
            }
            None => verdict.sentence.clone(),
        };
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
    if !brief::has_first_step(server, finding) {
        return String::new();
    }
    let lines = brief::first_step(server, finding);
    lines.first().map_or_else(String::new, |line| line.plain())
}

/// Why a cause that looked alike is not it, without patterns and formulas.
pub fn rejection(rejected: &Rejected) -> String {
    absences::in_words(rejected)
}

/// A signal as people call it: `connect (probe latency)`, `AnonHugePages (the kernel's memory figures)`.
pub fn signal(name: &str) -> String {
    standard::in_words(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_names_for_people() {
        for (name, words) in [
            ("probe.connect_us", "connect (probe latency)"),
            ("cpu.system_share", "system (CPU)"),
            (
                "meminfo.AnonHugePages",
                "AnonHugePages (the kernel's memory figures)",
            ),
            (
                "innodb.history_list_length",
                "history list length (the status of InnoDB)",
            ),
            (
                "innodb.active_seconds_max",
                "age of the oldest transaction (the status of InnoDB)",
            ),
            ("shop.orders", "shop.orders"),
        ] {
            assert_eq!(signal(name), words);
        }
    }

    #[test]
    fn causes_that_could_not_be_judged_are_no_list() {
        let verdict = Verdict {
            sentence: "No known cause fits. Seen: x. Not checked, because evidence is missing (innodb): a, b.".to_owned(),
            findings: Vec::new(),
            mechanism: Vec::new(),
            folded: Vec::new(),
            rejected: Vec::new(),
            absent: Vec::new(),
            sources: Vec::new(),
        };
        assert_eq!(
            verdict_text(&verdict),
            "No known cause fits. Seen: x. Not every cause could be checked, because evidence is missing."
        );
    }
}
