//! What is enough at night: five lines, and below them since when and what is absent.
//!
//! They are for somebody who was woken up and who may not know the server: no name of a signal, no pattern, no formula.
//! All that they leave out is in the whole report.
//!
//! **What is enough at night** (`content/brief`). The same document begins with lines for somebody who was woken up:
//! what users felt, cause with level, who did it, what to do now, how sure; then since when and what is absent.
//! `explain` ends there; `--full` goes on with the whole report. Three rules make them. What users felt is computed
//! from what clients show (answers of the probes, hanging statements, time and number of statements against the calm
//! before), not from the server's insides. A text of a sign is shown only if it has no pattern, signal or function in
//! it (`phrases::is_plain`), and its numbers lose the digits that nobody needs. The first step is the first one for
//! this server and release that is more than a look; a sentence of the risk goes with it only if it is about this
//! step, since a cause has one risk for all of its steps. A test prints the step of every cause: `cargo test -p
//! freezeframe explain::tests -- --nocapture`.

mod client_impact;
mod confidence;
mod current_activity;
mod for_server;
mod phrases;
mod related;
mod remedy;
mod who;

use diagnosis::{Finding, Level, Verdict};
use model::{Incident, OrderBy};

use crate::document::{Answer, Part, Prose};
use crate::time_format;

pub(crate) use client_impact::client_impact;
pub(crate) use confidence::witness_text;
pub(crate) use phrases::{capital, quoted, sentence, span};
pub(crate) use related::{relations, without_repetition};
pub(crate) use remedy::{first as first_step, is_known as has_first_step, on_paper};

/// The questions, as they are asked.
pub(crate) const CLIENT_IMPACT: &str = "users felt";
const CAUSE: &str = "cause";
pub(crate) const WHO: &str = "who did it";
pub(crate) const CURRENT_ACTIVITY: &str = "was doing";
pub(crate) const DO_NOW: &str = "do now";
pub(crate) const CONFIDENCE: &str = "how sure";
pub(crate) const SINCE: &str = "since";
pub(crate) const NOT_ALL: &str = "incomplete";
pub(crate) const REFUTED: &str = "disproved if";

/// Of what would refute a finding so much stands on the first screen.
const REFUTED_MAX: usize = 2;

/// The lines, in the order in which they are read.
pub(crate) fn parts(incident: &Incident, verdict: &Verdict) -> Vec<Part> {
    vec![Part::Answers(answers(incident, verdict))]
}

/// Those of the first screen of a page, where the cause and since when stand above them: what to do comes before why.
pub(crate) fn below_the_cause(incident: &Incident, verdict: &Verdict) -> Vec<Part> {
    let mut answers = with_refutation(incident, verdict);
    answers.retain(|answer| !matches!(answer.label, CAUSE | SINCE | confidence::ABSENT));
    answers.order_by_key(|answer| match answer.label {
        CLIENT_IMPACT => 0,
        DO_NOW => 1,
        _ => 2,
    });
    vec![Part::Answers(answers)]
}

/// The answers to these questions, as far as there are some, in this order.
pub(crate) fn answers_to(asked: &[&str], incident: &Incident, verdict: &Verdict) -> Vec<Part> {
    let all = with_refutation(incident, verdict);
    let of = |label: &&str| all.iter().find(|answer| answer.label == *label).cloned();
    let answers: Vec<Answer> = asked.iter().filter_map(of).collect();
    match answers.is_empty() {
        true => Vec::new(),
        false => vec![Part::Answers(answers)],
    }
}

fn with_refutation(incident: &Incident, verdict: &Verdict) -> Vec<Answer> {
    let mut answers = answers(incident, verdict);
    if let Some(finding) = found(verdict)
        && !finding.refuted_by.is_empty()
    {
        let refuted = finding.refuted_by.iter().take(REFUTED_MAX);
        let refuted = refuted.map(|line| Prose::with_code(line));
        answers.push(Answer::lines(REFUTED, refuted.collect()));
    }
    answers
}

