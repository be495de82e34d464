//! The page on paper: two sheets for those who talk about the stall afterwards. Style alone chooses between them and the
//! screen's form, so they need no script.

use diagnosis::Verdict;
use model::Incident;

use super::document::{parts, prose};
use super::{chain, first_screen, timeline};
use crate::content::chain::of_sessions;
use crate::content::{brief, print_sheets};
use crate::markup::{Markup, markup};

/// Both sheets. Nothing in them has an id or a link: what these would lead to is not printed.
pub(super) fn sheets(incident: &Incident, verdict: &Verdict) -> Markup {
    let why: Markup = print_sheets::why(incident, verdict)
        .iter()
        .map(|section| {
            let picture = match section.title.as_str() {
                print_sheets::WHO => queue(incident, verdict),
                _ => Markup::new(),
            };
            markup!(
                "<h2>{}</h2>{picture}{}",
                section.title,
                parts(&section.parts),
                ..picture
            )
        })
        .collect();
    markup!(
        "<article class=\"paper\" aria-label=\"For print\">\
         <section class=\"sheet\"><p class=\"brand\">freezeframe <span>incident report</span></p>\n\
         <h1>{cause}</h1><p class=\"line\">{sentence}</p>\n\
         {above}{timeline}{below}</section>\n\
         <section class=\"sheet\">{why}</section></article>\n",
        cause = first_screen::cause(verdict),
        sentence = prose(&print_sheets::in_sentences(verdict)),
        above = parts(&print_sheets::above(incident, verdict)),
        timeline = timeline::figure(incident),
        below = parts(&print_sheets::below(incident, verdict)),
        ..why
    )
}

/// Who waits for whom: sessions where it is known, else threads.
fn queue(incident: &Incident, verdict: &Verdict) -> Markup {
    let sessions = brief::found(verdict).map(|finding| of_sessions(&finding.actors));
    match sessions.filter(|links| !links.is_empty()) {
        Some(links) => chain::picture(&links),
        None => chain::largest(incident),
    }
}
