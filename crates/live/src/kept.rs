//! What was read of a history that is being written, and is read on from there: of a quarter of an hour only the last
//! seconds are new, and reading all of it each second would take a tenth of a processor.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use model::{Incident, Millis, TextKind, TimedAbsent, Timeline};

/// After so long it is read as a whole again: what is older than is looked at goes, and what was read beside the recorder's
/// writing cannot be wrong for longer.
const WHOLE_EVERY: Duration = Duration::from_secs(60);

/// So much before the last reading is read again, milliseconds: what takes long to read comes late.
const AGAIN_MS: i64 = 15_000;

/// A stretch of a history.
#[derive(Debug, Clone)]
pub(crate) struct Stretch {
    /// What was recorded.
    pub(crate) incident: Incident,
    /// Chunks that could not be read.
    pub(crate) damaged_chunks: usize,
    /// A part was left out for want of memory.
    pub(crate) is_cut: bool,
}

/// The last stretch up to the newest moment.
#[derive(Debug, Default)]
pub(crate) struct Kept(Option<KeptStretch>);

#[derive(Debug)]
struct KeptStretch {
    stretch: Stretch,
    /// What it is of, milliseconds since 1970 UTC.
    from: i64,
    to: i64,
    /// When it was read as a whole.
    read: Instant,
}

impl Kept {
    /// Reads what a history holds between two moments, milliseconds since 1970 UTC; `grows` while a recorder writes it and
    /// the newest is looked at.
    pub(crate) fn read(
        &mut self,
        path: &Path,
        (from, to): (i64, i64),
        kinds: &[TextKind],
        grows: bool,
    ) -> Result<Option<Stretch>> {
        if let Some(kept) = self
            .0
            .as_mut()
            .filter(|kept| grows && kept.reaches(from, to))
        {
            let begin = kept.last().saturating_sub(AGAIN_MS);
            if let Some(later) = read(path, (begin, to), kinds)? {
                kept.append(later, begin, to);
                return Ok(Some(kept.stretch.clone()));
            }
        }
        let Some(stretch) = read(path, (from, to), kinds)? else {
            return Ok(None);
        };
        let is_kept = grows && !stretch.is_cut && stretch.damaged_chunks == 0;
        self.0 = is_kept.then(|| KeptStretch {
            stretch: stretch.clone(),
            from,
            to,
            read: Instant::now(),
        });
        Ok(Some(stretch))
    }
}

fn read(path: &Path, (from, to): (i64, i64), kinds: &[TextKind]) -> Result<Option<Stretch>> {
    let read = store::read_history(path, from, to, kinds)?;
    Ok(read.map(|read| Stretch {
        incident: read.incident,
        damaged_chunks: read.damaged_chunks,
        is_cut: read.over_bytes.is_some(),
    }))
}

impl KeptStretch {
    /// What is wanted is this, and somewhat later.
    fn reaches(&self, from: i64, to: i64) -> bool {
        self.read.elapsed() < WHOLE_EVERY && self.from <= from && from < self.to && self.to <= to
    }

    /// The last reading, milliseconds since 1970 UTC: a recorder's disk may be slower than the clock.
    fn last(&self) -> i64 {
        let incident = &self.stretch.incident;
        let ticks = incident.timeline.sources.iter();
        let last = ticks.filter_map(|source| source.ticks.last()).max();
        let last = last.map_or(self.from, |at| incident.clock.wall_ms(*at));
        last.min(self.to)
    }

    /// Takes in what was read later, of the time from a moment on.
    fn append(&mut self, later: Stretch, from: i64, to: i64) {
        let own = &mut self.stretch.incident;
        let new = later.incident;
        let zero = own.clock.wall_at_zero_ms;
        let shift = new.clock.wall_at_zero_ms.saturating_sub(zero);
        let moved = |at: Millis| at.checked_add_signed(shift).unwrap_or(0);
        let since = u64::try_from(from.saturating_sub(zero)).unwrap_or(0);
        push(&mut own.timeline, &new.timeline, moved);
        own.texts.retain(|timed| timed.at < since);
        let texts = new.texts.into_iter().map(|mut timed| {
            timed.at = moved(timed.at);
            timed
        });
        own.texts.extend(texts.filter(|timed| timed.at >= since));
        own.facts.retain(|timed| timed.at < since);
        let facts = new.facts.into_iter().map(|mut timed| {
            timed.at = moved(timed.at);
            timed
        });
        own.facts.extend(facts.filter(|timed| timed.at >= since));
        for mut timed in new.absent {
            (timed.first, timed.last) = (moved(timed.first), moved(timed.last));
            add_absent(&mut own.absent, timed);
        }
        own.server = new.server;
        own.window.to = u64::try_from(to.saturating_sub(zero)).unwrap_or(own.window.to);
        self.stretch.damaged_chunks = later.damaged_chunks;
        self.to = to;
    }
}

/// Adds the ticks that a timeline does not have yet.
fn push(own: &mut Timeline, new: &Timeline, moved: impl Fn(Millis) -> Millis) {
    for (index, source) in new.sources.iter().enumerate() {
        let mut known = own.sources.iter().filter(|one| one.name == source.name);
        let last = known.next().and_then(|one| one.ticks.last().copied());
        let series = || new.series.iter().filter(|series| series.source == index);
        for (tick, at) in source.ticks.iter().enumerate() {
            let at = moved(*at);
            if last.is_some_and(|last| at <= last) {
                continue;
            }
            let values = series().filter_map(|series| {
                let value = series.values.get(tick).copied();
                let value = value.filter(|value| !value.is_nan())?;
                Some((series.name.as_str(), series.unit, series.kind, value))
            });
            own.push_values(&source.name, at, values);
        }
    }
}

/// The same absence goes on, or there is a new one.
fn add_absent(all: &mut Vec<TimedAbsent>, new: TimedAbsent) {
    match all.iter_mut().find(|one| one.absent == new.absent) {
        Some(known) if new.first <= known.last => known.last = known.last.max(new.last),
        Some(known) => {
            known.last = new.last;
            known.count = known.count.saturating_add(new.count);
        }
        None => all.push(new),
    }
}
