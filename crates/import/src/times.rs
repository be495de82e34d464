//! Moments as captures write them.

/// `TS 1353536401.001 2012-11-21 17:00:01` of pt-stalk: milliseconds since 1970.
pub(crate) fn ts(line: &str) -> Option<i64> {
    let seconds = line.trim().strip_prefix("TS ")?.split_whitespace().next()?;
    let seconds: f64 = seconds.parse().ok()?;
    (1e8..1e11)
        .contains(&seconds)
        .then_some((seconds * 1000.0) as i64)
}

#[cfg(test)]
mod tests {
    use super::ts;

    #[test]
    fn moments_of_pt_stalk() {
        assert_eq!(
            ts("TS 1353536401.250 2012-11-21 17:00:01"),
            Some(1_353_536_401_250)
        );
        assert_eq!(ts("TS x"), None);
        assert_eq!(ts("TS 7.1353536401 1 1"), None);
    }
}
