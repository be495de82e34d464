//! Which signals are compared, and what became of each.

use super::bootstrap;
use super::permutation;
use super::series::{self, Readings, mean};
use super::server_wide::SERVER_WIDE;
use super::{Fate, Role, SideNumbers, SignalChange, Stretch, Subject};
use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::human::Show;
use crate::measure::{Need, Sign};
use crate::once::once;
use model::OrderBy;

/// A difference by chance has less than this probability.
pub(super) const ALPHA: f64 = 0.05;

/// A change matters when this is left of a mean, or its reciprocal is reached. People do not notice
/// less, and a machine is never quite the same.
pub(super) const MATTERS: f64 = 0.7;

/// A change is excluded when its interval is within this and its reciprocal.
const EXCLUDED: f64 = 0.5;

/// So few independent blocks tell nothing.
const BLOCKS_MIN: f64 = 4.0;

/// A sign that held in no larger share of the readings was not there: one odd second is no sign.
pub(super) const HELD_MIN: f64 = 0.03;

/// One that held in so many of them was there.
const HELD_MOST: f64 = 0.9;

/// Things such as disks that are looked at of one sign, at the most.
const THINGS_MAX: usize = 16;

/// All signals of a comparison, those that decide first.
pub(super) fn signals(
    before: &Subject,
    after: &Subject,
    cause: Option<&Cause>,
) -> Vec<SignalChange> {
    let mut rows = cause.map_or_else(Vec::new, |cause| of_cause(before, after, cause));
    let alone = rows.is_empty();
    for wide in SERVER_WIDE.iter() {
        let role = match alone && !wide.neutral {
            true => Role::Deciding,
            false => Role::ServerWide,
        };
        let mut row = SignalChange::new(&wide.id, wide.title.clone(), role, wide.unit);
        row.floor = wide.floor;
        let sides = [before, after].map(|subject| wide.readings(subject));
        if sides.iter().any(|side| !side.points.is_empty()) {
            row.fill(&sides);
            rows.push(row);
        }
    }
    adjust(&mut rows);
    for row in &mut rows {
        row.fate = fate(row);
    }
    rows.order_by_key(|row| row.role);
    rows
}

