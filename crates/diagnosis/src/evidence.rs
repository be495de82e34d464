//! An incident as the signs look at it: its windows, and its processlists read.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};

use model::{BASELINE_MIN_MS, Incident, ListTexts, ListView, Millis, OrderBy, TextKind, Window};
use server_text::StatusSections;

use crate::frames::Frames;
use crate::meanings::Meanings;
use crate::moments::{Judged, Moments, Over};
use crate::profile_samples::ProfileSamples;
use crate::thread_runs::Runs;
use crate::waits::PlacedWait;

/// How long before the onset and after the end of the stall a log still tells of it, in
/// milliseconds: what made a server stall is often logged just before, and how long something took
/// when it is over.
pub(crate) const LOG_REACH_MS: Millis = 5_000;

/// Length of the slices in which the worst of a stall is looked for, in milliseconds. A stall of
/// seconds inside a long window must not be averaged away, and one odd second is not a stall.
pub(crate) const SLICE_MS: Millis = 5_000;

/// Step from slice to slice, in milliseconds: the beat of the sources.
const SLICE_STEP_MS: Millis = 1_000;

/// Slices at the most; for a longer stall the step grows.
const SLICES_MAX: u64 = 600;

/// How long after the end of the stall a reading still tells of it, in milliseconds: a reading that
/// hung with the server comes back with the end, one beat later at the latest.
const AFTER_END_MS: Millis = 1_000;

/// Processlists read at the most; of more, an even selection.
const PROCESSLISTS_MAX: usize = 2_000;

/// Lists of waits for latches that are read at the most; of more, an even selection.
const SEMAPHORES_MAX: usize = 200;

/// Lines of a log that are read, at the most: of a log that is flooded the beginning tells enough.
pub(crate) const LINES_MAX: usize = 50_000;

/// Longest part of a line that is looked at, in bytes.
const LINE_BYTES_MAX: usize = 2_000;

/// Readings at the most of something that was taken once, or a few times, and not followed.
const SPARSE_MAX: usize = 3;

/// How the names of facts begin that tell what was captured.
const CAPTURED: &str = "capture.";

/// What the signs are tested on.
pub(crate) struct Evidence<'a> {
    pub(crate) incident: &'a Incident,
    /// The stall.
    pub(crate) stall: Window,
    /// The time before the onset, when it is long enough; else the time after the end.
    pub(crate) baseline: Option<Window>,
    /// It is the time after the end.
    pub(crate) baseline_is_after: bool,
    /// In which something must hold that held all the while: of a stall that is one short slice, the seconds.
    pub(crate) every: Vec<Window>,
    /// The stall in overlapping slices, up to [`AFTER_END_MS`] after it; one when it is short.
    pub(crate) slices_and_after: Vec<Window>,
    /// The processlists, oldest first.
    pub(crate) processlists: Vec<(Millis, ListView<'a>)>,
    /// When they were taken.
    list_moments: OnceCell<Moments>,
    /// The waits for latches, read when the first sign asks for them.
    semaphores: OnceCell<Vec<(Millis, Vec<PlacedWait>)>>,
    /// The statuses of InnoDB, taken apart when the first sign asks for them.
    statuses: OnceCell<Vec<(Millis, StatusSections<'a>)>>,
    /// What the sessions of the processlists were in, by column.
    columns: [OnceCell<ListTexts>; 5],
    /// Facts of a capture are there.
    has_captured: bool,
    /// Names that were asked for, and whether the server has none such.
    lacking: RefCell<HashMap<String, bool>>,
    /// See [`Evidence::in_statements`].
    in_statements: OnceCell<Option<f64>>,
    /// The frames of all stacks.
    pub(crate) frames: Frames<'a>,
    /// What their functions mean, looked up when the first sign asks for it.
    meanings: OnceCell<Meanings<'a>>,
    /// Where the threads stood.
    runs: OnceCell<Runs<'a>>,
    snapshot_moments: OnceCell<Moments>,
    /// The samples of the profiles.
    sampled: OnceCell<ProfileSamples>,
}

/// A column of a processlist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// Of sessions that do something.
    State,
    /// Likewise.
    User,
    /// Of all sessions.
    Command,
    /// Of sessions that are recorded in full and run a statement.
    Statement,
    /// The states of these sessions, with the whole seconds that each has been in it.
    LongestState,
}

