//! What iostat, mpstat, sar, free, netstat, ss, df, sysctl and ps print.

/// `06:25:01`, `06:25:01 AM`: the words behind it, and the second of the day.
pub(crate) fn clock(text: &str) -> Option<(u64, &str)> {
    let (time, rest) = text.split_once([' ', '\t'])?;
    let mut parts = time.split(':');
    let mut part = |most: u64| {
        let part = parts.next().filter(|part| part.len() == 2)?;
        part.parse::<u64>().ok().filter(|value| *value < most)
    };
    let (hour, minute, second) = (part(24)?, part(60)?, part(61)?);
    if parts.next().is_some() {
        return None;
    }
    let rest = rest.trim_start();
    let (hour, rest) = match rest.split_once([' ', '\t']) {
        Some(("AM", rest)) => (hour % 12, rest.trim_start()),
        Some(("PM", rest)) => (hour % 12 + 12, rest.trim_start()),
        _ => (hour, rest),
    };
    Some((hour * 3600 + minute * 60 + second, rest))
}

/// `Linux 6.1.0-18-amd64 (db1)  11/21/2026  _x86_64_  (8 CPU)`.
pub(crate) fn is_host_line(text: &str) -> bool {
    text.starts_with("Linux ") && text.contains('(') && text.ends_with(" CPU)")
}

/// The heads of iostat's two tables, or the line of the host in front of them.
pub(super) fn is_iostat_header(text: &str, next: &[&str]) -> bool {
    let is_head = |text: &str| {
        is_device_head(text)
            || (text.starts_with("avg-cpu:") && text.contains("%user"))
            || is_iostat_of_unix(text)
    };
    let is_title = is_host_line(text) || text.starts_with("extended device statistics");
    is_head(text) || (is_title && next.iter().take(5).any(|line| is_head(line.trim())))
}

/// The head of iostat's table on Linux: `Device`, in the word of each language, and the columns.
pub(crate) fn is_device_head(text: &str) -> bool {
    if !text.contains("%util") {
        return false;
    }
    let mut words = text.split_whitespace();
    let is_name = |word: &str| word.starts_with(char::is_alphabetic) && !word.contains('/');
    text.starts_with("Device")
        || (words.next().is_some_and(is_name)
            && ["r/s", "w/s"]
                .iter()
                .all(|word| words.clone().any(|it| it == *word)))
}

/// The head of iostat's table on FreeBSD, where the device stands first, and on Solaris, where it
/// stands last with `-n`.
pub(crate) fn is_iostat_of_unix(text: &str) -> bool {
    if !text.contains("%b") {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let has = |word: &str| words.contains(&word);
    (words.first() == Some(&"device") || words.last() == Some(&"device"))
        && ["r/s", "w/s", "kr/s", "kw/s", "%b"].into_iter().all(has)
}

/// A disk with its numbers, which stand behind its name or in front of it.
pub(crate) fn iostat_row(text: &str) -> Option<(&str, Vec<f64>)> {
    let mut words: Vec<&str> = text.split_whitespace().take(42).collect();
    let name = match words.first().is_some_and(|word| number(word).is_some()) {
        true => words.pop().filter(|name| number(name).is_none())?,
        false if words.is_empty() => return None,
        false => words.remove(0),
    };
    let values: Option<Vec<f64>> = words.into_iter().map(number).collect();
    let values = values.filter(|values| (5..=40).contains(&values.len()))?;
    (name.len() <= 64).then_some((name, values))
}

/// Columns by which a table of mpstat or sar is known.
const SYSSTAT: [&str; 16] = [
    "%usr",
    "%user",
    "cswch/s",
    "runq-sz",
    "kbmemfree",
    "pgpgin/s",
    "pswpin/s",
    "rkB/s",
    "rd_sec/s",
    "tps",
    "IFACE",
    "intr/s",
    "kbswpfree",
    "totsck",
    "active/s",
    "%scpu-10",
];

/// A head of mpstat or sar: the time, then names of columns.
pub(super) fn is_sysstat_header(text: &str) -> bool {
    is_host_line(text)
        || clock(text)
            .is_some_and(|(_, rest)| rest.split_whitespace().any(|word| SYSSTAT.contains(&word)))
}

/// `Average:     all    6.00  …`, `Durchschn.:`, `Moyenne :`: a word of any language, then mostly numbers.
fn is_mean(text: &str) -> bool {
    let Some((name, rest)) = text.split_once(':') else {
        return false;
    };
    let name = name.trim_end();
    let is_word =
        (4..=24).contains(&name.len()) && name.chars().all(|c| c.is_alphabetic() || c == '.');
    let words = rest.split_whitespace();
    let numbers = words.clone().filter(|word| number(word).is_some()).count();
    text.starts_with("Average:") || (is_word && numbers >= 2 && numbers + 2 >= words.count())
}

/// A row of them: the time or `Average:`, then values.
pub(crate) fn is_sysstat_row(text: &str) -> bool {
    clock(text).is_some() || is_mean(text)
}

/// A number with a decimal point or comma.
pub(crate) fn number(word: &str) -> Option<f64> {
    if !word.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
        return None;
    }
    let value: f64 = match word.contains(',') {
        true => word.replace(',', ".").parse().ok()?,
        false => word.parse().ok()?,
    };
    value.is_finite().then_some(value)
}

