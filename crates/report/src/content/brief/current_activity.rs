//! Where no cause was found: what the server was doing, and what would decide it.

use diagnosis::{Mechanism, Verdict, idle};
use model::{Absent, Incident, OrderBy};

use super::confidence::missing_area;
use super::phrases::sentence;
use super::{CAUSE, CONFIDENCE, CURRENT_ACTIVITY, DO_NOW};
use crate::document::Answer;

/// Layers that are told: what most of the sessions, threads or processors were in.
const LAYERS_MAX: usize = 2;

/// The layer of what belongs to none: that something was in it says nothing.
const NAMELESS: &str = "other";

/// Causes that it may be, at the most.
const PERHAPS_MAX: usize = 2;

/// What stands before the command that takes a kind of evidence.
const TAKEN_BY: &str = "taken by: ";

/// What a whole is called in the report, and for somebody who sees it for the first time.
const PLAIN: [(&str, &str); 10] = [
    (
        "the threads that neither idle nor wait for a lock are in",
        "the threads that worked while most others waited were in",
    ),
    (
        "the sessions that do something are in",
        "the busy sessions were in",
    ),
    (
        "the threads that do not idle are in",
        "the busy threads were in",
    ),
    (
        "the server's samples are in",
        "the server's CPU time went into",
    ),
    ("the CPU samples are in", "the CPU time went into"),
    (
        "the samples outside the server are in",
        "the CPU time of other programs went into",
    ),
    (
        "the waits that InnoDB lists are in",
        "the waits in InnoDB were for",
    ),
    (
        "the waits for locks that the server tells are in",
        "the waits for locks were for",
    ),
    (
        "the time of the logged statements are in",
        "the time of the logged statements went into",
    ),
    ("Sentences tell of", "The text speaks of"),
];

/// The cause and the next step where the server had nothing to do.
const NOTHING_STALLED: &str = "None: the server had nothing to do, so nothing could stall.";
const WHILE_SLOW: &str =
    "Capture again while clients are slow. For a stall that is over: freezeframe explain --at TIME";

/// The lines beside what users felt.
pub(super) fn answers(incident: &Incident, verdict: &Verdict) -> Vec<Answer> {
    if let Some(says) = idle(incident)
        && verdict.findings.is_empty()
    {
        return vec![
            Answer::new(CAUSE, NOTHING_STALLED.to_owned()).strong(),
            Answer::new(CURRENT_ACTIVITY, format!("Nothing. {says}")),
            Answer::new(DO_NOW, WHILE_SLOW.to_owned()),
        ];
    }
    vec![
        Answer::new(CAUSE, cause(verdict)).strong(),
        Answer::new(CURRENT_ACTIVITY, doing(verdict)),
        Answer::new(DO_NOW, decide(incident, verdict)),
        Answer::new(CONFIDENCE, sure(verdict)),
    ]
}

/// That no cause was found, and what it may be.
pub(super) fn cause(verdict: &Verdict) -> String {
    let titles: Vec<String> = verdict
        .findings
        .iter()
        .take(PERHAPS_MAX)
        .map(|finding| finding.title.clone())
        .collect();
    match titles.is_empty() {
        true => "Unknown: none of the known causes fits what was recorded.".to_owned(),
        false => format!("Unknown. It may be: {}.", titles.join("; or: ")),
    }
}

/// What the server was doing, by the sources that show most of it.
fn doing(verdict: &Verdict) -> String {
    // One of each source first: two layers of the same say less than two views.
    let mut layers: Vec<&Mechanism> = Vec::new();
    for one in verdict.mechanism.iter().filter(|one| one.layer != NAMELESS) {
        if layers.iter().all(|other| other.source != one.source) {
            layers.push(one);
        }
    }
    layers.order_by_key(|one| order(&one.source));
    // The same layer by another view is no second answer.
    let mut told: Vec<&str> = Vec::new();
    layers.retain(|one| {
        let is_new = !told.contains(&one.layer.as_str());
        told.push(&one.layer);
        is_new
    });
    layers.truncate(LAYERS_MAX);
    match layers.is_empty() {
        true => "The input does not say.".to_owned(),
        false => layers.into_iter().map(layer).collect::<Vec<_>>().join(" "),
    }
}

/// What sessions are in says most to people; words in prose least.
fn order(source: &str) -> u8 {
    match source {
        "processlist" => 0,
        "locks" | "semaphores" => 1,
        "threads-at-work" | "stacks" => 2,
        "logs" => 4,
        "sentences" => 5,
        _ => 3,
    }
}

/// A layer without the names in it.
fn layer(one: &Mechanism) -> String {
    let mut says = one.says.split(": ").next().unwrap_or_default().to_owned();
    for (ours, plain) in PLAIN {
        says = says.replace(ours, plain);
    }
    sentence(&says)
}

/// What to look at next: what the first of the causes that it may be lacks, else the first that is absent.
fn decide(incident: &Incident, verdict: &Verdict) -> String {
    let recorded = incident.absent.iter().map(|timed| &timed.absent);
    let absent: Vec<&Absent> = verdict.absent.iter().chain(recorded).collect();
    let area = verdict.findings.first().and_then(missing_area);
    let of_area = area.and_then(|area| {
        let mut named = absent.iter().filter(|one| one.what == area.in_captures);
        Some((area.plain, named.find_map(|one| command(&one.detail))?))
    });
    let first = || {
        let mut all = absent.iter();
        all.find_map(|one| Some((in_words(&one.what), command(&one.detail)?)))
    };
    match of_area.or_else(first) {
        Some((what, command)) => format!("While it lasts, record {what}: {command}"),
        None if absent.is_empty() => "Look at threads, statements and curves with --full.".to_owned(),
        None => "Look at threads, statements and curves with --full. To record the missing evidence next time: freezeframe check"
            .to_owned(),
    }
}

