//! A comparison in sentences.

use super::case::Case;
use super::signals::ALPHA;
use super::{Answer, Fate, Load, Recurrence, Role, SignalChange};
use crate::human::{self, Show};

/// Signals that the sentence names, at the most.
const NAMED_MAX: usize = 2;

/// The answer in one sentence.
pub(super) fn sentence(
    case: &Case,
    answer: Answer,
    told: &[&SignalChange],
    doubt: Option<&String>,
) -> String {
    let title = case.cause.map(|cause| cause.title.as_str());
    let clause = match (answer, title) {
        (Answer::Worked, Some(title)) => format!("Worked: {title} is gone"),
        (Answer::Worked, None) => "Worked: the server became faster".to_owned(),
        (Answer::NoEffect, Some(title)) => format!("No effect: {title} as before"),
        (Answer::NoEffect, None) => "No effect: nothing changed for clients".to_owned(),
        (Answer::Worse, Some(title)) => format!("Worse: there is more of {title}"),
        (Answer::Worse, None) => "Worse: the server became slower".to_owned(),
        (Answer::NotProven, title) => {
            let of = title.map_or_else(String::new, |title| format!(" for {title}"));
            let doubt = doubt.map_or("nothing suggests an answer", String::as_str);
            return format!("Not proven{of}: {doubt}.");
        }
    };
    let numbers: Vec<String> = told.iter().take(NAMED_MAX).map(|row| brief(row)).collect();
    format!("{clause}; {}.", numbers.join("; "))
}

/// "X fell from 1 to 2 (-50 %, 95 % interval -60 % to -40 %)".
pub(super) fn brief(row: &SignalChange) -> String {
    if let Some(told) = by_side(row) {
        return told;
    }
    let say = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| row.say(value));
    let verb = match row.difference {
        Some(difference) if row.fate != Fate::Same && difference < 0.0 => "fell",
        Some(difference) if row.fate != Fate::Same && difference > 0.0 => "rose",
        _ => "went",
    };
    format!(
        "{} {verb} from {} to {} ({}, 95 % interval {})",
        row.title,
        say(row.before.mean),
        say(row.after.mean),
        row.say_change(),
        row.say_interval()
    )
}

/// "X was below 108 in 97 % of the readings before and 0 % after": where the side of the limit decided, and the means
/// alone would not have.
fn by_side(row: &SignalChange) -> Option<String> {
    let decided = row.conclusive && matches!(row.fate, Fate::Gone | Fate::More);
    if !decided || row.p_adjusted.or(row.p)? < ALPHA {
        return None;
    }
    let (before, after) = row.held()?;
    let side = if row.low_is_bad { "below" } else { "above" };
    Some(format!(
        "{} was {side} {} in {} of the readings before and {} after",
        row.title,
        row.say(row.limit?),
        percent(before),
        percent(after)
    ))
}

/// Why, of one signal.
pub(super) fn reason(row: &SignalChange) -> String {
    let mut out = match row.fate {
        Fate::NotMeasured => format!("{}: measured on one side only", row.title),
        Fate::NotThere => format!("{}: no sign of the cause on either side", row.title),
        _ => brief(row),
    };
    if row.fate == Fate::NotThere || by_side(row).is_some() {
        return out;
    }
    if let Some((before, after)) = row.held() {
        let (before, after) = (percent(before), percent(after));
        out.push_str(&format!(
            "; a sign of the cause in {before} of the readings before and {after} after"
        ));
    }
    if let Some(p) = row.p_adjusted.filter(|_| row.role == Role::Deciding) {
        out.push_str(&match p {
            p if p < 0.001 => "; p < 0.001".to_owned(),
            p => format!("; p = {p:.3}"),
        });
    }
    out
}

/// The load, told wherever it is known.
pub(super) fn load(load: Option<&Load>) -> Option<String> {
    let load = load?;
    let without = match load.without.is_empty() {
        true => String::new(),
        false => format!(" ({} not counted)", load.without.join(", ")),
    };
    let ratio = load.ratio.map(|ratio| format!(": {}", percent(ratio)));
    let ahead = match load.before_is_ahead {
        true => " (until it no longer answered)",
        false => "",
    };
    Some(format!(
        "load: {} statements before{ahead}, {} after{without}{}",
        rate(load.before),
        rate(load.after),
        ratio.unwrap_or_default()
    ))
}