/// Sessions that are few: in a larger crowd every limit of a sign can be reached.
const FEW_MAX: u64 = 16;

impl<'a> Evidence<'a> {
    pub(crate) fn new(incident: &'a Incident) -> Self {
        let stall = incident.stall_window();
        let after = match incident.stall.end {
            Some(end) => end
                .saturating_add(AFTER_END_MS)
                .min(incident.window.to)
                .max(stall.to),
            None => stall.to,
        };
        let reach = Window::new(stall.from, after);
        let before = incident.baseline_window();
        let calm_after = incident.calm_after();
        let is_long = before.length() >= BASELINE_MIN_MS;
        let baseline = calm_after.or(is_long.then_some(before));
        // Where nothing before the onset was taken, what was taken at its very moment is all there
        // may be of the stall: one snapshot, say, of which nobody knows how long the stall lasted.
        let begin = match before.to > before.from {
            true => after_begin,
            false => Window::new,
        };
        let list = ListView::from_text;
        let mut processlists = read(incident, TextKind::Processlist, PROCESSLISTS_MAX, list);
        processlists.order_by_key(|(at, _)| *at);
        Self {
            incident,
            stall: begin(stall.from, stall.to),
            baseline,
            baseline_is_after: calm_after.is_some(),
            every: match stall.length() <= SLICE_MS {
                true => steps(stall, SLICE_STEP_MS, begin),
                false => steps(stall, SLICE_MS, begin),
            },
            slices_and_after: with_after(stall, reach, begin),
            processlists,
            list_moments: OnceCell::new(),
            semaphores: OnceCell::new(),
            statuses: OnceCell::new(),
            columns: Default::default(),
            has_captured: (incident.facts.iter())
                .any(|timed| timed.fact.name.starts_with(CAPTURED)),
            lacking: RefCell::default(),
            in_statements: OnceCell::new(),
            frames: Frames::new(&incident.stacks.table),
            meanings: OnceCell::new(),
            runs: OnceCell::new(),
            snapshot_moments: OnceCell::new(),
            sampled: OnceCell::new(),
        }
    }

    /// Whether evidence that was taken over a stretch of time tells of the stall: its middle lies
    /// in it.
    pub(crate) fn tells_of_stall(&self, from: Millis, to: Millis) -> bool {
        let last = self.slices_and_after.last().unwrap_or(&self.stall);
        Window::new(self.stall.from, last.to).contains(from.midpoint(to))
    }

    /// The same for the time before the onset.
    pub(crate) fn tells_of_before(&self, from: Millis, to: Millis) -> bool {
        self.baseline
            .is_some_and(|window| window.contains(from.midpoint(to)))
    }

    /// How few sessions were in statements at a time in a stall that a recorder noticed: at half of the moments, at least so
    /// many; nothing where they were more than a few. What holds up every session of a pool of two is no smaller a cause
    /// than what holds up forty.
    ///
    /// Nothing where somebody asked for the record, or took it with other tools: then nobody knows that work stopped, and
    /// one session that waits a moment is no sign of anything.
    pub(crate) fn in_statements(&self) -> Option<f64> {
        *self.in_statements.get_or_init(|| {
            if self.incident.is_imported() || self.incident.stall.is_request_only() {
                return None;
            }
            let mut active: Vec<u64> = self.lists_of_stall().map(ListView::active).collect();
            active.sort_unstable();
            let middle = active.get(active.len().checked_sub(1)? / 2).copied()?;
            (1..=FEW_MAX).contains(&middle).then_some(middle as f64)
        })
    }

