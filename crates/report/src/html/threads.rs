//! The server's threads by the CPU time they took.

use crate::markup::{Markup, row};
use model::{Incident, Measure, OrderBy, TextKind, Window};
use serde::Deserialize;

use super::table::{CellKind, Table, column};
use crate::{
    time_format,
    units::{Quantity, digits},
};

/// Thread names shown.
const NAMES_MAX: usize = 20;
/// Single threads shown.
const THREADS_MAX: usize = 20;

pub(super) fn section(incident: &Incident) -> Option<Markup> {
    let mut out = by_name(incident).unwrap_or_default();
    out += single(incident).unwrap_or_default();
    (!out.is_empty()).then_some(out)
}

struct Row<'a> {
    name: &'a str,
    count: Option<f64>,
    /// CPU time and time waiting for a CPU, before and in the stall, in nanoseconds a second.
    run: [Option<f64>; 2],
    wait: [Option<f64>; 2],
}

fn by_name(incident: &Incident) -> Option<Markup> {
    let windows = [incident.baseline_window(), incident.stall_window()];
    let mut rows: Vec<Row<'_>> = incident
        .timeline
        .matching("threads.by_name.*.run_ns")
        .filter_map(|series| {
            series
                .name
                .strip_prefix("threads.by_name.")?
                .strip_suffix(".run_ns")
        })
        .map(|name| {
            let measure = |what: &str, measure: Measure, window: Window| {
                let series = incident
                    .timeline
                    .get(&format!("threads.by_name.{name}.{what}"))?;
                incident.timeline.measure(series, measure, window)
            };
            let rate = |what: &str| windows.map(|window| measure(what, Measure::Rate, window));
            Row {
                name,
                count: measure("count", Measure::Max, incident.stall_window()),
                run: rate("run_ns"),
                wait: rate("wait_ns"),
            }
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let most = |row: &Row<'_>| row.run.iter().flatten().copied().fold(0.0, f64::max);
    rows.order_by(|a, b| most(b).total_cmp(&most(a)).then_with(|| a.name.cmp(b.name)));
    let columns = [
        column("Thread name", CellKind::Code),
        column("Threads", CellKind::Numbers),
        column("CPUs used before", CellKind::Numbers),
        column("CPUs used in stall", CellKind::Numbers),
        column("Waiting for a CPU before", CellKind::Numbers),
        column("Waiting for a CPU in stall", CellKind::Numbers),
    ];
    // Nanoseconds of each nanosecond: how many did so at a time.
    let at_a_time =
        |rate: Option<f64>| rate.map_or_else(|| "–".to_owned(), |rate| digits(rate * 1e-9));
    let rows = rows.iter().map(|row| {
        row![
            row.name,
            row.count.map_or_else(|| "–".to_owned(), digits),
            at_a_time(row.run[0]),
            at_a_time(row.run[1]),
            at_a_time(row.wait[0]),
            at_a_time(row.wait[1]),
        ]
    });
    Some(Table::wide("By thread name", &columns).rows(rows, NAMES_MAX))
}

/// One thread of a recorded list of the busiest ones.
#[derive(Deserialize)]
struct Thread {
    tid: u64,
    name: String,
    state: String,
    /// Time on a CPU since the list before, in milliseconds.
    run_ms: f64,
    /// Time ready to run and waiting for a CPU, in milliseconds.
    wait_ms: f64,
}

/// The first list of the busiest threads after the trigger.
fn single(incident: &Incident) -> Option<Markup> {
    let lists = || {
        incident
            .texts
            .iter()
            .filter(|timed| timed.text.kind() == TextKind::Threads)
    };
    let timed = lists()
        .find(|timed| timed.at >= incident.stall.trigger)
        .or_else(|| lists().next_back())?;
    let threads: Vec<Thread> = serde_json::from_str(timed.text.body()).ok()?;
    let columns = [
        column("Thread", CellKind::Text),
        column("Name", CellKind::Code),
        column("State", CellKind::Text),
        column("CPU time", CellKind::Numbers),
        column("Waited for a CPU", CellKind::Numbers),
    ];
    let time = |ms: f64| Quantity::Seconds.to_text(ms / 1000.0);
    let rows = threads.iter().map(|thread| {
        row![
            thread.tid.to_string(),
            thread.name,
            thread.state,
            time(thread.run_ms),
            time(thread.wait_ms),
        ]
    });
    let at = time_format::time_text_utc(&incident.clock, timed.at);
    let caption = format!("Busiest threads, {at}, since the reading before");
    Some(Table::wide(&caption, &columns).rows(rows, THREADS_MAX))
}
