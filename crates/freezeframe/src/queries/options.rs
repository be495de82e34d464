//! What the arguments say of a digest.

use anyhow::{Result, anyhow, bail};
use cli::{duration, usage};
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use sql::SqlMode;
use sql::digest::{Filter, GroupBy, Options, Order};

use crate::args::{CompatArg, GroupByArg, Queries};

/// Classes of a text or a page.
const CLASSES_FOR_PEOPLE: usize = 20;

/// The options of a digest.
pub(super) fn options(args: &Queries) -> Result<Options> {
    let now = Zoned::now();
    let moment = |text: &Option<String>| {
        let text = text.as_deref();
        text.map(|text| parse_time(text, &now))
            .transpose()
            .map_err(usage)
    };
    let filters: Result<Vec<Filter>, String> =
        args.filters.iter().map(|text| Filter::read(text)).collect();
    let group_by = match (args.compat, args.group_by) {
        (Some(CompatArg::Pt), GroupByArg::Fingerprint) => GroupBy::CompatFingerprint,
        (_, GroupByArg::Fingerprint) => GroupBy::Fingerprint,
        (_, GroupByArg::Kind) => GroupBy::Kind,
        (_, GroupByArg::User) => GroupBy::User,
        (_, GroupByArg::Host) => GroupBy::Host,
        (_, GroupByArg::Database) => GroupBy::Database,
    };
    Ok(Options {
        group_by,
        mode: SqlMode::default(),
        ahead_seconds: i64::from(now.offset().seconds()),
        since_us: moment(&args.since)?,
        until_us: moment(&args.until)?,
        filters: filters.map_err(|error| usage(anyhow!("--filter {error}")))?,
        ..Options::default()
    })
}

/// The order of the classes.
pub(super) fn order(args: &Queries) -> Result<Order> {
    match &args.order_by {
        None => Ok(Order::Usual),
        Some(text) => {
            Order::read(text).map_err(|error| usage(anyhow!("--order-by {text}: {error}")))
        }
    }
}

/// Classes that are told one by one.
pub(super) fn limit(args: &Queries) -> Option<usize> {
    match args.limit {
        Some(0) => None,
        Some(limit) => Some(limit),
        None if args.json => None,
        None => Some(CLASSES_FOR_PEOPLE),
    }
}

/// A moment, microseconds since 1970 UTC: `2026-11-20T14:00:00Z`, `2026-11-20 14:00`, `2026-11-20`, `14:00` (today), or
/// how long ago (`90s`). Without a zone it is in that of `now`; with `UTC` behind it it is what our outputs print.
pub(crate) fn parse_time(text: &str, now: &Zoned) -> Result<i64> {
    let text = text.trim();
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment.as_microsecond());
    }
    let (civil, is_utc) = without_utc(text);
    let now = match is_utc {
        true => now.with_time_zone(TimeZone::UTC),
        false => now.clone(),
    };
    let zoned = |moment: DateTime| -> Result<i64> {
        let zoned = moment.to_zoned(now.time_zone().clone())?;
        Ok(zoned.timestamp().as_microsecond())
    };
    if let Ok(moment) = civil.parse::<DateTime>() {
        return zoned(moment);
    }
    if let Ok(time) = civil.parse::<Time>() {
        return zoned(now.date().to_datetime(time));
    }
    if let Ok(ago) = duration(text) {
        let ago_us = i64::try_from(ago.as_micros()).unwrap_or(i64::MAX);
        return Ok(now.timestamp().as_microsecond().saturating_sub(ago_us));
    }
    bail!(
        "'{text}' is not a time: use for example 14:00, '2026-11-20 14:00', '2026-11-20 14:00 UTC' or 2h (ago)"
    )
}

/// Whether it is a time without a date.
pub(crate) fn is_time_of_day(text: &str) -> bool {
    // jiff reads the time of a whole moment as well.
    let time = without_utc(text.trim()).0;
    time.parse::<Time>().is_ok() && time.parse::<Date>().is_err()
}

/// A time without the name of its zone, and whether that was UTC.
fn without_utc(text: &str) -> (&str, bool) {
    let civil = text.strip_suffix("UTC").or(text.strip_suffix('Z'));
    civil.map_or((text, false), |civil| (civil.trim_end(), true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read() {
        let now: Zoned = "2026-11-20T15:00:00[UTC]".parse().unwrap();
        let us = |text: &str| text.parse::<Timestamp>().unwrap().as_microsecond();
        for (text, moment_us) in [
            ("2026-11-20T14:00:00Z", us("2026-11-20T14:00:00Z")),
            ("2026-11-20T14:00:00+02:00", us("2026-11-20T12:00:00Z")),
            ("90s", us("2026-11-20T14:58:30Z")),
            ("2h", us("2026-11-20T13:00:00Z")),
        ] {
            assert_eq!(parse_time(text, &now).unwrap(), moment_us, "{text}");
        }
        assert!(parse_time("soon", &now).is_err());
    }

    #[test]
    fn a_time_is_in_the_zone_of_who_asks_or_utc_as_it_is_printed() {
        let now: Zoned = "2026-11-20T23:30:00-05:00[-05:00]".parse().unwrap();
        let us = |text: &str| text.parse::<Timestamp>().unwrap().as_microsecond();
        for (text, moment_us) in [
            ("2026-11-20 14:00", us("2026-11-20T19:00:00Z")),
            ("2026-11-20", us("2026-11-20T05:00:00Z")),
            ("14:00:05", us("2026-11-20T19:00:05Z")),
            ("2026-11-20 14:00 UTC", us("2026-11-20T14:00:00Z")),
            // In UTC the next day has begun.
            ("04:12:05 UTC", us("2026-11-21T04:12:05Z")),
            ("04:12Z", us("2026-11-21T04:12:00Z")),
            (
                cli::output::date(1_715_483_525_000).as_str(),
                1_715_483_525_000_000,
            ),
        ] {
            assert_eq!(parse_time(text, &now).unwrap(), moment_us, "{text}");
        }
        assert!(is_time_of_day("04:12 UTC") && is_time_of_day("04:12"));
        assert!(!is_time_of_day("2026-11-20 14:00 UTC") && !is_time_of_day("2h"));
    }
}
