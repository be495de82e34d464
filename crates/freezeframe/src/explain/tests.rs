//! What is told first of each cause that we know.

use diagnosis::{Cause, Finding, Level, Verdict};
use testbed::{IncidentSize, made_incident};

use super::*;

fn verdict_of(cause: &Cause) -> Verdict {
    Verdict {
        sentence: String::new(),
        findings: vec![Finding {
            cause: cause.id.clone(),
            title: cause.title.clone(),
            what: cause.what.clone(),
            level: Level::Likely,
            confidence: 0.6,
            witnesses: Vec::new(),
            against: Vec::new(),
            refuted_by: Vec::new(),
            unknown: Vec::new(),
            actors: Vec::new(),
            relations: Vec::new(),
            remedy: cause.remedy.clone(),
            sources: Vec::new(),
        }],
        folded: Vec::new(),
        mechanism: Vec::new(),
        rejected: Vec::new(),
        absent: Vec::new(),
        sources: Vec::new(),
    }
}

#[test]
fn of_each_cause_a_first_step_is_told_that_is_short() {
    let mut incident = made_incident(&IncidentSize::small());
    incident.server.version.clear();
    let options = report::TextOptions {
        width: 400,
        color: false,
    };
    for cause in causes::catalogue().causes() {
        let text = report::brief_text(&incident, &verdict_of(cause), &[], &options);
        let step = text.lines().skip_while(|line| !line.starts_with("do now "));
        let step: Vec<&str> = step
            .take_while(|line| !line.starts_with("how sure "))
            .collect();
        println!("{}\n{}", cause.id, step.join("\n"));
        let longest = step.iter().map(|line| line.chars().count()).max();
        assert!(
            !step.is_empty() && step.len() <= 3,
            "{}: {step:#?}",
            cause.id
        );
        assert!(
            longest.is_some_and(|most| most <= 260),
            "{}: {step:#?}",
            cause.id
        );
        assert!(!text.contains("Unknown; see --full"), "{}", cause.id);
    }
}

#[test]
fn space_is_made_also_where_there_is_no_binary_log() {
    let incident = made_incident(&IncidentSize::small());
    let cause = causes::catalogue().get("disk-full").unwrap();
    let options = report::TextOptions {
        width: 400,
        color: false,
    };
    let text = report::brief_text(&incident, &verdict_of(cause), &[], &options);
    assert!(
        text.contains("Grow the volume or remove files of other programs; or: PURGE"),
        "{text}"
    );
}