fn answers(incident: &Incident, verdict: &Verdict) -> Vec<Answer> {
    let mut answers = vec![Answer::new(CLIENT_IMPACT, client_impact(incident))];
    answers.extend(match found(verdict) {
        Some(finding) => of_finding(incident, verdict, finding),
        None => current_activity::answers(incident, verdict),
    });
    answers.push(Answer::new(SINCE, since(incident)));
    answers.extend(confidence::read_in_part(verdict));
    answers.extend(confidence::absent(incident, verdict));
    answers
}

/// The finding that comes first; a suspicion is none.
pub(crate) fn found(verdict: &Verdict) -> Option<&Finding> {
    let first = verdict.findings.first();
    first.filter(|finding| finding.level > Level::Suspicion)
}

fn of_finding(incident: &Incident, verdict: &Verdict, finding: &Finding) -> Vec<Answer> {
    let cause = format!("{}.{}", titled(finding), relation(verdict, finding));
    vec![
        Answer::new(CAUSE, cause).strong(),
        Answer::new(WHO, who::who(incident, finding)),
        Answer::lines(DO_NOW, remedy::first(&incident.server, finding)),
        Answer::lines(CONFIDENCE, confidence::confidence(finding)),
    ]
}

/// The cause in a sentence, where none was found.
pub(crate) fn cause(verdict: &Verdict) -> String {
    current_activity::cause(verdict)
}

/// The title of a finding with its level: `Disk full (certain)`.
pub(crate) fn titled(finding: &Finding) -> String {
    format!("{} ({})", finding.title, finding.level.word())
}

/// The one other finding that matters most beside the first, in a sentence; empty without one.
fn relation(verdict: &Verdict, first: &Finding) -> String {
    let title = |cause: &str| {
        let mut all = verdict.findings.iter().chain(&verdict.folded);
        all.find(|other| other.cause == cause).map(titled)
    };
    let related = |kind: &str| {
        let mut relations = first.relations.iter().filter(|one| one.kind == kind);
        relations.find_map(|one| title(&one.cause))
    };
    // What is behind it comes before what it led to: it is where the end of the stall begins.
    for (kind, words) in [
        ("effect-of", "It may come from"),
        ("aggravated-by", "Made worse by"),
        ("root-of", "It led to"),
    ] {
        if let Some(other) = related(kind) {
            return format!(" {words}: {other}.");
        }
    }
    let beside = verdict.findings.iter().skip(1);
    let mut beside = beside.filter(|other| other.level >= Level::Likely);
    beside.next().map_or_else(String::new, |other| {
        format!(" Also found: {}.", titled(other))
    })
}

/// Since when, how long, whether it is over, and where.
pub(crate) fn since(incident: &Incident) -> String {
    let place = match incident.host.as_str() {
        "" => String::new(),
        host => format!(" Server {} on {host}.", incident.server.label),
    };
    if !incident.clock.is_known() {
        return format!("The input does not say.{place}");
    }
    let stall = &incident.stall;
    let moment = |at| time_format::date_second(incident.clock.wall_ms(at));
    let onset = moment(stall.onset);
    let lasted = |to: u64| time_format::duration(to.saturating_sub(stall.onset));
    if incident.is_imported() {
        let seen = incident.stall_window();
        let to = time_format::clock_time(incident.clock.wall_ms(seen.to));
        let part = match stall.end {
            Some(_) if incident.began_after_it() => {
                "the capture began when the stall was over: what follows may be about the time after it"
            }
            Some(_) => "the captured part; it was over then",
            None => "the captured part",
        };
        return format!("{} to {to} UTC, {part}.{place}", moment(seen.from));
    }
    let says = match stall.end {
        Some(end) if stall.is_request_only() => {
            format!("{onset} UTC, {}, as requested.", lasted(end))
        }
        Some(end) => format!(
            "{onset} UTC, for {}; over at {}.",
            lasted(end),
            time_format::clock_time(incident.clock.wall_ms(end))
        ),
        None => format!(
            "{onset} UTC, for {} or longer: it still lasted when the recording ended.",
            lasted(incident.window.to)
        ),
    };
    says + &place
}