    /// The processlists that tell of the stall, oldest first.
    pub(crate) fn lists_of_stall(&self) -> impl Iterator<Item = &ListView<'a>> {
        let lists = self.processlists.iter();
        let told = lists.filter(|(at, _)| self.tells_of_stall(*at, *at));
        told.map(|(_, list)| list)
    }

    /// The lists of waits for latches, oldest first.
    pub(crate) fn semaphores(&self) -> &[(Millis, Vec<PlacedWait>)] {
        self.semaphores.get_or_init(|| {
            let read_waits = |body: &str| serde_json::from_str(body).ok();
            read(
                self.incident,
                TextKind::Semaphores,
                SEMAPHORES_MAX,
                read_waits,
            )
        })
    }

    /// What the functions of the stacks mean.
    pub(crate) fn meanings(&self) -> &Meanings<'a> {
        let table = &self.incident.stacks.table;
        self.meanings.get_or_init(|| Meanings::new(table))
    }

    /// Where the threads stood, by stack.
    pub(crate) fn runs(&self) -> &Runs<'a> {
        self.runs.get_or_init(|| Runs::new(&self.incident.stacks))
    }

    /// The samples of the profiles.
    pub(crate) fn sampled(&self) -> &ProfileSamples {
        let stacks = &self.incident.stacks;
        let new = || ProfileSamples::new(&stacks.profiles, stacks.table.stacks().len());
        self.sampled.get_or_init(new)
    }

    /// The statuses of InnoDB, oldest first.
    pub(crate) fn statuses(&self) -> &[(Millis, StatusSections<'a>)] {
        let all = |text| Some(StatusSections::new(text));
        self.statuses
            .get_or_init(|| read(self.incident, TextKind::InnodbStatus, usize::MAX, all))
    }

    /// The texts of a column of the processlists.
    pub(crate) fn column(&self, column: Column) -> &ListTexts {
        let lists = &self.processlists;
        self.columns[column as usize].get_or_init(|| match column {
            Column::State => ListTexts::new(lists, |list| list.by_state.iter()),
            Column::User => ListTexts::new(lists, |list| list.by_user.iter()),
            Column::Command => ListTexts::new(lists, |list| list.by_command.iter()),
            Column::Statement => ListTexts::new(lists, |list| list.statements().map(|it| (it, 1))),
            Column::LongestState => ListTexts::new(lists, |list| {
                let states = list.longest_states();
                states.map(|(state, seconds)| (state, seconds as u64))
            }),
        })
    }

    /// When the processlists were taken.
    pub(crate) fn list_moments(&self) -> &Moments {
        let at = || self.processlists.iter().map(|(at, _)| *at);
        self.list_moments.get_or_init(|| Moments::new(at()))
    }

    /// When the snapshots of the threads were taken.
    pub(crate) fn snapshot_moments(&self) -> &Moments {
        let at = || self.runs().snapshots.iter().map(|(at, _)| *at);
        self.snapshot_moments.get_or_init(|| Moments::new(at()))
    }

    /// The windows in which a number is looked at.
    pub(crate) fn windows(&self, over: Over) -> &[Window] {
        match over {
            Over::Worst => &self.slices_and_after,
            Over::Every => &self.every,
            Over::Stall => std::slice::from_ref(&self.stall),
        }
    }

    /// Of these windows those in which something that was taken at `moments` can be judged.
    ///
    /// What is followed has holes where its reading hung, and a record with holes cannot say that
    /// something was not there. But of what was taken by hand there is one snapshot, or a few that
    /// lie wide apart with nothing before the onset: that is all there is to see, and is judged.
    pub(crate) fn judged<'m>(&self, over: Over, moments: &'m Moments) -> &'m Judged {
        moments.judged(over, || {
            let mut windows = self.windows(over).to_vec();
            let has_moment = |window: &Window| !moments.places(*window).is_empty();
            if self.is_sparse(&moments.at) && windows.iter().any(has_moment) {
                windows.retain(has_moment);
            }
            windows
        })
    }

    /// Taken once or a few times, and not followed. `moments` in ascending order.
    pub(crate) fn is_sparse(&self, moments: &[Millis]) -> bool {
        if moments.len() <= SPARSE_MAX {
            return true;
        }
        let is_before = |at: &Millis| *at < self.incident.stall.onset;
        if moments.first().is_some_and(is_before) {
            return false;
        }
        let pairs = moments.iter().zip(moments.iter().skip(1));
        let gaps = pairs.map(|(one, next)| next.saturating_sub(*one));
        let mut gaps: Vec<Millis> = gaps.collect();
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).is_some_and(|gap| *gap > SLICE_MS)
    }

    /// Whether there are so few readings of these signals in all the record that they were not
    /// followed but taken once.
    pub(crate) fn are_sparse(&self, patterns: &BTreeSet<String>) -> bool {
        let timeline = &self.incident.timeline;
        let is_sparse = |pattern: &String| {
            let mut series = timeline.matching(pattern).peekable();
            series.peek().is_some()
                && series.all(|one| timeline.points(one).take(SPARSE_MAX + 1).count() <= SPARSE_MAX)
        };
        !patterns.is_empty() && patterns.iter().all(is_sparse)
    }

    /// Whether only a part of something was captured. Numbers of threads or sessions in it say
    /// nothing of how many there were, and what is not in it may have been there. `of` is `stacks`, `processlist`, `innodb`,
    /// `status` or `variables`: the import of captures says it by a fact.
    pub(crate) fn is_part(&self, of: &str) -> bool {
        self.captured(of) == Some("part")
    }

    /// What the import of captures says of one thing that it read.
    pub(crate) fn captured(&self, what: &str) -> Option<&str> {
        let known = || self.incident.fact(&format!("{CAPTURED}{what}"));
        self.has_captured.then(known)?
    }

    /// The time in which lines of a log tell of the stall.
    pub(crate) fn around_stall(&self) -> Window {
        let Window { from, to } = self.stall;
        Window::new(
            from.saturating_sub(LOG_REACH_MS),
            to.saturating_add(LOG_REACH_MS),
        )
    }

    /// Whether somebody quoted lines of a log (`error_log`, `kernel_log`) in sentences, and the log is not there: what was
    /// not quoted may have been in it.
    pub(crate) fn is_quoted(&self, log: &str) -> bool {
        self.captured(log) == Some("quoted")
    }

    /// Whether only lines of a log (`error_log`, `kernel_log`) are there that somebody chose to show, in sentences or as
    /// they stand in it: what is not among them may have been in it.
    pub(crate) fn is_shown_in_part(&self, log: &str) -> bool {
        matches!(self.captured(log), Some("quoted" | "chosen"))
    }

    /// Whether the server has no such status variables or settings: all are read together, so one
    /// that is in no reading while others are is not absent evidence.
    pub(crate) fn server_lacks(&self, names: &BTreeSet<String>) -> bool {
        !names.is_empty() && names.iter().all(|name| self.lacks(name))
    }

    /// The same of one name; each slice of a stall asks for it again.
    pub(crate) fn lacks(&self, name: &str) -> bool {
        let mut known = self.lacking.borrow_mut();
        if let Some(lacks) = known.get(name) {
            return *lacks;
        }
        let is_recorded = |pattern| self.incident.timeline.matching(pattern).next().is_some();
        let is_setting = |known: &str| known.starts_with("variables.");
        let lacks = match name.split_once('.') {
            Some(("status", _)) => {
                is_recorded("status.*") && !self.is_part("status") && !is_recorded(name)
            }
            Some(("variables", _)) => {
                let mut facts = self.incident.facts.iter();
                facts.any(|timed| is_setting(&timed.fact.name))
                    && !self.is_part("variables")
                    && self.incident.fact(name).is_none()
            }
            _ => false,
        };
        known.insert(name.to_owned(), lacks);
        lacks
    }

    /// What the first `*` of these patterns stands for in the record, such as the names of disks.
    pub(crate) fn captures(&self, patterns: &[&str]) -> BTreeSet<String> {
        let globs = patterns
            .iter()
            .filter_map(|pattern| pattern.split_once('*'));
        let mut found = BTreeSet::new();
        for (head, tail) in globs {
            let matching = self.incident.timeline.series.iter().filter_map(|series| {
                let middle = series.name.strip_prefix(head)?.strip_suffix(tail)?;
                (!middle.is_empty()).then(|| middle.to_owned())
            });
            found.extend(matching);
        }
        found
    }
}

