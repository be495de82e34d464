//! What a line belongs to, by its own words.

mod crash;
mod host;
mod kernel_log;
mod plans;
mod process;
mod replication;
mod rows;
mod server;
mod stacks;
mod sysstat;

pub(crate) use crash::{is_crash_detail, is_crash_event};
pub(crate) use host::is_fact;
pub(crate) use kernel_log::{behind_syslog_date, is_kernel_detail, starts_with_syslog_date};
pub(crate) use plans::{STAGES, stage};
pub(crate) use process::{
    is_interrupts_head, is_interrupts_row, is_lsof_row, is_maps_line, is_maps_part, is_numa_row,
    is_pmap_row, is_slab_row,
};
pub(crate) use replication::{is_bare_query, is_open_tables_head, is_replication_head, unread_of};
pub(crate) use rows::{Table, table_of, vertical_name};
pub(crate) use server::{
    is_command, is_name_value_head, is_processlist_head, is_processlist_row, is_section,
    is_server_line, is_variable, is_wait, name_and_value, starts_with_date,
};
pub(crate) use stacks::{
    frame_number, is_frame, is_function, is_plockstat_columns, is_plockstat_header, is_pmp_rest,
    is_thread_head, pmp_frames,
};
pub(crate) use sysstat::{
    CONNECTION_STATES, clock, iostat_row, is_df_row, is_host_line, is_iostat_of_unix, is_net_line,
    is_ps_row, is_sysstat_row, number,
};

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
    /// What an export of ours says of server and host.
    Facts,
    /// Known, and nothing in it that a cause asks for.
    Unread,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 42] = [
        Self::Backtrace,
        Self::PtPmp,
        Self::Folded,
        Self::PerfScript,
        Self::PerfReport,
        Self::Opreport,
        Self::ServerText,
        Self::Processlist,
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
        Self::Facts,
        Self::Unread,
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
            Self::Facts => "facts of freezeframe",
            Self::Unread => "known text",
        }
    }
}

/// Whether a line, also without the blanks around it, with the lines behind it is of a kind.
type Test = fn(&str, &str, &[&str]) -> bool;

/// What the line is by itself; `next` are the lines behind it.
pub(crate) fn of_line(line: &str, next: &[&str]) -> Option<Kind> {
    let text = line.trim();
    if text.is_empty() {
        return None;
    }
    KINDS
        .iter()
        .find(|(_, is)| is(line, text, next))
        .map(|(kind, _)| *kind)
}

/// What is looked at first wins: the words that nobody else prints come before those that others may.
const KINDS: [(Kind, Test); 40] = [
    (Kind::Backtrace, |_, text, next| {
        stacks::is_backtrace(text, next)
    }),
    (Kind::SlowLog, |_, text, _| server::is_slow_head(text)),
    (Kind::GeneralLog, |line, _, _| server::is_general(line)),
    (Kind::ServerText, |_, text, next| {
        is_server_line(text) || is_section(text, next)
    }),
    (Kind::PerfReport, |_, text, _| stacks::is_perf_report(text)),
    (Kind::Opreport, |_, text, _| {
        stacks::is_opreport_header(text)
    }),
    (Kind::Plockstat, |_, text, _| {
        stacks::is_plockstat_header(text) || stacks::is_plockstat_columns(text)
    }),
    (Kind::Rows, |_, text, next| rows::is_rows(text, next)),
    (Kind::Processlist, |_, text, next| {
        server::is_processlist(text, next)
    }),
    (Kind::StalkTrigger, |_, text, _| {
        text.contains(" pt-stalk ran with --") || text.contains(" Check results: ")
    }),
    (Kind::Replication, |_, text, next| {
        replication::is_replication(text, next)
    }),
    (Kind::OpenTables, |_, text, _| is_open_tables_head(text)),
    (Kind::Unread, |_, text, next| {
        unread_of(text, next).is_some()
    }),
    (Kind::NameValue, |line, text, next| {
        server::is_name_value(line, text, next)
    }),
    (Kind::Sysctl, |line, _, _| sysstat::is_sysctl(line)),
    (Kind::Facts, |_, text, _| is_fact(text)),
    (Kind::PtPmp, |_, text, _| stacks::is_pmp(text)),
    (Kind::Folded, |_, text, _| stacks::is_folded(text)),
    (Kind::OptionFile, |_, text, _| server::is_option_file(text)),
    (Kind::KernelLog, |_, text, _| {
        kernel_log::is_kernel_log(text)
    }),
    (Kind::Limits, |_, text, _| host::is_limit(text)),
    (Kind::Top, |_, text, _| host::is_top_header(text)),
    (Kind::Vmstat, |_, text, _| host::is_vmstat_header(text)),
    (Kind::Iostat, |_, text, next| {
        sysstat::is_iostat_header(text, next)
    }),
    (Kind::Sysstat, |_, text, _| sysstat::is_sysstat_header(text)),
    (Kind::Free, |_, text, _| sysstat::is_free_header(text)),
    (Kind::Netstat, |_, text, next| {
        sysstat::is_netstat(text, next)
    }),
    (Kind::Df, |_, text, _| sysstat::is_df_header(text)),
    (Kind::Ps, |_, text, _| sysstat::is_ps_header(text)),
    (Kind::Slabinfo, |_, text, _| process::is_slab_head(text)),
    (Kind::Interrupts, |_, text, next| {
        is_interrupts_head(text)
            && next
                .first()
                .is_some_and(|row| is_interrupts_row(row.trim()))
    }),
    (Kind::Numastat, |_, text, next| {
        process::is_numa_head(text, next)
    }),
    (Kind::Pmap, |_, text, next| {
        process::is_pmap_head(text, next)
    }),
    (Kind::ProcMaps, |_, text, _| is_maps_line(text)),
    (Kind::Lsof, |_, text, _| process::is_lsof_head(text)),
    (Kind::ProcStat, |line, _, _| host::is_proc_stat(line)),
    (Kind::ProcVmstat, |line, _, next| {
        host::is_proc_vmstat(line, next)
    }),
    (Kind::ProcMeminfo, |_, text, _| {
        text.starts_with("MemTotal:") || text.starts_with("MemFree:")
    }),
    (Kind::ProcDiskstats, |_, text, _| host::is_diskstats(text)),
    (Kind::PerfScript, |line, text, next| {
        stacks::is_perf_script(line, text, next)
    }),
];

/// `*************************** 1. row ***************************`.
pub(crate) fn is_vertical_row(text: &str) -> bool {
    text.starts_with("*****") && text.ends_with("*****") && text.contains(". row ")
}

/// The cells of a row of a table, of `mysql`'s boxes or of tabs.
pub(crate) fn cells(text: &str) -> Vec<&str> {
    if let Some(inner) = text.strip_prefix('|') {
        let inner = inner.strip_suffix('|').unwrap_or(inner);
        return inner.split('|').map(str::trim).collect();
    }
    if text.contains('\t') {
        return text.split('\t').map(str::trim).collect();
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn all_kinds_are_listed() {
        // The last one tells how many there are.
        assert_eq!(Kind::ALL.len(), Kind::Unread as usize + 1);
        for (place, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(place, kind as usize, "{kind:?}");
        }
    }
}
