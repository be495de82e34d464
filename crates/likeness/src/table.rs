//! The weights, as `data/words.txt` has them.
//!
//! A line is a kind of its own or a feature, its columns apart by tabs:
//!
//! - `=causes`: the ids, in the order that numbers below mean
//! - `=bias`: what each cause has of any text, in thousandths
//! - a feature, how much it counts within a text in hundredths, and for each cause it speaks of `number:weight`, the
//!   weight in thousandths

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::{Likeness, TOLD_MAX};

/// How far apart two scores are that differ by 1, as shares: e to this power.
const SHARPNESS: f64 = 8.0;

/// `data/words.txt` as (name, packed text), embedded by `build.rs`.
const PACKED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/data.rs"));

// The text is kept as long as the program runs, like the table, whose features are parts of it.
static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let text = PACKED.first().map(|(_, packed)| embed::unpack(packed));
    text.and_then(|text| Table::read(text.leak()))
        .unwrap_or_default()
});

/// What is known of the features.
#[derive(Debug, Default)]
pub(crate) struct Table {
    causes: Vec<&'static str>,
    bias: Vec<f64>,
    features: HashMap<&'static str, Feature>,
}

#[derive(Debug)]
struct Feature {
    name: &'static str,
    /// How few texts have it.
    rarity: f64,
    /// By the number of the cause.
    weights: Vec<(usize, f64)>,
}

impl Table {
    pub(crate) fn get() -> &'static Self {
        &TABLE
    }

    /// Nothing where a line is not as it must be: a test reads it.
    fn read(text: &'static str) -> Option<Self> {
        let mut table = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut columns = line.split('\t');
            let name = columns.next()?;
            match name {
                "=causes" => table.causes = columns.collect(),
                "=bias" => table.bias = columns.map(thousandths).collect::<Option<_>>()?,
                _ => {
                    let rarity = columns.next()?.parse::<f64>().ok()? / 100.0;
                    let weights = columns.map(weight).collect::<Option<Vec<_>>>()?;
                    let is_known = |(cause, _): &(usize, f64)| *cause < table.causes.len();
                    if !weights.iter().all(is_known) {
                        return None;
                    }
                    let feature = Feature {
                        name,
                        rarity,
                        weights,
                    };
                    table.features.insert(name, feature);
                }
            }
        }
        (table.bias.len() == table.causes.len()).then_some(table)
    }

    /// As the table itself has it.
    pub(crate) fn name(&self, feature: &str) -> Option<&'static str> {
        Some(self.features.get(feature)?.name)
    }

    /// Each cause's share of a text with these features, in the order of the causes.
    pub(crate) fn scores(&self, known: &[&str]) -> Vec<Likeness> {
        let features: Vec<&Feature> = known
            .iter()
            .filter_map(|name| self.features.get(name))
            .collect();
        let squares = features.iter().map(|one| one.rarity * one.rarity);
        let length = squares.sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
        let mut scores = self.bias.clone();
        let mut said: Vec<Vec<(f64, &'static str)>> = vec![Vec::new(); scores.len()];
        for feature in features {
            for (cause, weight) in &feature.weights {
                let part = weight * feature.rarity / length;
                if let Some((score, said)) = scores.get_mut(*cause).zip(said.get_mut(*cause)) {
                    *score += part;
                    said.push((part, feature.name));
                }
            }
        }
        let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = scores
            .iter()
            .map(|score| ((score - highest) * SHARPNESS).exp())
            .collect();
        let all: f64 = powers.iter().sum();
        let causes = self.causes.iter().zip(scores).zip(powers).zip(said);
        causes
            .map(|(((cause, score), power), said)| Likeness {
                cause,
                // Fitted to -1 for texts of others and 1 for its own.
                score: f64::midpoint(score, 1.0),
                share: power / all,
                words: strongest(said),
            })
            .collect()
    }
}

/// The words that speak most for a cause. Of one that is a part of another only the first is told.
fn strongest(mut said: Vec<(f64, &'static str)>) -> Vec<&'static str> {
    said.sort_by(|left, right| right.0.total_cmp(&left.0));
    let mut told: Vec<&'static str> = Vec::new();
    for (_, word) in said.into_iter().filter(|(part, _)| *part > 0.0) {
        let is_part = |one: &&str| one.contains(word) || word.contains(*one);
        if told.len() < TOLD_MAX && !told.iter().any(is_part) {
            told.push(word);
        }
    }
    told
}

fn thousandths(text: &str) -> Option<f64> {
    Some(text.parse::<f64>().ok()? / 1000.0)
}

fn weight(text: &str) -> Option<(usize, f64)> {
    let (cause, weight) = text.split_once(':')?;
    Some((cause.parse().ok()?, thousandths(weight)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing step fails the test")]
mod tests {
    use super::Table;

    const SMALL: &str = "# a comment\n=causes\tdisk\trow\n=bias\t-10\t-10\nfsync\t100\t0:900\t1:-200\nlock\t100\t1:800\n\
        lock wait\t200\t1:700\n";

    #[test]
    fn what_speaks_for_a_cause_makes_a_text_like_it() {
        let table = Table::read(SMALL).unwrap();
        let scores = table.scores(&["lock", "lock wait"]);
        assert!(scores[1].share > 0.9, "{scores:?}");
        assert_eq!(scores[1].words, ["lock wait"]);
        assert!(scores[0].words.is_empty());
        let all: f64 = scores.iter().map(|one| one.share).sum();
        assert!((all - 1.0).abs() < 1e-9);
        let scores = table.scores(&["fsync"]);
        assert!(scores[0].share > scores[1].share);
        assert_eq!(table.name("fsync"), Some("fsync"));
        assert_eq!(table.name("geheim"), None);
    }

    #[test]
    fn a_table_that_is_none_is_refused() {
        for wrong in [
            "=causes\ta\n=bias\t0\nx\t1\t1:5\n",
            "=causes\ta\n=bias\tx\n",
            "=causes\ta\n",
            "=causes\ta\n=bias\t0\nx\t1\t0\n",
        ] {
            assert!(Table::read(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn the_one_that_comes_with_the_program_is_one() {
        assert!(Table::get().causes.len() > 80);
        assert!(Table::get().features.len() > 1_000);
    }
}
