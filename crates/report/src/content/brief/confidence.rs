//! How sure a finding is, and what is missing.

use std::collections::BTreeSet;

use diagnosis::{Finding, Level, Verdict, Witness};
use model::{Absent, Area, Incident, READ_IN_PART, Reason};

use super::phrases::{coarse, has_names, is_plain, quoted};
use crate::document::{Answer, Prose};

/// The label of what is absent.
pub(super) const ABSENT: &str = "missing";

/// What is absent that is named; the others are a number.
const ABSENT_NAMED: usize = 2;

/// Longer signs end at the end of a clause, in characters.
const SIGN_MAX: usize = 120;

/// Numbers that differ by no more than this share of the larger are the same to people.
const SAME_SHARE: f64 = 0.1;

/// Signs for it and against it, the one that says most, and what is missing most.
pub(super) fn confidence(finding: &Finding) -> Vec<Prose> {
    let count = |witnesses: &[Witness]| match witnesses.len() {
        0 => "none".to_owned(),
        1 => "1 sign".to_owned(),
        count => format!("{count} signs"),
    };
    let level = match finding.level {
        Level::Certain => "Certain",
        Level::Likely => "Likely",
        Level::Possible => "Only possible",
        Level::Suspicion => "A guess",
    };
    let mut first = format!(
        "{level}: {} for it, {} against it.",
        count(&finding.witnesses),
        count(&finding.against)
    );
    if let Some(witness) = strongest(&finding.witnesses) {
        first.push_str(&format!(" Strongest: {}", witness_text(witness, SIGN_MAX)));
    }
    let mut lines = vec![first];
    if let Some(against) = strongest(&finding.against) {
        lines.push(format!("Against: {}", witness_text(against, SIGN_MAX)));
    }
    if let Some(missing) = missing(finding) {
        lines.push(format!("Most important missing evidence: {missing}."));
    }
    lines.into_iter().map(Prose::from).collect()
}

/// The sign that says most to somebody who does not know the server's insides: one that proves, in plain words. A number
/// that was the same before persuades nobody, however large it is.
fn strongest(witnesses: &[Witness]) -> Option<&Witness> {
    let plain = witnesses.iter().filter(|one| is_plain(&one.says));
    plain.min_by_key(|one| {
        (
            is_as_before(one),
            has_names(&one.says),
            !one.conclusive,
            one.value.is_none(),
        )
    })
}

/// Whether it tells a number of before that people take for the same as its own.
fn is_as_before(witness: &Witness) -> bool {
    let tells = [" before the onset", " after the end"];
    let (Some(now), Some(before)) = (witness.value, witness.baseline) else {
        return false;
    };
    tells.iter().any(|words| witness.says.contains(words))
        && (now - before).abs() <= SAME_SHARE * now.abs().max(before.abs())
}

/// What a sign says, without words of ours.
pub(crate) fn witness_text(witness: &Witness, length: usize) -> String {
    let says = witness.says.replace(", against ", ", ");
    let says = says.replace(" before the onset", " before");
    quoted(
        &coarse(&says.replace(" after the end", " afterwards")),
        length,
    )
}

/// What would have carried a sign, in words for people.
fn missing(finding: &Finding) -> Option<String> {
    let mut unknown = finding.unknown.iter();
    unknown.find_map(|line| words_of(line))
}

/// The area of the first evidence that a finding lacks.
pub(super) fn missing_area(finding: &Finding) -> Option<&'static Area> {
    let mut unknown = finding.unknown.iter();
    unknown.find_map(|line| model::area_of(line.split([' ', ',']).next()?))
}

/// A line of what is not known begins with the names of what was looked for.
fn words_of(line: &str) -> Option<String> {
    if line.contains(": the time before the onset") {
        return Some("the time before the stall, to compare with".to_owned());
    }
    let name = line.split([' ', ',']).next()?;
    let area = model::area_of(name)?;
    let words = area.plain;
    let why = line.rsplit_once(" (").map(|(_, why)| why.split(':').next());
    // Of what others captured everything else is that.
    let is_usual = |why: &&str| *why == Reason::NotRecorded.to_text();
    let why = why
        .flatten()
        .filter(|why| !why.contains(')') && !is_usual(why));
    Some(match why {
        Some(why) => format!("{words} ({why})"),
        None => words.to_owned(),
    })
}

