//! One self-contained page.

mod assets;
mod bars;
mod chain;
mod charts;
mod compare;
mod compare_chart;
mod compare_print;
mod document;
mod facts;
mod findings;
mod first_screen;
mod flame;
mod frames;
mod head;
mod heat;
mod innodb;
mod locks;
mod pair;
mod print_sheets;
mod profile;
mod queries;
pub mod served;
mod sessions;
mod side_by_side;
mod stacks;
mod table;
mod threads;
mod timeline;
mod waiting;

use crate::markup::{Markup, Show, markup};
use diagnosis::Verdict;
use model::Incident;

use crate::content::{self, absences};
use crate::document::Part;
use crate::evidence::workload::workloads;
use crate::{json::FORMAT, pick};

pub use compare::compare_html;
pub use document::document_html;
pub(crate) use frames::unfolds;
use head::Script;
pub use pair::pair_html;
pub use profile::{profile_diff_page, profile_page};
pub use queries::{queries_diff_page, queries_page};

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
const OPTIONAL: [&str; 5] = ["asked", "answers", "profile", "stacks", "locks"];

struct Section {
    id: &'static str,
    title: &'static str,
    body: Option<Markup>,
}

/// An incident with its verdict as one HTML page: no resource is loaded from anywhere, all of it
/// is readable without JavaScript, save that a flame graph is drawn by its script and is a table
/// without it. On paper it is two sheets. Times are UTC. Its size is bounded.
pub fn html(incident: &Incident, verdict: &Verdict, options: &HtmlOptions) -> String {
    page(incident, verdict, options, Markup::new()).0
}

/// The page with a bar above it, and its content security policy.
fn page(
    incident: &Incident,
    verdict: &Verdict,
    options: &HtmlOptions,
    bar: Markup,
) -> (String, Markup) {
    let picked = pick::charts(incident, verdict);
    let of = |id, title, body| Section { id, title, body };
    let profile = profile::section(incident, options.script);
    let has_flame = profile.is_some() || !incident.stacks.runs.is_empty();
    let scripts: &[Script] = match (options.script, has_flame) {
        (false, _) => &[],
        (true, false) => &[Script::REPORT],
        (true, true) => &[Script::REPORT, Script::FLAME],
    };
    let sections = [
        of(
            "findings",
            "Findings",
            findings::section(incident, verdict, &picked),
        ),
        of(
            "stall",
            "Server and times",
            Some(first_screen::stall(incident)),
        ),
        of(
            "evidence",
            "Evidence for the findings",
            charts::named(incident, verdict, &picked),
        ),
        of(
            "asked",
            "Statements",
            filled(
                workloads(incident)
                    .iter()
                    .flat_map(content::workload::parts)
                    .collect(),
            ),
        ),
        of(
            "answers",
            "Answer times, in steps of 0.2 s",
            heat::section(incident),
        ),
        of("profile", "CPU profile", profile),
        of(
            "stacks",
            "What the threads did",
            stacks::section(incident, options.script),
        ),
        of("locks", "Locks", locks::section(incident)),
        of("signals", "Other signals", charts::other(incident, &picked)),
        of("sessions", "Sessions", sessions::section(incident)),
        of("innodb", "InnoDB", innodb::section(incident, &picked)),
        of("threads", "Server threads", threads::section(incident)),
        of("facts", "Facts", facts::section(incident)),
        of("changes", "What changed", facts::changes(incident)),
        of(
            "absent",
            "Missing evidence",
            some(absences::absent(incident, verdict), "Nothing is missing."),
        ),
        of(
            "read",
            "Input",
            some(absences::read(verdict), "Not stated."),
        ),
    ];
    // Evidence that not every recorder takes: why it is not there stands among the absent.
    let sections = sections
        .into_iter()
        .filter(|section| !OPTIONAL.contains(&section.id) || section.body.is_some())
        .collect::<Vec<_>>();
    let header = first_screen::header(incident, verdict);
    let mut out = head::head(incident, verdict, scripts, bar, header);
    out += nav(&sections);
    for Section { id, title, body } in sections {
        let body = body.unwrap_or_else(|| none("Not recorded."));
        out += folded(id, title, body);
    }
    out += Markup::literal("</main>\n");
    out += footer(incident);
    out += print_sheets::sheets(incident, verdict);
    out += head::scripts(scripts);
    out += head::end();
    (out.into_string(), head::policy(scripts))
}

/// Parts as the body of a section, where there are any.
fn filled(parts: Vec<Part>) -> Option<Markup> {
    (!parts.is_empty()).then(|| document::parts(&parts))
}

/// Parts as the body of a section, or that there are none.
fn some(parts: Vec<Part>, nothing: &str) -> Option<Markup> {
    Some(filled(parts).unwrap_or_else(|| none(nothing)))
}

/// A section of a page.
fn section(id: &str, title: impl Show, body: Markup) -> Markup {
    markup!(
        "<section id=\"{}\"><h2>{}</h2>{}</section>\n",
        id,
        title,
        body
    )
}

/// A section that unfolds: by a click, and when a link leads to what is in it.
fn folded(id: &str, title: &str, body: Markup) -> Markup {
    markup!(
        "<section id=\"{}\"><details class=\"section\"><summary><h2>{}</h2></summary>\
         <div id=\"{}\">{}</div></details></section>\n",
        id,
        title,
        inside(id),
        body
    )
}

/// The id of what is in a folded section: a browser unfolds it for a link that leads there.
fn inside(id: &str) -> String {
    format!("in-{id}")
}

/// What stands where there is nothing to show.
fn none(text: &str) -> Markup {
    markup!("<p class=\"none\">{}</p>", text)
}

fn nav(sections: &[Section]) -> Markup {
    let links: Markup = sections
        .iter()
        .map(|section| {
            let id = inside(section.id);
            markup!("<li><a href=\"#{}\">{}</a></li>", id, section.title)
        })
        .collect();
    markup!(
        "<nav aria-label=\"Sections\"><ul>{links}</ul></nav>\n",
        ..links
    )
}

fn footer(incident: &Incident) -> Markup {
    markup!(
        "<footer><p>Incident <code>{id}</code>, recorded by freezeframe {recorder}, written by \
         freezeframe {version}, the same verdict as JSON: <code>{FORMAT}</code>. \
         {times} Statements have no literals.</p></footer>\n",
        times = match incident.clock.is_known() {
            true => "All times are UTC.",
            false => "The captures have no time of day.",
        },
        id = incident.id,
        recorder = incident.tool_version,
        version = env!("CARGO_PKG_VERSION"),
        ..FORMAT
    )
}
