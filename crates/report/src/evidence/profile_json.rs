//! Profiles and comparisons as JSON. Fields are added over time; none is renamed, removed or given
//! another meaning. What is not known is `null`.

use model::{Profile, StackTable};
use serde::Serialize;

use super::{
    profile_diff::{DiffRow, ProfileDiff, RankBy},
    profile_table::{ProfileTable, ProfileThread, SymbolRow, profile_table},
    stacks_json::to_text,
};

/// What a profile is, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProfileHead {
    /// Samples.
    pub samples: u64,
    /// Samples in the kernel, out of `samples`.
    pub kernel: u64,
    /// Samples in programs, out of `samples`.
    pub user: u64,
    /// Samples of the server, out of `samples`.
    pub server: u64,
    /// Samples whose stack is not complete, out of `samples`.
    pub cut: u64,
    /// Samples the kernel could not hand over.
    pub lost: u64,
    /// How long it took.
    pub seconds: Option<f64>,
    /// Samples a second.
    pub samples_per_second: Option<f64>,
    /// Processors' time that the samples stand for, seconds within each second.
    pub cores: Option<f64>,
    /// Processors that were sampled; `null` also when only one program was.
    pub processors: Option<u32>,
    /// Share of the processors' time that gave no sample, 0 to 1.
    pub idle: Option<f64>,
}

impl ProfileHead {
    /// The head of a table.
    pub fn from_table(table: &ProfileTable) -> Self {
        Self {
            samples: table.samples,
            kernel: table.kernel,
            user: table.user,
            server: table.server,
            cut: table.cut,
            lost: table.lost,
            seconds: table.seconds,
            samples_per_second: table.rate(),
            cores: table.cores,
            processors: table.processors,
            idle: table.idle(),
        }
    }
}

#[derive(Serialize)]
struct TableDocument<'a> {
    #[serde(flatten)]
    head: ProfileHead,
    hz: u32,
    symbols: Vec<SymbolOut<'a>>,
    threads: &'a [ProfileThread],
}

#[derive(Serialize)]
struct SymbolOut<'a> {
    #[serde(flatten)]
    row: &'a SymbolRow,
    self_share: f64,
    total_share: f64,
}

/// The profile as a table of functions and of threads: `freezeframe profile --json`. `limit` cuts
/// both; 0 for all.
pub fn profile_json(
    profile: &Profile,
    book: &StackTable,
    server_only: bool,
    limit: usize,
) -> String {
    let table = profile_table(profile, book, server_only);
    to_text(&TableDocument {
        head: ProfileHead::from_table(&table),
        hz: profile.hz,
        symbols: first(&table.symbols, limit)
            .iter()
            .map(|row| SymbolOut {
                row,
                self_share: table.share(row.self_samples),
                total_share: table.share(row.total_samples),
            })
            .collect(),
        threads: first(&table.threads, limit),
    })
}

#[derive(Serialize)]
struct DiffDocument<'a> {
    ranked_by: RankBy,
    a: ProfileHead,
    b: ProfileHead,
    idle_change: Option<f64>,
    rows: Vec<DiffOut<'a>>,
}

#[derive(Serialize)]
struct DiffOut<'a> {
    #[serde(flatten)]
    row: &'a DiffRow,
    self_change: f64,
    total_change: f64,
    self_time_change: Option<f64>,
    total_time_change: Option<f64>,
}

/// The comparison: `freezeframe profile --diff A B --json`. `limit` cuts the rows; 0 for all.
pub fn diff_json(diff: &ProfileDiff, limit: usize) -> String {
    let (a, b) = (
        ProfileHead::from_table(&diff.a),
        ProfileHead::from_table(&diff.b),
    );
    to_text(&DiffDocument {
        ranked_by: diff.rank_by,
        a,
        b,
        idle_change: change(a.idle, b.idle),
        rows: first(&diff.rows, limit)
            .iter()
            .map(|row| DiffOut {
                row,
                self_change: row.self_change(),
                total_change: row.total_change(),
                self_time_change: change(row.a.self_time, row.b.self_time),
                total_time_change: change(row.a.total_time, row.b.total_time),
            })
            .collect(),
    })
}

fn change(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.zip(b).map(|(a, b)| b - a)
}

fn first<T>(rows: &[T], limit: usize) -> &[T] {
    match limit {
        0 => rows,
        limit => rows.get(..limit).unwrap_or(rows),
    }
}
