//! The fixed table of charts that every incident has when their signals were recorded.

use model::Incident;

use crate::{
    curve::Curve,
    derived::{self, DiskWork, FailedProbe},
};

/// Lines of one chart at the most: more cannot be told apart.
pub(crate) const LINES_PER_CHART_MAX: usize = 5;

/// Statement kinds shown beside all statements.
const STATEMENT_MOVERS_MAX: usize = 4;

/// Disks with charts.
const DISKS_MAX: usize = 2;

/// Thread names with a line.
const THREAD_NAMES_MAX: usize = 5;

/// What a chart shows, before it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chart {
    /// Title.
    pub(crate) title: String,
    /// What it means, one sentence; may be empty.
    pub(crate) note: String,
    /// Lines; all of one quantity.
    pub(crate) curves: Vec<Curve>,
    /// Probes without an answer, marked at the top.
    pub(crate) failed: Vec<FailedProbe>,
}

/// How a standard chart gets its lines.
#[derive(Debug, Clone, Copy)]
enum Part {
    /// The signals of a pattern, and the label of a single one (empty: the signal's own name).
    Signals(&'static str, &'static str),
    /// CPU time in user mode.
    UserShare,
    /// The statement kinds whose rates changed most.
    StatementMovers,
    /// Time of disk requests.
    DiskAwait,
    /// Time disks are in use.
    DiskBusy,
    /// The thread names whose CPU time changed most.
    ThreadMovers,
}

struct Standard {
    title: &'static str,
    note: &'static str,
    parts: &'static [Part],
    probes: bool,
}

const fn standard(title: &'static str, note: &'static str, parts: &'static [Part]) -> Standard {
    Standard {
        title,
        note,
        parts,
        probes: false,
    }
}

use Part::Signals;

