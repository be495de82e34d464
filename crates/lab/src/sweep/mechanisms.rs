//! What stalls a server, and what it needs to be there before.

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use testbed::{Scenario, Step, Traffic};

/// Longer than any stall: what is slow is slow until it is taken back.
const UNTIL_TAKEN_BACK_MS: u32 = 120_000;

/// Connections that an application may leak until nobody gets in.
pub(super) const ROOM: u32 = 30;

/// What is read of the swap in a second: a statement needs some dozens of pages.
const SWAP_READS: u32 = 40;

/// More than a server of the sweep has in memory.
pub(super) const SWAP_MIB: u64 = 768;

/// The account of the users: nobody keeps a place free for it.
pub(super) const USER: &str = "app";

/// What stalls a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mechanism {
    /// An open transaction has locked all rows
    RowLock,
    /// ALTER TABLE waits for an open transaction, and everybody for it
    MetadataLock,
    /// FLUSH TABLES WITH READ LOCK
    GlobalReadLock,
    /// The server is stopped by a signal
    Sigstop,
    /// What is written through to the disk does not come back
    SlowDisk,
    /// The server's control group has no processor time
    Processors,
    /// Connections leak to the maximum
    ConnectionLimit,
    /// Heavy statements of 150 clients more
    Flood,
    /// The server's memory is swapped again and again, and comes back from a slow disk
    Memory,
    /// Twenty clients want the row that an open transaction holds
    HotRow,
    /// The redo log is full and its pages cannot be written
    LogFull,
    /// The resolver does not answer
    Names,
}

/// Mechanisms that can be made on one server, one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    /// The pool keeps its connections.
    Kept,
    /// The same with a redo log of a few MiB.
    Log,
    /// What needs processors.
    Heavy,
    /// The server's memory is swapped. All of these share a disk for it: the kernel chooses which swap it takes, so that
    /// one of a server's own would get the memory of the others.
    Swapped,
    /// Each statement of the pool goes over a connection of its own.
    Door,
}

impl Mechanism {
    pub(super) const ALL: [Self; 12] = [
        Self::RowLock,
        Self::MetadataLock,
        Self::GlobalReadLock,
        Self::Sigstop,
        Self::SlowDisk,
        Self::Processors,
        Self::ConnectionLimit,
        Self::Flood,
        Self::Memory,
        Self::HotRow,
        Self::LogFull,
        Self::Names,
    ];

    /// Its name for people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::RowLock => "row lock",
            Self::MetadataLock => "metadata lock",
            Self::GlobalReadLock => "global read lock",
            Self::Sigstop => "SIGSTOP",
            Self::SlowDisk => "slow disk",
            Self::Processors => "processors taken away",
            Self::ConnectionLimit => "connection limit",
            Self::Flood => "flood of statements",
            Self::Memory => "memory reclaim",
            Self::HotRow => "one hot row",
            Self::LogFull => "log full",
            Self::Names => "slow names",
        }
    }

    pub(super) fn family(self) -> Family {
        match self {
            Self::LogFull => Family::Log,
            Self::Flood => Family::Heavy,
            Self::Memory => Family::Swapped,
            Self::ConnectionLimit | Self::Names => Family::Door,
            _ => Family::Kept,
        }
    }

    /// What is done. The connections that leak are no step: see [`testbed::Leak`].
    pub(super) fn steps(self) -> Vec<Step> {
        let session = |statements: &[&str], settle_seconds| Step::Session {
            statements: statements.iter().map(|&text| text.to_owned()).collect(),
            sessions: 1,
            settle_seconds,
        };
        let slow_sync = |files: Option<&str>| Step::SlowSync {
            milliseconds: UNTIL_TAKEN_BACK_MS,
            files: files.map(str::to_owned),
        };
        match self {
            Self::RowLock => vec![session(
                &["BEGIN", "SELECT COUNT(*) FROM freezeframe_lab.t FOR UPDATE"],
                0.0,
            )],
            Self::MetadataLock => vec![
                session(
                    &["BEGIN", "SELECT c FROM freezeframe_lab.t WHERE id = 1"],
                    0.1,
                ),
                session(
                    &[
                        "SET SESSION lock_wait_timeout = 60",
                        "ALTER TABLE freezeframe_lab.t COMMENT = 'altered'",
                    ],
                    0.0,
                ),
            ],
            Self::GlobalReadLock => vec![session(&["FLUSH TABLES WITH READ LOCK"], 0.0)],
            Self::Sigstop => vec![Step::Pause],
            Self::SlowDisk => vec![slow_sync(None)],
            Self::Processors => vec![Step::CpuQuota { cpus: 0.001 }],
            Self::ConnectionLimit => Vec::new(),
            Self::Flood => vec![
                load(
                    100,
                    "SELECT COUNT(*), SUM(k), MAX(c) FROM freezeframe_lab.t WHERE k > {row} - 2000",
                ),
                load(
                    50,
                    "UPDATE freezeframe_lab.t SET k = k + 1 WHERE id BETWEEN {row} AND {row} + 999",
                ),
            ],
            Self::Memory => vec![
                Step::ReadLimit {
                    per_second: SWAP_READS,
                },
                Step::Swap { mib: SWAP_MIB },
            ],
            Self::HotRow => vec![
                session(
                    &[
                        "BEGIN",
                        "UPDATE freezeframe_lab.hot SET n = n + 1 WHERE id = 1",
                    ],
                    0.0,
                ),
                load(20, "UPDATE freezeframe_lab.hot SET n = n + 1 WHERE id = 1"),
            ],
            Self::LogFull => vec![
                slow_sync(Some("/freezeframe_lab/")),
                load(
                    4,
                    "UPDATE freezeframe_lab.big SET c = REPEAT(CHAR(65 + FLOOR(RAND() * 26)), 3500) \
                     WHERE id BETWEEN 1 + {row} % 2000 AND 20 + {row} % 2000",
                ),
            ],
            Self::Names => vec![Step::SlowNames {
                milliseconds: UNTIL_TAKEN_BACK_MS,
            }],
        }
    }

    /// Clients of its own hang, or are refused, as well.
    pub(super) fn has_clients(self) -> bool {
        let mut steps = self.steps().into_iter();
        self == Self::ConnectionLimit || steps.any(|step| matches!(step, Step::Load(_)))
    }

    /// A scenario with these steps: what the host must be able to do, and what it needs.
    pub(super) fn scenario(self) -> Result<Scenario> {
        let mut scenario: Scenario = toml::from_str(
            "name = 'sweep'\nwhat = ''\nservers = []\nseconds = 1\nhealthy = { clients = 1 }\nbreak = []\ntruth = { cause = '' }",
        )
        .context("a scenario without anything")?;
        scenario.steps = self.steps();
        scenario.slow_sync = true;
        scenario.memory_mib = 1024;
        Ok(scenario)
    }
}

