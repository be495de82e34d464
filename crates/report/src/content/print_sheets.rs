//! What of an incident goes on two sheets of paper: first what it was and what to do, then why and where it is from.
//!
//! A post-mortem is read by people who were not there, long after: so what the cause is stands in sentences, and the
//! sheets bring no more of each thing than fits on them.

use diagnosis::{Finding, Rejected, Verdict, Witness};
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

/// Permanent changes, ways to see that it worked, and commands that are printed, as far as there is room.
const STEPS_MAX: (usize, usize, usize) = (3, 2, 1);

/// Rows of text that the first sheet has beside its pictures, on the smaller of the usual papers, and characters in each
/// with a wide font.
const ROWS_MAX: (usize, usize) = (22, 80);

/// Signs and other causes: the second sheet has room for so many.
const LINES_MAX: usize = 8;

/// Other findings, and causes that were ruled out for a reason of their own, that are printed.
const OTHERS_MAX: (usize, usize) = (2, 2);

/// A longer sign of another finding ends at the end of a clause, or of a word.
const OTHER_SIGN_MAX: usize = 100;

/// Causes that are named in the line about those whose signs are missing.
const UNSIGNED_NAMED: usize = 4;

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

/// What stands below them: what to do before anything else. Those who talk about it afterwards want to know, too, what
/// keeps it from coming back.
pub(crate) fn below(incident: &Incident, verdict: &Verdict) -> Vec<Part> {
    let mut parts = brief::answers_to(&[DO_NOW, CURRENT_ACTIVITY], incident, verdict);
    let refuted = brief::answers_to(&[REFUTED], incident, verdict);
    if let Some(finding) = brief::found(verdict) {
        let taken = rows(&in_sentences(verdict))
            + rows_of(&above(incident, verdict))
            + rows_of(&parts)
            + rows_of(&refuted);
        let room = ROWS_MAX.0.saturating_sub(taken);
        parts.extend(for_good(incident, finding, room));
    }
    parts.extend(refuted);
    parts
}

/// Permanent changes, and how to see that they worked, in so many rows.
fn for_good(incident: &Incident, finding: &Finding, mut room: usize) -> Option<Part> {
    let remedy = &finding.remedy;
    let mut answers = Vec::new();
    for (label, steps, most) in [
        ("permanent fix", &remedy.durable, STEPS_MAX.0),
        ("verify", &remedy.verify, STEPS_MAX.1),
        ("commands", &remedy.fix, STEPS_MAX.2),
    ] {
        let mut lines = Vec::new();
        for line in brief::on_paper(&incident.server, steps, most) {
            let needed = rows(&line.plain());
            if needed <= room {
                room -= needed;
                lines.push(line);
            }
        }
        if !lines.is_empty() {
            answers.push(Answer::lines(label, lines));
        }
    }
    (!answers.is_empty()).then_some(Part::Answers(answers))
}

/// Rows that a text takes on paper.
fn rows(text: &str) -> usize {
    text.chars().count().div_ceil(ROWS_MAX.1)
}

/// Rows that answers take.
fn rows_of(parts: &[Part]) -> usize {
    let answers = parts.iter().filter_map(|part| match part {
        Part::Answers(answers) => Some(answers),
        _ => None,
    });
    let lines = answers.flatten().flat_map(|answer| &answer.lines);
    lines.map(|line| rows(&line.plain())).sum()
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
    let others = others(verdict, LINES_MAX.saturating_sub(printed(verdict)));
    let others = match others.is_empty() {
        true => Vec::new(),
        false => vec![Part::list(others)],
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
        ("Other causes", others),
        ("Missing evidence", absent(incident, verdict)),
        ("Origin", provenance(incident, verdict)),
    ]
    .into_iter()
    .filter_map(|(title, parts)| Section::from_parts(title, parts))
    .collect()
}

/// The lines of the signs, or of what was going on.
fn printed(verdict: &Verdict) -> usize {
    let signs = |all: &[Witness], most| brief::without_repetition(all).len().min(most);
    match brief::found(verdict) {
        Some(finding) => {
            signs(&finding.witnesses, WITNESSES_MAX.0) + signs(&finding.against, WITNESSES_MAX.1)
        }
        None => verdict.mechanism.len().min(MECHANISM_MAX),
    }
}

/// Other findings, each with its first sign, and then causes that looked alike and are not it.
fn others(verdict: &Verdict, most: usize) -> Vec<String> {
    let told = usize::from(brief::found(verdict).is_some());
    let others = verdict.findings.iter().skip(told);
    let line = |finding: &Finding| {
        let titled = brief::titled(finding);
        match finding.witnesses.first() {
            Some(witness) => {
                let sign = brief::witness_text(witness, OTHER_SIGN_MAX);
                format!("{titled}: {sign}")
            }
            None => format!("{titled}."),
        }
    };
    let mut lines: Vec<String> = others.take(OTHERS_MAX.0).map(line).collect();
    lines.extend(ruled_out(verdict));
    lines.truncate(most);
    lines
}

/// Causes that were ruled out. What only lacks its signs is told in one line for all.
fn ruled_out(verdict: &Verdict) -> Vec<String> {
    let (own, unsigned): (Vec<&Rejected>, Vec<&Rejected>) = verdict
        .rejected
        .iter()
        .partition(|rejected| rejected.looked_in.is_empty());
    let reason = |rejected: &Rejected| {
        let why = brief::quoted(&rejected.why, OTHER_SIGN_MAX);
        format!("Ruled out: {}, because {why}", rejected.title)
    };
    let own = own.into_iter().take(OTHERS_MAX.1);
    let mut lines: Vec<String> = own.map(reason).collect();
    if !unsigned.is_empty() {
        let named = unsigned.iter().take(UNSIGNED_NAMED);
        let named: Vec<&str> = named.map(|rejected| rejected.title.as_str()).collect();
        let more = match unsigned.len().saturating_sub(UNSIGNED_NAMED) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        lines.push(format!(
            "Ruled out, because their necessary signs are missing: {}{more}.",
            named.join("; ")
        ));
    }
    lines
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
