//! What a line belongs to, by its own words.

mod crash;
mod dstat;
mod exporter;
mod headless;
mod host;
mod kernel_log;
mod place;
mod plans;
mod process;
mod recognisers;
mod replication;
mod reports;
mod rows;
mod server;
mod stacks;
mod states;
mod sysstat;
mod units;

pub(crate) use crash::{is_crash_detail, is_crash_event};
pub(crate) use dstat::{columns as dstat_columns, is_dstat_row, value as dstat_value};
pub(crate) use exporter::{Metric, is_metrics_line, metric};
pub(crate) use headless::{PS_AUX, TOP, is_ps_aux_row, is_top_row};
pub(crate) use host::is_fact;
pub(crate) use kernel_log::{behind_syslog_date, is_kernel_detail, starts_with_syslog_date};
pub(crate) use plans::{STAGES, stage};
pub(crate) use process::{
    is_interrupts_head, is_interrupts_row, is_lsof_row, is_maps_line, is_maps_part, is_numa_row,
    is_pmap_row, is_slab_row,
};
pub(crate) use recognisers::of_line;
pub(crate) use replication::{is_bare_query, is_open_tables_head, is_replication_head, unread_of};
pub(crate) use rows::{Table, field, is_mutex_row, table_of, vertical_name};
pub(crate) use server::{
    is_command, is_name_value_head, is_processlist_head, is_processlist_row, is_section,
    is_server_line, is_variable, is_wait, name_and_value, starts_with_date,
};
pub(crate) use stacks::{
    frame_number, is_frame, is_function, is_plockstat_columns, is_plockstat_header, is_pmp_rest,
    is_thread_head, listed_thread, pmp_frames,
};
pub(crate) use states::{columns as state_columns, counted as counted_state};
pub(crate) use sysstat::{
    CONNECTION_STATES, clock, free_row, iostat_row, is_device_head, is_df_row, is_english_free,
    is_host_line, is_iostat_of_unix, is_net_line, is_ps_header, is_ps_row, is_sysstat_row,
    is_words, number,
};
pub(crate) use units::{is_containers_head, is_containers_row, is_unit_line, unit_of};