/// The rows of a cause: its necessary signs decide; where none was measured on both sides, all
/// that count do.
fn of_cause(before: &Subject, after: &Subject, cause: &Cause) -> Vec<SignalChange> {
    let sides = [
        (before, Evidence::new(before.incident)),
        (after, Evidence::new(after.incident)),
    ];
    let mut rows: Vec<(&Sign, SignalChange)> = cause
        .witnesses
        .iter()
        .filter_map(|sign| Some((sign, row(sign, &sides)?)))
        .collect();
    let both = |row: &SignalChange| row.before.readings > 1 && row.after.readings > 1;
    let has = |id: &str| {
        let mut of_id = rows.iter().filter(|(sign, _)| sign.id == id);
        of_id.any(|(_, row)| both(row))
    };
    let stands_in = |need: &Need| matches!(need, Need::InsteadOf(other) if !has(other));
    let needed = |sign: &Sign| sign.need.is_needed() || stands_in(&sign.need);
    let decides: Vec<bool> = rows
        .iter()
        .map(|(sign, row)| both(row) && needed(sign))
        .collect();
    let any = decides.contains(&true);
    for ((sign, row), decides) in rows.iter_mut().zip(decides) {
        if decides || (!any && sign.counts && both(row)) {
            row.role = Role::Deciding;
        }
        row.group = match &sign.need {
            Need::Necessary => sign.id.clone(),
            Need::OneOf(group) => format!("one of {group}"),
            Need::InsteadOf(other) => other.clone(),
            Need::Optional => String::new(),
        };
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

fn row(sign: &Sign, sides: &[(&Subject, Evidence); 2]) -> Option<SignalChange> {
    let title = series::described(sign)?;
    let limits = &sign.limits;
    let mut row = SignalChange::new(&sign.id, title, Role::Supporting, sign.show);
    row.circumstance = !sign.counts;
    row.conclusive = sign.conclusive;
    row.low_is_bad = !limits.wants_high();
    row.limit = limits.above.or(limits.below);
    let [(_, before), (_, after)] = sides;
    let things = [before, after].map(|evidence| series::things(sign, evidence));
    let best = once(things.concat())
        .into_iter()
        .take(THINGS_MAX)
        .map(|thing| {
            let read = sides.each_ref().map(|(subject, evidence)| {
                let usual = usual(sign, thing.as_deref(), sides);
                series::readings(sign, thing.as_deref(), subject, evidence, usual)
            });
            (thing, read)
        })
        .max_by(|(_, one), (_, other)| {
            let order = extent(one).total_cmp(&extent(other));
            if row.low_is_bad {
                order.reverse()
            } else {
                order
            }
        });
    let (thing, read) = best?;
    if read.iter().all(|side| side.points.is_empty()) {
        return None;
    }
    if let Some(thing) = thing {
        row.title = row.title.replace('*', &thing);
    }
    row.fill(&read);
    Some(row)
}

/// How much there is of a sign, on the side with more of it.
fn extent(sides: &[Readings; 2]) -> f64 {
    let mean = |side: &Readings| mean(&side.values()).unwrap_or(0.0);
    let [before, after] = sides;
    mean(before).max(mean(after))
}

/// The value of a sign in calm: before the onset of the first side that is a stall.
fn usual(sign: &Sign, thing: Option<&str>, sides: &[(&Subject, Evidence); 2]) -> Option<f64> {
    let (subject, evidence) = sides
        .iter()
        .find(|(subject, _)| matches!(subject.stretch, Stretch::Stall | Stretch::Run))?;
    let calm = Subject {
        window: evidence.baseline?,
        ..**subject
    };
    mean(&series::readings(sign, thing, &calm, evidence, None).values())
}

impl SignalChange {
    fn new(id: &str, title: String, role: Role, unit: Show) -> Self {
        Self {
            id: id.to_owned(),
            title,
            role,
            unit,
            ..Self::default()
        }
    }

    fn fill(&mut self, sides: &[Readings; 2]) {
        let [before, after] = sides;
        self.before = numbers(before);
        self.after = numbers(after);
        let (first, second) = (before.values(), after.values());
        let Some(found) = bootstrap::difference(&first, &second, &self.id) else {
            return;
        };
        self.difference = Some(found.value);
        self.difference_interval = Some(found.interval);
        self.ratio = found.ratio.map(|(ratio, _, _)| ratio);
        self.ratio_interval = found.ratio.map(|(_, low, high)| (low, high));
        self.p = Some(found.p);
        self.p_held = permutation::share_differs(&before.held, &after.held, &self.id);
        self.cliff = Some(bootstrap::cliff(&first, &second));
        let sides = [&mut self.before, &mut self.after];
        for (side, rests) in sides.into_iter().zip(found.rests) {
            side.block = Some(rests.block);
            side.blocks = Some(rests.blocks);
        }
    }

    /// The factor by which what is bad of it grew; infinite when there was none of it.
    pub(super) fn factor(&self) -> Option<f64> {
        let (before, after) = (self.before.mean?, self.after.mean?);
        let (from, to) = match self.low_is_bad {
            false => (before, after),
            true => (after, before),
        };
        Some(match from > 0.0 {
            true => to / from,
            false if to > 0.0 => f64::INFINITY,
            false => 1.0,
        })
    }

    /// Whether the means rest on enough independent blocks.
    fn means_tell(&self) -> bool {
        let blocks = self.before.blocks.into_iter().chain(self.after.blocks);
        blocks.fold(f64::INFINITY, f64::min) >= BLOCKS_MIN
    }

    /// The probability by chance of how the sides differ: of means, or of shares in which the sign held. Two tests are
    /// two chances to be wrong.
    fn chance(&self) -> Option<f64> {
        match (self.p.filter(|_| self.means_tell()), self.p_held) {
            (Some(of_means), Some(of_shares)) => Some((2.0 * of_means.min(of_shares)).min(1.0)),
            (None, Some(of_shares)) => Some(of_shares),
            (_, None) => self.p,
        }
    }

    /// It was a sign of the cause neither before nor after.
    fn is_not_there(&self) -> bool {
        self.held()
            .is_some_and(|(before, after)| before <= HELD_MIN && after <= HELD_MIN)
    }

    /// The share of the readings in which the sign held, before and after, where that is known.
    pub(super) fn held(&self) -> Option<(f64, f64)> {
        Some((self.before.held?, self.after.held?))
    }
}

fn numbers(readings: &Readings) -> SideNumbers {
    let mut sorted = readings.values();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = |percent: usize| {
        let rank = (sorted.len() * percent).div_ceil(100);
        sorted.get(rank.saturating_sub(1)).copied()
    };
    SideNumbers {
        readings: sorted.len(),
        mean: mean(&sorted),
        median: rank(50),
        p95: rank(95),
        max: sorted.last().copied(),
        held: readings.held_share(),
        points: readings.points.clone(),
        ..SideNumbers::default()
    }
}

/// Several signals are several chances to be wrong: the deciding ones share the error among them. Of one that is on
/// neither side nothing is said.
fn adjust(rows: &mut [SignalChange]) {
    let (values, decide): (Vec<f64>, Vec<&mut SignalChange>) = rows
        .iter_mut()
        .filter(|row| row.role == Role::Deciding && !row.is_not_there())
        .filter_map(|row| Some((row.chance()?, row)))
        .unzip();
    for (row, p) in decide.into_iter().zip(bootstrap::holm(&values)) {
        row.p_adjusted = Some(p);
    }
}

fn fate(row: &SignalChange) -> Fate {
    if row.before.readings == 0 || row.after.readings == 0 {
        return Fate::NotMeasured;
    }
    let (Some(p), Some(factor), Some(difference)) = (
        row.p_adjusted.or(row.chance()),
        row.factor(),
        row.difference,
    ) else {
        return Fate::TooShort;
    };
    if row.is_not_there() {
        return Fate::NotThere;
    }
    let held = row.held();
    let is_nothing = |side: &SideNumbers| side.max == Some(0.0) && side.mean == Some(0.0);
    if held.is_none() && is_nothing(&row.before) && is_nothing(&row.after) {
        return Fate::NotThere;
    }
    let means_tell = row.means_tell();
    if !means_tell && row.p_held.is_none() {
        return Fate::TooShort;
    }
    let sure = p < ALPHA && difference.abs() >= row.floor;
    // The side of the limit, and not the mean, which one odd reading moves: that all of four independent blocks are on
    // one side of it and none of four others has a probability of 1 in 70 by chance.
    let crossed = |from: f64, to: f64| row.conclusive && from >= HELD_MOST && to <= HELD_MIN;
    match held {
        Some((before, after)) if crossed(before, after) => return Fate::Gone,
        Some((before, after)) if crossed(after, before) => return Fate::More,
        Some((_, after)) if sure && factor <= MATTERS && after <= HELD_MIN => return Fate::Gone,
        _ if sure && factor <= MATTERS => return Fate::Less,
        _ if sure && factor >= 1.0 / MATTERS => return Fate::More,
        _ => {}
    }
    // The point alone says nothing: what is small on average may be anything when its interval is wide.
    let small = row
        .difference_interval
        .is_some_and(|(low, high)| low > -row.floor && high < row.floor);
    let excluded = row
        .ratio_interval
        .is_some_and(|(low, high)| low >= EXCLUDED && high <= 1.0 / EXCLUDED);
    match small || excluded {
        _ if !means_tell => Fate::TooShort,
        true => Fate::Same,
        false => Fate::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 30 readings below a limit of 108 but for one that is far above, then 30 that are above it.
    fn moved(before_odd: f64) -> SignalChange {
        let side = |values: Vec<f64>| Readings {
            held: values.iter().map(|value| *value < 108.0).collect(),
            points: (0..).map(|at| at * 1000).zip(values).collect(),
        };
        let mut before = vec![100.0; 32];
        before.extend([before_odd]);
        let mut row = SignalChange::new("a", "bytes".to_owned(), Role::Deciding, Show::Count);
        row.low_is_bad = true;
        row.limit = Some(108.0);
        row.conclusive = true;
        row.fill(&[side(before), side(vec![121.0; 33])]);
        row.fate = fate(&row);
        row
    }

    /// Stalls for compaction a second on a real server, before huge pages were switched off; there were none after. The
    /// last nine readings make most of the mean.
    const COMPACTIONS: [f64; 36] = [
        692.0, 386.0, 1.0, 0.0, 0.0, 121.0, 380.0, 162.0, 51.0, 74.0, 404.0, 290.0, 886.0, 245.0,
        85.0, 18.0, 173.0, 56.0, 530.0, 86.0, 309.0, 206.0, 388.0, 1242.0, 263.0, 411.0, 553.0,
        1189.0, 1659.0, 1594.0, 1573.0, 1259.0, 1429.0, 1434.0, 1581.0, 1642.0,
    ];

    #[test]
    fn a_sign_that_jumped_and_never_held_again_is_gone() {
        let side = |values: &[f64]| Readings {
            held: values.iter().map(|value| *value >= 50.0).collect(),
            points: (0..)
                .map(|at| at * 1000)
                .zip(values.iter().copied())
                .collect(),
        };
        let mut row = SignalChange::new("a", "stalls".to_owned(), Role::Deciding, Show::PerSecond);
        row.fill(&[side(&COMPACTIONS), side(&[0.0; 33])]);
        let (of_means, of_shares) = (row.p.unwrap(), row.p_held.unwrap());
        assert!(
            of_means > ALPHA && of_shares < 0.01,
            "{of_means} {of_shares}"
        );
        adjust(std::slice::from_mut(&mut row));
        assert_eq!(fate(&row), Fate::Gone, "{row:?}");
        row.p_held = None;
        adjust(std::slice::from_mut(&mut row));
        assert_eq!(fate(&row), Fate::Unclear);
    }

    #[test]
    fn the_side_of_a_conclusive_limit_decides_whatever_one_reading_does_to_the_mean() {
        let row = moved(2000.0);
        assert_eq!(row.fate, Fate::Gone, "{row:?}");
        let told = super::super::words::brief(&row);
        assert_eq!(
            told,
            "bytes was below 108 in 97 % of the readings before and 0 % after"
        );
        let weaker = SignalChange {
            conclusive: false,
            ..row
        };
        assert_ne!(fate(&weaker), Fate::Gone);
        assert!(super::super::words::brief(&moved(100.0)).contains("from 100 to 121"));
    }
}