const STANDARD: [Standard; 23] = [
    Standard {
        title: "Probe latency",
        note: "How long SELECT 1 and a new connection took.",
        parts: &[
            Signals("probe.query_us", "SELECT 1"),
            Signals("probe.connect_us", "connect"),
        ],
        probes: true,
    },
    standard(
        "CPU",
        "Share of all CPUs.",
        &[
            Signals("cpu.system_share", "system"),
            Part::UserShare,
            Signals("cpu.iowait_share", "waiting for I/O"),
            Signals("cpu.steal_share", "stolen"),
        ],
    ),
    standard(
        "Statements",
        "All statements, and the kinds that changed most in the stall.",
        &[
            Signals("status.Questions", "all (Questions)"),
            Part::StatementMovers,
        ],
    ),
    standard(
        "Connections",
        "Connected sessions, and active ones.",
        &[
            Signals("status.Threads_running", "running"),
            Signals("status.Threads_connected", "connected"),
        ],
    ),
    standard(
        "Client traffic",
        "Bytes between the server and its clients.",
        &[
            Signals("status.Bytes_sent", "sent"),
            Signals("status.Bytes_received", "received"),
        ],
    ),
    standard(
        "Context switches",
        "Of the whole host.",
        &[Signals("cpu.context_switches", "switches")],
    ),
    standard(
        "Run queue",
        "Tasks that run or want to run, and tasks blocked in the kernel.",
        &[
            Signals("cpu.procs_running", "runnable"),
            Signals("cpu.procs_blocked", "blocked"),
        ],
    ),
    standard(
        "CPU by server thread",
        "The thread names whose CPU time changed most.",
        &[Part::ThreadMovers],
    ),
    standard(
        "Disk request time",
        "Mean time of a request (await).",
        &[Part::DiskAwait],
    ),
    standard(
        "Disk in use",
        "Share of time with requests under way.",
        &[Part::DiskBusy],
    ),
    standard(
        "Memory compaction",
        "Tasks that had to move pages before they got memory.",
        &[
            Signals("vmstat.compact_stall", "stalls"),
            Signals("vmstat.compact_fail", "failed"),
            Signals("vmstat.compact_success", "succeeded"),
        ],
    ),
    standard(
        "Huge pages",
        "Transparent huge pages given, and not available.",
        &[
            Signals("vmstat.thp_fault_alloc", "at a fault"),
            Signals("vmstat.thp_fault_fallback", "refused"),
            Signals("vmstat.thp_collapse_alloc", "by khugepaged"),
        ],
    ),
    standard(
        "Reclaim stalls",
        "Allocations that had to free memory themselves.",
        &[Signals("vmstat.allocstall_*", "")],
    ),
    standard(
        "Direct reclaim",
        "Pages scanned and freed by tasks that wanted memory.",
        &[
            Signals("vmstat.pgscan_direct*", ""),
            Signals("vmstat.pgsteal_direct*", ""),
        ],
    ),
    standard(
        "Swap",
        "Pages read from and written to swap.",
        &[
            Signals("vmstat.pswpin", "in"),
            Signals("vmstat.pswpout", "out"),
        ],
    ),
    standard(
        "Memory",
        "Of the host.",
        &[
            Signals("meminfo.MemAvailable", "available"),
            Signals("meminfo.MemFree", "free"),
        ],
    ),
    standard(
        "Pressure",
        "Time in which some task waited for the resource (PSI).",
        &[
            Signals("psi.cpu.some_us", "CPU"),
            Signals("psi.memory.some_us", "memory"),
            Signals("psi.io.some_us", "I/O"),
        ],
    ),
    standard(
        "CPU limit",
        "Time taken from the server by its cgroup's CPU limit.",
        &[Signals("cgroup.cpu.throttled_us", "throttled")],
    ),
    standard(
        "Accept queue",
        "Connections that wait for the server to accept them.",
        &[
            Signals("accept_queue.tcp.length", "TCP"),
            Signals("accept_queue.unix.length", "socket"),
            Signals("accept_queue.tcp.limit", "TCP limit"),
            Signals("accept_queue.unix.limit", "socket limit"),
        ],
    ),
    standard(
        "Refused connections",
        "Connections the kernel dropped at a full accept queue.",
        &[
            Signals("net.listen_overflows", "overflows"),
            Signals("net.listen_drops", "drops"),
        ],
    ),
    standard(
        "InnoDB waits",
        "Threads at semaphores, transactions at row locks.",
        &[
            Signals("innodb.semaphore_waits", "semaphore waits"),
            Signals("innodb.lock_wait_transactions", "lock waits"),
        ],
    ),
    standard(
        "InnoDB longest waits",
        "The longest wait under way.",
        &[
            Signals("innodb.semaphore_wait_seconds_max", "semaphore"),
            Signals("innodb.lock_wait_seconds_max", "row lock"),
        ],
    ),
    standard(
        "InnoDB pending I/O",
        "Requests InnoDB waits for.",
        &[
            Signals("innodb.pending_reads", "reads"),
            Signals("innodb.pending_writes", "writes"),
            Signals("innodb.pending_log_flushes", "log flushes"),
        ],
    ),
];

/// A signal as people call it: its line in the chart that it is always in, else its name in its area.
pub(crate) fn in_words(name: &str) -> String {
    if let Some((title, label)) = line_of(name) {
        // `InnoDB`, `CPUs`: names keep their capitals.
        let word = title.split(' ').next().unwrap_or_default();
        let mut letters = word.chars();
        let title = match letters.next() {
            Some(first) if !letters.any(char::is_uppercase) => {
                format!("{}{}", first.to_lowercase(), letters_behind(title, first))
            }
            _ => title.to_owned(),
        };
        return format!("{label} ({title})");
    }
    match own_name(name) {
        Some((own, area)) => format!("{own} ({area})"),
        None => name.to_owned(),
    }
}

/// Signals whose own name with blanks for its underscores says nothing to people.
const OWN_NAMES: [(&str, &str); 12] = [
    (
        "connections.hung_oldest_ms",
        "age of the oldest open request",
    ),
    ("connections.since_answer_ms", "time without an answer"),
    (
        "connections.ungreeted_oldest_ms",
        "longest wait for the greeting",
    ),
    ("innodb.active_seconds_max", "age of the oldest transaction"),
    ("innodb.lock_wait_seconds_max", "longest wait for a lock"),
    (
        "innodb.semaphore_wait_seconds_max",
        "longest wait for a latch",
    ),
    ("probe.connect_waiting_us", "connect without an answer"),
    ("probe.query_waiting_us", "SELECT 1 without an answer"),
    (
        "processlist.hung_oldest_ms",
        "age of the oldest hanging statement",
    ),
    ("processlist.logging_in_oldest_ms", "longest login"),
    (
        "processlist.since_finish_ms",
        "time without a finished statement",
    ),
    (
        "processlist.waiting_oldest_ms",
        "age of the oldest waiting statement",
    ),
];

