//! How long answers took by fifths of a second: what a line of a second hides.
//!
//! A column is a second of the clock, a cell a fifth of it: the query probe asks as often. A cell is as slow as the
//! slowest probe that was under way in it, so that a pause is as long on the map as it was.

use model::{Clock, Measure, Millis, ProbeOutcome, Timeline, Window};

/// Cells of a second.
pub const CELLS: usize = 5;

/// Length of a cell, milliseconds.
pub const CELL_MS: Millis = 1000 / CELLS as Millis;

/// Seconds of a map at the most.
const SECONDS_MAX: usize = 3_600;

/// What is known of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Cell {
    /// Nothing was asked.
    #[default]
    Nothing,
    /// The slowest answer, seconds.
    Took(f64),
    /// There was none.
    Unanswered,
}

/// Limits of the levels, seconds: a level is below its limit, the last is above all.
const LIMITS: [f64; 7] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0];

/// The highest level of an answer.
pub const LEVEL_MAX: usize = LIMITS.len();

impl Cell {
    /// How slow it is, 0 to [`LEVEL_MAX`]; nothing where there was no answer.
    pub fn level(self) -> Option<usize> {
        match self {
            Self::Took(seconds) => Some(LIMITS.iter().filter(|limit| seconds >= **limit).count()),
            _ => None,
        }
    }

    fn slower(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unanswered, _) | (_, Self::Unanswered) => Self::Unanswered,
            (Self::Took(one), Self::Took(other)) => Self::Took(one.max(other)),
            (Self::Took(one), Self::Nothing) | (Self::Nothing, Self::Took(one)) => Self::Took(one),
            (Self::Nothing, Self::Nothing) => Self::Nothing,
        }
    }
}

/// The map.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Heat {
    /// When its first second begins.
    pub from: Millis,
    /// Seconds, each with its fifths.
    pub seconds: Vec<[Cell; CELLS]>,
    /// Probes that were asked.
    pub asked: usize,
    /// Those without an answer.
    pub unanswered: usize,
    /// The slowest answer, seconds, and when it came.
    pub slowest: Option<(f64, Millis)>,
}

/// The map of a window, by whole seconds of the wall's clock; absent where the query probe was not taken.
pub fn answers(timeline: &Timeline, clock: &Clock, window: Window) -> Option<Heat> {
    let took = timeline.get("probe.query_us")?;
    let outcomes = timeline.get("probe.query_outcome");
    let into = u64::try_from(clock.wall_ms(window.from).rem_euclid(1000)).unwrap_or(0);
    let from = window.from.saturating_sub(into);
    let count = window.to.saturating_sub(from).div_ceil(1000).max(1);
    let count = usize::try_from(count)
        .unwrap_or(SECONDS_MAX)
        .min(SECONDS_MAX);
    let mut heat = Heat {
        from,
        seconds: vec![[Cell::Nothing; CELLS]; count],
        ..Heat::default()
    };
    for (at, us) in timeline.points_in(took, Window { from, ..window }) {
        if !us.is_finite() {
            continue;
        }
        let own = Window { from: at, to: at };
        let code = outcomes.and_then(|series| timeline.measure(series, Measure::Last, own));
        let outcome = code.and_then(ProbeOutcome::from_code);
        let seconds = (us / 1e6).max(0.0);
        heat.asked += 1;
        let cell = match outcome.is_some_and(ProbeOutcome::is_stall_sign) {
            true => {
                heat.unanswered += 1;
                Cell::Unanswered
            }
            false => {
                if heat.slowest.is_none_or(|(most, _)| seconds > most) {
                    heat.slowest = Some((seconds, at));
                }
                Cell::Took(seconds)
            }
        };
        let begin = at.saturating_sub((us / 1000.0) as Millis).max(from);
        let place = |at: Millis| usize::try_from((at - from) / CELL_MS).unwrap_or(usize::MAX);
        let cells = heat.seconds.as_flattened_mut().iter_mut();
        for own in cells.take(place(at) + 1).skip(place(begin)) {
            *own = own.slower(cell);
        }
    }
    (heat.asked > 0).then_some(heat)
}

#[cfg(test)]
mod tests {
    use model::{Reading, Unit};

    use super::*;

    #[test]
    fn a_probe_fills_the_time_that_it_was_under_way() {
        let clock = Clock {
            wall_at_zero_ms: 1_795_140_000_500,
            boot_id: String::new(),
        };
        let mut timeline = Timeline::default();
        for (at, us, outcome) in [
            (600, 400.0, ProbeOutcome::Ok),
            (800, 2_500.0, ProbeOutcome::Ok),
            (1_900, 900_000.0, ProbeOutcome::Ok),
            (4_100, 2_000_000.0, ProbeOutcome::TimedOut),
        ] {
            let readings = [
                Reading::gauge("probe.query_us", Unit::Microseconds, us),
                Reading::gauge("probe.query_outcome", Unit::Code, outcome.code()),
            ];
            timeline.push_readings("query-probe", at, &readings);
        }
        let window = Window {
            from: 700,
            to: 4_500,
        };
        let heat = answers(&timeline, &clock, window).unwrap();
        // The clock's second begins at 500.
        assert_eq!((heat.from, heat.seconds.len()), (500, 4));
        assert_eq!((heat.asked, heat.unanswered), (4, 1));
        assert_eq!(heat.slowest, Some((0.9, 1_900)));
        let levels = heat.seconds.iter().map(|second| {
            let letter = |cell: &Cell| match (cell, cell.level()) {
                (Cell::Unanswered, _) => 'x',
                (_, Some(level)) => char::from_digit(level as u32, 10).unwrap(),
                (_, None) => ' ',
            };
            second.iter().map(letter).collect::<String>()
        });
        let levels: Vec<String> = levels.collect();
        assert_eq!(levels, ["01666", "666xx", "xxxxx", "xxxx "]);
        assert!(answers(&Timeline::default(), &clock, window).is_none());
    }

    #[test]
    fn levels_are_powers_of_ten_and_their_thirds() {
        for (seconds, level) in [(0.0, 0), (0.001, 1), (0.029, 3), (0.3, 6), (5.0, 7)] {
            assert_eq!(Cell::Took(seconds).level(), Some(level), "{seconds}");
        }
        assert_eq!(Cell::Unanswered.level(), None);
    }
}
