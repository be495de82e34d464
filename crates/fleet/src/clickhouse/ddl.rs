//! What ClickHouse is told to make the tables.
//!
//! Every table is of the replacing kind by its sort key, so that a row that comes twice by any way is one in the end; who
//! asks reads with `FINAL`. Partitions are made of columns of the sort key only, so that both are in one.
//!
//! **Hours** are made anew from the minutes. A sum by a trigger of inserts would count a minute twice that two incidents
//! share, or that a forgotten token let in again. So a trigger only notes which hours got minutes, and once an hour a
//! view makes these hours from all minutes that are there; a late spool of last week is no other case.

use std::fmt::Write as _;

use super::failure::Failure;
use super::sums::SUMS;
use crate::table::{Column, Packing, Partition, Repeated, Table, Type};
use crate::tables::{SIGNALS, TABLES};

/// Version of the tables in ClickHouse, with what is made of them there. It rises with every change, and each store can be
/// brought to it. Version 2 had no sums of stacks, and no smallest and largest values of signals.
pub const VERSION: u32 = 3;

/// Tokens that a table of a single server remembers: at one insert a minute and server, four hours of 400 servers.
const TOKENS_SINGLE: u32 = 100_000;

/// Tokens that a replicated table remembers. The engine's own 10,000 are a minute of 10,000 servers.
const TOKENS_REPLICATED: u32 = 1_000_000;

/// How long a replicated table remembers a token, seconds: a week, longer than an outage. The engine's own is an hour.
const TOKEN_SECONDS: u32 = 7 * 86_400;

/// How the tables stand on servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Layout {
    /// All on one.
    #[default]
    Single,
    /// On the shards and replicas of this cluster: `NAME_local` on each, and `NAME` across them.
    Replicated {
        /// The cluster, as `system.clusters` has it.
        cluster: String,
    },
}

impl Layout {
    /// On this cluster.
    ///
    /// # Errors
    ///
    /// When the name has characters that need quotes.
    pub fn replicated(cluster: &str) -> Result<Self, Failure> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.';
        match !cluster.is_empty() && cluster.chars().all(is_plain) {
            true => Ok(Self::Replicated {
                cluster: cluster.to_owned(),
            }),
            false => Err(Failure::stop(
                "the cluster's name",
                "letters, digits, '_', '-' and '.' only",
            )),
        }
    }

    /// What the tables with the rows are called behind.
    fn local(&self) -> &'static str {
        match self {
            Self::Single => "",
            Self::Replicated { .. } => "_local",
        }
    }

    /// ` ON CLUSTER …` where there is one.
    fn on(&self) -> String {
        match self {
            Self::Single => String::new(),
            Self::Replicated { cluster } => format!(" ON CLUSTER '{cluster}'"),
        }
    }

    fn engine(&self, name: &str, by: Option<&str>) -> String {
        match self {
            Self::Single => format!("ReplacingMergeTree({})", by.unwrap_or_default()),
            Self::Replicated { .. } => {
                let by = by.map(|by| format!(", {by}")).unwrap_or_default();
                format!(
                    "ReplicatedReplacingMergeTree('/clickhouse/tables/{{shard}}/{{database}}/{name}', '{{replica}}'{by})"
                )
            }
        }
    }

    fn settings(&self) -> String {
        match self {
            Self::Single => format!("non_replicated_deduplication_window = {TOKENS_SINGLE}"),
            Self::Replicated { .. } => format!(
                "replicated_deduplication_window = {TOKENS_REPLICATED}, \
                 replicated_deduplication_window_seconds = {TOKEN_SECONDS}"
            ),
        }
    }
}

/// All tables that get rows: those of batches, and those that are made of their rows.
pub fn tables() -> impl Iterator<Item = &'static Table> {
    TABLES.into_iter().chain(SUMS)
}

/// All statements that make the tables and what fills the hours, in their order. Each may run again.
pub fn all(layout: &Layout) -> Vec<String> {
    let mut statements: Vec<String> = tables().flat_map(|table| create(table, layout)).collect();
    // `at-risk` asks for large values, and calm has few: four fifths of the rows of its signals are not read.
    statements.push(signals_index(
        layout,
        "ADD INDEX IF NOT EXISTS largest (signal, mx) TYPE minmax GRANULARITY 1",
    ));
    statements.extend(hours(layout));
    statements
}

/// What makes the index of rows that are there already. The server does it when it has time.
pub fn index_earlier_rows(layout: &Layout) -> String {
    signals_index(layout, "MATERIALIZE INDEX largest")
}

fn signals_index(layout: &Layout, what: &str) -> String {
    let (local, on) = (layout.local(), layout.on());
    format!("ALTER TABLE {}{local}{on} {what}", SIGNALS.name)
}

