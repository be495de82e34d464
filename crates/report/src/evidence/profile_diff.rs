//! Two profiles compared, function by function.

use std::collections::BTreeMap;

use model::{OrderBy, Profile, StackTable, UnnamedReason};
use serde::Serialize;

use super::profile_table::{Images, ProfileTable, Symbol, SymbolRow, table};

/// One of the two sides of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct DiffShare {
    /// Samples in the function itself.
    pub self_samples: u64,
    /// Samples in it and in what it called.
    pub total_samples: u64,
    /// `self_samples` as a share of all samples of this profile, 0 to 1.
    pub self_share: f64,
    /// `total_samples` as a share of all samples of this profile, 0 to 1.
    pub total_share: f64,
    /// Processor time in the function itself, seconds within each second; absent when the rate of
    /// sampling or the time is not known.
    pub self_cores: Option<f64>,
    /// The same for it and what it called.
    pub total_cores: Option<f64>,
    /// `self_cores` as a share of the processors' time, idle included, 0 to 1. Where the number of
    /// processors does not apply (only one program was sampled), of one processor, and may be
    /// more than 1.
    pub self_time: Option<f64>,
    /// The same for it and what it called.
    pub total_time: Option<f64>,
}

impl DiffShare {
    fn of(row: Option<&SymbolRow>, table: &ProfileTable) -> Self {
        let (own, total) = row.map_or((0, 0), |row| (row.self_samples, row.total_samples));
        let cores = |part| table.cores.map(|cores| cores * table.share(part));
        let processors = f64::from(table.processors.unwrap_or(1));
        let time = |part| cores(part).map(|cores| cores / processors);
        Self {
            self_samples: own,
            total_samples: total,
            self_share: table.share(own),
            total_share: table.share(total),
            self_cores: cores(own),
            total_cores: cores(total),
            self_time: time(own),
            total_time: time(total),
        }
    }

    /// The share that a comparison ranked so looks at; 0 where it is not known.
    pub fn ranked(&self, rank_by: RankBy) -> f64 {
        match rank_by {
            RankBy::Own => self.self_share,
            RankBy::Total => self.total_share,
            RankBy::OwnTime => self.self_time.unwrap_or(0.0),
            RankBy::TotalTime => self.total_time.unwrap_or(0.0),
        }
    }
}

/// A function in two profiles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiffRow {
    /// The function.
    #[serde(flatten)]
    pub symbol: Symbol,
    /// Why it has no name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nameless: Option<UnnamedReason>,
    /// In the first profile, the baseline.
    pub a: DiffShare,
    /// In the second.
    pub b: DiffShare,
}

impl DiffRow {
    /// Change of the own share from the first to the second: 0.17 is 17 percentage points.
    pub fn self_change(&self) -> f64 {
        self.b.self_share - self.a.self_share
    }

    /// Change of the total share from the first to the second.
    pub fn total_change(&self) -> f64 {
        self.b.total_share - self.a.total_share
    }

    /// Change of the share that a comparison ranked so looks at.
    pub fn change(&self, rank_by: RankBy) -> f64 {
        self.b.ranked(rank_by) - self.a.ranked(rank_by)
    }
}

/// One profile with this many times the processor time of the other: shares of samples mislead.
pub const BUSY_APART: f64 = 4.0;

/// Which share a comparison ranks by the change of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RankBy {
    /// Of all samples, the function itself.
    #[default]
    Own,
    /// Of all samples, the function and what it called.
    Total,
    /// Of the processors' time, idle included, the function itself: as profilers show it that
    /// sample the idle loop too.
    OwnTime,
    /// Of the processors' time, idle included, the function and what it called.
    TotalTime,
}

impl RankBy {
    /// [`RankBy::Own`], but [`RankBy::OwnTime`] where one profile is [`BUSY_APART`] times as busy
    /// as the other: beside an idle machine, what still runs there has a great share of nearly
    /// nothing, and its fall would be the largest change.
    pub fn usual(a: &Profile, b: &Profile) -> Self {
        let cores = |profile: &Profile| {
            let samples = profile
                .counts
                .iter()
                .fold(0, |sum: u64, row| sum.saturating_add(row.count));
            let processors = profile.to.saturating_sub(profile.from) as f64 * f64::from(profile.hz);
            Some(samples as f64 / processors).filter(|_| processors > 0.0)
        };
        match (cores(a), cores(b)) {
            (Some(a), Some(b)) if a.max(b) >= BUSY_APART * a.min(b) && a.max(b) > 0.0 => {
                Self::OwnTime
            }
            _ => Self::Own,
        }
    }

