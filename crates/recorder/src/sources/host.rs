//! The host: shares of its processors, and what else is read without ever blocking.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::procfs::stat::{self, CpuTicks};
use kernel::roots::{ProcRoot, SysRoot};
use model::{Fact, Millis, Reading, Sample, SourceData, Unit};

use super::{Outcome, Reader, State, absent, readings, signals};
use crate::clock::RecorderClock;
use crate::context::Context;
use crate::target::Shared;

/// What the host's sources remember between readings.
pub(crate) struct HostState {
    pub(crate) proc: ProcRoot,
    pub(crate) sys: SysRoot,
    pub(crate) shared: Arc<Shared>,
    pub(crate) clock: RecorderClock,
    pub(crate) whole_disks: std::collections::HashMap<String, bool>,
    pub(crate) own_before: Option<Millis>,
    cpu_before: Option<CpuTicks>,
    /// Who has asked the server for something, by its TCP connections.
    pub(crate) requests: detect::Requests,
    pub(crate) connections_look: Option<ConnectionsReading>,
    /// Connections in the accept queues at the last look.
    pub(crate) waiting_to_be_accepted: u32,
    /// They could not be looked at, and are not before.
    pub(crate) connections_absent_until: Option<std::time::Instant>,
}

/// Files of the host, which never block.
impl State for HostState {
    const THREAD: &'static str = "ff-host";

    /// Nothing is judged by what the recorder itself costs.
    fn can_wait(sample: &Sample) -> bool {
        sample.source == "own"
    }

    fn new(context: &Context) -> Self {
        Self {
            proc: ProcRoot::default(),
            sys: SysRoot::default(),
            shared: context.shared.clone(),
            clock: context.clock.clone(),
            whole_disks: std::collections::HashMap::new(),
            own_before: None,
            cpu_before: None,
            requests: detect::Requests::default(),
            waiting_to_be_accepted: 0,
            connections_look: None,
            connections_absent_until: None,
        }
    }
}

#[rustfmt::skip]
pub(crate) static STAT: Reader<HostState> = Reader {
    source: "stat",
    signals: &[
        signals(&["cpu.*.user", "cpu.*.nice", "cpu.*.system", "cpu.*.idle", "cpu.*.iowait", "cpu.*.irq", "cpu.*.softirq", "cpu.*.steal"], "c, ticks", "of all CPUs (`all`) and of each (its number)"),
        signals(&["cpu.system_share", "cpu.user_share", "cpu.nice_share", "cpu.busy_share", "cpu.iowait_share", "cpu.steal_share"], "g, share", "of all CPUs since the last reading; `system` with `irq` and `softirq`, `user` with `nice`, `busy` is both"),
        signals(&["cpu.context_switches", "cpu.forks"], "c", ""),
        signals(&["cpu.procs_running", "cpu.procs_blocked", "cpu.count"], "g", ""),
    ],
    read: stat,
};

fn stat(state: &mut HostState) -> Outcome {
    let stat = stat::read(&state.proc).map_err(|error| absent("stat", &error))?;
    let mut out = Vec::with_capacity(16 + stat.cpus.len() * 8);
    if let Some(total) = stat.total {
        ticks("all", &total, &mut out);
        if let Some(before) = state.cpu_before.replace(total) {
            shares(&before, &total, &mut out);
        }
    }
    for (cpu, ticks_of_cpu) in &stat.cpus {
        ticks(&cpu.to_string(), ticks_of_cpu, &mut out);
    }
    let counters = [
        ("cpu.context_switches", stat.context_switches),
        ("cpu.forks", stat.forks),
    ];
    for (name, value) in counters {
        out.extend(value.map(|value| Reading::counter(name, Unit::Count, value as f64)));
    }
    let levels = [
        ("cpu.procs_running", stat.procs_running),
        ("cpu.procs_blocked", stat.procs_blocked),
        ("cpu.count", Some(stat.cpus.len() as u64)),
    ];
    for (name, value) in levels {
        out.extend(value.map(|value| Reading::gauge(name, Unit::Count, value as f64)));
    }
    Ok(readings(out))
}

