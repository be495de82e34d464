//! Means of few readings, and where they may lie.

use report::Interval;

/// The 97.5 % quantile of Student's t for 1 to 30 degrees of freedom (Abramowitz and Stegun, table 26.10).
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// The same for more: never more than 0.004 above the true one.
const STUDENT_MORE: f64 = 2.042;

/// The mean of readings that know nothing of each other, with its 95 % interval by Student's t; of one
/// reading the interval is the reading itself.
pub(crate) fn mean(readings: &[f64]) -> Option<Interval> {
    if readings.is_empty() {
        return None;
    }
    let count = readings.len() as f64;
    let mean = readings.iter().sum::<f64>() / count;
    let half = match readings.len() {
        1 => 0.0,
        more => {
            let squares: f64 = readings
                .iter()
                .map(|reading| (reading - mean).powi(2))
                .sum();
            let error = (squares / (count - 1.0) / count).sqrt();
            STUDENT.get(more - 2).copied().unwrap_or(STUDENT_MORE) * error
        }
    };
    Some(Interval {
        mean,
        // All of it is times, rates and bytes.
        low: (mean - half).max(0.0),
        high: mean + half,
    })
}

/// How often the readings hold those of the same round in `base`: the geometric mean, with its 95 %
/// interval.
pub(crate) fn ratio(readings: &[f64], base: &[f64]) -> Option<Interval> {
    let logs: Vec<f64> = readings
        .iter()
        .zip(base)
        .filter(|(one, other)| **one > 0.0 && **other > 0.0)
        .map(|(one, other)| (one / other).ln())
        .collect();
    let shift = logs.iter().copied().fold(0.0, f64::min);
    // The mean of logarithms may be below zero, which `mean` does not give.
    let moved: Vec<f64> = logs.iter().map(|log| log - shift + 100.0).collect();
    let interval = mean(&moved)?;
    let back = |value: f64| (value + shift - 100.0).exp();
    Some(Interval {
        mean: back(interval.mean),
        low: back(interval.low),
        high: back(interval.high),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn the_interval_is_students() {
        // 1 to 5: standard deviation 1.5811, error 0.7071, times 2.776.
        let interval = mean(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!((interval.mean - 3.0).abs() < 1e-9);
        assert!((interval.low - 1.037).abs() < 0.001, "{interval:?}");
        assert!((interval.high - 4.963).abs() < 0.001, "{interval:?}");
        assert_eq!(mean(&[]), None);
        let one = mean(&[7.0]).unwrap();
        assert_eq!((one.low, one.high), (7.0, 7.0));
        assert!(mean(&[0.1, 9.0]).unwrap().low >= 0.0);
    }

    #[test]
    fn rounds_are_compared_with_themselves() {
        // Each round is twice as slow as the one before, and the ratio is the same in all.
        let half = ratio(&[1.0, 2.0, 4.0], &[2.0, 4.0, 8.0]).unwrap();
        for value in [half.low, half.mean, half.high] {
            assert!((value - 0.5).abs() < 1e-9, "{half:?}");
        }
        let wide = ratio(&[1.0, 4.0], &[1.0, 1.0]).unwrap();
        assert!((wide.mean - 2.0).abs() < 1e-9 && wide.low < 0.01 && wide.high > 100.0);
        assert_eq!(ratio(&[], &[]), None);
    }
}
