//! The page on paper: two sheets for those who talk about the stall afterwards. Style alone chooses between them and the
//! screen's form, so they need no script.

use diagnosis::Verdict;
use model::Incident;

use super::document::{parts, prose};
use super::{first_screen, timeline};
use crate::content::print_sheets;
use crate::markup::{Markup, markup};

/// Both sheets. Nothing in them has an id or a link: what these would lead to is not printed.
pub(super) fn sheets(incident: &Incident, verdict: &Verdict) -> Markup {
    let why: Markup = print_sheets::why(incident, verdict)
        .iter()
        .map(|section| markup!("<h2>{}</h2>{}", section.title, parts(&section.parts)))
        .collect();
    markup!(
        "<article class=\"paper\" aria-label=\"For print\">\
         <section class=\"sheet\"><p class=\"brand\">freezeframe <span>incident report</span></p>\n\
         <h1>{cause}</h1><p class=\"line\">{sentence}</p>\n\
         {above}{timeline}{below}</section>\n\
         <section class=\"sheet\">{why}</section></article>\n",
        cause = first_screen::cause(verdict),
        sentence = prose(&verdict.sentence),
        above = parts(&print_sheets::above(incident, verdict)),
        timeline = timeline::figure(incident),
        below = parts(&print_sheets::below(incident, verdict)),
        ..why
    )
}
