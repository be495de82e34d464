//! Findings in two columns: what to do, and what speaks for each and against it. What to do comes first wherever they
//! stand one below the other, too.

use diagnosis::{Finding, Verdict};
use model::Incident;

use super::chain;
use super::document::{blocks, parts, prose};
use super::head::badge;
use crate::anchors;
use crate::content::absences;
use crate::content::chain::of_sessions;
use crate::content::findings::{self, Context, PageColumn};
use crate::markup::{Markup, markup};
use crate::pick::Picked;

pub(super) fn section(incident: &Incident, verdict: &Verdict, picked: &Picked) -> Option<Markup> {
    let context = Context {
        incident,
        verdict,
        picked: Some(picked),
    };
    let article = |(index, finding)| self::article(&context, index, finding);
    let shown = verdict.findings.len();
    let mut out = Markup::new();
    if verdict.findings.is_empty() {
        out += super::none("No cause has enough signs here.");
    }
    out += verdict.findings.iter().enumerate().map(article).collect();
    if !verdict.folded.is_empty() {
        let articles: Markup = verdict
            .folded
            .iter()
            .enumerate()
            .map(|(at, finding)| article((shown + at, finding)))
            .collect();
        out += markup!(
            "<details class=\"folded\"><summary>Weaker findings: {}</summary>{}</details>",
            verdict.folded.len(),
            articles
        );
    }
    let mechanism = findings::mechanism(verdict);
    if !mechanism.is_empty() {
        out += markup!("<h3>Activity in the stall</h3>{}", parts(&mechanism));
    }
    let rejected = absences::rejected(verdict);
    if !rejected.is_empty() {
        out += markup!("<h3>Similar causes, ruled out</h3>{}", parts(&rejected));
    }
    Some(out)
}

fn article(context: &Context<'_>, index: usize, finding: &Finding) -> Markup {
    let sections = findings::sections(context, finding);
    let half = |of: PageColumn, class: &'static str| {
        let own = sections.iter().filter(|(half, _)| *half == of);
        let blocks = blocks(own.map(|(_, section)| section));
        match blocks.is_empty() {
            true => blocks,
            false => markup!("<div class=\"{}\">{}</div>\n", class, blocks),
        }
    };
    markup!(
        "<article class=\"finding {level}\" id=\"{id}\"><header><h3><span class=\"ordinal\">{ordinal}</span> \
         {title} {badge} <code>{cause}</code></h3><p>{what}</p></header>\n{queue}<div class=\"halves\">\
         {remedy}{evidence}</div></article>\n",
        level = finding.level.word(),
        id = anchors::finding(index),
        ordinal = index + 1,
        badge = badge(finding.level),
        title = finding.title,
        cause = finding.cause,
        what = prose(&finding.what),
        queue = chain::picture(&of_sessions(&finding.actors)),
        remedy = half(PageColumn::Remedy, "half remedy"),
        evidence = half(PageColumn::Evidence, "half"),
    )
}
