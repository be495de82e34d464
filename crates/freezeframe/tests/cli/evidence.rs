//! What each cause was tried on: docs/reference/evidence.md is made of the lab's scenarios and the catalogue, and says
//! which causes were not provoked on a real server.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use diagnosis::Catalogue;

/// With this variable the page is written instead of compared.
const WRITE: &str = "FREEZEFRAME_EVIDENCE";

const HEAD: &str = "\
# What the causes were tried on

Made by `make accuracy`. Every cause has tests, whose numbers, stacks and lines follow the sources in its file; [accuracy](../../results/accuracy.md) has the same for captures.

";

/// Why nobody has provoked what no real server showed, where that is known.
const NOT_PROVOKED: &[(&str, &str)] = &[
    (
        "bufpool-resize",
        "tried on MariaDB 10.11 and MySQL 9.7: a pool of 4 GiB shrinks and grows while statements go on",
    ),
    (
        "bulk-ddl-flush",
        "of MySQL 5.7 and 8.0 and MariaDB 10.2 to 10.4; an index that MySQL 9.7 builds makes nobody wait",
    ),
    (
        "change-buffer",
        "needs an index much larger than memory on disks that seek",
    ),
    (
        "clock-set-back",
        "would move the clock of everybody on this machine",
    ),
    (
        "conntrack-ephemeral",
        "a full table would drop the packets of everybody on this machine",
    ),
    (
        "fil-system",
        "tried on MySQL 5.5.9 (opening a file takes no time that others wait for) and MariaDB 10.11 (the redo log is full first)",
    ),
    ("futex-wait-bug", "needs a kernel of 2014, and luck"),
    (
        "fts-aux",
        "tried on MySQL 9.7: the processors are the limit before the index is",
    ),
    ("galera-commit-order", "needs a cluster with that bug"),
    (
        "galera-toi-ddl",
        "tried on two nodes of MariaDB 10.11: where the DDL was sent, flow control is named, its effect",
    ),
    (
        "hot-page-latch",
        "needs many processors; behind a slow disk, which provokes it on two, it is the effect of others",
    ),
    (
        "jemalloc-purge",
        "tried on MariaDB 10.11 with `dirty_decay_ms:0`: the statements' own work is ten times what giving memory back costs",
    ),
    (
        "large-trx",
        "tried on MariaDB 10.11: the change of 640,000 rows itself is noticed first, as load",
    ),
    ("leap-second", "needs a kernel before 3.5"),
    ("lock-sys-mutex", "needs many processors"),
    (
        "malloc-mmap-threshold",
        "tried on MySQL 5.5.9: on two processors the statements themselves are too many first",
    ),
    (
        "percona-empty-free-list-backoff",
        "of Percona Server 5.6 and 5.7, which are not to be had here",
    ),
    (
        "pfs-overhead",
        "tried on MySQL 9.7: with every instrument on less than 8 % of the samples are in their book-keeping",
    ),
    (
        "redo-log-buffer",
        "tried on MySQL 5.5.9: the checkpoint holds the writers back first",
    ),
    ("shutdown-hang", "needs a server with that bug"),
    ("ssd-trim-raid", "needs such a disk"),
    (
        "status-monitoring",
        "tried on MariaDB 10.11: what reads the state costs memory and processors first (`is-metadata-cost`)",
    ),
    (
        "tcmalloc-central",
        "tried on MySQL 5.5.9 and MariaDB 10.11: on two processors hardly anybody meets another at the central lists",
    ),
    (
        "tcp-accept-overflow",
        "tried on MariaDB 10.11: eighty clients fill one place in the queue for milliseconds; one that stays full needs a server that accepts slowly, and then that is the cause",
    ),
    (
        "thp-allocator-bloat",
        "tried on MySQL 5.5.9 with jemalloc: Linux 6.18 took the empty huge pages back within a second",
    ),
    (
        "tls-handshake",
        "tried on MariaDB 10.11 with a key of 4096 bits and twenty programs that connect: no sign of a stall",
    ),
    ("trx-sys-rseg", "needs many processors"),
];

/// Causes that were provoked by hand, in a way that the lab does not offer: docs/lab.md says how.
const BY_HAND: &[&str] = &[
    "adaptive-flush-io-capacity",
    "direct-reclaim",
    "fs-memory-reclaim",
    "linux-auditd",
    "other-programs-cpu",
    "quorum-lost",
    "slow-startup",
    "steal-time",
];

/// The scenarios that make a cause.
fn scenarios() -> BTreeMap<String, Vec<String>> {
    let mut made: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for scenario in testbed::scenarios().unwrap() {
        // What is taken away on the way to the remedy was there, too.
        let steps = scenario.then.into_iter().map(|step| step.cause);
        for cause in std::iter::once(scenario.truth.cause).chain(steps) {
            let of = made.entry(cause).or_default();
            of.push(scenario.name.clone());
        }
    }
    made
}

fn page() -> String {
    let made = scenarios();
    let mut reasons: BTreeMap<&str, &str> = NOT_PROVOKED.iter().copied().collect();
    let (mut real, mut others, mut rows) = (Vec::new(), Vec::new(), String::new());
    let causes = Catalogue::builtin().causes();
    for cause in causes {
        let id = cause.id.as_str();
        let why = reasons.remove(id);
        if let Some(names) = made.get(id) {
            assert!(
                why.is_none(),
                "{id} was provoked: it needs no reason why not"
            );
            let names = match names.as_slice() {
                [name] if name == id => String::new(),
                names => format!(" (`{}`)", names.join("`, `")),
            };
            real.push(format!("{id}{names}"));
        } else if let Some(why) = why {
            writeln!(rows, "| {id} | {why} |").unwrap();
        } else if !BY_HAND.contains(&id) {
            others.push(id);
        }
    }
    assert!(reasons.is_empty(), "no such cause: {reasons:?}");
    format!(
        "{HEAD}Of {} causes {} were provoked on a real server.\n\n\
         | | causes |\n|---|---|\n\
         | by a scenario of [the lab](../lab.md) (in brackets, if it has another name); the verdict is compared with the truth | {} |\n\
         | [by hand](../lab.md#by-hand) | {} |\n\
         | not provoked, and nothing is known that forbids it | {} |\n\n\
         | not provoked | why |\n|---|---|\n{rows}",
        causes.len(),
        real.len() + BY_HAND.len(),
        real.join(", "),
        BY_HAND.join(", "),
        others.join(", "),
    )
}

#[test]
fn the_page_says_what_there_is() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/evidence.md");
    let page = page();
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, page).unwrap();
        return;
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written, page,
        "{WRITE}=1 writes docs/reference/evidence.md anew"
    );
}
