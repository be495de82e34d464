//! The one sentence of the first screen.

use model::{Millis, ProbeOutcome};
use report::format;

use super::view::View;
use crate::ink::{Ink, Line, cut};
use crate::model::RecorderState;
use crate::stats;

/// A query probe without an answer for so long is trouble, called a stall or not, milliseconds.
const UNANSWERED_MS: Millis = 2_000;

/// The one sentence: stalled or not, since when, what clients feel.
pub fn line(view: &View<'_>) -> Line {
    let felt = |line: Line| {
        let clients = if view.columns < 72 { "" } else { "clients " };
        line.add(
            Ink::Plain,
            &format!("  {clients}refused: {}", refused(view)),
        )
        .add(Ink::Plain, &format!("  answered: {}", answered(view)))
    };
    let told = view
        .model
        .recorder
        .as_ref()
        .filter(|_| view.state.at_wall_ms.is_none());
    if let Some(age) = told
        .and_then(|told| told.beat_age_ms)
        .filter(|age| *age > 5_000)
    {
        let words = format!(
            "NOT KNOWN  the recorder itself has hung for {}",
            format::duration(age)
        );
        return Line::colored(Ink::Bad, &words);
    }
    if let Some(ms) = view
        .model
        .silent_ms()
        .filter(|_| view.state.at_wall_ms.is_none())
    {
        let words = format!(
            "NOT KNOWN  nothing was recorded for {}: does the recorder still run?",
            format::duration(ms)
        );
        return Line::colored(Ink::Bad, &cut(&words, view.columns));
    }
    if let Some(ms) = view
        .model
        .ended_ms()
        .filter(|_| view.state.at_wall_ms.is_none())
    {
        let words = format!(
            "NOT KNOWN  no recorder runs; this ends {} ago. Now: live --record",
            format::duration(ms)
        );
        return Line::colored(Ink::Bad, &cut(&words, view.columns));
    }
    if let Some(stall) = view.model.stall_at(view.at) {
        let lasts = format::duration(view.at.saturating_sub(stall.onset));
        return felt(stalled(&lasts, view, stall.onset));
    }
    if let Some(ms) = told.and_then(|told| told.stalled_ms) {
        let onset = view.at.saturating_sub(ms);
        return felt(stalled(&format::duration(ms), view, onset));
    }
    if let Some(trouble) = trouble(view, told) {
        return felt(trouble);
    }
    let before = view
        .model
        .stalls
        .iter()
        .rev()
        .find(|stall| stall.onset <= view.at);
    let after = view.model.stalls.iter().find(|stall| stall.onset > view.at);
    let line = match (before.and_then(|stall| Some((stall, stall.end?))), after) {
        (Some((stall, end)), _) => Line::colored(Ink::Good, "HEALTHY").add(
            Ink::Plain,
            &format!(
                " for {} (stall of {}, {})",
                format::duration(view.at.saturating_sub(end)),
                view.clock(stall.onset),
                format::duration(end.saturating_sub(stall.onset))
            ),
        ),
        (None, Some(stall)) => Line::colored(Ink::Good, "HEALTHY").add(
            Ink::Plain,
            &format!(
                " still (a stall begins at {}, ] goes there)",
                view.clock(stall.onset)
            ),
        ),
        (None, None) => Line::colored(Ink::Good, "HEALTHY"),
    };
    match view.columns >= 100 || before.is_none() && after.is_none() {
        true => felt(line),
        false => line.add(Ink::Plain, &format!("  answered: {}", answered(view))),
    }
}

/// No stall is noticed, and yet it is not well, or nobody can tell: a gap must not look like health.
fn trouble(view: &View<'_>, told: Option<&RecorderState>) -> Option<Line> {
    let unanswered = told.and_then(|told| told.unanswered_ms);
    if let Some(ms) = unanswered.filter(|ms| *ms >= UNANSWERED_MS) {
        let words = format!("NO ANSWER {}", format::duration(ms));
        return Some(Line::colored(Ink::Bad, &words));
    }
    match refused(view) {
        "yes" => Some(Line::colored(Ink::Bad, "NO ANSWER")),
        "not known" if view.model.answered(view.at).is_none() => {
            Some(Line::colored(Ink::Bad, "NOT KNOWN"))
        }
        _ => None,
    }
}

fn stalled(lasts: &str, view: &View<'_>, onset: Millis) -> Line {
    if !view.model.clock().is_known() {
        // Captures of one moment, and nobody said of when.
        return Line::colored(Ink::Bad, "STALLED").add(Ink::Plain, " when it was captured");
    }
    Line::colored(Ink::Bad, &format!("STALLED {lasts}"))
        .add(Ink::Plain, &format!(" since {}", view.clock(onset)))
}

/// Whether clients are let in; how the probe ended is in its strip.
fn refused(view: &View<'_>) -> &'static str {
    match view.model.probe("probe.connect_outcome", view.at) {
        Some(outcome) if outcome.is_stall_sign() => "yes",
        Some(ProbeOutcome::Failed) | None => {
            match stats::now_of(view.timeline(), "probe.connect_us", view.at) {
                Some(_) => "no",
                None => "not known",
            }
        }
        Some(_) => "no",
    }
}

fn answered(view: &View<'_>) -> String {
    let told = view.model.answered(view.at).map(format::per_second);
    told.unwrap_or_else(|| "not known".to_owned())
}
