//! The page's head, the verdict at its top, and its script.

use crate::markup::{Markup, markup};
use diagnosis::Verdict;
use model::{Incident, Millis};

use super::{document, timeline};
use crate::content::brief;
use crate::when;

const STYLE: &str = include_str!("../../assets/report.css");
const FLAME_STYLE: &str = include_str!("../../assets/flame.css");

/// A script of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Script {
    text: &'static str,
    /// SHA-256 of the text in base64, for the content security policy; a test compares it.
    sha256: &'static str,
}

impl Script {
    /// Reads values off the charts.
    pub(super) const REPORT: Self = Self {
        text: include_str!("../../assets/report.js"),
        sha256: "jhoGy4RlmJ3PCNcSjvJY9zzIk6LfpNkOSmW/anzKrGs=",
    };
    /// Draws flame graphs.
    pub(super) const FLAME: Self = Self {
        text: include_str!("../../assets/flame.js"),
        sha256: "qyZCy6xTyz49b627i/P+d+NQWVnIMDW5VcilaclMzL4=",
    };
}

/// Everything of a page up to and with its opened body. The title is text.
pub(super) fn document(title: &str, scripts: &[Script]) -> Markup {
    let hashes = scripts
        .iter()
        .map(|script| markup!("'sha256-{}'", script.sha256));
    let sources = match scripts.is_empty() {
        true => Markup::literal("'none'"),
        false => Markup::join(hashes, " "),
    };
    markup!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; img-src data:; script-src {sources}; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{FLAME_STYLE}</style>\n</head>\n<body>\n",
        ..title,
        ..sources,
        STYLE = Markup::literal(STYLE),
        FLAME_STYLE = Markup::literal(FLAME_STYLE)
    )
}

/// The end of a page: what may be said of all of it, and by whom it was written. `main` is closed.
pub(super) fn footer(says: Markup) -> Markup {
    markup!(
        "<footer><p>Written by freezeframe {}. {}</p></footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        says
    )
}

/// The script elements.
pub(super) fn scripts(scripts: &[Script]) -> Markup {
    scripts
        .iter()
        .map(|script| markup!("<script>{}</script>\n", Markup::literal(script.text)))
        .collect()
}

/// Everything up to and with the verdict's header; `main` stays open.
pub(super) fn head(incident: &Incident, verdict: &Verdict, scripts: &[Script]) -> Markup {
    let wall = |at: Millis| incident.clock.wall_ms(at);
    let title = format!(
        "{}, {}: {}",
        place(incident),
        match incident.clock.is_known() {
            true => format!("{} UTC", when::date_time(wall(incident.stall.onset))),
            false => "time not known".to_owned(),
        },
        verdict.sentence
    );
    markup!(
        "{document}<main data-from=\"{from}\" data-to=\"{to}\">\n{header}",
        document = document(&title, scripts),
        from = wall(incident.window.from),
        to = wall(incident.window.to),
        header = header(incident, verdict),
    )
}

/// The server and its host, as far as they are known.
fn place(incident: &Incident) -> String {
    match incident.host.as_str() {
        "" => incident.server.label.clone(),
        host => format!("{} on {host}", incident.server.label),
    }
}

/// A level as a badge.
pub(super) fn badge(level: diagnosis::Level) -> Markup {
    markup!(
        "<span class=\"badge {word}\">{word}</span>",
        word = level.word()
    )
}

/// The first screen: the cause in a sentence, what is enough at night, and the time around the stall in pictures.
fn header(incident: &Incident, verdict: &Verdict) -> Markup {
    let cause = match brief::found(verdict) {
        Some(finding) => markup!("{} {}", finding.title, badge(finding.level)),
        None => markup!(
            "{} <span class=\"badge\">no finding</span>",
            brief::cause(verdict)
        ),
    };
    markup!(
        "<header class=\"top\"><p class=\"brand\">freezeframe <span>incident report</span></p>\n\
         <h1>{cause}</h1>\n<p class=\"line\">{}</p>\n\
         <div class=\"first\">{answers}{timeline}</div></header>\n",
        match incident.clock.is_known() {
            true => brief::since(incident),
            false => "Captured by other tools, at a time that they do not tell.".to_owned(),
        },
        answers = document::parts(&brief::below_the_cause(incident, verdict)),
        timeline = timeline::figure(incident),
        ..cause
    )
}

/// The server, the moments of the stall, and what noticed it.
pub(super) fn stall(incident: &Incident) -> Markup {
    let moment = |at: Millis| {
        let wall = incident.clock.wall_ms(at);
        markup!(
            "<time datetime=\"{}\">{}</time> <small>UTC</small>",
            when::rfc3339(wall),
            when::date_time(wall)
        )
    };
    let stall = &incident.stall;
    let since_onset = |at: Millis| when::duration(at.saturating_sub(stall.onset));
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
            "<div class=\"wide\"><dt>Time</dt><dd>not told by what was read; moments below are counted from its begin</dd></div>",
        ),
        true => {
            let (end, lasted) = match stall.end {
                Some(end) => (moment(end), markup!("{}", since_onset(end))),
                None => (
                    Markup::literal("not within the recording"),
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
    let before = when::stall_before(incident).map_or_else(Markup::new, |before| {
        markup!(
            "<div class=\"wide\"><dt>One before</dt><dd>{before}</dd></div>\n",
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
