//! The whole grid of stalls, against a simulated server: what is noticed, how fast, how exactly.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failing step fails the test"
)]

use std::collections::BTreeMap;

use crate::sim::judge::{Noticed, episodes, judge};
use crate::sim::mechanism::{ALL, Mechanism};
use crate::sim::{Load, Random, Server};
use model::Millis;

const POOLS: [usize; 6] = [1, 2, 4, 8, 32, 200];
const LOADS: [Load; 4] = [
    Load::Rate(1.0),
    Load::Rate(20.0),
    Load::Rate(800.0),
    Load::Saturated,
];
const LENGTHS: [Millis; 3] = [2000, 5000, 20_000];
const DISTANCES: [Millis; 3] = [3000, 10_000, 60_000];

/// Cells that one run of the tests looks at; `SWEEP_CELLS` looks at more, 2592 are all.
const CELLS: usize = 240;

#[derive(Debug, Clone, Copy)]
struct Cell {
    mechanism: Mechanism,
    pool: usize,
    load: Load,
    length: Millis,
    distance: Millis,
}

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for mechanism in ALL {
        for pool in POOLS {
            for load in LOADS {
                for length in LENGTHS {
                    for distance in DISTANCES {
                        cells.push(Cell {
                            mechanism,
                            pool,
                            load,
                            length,
                            distance,
                        });
                    }
                }
            }
        }
    }
    cells
}

/// Both stalls of a cell.
fn run(cell: Cell, seed: u64) -> Vec<Noticed> {
    let mut server = Server::new(cell.pool, cell.load, seed);
    // No stall keeps to the beat of the recorder.
    let mut phase = Random::new(seed ^ 0x9A5E);
    let mut calm = |least: Millis| least + phase.below(1000) as Millis;
    // What is felt of two seconds is a little less: the first to hang comes later.
    let length = cell.length - (cell.length / 10).min(400) + seed % 400;
    server.run(calm(70_000));
    let mut truths = Vec::new();
    truths.extend(server.stall(cell.mechanism, length));
    server.run(calm(cell.distance));
    truths.extend(server.stall(cell.mechanism, length));
    server.run(15_000);
    let told = episodes(&server.events);
    let judged: Vec<Noticed> = truths.iter().map(|truth| judge(&told, *truth)).collect();
    if std::env::var("SWEEP_VERBOSE").is_ok() {
        for (truth, noticed) in truths.iter().zip(&judged) {
            let bad = noticed.delay.is_none_or(|delay| delay > 4000)
                || noticed.onset_error.abs() > 1000
                || noticed.end_error.is_none_or(|error| error.abs() > 1000);
            if bad {
                eprintln!("{cell:?} seed {seed}: {truth:?} {noticed:?}");
            }
        }
    }
    judged
}

fn percentile(sorted: &[i64], share: f64) -> i64 {
    let index = ((sorted.len() as f64 - 1.0) * share).round() as usize;
    sorted.get(index).copied().unwrap_or(0)
}

/// One line of the table.
fn line(name: &str, all: &[&Noticed]) -> String {
    let mut delays: Vec<i64> = all.iter().filter_map(|noticed| noticed.delay).collect();
    delays.sort_unstable();
    let share = |count: usize, of: usize| 100.0 * count as f64 / of.max(1) as f64;
    let found: Vec<_> = all
        .iter()
        .filter(|noticed| noticed.delay.is_some())
        .collect();
    let onset = found
        .iter()
        .filter(|noticed| noticed.onset_error.abs() <= 1000)
        .count();
    let ends = found
        .iter()
        .filter(|noticed| noticed.end_error.is_some_and(|error| error.abs() <= 1000))
        .count();
    let whole = found.iter().filter(|noticed| noticed.pieces == 1).count();
    format!(
        "{name:<18} {:>5} {:>7.1} % {:>6.1} s {:>6.1} s {:>7.1} % {:>7.1} % {:>7.1} %",
        all.len(),
        share(found.len(), all.len()),
        percentile(&delays, 0.5) as f64 / 1000.0,
        percentile(&delays, 0.99) as f64 / 1000.0,
        share(onset, found.len()),
        share(ends, found.len()),
        share(whole, found.len()),
    )
}

