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

/// Names of a title in characters; longer ones are counted.
const NAMES_WIDTH_MAX: usize = 56;

/// The signals' names in words; of many of one area how many they are.
fn title_of(curves: &[Curve]) -> String {
    let Some(first) = curves.first() else {
        return String::new();
    };
    let alone = standard::in_words(&first.label);
    let more = curves.len() - 1;
    if more == 0 {
        return alone;
    }
    let names: Option<Vec<(String, &str)>> = curves
        .iter()
        .map(|curve| standard::own_name(&curve.label))
        .collect();
    let Some((area, names)) = names.and_then(of_one_area) else {
        return format!("{alone} and {more} more");
    };
    let listed = match names.split_last() {
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => String::new(),
    };
    match listed.chars().count() <= NAMES_WIDTH_MAX {
        true => format!("{listed} ({area})"),
        false => format!("{} signals ({area})", curves.len()),
    }
}

/// Names whose area is the same, and that area.
fn of_one_area(names: Vec<(String, &str)>) -> Option<(&str, Vec<String>)> {
    let (_, area) = *names.first()?;
    let is_one = names.iter().all(|(_, other)| *other == area);
    is_one.then(|| (area, names.into_iter().map(|(own, _)| own).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Quantity;

    fn title(labels: &[&str]) -> String {
        let curve = |label: &&str| Curve {
            label: (*label).to_owned(),
            signals: Vec::new(),
            quantity: Quantity::Count,
            step: false,
            points: Vec::new(),
        };
        title_of(&labels.iter().map(curve).collect::<Vec<_>>())
    }

    #[test]
    fn a_title_is_made_of_whole_words() {
        let titles: [(&[&str], &str); 7] = [
            (
                &["packets.compressed_connections", "packets.connections"],
                "compressed connections and connections (which statements ran)",
            ),
            (
                &["packets.show_warnings", "packets.statements"],
                "show warnings and statements (which statements ran)",
            ),
            (
                &["vmstat.pswpin", "meminfo.MemFree", "vmstat.pgfault"],
                "pswpin, MemFree and pgfault (the kernel's memory figures)",
            ),
            (
                &[
                    "threads.by_name.connection.run_ns",
                    "threads.by_name.ib_pg_flush_co.run_ns",
                ],
                "2 signals (the load of the server's threads)",
            ),
            (
                &["packets.bytes", "disk.sda.bytes"],
                "bytes (which statements ran) and 1 more",
            ),
            (&["shop.orders", "shop.sent"], "shop.orders and 1 more"),
            (&["processlist.active"], "active (the list of sessions)"),
        ];
        for (labels, words) in titles {
            assert_eq!(title(labels), words);
        }
    }
}
