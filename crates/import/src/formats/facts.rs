//! What an export of ours says of server and host, as it was recorded.

use model::Fact;

use crate::format::{Format, Group, Recogniser, sign};
use crate::line::Line;
use crate::read::{Read, counted};

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
    AMOUNTS.iter().any(|area| name.starts_with(area))
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

/// What our own export says of server and host, as it was recorded.
fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    for line in lines {
        if let Some((name, value)) = line.trimmed().split_once(" = ")
            && is_fact(line.trimmed())
            && read.facts.len() < FACTS_MAX
        {
            let value: String = value.chars().take(400).collect();
            let words = value.split(|c: char| !(c.is_alphanumeric() || "_-".contains(c)));
            // No fact of these has a secret in it: somebody else wrote it.
            if !words.into_iter().any(model::names_a_secret)
                && (!is_limit(name) || is_amount(&value))
            {
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
            "thp.hunter2 = 5\nhost.cpus_of_acme = 5\ncgroup.acme = her password is hunter2\ncgroup.acme_name = hunter2\nlimits.acme = hunter2 5\nlimits.open_files = 1024\nserver.allocator = x --token=hunter2\n",
        ));
        assert_eq!(read.facts, [Fact::new("limits.open_files", "1024")]);
    }
}
