//! What InnoDB said: its signals in numbers, and its status text.

use crate::markup::{Markup, markup, row};
use model::{Incident, Measure, OrderBy, Series, TextKind, TimedText};

use super::table::{CellKind, Table, cell, column};
use crate::anchors;
use crate::{
    pick::Picked,
    time_format,
    units::{Quantity, to_base},
};

/// Bytes of markup of one status text at the most, about.
const STATUS_BYTES_MAX: usize = 200_000;
/// Signals shown.
const SIGNALS_MAX: usize = 60;

pub(super) fn section(incident: &Incident, picked: &Picked) -> Option<Markup> {
    let status = || {
        incident
            .texts
            .iter()
            .filter(|timed| timed.text.kind() == TextKind::InnodbStatus)
    };
    let before = status().rfind(|timed| timed.at < incident.stall.onset);
    let after = status()
        .find(|timed| timed.at >= incident.stall.trigger)
        .or_else(|| status().rfind(|timed| timed.at >= incident.stall.onset));
    let mut out = signals(incident, picked).unwrap_or_default();
    for (timed, words) in [
        (before, "Last before the onset"),
        (after, "First after the trigger"),
    ] {
        if let Some(timed) = timed {
            out += text(incident, timed, words);
        }
    }
    (!out.is_empty()).then_some(out)
}

fn signals(incident: &Incident, picked: &Picked) -> Option<Markup> {
    let mut all: Vec<&Series> = incident
        .timeline
        .matching("innodb.*")
        .filter(|series| {
            series
                .values
                .iter()
                .any(|value| !value.is_nan() && *value != 0.0)
        })
        .collect();
    all.order_by(|a, b| a.name.cmp(&b.name));
    if all.is_empty() {
        return None;
    }
    let columns = [
        column("Signal", CellKind::Code),
        column("Mean before", CellKind::Numbers),
        column("Most before", CellKind::Numbers),
        column("Mean in stall", CellKind::Numbers),
        column("Most in stall", CellKind::Numbers),
    ];
    let rows = all.iter().map(|series| {
        let say = |measure, window| {
            incident
                .timeline
                .measure(series, measure, window)
                .map_or_else(
                    || "–".to_owned(),
                    |value| Quantity::for_series(series).to_text(value * to_base(series.unit)),
                )
        };
        let name = cell(&series.name);
        let name = match picked.chart_of_signal.get(&series.name) {
            Some(chart) => markup!("<a href=\"#{}\">{name}</a>", anchors::chart(*chart), ..name),
            None => name,
        };
        row![
            name,
            say(Measure::Mean, incident.baseline_window()),
            say(Measure::Max, incident.baseline_window()),
            say(Measure::Mean, incident.stall_window()),
            say(Measure::Max, incident.stall_window()),
        ]
    });
    Some(
        Table::wide("Signals of the status text that were not zero", &columns)
            .rows(rows, SIGNALS_MAX),
    )
}

fn text(incident: &Incident, timed: &TimedText, words: &str) -> Markup {
    markup!(
        "<details><summary>{words}: SHOW ENGINE INNODB STATUS, {}</summary>\
         <pre class=\"status\">{}</pre></details>\n",
        time_format::time_text_utc(&incident.clock, timed.at),
        Markup::cut(timed.text.body(), STATUS_BYTES_MAX),
        ..words
    )
}
