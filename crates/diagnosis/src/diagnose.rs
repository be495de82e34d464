use model::{Absent, Incident};

use crate::catalogue::Catalogue;
use crate::evidence::Evidence;
use crate::judge::{self, Judgement, Unjudged};
use crate::verdict::Verdict;
use crate::{FINDINGS_MAX, chains, rank, sentence};

/// Says which causes of the catalogue an incident shows, and why.
///
/// The same incident and catalogue give the same verdict. [`Verdict::sources`] is left empty: only
/// the caller knows what was read.
pub fn diagnose(incident: &Incident, catalogue: &Catalogue) -> Verdict {
    let evidence = Evidence::new(incident);
    let mut findings = Vec::new();
    let mut rejected = Vec::new();
    let mut unjudged: Vec<(String, Unjudged)> = Vec::new();
    for cause in catalogue.causes() {
        match judge::judge(cause, &evidence) {
            Judgement::Found(finding) => findings.push(*finding),
            Judgement::Rejected(reason) => rejected.push(reason),
            Judgement::Unjudged(one) => unjudged.push((cause.id.clone(), one)),
            Judgement::Nothing => {}
        }
    }
    let seen = chains::effects(&findings, catalogue, &evidence);
    let mut findings = rank::rank(findings, catalogue, &seen);
    let sentence =
        sentence::found(&findings).unwrap_or_else(|| sentence::nothing(incident, &unjudged));
    let folded = findings.split_off(findings.len().min(FINDINGS_MAX));
    Verdict {
        sentence,
        findings,
        folded,
        rejected,
        absent: absences(incident),
        sources: Vec::new(),
    }
}

/// Each absence once.
fn absences(incident: &Incident) -> Vec<Absent> {
    let mut once: Vec<Absent> = Vec::new();
    for timed in &incident.absent {
        if !once.contains(&timed.absent) {
            once.push(timed.absent.clone());
        }
    }
    once
}
