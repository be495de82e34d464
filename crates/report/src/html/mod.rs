//! One self-contained page.

mod absences;
mod charts;
mod facts;
mod findings;
mod head;
mod innodb;
mod sessions;
mod table;
mod threads;

use diagnosis::Verdict;
use model::Incident;

use crate::{escape, json::FORMAT, pick};

/// How a page is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HtmlOptions {
    /// Whether the page carries the small script that reads values off the charts. Everything is
    /// there without it.
    pub script: bool,
}

impl Default for HtmlOptions {
    fn default() -> Self {
        Self { script: true }
    }
}

struct Section {
    id: &'static str,
    title: &'static str,
    body: Option<String>,
}

/// An incident with its verdict as one HTML page: no resource is loaded from anywhere, all of it
/// is readable without JavaScript and on paper. Times are UTC. Its size is bounded.
pub fn html(incident: &Incident, verdict: &Verdict, options: &HtmlOptions) -> String {
    let picked = pick::charts(incident, verdict);
    let section = |id, title, body| Section { id, title, body };
    let sections = [
        section(
            "findings",
            "Findings",
            findings::section(incident, verdict, &picked),
        ),
        section(
            "evidence",
            "What the findings rest on",
            charts::named(incident, verdict, &picked),
        ),
        section("signals", "Other signals", charts::other(incident, &picked)),
        section("sessions", "Sessions", sessions::section(incident)),
        section("innodb", "InnoDB", innodb::section(incident, &picked)),
        section("threads", "Server threads", threads::section(incident)),
        section("facts", "Facts", facts::section(incident)),
        section("changes", "What changed", facts::changes(incident)),
        section(
            "absent",
            "Absent evidence",
            absences::section(incident, verdict),
        ),
        section("read", "What was read", absences::read(verdict)),
    ];
    let mut out = head::head(incident, verdict, options);
    out.push_str(&nav(&sections));
    for Section { id, title, body } in &sections {
        let body = body
            .as_deref()
            .unwrap_or("<p class=\"none\">Nothing of this was recorded.</p>");
        out.push_str(&format!(
            "<section id=\"{id}\"><h2>{title}</h2>{body}</section>\n"
        ));
    }
    out.push_str("</main>\n");
    out.push_str(&footer(incident));
    out.push_str(&head::script(options));
    out.push_str("</body>\n</html>\n");
    out
}

fn nav(sections: &[Section]) -> String {
    let links: String = sections
        .iter()
        .map(|section| format!("<li><a href=\"#{}\">{}</a></li>", section.id, section.title))
        .collect();
    format!("<nav aria-label=\"Sections\"><ul>{links}</ul></nav>\n")
}

fn footer(incident: &Incident) -> String {
    format!(
        "<footer><p>Incident <code>{id}</code>, recorded by freezeframe {recorder}, written by \
         freezeframe {version}, the same verdict as JSON: <code>{FORMAT}</code>. \
         All times are UTC. Statements have no literals.</p></footer>\n",
        id = escape::html(&incident.id),
        recorder = escape::html(&incident.tool_version),
        version = env!("CARGO_PKG_VERSION"),
    )
}
