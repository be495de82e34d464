//! Rows of the table, from sums to what is shown.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use model::{Holder, LockCaller, LockRow, NamedBy, OrderBy, StackId};

use super::naming::RowName;
use super::{CALLERS_MAX, ROWS_MAX};

/// Sums of one call path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CallerSums {
    pub(super) stack: StackId,
    pub(super) waits: u64,
    pub(super) total_us: f64,
    pub(super) max_us: f64,
}

/// Sums of one row.
#[derive(Debug, Clone, Default)]
pub(super) struct RowSums {
    pub(super) addresses: BTreeSet<u64>,
    pub(super) waiters_max: u32,
    pub(super) share: f64,
    pub(super) callers: HashMap<Vec<String>, CallerSums>,
}

impl RowSums {
    pub(super) fn add(&mut self, path: Vec<String>, wait: CallerSums) {
        self.callers
            .entry(path)
            .and_modify(|sums| {
                sums.waits = sums.waits.saturating_add(wait.waits);
                sums.total_us += wait.total_us;
                sums.max_us = sums.max_us.max(wait.max_us);
                sums.stack = wait.stack;
            })
            .or_insert(wait);
    }

    /// Adds another row's.
    pub(super) fn merge(&mut self, other: Self) {
        self.addresses.extend(other.addresses);
        self.waiters_max = self.waiters_max.max(other.waiters_max);
        self.share += other.share;
        for (path, caller) in other.callers {
            self.add(path, caller);
        }
    }

    pub(super) fn total_us(&self) -> f64 {
        self.callers.values().map(|sums| sums.total_us).sum()
    }

    /// The row as it is shown.
    pub(super) fn into_row(self, name: &RowName, holders: Vec<Holder>) -> LockRow {
        let mut callers: Vec<LockCaller> = self
            .callers
            .into_iter()
            .map(|(path, sums)| LockCaller {
                path,
                stack: sums.stack,
                waits: sums.waits,
                total_us: sums.total_us,
                max_us: sums.max_us,
            })
            .collect();
        callers.order_by(|a, b| {
            most(a.total_us, b.total_us)
                .then(b.waits.cmp(&a.waits))
                .then_with(|| a.path.cmp(&b.path))
        });
        fold_callers(&mut callers);
        let address = match (name.address, self.addresses.len()) {
            (0, 1) => self.addresses.first().copied().unwrap_or(0),
            (address, _) => address,
        };
        LockRow {
            name: name.name.clone(),
            named_by: name.named_by,
            address,
            waiters_max: self.waiters_max,
            waits: callers
                .iter()
                .fold(0, |sum, caller| sum.saturating_add(caller.waits)),
            total_us: callers.iter().map(|caller| caller.total_us).sum(),
            max_us: callers
                .iter()
                .map(|caller| caller.max_us)
                .fold(0.0, f64::max),
            share: self.share,
            callers,
            holders,
        }
    }
}

fn most(a: f64, b: f64) -> Ordering {
    b.total_cmp(&a)
}

fn fold_callers(callers: &mut Vec<LockCaller>) {
    if callers.len() <= CALLERS_MAX {
        return;
    }
    let rest = callers.split_off(CALLERS_MAX - 1);
    let Some(first) = rest.first() else {
        return;
    };
    callers.push(LockCaller {
        path: vec![format!("({} more call paths)", rest.len())],
        stack: first.stack,
        waits: rest
            .iter()
            .fold(0, |sum, caller| sum.saturating_add(caller.waits)),
        total_us: rest.iter().map(|caller| caller.total_us).sum(),
        max_us: rest.iter().map(|caller| caller.max_us).fold(0.0, f64::max),
    });
}

/// Most time first, and of one snapshot, which tells no time, most waiters first; the least of too
/// many put together in one row that says so.
pub(super) fn sort_and_fold(rows: &mut Vec<LockRow>) {
    rows.order_by(|a, b| {
        most(a.total_us, b.total_us)
            .then(b.waiters_max.cmp(&a.waiters_max))
            .then(b.waits.cmp(&a.waits))
            .then_with(|| a.name.cmp(&b.name))
            .then(a.address.cmp(&b.address))
    });
    if rows.len() <= ROWS_MAX {
        return;
    }
    let rest = rows.split_off(ROWS_MAX - 1);
    let mut sums = RowSums::default();
    for row in &rest {
        sums.waiters_max = sums.waiters_max.max(row.waiters_max);
        sums.share += row.share;
        for caller in &row.callers {
            sums.add(
                caller.path.clone(),
                CallerSums {
                    stack: caller.stack,
                    waits: caller.waits,
                    total_us: caller.total_us,
                    max_us: caller.max_us,
                },
            );
        }
    }
    let name = RowName {
        contended: true,
        name: format!("({} more)", rest.len()),
        named_by: NamedBy::Address,
        address: 0,
        family: String::new(),
    };
    rows.push(sums.into_row(&name, Vec::new()));
}
