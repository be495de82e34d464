//! The layout of signals, a row per signal and minute, against the narrow one, a row per second, in ClickHouse: the same
//! points copied into a table of each, by the engine itself, merged, and measured.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fleet::any_store::AnyStore;
use fleet::clickhouse::{Store, ddl};
use fleet::tables::SIGNALS;
use serde_json::{Value, json};

/// How long a copy or a merge may take.
const DEADLINE: Duration = Duration::from_secs(1800);

/// Both layouts.
const WIDE: &str = "measured_wide";
const NARROW: &str = "measured_narrow";

/// What is copied: minutes whose seconds are all known.
const KNOWN: &str = "n = 60 AND (notEmpty(v) OR mn = mx)";

/// Points that are copied at most.
const ROWS_MAX: u64 = 4_000_000;

/// How many insert at once, as two gateways do: one alone packs on one processor.
const THREADS: u32 = 2;

/// Rows of a block of what is copied: with one block one thread would have all of it.
const BLOCK_ROWS: u32 = 32_768;

/// What one layout takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    pub(crate) took: Duration,
}

/// What both take of the same points.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layouts {
    pub(crate) points: u64,
    pub(crate) wide: Layout,
    pub(crate) narrow: Layout,
}

impl Layouts {
    pub(crate) fn points_per_second(&self, of: &Layout) -> f64 {
        self.points as f64 / of.took.as_secs_f64().max(1e-9)
    }

    pub(crate) fn bytes_per_point(&self, of: &Layout) -> f64 {
        of.bytes as f64 / self.points.max(1) as f64
    }

    pub(super) fn as_json(&self) -> Value {
        let layout = |of: &Layout| {
            json!({
                "rows": of.rows, "bytes": of.bytes, "seconds": of.took.as_secs_f64(),
                "points_per_second": self.points_per_second(of), "bytes_per_point": self.bytes_per_point(of),
            })
        };
        json!({"points": self.points, "minutes": layout(&self.wide), "narrow": layout(&self.narrow)})
    }
}

/// Measures both, of the signals in this store; none where it is no ClickHouse, or has no seconds.
pub(super) fn measured(store: &AnyStore) -> Result<Option<Layouts>> {
    let AnyStore::ClickHouse(store) = store else {
        return Ok(None);
    };
    for table in [WIDE, NARROW] {
        run(store, &format!("DROP TABLE IF EXISTS {table} SYNC"))?;
    }
    let wide = ddl::create(&SIGNALS, &ddl::Layout::Single);
    let wide = wide.first().context("signals have no statement")?;
    run(store, &wide.replacen("signals", WIDE, 1))?;
    run(
        store,
        &format!(
            "CREATE TABLE {NARROW} (host_id UInt64 CODEC(ZSTD(1)), signal LowCardinality(String) CODEC(ZSTD(1)), \
             ts DateTime('UTC') CODEC(DoubleDelta, ZSTD(1)), v Float64 CODEC(ZSTD(3))) ENGINE = MergeTree \
             PARTITION BY toYYYYMMDD(ts) ORDER BY (signal, host_id, ts)"
        ),
    )?;
    // In memory for both, so that neither waits for the disk.
    let from = format!("SELECT * FROM signals WHERE {KNOWN} LIMIT {ROWS_MAX}");
    run(store, "DROP TABLE IF EXISTS measured_from SYNC")?;
    run(
        store,
        &format!(
            "CREATE TABLE measured_from ENGINE = Memory AS {from} \
             SETTINGS min_insert_block_size_rows = {BLOCK_ROWS}, max_block_size = {BLOCK_ROWS}"
        ),
    )?;
    let points = number(store, "SELECT sum(n) FROM measured_from")?;
    let outcome = match points {
        0 => None,
        _ => Some(Layouts {
            points,
            wide: filled(store, WIDE, "SELECT * FROM measured_from")?,
            narrow: filled(
                store,
                NARROW,
                "SELECT host_id, signal, ts + toUInt32(second - 1) AS ts, value FROM measured_from \
                 ARRAY JOIN if(empty(v), arrayWithConstant(60, toFloat64(av)), v) AS value, range(1, 61) AS second",
            )?,
        }),
    };
    for table in [WIDE, NARROW, "measured_from"] {
        run(store, &format!("DROP TABLE IF EXISTS {table} SYNC"))?;
    }
    Ok(outcome)
}

fn filled(store: &Store, table: &str, select: &str) -> Result<Layout> {
    let begin = Instant::now();
    run(
        store,
        &format!("INSERT INTO {table} {select} SETTINGS max_insert_threads = {THREADS}"),
    )?;
    let took = begin.elapsed();
    run(store, &format!("OPTIMIZE TABLE {table} FINAL"))?;
    let parts = format!(
        "FROM system.parts WHERE database = currentDatabase() AND table = '{table}' AND active"
    );
    Ok(Layout {
        rows: number(store, &format!("SELECT sum(rows) {parts}"))?,
        bytes: number(store, &format!("SELECT sum(bytes_on_disk) {parts}"))?,
        took,
    })
}

fn run(store: &Store, statement: &str) -> Result<String> {
    Ok(store.answer(statement, DEADLINE)?)
}

fn number(store: &Store, statement: &str) -> Result<u64> {
    let answer = run(store, statement)?;
    answer.parse().with_context(|| answer)
}
