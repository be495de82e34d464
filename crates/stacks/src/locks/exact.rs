//! The table from waits that were all counted, some of them with a stack.

use std::collections::{BTreeMap, HashMap};

use model::{Absent, LockTable, Reason, StackId, WaitCounting};

use super::classify::Activity;
use super::fold::Tallies;
use super::naming::{RowName, idles_after_all, lock_address, row_of};
use super::rows::{CallerSums, RowSums};
use super::sampled::{absences, shown};
use super::scene::{RowId, Scene};
use super::{AddressTotals, ExactWaits, LockSymbols, Observed, WaitSample, chains, fold, holders};

/// Where a share of an address's waits goes; absent for idling, which goes nowhere.
type Goal = Option<(RowId, Vec<String>, u64)>;

/// What the samples of one address say of one goal.
#[derive(Debug, Clone, Copy)]
struct Part {
    samples: u64,
    waited_us: f64,
    max_us: f64,
    stack: StackId,
}

/// Who waited for what, every wait counted.
///
/// Counts, totals, maxima and waiters at once are by address and exact. Stacks are of a part of the
/// waits: they name the lock, and the address's waits are divided among call paths as its samples
/// are (counts by number, time by time waited). An address without any stack is looked up in the
/// snapshots; when they do not show it either, it is told under its address and not counted as
/// contention, because it may be idling. Holders, chains, idle threads and shares come from the
/// snapshots, which may be few.
pub fn exact_table(
    waits: &ExactWaits<'_>,
    observed: &Observed<'_>,
    symbols: &LockSymbols,
) -> LockTable {
    let mut scene = Scene::new(observed, symbols);
    let mut samples: HashMap<u64, Vec<&WaitSample>> = HashMap::new();
    for sample in waits.samples {
        samples.entry(sample.address).or_default().push(sample);
    }
    let seen = seen_in_snapshots(&scene);
    let mut tallies = fold::tallies_of(&scene);
    tallies.values_mut().for_each(|tally| tally.weight = 0.0);
    let mut sums: Vec<RowSums> = Vec::new();
    let (mut without_stack, mut without_stack_us) = (0_u64, 0.0);
    for totals in merged(waits.totals) {
        let mut parts = parts_of(
            &mut scene,
            samples.get(&totals.address).map_or(&[][..], Vec::as_slice),
            symbols,
            &mut tallies,
        );
        if parts.is_empty()
            && let Some(goals) = seen.get(&totals.address)
        {
            parts.clone_from(goals);
        }
        if parts.is_empty() {
            without_stack = without_stack.saturating_add(totals.waits);
            without_stack_us += totals.total_us;
            let row = scene.row_id(RowName {
                contended: false,
                name: format!("{:#x}", totals.address),
                named_by: model::NamedBy::Address,
                address: totals.address,
                family: String::new(),
            });
            let none = Part {
                samples: 1,
                waited_us: 0.0,
                max_us: totals.max_us,
                stack: StackId(u32::MAX),
            };
            parts.insert(Some((row, Vec::new(), totals.address)), none);
        }
        sums.resize_with(scene.rows.len(), RowSums::default);
        divide(&totals, parts, &mut sums);
    }
    sums.resize_with(scene.rows.len(), RowSums::default);
    for (row, sums) in sums.iter().enumerate() {
        tallies.entry(row).or_default().weight = sums.total_us();
    }
    let sums = folded(&mut scene, &tallies, sums);
    let mut sums = with_crowds(&scene, sums);

    let window_us = waits.to.saturating_sub(waits.from) as f64 * 1000.0;
    let observed_weight: f64 = scene.moments.iter().map(|moment| moment.weight).sum();
    let busy_threads = if observed_weight > 0.0 {
        scene.busy_time() / observed_weight
    } else {
        0.0
    };
    let thread_time_us = window_us * busy_threads;
    for row in &mut sums {
        row.share = if thread_time_us > 0.0 {
            (row.total_us() / thread_time_us).min(1.0)
        } else {
            0.0
        };
    }
    let held = holders::by_moment(&scene);
    let (locks, conditions) = shown(&scene, sums, &held);
    let mut absent = absences(&scene);
    if without_stack > 0 {
        absent.push(Absent::new(
            "callers",
            Reason::Failed,
            format!(
                "{without_stack} waits ({:.1} ms) at addresses of which no wait has a stack",
                without_stack_us / 1000.0
            ),
        ));
    }
    if scene.moments.is_empty() {
        absent.push(Absent::new(
            "holders and shares",
            Reason::NotRecorded,
            "no snapshot of the threads was recorded with the counts",
        ));
    }
    LockTable {
        from: waits.from,
        to: waits.to,
        depth: WaitCounting::Exact {
            events: waits.events,
            stack_every: waits.stack_every,
            cost_us: waits.cost_us,
            switched_off_after_ms: waits.switched_off_after_ms,
        },
        locks,
        conditions,
        idle_threads: scene.idle_max(),
        chains: chains::chains(&scene, &held),
        kernel_locks: Vec::new(),
        absent,
    }
}

/// The sums of rows that are put together.
fn folded(scene: &mut Scene<'_>, tallies: &Tallies, sums: Vec<RowSums>) -> Vec<RowSums> {
    let into = fold::fold(scene, tallies);
    let mut all: Vec<RowSums> = Vec::new();
    all.resize_with(scene.rows.len(), RowSums::default);
    for (sums, row) in sums.into_iter().zip(into) {
        if let Some(all) = all.get_mut(row) {
            all.merge(sums);
        }
    }
    all
}