/// What is missing as people call it, where captures have a word for one thing only.
fn in_words(what: &str) -> &str {
    let mut plain = model::areas()
        .filter(|area| area.in_captures == what)
        .map(|area| area.plain);
    let first = plain.next();
    first
        .filter(|first| plain.all(|other| other == *first))
        .unwrap_or(what)
}

/// The command that takes what a line says is missing.
fn command(line: &str) -> Option<&str> {
    let (_, command) = line.rsplit_once(TAKEN_BY)?;
    let command = command.split(", or: ").next()?;
    let command = command.trim();
    // The parentheses of the line around it.
    let is_open = command.matches('(').count() < command.matches(')').count();
    Some(match is_open {
        true => command.trim_end_matches(')'),
        false => command,
    })
}

fn sure(verdict: &Verdict) -> String {
    match verdict.findings.is_empty() {
        true => "No cause has its necessary signs.".to_owned(),
        false => "Not sure: something points to it, but nothing proves it.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use model::{Reading, Stall, Timeline, Trigger, Unit};

    use super::*;
    use crate::testing::incident_of;

    /// A time that was asked for: statements under way and clients, and statements a second.
    fn requested(under_way: f64, clients: f64, statements: f64) -> Incident {
        let mut timeline = Timeline::default();
        for second in 0..=100_u32 {
            let gauge = |name: &str, value| Reading::gauge(name.to_owned(), Unit::Count, value);
            let counter = |name: &str, each: f64| {
                Reading::counter(name.to_owned(), Unit::Count, each * f64::from(second))
            };
            let readings = [
                gauge("processlist.in_flight", under_way),
                gauge("processlist.clients", clients),
                gauge("processlist.hung", 0.0),
                counter("status.Questions", statements),
                counter("process.user_ticks", 0.6),
            ];
            timeline.push_readings("test", u64::from(second) * 1000, &readings);
        }
        let mut incident = incident_of(timeline);
        incident.stall.triggers = vec![Trigger {
            rule: Stall::REQUESTED.to_owned(),
            says: "an incident was requested".to_owned(),
        }];
        incident
    }

    #[test]
    fn what_is_missing_is_called_as_elsewhere() {
        assert_eq!(
            in_words("profile of the processors"),
            "where the processors were"
        );
        assert_eq!(in_words("InnoDB status"), "the status of InnoDB");
        // One word for many.
        let host = "processors, memory and disks of the host";
        assert_eq!(in_words(host), host);
        assert_eq!(in_words("compressed sessions"), "compressed sessions");
    }

    #[test]
    fn one_layer_is_told_once() {
        let seen = |source: &str, layer: &str, says: &str| Mechanism {
            source: source.to_owned(),
            layer: layer.to_owned(),
            role: "waits".to_owned(),
            share: 0.5,
            names: Vec::new(),
            says: says.to_owned(),
        };
        let mut verdict =
            diagnosis::diagnose(&requested(3.0, 9.0, 9.0), diagnosis::Catalogue::builtin());
        verdict.mechanism = vec![
            seen(
                "threads-at-work",
                "adaptive-hash",
                "100 % of the threads that neither idle nor wait for a lock are in the adaptive hash index: x.",
            ),
            seen(
                "stacks",
                "adaptive-hash",
                "33 % of the threads that do not idle are in the adaptive hash index: x.",
            ),
            seen(
                "profile",
                "parser",
                "40 % of the CPU samples are in parsing statements: y.",
            ),
        ];
        assert_eq!(
            doing(&verdict),
            "100 % of the threads that worked while most others waited were in the adaptive hash index. \
             40 % of the CPU time went into parsing statements."
        );
    }

    #[test]
    fn an_idle_server_is_said_to_be_idle() {
        let catalogue = diagnosis::Catalogue::builtin();
        let text = |incident: &Incident| {
            let verdict = diagnosis::diagnose_closely(incident, catalogue);
            let options = crate::TextOptions {
                width: 400,
                color: false,
            };
            let brief = crate::brief_text(incident, &verdict, &[], &options);
            (brief, verdict.sentence)
        };
        let (brief, sentence) = text(&requested(0.0, 0.0, 9.9));
        for part in [
            "cause       None: the server had nothing to do, so nothing could stall.\n",
            "was doing   Nothing. The server was idle: no client ran a statement.\n",
            "do now      Capture again while clients are slow.",
        ] {
            assert!(brief.contains(part), "{brief}");
        }
        assert!(sentence.starts_with("The server was idle: no client ran a statement. No known"));
        let (brief, _) = text(&requested(0.0, 20.0, 9.9));
        assert!(
            brief.contains("none of 20 clients ran a statement"),
            "{brief}"
        );
        // Who works is not idle, and a stall that was noticed is no idleness.
        for busy in [requested(3.0, 20.0, 9.9), requested(0.0, 20.0, 400.0)] {
            assert_eq!(idle(&busy), None);
        }
        let mut stalled = requested(0.0, 20.0, 9.9);
        stalled.stall.triggers[0].rule = "work-stops".to_owned();
        assert_eq!(idle(&stalled), None);
    }
}