/// The part of a line that is looked at.
pub(crate) fn cut(line: &str) -> &str {
    line.get(..line.floor_char_boundary(LINE_BYTES_MAX))
        .unwrap_or(line)
        .trim_end()
}

/// A reading tells of the time since the one before it: what was read at the very begin of a window
/// is not of the window. (A rate takes it as its base all the same.)
fn after_begin(from: Millis, to: Millis) -> Window {
    Window::new(from.saturating_add(1).min(to), to)
}

/// The slices with the time after the stall. A stall that is shorter than a slice is one by itself, too: what ended with
/// it would else be a small part of what came after.
fn with_after(stall: Window, reach: Window, begin: fn(Millis, Millis) -> Window) -> Vec<Window> {
    let alone = stall.length() < SLICE_MS && stall.to < reach.to;
    let alone = alone.then(|| begin(stall.from, stall.to)).into_iter();
    alone.chain(steps(reach, SLICE_MS, begin)).collect()
}

/// Windows of this length, a step apart.
fn steps(stall: Window, slice: Millis, window: fn(Millis, Millis) -> Window) -> Vec<Window> {
    let length = stall.length();
    if length <= slice {
        return vec![window(stall.from, stall.to)];
    }
    let room = length - slice;
    let step = SLICE_STEP_MS.max(room / SLICES_MAX);
    let mut begins: Vec<Millis> = (0..=room / step).map(|index| index * step).collect();
    if begins.last() != Some(&room) {
        begins.push(room);
    }
    let begins = begins.into_iter().map(|begin| stall.from + begin);
    begins.map(|from| window(from, from + slice)).collect()
}