/// `total used free shared buff/cache available`; in other languages six words above a row of as many numbers with a
/// name, and a row of three.
pub(super) fn is_free_header(text: &str, next: &[&str]) -> bool {
    is_english_free(text)
        || (is_words(text)
            && next
                .first()
                .and_then(|row| free_row(row.trim()))
                .is_some_and(|(_, values)| values.len() == text.split_whitespace().count())
            && next
                .iter()
                .skip(1)
                .take(2)
                .filter_map(|row| free_row(row.trim()))
                .any(|(_, values)| values.len() == 3))
}

pub(crate) fn is_english_free(text: &str) -> bool {
    text.starts_with("total ") && text.contains(" used ") && text.contains(" free")
}

/// The names of columns in any language.
pub(crate) fn is_words(text: &str) -> bool {
    text.len() < 150
        && text.split_whitespace().count() >= 4
        && !text.contains(|c: char| c.is_ascii_digit() || c == ':')
}

/// A row of `free`: `Mem:  16384 1 8192 1 1 8192`, with the name in the word of each language.
pub(crate) fn free_row(text: &str) -> Option<(&str, Vec<&str>)> {
    let (name, rest) = text.split_once(':')?;
    let is_name = (1..=24).contains(&name.len()) && name.starts_with(char::is_alphabetic);
    let values: Vec<&str> = rest.split_whitespace().collect();
    let is_value = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    (is_name && (3..=7).contains(&values.len()) && values.iter().all(is_value))
        .then_some((name, values))
}

/// Heads of `netstat -s`.
const PROTOCOLS: [&str; 9] = [
    "Ip:",
    "Icmp:",
    "IcmpMsg:",
    "Tcp:",
    "Udp:",
    "UdpLite:",
    "TcpExt:",
    "IpExt:",
    "MPTcpExt:",
];

/// A head of a list of connections, or a part of `netstat -s`.
pub(super) fn is_netstat(text: &str, next: &[&str]) -> bool {
    text.starts_with("Active Internet connections")
        || (text.starts_with("Proto Recv-Q Send-Q"))
        || ((text.starts_with("State ") || text.starts_with("Netid "))
            && text.contains("Recv-Q")
            && text.contains("Local Address"))
        || is_listen_counter(text)
        || (PROTOCOLS.contains(&text)
            && next
                .first()
                .is_some_and(|line| line.starts_with([' ', '\t'])))
}

/// `    123 times the listen queue of a socket overflowed`.
pub(crate) fn is_listen_counter(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && (text.contains("the listen queue of a socket overflowed")
            || text.contains("SYNs to LISTEN sockets"))
}

/// A line of a list of connections, or of `netstat -s`.
pub(crate) fn is_net_line(line: &str, text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    PROTOCOLS.contains(&first)
        || first.starts_with("tcp")
        || first.starts_with("udp")
        || first.starts_with("unix")
        || CONNECTION_STATES.contains(&first)
        || (line.starts_with([' ', '\t']) && !text.is_empty())
}

/// States as ss writes them.
pub(crate) const CONNECTION_STATES: [&str; 12] = [
    "LISTEN",
    "ESTAB",
    "SYN-SENT",
    "SYN-RECV",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "TIME-WAIT",
    "CLOSE-WAIT",
    "LAST-ACK",
    "CLOSING",
    "UNCONN",
    "CLOSED",
];

