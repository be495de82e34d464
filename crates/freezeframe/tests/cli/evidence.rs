//! What each cause was tried on: docs/reference/evidence.md is made of the lab's scenarios, the captures and the
//! catalogue, and says which causes were not provoked on a real server.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use diagnosis::Catalogue;

/// With this variable the page is written instead of compared.
const WRITE: &str = "FREEZEFRAME_EVIDENCE";

const HEAD: &str = "\
# What the causes were tried on

Made by `make accuracy` (`FREEZEFRAME_EVIDENCE=1 cargo test -p freezeframe --test cli evidence`).

- **on a real server**: a scenario of [the lab](../lab.md) breaks a private server in this way, and the verdict is compared with what is true; or it was done [by hand](../lab.md#by-hand).
- **captures**: for evidence as people paste it the first finding is the known cause ([accuracy](../../results/accuracy.md), of its half that may be looked at).
- **not provoked**: nobody made the stall on a real server; where it is known the last column says why. Every cause has tests, whose numbers, stacks and lines follow the sources in its file.

";

/// Why nobody has provoked what no real server showed, where that is known.
const NOT_PROVOKED: &[(&str, &str)] = &[
    (
        "bufpool-resize",
        "tried on MariaDB 10.11 and MySQL 9.7: a pool of 4 GiB shrinks to 128 MiB and grows again while 8,000 and 3,700 statements a second go on",
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
        "not tried yet: needs a cluster and a change of a large table",
    ),
    (
        "hot-page-latch",
        "needs many processors; behind a slow disk, which provokes it on two, it is the effect of others",
    ),
    (
        "jemalloc-purge",
        "tried on MariaDB 10.11 with `dirty_decay_ms:0`: on two processors the statements' own work is some ten times what giving memory back costs",
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
        "tried on MySQL 9.7: with every instrument on, 14,000 statements a second and less than 8 % of the samples in their book-keeping",
    ),
    (
        "redo-log-buffer",
        "tried on MySQL 5.5.9: the checkpoint holds the writers back first",
    ),
    ("shutdown-hang", "needs a server with that bug"),
    ("slow-startup", "needs hundreds of thousands of tables"),
    ("ssd-trim-raid", "needs such a disk"),
    (
        "status-monitoring",
        "tried on MariaDB 10.11: what reads the server's state costs memory and processors before its locks are held long (`is-metadata-cost`)",
    ),
    (
        "tcmalloc-central",
        "tried on MySQL 5.5.9 and MariaDB 10.11 with half a megabyte of thread caches: on two processors hardly anybody meets another at the central lists",
    ),
    (
        "tcp-accept-overflow",
        "tried on MariaDB 10.11 with one place in the queue: eighty clients at the same moment fill it for milliseconds; one that stays full needs a server that accepts slowly, and then that is the cause",
    ),
    (
        "thp-allocator-bloat",
        "tried on MySQL 5.5.9 with jemalloc: 0.3 GB in use kept 2.7 GB of huge pages; when the server might have 1.2 GB, Linux 6.18 took the \
         empty ones back within a second, and nobody waited",
    ),
    (
        "tls-handshake",
        "tried on MariaDB 10.11 with a key of 4096 bits and twenty programs that connect at a time: no sign of a stall",
    ),
    ("trx-sys-rseg", "needs many processors"),
];

/// Causes that were provoked by hand, in a way that the lab does not offer: how, and why it does not.
const BY_HAND: &[(&str, &str)] = &[
    (
        "adaptive-flush-io-capacity",
        "by hand on MariaDB 10.11: *possible*, as what aggravates `checkpoint-sync-flush`",
    ),
    (
        "direct-reclaim",
        "by hand on MySQL 5.5.9: most of the host's memory is page cache",
    ),
    (
        "fs-memory-reclaim",
        "by hand on MariaDB 10.11: 10 GB of names of files",
    ),
    (
        "linux-auditd",
        "by hand on MariaDB 10.11, MySQL 5.5.9 and 9.7: what auditing costs stays until the next boot",
    ),
    ("quorum-lost", "by hand in a cluster of three MariaDB 10.11"),
    (
        "steal-time",
        "met, not made: the host withheld processors while scenarios ran",
    ),
];

/// What shows a cause.
#[derive(Default)]
struct Shown {
    scenarios: Vec<String>,
    captures: Vec<String>,
}

fn page() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut shown: BTreeMap<String, Shown> = BTreeMap::new();
    for scenario in testbed::scenarios().unwrap() {
        // What is taken away on the way to the remedy was there, too.
        let steps = scenario.then.into_iter().map(|step| step.cause);
        for cause in std::iter::once(scenario.truth.cause).chain(steps) {
            let of = shown.entry(cause).or_default();
            of.scenarios.push(format!("`{}`", scenario.name));
        }
    }
    for (cause, how) in BY_HAND {
        let of = shown.entry((*cause).to_owned()).or_default();
        of.scenarios.push((*how).to_owned());
    }
    let accuracy = std::fs::read_to_string(root.join("results/accuracy.md")).unwrap();
    for line in accuracy.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        // Another cause at rank 1 may be as good for the capture, but is not this one: its name stands there.
        if let [_, case, cause, level, "rank 1", _] = cells[..]
            && !level.contains('(')
            && Catalogue::builtin().get(cause).is_some()
        {
            let of = shown.entry(cause.to_owned()).or_default();
            of.captures.push(case.to_owned());
        }
    }
    let causes = Catalogue::builtin().causes();
    let mut rows = String::new();
    let (mut real, mut read) = (0, 0);
    let mut reasons: BTreeMap<&str, &str> = NOT_PROVOKED.iter().copied().collect();
    for cause in causes {
        let (scenarios, captures) = match shown.get(&cause.id) {
            Some(of) => (of.scenarios.join(", "), of.captures.join(", ")),
            None => (String::new(), String::new()),
        };
        let is_real = !scenarios.is_empty();
        real += usize::from(is_real);
        read += usize::from(!is_real && !captures.is_empty());
        let mark = match reasons.remove(cause.id.as_str()) {
            Some(_) if is_real => panic!("{} was provoked: it needs no reason why not", cause.id),
            Some(why) => format!("not provoked: {why}"),
            None if is_real => String::new(),
            None => "not provoked".to_owned(),
        };
        writeln!(rows, "| {} | {scenarios} | {captures} | {mark} |", cause.id).unwrap();
    }
    assert!(reasons.is_empty(), "no such cause: {reasons:?}");
    format!(
        "{HEAD}Of {} causes {real} were provoked on a real server. Of the {} others {read} are named for captures.\n\n\
         | cause | on a real server | captures | |\n|---|---|---|---|\n{rows}",
        causes.len(),
        causes.len() - real,
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
