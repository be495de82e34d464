//! What an export of ours says of server and host, as it was recorded.

use model::Fact;

use crate::format::{Format, Group, Recogniser, sign};
use crate::line::Line;
use crate::read::{Read, counted};
use crate::server_names;

pub(crate) static FORMAT: Format = Format {
    id: "facts",
    group: Group::Server,
    name: "facts of freezeframe",
    printed_by: "`freezeframe export --pt-stalk`",
    content: "what the recorder knew about server and host",
    recognisers: &[Recogniser::new(180, "", sign::EQUAL | sign::DOT, |at| {
        is_fact(at.text)
    })],
    // Lines between are facts that nobody asks for.
    continues: |_, next| next.own.is_none() && next.text.contains(" = "),
    read,
    ..Format::NONE
};

/// Facts that are kept.
const FACTS_MAX: usize = 400;

/// Areas of facts that are amounts.
const AMOUNTS: [&str; 2] = ["limits.", "cgroup."];

/// `server.allocator = jemalloc (…)`, as `export --pt-stalk` writes what the recorder knew.
fn is_fact(text: &str) -> bool {
    const NAMES: [&str; 11] = [
        "thp.defrag",
        "thp.enabled",
        "thp.khugepaged_defrag",
        "thp.server",
        "host.cpus",
        "host.kernel",
        "host.memory_bytes",
        "host.numa_nodes",
        "server.allocator",
        "server.program",
        "packets.show_warnings.senders",
    ];
    text.split_once(" = ").is_some_and(|(name, _)| {
        (NAMES.contains(&name) || is_limit(name))
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._".contains(&byte))
    })
}

/// Whether a fact is an amount, or that there is none.
fn is_limit(name: &str) -> bool {
    AMOUNTS.iter().any(|area| name.starts_with(area)) && server_names::is_kernels(name)
}

/// `1024`, `max 100000`, `unlimited`.
fn is_amount(value: &str) -> bool {
    let is_number = |word: &str| {
        word.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    value
        .split_whitespace()
        .all(|word| is_number(word) || ["max", "unlimited"].contains(&word))
}

/// As a recorder calls them.
const ALLOCATORS: [&str; 4] = ["libc or linked in", "jemalloc", "tcmalloc", "mimalloc"];

/// Words of a program's name: `MySQL Connector/J`.
const NAME_WORDS_MAX: usize = 3;

/// Whether a value is such as we write it under this name.
fn has_form(name: &str, value: &str) -> bool {
    let is_word = |text: &str, signs: &[u8]| {
        let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || signs.contains(&byte);
        !text.is_empty() && text.bytes().all(is_of_word)
    };
    let is_path = |text: &str| text.starts_with('/') && is_word(text, b"/._+-");
    match name {
        "thp.enabled" | "thp.defrag" => {
            const MODES: [&str; 5] = ["always", "madvise", "never", "defer", "defer+madvise"];
            let mut words = value.split_whitespace();
            words.all(|word| MODES.contains(&word.trim_matches(['[', ']'])))
        }
        "host.kernel" => {
            value.starts_with(|c: char| c.is_ascii_digit()) && is_word(value, b"._+~-")
        }
        "server.program" => is_path(value),
        // `jemalloc (/usr/lib/libjemalloc.so.2)`
        "server.allocator" => value.split(", ").all(|one| {
            let (label, library) = one.split_once(" (").unwrap_or((one, "/)"));
            ALLOCATORS.contains(&label) && library.strip_suffix(')').is_some_and(is_path)
        }),
        // `user orm (75 %), app (20 %); program Connector/J (98 %)`
        "packets.show_warnings.senders" => value.split("; ").all(|part| {
            let (what, names) = part.split_once(' ').unwrap_or((part, ""));
            let is_share = |one: &str| {
                let (name, share) = one.rsplit_once(" (").unwrap_or((one, ""));
                let share = share.strip_suffix(" %)");
                name.split(' ').count() <= NAME_WORDS_MAX && share.is_some_and(is_amount)
            };
            ["user", "host", "program"].contains(&what) && names.split(", ").all(is_share)
        }),
        _ => is_amount(value),
    }
}

/// What our own export says of server and host, as it was recorded.
fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    for line in lines {
        if let Some((name, value)) = line.trimmed().split_once(" = ")
            && is_fact(line.trimmed())
            && read.facts.len() < FACTS_MAX
        {
            let value: String = value.chars().take(400).collect();
            // What has another form somebody else wrote.
            if has_form(name, &value) {
                read.facts.push(Fact::new(name.to_owned(), value));
            }
        }
    }
    read.brought = counted(read.facts.len(), "fact", "facts");
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn what_tells_a_secret_is_no_fact_of_ours() {
        let read = read(&clean::lines(
            "thp.hunter2 = 5\nhost.cpus_of_acme = 5\ncgroup.acme = her password is hunter2\ncgroup.acme_name = hunter2\nlimits.acme = hunter2 5\nlimits.open_files = 1024\nserver.allocator = x --token=hunter2\n\
             host.kernel = 5.10.0 <-- hunter2\nhost.cpus = 8, hunter2\nthp.enabled = always hunter2\nserver.program = /usr/sbin/mysqld -phunter2\n\
             packets.show_warnings.senders = her password is hunter2\n",
        ));
        assert_eq!(read.facts, [Fact::new("limits.open_files", "1024")]);
        let own = [
            ("host.kernel", "5.10.0-21-amd64"),
            ("thp.enabled", "[always] madvise never"),
            ("server.program", "/usr/sbin/mysqld"),
            (
                "server.allocator",
                "jemalloc (/usr/lib/x86_64-linux-gnu/libjemalloc.so.2), libc or linked in",
            ),
            (
                "packets.show_warnings.senders",
                "user orm (75 %), app (20 %); program Connector/J (98 %)",
            ),
        ];
        for (name, value) in own {
            assert!(has_form(name, value), "{name}");
        }
    }
}
