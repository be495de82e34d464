//! What server and host are, and what the record lacks.

use std::collections::BTreeMap;

use model::{Incident, Measure, Window};

use crate::row::{Hash64, HealthRow, HostRow, Seconds};

/// Settings of the server that the catalogue's causes and remedies are about. All of them would be half of an incident.
const VARIABLES: [&str; 34] = [
    "back_log",
    "binlog_group_commit_sync_delay",
    "general_log",
    "innodb_adaptive_hash_index",
    "innodb_buffer_pool_instances",
    "innodb_buffer_pool_size",
    "innodb_change_buffering",
    "innodb_deadlock_detect",
    "innodb_doublewrite",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_flush_neighbors",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_log_file_size",
    "innodb_purge_threads",
    "innodb_redo_log_capacity",
    "innodb_spin_wait_delay",
    "innodb_stats_on_metadata",
    "innodb_sync_spin_loops",
    "innodb_thread_concurrency",
    "innodb_use_native_aio",
    "log_output",
    "max_connections",
    "performance_schema",
    "query_cache_size",
    "query_cache_type",
    "skip_name_resolve",
    "slow_query_log",
    "sync_binlog",
    "table_open_cache",
    "thread_cache_size",
    "thread_handling",
    "tmp_table_size",
];

/// Beginnings of the names of other facts that are the same from one incident to the next.
const OTHERS: [&str; 6] = ["thp.", "sysctl.", "cgroup.", "numa.", "host.", "limits."];

/// Longest value that is kept, bytes: settings are words and numbers.
const VALUE_BYTES_MAX: usize = 200;

/// Absences that are kept.
const ABSENT_MAX: usize = 64;

/// The server as it was at the end of the record. Its own name and label are those of the record, not redacted.
pub(super) fn host(
    incident: &Incident,
    redacted: &Incident,
    host_id: Hash64,
    seen: Seconds,
) -> HostRow {
    let fact = |name: &str| redacted.fact(name).unwrap_or_default().to_owned();
    let version = match redacted.server.version.is_empty() {
        true => fact("server.version"),
        false => redacted.server.version.clone(),
    };
    HostRow {
        host_id,
        host: incident.host.clone(),
        label: incident.server.label.clone(),
        cluster: String::new(),
        vendor: vendor(&version, &fact("server.program")).to_owned(),
        version,
        kernel: fact("host.kernel"),
        // Behind the word stands the library's path.
        allocator: fact("server.allocator")
            .split(" (")
            .next()
            .unwrap_or_default()
            .to_owned(),
        thp: fact("thp.enabled"),
        cores: fact("host.cpus").parse().unwrap_or(0),
        ram_bytes: fact("host.memory_bytes").parse().unwrap_or(0),
        recorder_version: redacted.tool_version.clone(),
        labels: Vec::new(),
        settings: settings(redacted),
        seen,
    }
}

fn vendor(version: &str, program: &str) -> &'static str {
    let version = version.to_ascii_lowercase();
    match () {
        () if version.contains("mariadb") || program.contains("mariadb") => "MariaDB",
        () if version.contains("percona") => "Percona",
        () if version.is_empty() => "",
        () => "MySQL",
    }
}

/// Settings that stalls depend on, at the onset, by the names of facts.
pub(super) fn settings(redacted: &Incident) -> Vec<(String, String)> {
    let mut names: Vec<String> = VARIABLES
        .iter()
        .map(|name| format!("variables.{name}"))
        .collect();
    let others = redacted.facts.iter().map(|timed| timed.fact.name.as_str());
    let others = others.filter(|name| OTHERS.iter().any(|begin| name.starts_with(begin)));
    names.extend(others.map(str::to_owned));
    let values = names.into_iter().filter_map(|name| {
        let value = redacted.fact(&name)?;
        (value.len() <= VALUE_BYTES_MAX).then(|| (name, value.to_owned()))
    });
    // A fact that changed stands several times.
    values.collect::<BTreeMap<_, _>>().into_iter().collect()
}

/// What could not be recorded, each once.
pub(super) fn absent(redacted: &Incident) -> Vec<String> {
    let mut absent: Vec<String> = Vec::new();
    for timed in &redacted.absent {
        if absent.len() < ABSENT_MAX && !absent.contains(&timed.absent.what) {
            absent.push(timed.absent.what.clone());
        }
    }
    absent.sort();
    absent
}

/// That the recorder lived at the end of this time, and what it lost in it. The numbers are as they were recorded.
pub(super) fn health(
    recorded: &Incident,
    redacted: &Incident,
    host_id: Hash64,
    window: Window,
) -> HealthRow {
    // What fits no number of the table is as much as fits.
    let grown = |signal: &str| {
        let series = recorded.timeline.get(signal)?;
        recorded.timeline.measure(series, Measure::Delta, window)
    };
    let lost = recorded.stacks.profiles.iter().map(|profile| profile.lost);
    let lost = lost
        .sum::<u64>()
        .saturating_add(recorded.timeline.dropped_readings) as f64
        + grown("recorder.lost_samples").unwrap_or(0.0);
    HealthRow {
        host_id,
        ts: Seconds::of_ms(recorded.clock.wall_ms(window.to)),
        lost: lost as u32,
        spooled_bytes: 0,
        cpu_ms: (grown("recorder.cpu_ticks").unwrap_or(0.0) * TICK_MS) as u32,
        absent: absent(redacted),
    }
}

/// Milliseconds of a tick: USER_HZ is 100 on Linux.
const TICK_MS: f64 = 10.0;
