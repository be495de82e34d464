//! Which signals are worth showing: those that witnesses name first, then the standard ones.

use std::collections::HashMap;

use diagnosis::{Verdict, Witness};
use model::Incident;

use crate::{
    curve::Curve,
    standard::{self, Chart, LINES_PER_CHART_MAX},
};

/// Charts of one page.
pub(crate) const CHARTS_MAX: usize = 40;

/// Signals shown where there is room for few, when witnesses name too few.
const USUAL_SIGNALS: [&str; 6] = [
    "probe.query_us",
    "cpu.system_share",
    "status.Questions",
    "status.Threads_running",
    "cpu.context_switches",
    "cpu.procs_running",
];

/// The charts of a page.
#[derive(Debug, Default)]
pub(crate) struct Picked {
    /// Charts that witnesses point at, in the order of the findings.
    pub(crate) named: Vec<Chart>,
    /// The other standard charts.
    pub(crate) other: Vec<Chart>,
    /// Titles of standard charts that are left out because all their values are zero.
    pub(crate) silent: Vec<String>,
    /// Charts left out because of [`CHARTS_MAX`].
    pub(crate) left_out: usize,
    /// For each charted signal the index of its chart: `named` first, then `other`.
    pub(crate) chart_of_signal: HashMap<String, usize>,
}

/// Picks the charts of a page.
pub(crate) fn charts(incident: &Incident, verdict: &Verdict) -> Picked {
    let mut standard: Vec<Option<Chart>> =
        standard::charts(incident).into_iter().map(Some).collect();
    let mut named: Vec<Chart> = Vec::new();
    for witness in witnesses(verdict) {
        let mut alone: Vec<Curve> = Vec::new();
        for name in names_of(incident, witness) {
            if named.iter().any(|chart| shows(chart, &name)) {
                continue;
            }
            let has_it = |chart: &&mut Option<Chart>| {
                chart.as_ref().is_some_and(|chart| shows(chart, &name))
            };
            if let Some(chart) = standard.iter_mut().find(has_it).and_then(Option::take) {
                named.push(chart);
            } else if let Some(series) = incident.timeline.get(&name) {
                alone.push(Curve::from_series(incident, series));
            }
        }
        named.extend(by_quantity(alone));
    }
    let (silent, other): (Vec<Chart>, Vec<Chart>) =
        standard.into_iter().flatten().partition(is_silent);
    let mut picked = Picked {
        named,
        other,
        silent: silent.into_iter().map(|chart| chart.title).collect(),
        ..Picked::default()
    };
    let all = picked.named.len() + picked.other.len();
    picked.named.truncate(CHARTS_MAX);
    picked.other.truncate(CHARTS_MAX - picked.named.len());
    picked.left_out = all - picked.named.len() - picked.other.len();
    for (index, chart) in picked.named.iter().chain(&picked.other).enumerate() {
        for signal in chart.curves.iter().flat_map(|curve| &curve.signals) {
            picked
                .chart_of_signal
                .entry(signal.clone())
                .or_insert(index);
        }
    }
    picked
}

impl Picked {
    /// The charts that show a witness' signals, each once.
    pub(crate) fn charts_of(&self, incident: &Incident, witness: &Witness) -> Vec<usize> {
        let mut found: Vec<usize> = names_of(incident, witness)
            .iter()
            .filter_map(|name| self.chart_of_signal.get(name).copied())
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The few curves that tell the story best: the first signal of each witness but for one place,
/// then the usual ones, then the rest.
pub(crate) fn headline(incident: &Incident, verdict: &Verdict, most: usize) -> Vec<Curve> {
    let shown = || {
        verdict
            .findings
            .iter()
            .flat_map(|finding| &finding.witnesses)
    };
    let first = shown().filter_map(|witness| names_of(incident, witness).into_iter().next());
    let rest = shown().flat_map(|witness| names_of(incident, witness));
    let usual = USUAL_SIGNALS.iter().map(|name| (*name).to_owned());
    let mut curves: Vec<Curve> = Vec::new();
    for name in first.take(most.saturating_sub(1)).chain(usual).chain(rest) {
        if curves.len() >= most {
            break;
        }
        let fresh = !curves.iter().any(|curve| curve.signals.contains(&name));
        if let Some(series) = incident.timeline.get(&name).filter(|_| fresh) {
            let curve = Curve::from_series(incident, series);
            if !curve.points.is_empty() {
                curves.push(curve);
            }
        }
    }
    curves
}

fn witnesses(verdict: &Verdict) -> impl Iterator<Item = &Witness> {
    verdict
        .findings
        .iter()
        .chain(&verdict.folded)
        .flat_map(|finding| finding.witnesses.iter().chain(&finding.against))
}

/// The recorded signals a witness names; a name may be a pattern.
fn names_of(incident: &Incident, witness: &Witness) -> Vec<String> {
    witness
        .signals
        .iter()
        .flat_map(|pattern| {
            incident
                .timeline
                .matching(pattern)
                .take(LINES_PER_CHART_MAX)
                .map(|series| series.name.clone())
        })
        .collect()
}

fn shows(chart: &Chart, signal: &str) -> bool {
    chart
        .curves
        .iter()
        .any(|curve| curve.signals.iter().any(|name| name == signal))
}

fn is_silent(chart: &Chart) -> bool {
    chart.failed.is_empty() && chart.curves.iter().all(Curve::is_flat_zero)
}

/// Charts of the curves that no standard chart has, those of one quantity together.
fn by_quantity(curves: Vec<Curve>) -> Vec<Chart> {
    let mut charts: Vec<Chart> = Vec::new();
    for curve in curves {
        let open = charts.iter_mut().find(|chart| {
            chart.curves.len() < LINES_PER_CHART_MAX
                && chart
                    .curves
                    .first()
                    .is_some_and(|first| first.quantity == curve.quantity)
        });
        match open {
            Some(chart) => chart.curves.push(curve),
            None => charts.push(Chart {
                title: String::new(),
                note: String::new(),
                curves: vec![curve],
                failed: Vec::new(),
            }),
        }
    }
    for chart in &mut charts {
        chart.title = title_of(&chart.curves);
    }
    charts
}

/// The one signal's name, or what the names have in common.
fn title_of(curves: &[Curve]) -> String {
    let Some(first) = curves.first() else {
        return String::new();
    };
    let common = curves
        .iter()
        .skip(1)
        .fold(first.label.as_str(), |common, curve| {
            let same = common.char_indices().zip(curve.label.chars());
            let end = same
                .take_while(|((_, a), b)| a == b)
                .map(|((at, a), _)| at + a.len_utf8())
                .last()
                .unwrap_or(0);
            common.get(..end).unwrap_or("")
        });
    match common.trim_end_matches(['.', '_']) {
        "" => format!("{} and {} more", words(&first.label), curves.len() - 1),
        common if curves.len() > 1 => format!("{}: {} signals", words(common), curves.len()),
        common => words(common),
    }
}

/// A title in words; the line below the chart has the signal's own name.
fn words(name: &str) -> String {
    standard::in_words(name)
}