/// What can be recognised in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Backtraces of all threads, by gdb, pstack, gstack or eu-stack.
    Backtrace,
    /// Counts of equal stacks, as pt-pmp prints them.
    PtPmp,
    /// `frame;frame;frame count`.
    Folded,
    /// `perf script`.
    PerfScript,
    /// Shares of samples by function: `perf report --stdio`, `perf top`.
    PerfReport,
    /// oprofile's `opreport`.
    Opreport,
    /// Lines of the server: the InnoDB monitor, the error log, or parts of them.
    ServerText,
    /// `SHOW PROCESSLIST`.
    Processlist,
    /// Sessions counted by their state.
    States,
    /// Two columns, a name and a value: status or variables.
    NameValue,
    /// `my.cnf`.
    OptionFile,
    /// The kernel's log, and what containers' keepers say of their ends.
    KernelLog,
    /// `/proc/PID/limits`.
    Limits,
    /// `vmstat`.
    Vmstat,
    /// `top`.
    Top,
    /// `/proc/vmstat`.
    ProcVmstat,
    /// `/proc/stat`.
    ProcStat,
    /// `/proc/meminfo`.
    ProcMeminfo,
    /// `/proc/diskstats`.
    ProcDiskstats,
    /// Solaris's `plockstat`.
    Plockstat,
    /// A slow log.
    SlowLog,
    /// A general log.
    GeneralLog,
    /// Rows of a table of the server that tells of transactions, locks, threads or statements.
    Rows,
    /// `iostat`.
    Iostat,
    /// `mpstat` and `sar`.
    Sysstat,
    /// `free`.
    Free,
    /// `netstat` and `ss`: connections, or the counters of `netstat -s`.
    Netstat,
    /// `df`.
    Df,
    /// `sysctl -a`.
    Sysctl,
    /// `ps`.
    Ps,
    /// Why pt-stalk collected.
    StalkTrigger,
    /// Packets, as tcpdump writes them to a file.
    Pcap,
    /// A profile in the format of pprof.
    Pprof,
    /// `/proc/slabinfo`.
    Slabinfo,
    /// `/proc/interrupts`.
    Interrupts,
    /// `numastat` of the nodes.
    Numastat,
    /// `pmap`.
    Pmap,
    /// `/proc/PID/maps` or `smaps`.
    ProcMaps,
    /// `lsof`, or a list of `/proc/PID/fd`.
    Lsof,
    /// `SHOW REPLICA STATUS`, and performance_schema's tables of replication.
    Replication,
    /// `SHOW OPEN TABLES`.
    OpenTables,
    /// `dstat` and `dool`.
    Dstat,
    /// What mysqld_exporter and node_exporter answer.
    Exporter,
    /// Enhanced Monitoring of Amazon RDS.
    RdsMonitoring,
    /// `systemctl status`.
    Unit,
    /// `docker stats` and `podman stats`.
    Containers,
    /// What an export of ours says of server and host.
    Facts,
    /// Known, and nothing in it that a cause asks for.
    Unread,
    /// Text that people wrote.
    Sentences,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 49] = [
        Self::Backtrace,
        Self::PtPmp,
        Self::Folded,
        Self::PerfScript,
        Self::PerfReport,
        Self::Opreport,
        Self::ServerText,
        Self::Processlist,
        Self::States,
        Self::NameValue,
        Self::OptionFile,
        Self::KernelLog,
        Self::Limits,
        Self::Vmstat,
        Self::Top,
        Self::ProcVmstat,
        Self::ProcStat,
        Self::ProcMeminfo,
        Self::ProcDiskstats,
        Self::Plockstat,
        Self::SlowLog,
        Self::GeneralLog,
        Self::Rows,
        Self::Iostat,
        Self::Sysstat,
        Self::Free,
        Self::Netstat,
        Self::Df,
        Self::Sysctl,
        Self::Ps,
        Self::StalkTrigger,
        Self::Pcap,
        Self::Pprof,
        Self::Slabinfo,
        Self::Interrupts,
        Self::Numastat,
        Self::Pmap,
        Self::ProcMaps,
        Self::Lsof,
        Self::Replication,
        Self::OpenTables,
        Self::Dstat,
        Self::Exporter,
        Self::RdsMonitoring,
        Self::Unit,
        Self::Containers,
        Self::Facts,
        Self::Unread,
        Self::Sentences,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Backtrace => "backtraces of threads",
            Self::PtPmp => "pt-pmp output",
            Self::Folded => "folded stacks",
            Self::PerfScript => "perf script output",
            Self::PerfReport => "perf report",
            Self::Opreport => "opreport listing",
            Self::ServerText => "InnoDB status or error log",
            Self::Processlist => "processlist",
            Self::States => "sessions by state",
            Self::NameValue => "server variables or status",
            Self::OptionFile => "option file",
            Self::KernelLog => "kernel log",
            Self::Limits => "/proc/PID/limits",
            Self::Vmstat => "vmstat output",
            Self::Top => "top output",
            Self::ProcVmstat => "/proc/vmstat",
            Self::ProcStat => "/proc/stat",
            Self::ProcMeminfo => "/proc/meminfo",
            Self::ProcDiskstats => "/proc/diskstats",
            Self::Plockstat => "plockstat table",
            Self::SlowLog => "slow log",
            Self::GeneralLog => "general log",
            Self::Rows => "rows of the server's tables",
            Self::Iostat => "iostat output",
            Self::Sysstat => "mpstat or sar output",
            Self::Free => "free output",
            Self::Netstat => "netstat output",
            Self::Df => "df output",
            Self::Sysctl => "sysctl output",
            Self::Ps => "ps output",
            Self::StalkTrigger => "pt-stalk trigger",
            Self::Pcap => "packets of tcpdump",
            Self::Pprof => "pprof profile",
            Self::Slabinfo => "/proc/slabinfo",
            Self::Interrupts => "/proc/interrupts",
            Self::Numastat => "numastat of the nodes",
            Self::Pmap => "pmap output",
            Self::ProcMaps => "/proc/PID/maps",
            Self::Lsof => "open files of a process",
            Self::Replication => "replication status",
            Self::OpenTables => "open tables",
            Self::Dstat => "dstat output",
            Self::Exporter => "metrics of an exporter",
            Self::RdsMonitoring => "Enhanced Monitoring of RDS",
            Self::Unit => "systemctl status",
            Self::Containers => "docker stats",
            Self::Facts => "facts of freezeframe",
            Self::Unread => "known text",
            Self::Sentences => "words in sentences",
        }
    }
}

/// `*************************** 1. row ***************************`.
pub(crate) fn is_vertical_row(text: &str) -> bool {
    text.starts_with("*****") && text.ends_with("*****") && text.contains(". row ")
}

/// The cells of a row of a table, of `mysql`'s boxes or of tabs.
pub(crate) fn cells(text: &str) -> Vec<&str> {
    if let Some(inner) = text.strip_prefix('|') {
        let inner = inner.strip_suffix('|').unwrap_or(inner);
        return inner.split('|').map(str::trim_ascii).collect();
    }
    if text.contains('\t') {
        return text.split('\t').map(str::trim_ascii).collect();
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn all_kinds_are_listed() {
        // The last one tells how many there are.
        assert_eq!(Kind::ALL.len(), Kind::Sentences as usize + 1);
        for (place, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(place, kind as usize, "{kind:?}");
        }
    }
}
