//! The cells of the sweep, and which are run next.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::mechanisms::{Family, Mechanism};

/// Clients of the pool.
pub(super) const POOLS: [u32; 6] = [1, 2, 4, 8, 32, 200];

/// Statements a second of the whole pool.
pub(super) const LOADS: [Pace; 4] = [
    Pace::PerSecond(1),
    Pace::PerSecond(20),
    Pace::PerSecond(800),
    Pace::Saturated,
];

/// Lengths of a stall, seconds.
pub(super) const LENGTHS_S: [u32; 3] = [2, 5, 20];

/// From the end of the stall before to the next one, seconds.
pub(super) const DISTANCES_S: [u32; 3] = [3, 10, 60];

/// What a cell costs besides its distance and its length: what was done is taken back.
const AROUND: Duration = Duration::from_secs(4);

/// For fewer stalls no server is begun, where others can be run again.
const CHAIN_CELLS_MIN: usize = 5;

/// How fast the pool works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Pace {
    /// Statements a second, of all clients together.
    PerSecond(u32),
    /// As fast as answers come.
    Saturated,
}

impl Pace {
    pub(super) fn name(self) -> String {
        match self {
            Self::PerSecond(rate) => format!("{rate}/s"),
            Self::Saturated => "saturated".to_owned(),
        }
    }
}

/// One way in which a server may stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) mechanism: Mechanism,
    pub(super) pool: u32,
    pub(super) load: Pace,
    pub(super) length_s: u32,
    pub(super) distance_s: u32,
}

impl Cell {
    fn time(self) -> Duration {
        Duration::from_secs((self.distance_s + self.length_s).into()) + AROUND
    }
}

/// All of them.
pub(super) fn all() -> impl Iterator<Item = Cell> {
    Mechanism::ALL.into_iter().flat_map(|mechanism| {
        POOLS.into_iter().flat_map(move |pool| {
            LOADS.into_iter().flat_map(move |load| {
                LENGTHS_S.into_iter().flat_map(move |length_s| {
                    DISTANCES_S.into_iter().map(move |distance_s| Cell {
                        mechanism,
                        pool,
                        load,
                        length_s,
                        distance_s,
                    })
                })
            })
        })
    })
}

/// What the stalls of one stage have in common: the server's arguments, the pool and its pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Setting {
    pub(super) family: Family,
    pub(super) pool: u32,
    pub(super) load: Pace,
}

impl Setting {
    fn from_cell(cell: Cell) -> Self {
        Self {
            family: cell.mechanism.family(),
            pool: cell.pool,
            load: cell.load,
        }
    }

    /// It keeps the processors busy, which others would feel.
    pub(super) fn is_heavy(self) -> bool {
        self.load == Pace::Saturated || self.family == Family::Heavy
    }

    /// Its clients need much memory.
    pub(super) fn is_large(self) -> bool {
        self.pool >= 200
    }
}

/// One server with its stalls, one after another.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) setting: Setting,
    pub(super) cells: Vec<Cell>,
}

/// Chooses what is run next: what was covered least often.
pub(super) struct Chooser {
    covered: BTreeMap<Cell, u32>,
    random: Random,
}

impl Chooser {
    /// Of the cells of these mechanisms; `covered` has those that were run before.
    pub(super) fn new(
        mechanisms: &[Mechanism],
        covered: impl Iterator<Item = Cell>,
        seed: u64,
    ) -> Self {
        let wanted = all().filter(|cell| mechanisms.contains(&cell.mechanism));
        let mut cells: BTreeMap<Cell, u32> = wanted.map(|cell| (cell, 0)).collect();
        for cell in covered {
            cells.entry(cell).and_modify(|count| *count += 1);
        }
        Self {
            covered: cells,
            random: Random::new(seed),
        }
    }

    /// Whether all that were covered least often are of such settings.
    pub(super) fn least_are(&self, is: impl Fn(Setting) -> bool) -> bool {
        let least = self.covered.values().min();
        let mut cells = self.covered.iter();
        cells.all(|(cell, count)| Some(count) != least || is(Setting::from_cell(*cell)))
    }

    /// The next stage of those that are allowed now, as long as `time` allows. What it has counts as covered.
    pub(super) fn next(
        &mut self,
        time: Duration,
        is_allowed: impl Fn(Setting) -> bool,
    ) -> Option<Plan> {
        let mut cells: Vec<(u32, u64, Cell)> = Vec::new();
        for (cell, count) in &self.covered {
            if is_allowed(Setting::from_cell(*cell)) {
                cells.push((*count, self.random.next(), *cell));
            }
        }
        cells.sort_unstable();
        let setting = cells.first().map(|(.., cell)| Setting::from_cell(*cell))?;
        cells.retain(|(.., cell)| Setting::from_cell(*cell) == setting);
        let cells: Vec<Cell> = chain(&cells, time)
            .into_iter()
            .map(|(.., cell)| cell)
            .collect();
        if cells.is_empty() {
            return None;
        }
        let plan = Plan { setting, cells };
        for cell in &plan.cells {
            self.covered.entry(*cell).and_modify(|count| *count += 1);
        }
        Some(plan)
    }
}