    /// It looks at shares of the processors' time.
    pub fn is_time(self) -> bool {
        matches!(self, Self::OwnTime | Self::TotalTime)
    }

    /// It counts what a function called.
    pub fn is_total(self) -> bool {
        matches!(self, Self::Total | Self::TotalTime)
    }

    /// The same with or without what a function called.
    fn other(self) -> Self {
        match self {
            Self::Own => Self::Total,
            Self::Total => Self::Own,
            Self::OwnTime => Self::TotalTime,
            Self::TotalTime => Self::OwnTime,
        }
    }
}

/// Two profiles compared: shares of all samples, so that a longer one does not count more.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProfileDiff {
    /// The first, the baseline.
    pub a: ProfileTable,
    /// The second.
    pub b: ProfileTable,
    /// What the rows are ranked by.
    pub rank_by: RankBy,
    /// The functions of both, the largest change first.
    pub rows: Vec<DiffRow>,
}

/// Compares two profiles, each with its own stacks.
///
/// Where one of them does not tell the images of functions (a folded file), both are compared by
/// name alone, and the rows have no image.
pub fn profile_diff(
    (a, a_book): (&Profile, &StackTable),
    (b, b_book): (&Profile, &StackTable),
    server_only: bool,
    rank_by: RankBy,
) -> ProfileDiff {
    let images = Images::in_both(a_book, b_book);
    let a = table(a, a_book, server_only, images);
    let b = table(b, b_book, server_only, images);
    let mut pairs: BTreeMap<&Symbol, (Option<&SymbolRow>, Option<&SymbolRow>)> = BTreeMap::new();
    for row in &a.symbols {
        pairs.entry(&row.symbol).or_default().0 = Some(row);
    }
    for row in &b.symbols {
        pairs.entry(&row.symbol).or_default().1 = Some(row);
    }
    let mut rows: Vec<DiffRow> = pairs
        .into_iter()
        .map(|(symbol, (in_a, in_b))| DiffRow {
            symbol: symbol.clone(),
            nameless: in_b.or(in_a).and_then(|row| row.nameless),
            a: DiffShare::of(in_a, &a),
            b: DiffShare::of(in_b, &b),
        })
        .collect();
    let key = |row: &DiffRow| {
        let (first, second) = (row.change(rank_by), row.change(rank_by.other()));
        (first.abs(), second.abs())
    };
    // The sort is stable: equal changes stay in the order of their names.
    rows.order_by(|x, y| {
        let (x, y) = (key(x), key(y));
        y.0.total_cmp(&x.0).then(y.1.total_cmp(&x.1))
    });
    ProfileDiff {
        a,
        b,
        rank_by,
        rows,
    }
}

#[cfg(test)]
mod tests {
    use model::{ProfileCount, StackEnd, StackId};

    use super::*;
    use crate::evidence::testing::{kernel, user};

    fn count(stack: StackId, thread: &str, server: bool, count: u64) -> ProfileCount {
        ProfileCount {
            stack,
            thread: thread.to_owned(),
            server,
            count,
        }
    }

    fn profile(seconds: u64, counts: Vec<ProfileCount>) -> Profile {
        Profile {
            from: 1000,
            to: 1000 + seconds * 1000,
            hz: 100,
            processors: 2,
            counts,
            lost: 0,
        }
    }

