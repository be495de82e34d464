//! Two stretches of the history compared.

use std::path::Path;

use anyhow::{Context, Result, bail};
use cli::{duration, output, recorded, usage};
use diagnosis::compare::{Stretch, Subject, cause_in_question};
use diagnosis::{Cause, diagnose};
use jiff::Zoned;
use model::TextKind;
use store::HistoryWindow;

use super::{Compared, answered_ms, fix, wanted};
use crate::args::Compare;
use crate::causes;
use crate::queries::options::parse_time;

/// What is looked at before a change when nobody says.
const BEFORE_MS: i64 = 2 * 3_600_000;

/// A longer stretch is not read, milliseconds: a week.
const LENGTH_MAX_MS: i64 = 7 * 24 * 3_600_000;

/// Incidents that are diagnosed to know the cause in question, at the most.
const DIAGNOSED_MAX: usize = 10;

/// Two stretches of time, milliseconds since 1970 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times {
    before: (i64, i64),
    after: (i64, i64),
}

pub(super) fn compare(args: &Compare, dir: &Path) -> Result<Compared> {
    let applied = match &args.since_fix {
        Some(id) => Some(fix::last(&fix::places(args, dir), id)?),
        None => None,
    };
    // What the command line alone does not make sense of is told before anything is read.
    let times = times(args, applied.as_ref(), &Zoned::now()).map_err(usage)?;
    let path = recorded::history(dir, args.server.as_deref())?;
    let read = |(from, to): (i64, i64), side: &str| -> Result<HistoryWindow> {
        let Some(stretch) = store::read_history(&path, from, to, &[TextKind::Processlist])? else {
            bail!(
                "{}: nothing was recorded {side}, from {} to {}",
                path.display(),
                output::date(from),
                output::date(to)
            );
        };
        if stretch.damaged_chunks > 0 {
            output::note(&format!(
                "{}: {} chunks cannot be read",
                path.display(),
                stretch.damaged_chunks
            ));
        }
        if let Some(bytes) = stretch.over_bytes {
            output::note(&format!(
                "{}: a part of the time {side} was left out, because it needs more than {} MiB of memory; choose a shorter time",
                path.display(),
                bytes >> 20
            ));
        }
        Ok(stretch)
    };
    let (before, after) = (read(times.before, "before")?, read(times.after, "after")?);
    let of_fix = applied
        .as_ref()
        .and_then(|fix| causes::catalogue().get(&fix.cause));
    let cause = match wanted(args)?.or(of_fix.map(Some)) {
        Some(cause) => cause,
        None => cause_of(dir, times, &before, &after),
    };
    let subject = |stretch: &HistoryWindow| -> (model::Window, u64) {
        (stretch.window, answered_ms(stretch))
    };
    let ((first, first_ms), (second, second_ms)) = (subject(&before), subject(&after));
    let comparison = diagnosis::compare::compare(
        &Subject {
            incident: &before.incident,
            window: first,
            stretch: Stretch::Window,
            recorded_ms: Some(first_ms),
            stalls: None,
        },
        &Subject {
            incident: &after.incident,
            window: second,
            stretch: Stretch::Window,
            recorded_ms: Some(second_ms),
            stalls: None,
        },
        cause,
    );
    if let Some(fix) = applied.filter(|_| args.is_of_fix_alone()) {
        fix::note_proof(&fix, comparison.verdict);
    }
    Ok(Compared {
        comparison,
        sides: [(before.incident, first), (after.incident, second)],
    })
}

/// The cause in question: that of the incidents of the time before, the newest first, of what the
/// history itself shows, and then the same of the time after.
fn cause_of(
    dir: &Path,
    times: Times,
    before: &HistoryWindow,
    after: &HistoryWindow,
) -> Option<&'static Cause> {
    let catalogue = causes::catalogue();
    let mut found = recorded::summaries(dir);
    found.reverse();
    for ((from, to), stretch) in [(times.before, before), (times.after, after)] {
        let incident = &stretch.incident;
        let inside = found.iter().filter(|(_, summary)| {
            let onset = summary.clock.wall_ms(summary.stall.onset);
            summary.host == incident.host
                && summary.server.label == incident.server.label
                && (from..=to).contains(&onset)
        });
        let of_files = inside.take(DIAGNOSED_MAX).find_map(|(path, _)| {
            let incident = store::read_incident_within(path, store::READ_BYTES_MAX / 4)
                .ok()?
                .incident;
            cause_in_question(&[&diagnose(&incident, catalogue)], catalogue)
        });
        let cause = of_files
            .or_else(|| cause_in_question(&[&diagnose(&stretch.incident, catalogue)], catalogue));
        if cause.is_some() {
            return cause;
        }
    }
    None
}

