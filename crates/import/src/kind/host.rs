//! What the host's files and tools print.

/// `server.allocator = jemalloc (…)`, as `export --pt-stalk` writes what the recorder knew.
pub(crate) fn is_fact(text: &str) -> bool {
    const STARTS: [&str; 10] = [
        "thp.",
        "limits.",
        "cgroup.",
        "host.cpus",
        "host.kernel",
        "host.memory_bytes",
        "host.numa_nodes",
        "server.allocator",
        "server.program",
        "packets.show_warnings.",
    ];
    text.split_once(" = ").is_some_and(|(name, _)| {
        STARTS.iter().any(|start| name.starts_with(start))
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._".contains(&byte))
    })
}

/// `Max open files    1024    4096    files`.
pub(super) fn is_limit(text: &str) -> bool {
    (text.starts_with("Limit ") && text.contains("Soft Limit"))
        || (text.starts_with("Max ") && {
            let words: Vec<&str> = text.split_whitespace().collect();
            let number = |word: &&str| **word == *"unlimited" || word.parse::<u64>().is_ok();
            words.len() >= 4 && words.iter().filter(|word| number(word)).count() == 2
        })
}

pub(super) fn is_top_header(text: &str) -> bool {
    text.starts_with("top - ")
        || (text.starts_with("PID ")
            && text.contains("%CPU")
            && (text.contains("COMMAND") || text.contains(" PR ") && text.contains(" NI ")))
}

pub(super) fn is_vmstat_header(text: &str) -> bool {
    text.starts_with("procs -")
        || (text.starts_with("r ") && text.contains(" swpd ") && text.contains(" cs "))
}

pub(super) fn is_proc_stat(line: &str) -> bool {
    line.strip_prefix("cpu  ").is_some_and(|rest| {
        let mut words = rest.split_whitespace();
        words.clone().count() >= 4 && words.all(|word| word.parse::<u64>().is_ok())
    })
}

pub(super) fn is_proc_vmstat(line: &str, next: &[&str]) -> bool {
    let pair = |line: &str| {
        line.split_once(' ').is_some_and(|(name, value)| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
                && value.parse::<u64>().is_ok()
        })
    };
    (line.starts_with("nr_") || line.starts_with("compact_") || line.starts_with("pg"))
        && pair(line)
        && next.first().is_none_or(|next| pair(next))
}

/// `   8       0 sda 1 2 3 …`, eleven numbers or more behind the name.
pub(super) fn is_diskstats(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |index: usize| {
        words
            .get(index)
            .is_some_and(|word| word.parse::<u64>().is_ok())
    };
    words.len() >= 14 && number(0) && number(1) && !number(2) && (3..14).all(number)
}
