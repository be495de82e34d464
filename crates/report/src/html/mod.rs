//! One self-contained page.

mod absences;
mod anchors;
mod asked;
mod charts;
mod compare;
mod facts;
mod findings;
mod flame;
mod frames;
mod head;
mod innodb;
mod locks;
mod profile;
mod queries;
mod sessions;
mod sheet;
mod stacks;
mod table;
mod threads;

use diagnosis::Verdict;
use model::Incident;

use crate::{escape, json::FORMAT, pick};

pub use compare::compare_html;
use head::Script;
pub use profile::{profile_diff_page, profile_page};
pub use queries::{queries_diff_page, queries_page};
pub use sheet::sheet_html;

/// How a page is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HtmlOptions {
    /// Whether the page carries the small scripts that read values off the charts and draw flame
    /// graphs. Everything is there without them, the functions of a flame graph as tables.
    pub script: bool,
}

impl Default for HtmlOptions {
    fn default() -> Self {
        Self { script: true }
    }
}

/// Sections that do not show without data.
const OPTIONAL: [&str; 4] = ["asked", "profile", "stacks", "locks"];

struct Section {
    id: &'static str,
    title: &'static str,
    body: Option<String>,
}

/// An incident with its verdict as one HTML page: no resource is loaded from anywhere, all of it
/// is readable without JavaScript and on paper, save that a flame graph is drawn by its
/// script and is a table without it. Times are UTC. Its size is bounded.
pub fn html(incident: &Incident, verdict: &Verdict, options: &HtmlOptions) -> String {
    let picked = pick::charts(incident, verdict);
    let section = |id, title, body| Section { id, title, body };
    let profile = profile::section(incident, options.script);
    let scripts: &[Script] = match (options.script, &profile) {
        (false, _) => &[],
        (true, None) => &[Script::REPORT],
        (true, Some(_)) => &[Script::REPORT, Script::FLAME],
    };
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
        section(
            "asked",
            "What the server was asked",
            asked::section(incident),
        ),
        section("profile", "Where the processors were", profile),
        section("stacks", "What the threads did", stacks::section(incident)),
        section("locks", "Locks", locks::section(incident)),
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
    // Evidence that not every recorder takes: why it is not there stands among the absent.
    let sections = sections
        .into_iter()
        .filter(|section| !OPTIONAL.contains(&section.id) || section.body.is_some())
        .collect::<Vec<_>>();
    let mut out = head::head(incident, verdict, scripts);
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
    out.push_str(&head::scripts(scripts));
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
         {times} Statements have no literals.</p></footer>\n",
        times = match incident.clock.is_known() {
            true => "All times are UTC.",
            false => "The captures tell no time of day.",
        },
        id = escape::html(&incident.id),
        recorder = escape::html(&incident.tool_version),
        version = env!("CARGO_PKG_VERSION"),
    )
}
