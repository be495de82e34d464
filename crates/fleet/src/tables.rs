//! The fleet's tables. `docs/reference/fleet-tables.md` is made of them.
//!
//! **Signals are one row per signal, server and minute**, with the seconds as a list: measured on 126 million points of
//! real signals that is five times faster to insert than a row per point, with a sixtieth of the rows, at the same size.
//!
//! **A stack is told by its frames alone**, without server and address, so that "the same stack on 40 servers" is an
//! equality. Names of functions stand once, in `frames`.
//!
//! **A server is what a row of `hosts` is**: one mysqld with its host, because two on one host stall for themselves.

use crate::table::Packing::{Counts, General, Moments, Thorough};
use crate::table::Type::{
    Choice, Day, F32, F64, Hash, I8, Id, List, Map, Millis, Seconds, Sha256, Text, U8, U16, U32,
    U64, Word,
};
use crate::table::{Partition, Repeated, Table, column};

/// What came of an incident.
pub const VERDICTS: &[(&str, i8)] = &[("named", 1), ("unsure", 2), ("not_enough", 3)];

/// The part of an incident that a stack was seen in.
pub const PHASES: &[(&str, i8)] = &[("baseline", 0), ("before", 1), ("stall", 2), ("after", 3)];

/// How a stack was seen.
pub const STACK_KINDS: &[(&str, i8)] =
    &[("oncpu", 1), ("wait", 2), ("lockwait", 3), ("lockhold", 4)];

/// What was done with a remedy.
pub const ACTIONS: &[(&str, i8)] = &[("apply", 1), ("undo", 2)];

/// What the comparison before and after said.
pub const PROOFS: &[(&str, i8)] = &[
    ("pending", 0),
    ("proven", 1),
    ("not_proven", 2),
    ("worse", 3),
];

/// Servers, as they were seen last.
pub static HOSTS: Table = Table {
    name: "hosts",
    what: "A server as it was seen last: one mysqld with its host",
    columns: &[
        column(
            "host_id",
            Hash,
            "the server: of its host's name and its label",
        ),
        column(
            "host",
            Text,
            "the host's name; not redacted, so that it can be found",
        ),
        column(
            "label",
            Text,
            "which server on the host: its port or socket",
        ),
        column(
            "cluster",
            Word,
            "the cluster it belongs to; empty when nobody said",
        ),
        column("vendor", Word, "MySQL, MariaDB or Percona"),
        column(
            "version",
            Word,
            "the version with its suffix, as the server tells it",
        ),
        column("kernel", Word, "the kernel's release"),
        column("allocator", Word, "the server's memory allocator"),
        column(
            "thp",
            Word,
            "transparent huge pages: always, madvise, never",
        ),
        column("cores", U16, "processors of the host"),
        column("ram_bytes", U64, "memory of the host, bytes"),
        column("recorder_version", Word, "the recorder's version"),
        column("labels", Map(&Word, &Text), "what the owner calls it by"),
        column(
            "settings",
            Map(&Word, &Text),
            "settings that stalls depend on, by the names of facts",
        ),
        column("seen", Seconds, "when this was so"),
    ],
    sort_key: &["host_id"],
    partition: Partition::Whole,
    keep: None,
    repeated: Repeated::Largest("seen"),
};

/// Signals by the minute.
pub static SIGNALS: Table = Table {
    name: "signals",
    what: "A signal of a server in a minute: a level as it is, a counter as its growth a second",
    columns: &[
        column("host_id", Hash, "the server").packed(General),
        column("signal", Word, "the signal's name, such as vmstat.compact_stall").packed(General),
        column("ts", Seconds, "begin of the minute").packed(Moments),
        column("n", U8, "seconds of the minute that have a value, at most 60").packed(General),
        column("mn", F32, "smallest value of a second, in the signal's unit").packed(General),
        column("mx", F32, "largest value of a second").packed(General),
        column("av", F32, "mean of the seconds").packed(General),
        column("v", List(&F64), "the seconds in single precision, from second 0 of the minute on, NaN where there is none; empty when all are alike or only the minute is kept")
            .packed(Thorough)
            .for_days(3),
    ],
    sort_key: &["signal", "host_id", "ts"],
    partition: Partition::Day("ts"),
    keep: Some(("ts", 30)),
    repeated: Repeated::Largest("n"),
};

/// Signals by the hour.
pub static SIGNALS_1H: Table = Table {
    name: "signals_1h",
    what: "A signal of a server in an hour",
    columns: &[
        column("host_id", Hash, "the server"),
        column("signal", Word, "the signal's name"),
        column("ts", Seconds, "begin of the hour"),
        column("mn", F32, "smallest value of a second"),
        column("mx", F32, "largest value of a second"),
        column(
            "sm",
            F64,
            "sum over the seconds: divided by cnt it is the mean",
        ),
        column("cnt", U64, "seconds that have a value"),
    ],
    sort_key: &["signal", "host_id", "ts"],
    partition: Partition::Month("ts"),
    keep: Some(("ts", 400)),
    repeated: Repeated::MadeOf("signals"),
};