/// The stretches that are asked for.
fn times(args: &Compare, fix: Option<&fix::Applied>, now: &Zoned) -> Result<Times> {
    let now_ms = now.timestamp().as_millisecond();
    let before = args
        .before
        .as_deref()
        .map(|text| side(text, now))
        .transpose();
    let before = before.context("--before")?;
    let after = args
        .after
        .as_deref()
        .map(|text| side(text, now))
        .transpose();
    let after = after.context("--after")?;
    let at = match &args.at {
        Some(text) => Some(parse_time(text, now).context("--at")? / 1000),
        None => fix.map(|fix| fix.at_ms),
    };
    let after = match (after, at) {
        (Some(Side::Range(from, to)), _) => (from, to),
        (Some(Side::Length(length)), Some(at)) => (at, at.saturating_add(length)),
        (Some(Side::Length(length)), None) => (now_ms.saturating_sub(length), now_ms),
        (None, Some(at)) => (at, now_ms),
        (None, None) => bail!(
            "name what to compare: two incidents, --before and --after, --at MOMENT, or --since-fix"
        ),
    };
    let before = match (before, at) {
        (Some(Side::Range(from, to)), _) => (from, to),
        (Some(Side::Length(length)), at) => {
            let at = at.unwrap_or(after.0);
            (at.saturating_sub(length), at)
        }
        (None, Some(at)) => (at.saturating_sub(BEFORE_MS), at),
        (None, None) => bail!("--before is missing: how long before, or FROM..TO"),
    };
    // Once a fix was put back, it can do nothing any more.
    let until = fix.and_then(|fix| fix.until_ms).unwrap_or(now_ms);
    let after = (after.0, after.1.min(now_ms).min(until));
    for (name, (from, to)) in [("before", before), ("after", after)] {
        if to <= from {
            bail!(
                "the time {name} is empty: from {} to {}",
                output::date(from),
                output::date(to)
            );
        }
        if to - from > LENGTH_MAX_MS {
            bail!("the time {name} is longer than a week");
        }
    }
    if before.0 < after.1 && after.0 < before.1 {
        bail!("the times before and after overlap");
    }
    Ok(Times { before, after })
}

enum Side {
    /// Milliseconds.
    Length(i64),
    /// Milliseconds since 1970 UTC.
    Range(i64, i64),
}

/// `2h`, or `FROM..TO`.
fn side(text: &str, now: &Zoned) -> Result<Side> {
    if let Some((from, to)) = text.split_once("..") {
        let from = parse_time(from, now)? / 1000;
        let to = match to.trim() {
            "" => now.timestamp().as_millisecond(),
            to => parse_time(to, now)? / 1000,
        };
        return Ok(Side::Range(from, to));
    }
    match duration(text) {
        Ok(length) => Ok(Side::Length(
            i64::try_from(length.as_millis()).unwrap_or(i64::MAX),
        )),
        Err(problem) => bail!("'{text}' is neither a time such as 2h nor FROM..TO: {problem}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        compare: Compare,
    }

    fn parse_times(line: &[&str], fix: Option<i64>) -> Result<Times> {
        let fix = fix.map(|at_ms| fix::Applied {
            id: String::new(),
            at_ms,
            until_ms: None,
            cause: String::new(),
            journal: std::path::PathBuf::new(),
        });
        let now: Zoned = "2026-11-20T15:00:00[UTC]".parse().unwrap();
        let line = Line::parse_from([&["compare"], line].concat());
        times(&line.compare, fix.as_ref(), &now)
    }

    fn ms(text: &str) -> i64 {
        let moment: jiff::Timestamp = text.parse().unwrap();
        moment.as_millisecond()
    }

    #[test]
    fn stretches_are_where_they_are_asked_for() {
        let times = parse_times(&["--before", "2h", "--after", "10m"], None).unwrap();
        assert_eq!(
            times.after,
            (ms("2026-11-20T14:50:00Z"), ms("2026-11-20T15:00:00Z"))
        );
        assert_eq!(
            times.before,
            (ms("2026-11-20T12:50:00Z"), ms("2026-11-20T14:50:00Z"))
        );
        let at = "2026-11-20T14:00:00Z";
        let times = parse_times(&["--at", at, "--before", "1h", "--after", "30m"], None).unwrap();
        assert_eq!(times.before, (ms("2026-11-20T13:00:00Z"), ms(at)));
        assert_eq!(times.after, (ms(at), ms("2026-11-20T14:30:00Z")));
        let times = parse_times(&["--since-fix"], Some(ms(at))).unwrap();
        assert_eq!(times.before, (ms("2026-11-20T12:00:00Z"), ms(at)));
        assert_eq!(times.after, (ms(at), ms("2026-11-20T15:00:00Z")));
        let range = "2026-11-20T13:00:00Z..2026-11-20T13:30:00Z";
        let times = parse_times(&["--before", range, "--after", "5m"], None).unwrap();
        assert_eq!(
            times.before,
            (ms("2026-11-20T13:00:00Z"), ms("2026-11-20T13:30:00Z"))
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in [
            &[][..],
            &["--after", "10m"],
            &["--before", "soon", "--after", "10m"],
            &["--before", "0s", "--after", "10m"],
            &["--before", "5m..1m", "--after", "10m"],
            &["--before", "30d", "--after", "10m"],
        ] {
            assert!(parse_times(line, None).is_err(), "{line:?}");
        }
    }
}
