//! What two digests differ in: what a server was asked before, and what it is to be explained by.

use std::collections::HashMap;

use model::{OrderBy, QueryClass, QueryDigest};
use serde::Serialize;

use super::queries_format::{counted, range, rate, seconds};
use super::stacks_json::to_text;
use crate::TextOptions;
use crate::units::{Quantity, digits};

/// One side of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct QueriesSide {
    /// Statements.
    pub count: u64,
    /// Seconds that it is of; `None` when nothing tells.
    pub seconds: Option<f64>,
    /// Time of all statements, seconds, where it is known.
    pub time: Option<f64>,
    /// First moment, microseconds since 1970 UTC.
    pub from_us: Option<i64>,
    /// Last moment.
    pub to_us: Option<i64>,
    /// Statements of classes that were not told apart.
    pub folded: u64,
}

/// Two digests compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueriesDiff {
    /// The first one.
    pub before: QueriesSide,
    /// The second one.
    pub during: QueriesSide,
    /// They were seen in ways whose classes cannot be compared: kinds of statements are.
    pub by_kind: bool,
    /// What changed, most first.
    pub changes: Vec<QueryChange>,
}

/// What changed with one class.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct QueryChange {
    /// The statement without literals; empty when kinds are compared.
    pub fingerprint: String,
    /// Its identity; empty when kinds are compared.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// On both sides, or on one alone.
    pub before: QueryShare,
    /// The second side.
    pub during: QueryShare,
    /// How much this is of everything that changed, 0 to 1: the larger of its shares of the change of rates and of
    /// the change of time.
    pub weight: f64,
}

/// A class on one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct QueryShare {
    /// Statements.
    pub count: u64,
    /// Statements a second; where the length of either side is not known, the share of all statements.
    pub rate: f64,
    /// Seconds of time a second, or a statement of the side where its length is not known; `None` where no times are
    /// known.
    pub load: Option<f64>,
    /// Mean time of one, seconds.
    pub mean: Option<f64>,
}

/// Compares two digests. Ranked by how much of the change each class is: of the statements a second, or of the time,
/// whichever is more. Pure.
pub fn queries_diff(before: &QueryDigest, during: &QueryDigest) -> QueriesDiff {
    let by_kind = before.method != during.method;
    let sides = [side(before), side(during)];
    // Rates, where both have a length; else each class's share of its own side.
    let lengths = match (sides[0].seconds, sides[1].seconds) {
        (Some(first), Some(second)) => [first, second],
        _ => [before.count.max(1) as f64, during.count.max(1) as f64],
    };
    let mut found: HashMap<String, QueryChange> = HashMap::new();
    for (is_second, (digest, length)) in [before, during].into_iter().zip(lengths).enumerate() {
        for class in &digest.classes {
            let key = match by_kind {
                true => class.kind.to_ascii_uppercase(),
                false => class.id.clone(),
            };
            let change = found.entry(key).or_insert_with(|| named(class, by_kind));
            let share = match is_second {
                0 => &mut change.before,
                _ => &mut change.during,
            };
            share.add(class, length);
        }
    }
    let mut changes: Vec<QueryChange> = found.into_values().collect();
    weigh(&mut changes);
    changes.order_by(|a, b| {
        let by_weight = b.weight.total_cmp(&a.weight);
        by_weight
            .then(b.during.count.cmp(&a.during.count))
            .then_with(|| (&a.fingerprint, &a.kind).cmp(&(&b.fingerprint, &b.kind)))
    });
    QueriesDiff {
        before: sides[0],
        during: sides[1],
        by_kind,
        changes,
    }
}

fn side(digest: &QueryDigest) -> QueriesSide {
    QueriesSide {
        count: digest.count,
        seconds: seconds(digest),
        time: time_of(digest),
        from_us: digest.from_us,
        to_us: digest.to_us,
        folded: digest.folded.map_or(0, |folded| folded.count),
    }
}

fn named(class: &QueryClass, by_kind: bool) -> QueryChange {
    QueryChange {
        fingerprint: if by_kind {
            String::new()
        } else {
            class.fingerprint.clone()
        },
        id: if by_kind {
            String::new()
        } else {
            class.id.clone()
        },
        kind: class.kind.to_ascii_uppercase(),
        ..QueryChange::default()
    }
}

