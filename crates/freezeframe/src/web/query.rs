//! What stands behind the question mark of an address.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The last moment of the calendar that is taken, milliseconds since 1970: the end of the year 9999.
const MOMENT_MAX_MS: i64 = 253_402_300_799_000;

/// The parameters, in their order.
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decoded(name, true), decoded(value, true))
                })
                .collect(),
        )
    }

    /// The first one of this name; empty where there is none.
    pub(super) fn get(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    /// All of this name.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(move |(own, _)| own == name);
        named.map(|(_, value)| value.as_str())
    }

    /// A moment, milliseconds since 1970: so many of them, or a time in UTC. Nothing where none is given.
    pub(super) fn time(&self, name: &str) -> Result<Option<i64>, String> {
        let text = self.get(name).trim();
        if text.is_empty() {
            return Ok(None);
        }
        let ms = moment(text).filter(|ms| (0..=MOMENT_MAX_MS).contains(ms));
        ms.map(Some).ok_or_else(|| {
            format!(
                "{name}: a time such as 2026-11-20 03:12:05 (UTC), or milliseconds since 1970 expected"
            )
        })
    }
}

fn moment(text: &str) -> Option<i64> {
    if let Ok(ms) = text.parse() {
        return Some(ms);
    }
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return Some(moment.as_millisecond());
    }
    let time: DateTime = text.parse().ok()?;
    let zoned = TimeZone::UTC.to_zoned(time).ok()?;
    Some(zoned.timestamp().as_millisecond())
}

/// A text whose bytes may stand as `%XX`; in a query `+` is a space. What is no UTF-8 then becomes a mark.
pub(super) fn decoded(text: &str, is_query: bool) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let pair = bytes.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let pair = pair.filter(|pair| pair.iter().all(u8::is_ascii_hexdigit));
        let escaped = pair
            .and_then(|pair| std::str::from_utf8(pair).ok())
            .and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match (escaped, byte) {
            (Some(escaped), _) => {
                out.push(escaped);
                at += 2;
            }
            (None, b'+') if is_query => out.push(b' '),
            (None, byte) => out.push(*byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query = Query::parse("q=row+lock%20on%2Fx&id=a&id=b&&flag&bad=%zz%2&no=%ff");
        assert_eq!(query.get("q"), "row lock on/x");
        assert_eq!(query.all("id").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((query.get("flag"), query.get("none")), ("", ""));
        assert_eq!(query.get("bad"), "%zz%2");
        assert_eq!(query.get("no"), "\u{fffd}");
        assert_eq!(decoded("a+b%2b", false), "a+b+");
    }

    #[test]
    fn moments_are_numbers_or_times() {
        let of = |text: &str| Query::parse(&format!("at={text}")).time("at");
        assert_eq!(of(""), Ok(None));
        for text in [
            "1795144325000",
            "2026-11-20T03:12:05Z",
            "2026-11-20+03:12:05",
            "2026-11-20T04:12:05%2B01:00",
        ] {
            assert_eq!(of(text), Ok(Some(1_795_144_325_000)), "{text}");
        }
        for text in ["-5", "9999999999999999", "yesterday", "2026-13-01"] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