/// A signal's name within its area, and the area, both in words.
pub(crate) fn own_name(name: &str) -> Option<(String, &'static str)> {
    let (_, own) = name.split_once('.')?;
    let area = model::area_of(name)?;
    let known = OWN_NAMES.iter().find(|(signal, _)| *signal == name);
    let own = known.map_or_else(
        || own.replace(['_', '.'], " "),
        |(_, words)| (*words).to_owned(),
    );
    Some((own, area.plain))
}

fn letters_behind(text: &str, first: char) -> &str {
    text.get(first.len_utf8()..).unwrap_or("")
}

/// The title of the chart that a signal is always in, and what its line is called there.
fn line_of(name: &str) -> Option<(&'static str, &'static str)> {
    STANDARD.iter().find_map(|standard| {
        standard.parts.iter().find_map(|part| match part {
            Part::Signals(signal, label) if *signal == name && !label.is_empty() => {
                Some((standard.title, *label))
            }
            _ => None,
        })
    })
}

/// The standard charts whose signals are there, in the table's order.
pub(crate) fn charts(incident: &Incident) -> Vec<Chart> {
    STANDARD
        .iter()
        .filter_map(|standard| chart(incident, standard))
        .collect()
}

fn chart(incident: &Incident, standard: &Standard) -> Option<Chart> {
    let mut curves: Vec<Curve> = standard
        .parts
        .iter()
        .flat_map(|part| curves_of(incident, *part))
        .collect();
    curves.retain(|curve| !curve.points.is_empty());
    let failed = if standard.probes {
        derived::failed_probes(incident)
    } else {
        Vec::new()
    };
    let quantity = curves.first().map(|curve| curve.quantity);
    curves.retain(|curve| Some(curve.quantity) == quantity);
    curves.truncate(LINES_PER_CHART_MAX);
    (!curves.is_empty() || !failed.is_empty()).then(|| Chart {
        title: standard.title.to_owned(),
        note: standard.note.to_owned(),
        curves,
        failed,
    })
}

fn curves_of(incident: &Incident, part: Part) -> Vec<Curve> {
    match part {
        Part::Signals(pattern, label) => incident
            .timeline
            .matching(pattern)
            .take(LINES_PER_CHART_MAX)
            .map(|series| {
                let mut curve = Curve::from_series(incident, series);
                if !label.is_empty() {
                    label.clone_into(&mut curve.label);
                }
                curve
            })
            .collect(),
        Part::UserShare => derived::user_share(incident).into_iter().collect(),
        Part::StatementMovers => movers(
            incident,
            "status.Com_*",
            "status.",
            "",
            STATEMENT_MOVERS_MAX,
        ),
        Part::ThreadMovers => movers(
            incident,
            "threads.by_name.*.run_ns",
            "threads.by_name.",
            ".run_ns",
            THREAD_NAMES_MAX,
        ),
        Part::DiskAwait => derived::disks(incident)
            .iter()
            .take(DISKS_MAX)
            .flat_map(|disk| {
                [DiskWork::Reads, DiskWork::Writes]
                    .into_iter()
                    .filter_map(|work| derived::disk_await(incident, disk, work))
            })
            .collect(),
        Part::DiskBusy => derived::disks(incident)
            .iter()
            .take(LINES_PER_CHART_MAX)
            .filter_map(|disk| derived::disk_busy(incident, disk))
            .collect(),
    }
}

fn movers(
    incident: &Incident,
    pattern: &str,
    prefix: &str,
    suffix: &str,
    most: usize,
) -> Vec<Curve> {
    derived::movers(incident, pattern, most)
        .into_iter()
        .map(|series| {
            let name = series
                .name
                .strip_prefix(prefix)
                .and_then(|name| name.strip_suffix(suffix));
            let label = name.unwrap_or(&series.name).to_owned();
            Curve {
                label,
                ..Curve::from_series(incident, series)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_capitals_within_a_sentence() {
        assert_eq!(
            in_words("innodb.pending_log_flushes"),
            "log flushes (InnoDB pending I/O)"
        );
        assert_eq!(in_words("cpu.iowait_share"), "waiting for I/O (CPU)");
        assert_eq!(in_words("status.Questions"), "all (Questions) (statements)");
    }
}
