//! The weights, as `data/words.txt` has them; the program has them as `src/columns.rs` says.
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

/// The columns of `data/words.txt`, packed by `build.rs`.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/words.packed"));

static TABLE: LazyLock<Table> =
    LazyLock::new(|| Table::read(&embed::unpack_bytes(PACKED)).unwrap_or_default());

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

    /// Nothing where the columns are not as they must be: a test reads them. Names are kept as long as the program runs.
    fn read(columns: &[u8]) -> Option<Self> {
        let [
            heads,
            names,
            lows,
            highs,
            counts,
            causes,
            weight_lows,
            weight_highs,
        ] = split(columns)?;
        let mut table = Self::default();
        let heads: &'static str = String::from_utf8(heads.to_vec()).ok()?.leak();
        for line in heads.lines() {
            let mut fields = line.split('\t');
            match fields.next()? {
                "=causes" => table.causes = fields.collect(),
                "=bias" => table.bias = fields.map(thousandths).collect::<Option<_>>()?,
                _ => return None,
            }
        }
        let names: &'static str = whole_names(names)?.leak();
        let rarities = lows.iter().zip(highs);
        let mut weights = causes.iter().zip(weight_lows.iter().zip(weight_highs));
        for ((name, rarity), count) in names.lines().zip(rarities).zip(counts) {
            let mut cause = 0;
            let own = weights.by_ref().take(usize::from(*count));
            let own = own.map(|(step, (low, high))| {
                cause += usize::from(*step);
                let weight = i16::from_le_bytes([*low, *high]);
                (cause < table.causes.len()).then_some((cause, f64::from(weight) / 1000.0))
            });
            let feature = Feature {
                name,
                rarity: f64::from(u16::from_le_bytes([*rarity.0, *rarity.1])) / 100.0,
                weights: own.collect::<Option<Vec<_>>>()?,
            };
            table.features.insert(name, feature);
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

/// Each column by itself.
fn split<const COUNT: usize>(mut columns: &[u8]) -> Option<[&[u8]; COUNT]> {
    let mut all = [[].as_slice(); COUNT];
    for column in &mut all {
        let (bytes, rest) = columns.split_first_chunk()?;
        (*column, columns) = rest.split_at_checked(u32::from_le_bytes(*bytes) as usize)?;
    }
    Some(all)
}

/// The names, a line each, of those without what they have in common with the one before.
fn whole_names(mut column: &[u8]) -> Option<String> {
    let mut names: Vec<u8> = Vec::new();
    let mut before = 0;
    while let Some((common, rest)) = column.split_first() {
        let end = rest.iter().position(|byte| *byte == b'\n')? + 1;
        let (own, after) = rest.split_at_checked(end)?;
        let begin = names.len();
        let common = names.get(before..before + usize::from(*common))?.to_vec();
        names.extend(common.iter().chain(own));
        (before, column) = (begin, after);
    }
    String::from_utf8(names).ok()
}

fn thousandths(text: &str) -> Option<f64> {
    Some(text.parse::<f64>().ok()? / 1000.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing step fails the test")]
mod tests {
    use super::Table;
    use crate::columns::columns;

    const SMALL: &str = "# a comment\n=causes\tdisk\trow\n=bias\t-10\t-10\nfsync\t100\t0:900\t1:-200\nlock\t100\t1:800\n\
        lock wait\t200\t1:700\n";

    #[test]
    fn what_speaks_for_a_cause_makes_a_text_like_it() {
        let table = Table::read(&columns(SMALL).unwrap()).unwrap();
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
            "=other\ta\n",
        ] {
            let columns = columns(wrong).unwrap();
            assert!(Table::read(&columns).is_none(), "{wrong}");
        }
        assert!(Table::read(b"\x09\0\0\0").is_none());
        for wrong in ["x\t1\t0", "x\t1\t2:1\t1:1", "x\t-1", "x\t1\t0:40000", "x"] {
            assert_eq!(columns(wrong), Err(wrong));
        }
    }

    #[test]
    fn the_one_that_comes_with_the_program_is_one() {
        assert!(Table::get().causes.len() > 80);
        assert!(Table::get().features.len() > 1_000);
    }
}
