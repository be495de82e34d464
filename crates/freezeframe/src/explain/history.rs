//! `explain --at`: an incident of any time that the history holds.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cli::{output, recorded, usage};
use jiff::Zoned;
use model::{
    Absent, Incident, Millis, Reason, StackEvidence, Stall, TextKind, TimedAbsent, Trigger, Window,
};
use recorder::{RecorderConfig, Replayed, replay};
use store::HistoryWindow;

use crate::args::ExplainAt;
use crate::config::Config;
use crate::of_service;
use crate::queries::options::{is_time_of_day, parse_time};

/// A longer time is not made one incident of, milliseconds: of more, too few readings are kept.
const LENGTH_MAX_MS: i64 = 30 * 60_000;

const DAY_MS: i64 = 24 * 3_600_000;

/// An incident that was made of the history, and its file where it is kept.
pub(super) struct HistoryIncident {
    pub(super) incident: Incident,
    pub(super) kept: Option<PathBuf>,
}

/// Makes it.
pub(super) fn make(at: &str, args: &ExplainAt, config: Config) -> Result<HistoryIncident> {
    let now = Zoned::now();
    let from = start(at, &now).map_err(usage)?;
    let length = i64::try_from(args.for_time.as_millis()).unwrap_or(i64::MAX);
    if !(1..=LENGTH_MAX_MS).contains(&length) {
        return Err(usage(anyhow::anyhow!(
            "--for: more than 0 and at most 30 minutes"
        )));
    }
    let dir = of_service::directory(&config, args.dir.as_deref());
    let recording = config.recorder(dir.clone())?;
    let path = recorded::history(&dir, args.server.as_deref())?;
    let now_ms = now.timestamp().as_millisecond();
    let asked = (from, from.saturating_add(length).min(now_ms));
    let stretch = read(&path, asked, &recording)?;
    let mut incident = incident_of(stretch, asked, &recording);
    incident.queries = recorder::counted_around(&incident);
    notice_captured(&dir, &incident, asked);
    let kept = match args.keep {
        true => Some(store::write_incident(&incident, &dir)?),
        false => None,
    };
    Ok(HistoryIncident { incident, kept })
}

/// The moment that is meant, milliseconds since 1970: a time of day that is still to come today was
/// yesterday.
fn start(at: &str, now: &Zoned) -> Result<i64> {
    let ms = parse_time(at, now).context("--at")? / 1000;
    let now_ms = now.timestamp().as_millisecond();
    if ms <= now_ms {
        return Ok(ms);
    }
    if is_time_of_day(at) {
        return Ok(ms - DAY_MS);
    }
    bail!("--at: {} is in the future", output::date(ms))
}

/// What the history holds of a time, with what is needed before and after it.
fn read(path: &Path, (from, to): (i64, i64), config: &RecorderConfig) -> Result<HistoryWindow> {
    let lead = config.before_ms.max(config.detect.baseline_ms);
    let stretch = store::read_history(
        path,
        from.saturating_sub_unsigned(lead),
        to.saturating_add_unsigned(config.after_ms),
        &TextKind::ALL,
    )?;
    let recorded = store::history_coverage(path, from, to)?;
    let Some(stretch) = stretch.filter(|_| recorded.ms > 0) else {
        let all = store::history_coverage(path, i64::MIN / 2, i64::MAX / 2)?;
        match all.first_wall_ms.zip(all.last_wall_ms) {
            Some((first, last)) => bail!(
                "{}: nothing was recorded from {} to {}; it holds some of the time from {} to {}",
                path.display(),
                output::date(from),
                output::date(to),
                output::date(first),
                output::date(last)
            ),
            None => bail!("{}: nothing was recorded yet", path.display()),
        }
    };
    if stretch.damaged_chunks > 0 {
        output::note(&format!(
            "{}: {} chunks cannot be read",
            path.display(),
            stretch.damaged_chunks
        ));
    }
    Ok(stretch)
}

