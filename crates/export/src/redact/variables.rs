//! Names of settings and of status variables.
//!
//! A recorder has them from the server. An import takes whatever a text has in their place: a table of an application
//! with a name and a number in each row, a connection in front of a setting (`acme.replicate_do_db`), a value that went
//! on to the next line of an option file. The thousand names of servers are made of few words, so a part of a name in
//! which another word stands is somebody's. The same is true of the kernel's names and of InnoDB's mutexes.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::keywords::is_keyword;
use super::well_known;

/// Areas of facts and signals whose names are those of variables.
const AREAS: [&str; 3] = ["variables.", "status.", "limits."];

/// Areas whose names are the kernel's, and those of InnoDB's sources.
const KERNEL_AREAS: [&str; 8] = [
    "sysctl.",
    "cgroup.",
    "vmstat.",
    "meminfo.",
    "interrupts.",
    "numa.",
    "net.tcp.",
    "innodb_mutex.",
];

/// Words in names of variables, in lower case.
static WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let own = well_known::server().chain([
        well_known::STRUCTURE,
        server_text::VARIABLE_WORDS,
        include_str!("words/setting-values.txt"),
        include_str!("words/character-sets.txt"),
    ]);
    own.flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric()))
        .collect()
});

/// Words in names of the kernel's settings and counters, and of InnoDB's mutexes and files, in lower case.
static KERNEL_WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let own = [server_text::KERNEL_NAMES, include_str!("words/paths.txt")];
    own.iter()
        .flat_map(|text| text.split_ascii_whitespace())
        .collect()
});

/// Whether the name of a fact or a signal is one of a variable that no server has, or of a setting that no kernel has.
pub(crate) fn is_somebodys(name: &str) -> bool {
    parted(name).is_some_and(|(area, rest)| !rest.split('.').all(|part| is_own(area, part)))
}

/// The area of such a name and the rest; nothing of any other name.
pub(super) fn parted(name: &str) -> Option<(&'static str, &str)> {
    AREAS
        .iter()
        .chain(&KERNEL_AREAS)
        .find_map(|area| Some((*area, name.strip_prefix(area)?)))
}

/// Whether a part between two points has no other words than those who have such names use.
pub(super) fn is_own(area: &str, part: &str) -> bool {
    let lower = part.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    match KERNEL_AREAS.contains(&area) {
        true => words.all(is_kernels),
        false => words.all(is_servers),
    }
}

/// A word of servers, also with a number at its end: `sha2`, `utf8mb4`.
fn is_servers(word: &str) -> bool {
    let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
    stem.len() < 2
        || [word, stem].into_iter().any(|word| {
            WORDS.contains(word) || is_keyword(word) || server_text::is_message_word(word)
        })
}

/// A word of kernels, also with numbers in it: `dma32`, `directmap4k`, `buf0buf`.
pub(super) fn is_kernels(word: &str) -> bool {
    let is_known = |word: &str| KERNEL_WORDS.contains(word) || is_servers(word);
    is_known(word) || word.split(|c: char| c.is_ascii_digit()).all(is_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_servers_are_known_by_their_words() {
        for name in [
            "variables.innodb_buffer_pool_size",
            "variables.validate_password.length",
            "variables.performance_schema_max_mutex_classes",
            "variables.caching_sha2_password_digest_rounds",
            "variables.telemetry.otel_exporter_otlp_traces_headers",
            "status.Innodb_buffer_pool_pages_dirty",
            "status.Qcache_lowmem_prunes",
            "status.Com_show_warnings",
            "status.wsrep_flow_control_paused_ns",
            "limits.open_files",
            "sysctl.vm.swappiness",
            "sysctl.kernel.core_pattern",
            "sysctl.net.ipv4.tcp_max_syn_backlog",
            "sysctl.net.netfilter.nf_conntrack_max",
            "sysctl.fs.inotify.max_user_watches",
            "cgroup.cpu.nr_throttled",
            "cgroup.memory.oom_kill",
            "cgroup.pids_max",
            "vmstat.pgscan_kswapd",
            "vmstat.allocstall_dma32",
            "vmstat.nr_zone_inactive_file",
            "vmstat.workingset_refault_anon",
            "vmstat.thp_fault_alloc",
            "meminfo.DirectMap4k",
            "meminfo.AnonHugePages",
            "meminfo.Active(anon)",
            "meminfo.Committed_AS",
            "interrupts.tlb_shootdowns",
            "interrupts.function_calls",
            "interrupts.rescheduling",
            "interrupts.devices",
            "interrupts.RES",
            "interrupts.IPI0",
            "numa.node0.numa_hit",
            "numa.node11.interleave_hit",
            "net.tcp.TIME_WAIT",
            "net.tcp.FIN_WAIT2",
            "net.tcp.ESTAB",
            "innodb_mutex.btr0sea.cc_175.os_waits",
            "innodb_mutex.combined_buf0buf.cc_1208.os_waits",
            "innodb_mutex._dict_sys-_mutex.os_waits",
            "innodb_mutex.log_sys_mutex.os_waits",
            "disk.acme",
        ] {
            assert!(!is_somebodys(name), "{name}");
        }
        for name in [
            "variables.acme_shop.replicate_do_db",
            "variables.hunter2",
            "status.Alice_Miller",
            "status.Orders_of_acme",
            "sysctl.vm.acme_limit",
            "sysctl.kernel.hunter2",
            "sysctl.fs.binfmt_misc.k4zb9x",
            "cgroup.acme",
            "vmstat.alice",
            "meminfo.Alice_Miller",
            "interrupts.hunter2",
            "numa.node hunter2.numa_hit",
            "net.tcp.ALICE",
            "innodb_mutex.acme_mutex.os_waits",
        ] {
            assert!(is_somebodys(name), "{name}");
        }
    }
}
