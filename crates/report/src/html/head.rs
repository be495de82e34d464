//! The page's head, the verdict at its top, and its script.

use diagnosis::Verdict;
use model::{Incident, Millis};

use crate::{escape, when};

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
pub(super) fn document(title: &str, scripts: &[Script]) -> String {
    let sources: Vec<String> = scripts
        .iter()
        .map(|script| format!("'sha256-{}'", script.sha256))
        .collect();
    let sources = match sources.is_empty() {
        true => "'none'".to_owned(),
        false => sources.join(" "),
    };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; img-src data:; script-src {sources}; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{FLAME_STYLE}</style>\n</head>\n<body>\n",
        title = escape::html(title),
    )
}

/// The script elements.
pub(super) fn scripts(scripts: &[Script]) -> String {
    scripts
        .iter()
        .map(|script| format!("<script>{}</script>\n", script.text))
        .collect()
}

/// Everything up to and with the verdict's header; `main` stays open.
pub(super) fn head(incident: &Incident, verdict: &Verdict, scripts: &[Script]) -> String {
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
    format!(
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
pub(super) fn badge(level: diagnosis::Level) -> String {
    format!(
        "<span class=\"badge {word}\">{word}</span>",
        word = level.word()
    )
}

fn header(incident: &Incident, verdict: &Verdict) -> String {
    let moment = |at: Millis| {
        let wall = incident.clock.wall_ms(at);
        format!(
            "<time datetime=\"{}\">{}</time>",
            when::rfc3339(wall),
            when::date_time(wall)
        )
    };
    let stall = &incident.stall;
    let since_onset = |at: Millis| when::duration(at.saturating_sub(stall.onset));
    let level = verdict.findings.first().map_or_else(
        || "<span class=\"badge\">no finding</span>".to_owned(),
        |finding| badge(finding.level),
    );
    let server = &incident.server;
    let pid = server
        .pid
        .map(|pid| format!("pid {pid}"))
        .unwrap_or_default();
    let details: Vec<String> = [&server.version, &pid, &server.address]
        .into_iter()
        .filter(|part| !part.is_empty())
        .map(|part| escape::html(part))
        .collect();
    let on = match incident.host.as_str() {
        "" => String::new(),
        host => format!(" on <b>{}</b>", escape::html(host)),
    };
    let triggers: String = stall
        .triggers
        .iter()
        .map(|trigger| {
            format!(
                "<li><code>{}</code> {}</li>",
                escape::html(&trigger.rule),
                escape::html(&trigger.says)
            )
        })
        .collect();
    let (lasted, until) = match stall.end {
        Some(end) => (since_onset(end), ""),
        None => (since_onset(incident.window.to), " <small>and more</small>"),
    };
    // Captures of other tools need not tell a time of day.
    let (line, times) = match incident.clock.is_known() {
        false => (
            ", captured by other tools at a time that they do not tell".to_owned(),
            "<div class=\"wide\"><dt>Time</dt><dd>not told by what was read; moments below are counted from its begin</dd></div>"
                .to_owned(),
        ),
        true => {
            let end = match stall.end {
                Some(end) => format!("{} <small>UTC</small>", moment(end)),
                None => "not within the recording".to_owned(),
            };
            let onset = moment(stall.onset);
            let what = match stall.is_asked_only() {
                true => "looked at for",
                false => "stalled",
            };
            (
                format!(", {what} {lasted}{until} from {onset} <small>UTC</small>"),
                format!(
                    "<div><dt>Onset</dt><dd>{onset} <small>UTC</small></dd></div>\
                     <div><dt>Trigger</dt><dd>{trigger} <small>UTC, +{detection}</small></dd></div>\
                     <div><dt>End</dt><dd>{end}</dd></div>\
                     <div><dt>Lasted</dt><dd>{lasted}{until}</dd></div>",
                    trigger = moment(stall.trigger),
                    detection = since_onset(stall.trigger),
                ),
            )
        }
    };
    let before = when::stall_before(incident).map_or_else(String::new, |before| {
        let before = escape::html(&before);
        format!("<div class=\"wide\"><dt>One before</dt><dd>{before}</dd></div>\n")
    });
    format!(
        "<header class=\"top\"><p class=\"brand\">freezeframe <span>incident report</span></p>\n\
         <h1>{sentence}</h1>\n<p class=\"line\">{level} server <b>{label}</b>{on}{line}</p>\n\
         <dl class=\"head\"><div class=\"wide\"><dt>Server</dt><dd><b>{label}</b> {details}</dd></div>\n\
         {times}\n\
         {before}<div class=\"wide\"><dt>Noticed by</dt><dd><ul>{triggers}</ul></dd></div></dl></header>\n",
        sentence = escape::html(&verdict.sentence),
        label = escape::html(&server.label),
        details = details.join(", "),
    )
}