/// The stall of that time: the longest that the detector sees in what was recorded, else all of it.
fn incident_of(
    stretch: HistoryWindow,
    (from, to): (i64, i64),
    config: &RecorderConfig,
) -> Incident {
    let mut incident = stretch.incident;
    let clock = incident.clock.clone();
    let own = |wall: i64| u64::try_from(wall.saturating_sub(clock.wall_at_zero_ms)).unwrap_or(0);
    let asked = Window {
        from: own(from),
        to: own(to),
    };
    let stalls = replay(&incident, &config.detect);
    let end_of = |stall: &Replayed| stall.end.unwrap_or(stretch.window.to);
    let inside = |stall: &&Replayed| stall.onset <= asked.to && end_of(stall) >= asked.from;
    let longest = stalls
        .iter()
        .filter(inside)
        .max_by_key(|stall| end_of(stall).saturating_sub(stall.onset));
    incident.stall = match longest {
        Some(stall) => Stall {
            onset: stall.onset,
            trigger: stall.at,
            end: stall.end,
            triggers: stall.triggers.clone(),
            earlier: Vec::new(),
        },
        None => Stall {
            onset: asked.from,
            trigger: asked.from,
            end: Some(asked.to),
            triggers: vec![Trigger {
                rule: Stall::REQUESTED.to_owned(),
                says: "requested; no stall was noticed in this time".to_owned(),
            }],
            earlier: Vec::new(),
        },
    };
    let onset = incident.stall.onset;
    let window = Window {
        from: onset.saturating_sub(config.before_ms),
        to: end_of_stall(&incident.stall, stretch.window.to).saturating_add(config.after_ms),
    };
    incident.stall.earlier = stalls
        .iter()
        .filter(|stall| stall.onset < onset)
        .filter_map(|stall| {
            Some(Window {
                from: stall.onset,
                to: stall.end?,
            })
        })
        .filter(|stall| stall.to > window.from)
        .collect();
    let others = stalls
        .iter()
        .filter(inside)
        .filter(|stall| stall.onset != onset);
    let others: Vec<String> = others
        .map(|stall| output::clock(clock.wall_ms(stall.onset)))
        .collect();
    if !others.is_empty() {
        output::note(&format!(
            "this explains the longest stall of this time; others began at {}",
            others.join(", ")
        ));
    }
    cut(&mut incident, window);
    let id = recorder::incident_id(
        &incident.server.label,
        clock.wall_ms(incident.stall.trigger),
    );
    incident.id = format!("{id}-history");
    incident
}

fn end_of_stall(stall: &Stall, last: Millis) -> Millis {
    stall.end.unwrap_or(last)
}

/// Leaves what an incident would hold, and says what a history does not.
fn cut(incident: &mut Incident, window: Window) {
    incident.timeline = incident.timeline.between(window);
    let ticks = incident.timeline.sources.iter();
    let last = ticks
        .filter_map(|source| source.ticks.last().copied())
        .max();
    incident.window = Window {
        from: window.from,
        to: window.to.min(last.unwrap_or(window.to)),
    };
    let is_inside = |at: Millis| (window.from..=window.to).contains(&at);
    incident.texts.retain(|timed| is_inside(timed.at));
    incident.facts.retain(|timed| timed.at <= window.to);
    incident
        .absent
        .retain(|timed| timed.last >= window.from && timed.first <= window.to);
    incident.stacks = StackEvidence::default();
    incident.absent.push(TimedAbsent {
        first: incident.stall.onset,
        last: incident.stall.onset,
        count: 1,
        absent: Absent::new(
            "stacks, profile, lock table, statements on the wire",
            Reason::NotRecorded,
            "made from the history, which does not keep them; a captured incident has them",
        ),
    });
}

/// A captured incident of the same time knows more.
fn notice_captured(dir: &Path, incident: &Incident, (from, to): (i64, i64)) {
    for (path, summary) in recorded::summaries(dir) {
        let stall = &summary.stall;
        let onset = summary.clock.wall_ms(stall.onset);
        let end = summary.clock.wall_ms(stall.end.unwrap_or(stall.trigger));
        let is_same =
            summary.server.label == incident.server.label && summary.host == incident.host;
        if is_same && onset <= to && end >= from && !summary.id.ends_with("-history") {
            output::note(&format!(
                "a stall of this time was captured, with stacks: freezeframe explain {}",
                crate::shell::word(&path.display().to_string())
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_is_the_last_one() {
        let now: Zoned = "2026-11-20T01:00:00[UTC]".parse().unwrap();
        let of = |text: &str| start(text, &now);
        let ms = |text: &str| {
            let moment: jiff::Timestamp = text.parse().unwrap();
            moment.as_millisecond()
        };
        assert_eq!(of("10m").unwrap(), ms("2026-11-20T00:50:00Z"));
        assert!(of("2026-11-21T00:00:00Z").is_err());
        assert_eq!(of("00:30").unwrap(), ms("2026-11-20T00:30:00Z"));
        assert_eq!(of("03:12").unwrap(), ms("2026-11-19T03:12:00Z"));
        assert_eq!(of("03:12 UTC").unwrap(), ms("2026-11-19T03:12:00Z"));
    }
}
