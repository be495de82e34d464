//! Other programs: by the samples of the processors, else by what top lists.

use std::collections::BTreeMap;

use model::Measure;

use super::actor::Actor;
use super::scene::Scene;

/// A program that kept less of a processor busy is not told of.
const PROCESSORS_MIN: f64 = 0.1;

/// Who has such a part of what all others used did it; else it is one of several.
const MOST: f64 = 0.6;

/// Functions of the kernel that walk through a process's memory map (`fs/proc/task_mmu.c`), by their beginning.
const WALKS: [&str; 6] = [
    "smaps_",
    "show_smap",
    "show_numa_map",
    "pagemap_",
    "walk_page_range",
    "clear_refs",
];

/// Programs that used the processors.
pub(super) fn busy(scene: &Scene) -> Vec<Actor> {
    let sampled = sampled(scene, |_| true);
    actors(match sampled.is_empty() {
        true => by_top(scene),
        false => sampled,
    })
}

/// Programs that walked through a memory map.
pub(super) fn map_readers(scene: &Scene) -> Vec<Actor> {
    let walks = |name: &str| WALKS.iter().any(|walk| name.starts_with(walk));
    actors(sampled(scene, walks))
}

/// Processors that each program beside the server kept busy in such functions.
fn sampled(scene: &Scene, is_it: impl Fn(&str) -> bool) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    let (stall, stacks) = (scene.incident.stall_window(), &scene.incident.stacks);
    let profiles = || {
        let middle = |one: &&model::Profile| stall.contains(one.from.midpoint(one.to));
        stacks.profiles.iter().filter(middle)
    };
    let samples: f64 = profiles()
        .map(|one| one.to.saturating_sub(one.from) as f64 / 1000.0 * f64::from(one.hz))
        .sum();
    for row in profiles().flat_map(|one| &one.counts) {
        let mut frames = stacks.table.frames_of(row.stack);
        if !row.server && frames.any(|frame| is_it(&frame.name)) {
            *all.entry(row.thread.clone()).or_default() += row.count as f64 / samples.max(1.0);
        }
    }
    all
}

/// The same of whole programs as top lists them.
fn by_top(scene: &Scene) -> BTreeMap<String, f64> {
    let (timeline, stall) = (&scene.incident.timeline, scene.incident.stall_window());
    let listed = timeline.matching("top.*.cpus").filter_map(|series| {
        let name = series.name.strip_prefix("top.")?.strip_suffix(".cpus")?;
        let is_server = name.starts_with("mysqld") || name.starts_with("mariadbd");
        let processors = timeline.measure(series, Measure::Mean, stall);
        Some((name.to_owned(), processors.filter(|_| !is_server)?))
    });
    listed.collect()
}

/// Those that used most, the first before the next.
fn actors(by_program: BTreeMap<String, f64>) -> Vec<Actor> {
    let all: f64 = by_program.values().sum();
    let mut found: Vec<_> = by_program.into_iter().collect();
    found.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    let found = found
        .into_iter()
        .take_while(|(_, used)| *used >= PROCESSORS_MIN);
    found
        .map(|(program, used)| Actor {
            sure: used >= MOST * all,
            program: Some(program),
            processors: Some(used),
            ..Actor::default()
        })
        .collect()
}