impl QueryShare {
    fn add(&mut self, class: &QueryClass, length: f64) {
        self.count += class.count;
        self.rate = self.count as f64 / length;
        if let Some(time) = class.sum("Query_time") {
            let load = self.load.unwrap_or_default() + time / length;
            self.load = Some(load);
            self.mean = Some(load * length / self.count.max(1) as f64);
        }
    }
}

fn weigh(changes: &mut [QueryChange]) {
    let rate = |change: &QueryChange| (change.during.rate - change.before.rate).abs();
    let load = |change: &QueryChange| {
        let of = |share: &QueryShare| share.load.unwrap_or_default();
        // A side that knows no times tells nothing of a change.
        match (change.before.count, change.during.count) {
            (1.., _) if change.before.load.is_none() => 0.0,
            (_, 1..) if change.during.load.is_none() => 0.0,
            _ => (of(&change.during) - of(&change.before)).abs(),
        }
    };
    let rates: f64 = changes.iter().map(rate).sum();
    let loads: f64 = changes.iter().map(load).sum();
    let part = |of: f64, whole: f64| if whole > 0.0 { of / whole } else { 0.0 };
    for change in changes {
        change.weight = part(rate(change), rates).max(part(load(change), loads));
    }
}

/// How a comparison is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueriesDiffOptions<'a> {
    /// Width and colours.
    pub text: TextOptions,
    /// Changes that are shown.
    pub limit: usize,
    /// What the two sides are called.
    pub names: (&'a str, &'a str),
}

/// The comparison as JSON, so many changes of it.
pub fn diff_json(diff: &QueriesDiff, limit: usize) -> String {
    let mut shown = diff.clone();
    shown.changes.truncate(limit);
    to_text(&shown)
}

/// What rates are, where a side has no length.
pub(crate) fn rate_title(diff: &QueriesDiff) -> &'static str {
    match has_lengths(diff) {
        true => "Rate",
        false => "Share",
    }
}

fn has_lengths(diff: &QueriesDiff) -> bool {
    diff.before.seconds.is_some() && diff.during.seconds.is_some()
}

/// The time of all statements, seconds, where it is known.
pub(crate) fn time_of(digest: &QueryDigest) -> Option<f64> {
    let times: Vec<f64> = digest
        .classes
        .iter()
        .filter_map(|class| class.sum("Query_time"))
        .chain(digest.folded.and_then(|folded| folded.seconds))
        .collect();
    (!times.is_empty()).then(|| times.iter().sum())
}

/// A change in words.
pub(crate) struct ChangeText {
    /// `0/s → 76,000/s`.
    pub(crate) rates: String,
    /// Time a second: `0.1 → 12`.
    pub(crate) loads: String,
    /// Mean time: `1 ms → 300 ms`.
    pub(crate) means: String,
}

pub(crate) fn change_text(diff: &QueriesDiff, change: &QueryChange) -> ChangeText {
    let one_rate = |share: &QueryShare| match has_lengths(diff) {
        true => rate(share.rate),
        false => format!("{:.1}%", 100.0 * share.rate),
    };
    let (before, during) = (&change.before, &change.during);
    let known = |number: Option<f64>, share: &QueryShare, say: &dyn Fn(f64) -> String| match number
    {
        Some(number) => say(number),
        None if share.count == 0 => "–".to_owned(),
        None => "?".to_owned(),
    };
    let load = |share: &QueryShare| match share.count {
        0 => "0".to_owned(),
        _ => known(share.load, share, &digits),
    };
    let mean = |share: &QueryShare| {
        known(share.mean, share, &|number| {
            Quantity::Seconds.to_text(number)
        })
    };
    ChangeText {
        rates: format!("{} → {}", one_rate(before), one_rate(during)),
        loads: format!("{} → {}", load(before), load(during)),
        means: format!("{} → {}", mean(before), mean(during)),
    }
}

/// A side in words.
pub(crate) fn side_words(side: &QueriesSide) -> String {
    let mut words = vec![counted(side.count, "statement", "statements")];
    if let Some(seconds) = side.seconds.filter(|_| side.count > 0) {
        words.push(format!(
            "{} ({})",
            Quantity::Seconds.to_text(seconds),
            rate(side.count as f64 / seconds)
        ));
    }
    if let Some(time) = side.time {
        words.push(format!("{} of time", Quantity::Seconds.to_text(time)));
    }
    words.extend(range(side.from_us, side.to_us));
    words.join(", ")
}
