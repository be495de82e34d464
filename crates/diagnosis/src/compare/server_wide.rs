//! The signals that every server has, whatever stalled it.

use model::{ProbeOutcome, Timeline, Window};

use super::Subject;
use super::series::{self, Readings, mean};
use crate::human::Show;
use expression::Expression;

/// Signals that every server has.
pub(super) struct ServerWide {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) show: Show,
    /// Differences below this matter to nobody, however sure they are.
    pub(super) floor: f64,
    pub(super) what: Wide,
    /// More of it is neither good nor bad.
    pub(super) neutral: bool,
}

pub(super) enum Wide {
    /// The share of probes that no answer came to.
    Unanswered,
    /// As a cause's file would have it.
    Formula(&'static str),
}

/// CPUs that others than the server use: the row that says whether the machine was another one.
pub(super) const ELSEWHERE: &str = "elsewhere-cpu";

/// Time in which something waited for a CPU.
pub(super) const PRESSURE: &str = "cpu-pressure";

/// Tasks that run or want to.
pub(super) const RUN_QUEUE: &str = "run-queue";

/// Sessions at work.
pub(super) const RUNNING: &str = "running";

pub(super) const SERVER_WIDE: [ServerWide; 9] = [
    ServerWide {
        id: "query-latency",
        title: "time of SELECT 1",
        show: Show::Milliseconds,
        floor: 1.0,
        what: Wide::Formula("largest(max(probe.query_us), max(probe.query_waiting_us)) / 1000"),
        neutral: false,
    },
    ServerWide {
        id: "connect-latency",
        title: "time of a new connection",
        show: Show::Milliseconds,
        floor: 2.0,
        what: Wide::Formula("largest(max(probe.connect_us), max(probe.connect_waiting_us)) / 1000"),
        neutral: false,
    },
    ServerWide {
        id: "unanswered",
        title: "probes without an answer",
        show: Show::Percent,
        floor: 0.01,
        what: Wide::Unanswered,
        neutral: false,
    },
    ServerWide {
        id: RUNNING,
        title: "sessions at work (Threads_running)",
        show: Show::Count,
        floor: 2.0,
        what: Wide::Formula("mean(status.Threads_running)"),
        neutral: false,
    },
    ServerWide {
        id: "system-cpu",
        title: "CPU time in the kernel",
        show: Show::Percent,
        floor: 0.05,
        what: Wide::Formula("mean(cpu.system_share)"),
        neutral: true,
    },
    ServerWide {
        id: "busy-cpu",
        title: "CPU time in use",
        show: Show::Percent,
        floor: 0.05,
        what: Wide::Formula("mean(cpu.busy_share)"),
        neutral: true,
    },
    ServerWide {
        id: RUN_QUEUE,
        title: "tasks that run or want to",
        show: Show::Count,
        floor: 1.0,
        what: Wide::Formula("mean(cpu.procs_running)"),
        neutral: true,
    },
    ServerWide {
        id: PRESSURE,
        title: "time with waits for a CPU (PSI)",
        show: Show::Percent,
        floor: 0.1,
        what: Wide::Formula("rate(psi.cpu.some_us) / 1000000"),
        neutral: true,
    },
    ServerWide {
        id: ELSEWHERE,
        title: "CPUs that others use",
        show: Show::Count,
        floor: 0.2,
        // USER_HZ is 100 on Linux: ticks a second over 100 are CPUs.
        what: Wide::Formula(
            "mean(cpu.busy_share) * max(cpu.count) \
             - (rate(process.user_ticks) + rate(process.system_ticks)) / 100",
        ),
        neutral: true,
    },
];

pub(super) fn readings(what: &Wide, subject: &Subject) -> Readings {
    let (incident, window) = (subject.incident, subject.window);
    let found: Vec<(Window, f64)> = match what {
        // The formulas are ours; a test reads them.
        Wide::Formula(text) => Expression::parse(text)
            .map(|formula| series::measured(&formula, incident, window))
            .unwrap_or_default(),
        Wide::Unanswered => series::slots(window)
            .into_iter()
            .filter_map(|slot| Some((slot, unanswered(&incident.timeline, slot)?)))
            .collect(),
    };
    Readings::new(found, Vec::new(), window)
}

fn unanswered(timeline: &Timeline, slot: Window) -> Option<f64> {
    let signs = ["probe.query_outcome", "probe.connect_outcome"]
        .iter()
        .filter_map(|name| timeline.get(name))
        .flat_map(|series| timeline.points_in(series, slot))
        .filter_map(|(_, code)| ProbeOutcome::from_code(code))
        .map(|outcome| f64::from(u8::from(outcome.is_stall_sign())))
        .collect::<Vec<_>>();
    mean(&signs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_formulas_are_sound() {
        let mut formulas = 0;
        for wide in &SERVER_WIDE {
            if let Wide::Formula(text) = wide.what {
                assert!(Expression::parse(text).is_ok(), "{text}");
                formulas += 1;
            }
        }
        assert_eq!(formulas, 8);
    }
}