/// `Filesystem 1K-blocks Used Available Use% Mounted on`, or a row.
pub(super) fn is_df_header(text: &str, next: &[&str]) -> bool {
    let is_above_row = || next.first().is_some_and(|row| is_df_row(row.trim()));
    (text.contains('%') && (text.starts_with("Filesystem ") || is_above_row())) || is_df_row(text)
}

/// `/dev/sda1  51474912  12345  48000000  1% /var`.
pub(crate) fn is_df_row(text: &str) -> bool {
    // A share and a path: few lines have both.
    if !text.contains("% /") {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_size = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    matches!(words.as_slice(), [_, size, used, free, share, mount, ..]
        if [size, used, free].into_iter().all(is_size) && share.ends_with('%') && mount.starts_with('/'))
}

/// `vm.swappiness = 60`, as `sysctl -a` prints it, or without the blanks, as files have it.
pub(crate) fn is_sysctl(line: &str) -> bool {
    const AREAS: [&str; 9] = [
        "abi", "crypto", "debug", "dev", "fs", "kernel", "net", "user", "vm",
    ];
    line.split_once('=').is_some_and(|(key, _)| {
        key.trim_end().split_once('.').is_some_and(|(area, rest)| {
            AREAS.contains(&area) && !rest.is_empty() && !rest.contains(' ')
        })
    })
}

/// Columns of ps that number what a row is of.
const PS_NUMBERS: [&str; 5] = ["PID", "TID", "LWP", "SPID", "TGID"];

/// Columns of ps that name the program.
const PS_COMMANDS: [&str; 3] = ["CMD", "COMMAND", "COMM"];

/// The other columns of ps(1), by their heads; those of `-o` may be asked for in any order.
const PS_COLUMNS: [&str; 45] = [
    "UID", "USER", "EUSER", "RUSER", "EUID", "RUID", "GROUP", "PPID", "PGID", "PGRP", "SID",
    "SESS", "TPGID", "NLWP", "THCNT", "S", "STAT", "F", "C", "CP", "%CPU", "%MEM", "PRI", "NI",
    "CLS", "RTPRIO", "PSR", "P", "ADDR", "SZ", "SIZE", "VSZ", "RSS", "RSZ", "MINFL", "MAJFL",
    "WCHAN", "TT", "TTY", "TIME", "STIME", "START", "STARTED", "ELAPSED", "CGROUP",
];

/// `Ssl`, `D`, `R+`: the state of a process as ps has it.
pub(super) fn is_process_state(word: &str) -> bool {
    let mut letters = word.bytes();
    letters
        .next()
        .is_some_and(|state| b"DRSTtZIWX".contains(&state))
        && letters.all(|more| b"<NLsl+".contains(&more))
}

/// `UID PID PPID C SZ RSS PSR STIME TTY TIME CMD`, `USER PID %CPU %MEM VSZ RSS …`, and what was asked
/// for by name: `PID VSZ COMMAND`.
pub(crate) fn is_ps_header(text: &str) -> bool {
    let has = |names: &[&str]| text.split_whitespace().any(|word| names.contains(&word));
    if !has(&PS_NUMBERS) || !has(&PS_COMMANDS) {
        return false;
    }
    let mut words = text.split_whitespace();
    let known = [&PS_NUMBERS[..], &PS_COMMANDS[..], &PS_COLUMNS[..]];
    let is_known = |word: &str| known.iter().any(|names| names.contains(&word));
    let begins = |text: &str| {
        let mut words = text.split_whitespace();
        matches!(words.next(), Some("UID" | "USER")) && words.next() == Some("PID")
    };
    words.clone().count() >= 3 && (begins(text) || words.all(is_known))
}

/// A process: its user, then its number; or its number, then its size.
pub(crate) fn is_ps_row(text: &str) -> bool {
    let is_number = |word: Option<&str>| word.is_some_and(|word| word.parse::<u64>().is_ok());
    let mut words = text.split_whitespace();
    let count = words.clone().count();
    let (first, second) = (is_number(words.next()), is_number(words.next()));
    let sizes = second && (count >= 6 || (first && count >= 3 && !is_number(words.next())));
    // With other columns only the process's state tells: `1234 Ssl 0.3 mysqld`.
    sizes
        || (count >= 3
            && text.split_whitespace().take(6).any(is_process_state)
            && text
                .split_whitespace()
                .take(4)
                .any(|word| is_number(Some(word))))
}
