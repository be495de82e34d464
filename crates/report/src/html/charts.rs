//! Charts with their numbers.

use diagnosis::Verdict;
use model::{Incident, ProbeOutcome};

use super::anchors;
use crate::{
    chart::{self, Frame},
    curve::Curve,
    derived::FailedProbe,
    escape,
    pick::Picked,
    standard::Chart,
};

/// Charts whose signals witnesses name.
pub(super) fn named(incident: &Incident, verdict: &Verdict, picked: &Picked) -> Option<String> {
    if picked.named.is_empty() {
        return Some("<p class=\"none\">No finding names a recorded signal.</p>".to_owned());
    }
    let frame = Frame::new(incident);
    let figures: String = picked
        .named
        .iter()
        .enumerate()
        .map(|(index, chart)| {
            let by = named_by(incident, verdict, picked, index);
            figure(incident, &frame, chart, index, &by)
        })
        .collect();
    Some(format!("<div class=\"charts\">{figures}</div>"))
}

/// The other standard charts.
pub(super) fn other(incident: &Incident, picked: &Picked) -> Option<String> {
    let frame = Frame::new(incident);
    let first = picked.named.len();
    let figures: String = picked
        .other
        .iter()
        .enumerate()
        .map(|(index, chart)| figure(incident, &frame, chart, first + index, ""))
        .collect();
    let mut out = match figures.is_empty() {
        true => String::new(),
        false => format!("<div class=\"charts\">{figures}</div>"),
    };
    if !picked.silent.is_empty() {
        let titles: Vec<String> = picked
            .silent
            .iter()
            .map(|title| escape::html(title))
            .collect();
        out.push_str(&format!(
            "<p class=\"none\">Recorded, and zero all the time: {}.</p>",
            titles.join(", ")
        ));
    }
    if picked.left_out > 0 {
        out.push_str(&format!(
            "<p class=\"none\">{} more charts are not shown.</p>",
            picked.left_out
        ));
    }
    (!out.is_empty()).then_some(out)
}

/// Links to the findings whose witnesses name a chart.
fn named_by(incident: &Incident, verdict: &Verdict, picked: &Picked, chart: usize) -> String {
    verdict
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
            format!(
                "<a href=\"#{}\" title=\"{}\">finding {}</a>",
                anchors::finding(index),
                escape::html(&finding.title),
                index + 1
            )
        })
        .collect::<Vec<_>>()
        .join(", ")
}

fn figure(incident: &Incident, frame: &Frame, chart: &Chart, index: usize, by: &str) -> String {
    let id = anchors::chart(index);
    let named = match by.is_empty() {
        true => String::new(),
        false => format!(" <span class=\"by\">Named by {by}.</span>"),
    };
    format!(
        "<figure class=\"chart\" id=\"{id}\"><figcaption><h3>{title}</h3><p>{note}{named}</p>\
         </figcaption>\n<div class=\"frame\">{svg}</div>\n{legend}{failed}</figure>\n",
        title = escape::html(&chart.title),
        note = escape::html(&chart.note),
        svg = chart::svg(incident, frame, chart, &id),
        legend = legend(incident, &chart.curves),
        failed = failed(&chart.failed),
    )
}

fn legend(incident: &Incident, curves: &[Curve]) -> String {
    let rows: String = curves
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
            let cells: String = numbers
                .into_iter()
                .map(|value| {
                    let said = value
                        .map_or_else(|| "–".to_owned(), |value| curve.quantity.say_short(value));
                    format!("<td>{}</td>", escape::html(&said))
                })
                .collect();
            let noun = match curve.quantity.noun() {
                "" => String::new(),
                noun => format!(", {noun}"),
            };
            format!(
                "<tr><th scope=\"row\"><i class=\"swatch c{index}\"></i>{}{noun}</th>{cells}\
                 <td class=\"at\" data-line=\"{index}\"></td></tr>",
                escape::html(&curve.label)
            )
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<table class=\"legend\"><thead><tr><th scope=\"col\"><span class=\"unseen\">Signal</span></th>\
         <th scope=\"col\" title=\"mean before the onset\">before</th>\
         <th scope=\"col\" title=\"mean from onset to end\">in stall</th>\
         <th scope=\"col\">min</th><th scope=\"col\">mean</th><th scope=\"col\">max</th>\
         <th scope=\"col\" class=\"at\"></th></tr></thead><tbody>{rows}</tbody></table>"
    )
}

fn failed(failed: &[FailedProbe]) -> String {
    if failed.is_empty() {
        return String::new();
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
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let kinds: Vec<String> = kinds
        .iter()
        .map(|(outcome, count)| format!("{} {count}", outcome.words()))
        .collect();
    format!(
        "<p class=\"failures\"><i class=\"swatch failed\"></i>Probes without an answer: {}</p>",
        kinds.join(", ")
    )
}
