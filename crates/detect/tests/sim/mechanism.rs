//! What stalls the simulated server.

use model::Millis;

use super::{Host, Random, Server};

/// The state of a client that connects anew for each statement, and is not let in.
pub const LOGIN: &str = "login";

/// The state of a client beside the pool whose name a name server never tells: the server has not greeted it.
pub const UNGREETED: &str = "not greeted";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mechanism {
    RowLock,
    MetadataLock,
    GlobalReadLock,
    Stopped,
    SlowDisk,
    NoProcessors,
    ConnectionLimit,
    Flood,
    Compaction,
    HotRow,
    LogFull,
    Names,
}

pub const ALL: [Mechanism; 12] = [
    Mechanism::RowLock,
    Mechanism::MetadataLock,
    Mechanism::GlobalReadLock,
    Mechanism::Stopped,
    Mechanism::SlowDisk,
    Mechanism::NoProcessors,
    Mechanism::ConnectionLimit,
    Mechanism::Flood,
    Mechanism::Compaction,
    Mechanism::HotRow,
    Mechanism::LogFull,
    Mechanism::Names,
];

/// Longer than any stall.
const FOR_EVER: Millis = 10_000_000;

impl Mechanism {
    /// The whole process stands still.
    pub fn freezes(self) -> bool {
        self == Self::Stopped
    }

    pub fn waits_for_rows(self) -> bool {
        matches!(self, Self::RowLock | Self::HotRow)
    }

    /// For how long it holds a statement, milliseconds, and in which state.
    pub fn holds(self, is_write: bool, random: &mut Random) -> Option<(Millis, &'static str)> {
        match self {
            Self::RowLock if is_write => Some((FOR_EVER, "Updating")),
            Self::MetadataLock => Some((FOR_EVER, "Waiting for table metadata lock")),
            Self::GlobalReadLock if is_write => Some((FOR_EVER, "Waiting for global read lock")),
            Self::Stopped => Some((FOR_EVER, "")),
            Self::SlowDisk if is_write => Some((2000 + random.next() % 1000, "")),
            Self::NoProcessors => Some((300 + random.next() % 900, "Sending data")),
            Self::Flood => Some((100 + random.next() % 300, "")),
            Self::Compaction => Some((300 + random.next() % 900, "Sending data")),
            Self::HotRow if is_write => Some((2000 + random.next() % 2000, "Updating")),
            Self::LogFull if is_write => Some((FOR_EVER, "")),
            Self::Names => Some((FOR_EVER, LOGIN)),
            _ => None,
        }
    }

    /// What the host and the probes show.
    pub fn host(self, host: Host) -> Host {
        match self {
            Self::NoProcessors => Host {
                probe_us: 700_000.0,
                queued: 20.0,
                ..host
            },
            Self::Flood => Host {
                busy: 1.0,
                own_system: 0.45,
                probe_us: 12_000.0,
                on_cpu: 0.9,
                queued: 17.0,
            },
            Self::Compaction => Host {
                busy: 1.0,
                own_system: 0.8,
                probe_us: 600_000.0,
                on_cpu: 1.6,
                queued: 14.0,
            },
            _ => host,
        }
    }

    /// What it does by itself, each tick.
    pub fn act(self, server: &mut Server) {
        if self == Self::ConnectionLimit {
            server.leaked = 1000.0;
            server.first_hang.get_or_insert(server.now);
            server.refused += 0.1;
        }
    }
}
