//! What was read of a history that is being written, and is read on from there: of a quarter of an hour only the last
//! second is new, and reading all of it each second would take a tenth of a processor.
//!
//! **Two copies, none is made.** The view draws the last one while the next is read. That one is the copy before, which
//! nobody looks at any more: it gets what was written since. Copying some megabytes each second would be the dearest
//! part of all.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use model::{Incident, TextKind, TimedAbsent, Timeline};
use store::{HistoryFollower, HistoryPart};

/// After so long it is read as a whole again: what is older than is looked at goes.
const WHOLE_EVERY: Duration = Duration::from_secs(300);

/// A stretch of a history.
pub(crate) struct Stretch {
    /// What was recorded.
    pub(crate) incident: Incident,
    /// Chunks that could not be read.
    pub(crate) damaged_chunks: usize,
    /// A part was left out for want of memory.
    pub(crate) is_cut: bool,
    /// How it is read on.
    pub(crate) goes_on: Option<GoesOn>,
}

/// A stretch up to the newest moment, and how it is read on.
pub(crate) struct GoesOn {
    follower: HistoryFollower,
    /// Where it begins, milliseconds since 1970 UTC.
    from: i64,
    /// When it was read as a whole.
    read: Instant,
    damaged_chunks: usize,
    /// The copy that was made last, and the one before it.
    copies: [Option<Arc<Incident>>; 2],
    /// What the last one has and the one before has not.
    part: HistoryPart,
}

/// The last stretch up to the newest moment, while a recorder writes it.
#[derive(Default)]
pub(crate) struct Kept(Option<GoesOn>);

impl Kept {
    /// Reads what a history holds between two moments, milliseconds since 1970 UTC; `grows` while a recorder writes it and
    /// the newest is looked at. What is made of it is to be given to [`Kept::keep`], so that it is read on next time.
    pub(crate) fn read(
        &mut self,
        path: &Path,
        (from, to): (i64, i64),
        kinds: &[TextKind],
        grows: bool,
    ) -> Result<Option<Stretch>> {
        let known = self.0.take().filter(|known| grows && known.reaches(from));
        if let Some(known) = known
            && let Some(stretch) = known.read_on(to)?
        {
            return Ok(Some(stretch));
        }
        let (follower, read) = match grows {
            true => {
                let opened = HistoryFollower::open(path, (from, to), kinds)?;
                opened.map_or((None, None), |(follower, read)| {
                    (Some(follower), Some(read))
                })
            }
            false => (None, store::read_history(path, from, to, kinds)?),
        };
        Ok(read.map(|read| Stretch {
            incident: read.incident,
            damaged_chunks: read.damaged_chunks,
            is_cut: read.over_bytes.is_some(),
            goes_on: follower
                .filter(|_| read.over_bytes.is_none())
                .map(|follower| GoesOn {
                    follower,
                    from,
                    read: Instant::now(),
                    damaged_chunks: read.damaged_chunks,
                    copies: [None, None],
                    part: HistoryPart::default(),
                }),
        }))
    }

    /// Keeps what was made of a stretch.
    pub(crate) fn keep(&mut self, made: &Arc<Incident>, goes_on: Option<GoesOn>) {
        self.0 = goes_on.map(|mut goes_on| {
            let [last, _] = goes_on.copies;
            goes_on.copies = [Some(made.clone()), last];
            goes_on
        });
    }
}

impl GoesOn {
    /// It is of the time that is wanted, and not of much more.
    fn reaches(&self, from: i64) -> bool {
        self.read.elapsed() < WHOLE_EVERY && self.from <= from
    }

    /// The copy before the last one, with what was written since; nothing where it does not go on.
    fn read_on(mut self, to: i64) -> Result<Option<Stretch>> {
        let (Some(part), [Some(last), before]) = (self.follower.read_on()?, &mut self.copies)
        else {
            return Ok(None);
        };
        let free = before.take().and_then(Arc::into_inner);
        let mut incident = match free {
            Some(mut incident) => {
                append(&mut incident, &self.part);
                incident
            }
            // Somebody looks at it still.
            None => Incident::clone(last),
        };
        append(&mut incident, &part);
        let own = to.saturating_sub(incident.clock.wall_at_zero_ms);
        incident.window.to = u64::try_from(own).unwrap_or(incident.window.to);
        self.damaged_chunks += part.damaged_chunks;
        self.part = part;
        Ok(Some(Stretch {
            incident,
            damaged_chunks: self.damaged_chunks,
            is_cut: false,
            goes_on: Some(self),
        }))
    }
}

/// Takes in what was written later.
fn append(own: &mut Incident, part: &HistoryPart) {
    push(&mut own.timeline, &part.timeline);
    own.texts.extend(part.texts.iter().cloned());
    own.facts.extend(part.facts.iter().cloned());
    for one in &part.absent {
        add_absent(&mut own.absent, one);
    }
    own.server.clone_from(&part.server);
}

/// Adds the ticks that a timeline does not have yet.
fn push(own: &mut Timeline, new: &Timeline) {
    for (index, source) in new.sources.iter().enumerate() {
        let mut known = own.sources.iter().filter(|one| one.name == source.name);
        let last = known.next().and_then(|one| one.ticks.last().copied());
        let first = source
            .ticks
            .partition_point(|at| last.is_some_and(|last| *at <= last));
        let series: Vec<_> = new
            .series
            .iter()
            .filter(|one| one.source == index)
            .collect();
        for (tick, at) in source.ticks.iter().enumerate().skip(first) {
            let values = series.iter().filter_map(|series| {
                let value = series.values.get(tick).copied();
                let value = value.filter(|value| !value.is_nan())?;
                Some((series.name.as_str(), series.unit, series.kind, value))
            });
            own.push_values(&source.name, *at, values);
        }
    }
}

/// The same absence goes on, or there is a new one.
fn add_absent(all: &mut Vec<TimedAbsent>, new: &TimedAbsent) {
    match all.iter_mut().rfind(|one| one.absent == new.absent) {
        Some(known) => {
            known.last = new.last;
            known.count = known.count.saturating_add(new.count);
        }
        None => all.push(new.clone()),
    }
}
