//! What a signal's numbers mean: unit, and whether it counts or is a level.

use serde::{Deserialize, Serialize};

/// What a signal's number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// A number of things or events.
    Count,
    /// Bytes.
    Bytes,
    /// Pages of the kernel or of InnoDB.
    Pages,
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Clock ticks of the kernel's USER_HZ, 100 a second on Linux.
    Ticks,
    /// A share between 0 and 1.
    Share,
    /// A code with a fixed meaning, see the signal's source.
    Code,
}

/// How a signal's value behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignalKind {
    /// Only grows, until its owner restarts: its rate is what matters.
    Counter,
    /// A level: its value is what matters.
    Gauge,
}

impl Unit {
    /// The name used in files and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Bytes => "bytes",
            Self::Pages => "pages",
            Self::Nanoseconds => "nanoseconds",
            Self::Microseconds => "microseconds",
            Self::Milliseconds => "milliseconds",
            Self::Seconds => "seconds",
            Self::Ticks => "ticks",
            Self::Share => "share",
            Self::Code => "code",
        }
    }

    /// The unit with this [`Unit::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        ALL_UNITS.iter().copied().find(|unit| unit.name() == name)
    }
}

const ALL_UNITS: [Unit; 10] = [
    Unit::Count,
    Unit::Bytes,
    Unit::Pages,
    Unit::Nanoseconds,
    Unit::Microseconds,
    Unit::Milliseconds,
    Unit::Seconds,
    Unit::Ticks,
    Unit::Share,
    Unit::Code,
];

impl SignalKind {
    /// The name used in files and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
        }
    }

    /// The kind with this [`SignalKind::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Counter, Self::Gauge]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// Status variables that are levels although most of `SHOW GLOBAL STATUS` counts.
///
/// From the MySQL 8.4 manual, "Server Status Variables", and MariaDB's "Server Status Variables":
/// those whose text says "the current number", "the number of … currently", "the size".
const GAUGE_PREFIXES: [&str; 12] = [
    "Threads_running",
    "Threads_connected",
    "Threads_cached",
    "Threadpool_",
    "Open_",
    "Max_used_",
    "Uptime",
    "Memory_used",
    "Prepared_stmt_count",
    "Qcache_free_",
    "Key_blocks_",
    "Slave_open_",
];

const GAUGE_PARTS: [&str; 23] = [
    "_pending_",
    "_pages_total",
    "_pages_free",
    "_pages_data",
    "_pages_dirty",
    "_pages_misc",
    "_pages_old",
    "_pages_latched",
    "_bytes_data",
    "_bytes_dirty",
    "_current_waits",
    "_row_lock_time_avg",
    "_row_lock_time_max",
    "_history_list_length",
    "_checkpoint_age",
    "_checkpoint_max_age",
    "_redo_log_logical_size",
    "_redo_log_physical_size",
    "_redo_log_capacity_resized",
    "_mem_",
    "_num_open_files",
    "_page_size",
    "queries_in_cache",
];

/// Whether a status variable of the server is a counter or a level.
///
/// A variable in neither list is taken as a counter: a rate of a level is visibly odd, a level of
/// a counter looks plausible and is wrong.
pub fn kind_of_status_variable(name: &str) -> SignalKind {
    let gauge = GAUGE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || GAUGE_PARTS.iter().any(|part| name.contains(part));
    if gauge {
        SignalKind::Gauge
    } else {
        SignalKind::Counter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_variables_are_told_apart() {
        for gauge in [
            "Threads_running",
            "Innodb_row_lock_current_waits",
            "Innodb_data_pending_fsyncs",
            "Open_tables",
            "Innodb_redo_log_logical_size",
        ] {
            assert_eq!(kind_of_status_variable(gauge), SignalKind::Gauge, "{gauge}");
        }
        for counter in [
            "Questions",
            "Com_show_warnings",
            "Opened_tables",
            "Innodb_row_lock_time",
            "Innodb_redo_log_current_lsn",
        ] {
            assert_eq!(
                kind_of_status_variable(counter),
                SignalKind::Counter,
                "{counter}"
            );
        }
    }

    #[test]
    fn names_read_back() {
        for unit in ALL_UNITS {
            assert_eq!(Unit::from_name(unit.name()), Some(unit));
        }
        for kind in [SignalKind::Counter, SignalKind::Gauge] {
            assert_eq!(SignalKind::from_name(kind.name()), Some(kind));
        }
    }
}
