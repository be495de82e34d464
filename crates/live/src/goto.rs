//! The moment that somebody types: `03:12`, `03:12:07`, `-10s`, `+5m`, `2026-11-27 03:12`. UTC, as on the screen.

use jiff::Timestamp;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;

const DAY_MS: i64 = 24 * 3_600_000;

/// Milliseconds since 1970 of what was typed, by the moment that is looked at now and the last one that was recorded.
pub fn parse_time(text: &str, now_ms: i64, last_ms: i64) -> Result<i64, String> {
    let text = text.trim();
    if let Some(ms) = relative(text) {
        return Ok(now_ms.saturating_add(ms));
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at.as_millisecond());
    }
    if let Ok(at) = text.trim_end_matches(" UTC").parse::<DateTime>()
        && text.contains(':')
    {
        let zoned = at.to_zoned(TimeZone::UTC);
        return zoned
            .map(|zoned| zoned.timestamp().as_millisecond())
            .map_err(|error| error.to_string());
    }
    let Ok(time) = text.parse::<Time>() else {
        return Err("not a time: use 03:12, 03:12:07, -10s, +5m, 2026-11-27 03:12".to_owned());
    };
    let last = Timestamp::from_millisecond(last_ms).map_err(|error| error.to_string())?;
    let day = last
        .to_zoned(TimeZone::UTC)
        .date()
        .to_datetime(time)
        .to_zoned(TimeZone::UTC);
    let at = day
        .map_err(|error| error.to_string())?
        .timestamp()
        .as_millisecond();
    // A time of day that was not yet recorded was yesterday's.
    Ok(if at > last_ms { at - DAY_MS } else { at })
}

/// `-10s`, `+5m`, `-1h`, `-1h30m`; of a number alone seconds.
fn relative(text: &str) -> Option<i64> {
    let (sign, rest) = match (text.strip_prefix('-'), text.strip_prefix('+')) {
        (Some(rest), _) => (-1, rest),
        (_, Some(rest)) => (1, rest),
        _ => return None,
    };
    let mut sum: i64 = 0;
    let mut digits = String::new();
    for letter in rest.chars() {
        if letter.is_ascii_digit() {
            digits.push(letter);
            continue;
        }
        let factor = match letter {
            's' => 1_000,
            'm' => 60_000,
            'h' => 3_600_000,
            'd' => DAY_MS,
            _ => return None,
        };
        let number: i64 = std::mem::take(&mut digits).parse().ok()?;
        sum = sum.checked_add(number.checked_mul(factor)?)?;
    }
    if !digits.is_empty() {
        sum = sum.checked_add(digits.parse::<i64>().ok()?.checked_mul(1_000)?)?;
    }
    (!rest.is_empty()).then_some(sign * sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_type() {
        let of = |text: &str| {
            let ms = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond();
            let last = ms("2026-11-27T03:20:00Z");
            let at = parse_time(text, ms("2026-11-27T03:10:00Z"), last)?;
            Ok::<String, String>(Timestamp::from_millisecond(at).unwrap().to_string())
        };
        for (text, wanted) in [
            ("03:12", "2026-11-27T03:12:00Z"),
            ("03:12:07", "2026-11-27T03:12:07Z"),
            ("23:59", "2026-11-26T23:59:00Z"),
            ("-10s", "2026-11-27T03:09:50Z"),
            ("-90", "2026-11-27T03:08:30Z"),
            ("+1h30m", "2026-11-27T04:40:00Z"),
            ("2026-11-20 03:12", "2026-11-20T03:12:00Z"),
            ("2026-11-20T03:12:00+02:00", "2026-11-20T01:12:00Z"),
        ] {
            assert_eq!(of(text).as_deref(), Ok(wanted), "{text}");
        }
        for text in ["", "-", "x", "-5x", "-99999999999999999999h", "25:00"] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
