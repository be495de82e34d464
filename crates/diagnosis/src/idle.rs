//! A server that had nothing to do. What its few threads and samples were in says nothing then: of next to nothing, any
//! share is large.

use model::{Incident, Measure};

/// Statements under way at a time, on average, up to which nobody worked.
const UNDER_WAY_MAX: f64 = 0.1;

/// Statements a second: the recorder's own are among them.
const STATEMENTS_MAX: f64 = 25.0;

/// Processors that the server keeps busy with its own housekeeping.
const CPUS_MAX: f64 = 0.1;

/// The kernel's ticks in a second.
const TICKS_A_SECOND: f64 = 100.0;

/// That the server was idle, in a sentence. Nothing where it worked, where a stall was noticed, or where nothing is known.
pub fn idle(incident: &Incident) -> Option<String> {
    // In a stall clients wait for something, however little the server does.
    if !incident.stall.is_request_only() {
        return None;
    }
    let window = incident.stall_window();
    let measured = |name: &str, measure: Measure| {
        let series = incident.timeline.get(name)?;
        incident.timeline.measure(series, measure, window)
    };
    let under_way = measured("processlist.in_flight", Measure::Mean)?;
    let statements = measured("status.Questions", Measure::Rate)?;
    let hung = measured("processlist.hung", Measure::Max).unwrap_or(0.0);
    let failed = measured("probe.query_outcome", Measure::Max).unwrap_or(0.0);
    let ticks = ["process.user_ticks", "process.system_ticks"];
    let ticks = ticks.map(|name| measured(name, Measure::Rate));
    let cpus = ticks.into_iter().flatten().sum::<f64>() / TICKS_A_SECOND;
    let is_idle = under_way <= UNDER_WAY_MAX
        && statements <= STATEMENTS_MAX
        && cpus <= CPUS_MAX
        && hung < 1.0
        && failed == 0.0;
    let clients = measured("processlist.clients", Measure::Max).unwrap_or(0.0);
    let says = match (under_way == 0.0, clients >= 1.5) {
        (true, true) => format!("none of {clients:.0} clients ran a statement"),
        (true, false) => "no client ran a statement".to_owned(),
        (false, _) => "hardly any client ran a statement".to_owned(),
    };
    is_idle.then(|| format!("The server was idle: {says}."))
}