fn ticks(cpu: &str, ticks: &CpuTicks, out: &mut Vec<Reading>) {
    for (mode, value) in [
        ("user", ticks.user),
        ("nice", ticks.nice),
        ("system", ticks.system),
        ("idle", ticks.idle),
        ("iowait", ticks.iowait),
        ("irq", ticks.irq),
        ("softirq", ticks.softirq),
        ("steal", ticks.steal.unwrap_or(0)),
    ] {
        let name = format!("cpu.{cpu}.{mode}");
        out.push(Reading::counter(name, Unit::Ticks, value as f64));
    }
}

/// Shares of all CPUs since the reading before. Guest time is inside of user time already.
fn shares(before: &CpuTicks, now: &CpuTicks, out: &mut Vec<Reading>) {
    let grown = |pick: fn(&CpuTicks) -> u64| pick(now).saturating_sub(pick(before)) as f64;
    let system = grown(|t| t.system) + grown(|t| t.irq) + grown(|t| t.softirq);
    let nice = grown(|t| t.nice);
    let user = grown(|t| t.user) + nice;
    let (idle, iowait) = (grown(|t| t.idle), grown(|t| t.iowait));
    let steal = grown(|t| t.steal.unwrap_or(0));
    let total = system + user + idle + iowait + steal;
    if total <= 0.0 {
        return;
    }
    for (name, part) in [
        ("cpu.system_share", system),
        ("cpu.user_share", user),
        ("cpu.nice_share", nice),
        ("cpu.busy_share", system + user),
        ("cpu.iowait_share", iowait),
        ("cpu.steal_share", steal),
    ] {
        // Four decimals: more is noise of the 10 ms ticks, and costs room in the history.
        let share = (part / total * 10_000.0).round() / 10_000.0;
        out.push(Reading::gauge(name, Unit::Share, share));
    }
}

pub(crate) static HOST: Reader<HostState> = Reader {
    source: "host",
    signals: &[],
    read: facts,
};

fn facts(state: &mut HostState) -> Outcome {
    let text = |name: &str| {
        std::fs::read_to_string(state.proc.file(name))
            .map(|text| text.trim().to_owned())
            .unwrap_or_default()
    };
    let stat = stat::read(&state.proc).map_err(|error| absent("host", &error))?;
    let mut facts = vec![
        Fact::new("host.kernel", text("sys/kernel/osrelease")),
        Fact::new("host.cpus", stat.cpus.len().to_string()),
    ];
    for name in [
        "vm/swappiness",
        "vm/min_free_kbytes",
        "vm/zone_reclaim_mode",
        "vm/dirty_ratio",
        "vm/dirty_background_ratio",
        "net/core/somaxconn",
    ] {
        let value = text(&format!("sys/{name}"));
        if !value.is_empty() {
            facts.push(Fact::new(
                format!("sysctl.{}", name.replace('/', ".")),
                value,
            ));
        }
    }
    if let Ok(bytes) = kernel::procfs::meminfo::read(&state.proc)
        && let Some((_, kernel::procfs::meminfo::Amount::Kib(kib))) =
            kernel::procfs::meminfo::pairs(&bytes).find(|(name, _)| *name == "MemTotal")
    {
        facts.push(Fact::new("host.memory_bytes", (kib * 1024).to_string()));
    }
    Ok(SourceData {
        facts,
        ..SourceData::default()
    })
}

/// Connections are looked at each second anyway.
const NEXT_SECOND: Duration = Duration::from_millis(900);

/// The last look at connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionsReading {
    pub(super) at: Instant,
    pub(super) cost: Duration,
    /// A client had waited for an answer for long.
    pub(super) somebody_hangs: bool,
}

impl ConnectionsReading {
    /// Whether the next look has to wait until this one is paid for, at this share of a core.
    pub(super) fn rests(&self, share_max: f64) -> bool {
        let pause = Duration::from_secs_f64(self.cost.as_secs_f64() / share_max);
        pause > NEXT_SECOND && self.at.elapsed() < pause
    }
}
