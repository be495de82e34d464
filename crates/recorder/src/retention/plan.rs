//! Which files go. Pure: no clock, no disk.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::notice::DeletionReason;
use model::OrderBy;

/// Incidents younger than this do not go for want of room, milliseconds: what fills the disk may be what they show.
const YOUNG_MS: i64 = 24 * 3_600_000;

/// By default the room that must be left is this share of the file system, and at most so many bytes.
const FREE_SHARE: u64 = 20;
const FREE_BYTES_MAX: u64 = 1 << 30;

/// By default incidents take at most this: over a month at six an hour, each of 2 MiB.
const INCIDENT_BYTES: u64 = 10 << 30;

/// How much is kept of what was recorded. The history has limits of its own beside these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionLimits {
    /// How old an incident may become.
    pub age: Option<Duration>,
    /// How many bytes all incidents may take, pages included.
    pub bytes: Option<u64>,
    /// What the file system must have left.
    pub free: FreeMin,
}

impl Default for RetentionLimits {
    fn default() -> Self {
        Self {
            age: None,
            bytes: Some(INCIDENT_BYTES),
            free: FreeMin::Share,
        }
    }
}

/// What a file system must have left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreeMin {
    /// A twentieth of it, at most 1 GiB.
    Share,
    /// So many bytes; 0: it is not looked at.
    Bytes(u64),
}

/// A file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disk {
    /// Bytes that can still be written.
    pub free: u64,
    /// All bytes.
    pub all: u64,
}

impl Disk {
    /// Bytes that are missing to what must be left.
    pub fn shortfall(&self, wanted: FreeMin) -> u64 {
        let wanted = match wanted {
            FreeMin::Share => (self.all / FREE_SHARE).min(FREE_BYTES_MAX),
            FreeMin::Bytes(bytes) => bytes,
        };
        wanted.saturating_sub(self.free)
    }
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeptKind {
    Incident,
    /// A damaged or newer history that was put aside.
    PutAside,
}

/// A file that may be deleted.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) path: PathBuf,
    pub(super) kind: KeptKind,
    /// Label of the server.
    pub(super) server: String,
    /// When it was recorded or written, whichever is later: milliseconds since 1970.
    pub(super) at_ms: i64,
    /// With what belongs to it.
    pub(super) bytes: u64,
}

/// What is known at this moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetentionInput {
    /// The time of day, where it can be believed.
    pub(super) wall_ms: Option<i64>,
    /// The time of day as it is told.
    pub(super) clock_ms: i64,
    pub(super) disk: Option<Disk>,
    /// Room has been short for minutes.
    pub(super) is_short_long: bool,
}

/// What is to be done.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Plan {
    /// Which of the files, by their place in the list, in the order in which they go.
    pub(super) deletions: Vec<(usize, DeletionReason)>,
    /// Room is short, and no deletion would change that.
    pub(super) is_helpless: bool,
}

