//! What of an incident goes on two sheets of paper: first what it was and what to do, then why and where it is from.
//!
//! A post-mortem is read by people who were not there, long after: so what the cause is stands in sentences, and the
//! sheets bring no more of each thing than fits on them.

use diagnosis::{Verdict, Witness};
use model::Incident;

use super::absences::sentence;
use super::brief::{
    self, CLIENT_IMPACT, CONFIDENCE, CURRENT_ACTIVITY, DO_NOW, NOT_ALL, REFUTED, SINCE,
};
use super::findings::{self, Context};
use crate::document::{Answer, Part, Prose, Section};
use crate::time_format;

/// Signs for a finding and signs against it that are printed.
const WITNESSES_MAX: (usize, usize) = (8, 2);

/// Layers of what was going on that are printed where no cause was found.
const MECHANISM_MAX: usize = 6;

/// What is absent that is named.
const ABSENT_NAMED: usize = 8;

/// Files that are named.
const FILES_MAX: usize = 3;

/// A longer sign ends at the end of a clause, or of a word, in characters: with its numbers it takes two lines.
const SIGN_MAX: usize = 140;

/// The title above who did it.
pub(crate) const WHO: &str = "Who did it, and how sure";

/// What the cause is, for people who may not know it, and what else had a part in it. Where no cause was found, the
/// verdict's own sentence.
pub(crate) fn in_sentences(verdict: &Verdict) -> String {
    match brief::found(verdict) {
        Some(first) => first.what.clone() + &brief::relations(verdict),
        None => verdict.sentence.clone(),
    }
}

/// What stands above the pictures of the stall.
pub(crate) fn above(incident: &Incident, verdict: &Verdict) -> Vec<Part> {
    brief::answers_to(&[CLIENT_IMPACT, SINCE], incident, verdict)
}

/// What stands below them: what to do before anything else.
pub(crate) fn below(incident: &Incident, verdict: &Verdict) -> Vec<Part> {
    brief::answers_to(&[DO_NOW, CURRENT_ACTIVITY, REFUTED], incident, verdict)
}

/// The second sheet.
pub(crate) fn why(incident: &Incident, verdict: &Verdict) -> Vec<Section> {
    let context = Context {
        incident,
        verdict,
        picked: None,
    };
    let signs = |all: &[Witness], most: usize| {
        let all = brief::without_repetition(all);
        let shown: Vec<Witness> = all.iter().take(most).copied().map(shortened).collect();
        let mut parts = findings::witnesses(&context, &shown);
        if all.len() > most {
            let more = all.len() - most;
            parts.push(Part::Note(format!("{more} more in the report.").into()));
        }
        parts
    };
    let (why, against) = match brief::found(verdict) {
        Some(finding) => (
            signs(&finding.witnesses, WITNESSES_MAX.0),
            signs(&finding.against, WITNESSES_MAX.1),
        ),
        None => {
            let layers = verdict.mechanism.iter().take(MECHANISM_MAX);
            let layers: Vec<&str> = layers.map(|one| one.says.as_str()).collect();
            let parts = match layers.is_empty() {
                true => Vec::new(),
                false => vec![Part::list(layers)],
            };
            (parts, Vec::new())
        }
    };
    let title = match brief::found(verdict) {
        Some(_) => "Why",
        None => "Activity in the stall",
    };
    [
        (title, why),
        ("Against", against),
        (
            WHO,
            brief::answers_to(&[brief::WHO, CONFIDENCE, NOT_ALL], incident, verdict),
        ),
        ("Missing evidence", absent(incident, verdict)),
        ("Origin", provenance(incident, verdict)),
    ]
    .into_iter()
    .filter_map(|(title, parts)| Section::from_parts(title, parts))
    .collect()
}

fn shortened(witness: &Witness) -> Witness {
    Witness {
        says: brief::quoted(&witness.says, SIGN_MAX),
        ..witness.clone()
    }
}

/// What is absent, in one line.
fn absent(incident: &Incident, verdict: &Verdict) -> Vec<Part> {
    let recorded = incident.absent.iter().map(|timed| &timed.absent);
    let mut names: Vec<&str> = Vec::new();
    let mut first = None;
    for absent in verdict.absent.iter().chain(recorded) {
        if !names.contains(&absent.what.as_str()) {
            names.push(&absent.what);
            first.get_or_insert(absent);
        }
    }
    let says = match (first, names.len()) {
        (None, _) => "None.".to_owned(),
        (Some(first), 1) => brief::quoted(&sentence(first), SIGN_MAX),
        (Some(_), count) => {
            let named = names.iter().take(ABSENT_NAMED).copied();
            let named = named.collect::<Vec<&str>>().join(", ");
            match count.saturating_sub(ABSENT_NAMED) {
                0 => format!("{named}."),
                more => format!("{named}, and {more} more."),
            }
        }
    };
    vec![Part::paragraph(says)]
}

/// The server, the host, the moments, the file.
pub(super) fn provenance(incident: &Incident, verdict: &Verdict) -> Vec<Part> {
    let server = &incident.server;
    let pid = server.pid.map(|pid| format!("pid {pid}"));
    let pid = pid.unwrap_or_default();
    let listed = |names: &[&str]| {
        let names = names.iter().filter(|name| !name.is_empty()).copied();
        names.collect::<Vec<&str>>().join(", ")
    };
    let fact = |name: &str| {
        let mut facts = incident.facts.iter();
        let found = facts.find(|timed| timed.fact.name == name);
        found.map_or("", |timed| timed.fact.value.as_str())
    };
    let kernel = match fact("host.kernel") {
        "" => String::new(),
        kernel => format!("kernel {kernel}"),
    };
    let mut files: Vec<&str> = verdict
        .sources
        .iter()
        .filter(|source| source.skipped.is_none())
        .map(|source| source.path.as_str())
        .collect();
    let more_files = match files.len().saturating_sub(FILES_MAX) {
        0 => String::new(),
        more => format!("{more} more files"),
    };
    files.truncate(FILES_MAX);
    files.push(&more_files);
    let answer = |label: &'static str, says: String| {
        (!says.is_empty()).then(|| Answer::new(label, Prose::from(says)))
    };
    let answers = [
        answer(
            "server",
            listed(&[&server.label, &server.version, &pid, &server.address]),
        ),
        answer("host", listed(&[&incident.host, &kernel])),
        answer("time", times(incident)),
        answer("noticed by", noticed(incident)),
        answer("file", listed(&files)),
        answer("incident", incident.id.clone()),
        answer(
            "programs",
            format!(
                "recorded by freezeframe {}, written by freezeframe {}",
                incident.tool_version,
                env!("CARGO_PKG_VERSION")
            ),
        ),
    ];
    vec![Part::Answers(answers.into_iter().flatten().collect())]
}

/// Onset, trigger and end to the millisecond: others look them up in logs of their own.
fn times(incident: &Incident) -> String {
    let stall = &incident.stall;
    if !incident.clock.is_known() {
        return "not in the input".to_owned();
    }
    let moment = |at| time_format::date_time(incident.clock.wall_ms(at));
    let end = stall.end.map_or_else(
        || "end not in the recording".to_owned(),
        |end| format!("end {}", moment(end)),
    );
    format!(
        "onset {}, trigger {}, {end} (UTC)",
        moment(stall.onset),
        moment(stall.trigger)
    )
}

/// The rules that fired.
fn noticed(incident: &Incident) -> String {
    let mut rules: Vec<&str> = Vec::new();
    for trigger in &incident.stall.triggers {
        if !rules.contains(&trigger.rule.as_str()) {
            rules.push(&trigger.rule);
        }
    }
    rules.join(", ")
}
