//! The signals that every server has, whatever stalled it.

use model::{Measure, ProbeOutcome, Series, Window};

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
    /// The larger of two in microseconds, in milliseconds: what was answered, and what waits.
    Latency(&'static str, &'static str),
    /// The share of probes that no answer came to.
    Unanswered,
    /// The mean of a level.
    Level(&'static str),
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
        what: Wide::Latency("probe.query_us", "probe.query_waiting_us"),
        neutral: false,
    },
    ServerWide {
        id: "connect-latency",
        title: "time of a new connection",
        show: Show::Milliseconds,
        floor: 2.0,
        what: Wide::Latency("probe.connect_us", "probe.connect_waiting_us"),
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
        what: Wide::Level("status.Threads_running"),
        neutral: false,
    },
    ServerWide {
        id: "system-cpu",
        title: "CPU time in the kernel",
        show: Show::Percent,
        floor: 0.05,
        what: Wide::Level("cpu.system_share"),
        neutral: true,
    },
    ServerWide {
        id: "busy-cpu",
        title: "CPU time in use",
        show: Show::Percent,
        floor: 0.05,
        what: Wide::Level("cpu.busy_share"),
        neutral: true,
    },
    ServerWide {
        id: RUN_QUEUE,
        title: "tasks that run or want to",
        show: Show::Count,
        floor: 1.0,
        what: Wide::Level("cpu.procs_running"),
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
    let timeline = &subject.incident.timeline;
    let window = subject.window;
    let most = |name: &str, slot: Window| {
        let series = timeline.get(name)?;
        timeline.measure(series, Measure::Max, slot)
    };
    let value = |slot: Window| match what {
        Wide::Latency(answered, waiting) => {
            let both = [most(answered, slot), most(waiting, slot)];
            let largest = both.into_iter().flatten().reduce(f64::max)?;
            Some(largest / 1000.0)
        }
        Wide::Unanswered => {
            let signs = ["probe.query_outcome", "probe.connect_outcome"]
                .iter()
                .filter_map(|name| timeline.get(name))
                .flat_map(|series: &Series| timeline.points_in(series, slot))
                .filter_map(|(_, code)| ProbeOutcome::from_code(code))
                .map(|outcome| f64::from(u8::from(outcome.is_stall_sign())))
                .collect::<Vec<_>>();
            mean(&signs)
        }
        Wide::Level(name) => timeline.measure(timeline.get(name)?, Measure::Mean, slot),
        Wide::Formula(_) => None,
    };
    if let Wide::Formula(text) = what {
        // The formulas are ours; a test reads them.
        let found = Expression::parse(text)
            .map(|formula| series::measured(&formula, subject.incident, window))
            .unwrap_or_default();
        return Readings {
            points: found
                .into_iter()
                .map(|(slot, value)| (slot.to.saturating_sub(window.from), value))
                .collect(),
            held: Vec::new(),
        };
    }
    Readings {
        points: series::slots(window)
            .into_iter()
            .filter_map(|slot| Some((slot.to.saturating_sub(window.from), value(slot)?)))
            .collect(),
        held: Vec::new(),
    }
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
        assert_eq!(formulas, 2);
    }
}
