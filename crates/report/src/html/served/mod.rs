//! Pages of `freezeframe web`: the list, the history, and the pages that are files elsewhere, with a bar above them.
//!
//! Links are relative. So they are right whether the address begins with a token, or a proxy puts something before it.

mod fleet;
mod history;
mod list;

pub use fleet::{
    CauseCost, FleetIncident, FleetRemedy, FleetServer, FleetStall, FleetView, MapCell,
    NewStatement, Relative, Silence, StallMap, StallsView, fleet_incident_page, fleet_page,
    fleet_stalls_page,
};
pub use history::{HistoryView, HistoryWindow, Mark, history_json, history_page};
pub use list::{Choice, Filters, ListView, Row, RowState, list_page};

use diagnosis::Verdict;
use diagnosis::compare::SettingChange;
use model::Incident;

use super::assets::asset;
use super::{HtmlOptions, pair};
use crate::markup::{Markup, markup};

pub use crate::strip::is_of_hours;

const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

const WEB_STYLE: &str = "web.css";
const UPLOT_LICENCE: &str = include_str!("../../../assets/uplot/LICENSE");

/// A file that pages of the server load: its content type and its text.
pub fn file(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "report.css" | WEB_STYLE => (CSS, asset(name)),
        "web.js" => (JAVASCRIPT, asset(name)),
        "uplot.css" => (CSS, asset("uPlot.min.css")),
        "uplot.js" => (JAVASCRIPT, asset("uPlot.iife.min.js")),
        "uplot-licence.txt" => (PLAIN, UPLOT_LICENCE),
        _ => return None,
    })
}

/// What pages may do whose style and scripts are files of the server.
const OWN_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
     img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// A page, and its content security policy.
#[derive(Debug)]
pub struct Page {
    /// The page.
    pub html: String,
    /// The policy.
    pub policy: String,
}

impl Page {
    fn own(markup: Markup) -> Self {
        Self {
            html: markup.into_string(),
            policy: OWN_POLICY.to_owned(),
        }
    }
}

/// Which parts the view has beside those that are always there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Views {
    /// A fleet's store is asked.
    pub has_fleet: bool,
}

/// Where a reader goes from an incident: addresses within the server.
#[derive(Debug, Clone, Default)]
pub struct IncidentLinks {
    /// Its server, as it is called in the view.
    pub server: String,
    /// The history around it; absent where none is kept.
    pub history: Option<String>,
    /// Beside the one before it of the same server.
    pub beside: Option<String>,
    /// The one before it.
    pub before: Option<String>,
    /// The one after it.
    pub after: Option<String>,
}

/// The page of an incident.
pub fn incident_page(
    incident: &Incident,
    verdict: &Verdict,
    ways: &IncidentLinks,
    views: Views,
) -> Page {
    let links = [
        (&ways.before, "Earlier incident"),
        (&ways.after, "Later incident"),
        (&ways.history, "History around it"),
        (&ways.beside, "Compare with the one before"),
    ];
    let links: Markup = links
        .into_iter()
        .filter_map(|(href, text)| Some(markup!("<a href=\"{}\">{}</a>", href.as_ref()?, text)))
        .collect();
    let bar = markup!(
        "<style>{}</style>{}",
        Markup::literal(asset(WEB_STYLE)),
        bar("../", "", &ways.server, links, views)
    );
    let (html, policy) = super::page(incident, verdict, &HtmlOptions::default(), bar);
    Page {
        html,
        policy: format!("{}; frame-ancestors 'none'", policy.into_string()),
    }
}

/// The page of two incidents, and each of them by itself.
pub fn pair_page(
    sides: [(&Incident, &Verdict); 2],
    settings: &[SettingChange],
    ways: &[String; 2],
    views: Views,
) -> Page {
    let links = ways.iter().zip(["A by itself", "B by itself"]);
    let links = links.map(|(href, text)| markup!("<a href=\"{}\">{}</a>", href, text));
    let bar = markup!(
        "<style>{}</style>{}",
        Markup::literal(asset(WEB_STYLE)),
        bar("", "", "", links.collect(), views)
    );
    Page {
        html: pair::page(sides, settings, bar),
        policy: format!(
            "{}; frame-ancestors 'none'",
            super::head::policy(&[]).into_string()
        ),
    }
}

