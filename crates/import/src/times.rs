//! Moments as captures write them.

/// `TS 1353536401.001 2012-11-21 17:00:01` of pt-stalk: milliseconds since 1970.
pub(crate) fn ts(line: &str) -> Option<i64> {
    let seconds = line.trim().strip_prefix("TS ")?.split_whitespace().next()?;
    let seconds: f64 = seconds.parse().ok()?;
    (1e8..1e11)
        .contains(&seconds)
        .then_some((seconds * 1000.0) as i64)
}

/// How far the clock of its date is ahead of UTC, in milliseconds: zones go by quarters of an hour.
pub(crate) fn ahead_ms(line: &str) -> Option<i64> {
    let utc = ts(line)?;
    let date = line.trim().splitn(3, ' ').nth(2)?;
    let ahead = date_ms(date)?.saturating_sub(utc);
    let quarters = ahead.saturating_add(QUARTER_MS / 2).div_euclid(QUARTER_MS);
    (-ZONES..=ZONES)
        .contains(&quarters)
        .then_some(quarters * QUARTER_MS)
}

/// A quarter of an hour, in milliseconds.
const QUARTER_MS: i64 = 900_000;

/// No zone is further from UTC, in quarters of an hour.
const ZONES: i64 = 14 * 4;

/// The date at the start of a text, in milliseconds since 1970 of the clock that it is of.
pub(crate) fn date_ms(text: &str) -> Option<i64> {
    Some(sql::log::LogTime::at_start_of(text)?.us(0) / 1000)
}

#[cfg(test)]
mod tests {
    use super::{ahead_ms, date_ms, ts};

    #[test]
    fn the_zone_of_a_host() {
        let hours = |line: &str| Some(ahead_ms(line)? as f64 / 3_600_000.0);
        assert_eq!(hours("TS 1353536401.250 2012-11-21 17:20:01"), Some(-5.0));
        assert_eq!(hours("TS 1353536401.999 2012-11-22 03:50:01"), Some(5.5));
        assert_eq!(hours("TS 1353536401.250 2012-11-21 22:20:01"), Some(0.0));
        assert_eq!(hours("TS 1353536401.250 2012-11-29 22:20:01"), None);
        assert_eq!(hours("TS 1353536401.250"), None);
    }

    #[test]
    fn moments_of_pt_stalk() {
        assert_eq!(
            ts("TS 1353536401.250 2012-11-21 17:00:01"),
            Some(1_353_536_401_250)
        );
        assert_eq!(ts("TS x"), None);
        assert_eq!(ts("TS 7.1353536401 1 1"), None);
    }

    #[test]
    fn dates() {
        assert_eq!(
            date_ms("2024-08-09T09:53:58.252547"),
            Some(1_723_197_238_252)
        );
        assert_eq!(date_ms("1970-01-01 00:00:00"), Some(0));
        assert_eq!(date_ms("2000-02-29T23:59:59"), Some(951_868_799_000));
        assert_eq!(date_ms("2024-13-09T09:53:58"), None);
        assert_eq!(date_ms("yesterday"), None);
    }
}
