//! What is asked of the fleet, understood.

use super::super::query::Query;
use crate::fleet::now_ms;

/// Milliseconds of an hour.
const HOUR_MS: i64 = 3_600_000;

/// The time of a list of stalls when none is asked for, milliseconds.
const SPAN_MS: i64 = 7 * 24 * HOUR_MS;

/// Characters of a server's name, or of an incident's: more than any has.
const NAME_CHARS_MAX: usize = 1_000;

/// A page.
pub(super) enum Asked {
    /// The whole fleet.
    Overview(Overview),
    /// The stalls of a time.
    Stalls(Stalls),
    /// The incident with this name or identity.
    Incident(String),
}

/// The time and the order of the whole fleet.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Overview {
    /// As the address has it.
    pub(super) since: &'static str,
    /// As the address has it.
    pub(super) sort: &'static str,
    /// Length of a column of the map.
    pub(super) step_ms: i64,
    pub(super) columns: usize,
    /// Begin of the first.
    pub(super) from_ms: i64,
    pub(super) now_ms: i64,
}

/// The stalls of a time, of one server or of all.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stalls {
    pub(super) server: String,
    pub(super) from_ms: i64,
    pub(super) to_ms: i64,
}

/// Times that can be chosen: as addresses have them, hours of a column, columns.
const SINCE: [(&str, i64, usize); 4] = [
    ("7d", 6, 28),
    ("24h", 1, 24),
    ("30d", 24, 30),
    ("90d", 72, 30),
];

const SORT: [&str; 3] = ["stalled", "silent", "name"];

impl Asked {
    /// None of another path; an error says what cannot be understood.
    pub(super) fn from_query(path: &str, query: &Query) -> Option<Result<Self, String>> {
        let name = |name: &str| query.get(name).chars().take(NAME_CHARS_MAX).collect();
        match path {
            "/fleet" => Some(Overview::from_query(query, now_ms()).map(Self::Overview)),
            "/fleet/stalls" => {
                Some(Stalls::from_query(query, name("server"), now_ms()).map(Self::Stalls))
            }
            "/fleet/incident" => Some(match query.get("id") {
                "" => Err("id: the name of an incident expected".to_owned()),
                _ => Ok(Self::Incident(name("id"))),
            }),
            _ => None,
        }
    }
}

impl Overview {
    fn from_query(query: &Query, now_ms: i64) -> Result<Self, String> {
        let since = match query.get("since").trim() {
            "" => SINCE.first(),
            text => SINCE.iter().find(|(value, ..)| *value == text),
        };
        let (since, hours, columns) = since.ok_or("since: 24h, 7d, 30d or 90d")?;
        let sort = match query.get("sort").trim() {
            "" => SORT.first(),
            text => SORT.iter().find(|value| **value == text),
        };
        let step_ms = hours * HOUR_MS;
        // The column of now is the last, and columns begin with hours and days.
        let to_ms = (now_ms / step_ms + 1) * step_ms;
        let span = step_ms * i64::try_from(*columns).unwrap_or(0);
        Ok(Self {
            since,
            sort: sort.ok_or("sort: stalled, silent or name")?,
            step_ms,
            columns: *columns,
            from_ms: (to_ms - span).max(0),
            now_ms,
        })
    }
}

impl Stalls {
    fn from_query(query: &Query, server: String, now_ms: i64) -> Result<Self, String> {
        let (from, to) = (query.time("from")?, query.time("to")?);
        let to_ms = to.unwrap_or_else(|| from.map_or(now_ms, |from| from + SPAN_MS));
        let from_ms = from.unwrap_or((to_ms - SPAN_MS).max(0));
        match from_ms < to_ms {
            true => Ok(Self {
                server,
                from_ms,
                to_ms,
            }),
            false => Err("from must be before to".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-28 07:40:00 UTC.
    const NOW_MS: i64 = 1_795_851_600_000;

    #[test]
    fn columns_begin_with_hours_and_days_and_end_behind_now() {
        for (text, since, step_hours, columns, from) in [
            // 2026-11-21 12:00, 2026-11-27 08:00, 2026-10-30 00:00.
            ("", "7d", 6, 28, 1_795_262_400_000),
            ("since=24h", "24h", 1, 24, 1_795_766_400_000),
            ("since=30d&sort=name", "30d", 24, 30, 1_793_318_400_000),
        ] {
            let asked = Overview::from_query(&Query::parse(text), NOW_MS).unwrap();
            assert_eq!((asked.since, asked.columns), (since, columns));
            assert_eq!(asked.step_ms, step_hours * HOUR_MS);
            assert_eq!(asked.from_ms, from, "{text}");
        }
        for wrong in ["since=8d", "sort=x", "since=-1"] {
            assert!(Overview::from_query(&Query::parse(wrong), NOW_MS).is_err());
        }
    }

    #[test]
    fn a_list_has_a_time() {
        let of = |text: &str| Stalls::from_query(&Query::parse(text), String::new(), NOW_MS);
        let usual = of("").unwrap();
        assert_eq!((usual.from_ms, usual.to_ms), (NOW_MS - SPAN_MS, NOW_MS));
        assert_eq!(of("from=5").unwrap().to_ms, 5 + SPAN_MS);
        assert_eq!(of("to=5").unwrap().from_ms, 0);
        for wrong in ["from=5&to=5", "from=x", "to=-1"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