/// As many of the first ones as there is time for. The first stall of a server has none before it: it stands for one
/// that is long after another, and needs no time for that.
fn chain(cells: &[(u32, u64, Cell)], time: Duration) -> Vec<(u32, u64, Cell)> {
    let longest = DISTANCES_S.into_iter().max().unwrap_or_default();
    let least = cells.first().map(|(count, ..)| *count);
    let is_first =
        |(count, _, cell): &&(u32, u64, Cell)| cell.distance_s == longest && Some(*count) == least;
    let mut chain: Vec<(u32, u64, Cell)> =
        cells.iter().find(is_first).copied().into_iter().collect();
    let first = chain.first().map(|(.., cell)| *cell);
    let mut left = match first {
        Some(cell) => time.saturating_sub(cell.time() - Duration::from_secs(longest.into())),
        None => time,
    };
    for cell in cells.iter().filter(|(.., cell)| Some(*cell) != first) {
        // What was run more often than others waits for them, unless the server would be there for a few only.
        if Some(cell.0) != least && chain.len() >= CHAIN_CELLS_MIN {
            break;
        }
        match left.checked_sub(cell.2.time()) {
            Some(rest) => {
                left = rest;
                chain.push(*cell);
            }
            // A shorter one may still fit.
            None => continue,
        }
    }
    chain
}

/// splitmix64: the same seed chooses the same.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::collections::BTreeSet;

    use super::*;

    const TEN_MINUTES: Duration = Duration::from_secs(600);

    #[test]
    fn there_are_2592_cells() {
        let cells: BTreeSet<Cell> = all().collect();
        assert_eq!(cells.len(), 2592);
    }

    #[test]
    fn the_same_seed_chooses_the_same_and_all_come_before_many_come_again() {
        let choose = |seed| {
            let mut chooser = Chooser::new(&Mechanism::ALL, std::iter::empty(), seed);
            let mut cells = Vec::new();
            let mut covered = BTreeSet::new();
            while covered.len() < 2592 {
                let plan = chooser.next(TEN_MINUTES, |_| true).unwrap();
                covered.extend(plan.cells.iter().copied());
                cells.extend(plan.cells);
            }
            cells
        };
        let (one, other) = (choose(1), choose(2));
        assert_eq!(one, choose(1));
        assert_ne!(one, other);
        assert!(one.len() < 2592 * 4 / 3, "{}", one.len());
    }

    #[test]
    fn a_chain_is_of_one_setting_fits_and_begins_long_after_the_last() {
        let mut chooser = Chooser::new(&Mechanism::ALL, std::iter::empty(), 7);
        let plan = chooser
            .next(TEN_MINUTES, |setting| !setting.is_heavy())
            .unwrap();
        assert!(!plan.setting.is_heavy());
        assert!(
            plan.cells
                .iter()
                .all(|cell| Setting::from_cell(*cell) == plan.setting)
        );
        assert_eq!(plan.cells[0].distance_s, 60);
        let time: Duration = plan.cells.iter().map(|cell| cell.time()).sum();
        assert!(time <= TEN_MINUTES + Duration::from_secs(60), "{time:?}");
        assert!(plan.cells.len() > 5);
    }

    #[test]
    fn what_was_covered_before_comes_last() {
        let before = all().filter(|cell| cell.pool != 4);
        let mut chooser = Chooser::new(&Mechanism::ALL, before, 1);
        for _ in 0..5 {
            assert_eq!(chooser.next(TEN_MINUTES, |_| true).unwrap().setting.pool, 4);
        }
    }

    #[test]
    fn it_is_known_when_only_heavy_ones_are_left() {
        let is_light = |cell: &Cell| !Setting::from_cell(*cell).is_heavy();
        let mut some = Chooser::new(&Mechanism::ALL, all().filter(is_light).skip(1), 1);
        assert!(!some.least_are(Setting::is_heavy));
        let rest = Chooser::new(&Mechanism::ALL, all().filter(is_light), 1);
        assert!(rest.least_are(Setting::is_heavy));
        let plan = some.next(TEN_MINUTES, |setting| !setting.is_heavy());
        assert!(plan.is_some());
        assert!(some.least_are(Setting::is_heavy));
    }

    #[test]
    fn nothing_is_chosen_where_nothing_is_allowed_or_fits() {
        let mut chooser = Chooser::new(&[Mechanism::RowLock], std::iter::empty(), 1);
        assert!(chooser.next(TEN_MINUTES, |_| false).is_none());
        assert!(
            chooser
                .next(Duration::from_secs(2), |_| true)
                .is_none_or(|plan| plan.cells.len() == 1)
        );
    }
}