#[test]
fn every_kind_of_stall_is_noticed_whatever_its_size() {
    let mut cells = cells();
    let wanted = std::env::var("SWEEP_CELLS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(CELLS);
    let seed: u64 = std::env::var("SWEEP_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1);
    let mut random = Random::new(seed);
    for index in (1..cells.len()).rev() {
        cells.swap(index, random.below(index + 1));
    }
    let mut results: Vec<(Cell, Noticed)> = Vec::new();
    for (index, cell) in cells.into_iter().take(wanted).enumerate() {
        let judged = run(cell, seed * 10_000 + index as u64);
        results.extend(judged.into_iter().map(|noticed| (cell, noticed)));
    }
    eprintln!(
        "{:<18} stalls noticed   median     99 %    onset      end   in one",
        ""
    );
    let mut by: BTreeMap<String, Vec<&Noticed>> = BTreeMap::new();
    for (cell, noticed) in &results {
        by.entry(format!("{:?}", cell.mechanism))
            .or_default()
            .push(noticed);
        by.entry(format!("pool {:>3}", cell.pool))
            .or_default()
            .push(noticed);
        by.entry(format!("load {:?}", cell.load))
            .or_default()
            .push(noticed);
        by.entry(format!("length {:>2} s", cell.length / 1000))
            .or_default()
            .push(noticed);
        by.entry(format!("distance {:>2} s", cell.distance / 1000))
            .or_default()
            .push(noticed);
    }
    for (name, all) in &by {
        eprintln!("{}", line(name, all));
    }
    let all: Vec<&Noticed> = results.iter().map(|(_, noticed)| noticed).collect();
    eprintln!("{}", line("all", &all));
    let share = |wanted: &dyn Fn(&Cell, &Noticed) -> bool, of: &dyn Fn(&Cell, &Noticed) -> bool| {
        let of: Vec<_> = results
            .iter()
            .filter(|(cell, noticed)| of(cell, noticed))
            .collect();
        let hit = of
            .iter()
            .filter(|(cell, noticed)| wanted(cell, noticed))
            .count();
        hit as f64 / of.len().max(1) as f64
    };
    let found = |_: &Cell, noticed: &Noticed| noticed.delay.is_some();
    let long = share(&found, &|cell, _| cell.length >= 5000);
    assert!(long >= 0.99, "noticed of 5 s and longer: {long}");
    let short = share(&found, &|cell, _| cell.length == 2000);
    assert!(short >= 0.95, "noticed of 2 s: {short}");
    let mut delays: Vec<i64> = all.iter().filter_map(|noticed| noticed.delay).collect();
    delays.sort_unstable();
    assert!(percentile(&delays, 0.5) <= 2000, "median delay");
    assert!(
        percentile(&delays, 0.99) <= 4000,
        "99th percentile of the delay"
    );
    let onset = share(&|_, noticed| noticed.onset_error.abs() <= 1000, &found);
    assert!(onset >= 0.95, "onset within a second: {onset}");
    let end = share(
        &|_, noticed| noticed.end_error.is_some_and(|error| error.abs() <= 1000),
        &found,
    );
    assert!(end >= 0.95, "end within a second: {end}");
}

/// What a small pool that connects for each statement feels of a name server that does not answer.
#[test]
fn a_pool_that_is_not_greeted_is_noticed_at_a_statement_a_second() {
    for (index, pool) in [1, 2, 4].into_iter().enumerate() {
        for length in [5000, 20_000] {
            let mut noticed = 0;
            for round in 0..20 {
                let cell = Cell {
                    mechanism: Mechanism::Names,
                    pool,
                    load: Load::Rate(1.0),
                    length,
                    distance: 60_000,
                };
                let judged = run(cell, 700 + 100 * index as u64 + round);
                noticed += judged.iter().filter(|one| one.delay.is_some()).count();
            }
            assert!(noticed >= 38, "pool {pool}, {length} ms: {noticed} of 40");
        }
    }
}