/// The statements that make this table: itself, and in a cluster what stands across its pieces.
pub fn create(table: &Table, layout: &Layout) -> Vec<String> {
    let (name, local, on) = (table.name, layout.local(), layout.on());
    let by = match table.repeated {
        Repeated::Largest(by) => Some(by),
        // The hour that more minutes are in.
        Repeated::MadeOf(_) => Some("cnt"),
        Repeated::Same => None,
    };
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|column| definition(table, column))
        .collect();
    let mut sql = format!(
        "CREATE TABLE IF NOT EXISTS {name}{local}{on} ({}) ENGINE = {}",
        columns.join(", "),
        layout.engine(name, by)
    );
    match table.partition {
        Partition::Whole => {}
        Partition::Day(column) => {
            let _ = write!(sql, " PARTITION BY toYYYYMMDD({column})");
        }
        Partition::Month(column) => {
            let _ = write!(sql, " PARTITION BY toYYYYMM({column})");
        }
    }
    let _ = write!(sql, " ORDER BY ({})", table.sort_key.join(", "));
    if let Some((moment, days)) = table.keep {
        let _ = write!(sql, " TTL {} + INTERVAL {days} DAY", time_of(table, moment));
    }
    let _ = write!(sql, " SETTINGS {}", layout.settings());
    let mut statements = vec![sql];
    if let Layout::Replicated { cluster } = layout {
        statements.push(format!(
            "CREATE TABLE IF NOT EXISTS {name}{on} AS {name}{local} \
             ENGINE = Distributed('{cluster}', currentDatabase(), '{name}{local}', {})",
            shard(table)
        ));
    }
    statements
}

/// The statements that add columns to this table which an older version made without them.
pub fn add_columns(table: &Table, missing: &[&Column], layout: &Layout) -> Vec<String> {
    let (name, local, on) = (table.name, layout.local(), layout.on());
    let mut statements = Vec::new();
    for column in missing {
        statements.push(format!(
            "ALTER TABLE {name}{local}{on} ADD COLUMN IF NOT EXISTS {}",
            definition(table, column)
        ));
        if let Layout::Replicated { .. } = layout {
            statements.push(format!(
                "ALTER TABLE {name}{on} ADD COLUMN IF NOT EXISTS `{}` {}",
                column.name,
                type_name(column.of)
            ));
        }
    }
    statements
}

/// Which hours are due, and what makes them.
fn hours(layout: &Layout) -> Vec<String> {
    let (local, on) = (layout.local(), layout.on());
    let engine = layout.engine("signals_1h_due", Some("at"));
    vec![
        format!(
            "CREATE TABLE IF NOT EXISTS signals_1h_due{local}{on} (`host_id` UInt64, `signal` LowCardinality(String), \
             `ts` DateTime('UTC'), `at` DateTime('UTC')) ENGINE = {engine} ORDER BY (signal, host_id, ts) \
             TTL at + INTERVAL 1 DAY"
        ),
        format!(
            "CREATE MATERIALIZED VIEW IF NOT EXISTS signals_1h_due_mv{on} TO signals_1h_due{local} AS \
             SELECT DISTINCT s.host_id AS host_id, s.signal AS signal, toStartOfHour(s.ts) AS ts, now() AS at \
             FROM signals{local} AS s"
        ),
        // Three times the interval: one that fails, and one that ran while rows came, are made up for.
        format!(
            "CREATE MATERIALIZED VIEW IF NOT EXISTS signals_1h_mv{on} REFRESH EVERY 1 HOUR APPEND TO signals_1h{local} AS \
             SELECT s.host_id AS host_id, s.signal AS signal, toStartOfHour(s.ts) AS ts, min(s.mn) AS mn, max(s.mx) AS mx, \
             sum(toFloat64(s.av) * s.n) AS sm, sum(toUInt64(s.n)) AS cnt FROM signals{local} AS s FINAL \
             WHERE (s.signal, s.host_id, toStartOfHour(s.ts)) IN \
             (SELECT signal, host_id, ts FROM signals_1h_due{local} WHERE at >= now() - INTERVAL 3 HOUR) \
             AND s.ts >= (SELECT min(ts) FROM signals_1h_due{local} WHERE at >= now() - INTERVAL 3 HOUR) \
             GROUP BY s.host_id, s.signal, toStartOfHour(s.ts)"
        ),
    ]
}

