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

/// `server.allocator = jemalloc (…)`, as `export --pt-stalk` writes what the recorder knew.
fn is_fact(text: &str) -> bool {
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

/// What our own export says of server and host, as it was recorded.
fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    for line in lines {
        if let Some((name, value)) = line.trimmed().split_once(" = ")
            && is_fact(line.trimmed())
            && read.facts.len() < FACTS_MAX
        {
            let value: String = value.chars().take(400).collect();
            read.facts.push(Fact::new(name.to_owned(), value));
        }
    }
    read.brought = counted(read.facts.len(), "fact", "facts");
    read
}
