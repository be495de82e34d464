//! Moments and durations in words.

use jiff::Timestamp;
use model::{Clock, Incident, Millis, Window};

/// A moment of an incident: `03:12:05`, UTC; where no time of day is known, `+12 s` after the begin
/// of what was read.
pub(crate) fn time_text(clock: &Clock, at: Millis) -> String {
    match clock.is_known() {
        true => clock_time(clock.wall_ms(at)),
        false => format!("+{}", duration(at)),
    }
}

/// The same with the name of the zone, where there is one: `03:12:05 UTC`, `+12 s`.
pub(crate) fn time_text_utc(clock: &Clock, at: Millis) -> String {
    match clock.is_known() {
        true => format!("{} UTC", time_text(clock, at)),
        false => time_text(clock, at),
    }
}

/// The stall before, and with which time this one is compared therefore.
pub(crate) fn stall_before(incident: &Incident) -> Option<String> {
    let moment = |at: Millis| time_text_utc(&incident.clock, at);
    let between = |window: Window| format!("{} to {}", moment(window.from), moment(window.to));
    let previous = incident.stall.previous()?;
    let calm = incident.baseline_window();
    Some(format!(
        "{}; \"before the onset\" is {}",
        between(previous),
        between(calm)
    ))
}

/// A column's head for moments: `From (UTC)`; without a time of day `From (since the start)`.
pub(crate) fn column(clock: &Clock, word: &str) -> String {
    match clock.is_known() {
        true => format!("{word} (UTC)"),
        false => format!("{word} (since the start)"),
    }
}

/// Milliseconds since 1970 UTC as RFC 3339 in UTC with milliseconds.
pub(crate) fn rfc3339(wall_ms: i64) -> String {
    timestamp(wall_ms)
        .strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}

/// `2024-05-12 03:12:05.120`, UTC; the reader is told so beside it.
pub(crate) fn date_time(wall_ms: i64) -> String {
    timestamp(wall_ms)
        .strftime("%Y-%m-%d %H:%M:%S%.3f")
        .to_string()
}

/// `2024-05-12 03:12:05`, UTC: as exactly as people need it.
pub(crate) fn date_second(wall_ms: i64) -> String {
    timestamp(wall_ms).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// `03:12:05`, UTC.
pub(crate) fn clock_time(wall_ms: i64) -> String {
    timestamp(wall_ms).strftime("%H:%M:%S").to_string()
}

/// `03:12`, UTC.
pub(crate) fn clock_minute(wall_ms: i64) -> String {
    timestamp(wall_ms).strftime("%H:%M").to_string()
}

/// A duration as people say it: `4.2 s`, `1 min 15 s`, `2 h 3 min`; rounded to the nearest of these.
pub fn duration(ms: u64) -> String {
    let tenths = ms.saturating_add(50) / 100;
    let seconds = ms.saturating_add(500) / 1000;
    match seconds {
        _ if tenths < 100 => format!("{}.{} s", tenths / 10, tenths % 10),
        0..60 => format!("{seconds} s"),
        60..3600 => two(seconds / 60, "min", seconds % 60, "s"),
        3600..360_000 => two(seconds / 3600, "h", seconds % 3600 / 60, "min"),
        // After four days nobody asks for minutes.
        _ => format!("{} h", seconds / 3600),
    }
}

/// A number of one unit and the rest in another, if there is any.
fn two(large: u64, unit: &str, rest: u64, small: &str) -> String {
    match rest {
        0 => format!("{large} {unit}"),
        rest => format!("{large} {unit} {rest} {small}"),
    }
}

/// The step of an axis, whatever its sign: `30 s`, `90 s`, `5 min`, `2 h`.
pub(crate) fn step(ms: i64) -> String {
    let seconds = ms.unsigned_abs() / 1000;
    match seconds {
        _ if seconds != 0 && seconds.is_multiple_of(3600) => format!("{} h", seconds / 3600),
        _ if seconds != 0 && seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    }
}

/// Moments outside the calendar become its nearest end.
fn timestamp(wall_ms: i64) -> Timestamp {
    Timestamp::from_millisecond(wall_ms).unwrap_or(if wall_ms < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    })
}

#[cfg(test)]
mod tests {
    use model::Timeline;

    use super::*;

    #[test]
    fn moments() {
        assert_eq!(rfc3339(1_715_483_525_120), "2024-05-12T03:12:05.120Z");
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert!(rfc3339(i64::MAX).starts_with("9999-"));
        assert!(rfc3339(i64::MIN).starts_with('-'));
        assert_eq!(date_time(1_715_483_525_120), "2024-05-12 03:12:05.120");
        assert_eq!(clock_time(1_715_483_525_120), "03:12:05");
        assert_eq!(clock_minute(1_715_483_525_120), "03:12");
    }

    #[test]
    fn the_stall_before_says_what_is_compared() {
        let mut incident = crate::testing::incident_of(Timeline::default());
        assert_eq!(stall_before(&incident), None);
        incident.stall.earlier = vec![Window {
            from: 5_000,
            to: 20_000,
        }];
        assert_eq!(
            stall_before(&incident).as_deref(),
            Some("+5.0 s to +20 s; \"before the onset\" is +20 s to +40 s")
        );
    }

    #[test]
    fn without_a_time_of_day_there_is_no_1970() {
        let mut clock = Clock::default();
        assert_eq!(time_text(&clock, 12_000), "+12 s");
        assert_eq!(time_text_utc(&clock, 12_000), "+12 s");
        assert_eq!(column(&clock, "From"), "From (since the start)");
        clock.wall_at_zero_ms = 1_715_483_525_120;
        assert_eq!(time_text_utc(&clock, 0), "03:12:05 UTC");
        assert_eq!(column(&clock, "From"), "From (UTC)");
    }

    #[test]
    fn durations() {
        for (ms, words) in [
            (0, "0.0 s"),
            (4_240, "4.2 s"),
            (9_940, "9.9 s"),
            (9_970, "10 s"),
            (11_987, "12 s"),
            (59_400, "59 s"),
            (59_999, "1 min"),
            (75_000, "1 min 15 s"),
            (7_200_000, "2 h"),
            (7_380_000, "2 h 3 min"),
            (359_940_000, "99 h 59 min"),
            (1_085_000_000, "301 h"),
            (u64::MAX, "5124095576030 h"),
        ] {
            assert_eq!(duration(ms), words);
        }
    }
}