/// Incidents with what came of them.
pub static INCIDENTS: Table = Table {
    name: "incidents",
    what: "A stall that was recorded, and its verdict",
    columns: &[
        column("incident_id", Id, "of the server and the incident's name"),
        column("host_id", Hash, "the server"),
        column("onset", Millis, "when it began").packed(Moments),
        column("detected", Millis, "when the recorder was sure").packed(Moments),
        column(
            "duration_ms",
            U32,
            "from onset to end, or to the end of the record; milliseconds",
        ),
        column("trigger", Word, "the rule that gave it away first"),
        column(
            "verdict",
            Choice(VERDICTS),
            "named: a cause is likely or certain; unsure: one is possible; not_enough: none",
        ),
        column(
            "cause",
            Word,
            "the first finding's cause; empty when there is none",
        ),
        column("confidence", F32, "of the first finding, 0 to 1"),
        column(
            "shape",
            Hash,
            "its five heaviest functions, stall minus baseline, and its trigger",
        ),
        column("absent", List(&Word), "what could not be recorded"),
        column(
            "facts",
            Map(&Word, &Text),
            "settings and state of server and host at the onset",
        ),
        column(
            "frame_key",
            Text,
            "the incident's file, in the store of files",
        ),
        column("frame_bytes", U64, "its size, bytes"),
        column("frame_sha256", Sha256, "its SHA-256"),
        column(
            "rev",
            U32,
            "when it was judged, seconds since 1970: a later judgement replaces an earlier",
        ),
        column("name", Text, "the incident's name, as its file has it"),
        column(
            "heaviest",
            List(&Word),
            "the functions of its shape, the heaviest first",
        ),
    ],
    sort_key: &["host_id", "onset", "incident_id"],
    partition: Partition::Month("onset"),
    keep: Some(("onset", 400)),
    repeated: Repeated::Largest("rev"),
};

/// Findings with their witnesses.
pub static FINDINGS: Table = Table {
    name: "findings",
    what: "A cause that was found in an incident; those whose rev is below the incident's are of an earlier judgement",
    columns: &[
        column("incident_id", Id, "the incident"),
        column("host_id", Hash, "the server"),
        column("onset", Millis, "the incident's onset"),
        column("cause", Word, "the cause"),
        column("rank", U8, "place in the verdict, from 0"),
        column("score", F32, "confidence, 0 to 1"),
        column("witness_kind", List(&Word), "the sources of its witnesses"),
        column("witness_side", List(&I8), "1 speaks for it, -1 against it"),
        column("witness_ref", List(&Text), "their ids in the cause's file"),
        column(
            "witness_value",
            List(&F64),
            "the measured numbers, NaN where there is none",
        ),
        column("rev", U32, "as the incident's"),
    ],
    sort_key: &["cause", "host_id", "onset", "incident_id", "rank"],
    partition: Partition::Month("onset"),
    keep: Some(("onset", 400)),
    repeated: Repeated::Largest("rev"),
};

/// Stacks of incidents.
pub static STACKS: Table = Table {
    name: "stacks",
    what: "How often a stack was seen in a part of an incident",
    columns: &[
        column("host_id", Hash, "the server").packed(General),
        column("incident_id", Id, "the incident").packed(General),
        column("ts", Seconds, "the incident's onset").packed(Moments),
        column(
            "phase",
            Choice(PHASES),
            "baseline: before the last minute before the onset; before: that minute; stall; after",
        ),
        column(
            "kind",
            Choice(STACK_KINDS),
            "oncpu: on a processor; wait: a thread that did not run; lockwait, lockhold: waits for a lock, holds one",
        ),
        column("stack_id", Hash, "the stack").packed(General),
        column("samples", U32, "samples, or snapshots that show it").packed(Counts),
        column("ns", U64, "time, nanoseconds").packed(Counts),
    ],
    sort_key: &["kind", "phase", "stack_id", "host_id", "ts", "incident_id"],
    partition: Partition::Month("ts"),
    keep: Some(("ts", 90)),
    repeated: Repeated::Same,
};

/// What stacks are made of.
pub static STACK_FRAMES: Table = Table {
    name: "stack_frames",
    what: "The frames of a stack",
    columns: &[
        column(
            "stack_id",
            Hash,
            "the stack: of its frames, without server and address",
        ),
        column("frames", List(&Hash), "frames, innermost first").packed(Thorough),
        column("seen", Day, "when it was seen last"),
    ],
    sort_key: &["stack_id"],
    partition: Partition::Whole,
    keep: None,
    repeated: Repeated::Largest("seen"),
};

/// What frames are called.
pub static FRAMES: Table = Table {
    name: "frames",
    what: "A function, or the place in an image where no symbol names one",
    columns: &[
        column(
            "frame_id",
            Hash,
            "of module and function; without a name of build and place too",
        ),
        column(
            "build_id",
            Text,
            "build of a place without a name; empty where a name is known",
        ),
        column("offset", U64, "place in the image; 0 where a name is known"),
        column("module", Word, "file name of the image; [kernel]"),
        column(
            "function",
            Text,
            "the name as people write it, without parameters",
        ),
        column("seen", Day, "when it was seen last"),
    ],
    sort_key: &["frame_id"],
    partition: Partition::Whole,
    keep: None,
    repeated: Repeated::Largest("seen"),
};

