//! A comparison as a page: the answer, charts before and after, tables.

use diagnosis::compare::{Answer, Comparison, Role, SideHead};
use model::{Incident, Window};

use super::HtmlOptions;
use super::document::parts;
use super::side_by_side::{self, Side};
use super::{compare_chart, compare_print, head};
use crate::content::compare::{in_words, reasons, role_title, sections, side, signals};
use crate::document::Part;
use crate::markup::{Markup, markup};

/// A comparison of stretches of two recordings as one HTML page that needs nothing else and has no script. It is
/// printed in another form, of two or three sheets. Times are UTC.
pub fn compare_html(
    comparison: &Comparison,
    [before, after]: [(&Incident, Window); 2],
    _options: &HtmlOptions,
) -> String {
    let mut out = head::document(&in_words(&comparison.sentence), &[]);
    out += Markup::literal("<main class=\"screen\">\n");
    let answer = answer(comparison);
    out += header(comparison, &answer);
    let strips = side_by_side::figure(&[
        Side::of_stretch("before", before.0, before.1),
        Side::of_stretch("after", after.0, after.1),
    ]);
    if !strips.is_empty() {
        out += super::section("times", "Both beside each other", strips.clone());
    }
    for (role, id) in [
        (Role::Deciding, "deciding"),
        (Role::Supporting, "supporting"),
        (Role::ServerWide, "server"),
    ] {
        let signals = comparison.signals.iter();
        let figures: Markup = signals
            .filter(|signal| signal.role == role)
            .map(|signal| compare_chart::figure(comparison, signal))
            .collect();
        if !figures.is_empty() {
            let figures = markup!("<div class=\"charts\">{}</div>", figures);
            out += super::section(id, role_title(role, comparison), figures);
        }
    }
    let numbers = parts(&[Part::Table(signals(comparison, None))]);
    out += super::section("numbers", "All numbers", numbers);
    for (number, section) in sections(comparison).iter().enumerate() {
        let id = format!("s{}", number + 1);
        out += super::section(&id, &section.title, parts(&section.parts));
    }
    out += Markup::literal("</main>\n");
    out += head::closing(Markup::literal(head::TIMES_AND_STATEMENTS));
    out += compare_print::sheets(comparison, answer, strips);
    out += head::end();
    out.into_string()
}

/// The answer in a sentence and in a word, and the cause.
fn answer(comparison: &Comparison) -> Markup {
    let class = match comparison.verdict {
        Answer::Worked => "worked",
        Answer::NoEffect => "no-effect",
        Answer::Worse => "worse",
        Answer::NotProven => "not-proven",
    };
    let cause = comparison.cause.as_ref().map_or_else(Markup::new, |cause| {
        markup!(" <b>{}</b> <code>{}</code>", cause.title, cause.id)
    });
    markup!(
        "<h1>{sentence}</h1>\n<p class=\"line\"><span class=\"badge {class}\">{answer}</span>{cause}</p>\n",
        sentence = in_words(&comparison.sentence),
        answer = comparison.verdict.words(),
        ..class,
        ..cause
    )
}

fn header(comparison: &Comparison, answer: &Markup) -> Markup {
    let row = |name: &str, side_of: &SideHead| {
        markup!(
            "<div class=\"wide\"><dt>{name}</dt><dd>{}</dd></div>",
            side(side_of),
            ..name
        )
    };
    let reasons: Markup = reasons(comparison)
        .iter()
        .map(|section| {
            let parts = parts(&section.parts);
            markup!(
                "<div class=\"half\"><h2>{}</h2>{}</div>",
                section.title,
                parts
            )
        })
        .collect();
    markup!(
        "<header class=\"top\"><p class=\"brand\">freezeframe <span>before and after</span></p>\n{answer}\
         <dl class=\"head\">{before}{after}</dl></header>\n<div class=\"halves\">{reasons}</div>\n",
        before = row("Before", &comparison.before),
        after = row("After", &comparison.after),
        ..reasons,
        ..answer
    )
}
