//! Charts with their numbers.

use crate::markup::{Markup, markup};
use diagnosis::Verdict;
use model::{Incident, OrderBy, ProbeOutcome};

use crate::anchors;
use crate::{
    chart::{self, ChartFrame},
    curve::Curve,
    derived::FailedProbe,
    pick::Picked,
    standard::Chart,
};

/// Charts whose signals witnesses name.
pub(super) fn named(incident: &Incident, verdict: &Verdict, picked: &Picked) -> Option<Markup> {
    if picked.named.is_empty() {
        return Some(Markup::literal(
            "<p class=\"none\">No finding uses a recorded signal.</p>",
        ));
    }
    let frame = ChartFrame::new(incident);
    let figures: Markup = picked
        .named
        .iter()
        .enumerate()
        .map(|(index, chart)| {
            let by = named_by(incident, verdict, picked, index);
            figure(incident, &frame, chart, index, by)
        })
        .collect();
    Some(markup!("<div class=\"charts\">{figures}</div>", ..figures))
}

/// The other standard charts.
pub(super) fn other(incident: &Incident, picked: &Picked) -> Option<Markup> {
    let frame = ChartFrame::new(incident);
    let first = picked.named.len();
    let figures: Markup = picked
        .other
        .iter()
        .enumerate()
        .map(|(index, chart)| figure(incident, &frame, chart, first + index, Markup::new()))
        .collect();
    let mut out = match figures.is_empty() {
        true => Markup::new(),
        false => markup!("<div class=\"charts\">{figures}</div>", ..figures),
    };
    if !picked.silent.is_empty() {
        out += markup!(
            "<p class=\"none\">Recorded, but always zero: {}.</p>",
            picked.silent.join(", ")
        );
    }
    if picked.left_out > 0 {
        out += markup!(
            "<p class=\"none\">{} more charts not shown.</p>",
            picked.left_out
        );
    }
    (!out.is_empty()).then_some(out)
}

/// Links to the findings whose witnesses name a chart.
fn named_by(incident: &Incident, verdict: &Verdict, picked: &Picked, chart: usize) -> Markup {
    let links = verdict
        .findings
        .iter()
        .chain(&verdict.folded)
        .enumerate()
        .filter(|(_, finding)| {
            finding
                .witnesses
                .iter()
                .chain(&finding.against)
                .any(|witness| picked.charts_of(incident, witness).contains(&chart))
        })
        .map(|(index, finding)| {
            markup!(
                "<a href=\"#{}\" title=\"{}\">finding {}</a>",
                anchors::finding(index),
                finding.title,
                index + 1
            )
        });
    Markup::join(links, ", ")
}

fn figure(
    incident: &Incident,
    frame: &ChartFrame,
    chart: &Chart,
    index: usize,
    by: Markup,
) -> Markup {
    let id = anchors::chart(index);
    let named = match by.is_empty() {
        true => Markup::new(),
        false => markup!(" <span class=\"by\">Named by {by}.</span>", ..by),
    };
    markup!(
        "<figure class=\"chart\" id=\"{id}\"><figcaption><h3>{title}</h3><p>{note}{named}</p>\
         </figcaption>\n<div class=\"frame\">{svg}</div>\n{legend}{failed}</figure>\n",
        title = chart.title,
        note = chart.note,
        svg = chart::svg(incident, frame, chart, &id),
        legend = legend(incident, &chart.curves),
        failed = failed(&chart.failed),
        ..id,
        ..named
    )
}

fn legend(incident: &Incident, curves: &[Curve]) -> Markup {
    let rows: Markup = curves
        .iter()
        .enumerate()
        .map(|(index, curve)| {
            let all = curve.stats(incident.window);
            let numbers = [
                curve
                    .stats(incident.baseline_window())
                    .map(|stats| stats.mean),
                curve.stats(incident.stall_window()).map(|stats| stats.mean),
                all.map(|stats| stats.min),
                all.map(|stats| stats.mean),
                all.map(|stats| stats.max),
            ];
            let cells: Markup = numbers
                .into_iter()
                .map(|value| {
                    let said = value.map_or_else(
                        || "–".to_owned(),
                        |value| curve.quantity.to_short_text(value),
                    );
                    markup!("<td>{}</td>", said)
                })
                .collect();
            let noun = match curve.quantity.noun() {
                "" => Markup::new(),
                noun => markup!(", {}", noun),
            };
            markup!(
                "<tr><th scope=\"row\"><i class=\"swatch c{index}\"></i>{}{noun}</th>{cells}\
                 <td class=\"at\" data-line=\"{index}\"></td></tr>",
                curve.label,
                ..index,
                ..noun,
                ..cells
            )
        })
        .collect();
    if rows.is_empty() {
        return Markup::new();
    }
    markup!(
        "<table class=\"legend\"><thead><tr><th scope=\"col\"><span class=\"unseen\">Signal</span></th>\
         <th scope=\"col\" title=\"mean before the onset\">before</th>\
         <th scope=\"col\" title=\"mean from onset to end\">in stall</th>\
         <th scope=\"col\">min</th><th scope=\"col\">mean</th><th scope=\"col\">max</th>\
         <th scope=\"col\" class=\"at\"></th></tr></thead><tbody>{rows}</tbody></table>",
        ..rows
    )
}

fn failed(failed: &[FailedProbe]) -> Markup {
    if failed.is_empty() {
        return Markup::new();
    }
    let mut kinds: Vec<(ProbeOutcome, usize)> = Vec::new();
    for probe in failed {
        match kinds
            .iter_mut()
            .find(|(outcome, _)| *outcome == probe.outcome)
        {
            Some((_, count)) => *count += 1,
            None => kinds.push((probe.outcome, 1)),
        }
    }
    kinds.order_by_key(|(_, count)| std::cmp::Reverse(*count));
    let kinds: Vec<String> = kinds
        .iter()
        .map(|(outcome, count)| format!("{} {count}", outcome.to_text()))
        .collect();
    markup!(
        "<p class=\"failures\"><i class=\"swatch failed\"></i>Probes without an answer: {}</p>",
        kinds.join(", ")
    )
}