/// What was read in part only: the verdict does not know the rest. Nothing where all was read.
pub(super) fn read_in_part(verdict: &Verdict) -> Option<Answer> {
    let mut cut = verdict
        .sources
        .iter()
        .filter(|source| source.kind == READ_IN_PART);
    let first = cut.next()?;
    let why = first.skipped.as_deref().unwrap_or_default();
    let more = match cut.count() {
        0 => String::new(),
        more => format!(" The same for {more} more: --full."),
    };
    Some(Answer::new(
        super::NOT_ALL,
        format!("{}: {why}.{more}", first.path),
    ))
}

/// How much is absent, with the first of it; nothing where all is there.
pub(super) fn absent(incident: &Incident, verdict: &Verdict) -> Option<Answer> {
    let recorded = incident.absent.iter().map(|timed| &timed.absent);
    let all = verdict.absent.iter().chain(recorded);
    let mut seen = BTreeSet::new();
    let names: Vec<&str> = all
        .map(|absent: &Absent| absent.what.as_str())
        .filter(|what| seen.insert(*what))
        .collect();
    let named = names.get(..ABSENT_NAMED.min(names.len()))?.join(", ");
    let says = match names.len() {
        0 => return None,
        count if count <= ABSENT_NAMED => format!("{named}. Why: --full."),
        count => format!("{named} and {} more. Why: --full.", count - ABSENT_NAMED),
    };
    Some(Answer::new(ABSENT, says))
}

#[cfg(test)]
mod tests {
    use diagnosis::Show;

    use super::*;

    fn witness(says: &str, value: f64, baseline: f64) -> Witness {
        Witness {
            id: "x".to_owned(),
            source: "status".to_owned(),
            says: says.to_owned(),
            value: Some(value),
            baseline: Some(baseline),
            limit: None,
            signals: Vec::new(),
            conclusive: false,
            show: Show::Count,
        }
    }

    #[test]
    fn what_was_so_before_is_not_the_strongest_sign() {
        let history = witness(
            "the history list had 1.1 M transactions that were not purged, 1.1 M before the onset",
            1_103_812.0,
            1_103_062.0,
        );
        let threads = witness("39.5 threads were building old versions", 39.5, 0.2);
        let both = [history.clone(), threads.clone()];
        assert_eq!(strongest(&both), Some(&threads));
        // Where nothing else is said, it is.
        assert_eq!(strongest(&both[..1]), Some(&history));
        // What has fallen to nothing or has grown is another matter, and so is a number that is told alone.
        let fell = witness("0 answers a second, 400 before the onset", 0.0, 400.0);
        let alone = witness("the position did not move (0 bytes a second)", 0.0, 0.0);
        for sign in [fell, alone] {
            assert!(!is_as_before(&sign), "{}", sign.says);
        }
        let idle = witness("0 reads, 0 before the onset", 0.0, 0.0);
        assert!(is_as_before(&idle));
    }

    #[test]
    fn what_is_not_known_is_told_without_names_of_signals() {
        for (line, words) in [
            (
                "innodb.active_seconds_max is not in the record; taken by SHOW ENGINE INNODB STATUS, needs a login with PROCESS",
                Some("the status of InnoDB"),
            ),
            (
                "stacks is not in the record; taken by snapshots of all threads, by BPF or /proc (freezeframe check says what they need) (not recorded: not among the captures; taken by: freezeframe stacks --json, or: gdb (stops it))",
                Some("what each thread of the server did"),
            ),
            (
                "psi.io.some_us is not in the record; taken by /proc/pressure, Linux 4.20 (not available here: no PSI)",
                Some("the kernel's pressure figures (not available here)"),
            ),
            (
                "switches: the time before the onset is not in the record, or too short to compare with",
                Some("the time before the stall, to compare with"),
            ),
            ("Kernel profile: it would show it", None),
        ] {
            assert_eq!(words_of(line).as_deref(), words, "{line}");
        }
    }
}
