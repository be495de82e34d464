//! What the recorder saw of a stage, with what its users felt, in one file: tests of the detector replay it.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use cli::recorded;
use serde_json::{Value, json};

use super::client_latency::ClientStall;

/// So much of the begin of a stage is kept, milliseconds.
const STRETCH_MAX_MS: i64 = 3_600_000;

/// What is true of a stage. Times are of the wall clock, milliseconds.
pub(super) struct Truth<'a> {
    /// What was done to it, in words.
    pub(super) what: String,
    /// Each stall that was made, with what was felt of it.
    pub(super) stalls: Vec<(String, Option<&'a ClientStall>, Range<i64>)>,
    /// Stretches in which somebody waited or was answered slowly, whatever the reason.
    pub(super) slow: Vec<Range<i64>>,
}

/// Writes the file of the stage whose recorder wrote to `from`.
pub(super) fn write(to: &Path, from: &Path, name: &str, truth: &Truth) -> Result<()> {
    let history = recorded::history(from, None)?;
    let nothing = || format!("{}: nothing was recorded", history.display());
    let all = store::history_coverage(&history, 0, i64::MAX / 2)?;
    let (first, last) = all
        .first_wall_ms
        .zip(all.last_wall_ms)
        .with_context(nothing)?;
    // Of a longer stretch not all readings are kept.
    let last = last.min(first + STRETCH_MAX_MS);
    let stretch = store::read_history(&history, first, last, &[])?.with_context(nothing)?;
    let zero = stretch.incident.clock.wall_at_zero_ms;
    let mut text = head(truth, zero).to_string();
    text.push('\n');
    for line in recorder::recording(&stretch.incident) {
        writeln!(text, "{line}")?;
    }
    std::fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    let path = to.join(format!("{name}.jsonl"));
    std::fs::write(&path, text).with_context(|| path.display().to_string())
}

/// The first line, by the recorder's clock.
fn head(truth: &Truth, zero: i64) -> Value {
    let own = |range: &Range<i64>| json!([range.start - zero, range.end - zero]);
    let stalls = truth.stalls.iter().map(|(what, felt, done)| {
        let felt = felt.map(|felt| {
            json!({
                "from": felt.from_ms - zero,
                "to": felt.to_ms - zero,
                "earliest": felt.earliest_ms - zero,
                "latest": felt.latest_ms - zero,
                "share": felt.share,
            })
        });
        json!({ "what": what, "done": own(done), "felt": felt })
    });
    json!({
        "recording": truth.what,
        "stalls": stalls.collect::<Vec<_>>(),
        "slow": merged(&truth.slow).iter().map(own).collect::<Vec<_>>(),
    })
}

/// The same time in as few stretches as can be.
fn merged(stretches: &[Range<i64>]) -> Vec<Range<i64>> {
    let mut sorted = stretches.to_vec();
    sorted.sort_unstable_by_key(|stretch| stretch.start);
    let mut merged: Vec<Range<i64>> = Vec::new();
    for stretch in sorted {
        match merged.last_mut() {
            Some(last) if stretch.start <= last.end => last.end = last.end.max(stretch.end),
            _ => merged.push(stretch),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_that_touch_are_one() {
        let all = [5..9, 1..3, 3..4, 20..21, 6..7];
        assert_eq!(merged(&all), [1..4, 5..9, 20..21]);
        assert!(merged(&[]).is_empty());
    }
}
