//! By what the lines of each kind are known, in the order in which it is looked for.

use super::place::{Place, sign};
use super::{
    Kind, dstat, exporter, host, is_containers_head, is_fact, is_interrupts_head,
    is_interrupts_row, is_maps_line, is_open_tables_head, is_ps_aux_row, is_section,
    is_server_line, is_top_row, kernel_log, process, replication, rows, server, stacks, states,
    sysstat, units,
};
use crate::rds_monitoring;

/// By what a line of a kind is known.
struct Recogniser {
    kind: Kind,
    /// Bytes of which one begins every such line; empty where any may.
    first: &'static str,
    /// Signs that every such line has.
    signs: u16,
    is: fn(&Place<'_>) -> bool,
}

const fn recogniser(
    kind: Kind,
    first: &'static str,
    signs: u16,
    is: fn(&Place<'_>) -> bool,
) -> Recogniser {
    Recogniser {
        kind,
        first,
        signs,
        is,
    }
}

const DIGITS: &str = "0123456789";

/// What is looked at first wins: the words that nobody else prints come before those that others may.
const RECOGNISERS: [Recogniser; 49] = [
    recogniser(Kind::Backtrace, "#TS[", 0, |at| {
        stacks::is_backtrace(at.text, at.next)
    }),
    recogniser(Kind::Backtrace, "*0123456789", 0, |at| {
        stacks::listed_thread(at.text).is_some()
    }),
    recogniser(Kind::SlowLog, "#", 0, |at| server::is_slow_head(at.text)),
    recogniser(Kind::GeneralLog, "", sign::TABLE, |at| {
        server::is_general(at.line)
    }),
    recogniser(Kind::ServerText, "", 0, |at| {
        is_server_line(at.text) || is_section(at.text, at.next)
    }),
    recogniser(Kind::PerfReport, "#PSCO+-|0123456789", 0, |at| {
        stacks::is_perf_report(at.text)
    }),
    recogniser(Kind::Opreport, "sC", 0, |at| {
        stacks::is_opreport_header(at.text)
    }),
    recogniser(Kind::Plockstat, "MRC", 0, |at| {
        stacks::is_plockstat_header(at.text) || stacks::is_plockstat_columns(at.text)
    }),
    recogniser(Kind::Rows, "", sign::TABLE, rows::is_rows),
    recogniser(Kind::Processlist, "", sign::TABLE, server::is_processlist),
    recogniser(
        Kind::States,
        "|0123456789sScCnNtTqQpP",
        0,
        states::is_states,
    ),
    recogniser(Kind::StalkTrigger, "", sign::EQUAL, |at| {
        at.text.contains(" pt-stalk ran with --") || at.text.contains(" Check results: ")
    }),
    recogniser(Kind::Replication, "", 0, replication::is_replication),
    recogniser(Kind::OpenTables, "", sign::TABLE, |at| {
        is_open_tables_head(at.text)
    }),
    recogniser(Kind::Unread, "", 0, |at| replication::unread(at).is_some()),
    recogniser(Kind::NameValue, "", sign::TABLE, server::is_name_value),
    recogniser(Kind::Sysctl, "", sign::EQUAL | sign::DOT, |at| {
        sysstat::is_sysctl(at.line)
    }),
    recogniser(Kind::Facts, "", sign::EQUAL | sign::DOT, |at| {
        is_fact(at.text)
    }),
    recogniser(Kind::PtPmp, DIGITS, 0, |at| stacks::is_pmp(at.text)),
    recogniser(Kind::Folded, "", sign::SEMICOLON | sign::DIGIT, |at| {
        stacks::is_folded(at.text)
    }),
    recogniser(Kind::OptionFile, "", 0, |at| {
        (at.has(sign::EQUAL) || at.text.starts_with('[')) && server::is_option_file(at.text)
    }),
    recogniser(Kind::KernelLog, "", 0, kernel_log::is_kernel_log),
    recogniser(Kind::Limits, "LM", 0, |at| host::is_limit(at.text)),
    // Before top, whose table has columns that ps has not.
    recogniser(Kind::Ps, "UPTLSEFNRCW%", 0, |at| {
        sysstat::is_ps_header(at.text)
    }),
    recogniser(Kind::Top, "tP", 0, |at| host::is_top_header(at.text)),
    recogniser(Kind::Ps, "", sign::COLON | sign::DIGIT, |at| {
        is_ps_aux_row(at.text)
    }),
    recogniser(Kind::Top, DIGITS, sign::COLON, |at| is_top_row(at.text)),
    recogniser(Kind::Dstat, "-ut", 0, |at| {
        dstat::is_title(at.text) || dstat::columns(at.text).is_some()
    }),
    recogniser(Kind::Exporter, "#mn", 0, |at| {
        exporter::is_exporter(at.text)
    }),
    recogniser(Kind::RdsMonitoring, "{", 0, |at| {
        at.text.starts_with(rds_monitoring::BEGIN)
    }),
    recogniser(Kind::Unit, "", sign::DOT, |at| {
        units::is_unit_head(at.text, at.next)
    }),
    recogniser(Kind::Containers, "CI", sign::SLASH, |at| {
        is_containers_head(at.text)
    }),
    recogniser(Kind::Vmstat, "pr", 0, |at| host::is_vmstat_header(at.text)),
    recogniser(Kind::Iostat, "", 0, |at| {
        (at.has(sign::PERCENT) || at.text.starts_with(['L', 'e']))
            && sysstat::is_iostat_header(at.text, at.next)
    }),
    recogniser(Kind::Sysstat, "L0123456789", 0, |at| {
        sysstat::is_sysstat_header(at.text)
    }),
    recogniser(Kind::Free, "", 0, |at| {
        !at.has(sign::DIGIT) && !at.has(sign::COLON) && sysstat::is_free_header(at.text, at.next)
    }),
    recogniser(Kind::Netstat, "APSNIUTM0123456789", 0, |at| {
        sysstat::is_netstat(at.text, at.next)
    }),
    recogniser(Kind::Df, "", sign::PERCENT, |at| {
        sysstat::is_df_header(at.text, at.next)
    }),
    recogniser(Kind::Slabinfo, "", 0, |at| {
        (at.text.starts_with(['s', '#']) || at.has(sign::COLON)) && process::is_slab_head(at.text)
    }),
    recogniser(Kind::Interrupts, "C", 0, |at| {
        is_interrupts_head(at.text)
            && at
                .next
                .first()
                .is_some_and(|row| is_interrupts_row(row.trim()))
    }),
    recogniser(Kind::Numastat, "n", 0, |at| {
        process::is_numa_head(at.text, at.next)
    }),
    recogniser(Kind::Pmap, "A0123456789", 0, |at| {
        process::is_pmap_head(at.text, at.next)
    }),
    recogniser(Kind::ProcMaps, "", sign::COLON, |at| is_maps_line(at.text)),
    recogniser(Kind::Lsof, "", 0, |at| {
        (at.text.starts_with(['C', 'l']) || at.has(sign::SLASH)) && process::is_lsof_head(at.text)
    }),
    recogniser(Kind::ProcStat, "c", 0, |at| host::is_proc_stat(at.line)),
    recogniser(Kind::ProcVmstat, "ncp", 0, |at| {
        host::is_proc_vmstat(at.line, at.next)
    }),
    recogniser(Kind::ProcMeminfo, "M", 0, |at| {
        at.text.starts_with("MemTotal:") || at.text.starts_with("MemFree:")
    }),
    recogniser(Kind::ProcDiskstats, DIGITS, 0, |at| {
        host::is_diskstats(at.text)
    }),
    recogniser(Kind::PerfScript, "", sign::COLON, |at| {
        stacks::is_perf_script(at.line, at.text, at.next)
    }),
];

/// For each first byte the recognisers that look at such a line, a bit each.
static BY_FIRST: [u64; 256] = {
    let mut by_first = [0; 256];
    let mut nth = 0;
    while nth < RECOGNISERS.len() {
        let first = RECOGNISERS[nth].first.as_bytes();
        let mut byte = 0;
        while byte < by_first.len() {
            let mut is_one = first.is_empty();
            let mut at = 0;
            while at < first.len() {
                is_one |= first[at] as usize == byte;
                at += 1;
            }
            if is_one {
                by_first[byte] |= 1 << nth;
            }
            byte += 1;
        }
        nth += 1;
    }
    by_first
};

/// What the line is by itself, `text` without the blanks around it; `next` are the lines behind it.
pub(crate) fn of_line(line: &str, text: &str, next: &[&str]) -> Option<Kind> {
    let first = text.as_bytes().first()?;
    let place = Place::new(line, text, next);
    let mut left = BY_FIRST[usize::from(*first)];
    while left != 0 {
        let recogniser = RECOGNISERS.get(left.trailing_zeros() as usize)?;
        if place.has(recogniser.signs) && (recogniser.is)(&place) {
            return Some(recogniser.kind);
        }
        left &= left - 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a line would be if nothing told beforehand what need not be looked at.
    fn by_all(line: &str, next: &[&str]) -> Option<Kind> {
        let place = Place::new(line, line.trim(), next);
        let mut all = RECOGNISERS.iter();
        all.find(|one| !place.text.is_empty() && (one.is)(&place))
            .map(|one| one.kind)
    }

    fn is_same(text: &str, name: &str) {
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let next = &lines[index + 1..(index + 9).min(lines.len())];
            let by_first = of_line(line, line.trim(), next);
            assert_eq!(by_first, by_all(line, next), "{name}: {line}");
        }
    }

    #[test]
    fn what_is_not_looked_at_is_none() {
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples");
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
        let mut left = vec![std::path::PathBuf::from(here), corpus.into()];
        let mut files = 0;
        while let Some(path) = left.pop() {
            match std::fs::read_dir(&path) {
                Ok(entries) => left.extend(entries.map(|entry| entry.unwrap().path())),
                Err(_) => {
                    let Ok(bytes) = std::fs::read(&path) else {
                        continue;
                    };
                    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 20)]);
                    is_same(&text, &path.display().to_string());
                    files += 1;
                }
            }
        }
        assert!(files > 10, "{files} files");
    }
}
