//! Moments as logs write them.

/// A moment of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogTime {
    /// Microseconds since 1970 UTC.
    Utc(i64),
    /// The server's local time as if it were UTC: the log does not tell the zone.
    Local(i64),
}

impl LogTime {
    /// The moment at the start of a text, in any of the forms that logs of servers have; `2024-01-01T12:00:00Z` as well.
    pub fn at_start_of(text: &str) -> Option<Self> {
        timestamp(text.as_bytes()).map(|(time, _)| time)
    }

    /// Microseconds since 1970 UTC, for a server whose clocks are so many seconds ahead of UTC.
    pub fn us(self, ahead_seconds: i64) -> i64 {
        match self {
            Self::Utc(us) => us,
            Self::Local(us) => us.saturating_sub(ahead_seconds.saturating_mul(SECOND_US)),
        }
    }
}

const SECOND_US: i64 = 1_000_000;
const DAY_SECONDS: i64 = 86_400;

/// The moment at the start of `text`, and how long it is: `110308 16:07:41`, `240101  6:07:41`, with a fraction, or
/// `2024-01-01T12:00:00.123456Z`, `2024-01-01T12:00:00.123456+08:00`, `2024-01-01 12:00:00`.
pub(crate) fn timestamp(text: &[u8]) -> Option<(LogTime, usize)> {
    match text.get(4) {
        Some(b'-') => long_timestamp(text),
        _ => short_timestamp(text),
    }
}

/// Blanks between a day and its hour: servers write one, and one more before an hour of one digit; what was pasted may
/// have lost a tab there.
const DAY_BLANKS_MAX: usize = 8;

/// `YYMMDD HH:MM:SS`, the hour perhaps of one digit. Years from 70 on are of the last century: no server is older.
fn short_timestamp(text: &[u8]) -> Option<(LogTime, usize)> {
    let year = digits(text, 0, 2)?;
    let year = if year < 70 { 2000 + year } else { 1900 + year };
    let day = days(year, digits(text, 2, 2)?, digits(text, 4, 2)?)?;
    let blanks = text
        .get(6..)?
        .iter()
        .take_while(|byte| **byte == b' ')
        .count();
    if !(1..=DAY_BLANKS_MAX).contains(&blanks) {
        return None;
    }
    let hour_at = 6 + blanks;
    let hour_digits = text
        .get(hour_at..)?
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if !(1..=2).contains(&hour_digits) {
        return None;
    }
    let (us, end) = clock(text, hour_at, hour_digits)?;
    Some((LogTime::Local(day * DAY_SECONDS * SECOND_US + us), end))
}

fn long_timestamp(text: &[u8]) -> Option<(LogTime, usize)> {
    let day = days(
        digits(text, 0, 4)?,
        digits(text, 5, 2)?,
        digits(text, 8, 2)?,
    )?;
    if text.get(7) != Some(&b'-') || !matches!(text.get(10), Some(b'T' | b' ')) {
        return None;
    }
    let (us, end) = clock(text, 11, 2)?;
    let local = day * DAY_SECONDS * SECOND_US + us;
    match text.get(end) {
        Some(b'Z') => Some((LogTime::Utc(local), end + 1)),
        Some(sign @ (b'+' | b'-')) if text.get(end + 3) == Some(&b':') => {
            let minutes = digits(text, end + 1, 2)? * 60 + digits(text, end + 4, 2)?;
            let ahead = minutes * 60 * SECOND_US;
            let us = if *sign == b'+' {
                local - ahead
            } else {
                local + ahead
            };
            Some((LogTime::Utc(us), end + 6))
        }
        _ => Some((LogTime::Local(local), end)),
    }
}

/// `HH:MM:SS` with up to nine digits of a fraction, as microseconds, and where it ends.
fn clock(text: &[u8], at: usize, hour_digits: usize) -> Option<(i64, usize)> {
    let hour = digits(text, at, hour_digits)?;
    let at = at + hour_digits;
    let (minute, second) = (digits(text, at + 1, 2)?, digits(text, at + 4, 2)?);
    let colons = text.get(at) == Some(&b':') && text.get(at + 3) == Some(&b':');
    if !colons || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut us = (hour * 3600 + minute * 60 + second) * SECOND_US;
    let mut end = at + 6;
    if text.get(end) == Some(&b'.') {
        let mut unit = SECOND_US / 10;
        end += 1;
        while let Some(digit) = text.get(end).filter(|byte| byte.is_ascii_digit()) {
            us += i64::from(digit - b'0') * unit;
            unit /= 10;
            end += 1;
        }
    }
    Some((us, end))
}

fn digits(text: &[u8], at: usize, count: usize) -> Option<i64> {
    let mut number = 0;
    for byte in text.get(at..at + count)? {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number * 10 + i64::from(byte - b'0');
    }
    Some(number)
}

/// Days from 1970-01-01 in the Gregorian calendar (Howard Hinnant, "chrono-compatible low-level date algorithms").
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_every_generation() {
        let second = SECOND_US;
        for (text, time, length) in [
            (
                "110308 16:07:41",
                LogTime::Local(1_299_600_461 * second),
                15,
            ),
            (
                "110309  4:20:09 # User",
                LogTime::Local(1_299_644_409 * second),
                15,
            ),
            (
                "2024-05-12T03:12:05.120000Z",
                LogTime::Utc(1_715_483_525_120_000),
                27,
            ),
            (
                "2024-05-12T11:12:05.12+08:00",
                LogTime::Utc(1_715_483_525_120_000),
                28,
            ),
            (
                "2024-05-11T20:12:05-07:00",
                LogTime::Utc(1_715_483_525 * second),
                25,
            ),
            (
                "2024-05-12 03:12:05",
                LogTime::Local(1_715_483_525 * second),
                19,
            ),
            ("1970-01-01T00:00:00Z", LogTime::Utc(0), 20),
        ] {
            assert_eq!(timestamp(text.as_bytes()), Some((time, length)), "{text}");
        }
    }

    #[test]
    fn what_is_none() {
        for text in [
            "",
            "111315 16:07:41",
            "110308 25:07:41",
            "110308",
            "2024-05-12",
            "2024-05-12T03:12",
            "select 1",
            "1103082 6:07:41",
        ] {
            assert_eq!(timestamp(text.as_bytes()), None, "{text}");
        }
    }
}