    #[test]
    fn a_longer_window_does_not_count_more() {
        let mut book = StackTable::default();
        let good = book.intern([user("good")], StackEnd::Complete);
        let bad = book.intern([kernel("bad")], StackEnd::Complete);
        let mut other = StackTable::default();
        let bad_there = other.intern([kernel("bad")], StackEnd::Complete);
        let good_there = other.intern([user("good")], StackEnd::Complete);
        let a = profile(
            100,
            vec![count(good, "t", true, 9000), count(bad, "t", true, 1000)],
        );
        let b = profile(
            10,
            vec![
                count(bad_there, "t", true, 300),
                count(good_there, "t", true, 700),
            ],
        );
        let diff = profile_diff((&a, &book), (&b, &other), false, RankBy::Own);
        assert_eq!(diff.rows.len(), 2);
        for row in &diff.rows {
            let expected = if row.symbol.name == "bad" { 0.2 } else { -0.2 };
            assert!((row.self_change() - expected).abs() < 1e-9, "{row:?}");
        }
        let bad = diff
            .rows
            .iter()
            .find(|row| row.symbol.name == "bad")
            .unwrap();
        assert!((bad.a.self_cores.unwrap() - 0.1).abs() < 1e-9);
        assert!((bad.b.self_cores.unwrap() - 0.3).abs() < 1e-9);
        let same = profile_diff((&a, &book), (&a, &book), false, RankBy::Own);
        assert!(
            same.rows
                .iter()
                .all(|row| row.self_change() == 0.0 && row.total_change() == 0.0)
        );
    }

    #[test]
    fn ranked_by_the_function_or_by_what_it_called() {
        let mut book = StackTable::default();
        let left = book.intern([user("x"), user("left"), user("main")], StackEnd::Complete);
        let right = book.intern([user("y"), user("right"), user("main")], StackEnd::Complete);
        let wide = book.intern([user("z"), user("right"), user("main")], StackEnd::Complete);
        let a = profile(1, vec![count(left, "t", true, 100)]);
        let b = profile(
            1,
            vec![
                count(left, "t", true, 20),
                count(right, "t", true, 40),
                count(wide, "t", true, 40),
            ],
        );
        let first = |rank_by| {
            let diff = profile_diff((&a, &book), (&b, &book), false, rank_by);
            diff.rows
                .iter()
                .map(|row| row.symbol.name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(first(RankBy::Own)[0], "x");
        assert_eq!(first(RankBy::Total)[..2], ["x", "left"]);
        assert_eq!(first(RankBy::Total)[2], "right");
    }

    #[test]
    fn an_idle_machine_beside_a_busy_one() {
        let mut book = StackTable::default();
        let poll = book.intern([user("poll")], StackEnd::Complete);
        let bad = book.intern([kernel("bad")], StackEnd::Complete);
        let idle = profile(100, vec![count(poll, "t", true, 20)]);
        let busy = profile(
            10,
            vec![count(poll, "t", true, 10), count(bad, "t", true, 1490)],
        );
        assert_eq!(RankBy::usual(&idle, &busy), RankBy::OwnTime);
        assert_eq!(RankBy::usual(&busy, &idle), RankBy::OwnTime);
        assert_eq!(RankBy::usual(&busy, &busy), RankBy::Own);
        let by_time = profile_diff((&idle, &book), (&busy, &book), false, RankBy::OwnTime);
        let poll = by_time
            .rows
            .iter()
            .find(|row| row.symbol.name == "poll")
            .unwrap();
        assert!(poll.self_change() < -0.9, "a great share of nearly nothing");
        assert!((poll.change(RankBy::OwnTime) - 0.004).abs() < 1e-9);
        assert_eq!(by_time.rows[0].symbol.name, "bad");
        assert!((by_time.rows[0].change(RankBy::OwnTime) - 0.745).abs() < 1e-9);
        let folded = Profile {
            hz: 0,
            to: 0,
            from: 0,
            ..busy.clone()
        };
        assert_eq!(RankBy::usual(&idle, &folded), RankBy::Own);
    }

    #[test]
    fn a_folded_file_compares_with_a_profile_by_name() {
        let mut book = StackTable::default();
        let stack = book.intern([kernel("copy"), user("eval")], StackEnd::Complete);
        let with_images = profile(1, vec![count(stack, "t", true, 10)]);
        let (folded_book, counts) =
            crate::evidence::folded::parse_folded("t;eval;copy_[k] 10").unwrap();
        let folded = profile(1, counts);
        let diff = profile_diff(
            (&with_images, &book),
            (&folded, &folded_book),
            false,
            RankBy::Own,
        );
        assert_eq!(diff.rows.len(), 2);
        assert!(diff.rows.iter().all(|row| row.total_change() == 0.0));
        let same = profile_diff(
            (&with_images, &book),
            (&with_images, &book),
            false,
            RankBy::Own,
        );
        assert!(same.rows.iter().any(|row| row.symbol.image == "mysqld"));
    }
}