/// Waiters at once are counted by address; where the threads that wait for one thing have an address
/// each, the snapshots show how many they are.
fn with_crowds(scene: &Scene<'_>, mut sums: Vec<RowSums>) -> Vec<RowSums> {
    for moment in &scene.moments {
        let mut crowds: HashMap<RowId, u32> = HashMap::new();
        for waiter in &moment.waiters {
            *crowds.entry(waiter.row).or_insert(0) += 1;
        }
        for (row, crowd) in crowds {
            if let Some(sums) = sums.get_mut(row)
                && sums.addresses.len() > 1
            {
                sums.waiters_max = sums.waiters_max.max(crowd);
            }
        }
    }
    sums
}

/// Totals of one address with several operations, put together.
fn merged(totals: &[AddressTotals]) -> Vec<AddressTotals> {
    let mut by_address: BTreeMap<u64, AddressTotals> = BTreeMap::new();
    for totals in totals {
        by_address
            .entry(totals.address)
            .and_modify(|sum| {
                sum.waits = sum.waits.saturating_add(totals.waits);
                sum.total_us += totals.total_us;
                sum.max_us = sum.max_us.max(totals.max_us);
                sum.waiters_max = sum.waiters_max.max(totals.waiters_max);
            })
            .or_insert(*totals);
    }
    by_address.into_values().collect()
}

fn parts_of(
    scene: &mut Scene<'_>,
    samples: &[&WaitSample],
    symbols: &LockSymbols,
    tallies: &mut Tallies,
) -> BTreeMap<Goal, Part> {
    let mut parts = BTreeMap::new();
    for sample in samples {
        let class = scene.classifier.futex_wait(sample.stack);
        let goal = if matches!(class.doing, Activity::Idle(_))
            || idles_after_all(&class, sample.address, symbols)
        {
            None
        } else {
            row_of(&class, sample.address, symbols).map(|row| {
                let path = scene.classifier.path(sample.stack, &class);
                let row = scene.row_id(row);
                let seen = fold::Seen {
                    row,
                    kind: class.kind,
                    asked_by: path.first().map(String::as_str),
                    stack: &scene.names(sample.stack),
                };
                fold::add(tallies, &seen, 0.0);
                (row, path, lock_address(&class, sample.address, symbols))
            })
        };
        add_part(&mut parts, goal, sample.waited_us, sample.stack);
    }
    parts
}

fn add_part(parts: &mut BTreeMap<Goal, Part>, goal: Goal, waited_us: f64, stack: StackId) {
    let waited_us = if waited_us.is_finite() {
        waited_us.max(0.0)
    } else {
        0.0
    };
    let part = parts.entry(goal).or_insert(Part {
        samples: 0,
        waited_us: 0.0,
        max_us: 0.0,
        stack,
    });
    part.samples += 1;
    part.waited_us += waited_us;
    part.max_us = part.max_us.max(waited_us);
}

/// What the snapshots show of each futex address.
fn seen_in_snapshots(scene: &Scene<'_>) -> HashMap<u64, BTreeMap<Goal, Part>> {
    let mut seen: HashMap<u64, BTreeMap<Goal, Part>> = HashMap::new();
    for moment in &scene.moments {
        for waiter in &moment.waiters {
            if let Some(futex) = waiter.futex() {
                let path = scene.classifier.path(waiter.thread.stack, &waiter.class);
                let goal = Some((waiter.row, path, waiter.address));
                add_part(
                    seen.entry(futex.address).or_default(),
                    goal,
                    0.0,
                    waiter.thread.stack,
                );
            }
        }
        for thread in &moment.snapshot.threads {
            if let Some(futex) = thread
                .syscall
                .as_ref()
                .and_then(|syscall| syscall.futex.as_ref())
                && moment.idle.contains_key(&thread.tid)
            {
                add_part(
                    seen.entry(futex.address).or_default(),
                    None,
                    0.0,
                    thread.stack,
                );
            }
        }
    }
    seen
}

/// Divides an address's totals among its goals: counts in proportion to the samples, so that they
/// add up, time in proportion to the time of the samples, the maximum to the goal with the longest.
fn divide(totals: &AddressTotals, parts: BTreeMap<Goal, Part>, sums: &mut [RowSums]) {
    let samples: u64 = parts.values().map(|part| part.samples).sum();
    let waited_us: f64 = parts.values().map(|part| part.waited_us).sum();
    let longest = parts.values().map(|part| part.max_us).fold(0.0, f64::max);
    let mut longest_given = false;
    let (mut samples_done, mut waits_done) = (0_u64, 0_u64);
    for (goal, part) in parts {
        samples_done += part.samples;
        let waits_here = proportion(totals.waits, samples_done, samples);
        let waits = waits_here - waits_done;
        waits_done = waits_here;
        let share = if waited_us > 0.0 {
            part.waited_us / waited_us
        } else {
            part.samples as f64 / samples.max(1) as f64
        };
        let is_longest = !longest_given && part.max_us >= longest;
        longest_given |= is_longest;
        let Some((row, path, address)) = goal else {
            continue;
        };
        if let Some(row) = sums.get_mut(row) {
            row.addresses.insert(address);
            row.waiters_max = row.waiters_max.max(totals.waiters_max);
            row.add(
                path,
                CallerSums {
                    stack: part.stack,
                    waits,
                    total_us: totals.total_us * share,
                    max_us: if is_longest {
                        totals.max_us
                    } else {
                        part.max_us.min(totals.max_us)
                    },
                },
            );
        }
    }
}

/// `whole × part / of`, without overflow.
fn proportion(whole: u64, part: u64, of: u64) -> u64 {
    if of == 0 {
        return whole;
    }
    u64::try_from(u128::from(whole) * u128::from(part) / u128::from(of)).unwrap_or(u64::MAX)
}
