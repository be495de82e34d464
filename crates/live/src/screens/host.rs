//! 6, Host: is it the machine.

use report::format;

use super::view::{Body, View};
use crate::ink::{Ink, Line};
use crate::stats;
use crate::table::{Cell, Column, Row, Table};

/// Columns of a strip.
const STRIP: usize = 18;

const COLUMNS: [Column; 6] = [
    Column::text("AREA", 8, 0),
    Column::rest("WHAT", 20),
    Column::number("NOW", 11, 0),
    Column::number("USUAL", 11, 1),
    Column::number("CHANGE", 9, 0),
    Column::text("LAST MINUTE", STRIP, 2),
];

/// What is shown of a host: area, words, signal or pattern.
const ROWS: [(&str, &str, &str); 38] = [
    ("cpu", "system", "cpu.system_share"),
    ("cpu", "user", "cpu.user_share"),
    ("cpu", "waits for the disk", "cpu.iowait_share"),
    ("cpu", "taken by the host (steal)", "cpu.steal_share"),
    ("cpu", "tasks that run or want to run", "cpu.procs_running"),
    ("cpu", "context switches", "cpu.context_switches"),
    ("cpu", "pressure", "psi.cpu.some_us"),
    (
        "cpu",
        "taken by the cgroup's limit",
        "cgroup.cpu.throttled_us",
    ),
    ("memory", "available", "meminfo.MemAvailable"),
    ("memory", "free", "meminfo.MemFree"),
    ("memory", "dirty", "meminfo.Dirty"),
    ("memory", "writeback", "meminfo.Writeback"),
    ("memory", "pressure", "psi.memory.some_us"),
    ("memory", "direct compaction", "vmstat.compact_stall"),
    ("memory", "huge pages refused", "vmstat.thp_fault_fallback"),
    ("memory", "direct reclaim, pages", "vmstat.pgscan_direct"),
    ("memory", "reclaim by kswapd, pages", "vmstat.pgscan_kswapd"),
    ("memory", "swapped in", "vmstat.pswpin"),
    ("memory", "swapped out", "vmstat.pswpout"),
    ("memory", "major faults", "vmstat.pgmajfault"),
    ("memory", "killed for memory", "vmstat.oom_kill"),
    ("memory", "of the server", "process.resident_bytes"),
    ("disk", "pressure", "psi.io.some_us"),
    ("disk", "in use", "disk.*.busy_ms"),
    ("disk", "reads", "disk.*.reads"),
    ("disk", "writes", "disk.*.writes"),
    ("disk", "flushes", "disk.*.flushes"),
    ("disk", "written", "disk.*.write_bytes"),
    ("disk", "under way", "disk.*.in_flight"),
    (
        "disk",
        "threads that wait for it",
        "threads.uninterruptible",
    ),
    ("network", "accept queue", "accept_queue.tcp.length"),
    (
        "network",
        "accept queue of the socket",
        "accept_queue.unix.length",
    ),
    (
        "network",
        "connections dropped at a full queue",
        "net.listen_overflows",
    ),
    (
        "network",
        "connections that wait for an answer",
        "connections.waiting",
    ),
    ("server", "threads", "process.threads"),
    ("server", "threads running", "threads.running"),
    ("server", "user time", "process.user_ticks"),
    ("server", "system time", "process.system_ticks"),
];

/// Disks that are shown.
const DISKS_MAX: usize = 4;

/// The screen.
pub fn body(view: &View<'_>) -> Body {
    let rows: Vec<Row> = ROWS
        .iter()
        .flat_map(|(area, what, pattern)| {
            let all = view.timeline().matching(pattern).take(DISKS_MAX);
            all.filter_map(|series| row(view, area, what, series))
                .collect::<Vec<Row>>()
        })
        .collect();
    Body::from_table(
        vec![facts(view)],
        Table {
            columns: &COLUMNS,
            rows,
            empty: "nothing about the host was read".to_owned(),
        },
    )
}

fn facts(view: &View<'_>) -> Line {
    let fact = |name: &str| view.incident().fact(name);
    let memory = fact("host.memory_bytes").and_then(|bytes| bytes.parse::<f64>().ok());
    let parts = [
        fact("host.cpus").map(|cpus| format!("{cpus} CPUs")),
        memory.map(format::bytes),
        fact("host.kernel").map(|kernel| format!("Linux {kernel}")),
        fact("thp.enabled").map(|enabled| format!("huge pages {enabled}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Line::colored(Ink::Strong, &parts.join(", "))
}

fn row(view: &View<'_>, area: &str, what: &str, series: &model::Series) -> Option<Row> {
    let timeline = view.timeline();
    let now = stats::now(timeline, series, view.at);
    let spread = view.usual(series);
    if now.is_none() && spread.is_none() {
        return None;
    }
    let say =
        |value: Option<f64>| value.map_or("–".to_owned(), |value| format::value(series, value));
    let far = now
        .zip(spread)
        .is_some_and(|(now, usual)| usual.departure(now).abs() >= 4.0);
    let change = now
        .zip(spread)
        .map_or("–".to_owned(), |(now, usual)| usual.change(now));
    let device = match series.name.split('.').collect::<Vec<&str>>().as_slice() {
        ["disk", device, _] => format!("{what} ({device})"),
        _ => what.to_owned(),
    };
    let usual = spread.map(|spread| spread.mean);
    Some(Row {
        cells: vec![
            Cell::text(area),
            Cell::text(&device),
            Cell::number(now, say(now)),
            Cell::number(usual, say(usual)),
            Cell::number(now.zip(usual).map(|(now, usual)| now - usual), change).ink(if far {
                Ink::Bad
            } else {
                Ink::Plain
            }),
            Cell::text(view.strip(&series.name, STRIP)).ink(Ink::Good),
        ],
        name: Some(format!("{area}, {device}")),
        signal: Some(series.name.clone()),
        ..Row::default()
    })
}
