//! Moments that shippers of logs, terminals and scripts write in front of each line.

use crate::times;

/// The text behind the moment that it begins with; nothing where it begins with none, or where something else than a
/// blank stands behind it. One blank goes with it: what else is there is the line's own.
pub(crate) fn behind(text: &str) -> Option<&str> {
    let text = behind_priority(text.trim_start());
    let (text, end) = match text.as_bytes().first()? {
        b'[' => (text.get(1..)?, "]"),
        b'(' => (text.get(1..)?, ")"),
        _ => (text, ""),
    };
    let rest = of_date(text)
        .or_else(|| of_month(text))
        .or_else(|| of_clock(text))
        .or_else(|| of_epoch(text))?;
    let rest = rest.strip_prefix(end)?;
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    match rest.is_empty() {
        true => Some(rest),
        false => rest.strip_prefix([' ', '\t']),
    }
}

/// `<30>` of syslog, with its version or without (RFC 5424, "PRI").
fn behind_priority(text: &str) -> &str {
    let behind = || {
        let (priority, rest) = text.strip_prefix('<')?.split_once('>')?;
        let is_number = (1..=3).contains(&priority.len()) && is_digits(priority);
        is_number.then(|| rest.strip_prefix("1 ").unwrap_or(rest))
    };
    behind().unwrap_or(text)
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The text behind one that looks so: `0` stands for any digit.
fn like<'a>(text: &'a str, shape: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(shape.len())?;
    let is_like = head
        .bytes()
        .zip(shape.bytes())
        .all(|(byte, shape)| byte == shape || (shape == b'0' && byte.is_ascii_digit()));
    is_like.then_some(rest)
}

/// `2026-11-25T09:46:15.123Z`, `2026/11/25 09:46:15,123 +01:00`, `2026-11-25 09:46:15 CET`.
fn of_date(text: &str) -> Option<&str> {
    let rest = like(text, "0000-00-00").or_else(|| like(text, "0000/00/00"))?;
    Some(behind_zone(of_time(rest.strip_prefix(['T', ' '])?)?))
}

/// `Nov 25 09:46:15`, `Nov  5 2026 09:46:15.123`.
fn of_month(text: &str) -> Option<&str> {
    let rest = times::behind_month(text)?.strip_prefix(' ')?.trim_start();
    let rest = like(rest, "00 ").or_else(|| like(rest, "0 "))?;
    of_time(like(rest, "0000 ").unwrap_or(rest))
}

/// `09:46:15`, `09:46:15 PM`.
fn of_clock(text: &str) -> Option<&str> {
    let rest = of_time(text)?;
    let half = rest
        .strip_prefix(" AM")
        .or_else(|| rest.strip_prefix(" PM"));
    Some(half.unwrap_or(rest))
}

/// Seconds with a fraction, or milliseconds, since 1970: those of the years 2001 to 2286.
fn of_epoch(text: &str) -> Option<&str> {
    if let Some(rest) = like(text, "0000000000000") {
        return Some(rest);
    }
    let rest = like(text, "0000000000.0")?;
    Some(rest.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// Behind a time of day, and the fraction of its second.
fn of_time(text: &str) -> Option<&str> {
    let rest = like(text, "00:00:00")?;
    let fraction = rest
        .strip_prefix(['.', ','])
        .filter(|rest| like(rest, "0").is_some());
    Some(fraction.map_or(rest, |rest| {
        rest.trim_start_matches(|c: char| c.is_ascii_digit())
    }))
}

/// Behind a zone: `Z`, `+0100`, ` +01:00`, ` CET`.
fn behind_zone(text: &str) -> &str {
    if let Some(rest) = text.strip_prefix('Z') {
        return rest;
    }
    let zone = text.strip_prefix(' ').unwrap_or(text);
    if let Some(offset) = zone.strip_prefix(['+', '-']) {
        let rest = like(offset, "00:00").or_else(|| like(offset, "0000"));
        return rest.unwrap_or(text);
    }
    let length = zone.bytes().take_while(u8::is_ascii_uppercase).count();
    let is_name = (3..=4).contains(&length) && zone.len() < text.len();
    let rest = zone.get(length..).unwrap_or_default();
    match is_name && (rest.is_empty() || rest.starts_with([' ', '\t'])) {
        true => rest,
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::behind;

    #[test]
    fn moments_of_shippers() {
        for moment in [
            "2026-11-25T09:46:15.123456789Z",
            "2026-11-25T09:46:15+0000",
            "2026-11-25 09:46:15,123",
            "2026/11/25 09:46:15 +01:00",
            "2026-11-25 09:46:15.123 CET",
            "[2026-11-25 09:46:15]",
            "(09:46:15)",
            "<30>1 2026-11-25T09:46:15Z",
            "<30>Nov 25 09:46:15",
            "Nov  5 09:46:15.123",
            "Nov 25 2026 09:46:15",
            "09:46:15 PM",
            "1796000000000",
            "1796000000.123",
            "  09:46:15:",
        ] {
            assert_eq!(behind(&format!("{moment}  a")), Some(" a"), "{moment}");
            assert_eq!(behind(&format!("{moment}\ta")), Some("a"), "{moment}");
            assert_eq!(behind(moment), Some(""), "{moment}");
        }
    }

    #[test]
    fn what_is_none() {
        for text in [
            "",
            "[",
            "a",
            "2026-11-25",
            "2026-11-25T09:46:15Zx",
            "[09:46:15 a",
            "179600000000 a",
            "1796000000 a",
            "Nov 25 a",
            "<30> a",
            "080614 21:03:44 a",
            "ä09:46:15",
        ] {
            assert_eq!(behind(text), None, "{text}");
        }
    }
}
