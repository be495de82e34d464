//! The table from snapshots alone.

use std::collections::HashMap;

use model::{Absent, LockRow, LockTable, OrderBy, Reason, StackId, WaitCounting};

use super::rows::{CallerSums, RowSums, sort_and_fold};
use super::scene::{RowId, Scene, Waiter};
use super::{LockSymbols, Observed, chains, fold, holders};

/// A wait that goes on.
struct Open {
    row: RowId,
    address: u64,
    switches: u64,
    stack: StackId,
    path: Vec<String>,
    us: f64,
    moment: usize,
}

impl Open {
    /// The thread did not move since: it is the same wait.
    fn continues(&self, waiter: &Waiter<'_>, moment: usize) -> bool {
        self.moment + 1 == moment
            && self.row == waiter.row
            && self.address == waiter.address
            && self.switches == waiter.thread.switches
    }
}

/// Who waited for what, as far as snapshots show it.
///
/// The estimates: a snapshot stands for the stretch from half-way to the one before it to half-way
/// to the next (a burst's interval), and each thread that waits in it waited all through that
/// stretch. So a wait is counted once for as many successive snapshots as show its thread
/// unmoved in it (unchanged number of switches), and its length is the sum of their stretches: up to
/// an interval too long or too short. A wait shorter than the interval is seen with the
/// probability of its length, then counted as one of the interval's length: the total time is
/// right on average, the number of waits is too low and the mean too high. A single snapshot tells
/// who waits, and no times. `share` is the time waited out of the time of all threads that do not
/// idle. A thread that was woken from its wait for a lock waits until it has a processor, as it
/// does where every wait is counted.
pub fn sampled_table(observed: &Observed<'_>, symbols: &LockSymbols) -> LockTable {
    let mut scene = Scene::new(observed, symbols);
    let tallies = fold::tallies_of(&scene);
    fold::fold(&mut scene, &tallies);
    let scene = scene;
    let held = holders::by_moment(&scene);
    let mut sums: Vec<RowSums> = vec![RowSums::default(); scene.rows.len()];
    let mut open: HashMap<u32, Open> = HashMap::new();
    for (index, moment) in scene.moments.iter().enumerate() {
        let mut crowd: HashMap<RowId, u32> = HashMap::new();
        for waiter in &moment.waiters {
            *crowd.entry(waiter.row).or_insert(0) += 1;
            if waiter.address != 0
                && let Some(row) = sums.get_mut(waiter.row)
            {
                row.addresses.insert(waiter.address);
            }
            if let Some(wait) = open.get_mut(&waiter.thread.tid)
                && wait.continues(waiter, index)
            {
                wait.us += moment.weight;
                wait.moment = index;
                continue;
            }
            let wait = Open {
                row: waiter.row,
                address: waiter.address,
                switches: waiter.thread.switches,
                stack: waiter.thread.stack,
                path: scene.classifier.path(waiter.thread.stack, &waiter.class),
                us: moment.weight,
                moment: index,
            };
            if let Some(before) = open.insert(waiter.thread.tid, wait) {
                close(before, &mut sums);
            }
        }
        for (row, waiters) in crowd {
            if let Some(row) = sums.get_mut(row) {
                row.waiters_max = row.waiters_max.max(waiters);
            }
        }
    }
    let mut rest: Vec<(u32, Open)> = open.into_iter().collect();
    rest.order_by_key(|(tid, _)| *tid);
    for (_, wait) in rest {
        close(wait, &mut sums);
    }
    let busy = scene.busy_time();
    for row in &mut sums {
        row.share = if busy > 0.0 {
            (row.total_us() / busy).min(1.0)
        } else {
            0.0
        };
        for caller in row.callers.values_mut() {
            caller.total_us *= scene.us_per_weight;
            caller.max_us *= scene.us_per_weight;
        }
    }
    let (locks, conditions) = shown(&scene, sums, &held);
    LockTable {
        from: scene.moments.first().map_or(0, |moment| moment.snapshot.at),
        to: scene.moments.last().map_or(0, |moment| moment.snapshot.at),
        depth: WaitCounting::Sampled {
            snapshots: u32::try_from(scene.moments.len()).unwrap_or(u32::MAX),
            interval_ms: scene.interval_ms,
        },
        locks,
        conditions,
        idle_threads: scene.idle_max(),
        chains: chains::chains(&scene, &held),
        kernel_locks: Vec::new(),
        absent: absences(&scene),
    }
}

fn close(wait: Open, sums: &mut [RowSums]) {
    if let Some(row) = sums.get_mut(wait.row) {
        row.add(
            wait.path,
            CallerSums {
                stack: wait.stack,
                waits: 1,
                total_us: wait.us,
                max_us: wait.us,
            },
        );
    }
}

/// The rows that are contention, and the others.
pub(super) fn shown(
    scene: &Scene<'_>,
    sums: Vec<RowSums>,
    held: &[holders::Held],
) -> (Vec<LockRow>, Vec<LockRow>) {
    let mut holders = holders::over_all(scene, held);
    let (mut locks, mut conditions) = (Vec::new(), Vec::new());
    for (id, (sums, name)) in sums.into_iter().zip(&scene.rows).enumerate() {
        if sums.callers.is_empty() {
            continue;
        }
        let row = sums.into_row(name, holders.remove(&id).unwrap_or_default());
        if name.contended {
            locks.push(row);
        } else {
            conditions.push(row);
        }
    }
    sort_and_fold(&mut locks);
    sort_and_fold(&mut conditions);
    (locks, conditions)
}

/// What the snapshots could not tell.
pub(super) fn absences(scene: &Scene<'_>) -> Vec<Absent> {
    let mut absent = Vec::new();
    let (waiting, nameless) = scene.nameless();
    if nameless > 0 {
        absent.push(Absent::new(
            "what threads wait for",
            Reason::Failed,
            format!(
                "{nameless} of {waiting} waits seen have no function names: they are distinguished only by address, and those on \
                 condition variables may be idling; debug symbols of the server name them"
            ),
        ));
    }
    let left_out: u64 = scene
        .moments
        .iter()
        .map(|moment| u64::from(moment.snapshot.left_out))
        .sum();
    if left_out > 0 {
        absent.push(Absent::new(
            "threads",
            Reason::Limit,
            format!(
                "{left_out} threads were left out of {} snapshots",
                scene.moments.len()
            ),
        ));
    }
    absent
}
