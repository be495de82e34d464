//! A comparison on paper: the answer and what differs first, then small charts, then what else changed. Style alone chooses
//! between it and the screen's form, so it needs no script.

use diagnosis::compare::Comparison;

use super::compare_chart;
use super::document::parts;
use crate::content::compare_print;
use crate::document::Section;
use crate::markup::{Markup, Show, markup};

/// Charts beside each other.
const CHARTS_BESIDE: usize = 3;

/// All sheets. Nothing in them has an id or a link: what these would lead to is not printed.
pub(super) fn sheets(comparison: &Comparison, answer: Markup, strips: Markup) -> Markup {
    let reasons: Markup = compare_print::reasons(comparison)
        .iter()
        .map(whole)
        .collect();
    let changes: Markup = compare_print::changes(comparison)
        .iter()
        .map(whole)
        .collect();
    let changes = match changes.is_empty() {
        true => changes,
        false => markup!("<div class=\"changes\">{changes}</div>\n", ..changes),
    };
    let settings = compare_print::settings(comparison).map_or_else(Markup::new, |section| {
        block("flows", &section.title, parts(&section.parts))
    });
    let strips = match strips.is_empty() {
        true => strips,
        false => block("stays", "Both beside each other", strips),
    };
    markup!(
        "<article class=\"paper compared\" aria-label=\"For print\">\
         <p class=\"brand\">freezeframe <span>before and after</span></p>\n\
         {answer}{sides}{differences}{reasons}{strips}{charts}{settings}{changes}{origin}</article>\n",
        sides = parts(&compare_print::sides(comparison)),
        differences = block(
            "flows",
            "Differences",
            parts(&compare_print::differences(comparison))
        ),
        charts = charts(comparison),
        origin = block("stays", "Origin", parts(&compare_print::origin(comparison))),
        ..answer,
        ..reasons,
        ..strips,
        ..settings,
        ..changes
    )
}

fn block(class: &'static str, title: impl Show, body: Markup) -> Markup {
    markup!(
        "<section class=\"{}\"><h2>{}</h2>{}</section>\n",
        class,
        title,
        body
    )
}

/// A section that no sheet ends within.
fn whole(section: &Section) -> Markup {
    block("stays", &section.title, parts(&section.parts))
}

/// The charts in rows, no sheet ends within a row; nothing where there are none.
fn charts(comparison: &Comparison) -> Markup {
    let rows: Markup = compare_print::charts(comparison)
        .chunks(CHARTS_BESIDE)
        .map(|row| {
            let row: Markup = row
                .iter()
                .map(|signal| compare_chart::small(comparison, signal))
                .collect();
            markup!("<div class=\"charts\">{row}</div>\n", ..row)
        })
        .collect();
    match rows.is_empty() {
        true => rows,
        false => block("flows", "Signals", rows),
    }
}
