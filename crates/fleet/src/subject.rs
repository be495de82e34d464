//! The incident that others are compared with.

use std::collections::BTreeMap;

use crate::row::{Hash64, IncidentId, IncidentRow, Phase, StackKind, StackRow};
use model::OrderBy;

/// Stacks of a stall that are looked for in others.
pub const STACKS_MAX: usize = 20;

/// What of an incident others are compared with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Subject {
    /// The incident.
    pub id: IncidentId,
    /// Its name.
    pub name: String,
    /// Its cause, or nothing.
    pub cause: String,
    /// Its shape.
    pub shape: Hash64,
    /// What took a larger share of the stall than of the time before, the largest difference first.
    pub stacks: Vec<Hash64>,
}

impl From<[u8; 16]> for IncidentId {
    fn from(id: [u8; 16]) -> Self {
        Self(id)
    }
}

impl Subject {
    /// An incident by its rows.
    pub fn of(incident: &IncidentRow, stacks: &[StackRow]) -> Self {
        Self {
            id: incident.incident_id,
            name: incident.name.clone(),
            cause: incident.cause.clone(),
            shape: incident.shape,
            stacks: heavier(stacks),
        }
    }
}

fn heavier(stacks: &[StackRow]) -> Vec<Hash64> {
    let mut sums: BTreeMap<(StackKind, Hash64), (u64, u64)> = BTreeMap::new();
    let mut totals: BTreeMap<StackKind, (u64, u64)> = BTreeMap::new();
    for row in stacks {
        if !matches!(row.kind, StackKind::OnCpu | StackKind::Wait) {
            continue;
        }
        let sum = sums.entry((row.kind, row.stack_id)).or_default();
        let total = totals.entry(row.kind).or_default();
        for (stall, calm) in [sum, total] {
            match row.phase {
                Phase::Stall => *stall = stall.saturating_add(row.ns),
                Phase::Baseline | Phase::Before => *calm = calm.saturating_add(row.ns),
                Phase::After => {}
            }
        }
    }
    let mut more: Vec<(f64, Hash64)> = Vec::new();
    for ((kind, stack), (stall, calm)) in sums {
        let (all_stall, all_calm) = totals.get(&kind).copied().unwrap_or_default();
        let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
        let excess = share(stall, all_stall) - share(calm, all_calm);
        if excess > 0.0 {
            more.push((excess, stack));
        }
    }
    more.order_by(|a, b| {
        b.0.total_cmp(&a.0)
            .then(a.1.0.cast_signed().cmp(&b.1.0.cast_signed()))
    });
    more.into_iter()
        .take(STACKS_MAX)
        .map(|(_, stack)| stack)
        .collect()
}
