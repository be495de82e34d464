//! Moments as captures write them.

use crate::prefixes::Prefixes;

/// `TS 1353536401.001 2012-11-21 17:00:01` of pt-stalk: milliseconds since 1970.
pub(crate) fn ts(line: &str) -> Option<i64> {
    let behind = line.trim_start().strip_prefix("TS ")?;
    let seconds = behind.split_whitespace().next()?;
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

/// `06:25:01`, `06:25:01 AM`: the words behind it, and the second of the day.
pub(crate) fn clock(text: &str) -> Option<(u64, &str)> {
    let (time, rest) = text.split_once([' ', '\t'])?;
    let mut parts = time.split(':');
    let mut part = |most: u64| {
        let part = parts.next().filter(|part| part.len() == 2)?;
        part.parse::<u64>().ok().filter(|value| *value < most)
    };
    let (hour, minute, second) = (part(24)?, part(60)?, part(61)?);
    if parts.next().is_some() {
        return None;
    }
    let rest = rest.trim_start();
    let (hour, rest) = match rest.split_once([' ', '\t']) {
        Some(("AM", rest)) => (hour % 12, rest.trim_start()),
        Some(("PM", rest)) => (hour % 12 + 12, rest.trim_start()),
        _ => (hour, rest),
    };
    Some((hour * 3600 + minute * 60 + second, rest))
}

/// Begins with a year and a month, or six digits and a time, as the servers write them.
pub(crate) fn starts_with_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    match bytes.get(digits) {
        Some(b'-') => digits == 4 && bytes.get(5).is_some_and(u8::is_ascii_digit),
        Some(b' ') => {
            digits == 6
                && text.get(6..).is_some_and(|rest| {
                    rest.trim_start()
                        .as_bytes()
                        .get(1..3)
                        .is_some_and(|time| time.contains(&b':'))
                })
        }
        _ => false,
    }
}

/// Months as syslog and `dmesg --reltime` write them.
static MONTHS: Prefixes = Prefixes::new(&[
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
]);

/// What is behind the name of a month.
pub(crate) fn behind_month(text: &str) -> Option<&str> {
    MONTHS.match_start(text).then(|| text.get(3..))?
}

/// `Jan  1 00:00:00` or a date of digits.
pub(crate) fn starts_with_syslog_date(text: &str) -> bool {
    behind_month(text).is_some_and(|rest| rest.starts_with(' ')) || starts_with_date(text)
}

/// `Jan  1 00:00:00 text` → `text`, as logs have it that keep neither host nor program.
pub(crate) fn behind_syslog_date(text: &str) -> Option<&str> {
    let (day, rest) = behind_month(text)?
        .strip_prefix(' ')?
        .trim_start()
        .split_once(' ')?;
    let is_day = (1..=2).contains(&day.len()) && day.bytes().all(|byte| byte.is_ascii_digit());
    is_day.then(|| clock(rest))?.map(|(_, text)| text)
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
