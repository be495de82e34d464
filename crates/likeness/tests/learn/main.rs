//! What `data/words.txt` is made of, and that it is what the catalogue and the texts of today give.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failing step fails the test"
)]

mod ridge;
mod texts;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use texts::Learnt;

/// With this variable the file is written instead of compared.
const WRITE: &str = "FREEZEFRAME_DOCUMENTS";

/// Texts that a feature stands in, at the least: what one text alone has is its own.
const TEXTS_MIN: usize = 2;

/// Features that are kept for a cause, at the most, those that weigh most.
const KEPT_MAX: usize = 800;

/// How much large weights are held back (scikit-learn's default for the same).
const RIDGE: f64 = 1.0;

const HEAD: &str = "\
# Which features of a text speak for which cause. Made by `make documents` from crates/diagnosis/causes and
# crates/likeness/texts: change those, not this file. Columns: src/table.rs.
";

#[test]
fn the_weights_are_those_of_the_texts() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/words.txt");
    let made = table(&texts::all());
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(
        kept == made,
        "data/words.txt is stale: run `make documents` and look at the difference"
    );
}

#[test]
fn the_same_texts_give_the_same_weights_in_any_order() {
    let mut some: Vec<Learnt> = texts::all().into_iter().step_by(9).collect();
    let made = table(&some);
    some.reverse();
    assert_eq!(made, table(&some));
}

/// The file that belongs to some texts.
fn table(all: &[Learnt]) -> String {
    let mut all: Vec<&Learnt> = all.iter().collect();
    all.sort_by(|left, right| (&left.cause, &left.features).cmp(&(&right.cause, &right.features)));
    let mut causes: Vec<&str> = all.iter().map(|one| one.cause.as_str()).collect();
    causes.dedup();
    let mut texts_with: BTreeMap<&str, usize> = BTreeMap::new();
    for feature in all.iter().flat_map(|one| &one.features) {
        *texts_with.entry(feature).or_default() += 1;
    }
    texts_with.retain(|_, count| *count >= TEXTS_MIN);
    let names: Vec<&str> = texts_with.keys().copied().collect();
    // Smoothed, as scikit-learn has it: as if one more text had every feature.
    let texts = all.len() as f64;
    let rarity: Vec<f64> = texts_with
        .values()
        .map(|count| ((1.0 + texts) / (1.0 + *count as f64)).ln() + 1.0)
        .collect();
    let rows: Vec<Vec<(usize, f64)>> = all.iter().map(|one| row(one, &names, &rarity)).collect();
    let labels: Vec<usize> = all
        .iter()
        .map(|one| causes.iter().position(|cause| *cause == one.cause).unwrap())
        .collect();
    let fitted = ridge::fit(&rows, &labels, causes.len(), names.len(), RIDGE);

    let mut lines: BTreeMap<usize, Vec<(usize, i64)>> = BTreeMap::new();
    for (cause, weights) in fitted.weights.iter().enumerate() {
        for feature in largest(weights) {
            let weight = (weights[feature] * 1000.0).round() as i64;
            if weight != 0 {
                lines.entry(feature).or_default().push((cause, weight));
            }
        }
    }
    let mut out = HEAD.to_owned();
    writeln!(out, "=causes\t{}", causes.join("\t")).unwrap();
    let bias: Vec<String> = fitted
        .bias
        .iter()
        .map(|bias| format!("{:.0}", bias * 1000.0))
        .collect();
    writeln!(out, "=bias\t{}", bias.join("\t")).unwrap();
    for (feature, weights) in lines {
        write!(out, "{}\t{:.0}", names[feature], rarity[feature] * 100.0).unwrap();
        for (cause, weight) in weights {
            write!(out, "\t{cause}:{weight}").unwrap();
        }
        out.push('\n');
    }
    out
}

/// A text as numbers: how rare each of its features is, all together of length 1.
fn row(text: &Learnt, names: &[&str], rarity: &[f64]) -> Vec<(usize, f64)> {
    let known = text
        .features
        .iter()
        .filter_map(|feature| names.binary_search(&feature.as_str()).ok());
    let mut row: Vec<(usize, f64)> = known.map(|at| (at, rarity[at])).collect();
    let length = row.iter().map(|(_, part)| part * part).sum::<f64>().sqrt();
    row.iter_mut()
        .for_each(|(_, part)| *part /= length.max(f64::MIN_POSITIVE));
    row
}

/// The features that weigh most.
fn largest(weights: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|left, right| {
        let size = |at: &usize| weights[*at].abs();
        size(right).total_cmp(&size(left)).then(left.cmp(right))
    });
    order.truncate(KEPT_MAX);
    order
}
