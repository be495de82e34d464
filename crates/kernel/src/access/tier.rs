//! Which tier of rights we have: what is given from one to the next, and what is missing without it.
//!
//! The order is that of what a recorder gains by each, measured on Linux 6.18 with exactly one set at a time
//! (docs/reference/privileges.md).

use super::advice::grant;
use super::{Access, Capability};

/// A right, and what is absent without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TierRight {
    /// The right that this tier adds.
    pub capability: Capability,
    /// What is absent without it.
    pub without: &'static str,
}

/// From T1 to T5.
pub const TIER_RIGHTS: [TierRight; 5] = [
    TierRight {
        capability: Capability::Perfmon,
        without: "the CPU profile; with CAP_BPF also stacks and exact lock waits",
    },
    TierRight {
        capability: Capability::Bpf,
        without: "stacks of all threads with their kernel part, exact lock waits",
    },
    TierRight {
        capability: Capability::SysPtrace,
        without: "names in the server's stacks, how full its file system is; before Linux 6.18 its allocator",
    },
    TierRight {
        capability: Capability::Syslog,
        without: "names of kernel functions; the kernel's log where kernel.dmesg_restrict is 1",
    },
    TierRight {
        capability: Capability::DacReadSearch,
        without: "the server's error log and sockets: accept queue, requests without an answer; stacks where BPF cannot be used",
    },
];

/// What rights we have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tier {
    /// 0: a login at the server alone; 5: all that a recorder can use.
    pub number: usize,
    /// The rights of higher tiers, each with whether we have it all the same.
    pub above: Vec<(TierRight, bool)>,
    /// The command that gives all that are missing; absent when none is.
    pub cure: Option<String>,
}

/// The highest tier of which we have everything, by our effective capabilities. What a kernel refuses in spite of them is
/// in [`super::advise`].
pub fn tier(access: &Access) -> Tier {
    let has = |right: &TierRight| access.capabilities.grants(right.capability);
    let number = TIER_RIGHTS.iter().take_while(|right| has(right)).count();
    let above = TIER_RIGHTS.iter().skip(number);
    let above: Vec<(TierRight, bool)> = above.map(|right| (*right, has(right))).collect();
    let lacking: Vec<Capability> = above
        .iter()
        .filter(|(_, has)| !has)
        .map(|(right, _)| right.capability)
        .collect();
    Tier {
        number,
        above,
        cure: (!lacking.is_empty()).then(|| grant(access, &lacking)),
    }
}