impl Family {
    /// Arguments of the server, for so many clients of its pool.
    pub(super) fn arguments(self, pool: u32) -> Vec<String> {
        let connections = match self {
            Self::Door => pool + ROOM,
            _ => pool + 300,
        };
        let mut arguments = vec![
            format!("--max-connections={connections}"),
            "--innodb-flush-log-at-trx-commit=1".to_owned(),
        ];
        match self {
            Self::Log => arguments.extend(
                [
                    "--loose-innodb-log-file-size=8M",
                    "--loose-innodb-redo-log-capacity=8M",
                ]
                .map(str::to_owned),
            ),
            Self::Door => arguments
                .extend(["--skip-name-resolve=OFF", "--host-cache-size=0"].map(str::to_owned)),
            Self::Kept | Self::Heavy | Self::Swapped => {}
        }
        arguments
    }

    /// What makes its tables, and the account of the users.
    pub(super) fn prepare(self) -> Vec<String> {
        let mut statements = vec![
            format!("CREATE USER {USER}@'127.0.0.%' IDENTIFIED BY '{{password}}'"),
            format!("GRANT ALL ON freezeframe_lab.* TO {USER}@'127.0.0.%'"),
            "CREATE TABLE freezeframe_lab.hot (id INT NOT NULL PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB"
                .to_owned(),
            "INSERT INTO freezeframe_lab.hot VALUES (1, 0)".to_owned(),
        ];
        let more: &[&str] = match self {
            Self::Log => &[
                "CREATE TABLE freezeframe_lab.big (id INT NOT NULL PRIMARY KEY, c VARCHAR(6000) NOT NULL) ENGINE=InnoDB",
                "INSERT INTO freezeframe_lab.big SELECT id, REPEAT('x', 3500) FROM freezeframe_lab.t WHERE id <= 2020",
            ],
            Self::Kept | Self::Door | Self::Heavy | Self::Swapped => &[],
        };
        statements.extend(more.iter().map(|&text| text.to_owned()));
        statements
    }
}

fn load(clients: usize, statement: &str) -> Step {
    Step::Load(Traffic {
        mix: None,
        statements: vec![statement.to_owned()],
        clients,
        rate: None,
        compress: false,
        reconnect: false,
        from: None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn every_mechanism_has_its_steps() {
        for mechanism in Mechanism::ALL {
            let scenario = mechanism.scenario().unwrap();
            let leaks = mechanism == Mechanism::ConnectionLimit;
            assert_eq!(scenario.steps.is_empty(), leaks, "{mechanism:?}");
        }
    }
}
