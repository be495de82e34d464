//! The first screen of an incident's page, and the moments of its stall.

use super::head::badge;
use super::{document, timeline};
use crate::content::brief;
use crate::markup::{Markup, markup};
use crate::time_format;
use diagnosis::Verdict;
use model::{Incident, Millis};

/// The first screen: the cause in a sentence, what is enough at night, and the time around the stall in pictures.
pub(super) fn header(incident: &Incident, verdict: &Verdict) -> Markup {
    markup!(
        "<header class=\"top\"><p class=\"brand\">freezeframe <span>incident report</span></p>\n\
         <h1>{cause}</h1>\n<p class=\"line\">{}</p>\n\
         <div class=\"first\">{answers}{timeline}</div></header>\n",
        match incident.clock.is_known() {
            true => brief::since(incident),
            false => "Captured by other tools, at an unknown time.".to_owned(),
        },
        answers = document::parts(&brief::below_the_cause(incident, verdict)),
        timeline = timeline::figure(incident),
        cause = cause(verdict),
    )
}

/// The cause with its level.
pub(super) fn cause(verdict: &Verdict) -> Markup {
    match brief::found(verdict) {
        Some(finding) => markup!("{} {}", finding.title, badge(finding.level)),
        None => markup!(
            "{} <span class=\"badge\">no finding</span>",
            brief::cause(verdict)
        ),
    }
}

/// The server, the moments of the stall, and what noticed it.
pub(super) fn stall(incident: &Incident) -> Markup {
    let moment = |at: Millis| {
        let wall = incident.clock.wall_ms(at);
        markup!(
            "<time datetime=\"{}\">{}</time> <small>UTC</small>",
            time_format::rfc3339(wall),
            time_format::date_time(wall)
        )
    };
    let stall = &incident.stall;
    let since_onset = |at: Millis| time_format::duration(at.saturating_sub(stall.onset));
    let server = &incident.server;
    let pid = server
        .pid
        .map(|pid| format!("pid {pid}"))
        .unwrap_or_default();
    let mut details = vec![server.version.as_str(), &pid, &server.address];
    details.retain(|part| !part.is_empty());
    let triggers: Markup = stall
        .triggers
        .iter()
        .map(|trigger| markup!("<li><code>{}</code> {}</li>", trigger.rule, trigger.says))
        .collect();
    // Captures of other tools need not tell a time of day.
    let times = match incident.clock.is_known() {
        false => Markup::literal(
            "<div class=\"wide\"><dt>Time</dt><dd>not in the input; times below are counted from its start</dd></div>",
        ),
        true => {
            let (end, lasted) = match stall.end {
                Some(end) => (moment(end), markup!("{}", since_onset(end))),
                None => (
                    Markup::literal("not in the recording"),
                    markup!(
                        "{} <small>and more</small>",
                        since_onset(incident.window.to)
                    ),
                ),
            };
            markup!(
                "<div><dt>Onset</dt><dd>{}</dd></div>\
                 <div><dt>Trigger</dt><dd>{} <small>+{}</small></dd></div>\
                 <div><dt>End</dt><dd>{end}</dd></div>\
                 <div><dt>Lasted</dt><dd>{lasted}</dd></div>",
                moment(stall.onset),
                moment(stall.trigger),
                since_onset(stall.trigger),
                ..end,
                ..lasted
            )
        }
    };
    let before = time_format::stall_before(incident).map_or_else(Markup::new, |before| {
        markup!(
            "<div class=\"wide\"><dt>Stall before</dt><dd>{before}</dd></div>\n",
            ..before
        )
    });
    markup!(
        "<dl class=\"head\"><div class=\"wide\"><dt>Server</dt><dd><b>{}</b> {}</dd></div>\n\
         {times}\n\
         {before}<div class=\"wide\"><dt>Noticed by</dt><dd><ul>{triggers}</ul></dd></div></dl>\n",
        server.label,
        details.join(", "),
        ..times,
        ..before,
        ..triggers
    )
}