/// How often it came.
pub(super) fn recurrence(seen: &Recurrence) -> String {
    let noun = match seen.counted {
        "incidents" => "stalls of this kind",
        _ => "episodes",
    };
    format!(
        "{noun}: {} in {} before, {} in {} after (p = {:.3}){}",
        seen.before,
        hours(seen.before_hours),
        seen.after,
        hours(seen.after_hours),
        seen.p,
        match seen.counts {
            true => "",
            false => "; it was there nearly all the time before, so this does not count",
        }
    )
}

impl SignalChange {
    /// The mean's change in percent as people read it; in units where there was nothing before.
    pub fn say_change(&self) -> String {
        match (self.ratio, self.difference) {
            (Some(ratio), _) => factor(ratio),
            (None, Some(difference)) => signed(self, difference),
            _ => "–".to_owned(),
        }
    }

    /// The interval of that.
    pub fn say_interval(&self) -> String {
        let joined = |low: String, high: String, unit: &str| match low == high {
            true => format!("{low}{unit}"),
            false => format!("{low} to {high}{unit}"),
        };
        match (self.ratio, self.ratio_interval, self.difference_interval) {
            (Some(ratio), Some((low, high)), _) if ratio >= TIMES_FROM => {
                joined(times(low), times(high), "")
            }
            (Some(_), Some((low, high)), _) if high.is_finite() => {
                joined(change_number(low), change_number(high), " %")
            }
            (Some(_), Some((low, _)), _) => open_above(low),
            (_, _, Some((low, high))) => joined(signed(self, low), signed(self, high), ""),
            _ => "–".to_owned(),
        }
    }
}

/// An interval without an upper end, from this ratio on.
fn open_above(low: f64) -> String {
    let low = change_percent(low);
    // From nothing to anything: nothing is known.
    match low.starts_with("-100") {
        true => "unknown".to_owned(),
        false => format!("{low} or more"),
    }
}

/// From here on a factor is read more easily than percents.
const TIMES_FROM: f64 = 3.0;

fn factor(ratio: f64) -> String {
    match ratio >= TIMES_FROM {
        true => times(ratio),
        false => change_percent(ratio),
    }
}

fn times(ratio: f64) -> String {
    match ratio.is_finite() {
        true => format!("×{}", human::show(ratio, Show::Count)),
        false => "any".to_owned(),
    }
}

fn change_percent(ratio: f64) -> String {
    match ratio.is_finite() {
        true => format!("{} %", change_number(ratio)),
        false => "any".to_owned(),
    }
}

fn change_number(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    match percent {
        percent if percent <= -99.95 => "-100".to_owned(),
        percent if percent.abs() < 0.05 => "0".to_owned(),
        percent if percent.abs() < 10.0 || percent < -99.0 => format!("{percent:+.1}"),
        percent => format!("{percent:+.0}"),
    }
}

fn signed(row: &SignalChange, value: f64) -> String {
    match value {
        value if value > 0.0 => format!("+{}", row.say(value)),
        value => row.say(value),
    }
}

/// A share as whole percents, exact near the ends.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        percent if percent > 0.0 && percent < 1.0 || percent > 99.0 && percent < 100.0 => {
            format!("{percent:.1} %")
        }
        percent => format!("{percent:.0} %"),
    }
}

pub(super) fn rate(value: f64) -> String {
    human::show(value, Show::PerSecond)
}

/// A time given in hours.
pub(super) fn hours(hours: f64) -> String {
    let seconds = (hours * 3_600.0).round();
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7_200.0 => format!("{:.0} min", seconds / 60.0),
        seconds if seconds < 172_800.0 => format!("{:.1} h", seconds / 3_600.0),
        seconds => format!("{:.0} days", seconds / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_read_well() {
        for (ratio, words) in [
            (0.0, "-100 %"),
            (0.004, "-99.6 %"),
            (0.5, "-50 %"),
            (0.98, "-2.0 %"),
            (1.0, "0 %"),
            (2.5, "+150 %"),
            (12.34, "×12.3"),
            (f64::INFINITY, "any"),
        ] {
            assert_eq!(factor(ratio), words);
        }
        assert_eq!(open_above(0.0), "unknown");
        assert_eq!(open_above(0.5), "-50 % or more");
        assert_eq!(hours(0.01), "36 s");
        assert_eq!(hours(1.0), "60 min");
        assert_eq!(hours(2.25), "2.2 h");
        assert_eq!(
            (percent(0.4), percent(0.995)),
            ("40 %".to_owned(), "99.5 %".to_owned())
        );
    }
}
