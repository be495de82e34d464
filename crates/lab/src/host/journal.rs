//! What the files of the host's leases hold.

use remedy::{JournalFormat, ProcessId, Record};
use serde::{Deserialize, Serialize};

use super::HostChange;

/// A lease of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostEntry {
    /// 16 hexadecimal digits, also the name of its file.
    pub id: String,
    /// Who took it.
    pub owner: ProcessId,
    /// What is changed, in this order.
    pub changes: Vec<NumberedChange>,
}

/// A change with a number by which it can be put back alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedChange {
    /// Counted up within the lease.
    pub number: u64,
    /// What.
    pub change: HostChange,
}

impl Record for HostEntry {
    const FORM: JournalFormat = JournalFormat {
        suffix: ".host.json",
        version: 1,
        bytes_max: 64 << 10,
        one: "a lease",
        all: "the host's leases",
        at_work: "making or undoing",
    };

    fn id(&self) -> &str {
        &self.id
    }

    /// The files do not tell it: they are gone with the running system.
    fn version(&self) -> u32 {
        Self::FORM.version
    }

    /// Not told either: the order does not matter.
    fn taken_us(&self) -> i64 {
        0
    }
}
