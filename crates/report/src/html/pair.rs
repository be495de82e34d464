//! Two incidents side by side as a page: the same questions in the same order, pictures on the same axes.

use diagnosis::Verdict;
use diagnosis::compare::SettingChange;
use model::Incident;

use super::document::parts;
use super::side_by_side::{self, Side};
use super::{first_screen, head};
use crate::content::brief;
use crate::content::pair::{self, NAMES};
use crate::document::Part;
use crate::markup::{Markup, markup};

/// Two incidents with their verdicts as one HTML page that needs nothing else and has no script. `settings` are those
/// that differ. Times are UTC.
pub fn pair_html(sides: [(&Incident, &Verdict); 2], settings: &[SettingChange]) -> String {
    page(sides, settings, Markup::new())
}

/// The page with a bar above it.
pub(super) fn page(
    sides: [(&Incident, &Verdict); 2],
    settings: &[SettingChange],
    bar: Markup,
) -> String {
    let verdicts = sides.map(|(_, verdict)| verdict);
    let title = pair::sentence(verdicts);
    let mut out = head::document(&title, &[]);
    out += bar;
    out += markup!(
        "<main class=\"two\">\n<header class=\"top\"><p class=\"brand\">freezeframe <span>two incidents</span></p>\n\
         <h1>{}</h1></header>\n<div class=\"pair\">{}</div>\n",
        title,
        cells(sides, verdict)
    );
    let answers = |of: fn(&Incident, &Verdict) -> Vec<Part>| {
        let cells = cells(sides, |incident, verdict| parts(&of(incident, verdict)));
        markup!("<div class=\"pair\">{}</div>", cells)
    };
    let [a, b] = sides;
    let pictures =
        side_by_side::figure(&[Side::of_stall(NAMES[0], a.0), Side::of_stall(NAMES[1], b.0)]);
    let pictures = match pictures.is_empty() {
        true => super::none("No signals over time were recorded."),
        false => pictures,
    };
    let causes = match pair::causes(verdicts) {
        causes if causes.is_empty() => super::none("Neither has a finding."),
        causes => causes
            .iter()
            .map(|section| markup!("<h3>{}</h3>{}", section.title, parts(&section.parts)))
            .collect(),
    };
    for (id, title, body) in [
        ("felt", "What users felt", answers(pair::above)),
        ("times", "The time around the onset", pictures),
        ("do", "What to do, and why", answers(pair::below)),
        ("findings", "Findings", causes),
        (
            "settings",
            "Different settings and facts",
            parts(&pair::settings(settings)),
        ),
        ("read", "Origin", answers(pair::provenance)),
    ] {
        out += super::section(id, title, body);
    }
    out += Markup::literal("</main>\n");
    out += head::footer(Markup::literal(head::TIMES_AND_STATEMENTS));
    out.into_string()
}

/// The same of both, each under its name.
fn cells(sides: [(&Incident, &Verdict); 2], of: impl Fn(&Incident, &Verdict) -> Markup) -> Markup {
    let named = sides.into_iter().zip(NAMES);
    named
        .map(|((incident, verdict), name)| {
            markup!(
                "<div class=\"cell\"><p class=\"side\"><b>{}</b></p>{}</div>\n",
                name,
                of(incident, verdict)
            )
        })
        .collect()
}

/// The cause, how sure it is, and since when.
fn verdict(incident: &Incident, verdict: &Verdict) -> Markup {
    markup!(
        "<p class=\"verdict\">{}</p><p>{}</p>",
        first_screen::cause(verdict),
        brief::since(incident)
    )
}
