//! Where the stages tell what they found: the file that is kept, a line for people, and the list for the table.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use cli::output;

use super::lines::{Length, Line, Stall};
use super::recording::{self, Truth};
use crate::args::Sweep;
use crate::scenario::result_lines;

/// So many stages with something to look at keep their directories.
const KEPT_MAX: usize = 50;

/// Shared by all stages.
pub(super) struct Report {
    keep: Option<PathBuf>,
    recordings: Option<PathBuf>,
    quiet: bool,
    inner: Mutex<Inner>,
}

struct Inner {
    lines: Vec<Line>,
    directories: usize,
}

impl Report {
    /// Goes on after these lines.
    pub(super) fn new(args: &Sweep, lines: Vec<Line>) -> Self {
        let inner = Inner {
            lines,
            directories: 0,
        };
        Self {
            keep: args.keep.clone(),
            recordings: args.recordings.clone(),
            quiet: args.json,
            inner: Mutex::new(inner),
        }
    }

    /// Keeps lines at once: what comes after them may be interrupted.
    pub(super) fn keep(&self, lines: &[Line]) -> Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = &self.keep {
            result_lines::add(path, lines)?;
        }
        inner.lines.extend(lines.iter().cloned());
        if !self.quiet {
            for text in lines.iter().filter_map(told) {
                output::print_line(&format!("{}  {text}", now()))?;
            }
        }
        Ok(())
    }

    /// A remark.
    pub(super) fn note(&self, text: &str) {
        output::note(text);
    }

    /// Keeps what the detector saw of a stage, where that is wanted.
    pub(super) fn record<'t>(&self, dir: &Path, truth: impl FnOnce() -> Truth<'t>) {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        if let Some(to) = &self.recordings
            && let Err(why) = recording::write(to, dir, &name, &truth())
        {
            self.note(&format!("{name}: no recording: {why:#}"));
        }
    }

    /// Removes what a stage left on the disk: all of it, or where there is something to look at the incidents that
    /// nobody asks for.
    pub(super) fn clean(
        &self,
        dir: &Path,
        has_failed: bool,
        written: &BTreeMap<String, PathBuf>,
        wanted: &[String],
    ) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if !has_failed || inner.directories >= KEPT_MAX {
            // What is left is the disk's affair.
            let _ = std::fs::remove_dir_all(dir);
            return;
        }
        inner.directories += 1;
        for (id, path) in written {
            if !wanted.contains(id) {
                let _ = std::fs::remove_file(path);
            }
        }
    }

    /// All lines, those of before first.
    pub(super) fn into_lines(self) -> Vec<Line> {
        let inner = self.inner.into_inner();
        inner.unwrap_or_else(PoisonError::into_inner).lines
    }
}

fn now() -> String {
    output::clock(jiff::Timestamp::now().as_millisecond())
        .chars()
        .take(8)
        .collect()
}

/// A line for people.
fn told(line: &Line) -> Option<String> {
    Some(match line {
        Line::Stall(stall) => told_of(stall),
        Line::FalseAlarm(alarm) => format!(
            "{}  FALSE ALARM, {}: {} [{}]",
            alarm.from.server, alarm.beside, alarm.says, alarm.rule
        ),
        Line::Healthy(healthy) => match &healthy.skipped {
            Some(why) => format!(
                "{}  healthy, {}: skipped: {why}",
                healthy.from.server, healthy.item
            ),
            None => format!(
                "{}  healthy, {}: {:.0} s, {} false alarms, {} notices while clients hung",
                healthy.from.server,
                healthy.item,
                healthy.seconds,
                healthy.false_alarms,
                healthy.felt
            ),
        },
        Line::Watched(_) => return None,
    })
}

fn told_of(stall: &Stall) -> String {
    let cell = stall.cell;
    let head = format!(
        "{}  {:<21} pool {:>3} {:>9}  {:>2} s, {:>2} s after",
        stall.from.server,
        cell.mechanism.name(),
        cell.pool,
        cell.load.name(),
        cell.length_s,
        cell.distance_s,
    );
    let felt = stall
        .felt
        .as_ref()
        .map_or(0.0, super::client_latency::ClientStall::seconds);
    let seconds =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:+.1}"));
    match (stall.length(), stall.noticed) {
        (Length::NotFelt, false) => format!("{head}  not felt"),
        (_, true) => format!(
            "{head}  felt {felt:>4.1} s  noticed after {} s, onset {}, end {}{}  {}",
            seconds(stall.delay_s),
            seconds(stall.onset_error_s),
            seconds(stall.end_error_s),
            if stall.pieces > 1 {
                format!(", in {} pieces", stall.pieces)
            } else {
                String::new()
            },
            stall.rule.as_deref().unwrap_or("-"),
        ),
        (Length::Moment, false) => {
            format!("{head}  felt {felt:>4.1} s  not noticed, too short to count")
        }
        (_, false) if stall.merged => {
            format!("{head}  felt {felt:>4.1} s  MISSED: merged with the previous stall")
        }
        (_, false) => format!("{head}  felt {felt:>4.1} s  MISSED"),
    }
}
