use std::collections::BTreeMap;

use model::{Absent, Incident};

use crate::catalogue::Catalogue;
use crate::evidence::Evidence;
use crate::judge::{self, Judgement};
use crate::verdict::Verdict;
use crate::{FINDINGS_MAX, rank, sentence};

/// Says which causes of the catalogue an incident shows, and why.
///
/// The same incident and catalogue give the same verdict. [`Verdict::sources`] is left empty: only
/// the caller knows what was read.
pub fn diagnose(incident: &Incident, catalogue: &Catalogue) -> Verdict {
    let evidence = Evidence::new(incident);
    let mut findings = Vec::new();
    let mut rejected = Vec::new();
    let mut unjudged: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for cause in catalogue.causes() {
        match judge::judge(cause, &evidence) {
            Judgement::Found(finding) => findings.push(*finding),
            Judgement::Rejected(reason) => rejected.push(reason),
            Judgement::Unjudged(sources) => {
                for source in sources {
                    unjudged.entry(source).or_default().push(cause.id.clone());
                }
            }
            Judgement::Nothing => {}
        }
    }
    let mut findings = rank::rank(findings, catalogue);
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