/// Decides. The oldest goes first; the newest incident of each server never goes.
pub(super) fn plan(kept: &[Kept], limits: &RetentionLimits, now: &RetentionInput) -> Plan {
    let mut order: Vec<usize> = (0..kept.len()).collect();
    order.order_by_key(|index| kept.get(*index).map(|one| (one.at_ms, one.path.clone())));
    let mut newest: HashMap<&str, usize> = HashMap::new();
    for index in &order {
        if let Some(one) = kept
            .get(*index)
            .filter(|one| one.kind == KeptKind::Incident)
        {
            newest.insert(&one.server, *index);
        }
    }
    let may_go = |index: usize, one: &Kept| newest.get(one.server.as_str()) != Some(&index);
    let of_kind = |kind: KeptKind| {
        let all = order
            .iter()
            .filter_map(|index| Some((*index, kept.get(*index)?)));
        all.filter(move |(_, one)| one.kind == kind)
    };
    let mut plan = Plan::default();
    let mut left: u64 = of_kind(KeptKind::Incident).map(|(_, one)| one.bytes).sum();
    let mut freed = 0;
    for (index, one) in of_kind(KeptKind::Incident).filter(|(index, one)| may_go(*index, one)) {
        let age_ms = now.wall_ms.map_or(0, |now| now.saturating_sub(one.at_ms));
        let is_old = limits
            .age
            .is_some_and(|limit| u128::try_from(age_ms).unwrap_or(0) >= limit.as_millis());
        let why = match (is_old, limits.bytes.is_some_and(|limit| left > limit)) {
            (true, _) => DeletionReason::Age,
            (false, true) => DeletionReason::Size,
            (false, false) => continue,
        };
        plan.deletions.push((index, why));
        left -= one.bytes;
        freed += one.bytes;
    }
    let shortfall = now.disk.map_or(0, |disk| disk.shortfall(limits.free));
    if shortfall <= freed || !now.is_short_long {
        return plan;
    }
    let mut missing = shortfall - freed;
    for (index, one) in of_kind(KeptKind::PutAside) {
        if missing == 0 {
            break;
        }
        plan.deletions.push((index, DeletionReason::Space));
        missing = missing.saturating_sub(one.bytes);
    }
    let planned = |index: usize| plan.deletions.iter().any(|(known, _)| *known == index);
    let candidates: Vec<(usize, &Kept)> = of_kind(KeptKind::Incident)
        .filter(|(index, one)| {
            let is_young = now.clock_ms.saturating_sub(one.at_ms) < YOUNG_MS;
            may_go(*index, one) && !is_young && !planned(*index)
        })
        .collect();
    let all: u64 = candidates.iter().map(|(_, one)| one.bytes).sum();
    if missing > 0 && all < missing {
        plan.is_helpless = true;
        return plan;
    }
    for (index, one) in candidates {
        if missing == 0 {
            break;
        }
        plan.deletions.push((index, DeletionReason::Space));
        missing = missing.saturating_sub(one.bytes);
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_that_must_be_left_is_a_share_with_a_limit() {
        const GIB: u64 = 1 << 30;
        let disk = |free, all| Disk { free, all };
        assert_eq!(disk(2 * GIB, 1000 * GIB).shortfall(FreeMin::Share), 0);
        assert_eq!(disk(GIB / 2, 1000 * GIB).shortfall(FreeMin::Share), GIB / 2);
        // A small disk that always was rather full is not cleaned up for ever.
        assert_eq!(disk(GIB / 2, 10 * GIB).shortfall(FreeMin::Share), 0);
        assert_eq!(disk(0, 10 * GIB).shortfall(FreeMin::Share), GIB / 2);
        assert_eq!(disk(5, 10 * GIB).shortfall(FreeMin::Bytes(7)), 2);
        assert_eq!(disk(0, 10 * GIB).shortfall(FreeMin::Bytes(0)), 0);
    }

    #[test]
    fn age_comes_before_size_and_what_they_free_counts_for_room() {
        const DAY_MS: i64 = 24 * 3_600_000;
        let incident = |day: i64| Kept {
            path: PathBuf::from(format!("{day}")),
            kind: KeptKind::Incident,
            server: "3306".to_owned(),
            at_ms: day * DAY_MS,
            bytes: 10,
        };
        let kept: Vec<Kept> = [3, 0, 2, 1, 4].map(incident).into();
        let limits = RetentionLimits {
            age: Some(Duration::from_secs(9 * 24 * 3600)),
            bytes: Some(35),
            free: FreeMin::Bytes(100),
        };
        let now = RetentionInput {
            wall_ms: Some(10 * DAY_MS),
            clock_ms: 10 * DAY_MS,
            disk: Some(Disk {
                free: 80,
                all: 1000,
            }),
            is_short_long: true,
        };
        let planned = plan(&kept, &limits, &now);
        assert_eq!(
            planned.deletions,
            [(1, DeletionReason::Age), (3, DeletionReason::Age)]
        );
        let shorter = RetentionInput {
            disk: Some(Disk {
                free: 75,
                all: 1000,
            }),
            ..now
        };
        let planned = plan(&kept, &limits, &shorter);
        assert_eq!(
            planned.deletions,
            [
                (1, DeletionReason::Age),
                (3, DeletionReason::Age),
                (2, DeletionReason::Space)
            ]
        );
        // Without a clock that is believed only size and room count; all but the newest would not do.
        let dark = RetentionInput {
            wall_ms: None,
            disk: Some(Disk { free: 0, all: 1000 }),
            ..now
        };
        let planned = plan(&kept, &limits, &dark);
        assert_eq!(
            planned.deletions,
            [(1, DeletionReason::Size), (3, DeletionReason::Size)]
        );
        assert!(planned.is_helpless);
    }
}
