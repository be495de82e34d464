//! Ridge regression of each cause against all others, in its closed form.
//!
//! There are far fewer texts than features, so the equations are those of the texts: with K = X·Xᵀ, both sides freed
//! of their means, (K + λ·1)·a = y, and the weights are Xᵀ·a (Hastie, Tibshirani, Friedman, "The Elements of
//! Statistical Learning", 18.3.5). Solved by Cholesky's decomposition, once for all causes.

pub(crate) struct Fitted {
    /// By cause, then by feature.
    pub(crate) weights: Vec<Vec<f64>>,
    /// By cause.
    pub(crate) bias: Vec<f64>,
}

/// `rows` are the texts, `labels` their causes by number.
pub(crate) fn fit(
    rows: &[Vec<(usize, f64)>],
    labels: &[usize],
    causes: usize,
    features: usize,
    ridge: f64,
) -> Fitted {
    let texts = rows.len();
    let mut factor = centred(products(rows, features));
    for (at, row) in factor.iter_mut().enumerate() {
        row[at] += ridge;
    }
    cholesky(&mut factor);
    let mut means = vec![0.0; features];
    for (feature, part) in rows.iter().flatten() {
        means[*feature] += part / texts as f64;
    }
    let mut fitted = Fitted {
        weights: Vec::new(),
        bias: Vec::new(),
    };
    for cause in 0..causes {
        // 1 for its own texts, -1 for those of others.
        let is_own = |label: &usize| if *label == cause { 1.0 } else { -1.0 };
        let mean = labels.iter().map(is_own).sum::<f64>() / texts as f64;
        let mut parts: Vec<f64> = labels.iter().map(|label| is_own(label) - mean).collect();
        solve(&factor, &mut parts);
        let all: f64 = parts.iter().sum::<f64>() / texts as f64;
        let mut weights = vec![0.0; features];
        for (row, part) in rows.iter().zip(&parts) {
            for (feature, value) in row {
                weights[*feature] += value * (part - all);
            }
        }
        let of_mean: f64 = weights
            .iter()
            .zip(&means)
            .map(|(one, other)| one * other)
            .sum();
        fitted.weights.push(weights);
        fitted.bias.push(mean - of_mean);
    }
    fitted
}

/// The products of each two rows, through the features that both have.
fn products(rows: &[Vec<(usize, f64)>], features: usize) -> Vec<Vec<f64>> {
    let mut holders: Vec<Vec<(usize, f64)>> = vec![Vec::new(); features];
    for (text, row) in rows.iter().enumerate() {
        row.iter()
            .for_each(|(feature, part)| holders[*feature].push((text, *part)));
    }
    let mut products = vec![vec![0.0; rows.len()]; rows.len()];
    for holders in &holders {
        for (text, part) in holders {
            let line = &mut products[*text];
            for (other, value) in holders {
                line[*other] += part * value;
            }
        }
    }
    products
}

/// Freed of the means of rows and columns.
fn centred(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let texts = matrix.len() as f64;
    let means: Vec<f64> = matrix
        .iter()
        .map(|row| row.iter().sum::<f64>() / texts)
        .collect();
    let all = means.iter().sum::<f64>() / texts;
    for (row, mean) in matrix.iter_mut().zip(&means) {
        for (value, other) in row.iter_mut().zip(&means) {
            *value += all - mean - other;
        }
    }
    matrix
}

/// Rows of which parts are summed side by side: one sum alone waits for each of its additions, and for each row above it.
const BESIDE: usize = 4;

/// The lower triangle L of L·Lᵀ, in place. Each sum is of the same parts in the same order, however many are made at a time.
fn cholesky(matrix: &mut [Vec<f64>]) {
    for begin in (0..matrix.len()).step_by(BESIDE) {
        let (above, rest) = matrix.split_at_mut(begin);
        let count = rest.len().min(BESIDE);
        let block = &mut rest[..count];
        for (column, other) in above.iter().enumerate() {
            if let [first, second, third, fourth] = &mut *block {
                let rows = [first, second, third, fourth];
                let sums = dots(rows.each_ref().map(|row| &row[..column]), &other[..column]);
                for (row, sum) in rows.into_iter().zip(sums) {
                    row[column] = (row[column] - sum) / other[column];
                }
            } else {
                block
                    .iter_mut()
                    .for_each(|row| eliminate(row, column, other));
            }
        }
        for place in 0..count {
            let (before, rest) = block.split_at_mut(place);
            let row = &mut rest[0];
            for (column, other) in (begin..).zip(before.iter()) {
                eliminate(row, column, other);
            }
            let at = begin + place;
            let sum = dot(&row[..at], &row[..at]);
            row[at] = (row[at] - sum).sqrt();
        }
    }
}

/// Makes a row's part of a column that is done above it.
fn eliminate(row: &mut [f64], column: usize, other: &[f64]) {
    let sum = dot(&row[..column], &other[..column]);
    row[column] = (row[column] - sum) / other[column];
}

/// The products of four rows with another one.
fn dots(rows: [&[f64]; BESIDE], other: &[f64]) -> [f64; BESIDE] {
    let [first, second, third, fourth] = rows;
    let (mut a, mut b, mut c, mut d) = (0.0, 0.0, 0.0, 0.0);
    let firsts = first.iter().zip(second);
    let seconds = third.iter().zip(fourth);
    for (((one, two), (three, four)), value) in firsts.zip(seconds).zip(other) {
        a += one * value;
        b += two * value;
        c += three * value;
        d += four * value;
    }
    [a, b, c, d]
}

/// Solves L·Lᵀ·x = y, in place.
fn solve(factor: &[Vec<f64>], values: &mut [f64]) {
    for at in 0..values.len() {
        let sum = dot(&factor[at][..at], &values[..at]);
        values[at] = (values[at] - sum) / factor[at][at];
    }
    for at in (0..values.len()).rev() {
        values[at] /= factor[at][at];
        let value = values[at];
        for (below, part) in values[..at].iter_mut().zip(&factor[at][..at]) {
            *below -= value * part;
        }
    }
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(one, other)| one * other).sum()
}

#[test]
fn the_equations_hold() {
    let rows = vec![
        vec![(0, 1.0)],
        vec![(0, 0.6), (1, 0.8)],
        vec![(1, 1.0)],
        vec![(2, 1.0)],
    ];
    let labels = [0, 0, 1, 1];
    let fitted = fit(&rows, &labels, 2, 3, 0.5);
    // At the least of the sum of squares its derivative by each weight is 0.
    let score = |cause: usize, row: &[(usize, f64)]| {
        let parts = row
            .iter()
            .map(|(at, part)| part * fitted.weights[cause][*at]);
        parts.sum::<f64>() + fitted.bias[cause]
    };
    for cause in 0..2 {
        for feature in 0..3 {
            let mut slope = 0.5 * fitted.weights[cause][feature];
            for (row, label) in rows.iter().zip(labels) {
                let wanted = if label == cause { 1.0 } else { -1.0 };
                let part = row.iter().find(|(at, _)| *at == feature);
                slope += part.map_or(0.0, |(_, part)| part * (score(cause, row) - wanted));
            }
            assert!(slope.abs() < 1e-9, "{cause} {feature}: {slope}");
        }
    }
}