/// Texts of a kind, of more than `most` an even selection. One that cannot be read is left out: it
/// is no evidence.
fn read<'a, T>(
    incident: &'a Incident,
    kind: TextKind,
    most: usize,
    one: impl Fn(&'a str) -> Option<T>,
) -> Vec<(Millis, T)> {
    let texts = incident.texts.iter();
    let texts: Vec<_> = texts.filter(|timed| timed.text.kind() == kind).collect();
    let step = texts.len().div_ceil(most).max(1);
    let chosen = texts.into_iter().step_by(step);
    chosen
        .filter_map(|timed| Some((timed.at, one(timed.text.body())?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_cover_the_stall_and_are_limited() {
        let window = Window::new;
        let slices = |stall| steps(stall, SLICE_MS, after_begin);
        assert_eq!(slices(window(10, 4_010)), [window(11, 4_010)]);
        assert_eq!(
            slices(window(0, 7_500)),
            [
                window(1, 5_000),
                window(1_001, 6_000),
                window(2_001, 7_000),
                window(2_501, 7_500)
            ]
        );
        assert_eq!(slices(window(7, 7)), [window(7, 7)]);
        let seconds = steps(window(0, 2_500), SLICE_STEP_MS, after_begin);
        assert_eq!(
            seconds,
            [window(1, 1_000), window(1_001, 2_000), window(1_501, 2_500)]
        );
        let long = slices(window(0, 86_400_000));
        assert!(long.len() as u64 <= SLICES_MAX + 2, "{}", long.len());
        assert_eq!(long.last().unwrap().to, 86_400_000);
    }
}
