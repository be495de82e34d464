//! The page on paper: two sheets for those who talk about the stall afterwards. Style alone chooses between them and the
//! screen's form, so they need no script.

use diagnosis::Verdict;
use model::Incident;

use super::document::{parts, prose};
use super::{first, timeline};
use crate::content::paper;
use crate::markup::{Markup, markup};

/// Both sheets. Nothing in them has an id or a link: what these would lead to is not printed.
pub(super) fn sheets(incident: &Incident, verdict: &Verdict) -> Markup {
    let why: Markup = paper::why(incident, verdict)
        .iter()
        .map(|section| markup!("<h2>{}</h2>{}", section.title, parts(&section.parts)))
        .collect();
    markup!(
        "<article class=\"paper\" aria-label=\"For print\">\
         <section class=\"sheet\"><p class=\"brand\">freezeframe <span>incident report</span></p>\n\
         <h1>{cause}</h1><p class=\"line\">{sentence}</p>\n\
         {above}{timeline}{below}</section>\n\
         <section class=\"sheet\">{why}</section></article>\n",
        cause = first::cause(verdict),
        sentence = prose(&verdict.sentence),
        above = parts(&paper::above(incident, verdict)),
        timeline = timeline::figure(incident),
        below = parts(&paper::below(incident, verdict)),
        ..why
    )
}