/// What a browser sees that brings no token. `action` is where a token leads to the address that was asked.
pub fn refused_page(action: &str, wanted: &str) -> Page {
    let body = markup!(
        "<main class=\"narrow\"><h1>This address needs its token</h1>\n\
         <p>freezeframe web printed an address with a token when it was started; open that one. \
         Or give the token here, to go on to where you wanted:</p>\n\
         <form method=\"get\" action=\"{}\" class=\"filters\">\
         <label>Token <input name=\"token\" type=\"password\" autocomplete=\"off\" required autofocus></label>\
         <input type=\"hidden\" name=\"next\" value=\"{}\"><button>Open</button></form></main>\n",
        action,
        wanted
    );
    Page::own(shell(
        "freezeframe: a token is needed",
        Files::None,
        Markup::new(),
        body,
    ))
}

/// A page that says what is wrong.
pub fn problem_page(title: &str, says: &str, up: &'static str, views: Views) -> Page {
    let body = markup!(
        "<main class=\"narrow\"><h1>{}</h1><p>{}</p><p><a href=\"{}\">All incidents</a></p></main>\n",
        title,
        says,
        if up.is_empty() { "./" } else { up }
    );
    Page::own(shell(
        title,
        Files::Style(up),
        bar(up, "", "", Markup::new(), views),
        body,
    ))
}

/// What a page loads.
enum Files {
    /// Nothing: it may not, or need not.
    None,
    /// Style, from so far up.
    Style(&'static str),
    /// Style and scripts.
    All,
}

/// A page of the server's own.
fn shell(title: &str, files: Files, bar: Markup, body: Markup) -> Markup {
    let style = |up: &'static str| {
        markup!(
            "<link rel=\"stylesheet\" href=\"{up}static/report.css\">\n\
             <link rel=\"stylesheet\" href=\"{up}static/web.css\">\n",
            ..up
        )
    };
    let (style, scripts) = match files {
        Files::None => (Markup::new(), Markup::new()),
        Files::Style(up) => (style(up), Markup::new()),
        Files::All => (
            markup!(
                "{}<link rel=\"stylesheet\" href=\"static/uplot.css\">\n",
                style("")
            ),
            Markup::literal(
                "<script src=\"static/uplot.js\"></script>\n<script src=\"static/web.js\"></script>\n",
            ),
        ),
    };
    markup!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n{style}</head>\n<body>\n{bar}{body}{scripts}</body>\n</html>\n",
        ..title,
        ..style,
        ..bar,
        ..body,
        ..scripts
    )
}

/// The bar at the top: the view's parts and the one that is shown, the server that is looked at, and further links.
fn bar(up: &'static str, here: &str, server: &str, links: Markup, views: Views) -> Markup {
    let home = if up.is_empty() { "./" } else { up };
    let current = |part: &str| match part == here {
        true => Markup::literal(" aria-current=\"page\""),
        false => Markup::new(),
    };
    let server = match server {
        "" => Markup::new(),
        server => markup!("<span class=\"where\">{}</span>", server),
    };
    let fleet = match views.has_fleet {
        true => markup!("<a href=\"{up}fleet\"{}>Fleet</a>", current("fleet"), ..up),
        false => Markup::new(),
    };
    markup!(
        "<nav class=\"views\" aria-label=\"Views\"><b>freezeframe</b>\
         <a href=\"{home}\"{}>Incidents</a><a href=\"{up}history\"{}>History</a>{fleet}{server}{links}</nav>\n",
        current("list"),
        current("history"),
        ..home,
        ..up,
        ..fleet,
        ..server,
        ..links
    )
}

/// A text within an address: all but letters, digits and a few marks as `%XX` (RFC 3986, section 2).
pub fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_part_of_an_address_cannot_end_it() {
        assert_eq!(percent("3306-2026.Z"), "3306-2026.Z");
        assert_eq!(percent("../a b?c#d\"é"), "..%2Fa%20b%3Fc%23d%22%C3%A9");
    }

    #[test]
    fn a_wanted_address_is_text_in_the_page() {
        let page = refused_page("open", "\"><script>alert(1)</script>");
        assert!(!page.html.contains("<script>"), "{}", page.html);
    }
}