fn definition(table: &Table, column: &Column) -> String {
    let mut sql = format!("`{}` {}", column.name, type_name(column.of));
    let codec = match column.packing {
        Packing::Default => "",
        Packing::General => "ZSTD(1)",
        Packing::Thorough => "ZSTD(3)",
        Packing::Moments => "DoubleDelta, ZSTD(1)",
        Packing::Counts => "T64, ZSTD(1)",
    };
    if !codec.is_empty() {
        let _ = write!(sql, " CODEC({codec})");
    }
    if let Some((days, (moment, _))) = column.keep_days.zip(table.keep) {
        let _ = write!(sql, " TTL {} + INTERVAL {days} DAY", time_of(table, moment));
    }
    sql
}

/// A column as the engine's TTL takes it: in whole seconds.
fn time_of(table: &Table, moment: &str) -> String {
    match table.column(moment).map(|column| column.of) {
        Some(Type::Millis) => format!("toDateTime({moment})"),
        _ => moment.to_owned(),
    }
}

/// On which shard a row is: rows of one key on one, and all of a server together.
fn shard(table: &Table) -> String {
    match table.column("host_id") {
        Some(_) => "host_id".to_owned(),
        None => format!("cityHash64({})", table.sort_key.join(", ")),
    }
}

/// The engine's name of a type.
fn type_name(of: Type) -> String {
    match of {
        Type::U8 => "UInt8".to_owned(),
        Type::U16 => "UInt16".to_owned(),
        Type::U32 => "UInt32".to_owned(),
        Type::U64 | Type::Hash => "UInt64".to_owned(),
        Type::I8 => "Int8".to_owned(),
        Type::F32 => "Float32".to_owned(),
        Type::F64 => "Float64".to_owned(),
        Type::Text => "String".to_owned(),
        Type::Word => "LowCardinality(String)".to_owned(),
        Type::Id => "UUID".to_owned(),
        Type::Sha256 => "FixedString(64)".to_owned(),
        // With their zone: days and months of partitions are the same on every server.
        Type::Seconds => "DateTime('UTC')".to_owned(),
        Type::Millis => "DateTime64(3, 'UTC')".to_owned(),
        Type::Day => "Date".to_owned(),
        Type::Choice(words) => {
            let words: Vec<String> = words
                .iter()
                .map(|(word, code)| format!("'{word}' = {code}"))
                .collect();
            format!("Enum8({})", words.join(", "))
        }
        Type::List(of) => format!("Array({})", type_name(*of)),
        Type::Map(key, value) => format!("Map({}, {})", type_name(*key), type_name(*value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{INCIDENTS, SIGNALS, STACK_FRAMES};

    #[test]
    fn a_table_is_made_of_its_description() {
        assert_eq!(
            create(&STACK_FRAMES, &Layout::Single),
            [
                "CREATE TABLE IF NOT EXISTS stack_frames (`stack_id` UInt64, `frames` Array(UInt64) CODEC(ZSTD(3)), \
                 `seen` Date) ENGINE = ReplacingMergeTree(seen) ORDER BY (stack_id) \
                 SETTINGS non_replicated_deduplication_window = 100000"
            ]
        );
        let sql = create(&SIGNALS, &Layout::Single).join("");
        for part in [
            "`v` Array(Float64) CODEC(ZSTD(3)) TTL ts + INTERVAL 3 DAY",
            "PARTITION BY toYYYYMMDD(ts) ORDER BY (signal, host_id, ts) TTL ts + INTERVAL 30 DAY",
        ] {
            assert!(sql.contains(part), "{sql}");
        }
        let sql = create(&INCIDENTS, &Layout::Single).join("");
        assert!(
            sql.contains("TTL toDateTime(onset) + INTERVAL 400 DAY"),
            "{sql}"
        );
    }

    #[test]
    fn in_a_cluster_each_table_stands_across_its_pieces() {
        let layout = Layout::replicated("fleet").unwrap();
        let [local, across] = create(&STACK_FRAMES, &layout).try_into().unwrap();
        let engine = "ON CLUSTER 'fleet' (`stack_id` UInt64, `frames` Array(UInt64) CODEC(ZSTD(3)), `seen` Date) ENGINE = \
             ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/stack_frames', '{replica}', seen)";
        assert!(local.contains(engine), "{local}");
        assert!(
            local.contains("replicated_deduplication_window_seconds = 604800"),
            "{local}"
        );
        let distributed =
            "Distributed('fleet', currentDatabase(), 'stack_frames_local', cityHash64(stack_id))";
        assert!(across.ends_with(distributed), "{across}");
        assert!(Layout::replicated("a'b").is_err());
    }

    #[test]
    fn partitions_are_made_of_the_sort_key() {
        for table in tables() {
            if let Partition::Day(column) | Partition::Month(column) = table.partition {
                assert!(table.sort_key.contains(&column), "{}", table.name);
            }
        }
    }
}
