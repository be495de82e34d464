//! Settings of the kernel, as facts.

use model::Fact;

use crate::format::{Format, Group, Recogniser, sign};
use crate::line::Line;
use crate::read::{Read, counted};
use crate::server_names;
use crate::value_notes;

pub(crate) static FORMAT: Format = Format {
    id: "sysctl",
    group: Group::Host,
    name: "sysctl output",
    printed_by: "`sysctl -a`, `/etc/sysctl.conf`",
    content: "settings of memory, disks, queues and limits",
    recognisers: &[Recogniser::new(170, "", sign::EQUAL | sign::DOT, |at| {
        is_sysctl(at.line)
    })],
    read,
    is_inventory: true,
    ..Format::NONE
};

/// `vm.swappiness = 60`, as `sysctl -a` prints it, or without the blanks, as files have it.
fn is_sysctl(line: &str) -> bool {
    const AREAS: [&str; 9] = [
        "abi", "crypto", "debug", "dev", "fs", "kernel", "net", "user", "vm",
    ];
    line.split_once('=').is_some_and(|(key, _)| {
        key.trim_end().split_once('.').is_some_and(|(area, rest)| {
            AREAS.contains(&area) && !rest.is_empty() && !rest.contains(' ')
        })
    })
}

/// Kernel settings that are kept.
const SETTINGS_MAX: usize = 400;

/// Kernel settings that say something of memory, disks, queues and limits.
const SETTINGS: [&str; 8] = [
    "vm.",
    "net.core.",
    "net.ipv4.tcp_",
    "net.ipv4.ip_local_port_range",
    "net.netfilter.",
    "net.nf_",
    "fs.",
    "kernel.",
];

/// Longest value that is kept.
const VALUE_CHARS_MAX: usize = 200;

/// Whether a setting is a key, as `net.ipv4.tcp_fastopen_key`, or its name or that of an option in its value says that it
/// is a secret. A program that takes cores may be given one: `|/usr/bin/store-core --token=x %p`.
fn holds_a_secret(key: &str, value: &str) -> bool {
    let is_number = value
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte.is_ascii_whitespace());
    if key.ends_with("_key") || is_number {
        return !is_number;
    }
    let mut options = value.split(|c: char| c.is_whitespace() || "=,;?&\"'".contains(c));
    model::names_a_secret(key)
        || options.any(|option| model::names_a_secret(option.trim_start_matches('-')))
}

/// The words of a value; of one that begins with a number the numbers, of one that is a program its name: behind them stands
/// what somebody noted, or what the program is given.
fn words(value: &str) -> String {
    let value = value_notes::without_behind(value.trim(), |_| true).trim();
    if value.starts_with(['|', '/']) {
        let program = value.split_whitespace().next();
        return program.unwrap_or_default().to_owned();
    }
    let is_number = |word: &&str| {
        word.bytes()
            .all(|byte| byte.is_ascii_digit() || b".-".contains(&byte))
            && word.bytes().any(|byte| byte.is_ascii_digit())
    };
    let words = value.split_whitespace();
    let numbers: Vec<&str> = words.clone().take_while(is_number).collect();
    // Of several words only those of kernels: `reno cubic`.
    let count = words.clone().count();
    let is_of_kernel = |word: &str| {
        let is_plain = !word.bytes().any(|byte| byte.is_ascii_digit());
        is_plain && server_names::is_kernels(word)
    };
    let is_kept = |word: &&str| count == 1 || is_of_kernel(word);
    match numbers.is_empty() {
        true => words.filter(is_kept).collect::<Vec<_>>().join(" "),
        false => numbers.join(" "),
    }
}

/// Settings as facts.
fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    for line in lines {
        let Some((key, value)) = line.trimmed().split_once('=') else {
            continue;
        };
        let key = key.trim();
        let is_wanted = SETTINGS.iter().any(|start| key.starts_with(start));
        if is_wanted && read.facts.len() < SETTINGS_MAX {
            let is_hidden = holds_a_secret(key, value) || !server_names::is_kernels(key);
            let value = match is_hidden {
                true => "(hidden)".to_owned(),
                false => words(value),
            };
            let value: String = value.chars().take(VALUE_CHARS_MAX).collect();
            read.facts.push(Fact::new(format!("sysctl.{key}"), value));
        }
    }
    read.brought = counted(read.facts.len(), "setting", "settings");
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn secrets_are_hidden() {
        let read = read(&clean::lines(
            "kernel.core_pattern = |/usr/bin/store-core --token=hunter2 %p\nkernel.acme_password=hunter2\nkernel.core_pattern = |/usr/bin/core --api-key hunter2\n",
        ));
        assert_eq!(read.facts.len(), 3);
        assert!(
            read.facts.iter().all(|fact| fact.value == "(hidden)"),
            "{:?}",
            read.facts
        );
        for (key, value, is_secret) in [
            ("net.ipv4.tcp_fastopen_key", "5a1e-77c0-11d2-f00d", true),
            ("net.ipv4.tcp_syncookies", "1", false),
            ("net.ipv4.tcp_wmem", "4096\t16384\t4194304", false),
        ] {
            assert_eq!(holds_a_secret(key, value), is_secret, "{key}");
        }
        let apport = "|/usr/share/apport/apport -p%p -s%s -c%c -d%d -P%P -u%u -g%g -- %E";
        assert!(!holds_a_secret("kernel.core_pattern", apport));
    }

    #[test]
    fn of_a_program_its_name_is_kept() {
        let read = read(&clean::lines(
            "kernel.core_pattern = |/usr/bin/store-core hunter2 %p\nkernel.modprobe = /sbin/modprobe hunter2\n\
             net.ipv4.tcp_congestion_control = bbr  <-- Alice, hunter2\nnet.core.default_qdisc = fq // hunter2\n",
        ));
        assert_eq!(
            read.fact_list(),
            [
                ("sysctl.kernel.core_pattern", "|/usr/bin/store-core"),
                ("sysctl.kernel.modprobe", "/sbin/modprobe"),
                ("sysctl.net.ipv4.tcp_congestion_control", "bbr"),
                ("sysctl.net.core.default_qdisc", "fq"),
            ]
        );
    }

    #[test]
    fn what_no_kernel_has_is_not_kept() {
        let read = read(&clean::lines(
            "vm.quillfeather = 4711\nkernel.pin_of_alice = hunter2\nnet.ipv4.tcp_allowed_congestion_control = bbr hunter2 4711\n\
             vm.min_free_kbytes = 67584\n",
        ));
        let values: Vec<&str> = read.facts.iter().map(|fact| fact.value.as_str()).collect();
        assert_eq!(values[..2], ["(hidden)", "(hidden)"]);
        assert!(
            !values[2].contains("hunter2") && !values[2].contains("4711"),
            "{values:?}"
        );
        assert_eq!(values[3], "67584");
    }

    #[test]
    fn settings_of_areas_that_matter() {
        let read = read(&clean::lines(
            "vm.swappiness=60  <--- Alice says hunter2\nnet.ipv4.tcp_wmem = 4096\t16384\t4194304 # ours\ndev.cdrom.info = \n",
        ));
        assert_eq!(
            read.facts,
            [
                Fact::new("sysctl.vm.swappiness", "60"),
                Fact::new("sysctl.net.ipv4.tcp_wmem", "4096 16384 4194304")
            ]
        );
    }
}
