//! Durations in arguments.

use std::time::Duration;

/// A time such as 90s, 500ms, 5m, 2h; a plain number is seconds.
///
/// # Errors
/// One line that says what is expected.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(format!("unknown unit '{unit}'; use ms, s, m, h or d")),
    };
    let seconds = number
        .parse::<f64>()
        .map_err(|_| "a time such as 90s, 5m or 2h expected".to_owned())?
        * factor;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// As [`duration`], and longer than nothing: in no time nothing is seen, and an empty answer would look like health.
///
/// # Errors
/// One line that says what is expected.
pub fn some_time(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("a time longer than 0 expected".to_owned()),
        time => Ok(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_refused() {
        for none in ["0", "0s", "0.0ms"] {
            assert!(
                some_time(none).unwrap_err().contains("longer than 0"),
                "{none}"
            );
        }
        assert_eq!(some_time("1ms"), Ok(Duration::from_millis(1)));
    }

    #[test]
    fn times_are_read() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5h"), Ok(Duration::from_secs(5400)));
        assert_eq!(duration("7"), Ok(Duration::from_secs(7)));
        assert!(duration("7x").is_err() && duration("s").is_err() && duration("1e9h").is_err());
    }
}