/// Statements by class.
pub static QUERIES: Table = Table {
    name: "queries",
    what: "What a server was asked, by class of statement, from a moment on",
    columns: &[
        column("host_id", Hash, "the server").packed(General),
        column("ts", Seconds, "when the class was seen first in that time").packed(Moments),
        column(
            "digest",
            Hash,
            "of the statement without literals, and of the fleet's salt",
        )
        .packed(General),
        column("n", U32, "statements").packed(Counts),
        column("sum_us", U64, "their time, microseconds").packed(Counts),
        column("max_us", U32, "the longest, microseconds").packed(Counts),
        column(
            "lock_us",
            U64,
            "time that they waited for locks, microseconds",
        )
        .packed(Counts),
        column("rows_examined", U64, "rows read").packed(Counts),
        column("errors", U32, "statements that ended with an error").packed(Counts),
        column(
            "hist",
            Map(&U8, &U32),
            "statements by time: 0 below 10 µs, 1 from there on, … 7 from 10 s on",
        )
        .packed(General),
    ],
    sort_key: &["host_id", "digest", "ts"],
    partition: Partition::Day("ts"),
    keep: Some(("ts", 30)),
    repeated: Repeated::Same,
};

/// Texts of statements.
pub static QUERY_TEXTS: Table = Table {
    name: "query_texts",
    what: "A class of statements in words, without literals and names",
    columns: &[
        column("digest", Hash, "the class"),
        column("text", Text, "the statement, redacted").packed(Thorough),
        column("first_seen", Seconds, "when it came to the store first"),
    ],
    sort_key: &["digest"],
    partition: Partition::Whole,
    keep: None,
    repeated: Repeated::Same,
};

/// Remedies that were applied.
pub static REMEDIES: Table = Table {
    name: "remedies",
    what: "A change that was made against a cause, or undone",
    columns: &[
        column("host_id", Hash, "the server"),
        column("at", Seconds, "when"),
        column("remedy", Word, "the change"),
        column("cause", Word, "the cause it is against"),
        column("action", Choice(ACTIONS), "applied or undone"),
        column("proof", Choice(PROOFS), "what before and after said"),
        column(
            "rev",
            U32,
            "seconds since 1970: a later row replaces an earlier",
        ),
    ],
    sort_key: &["host_id", "at", "remedy"],
    partition: Partition::Whole,
    keep: None,
    repeated: Repeated::Largest("rev"),
};

/// How recorders are.
pub static RECORDER_HEALTH: Table = Table {
    name: "recorder_health",
    what: "A sign of life of a recorder",
    columns: &[
        column("host_id", Hash, "the server"),
        column("ts", Seconds, "when"),
        column("lost", U32, "samples and rows lost since the row before"),
        column("spooled_bytes", U64, "what waits for the fleet, bytes"),
        column(
            "cpu_ms",
            U32,
            "processor time since the row before, milliseconds",
        ),
        column("absent", List(&Word), "sources that cannot be read"),
    ],
    sort_key: &["host_id", "ts"],
    partition: Partition::Day("ts"),
    keep: Some(("ts", 30)),
    repeated: Repeated::Same,
};

/// Which version of the tables a store has.
pub static SCHEMA_VERSION: Table = Table {
    name: "schema_version",
    what: "A version that the store was brought to",
    columns: &[
        column("version", U32, "the version"),
        column("at", Seconds, "when"),
        column("program", Word, "by which version of the program"),
    ],
    sort_key: &["version"],
    partition: Partition::Whole,
    keep: None,
    repeated: Repeated::Same,
};

/// All tables, in the order in which they are made.
pub static TABLES: [&Table; 13] = [
    &HOSTS,
    &SIGNALS,
    &SIGNALS_1H,
    &INCIDENTS,
    &FINDINGS,
    &STACKS,
    &STACK_FRAMES,
    &FRAMES,
    &QUERIES,
    &QUERY_TEXTS,
    &REMEDIES,
    &RECORDER_HEALTH,
    &SCHEMA_VERSION,
];

/// The table with this name.
pub fn table(name: &str) -> Option<&'static Table> {
    TABLES.into_iter().find(|table| table.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_partitions_and_times_name_columns() {
        for table in TABLES {
            let has = |name: &str| table.column(name).is_some();
            assert!(
                table.sort_key.iter().all(|name| has(name)),
                "{}",
                table.name
            );
            let cut = match table.partition {
                Partition::Day(name) | Partition::Month(name) => has(name),
                Partition::Whole => true,
            };
            assert!(
                cut && table.keep.is_none_or(|(name, _)| has(name)),
                "{}",
                table.name
            );
            if let Repeated::Largest(name) = table.repeated {
                assert!(has(name), "{}", table.name);
            }
            if let Repeated::MadeOf(name) = table.repeated {
                assert!(super::table(name).is_some(), "{}", table.name);
            }
        }
    }
}
