//! The page's head, the verdict at its top, and its script.

use super::assets::asset;
use crate::markup::{Markup, markup};
use diagnosis::Verdict;
use model::{Incident, Millis};

use crate::time_format;

/// A script of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Script {
    /// Which of `assets/`.
    file: &'static str,
    /// SHA-256 of the text in base64, for the content security policy; a test compares it.
    sha256: &'static str,
}

impl Script {
    /// Reads values off the charts.
    pub(super) const REPORT: Self = Self {
        file: "report.js",
        sha256: "u2zLqSeztjG0li8h+fabZOFCCgEEAGbkUwNyfpf0wRY=",
    };
    /// Draws flame graphs.
    pub(super) const FLAME: Self = Self {
        file: "flame.js",
        sha256: "FSNmvJu3UoD4SOjFKqXHzhVl4nJts//cPjgDG0I6ow8=",
    };
}

/// The content security policy of a page with these scripts: nothing is loaded, nothing else runs.
pub(super) fn policy(scripts: &[Script]) -> Markup {
    let hashes = scripts
        .iter()
        .map(|script| markup!("'sha256-{}'", script.sha256));
    let sources = match scripts.is_empty() {
        true => Markup::literal("'none'"),
        false => Markup::join(hashes, " "),
    };
    markup!(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {sources}; \
         base-uri 'none'; form-action 'none'",
        ..sources
    )
}

/// Everything of a page up to and with its opened body. The title is text.
pub(super) fn document(title: &str, scripts: &[Script]) -> Markup {
    markup!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{FLAME_STYLE}</style>\n</head>\n<body>\n",
        ..title,
        policy = policy(scripts),
        STYLE = Markup::literal(asset("report.css")),
        FLAME_STYLE = Markup::literal(asset("flame.css"))
    )
}

/// What may be said of all pages with times and statements.
pub(super) const TIMES_AND_STATEMENTS: &str = "All times are UTC. Statements have no literals.";

/// The end of a page: what may be said of all of it, and by whom it was written. `main` is closed.
pub(super) fn footer(says: Markup) -> Markup {
    Markup::join([closing(says), end()], "")
}

/// The same where something follows that only a print shows.
pub(super) fn closing(says: Markup) -> Markup {
    markup!(
        "<footer><p>Written by freezeframe {}. {}</p></footer>\n",
        env!("CARGO_PKG_VERSION"),
        says
    )
}

/// The end of the file.
pub(super) fn end() -> Markup {
    Markup::literal("</body>\n</html>\n")
}

/// The script elements.
pub(super) fn scripts(scripts: &[Script]) -> Markup {
    scripts
        .iter()
        .map(|script| markup!("<script>{}</script>\n", Markup::literal(asset(script.file))))
        .collect()
}

/// Everything up to and with the verdict's header; `main` stays open.
pub(super) fn head(
    incident: &Incident,
    verdict: &Verdict,
    scripts: &[Script],
    bar: Markup,
    header: Markup,
) -> Markup {
    let wall = |at: Millis| incident.clock.wall_ms(at);
    let title = format!(
        "{}, {}: {}",
        place(incident),
        match incident.clock.is_known() {
            true => format!("{} UTC", time_format::date_time(wall(incident.stall.onset))),
            false => "unknown time".to_owned(),
        },
        verdict.sentence
    );
    markup!(
        "{document}{bar}<main class=\"screen\" data-from=\"{from}\" data-to=\"{to}\">\n{header}",
        document = document(&title, scripts),
        from = wall(incident.window.from),
        to = wall(incident.window.to),
        ..bar,
        ..header
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
