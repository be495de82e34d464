//! From an incident and the catalogue to a verdict: judges every cause, ranks the findings and adds what else is known.

use std::cell::OnceCell;

use model::{Incident, OrderBy};

use crate::actors::Scene;
use crate::catalogue::Catalogue;
use crate::evidence::Evidence;
use crate::idle::idle;
use crate::judge::{Judgement, Trial, Turned};
use crate::named::AllNamed;
use crate::once::once;
use crate::verdict::{Level, Rejected, Verdict};
use crate::{FINDINGS_MAX, advice, chains, mechanism, rank, sentence, suspicion};

/// Causes without a necessary sign that are told when there is no finding, at the most.
const REJECTED_MAX: usize = 5;

/// Says which causes of the catalogue an incident shows, and why.
///
/// The same incident and catalogue give the same verdict. [`Verdict::sources`] is left empty: only
/// the caller knows what was read.
pub fn diagnose(incident: &Incident, catalogue: &Catalogue) -> Verdict {
    diagnosed(&Evidence::new(incident), catalogue)
}

fn diagnosed(evidence: &Evidence, catalogue: &Catalogue) -> Verdict {
    let incident = evidence.incident;
    let mut findings = Vec::new();
    let mut rejected = Vec::new();
    let mut unjudged = Vec::new();
    let trials = catalogue.causes().iter();
    let trials = trials.map(|cause| Trial::new(cause, evidence));
    let (possible, lacking): (Vec<Trial>, Vec<Trial>) = trials.partition(Trial::lacks_nothing);
    let possible = possible.into_iter();
    let mut judged = Vec::new();
    judged.extend(possible.map(|one| (one.cause, one.judge(evidence))));
    let found = judged
        .iter()
        .filter(|(_, one)| matches!(one, Judgement::Found(_)));
    let found: Vec<&str> = found.map(|(cause, _)| cause.id.as_str()).collect();
    // Beside a finding only what looks like it is told of what it is not.
    let told = lacking.into_iter();
    let told = told.filter(|one| found.is_empty() || is_alike(&one.cause.id, &found, catalogue));
    judged.extend(told.map(|one| (one.cause, one.judge(evidence))));
    judged.order_by(|(one, _), (other, _)| one.id.cmp(&other.id));
    for (cause, one) in judged {
        match one {
            Judgement::Found(finding) => findings.push(*finding),
            Judgement::Rejected(turned) => rejected.push(turned),
            Judgement::Unjudged(one) => unjudged.push((cause.id.clone(), one)),
            Judgement::Nothing => {}
        }
    }
    let rejected = worth_telling(rejected, &found, catalogue);
    // What an incident tells of who did what is read once, and only where a finding asks.
    let scene = OnceCell::new();
    let scene = || scene.get_or_init(|| Scene::new(evidence));
    let seen = chains::effects(&findings, catalogue, evidence, scene);
    let mut findings = rank::rank(findings, catalogue, &seen);
    for finding in &mut findings {
        if let Some(cause) = catalogue.get(&finding.cause)
            && !cause.advice.is_empty()
        {
            advice::fit(finding, cause, scene());
        }
    }
    let sentence =
        sentence::found(&findings).unwrap_or_else(|| sentence::nothing(incident, &unjudged));
    let folded = findings.split_off(findings.len().min(FINDINGS_MAX));
    Verdict {
        sentence,
        findings,
        folded,
        mechanism: Vec::new(),
        rejected,
        absent: once(incident.absent.iter().map(|timed| timed.absent.clone())),
        sources: Vec::new(),
    }
}

/// The same for somebody who reads it: what the threads, the processors and the sessions are in, and, where no cause
/// is found in what people captured, what may be it. A recorder looks at all it can: what is not in its record was not
/// there. It asks the lexicon, which takes memory and time that a recorder has not.
pub fn diagnose_closely(incident: &Incident, catalogue: &Catalogue) -> Verdict {
    let evidence = Evidence::new(incident);
    let mut verdict = diagnosed(&evidence, catalogue);
    let named = AllNamed::from_evidence(&evidence);
    verdict.mechanism = match idle(incident) {
        Some(_) => Vec::new(),
        None => mechanism::mechanisms(&named),
    };
    if !incident.is_imported() {
        return verdict;
    }
    if verdict.findings.is_empty() {
        verdict.findings = suspicion::suspicions(catalogue, &evidence, &named);
        verdict.sentence = sentence::suspected(&verdict);
        return verdict;
    }
    rank::by_mechanism(&mut verdict.findings, catalogue, &named);
    verdict.sentence = sentence::found(&verdict.findings).unwrap_or(verdict.sentence);
    // Of what is no more than possible something else may be true: it stands behind, or before what follows from it.
    let mut found = verdict.findings.iter();
    if found.all(|one| one.level == Level::Possible) {
        let mut others = suspicion::suspicions(catalogue, &evidence, &named);
        others.retain(|other| !verdict.findings.iter().any(|one| one.cause == other.cause));
        others.truncate(FINDINGS_MAX.saturating_sub(verdict.findings.len()));
        let first = verdict.findings.first();
        let symptom = first.and_then(|one| catalogue.get(&one.cause));
        let explains = |other| symptom.is_some_and(|cause| suspicion::explains(other, cause));
        let is_root = others.first().is_some_and(explains);
        let root = is_root.then(|| others.remove(0));
        verdict.findings.extend(others);
        if let Some(root) = root {
            rank::put_root_first(&mut verdict.findings, root);
            verdict.sentence = sentence::found(&verdict.findings).unwrap_or(verdict.sentence);
        }
    }
    verdict
}

/// Causes that were turned down, as far as they tell the reader something: those that a sign speaks
/// against, those that look like what was found, and without a finding the few that most speaks for.
/// A catalogue is long, and a busy second has some sign of much in it.
fn worth_telling(turned: Vec<Turned>, found: &[&str], catalogue: &Catalogue) -> Vec<Rejected> {
    let open = turned.iter().filter(|one| !one.refuted);
    let mut signs: Vec<usize> = open.map(|one| one.signs).collect();
    signs.sort_unstable_by(|left, right| right.cmp(left));
    let enough = signs.get(REJECTED_MAX).map_or(1, |next| next + 1);
    let is_told = |one: &Turned| {
        let alone = found.is_empty() && one.signs >= enough;
        one.refuted || alone || is_alike(&one.rejected.cause, found, catalogue)
    };
    let told = turned.into_iter().filter(is_told);
    told.map(|one| one.rejected).collect()
}

/// Whether a cause looks like one that was found, as the file of either says.
fn is_alike(cause: &str, found: &[&str], catalogue: &Catalogue) -> bool {
    let names = |one: &str, other: &str| {
        let alikes = catalogue.get(one).map(|cause| cause.look_alikes.iter());
        alikes.is_some_and(|mut alikes| alikes.any(|alike| alike.cause == other))
    };
    let mut found = found.iter();
    found.any(|found| names(found, cause) || names(cause, found))
}
