//! Scenarios: a throw-away server is broken in a known way. Each is one file of `scenarios/`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{Error, ServerKind};

/// The files of `scenarios/`, as (name, text), embedded by `build.rs`.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

/// More than any file of a scenario has.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Longest [`Scenario::seconds`].
const SECONDS_MAX: u64 = 600;

/// So much memory of the host stays available in every scenario, MiB.
pub const FREE_MIB_MIN: u64 = 4096;

/// One way to break a server, and what must be said of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name, that of its file.
    pub name: String,
    /// What happens, in a sentence or two.
    pub what: String,
    /// The servers on which it can happen, by [`ServerKind::need`].
    pub servers: Vec<String>,
    /// Additional arguments of the server.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Additional environment variables of the server.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The server's fsync and its like can be slowed down, see [`Step::SlowSync`] and [`Step::SlowNames`].
    #[serde(default)]
    pub slow_sync: bool,
    /// A trigger of the operator's own, for what only they know to be a stall.
    #[serde(default)]
    pub trigger: Option<String>,
    /// Statements that make what is needed, once, before the healthy time. The tables of
    /// [`crate::Mix::prepare`] are there.
    #[serde(default)]
    pub prepare: Vec<String>,
    /// The server is a replica, and this is what its source is asked all the time; both have been prepared alike.
    #[serde(default)]
    pub source: Option<Traffic>,
    /// Another server follows this one; both have been prepared alike.
    #[serde(default)]
    pub replica: bool,
    /// The server's data is on a file system of its own, of so many MiB.
    #[serde(default)]
    pub own_disk_mib: Option<u64>,
    /// Where the disk is mounted that its memory is swapped to: one that swaps already, for several servers. A
    /// [`Step::Swap`] makes no swap then, and a limit of the disk is one of this disk.
    #[serde(skip)]
    pub swap_disk: Option<PathBuf>,
    /// How the host is set up wrongly, from before the healthy time until the end: what the remedy has to change.
    #[serde(default)]
    pub setup: Vec<Step>,
    /// How long the break lasts.
    pub seconds: u64,
    /// The load of the healthy time, which goes on in the break.
    pub healthy: Traffic,
    /// What is done to break it, in this order, and taken back in the other.
    #[serde(rename = "break")]
    pub steps: Vec<Step>,
    /// What is true.
    pub truth: Truth,
    /// Steps on the way to the remedy: each is made in place of the break, and compared with it.
    #[serde(default)]
    pub then: Vec<Stage>,
    /// What helps, where the lab can do it.
    #[serde(default)]
    pub remedy: Option<Help>,
    /// With [`Self::remedy`]: what is done in place of the break once it helped, such as the same work in another way.
    /// Where the break's clients are most of the load, a time without them proves nothing.
    #[serde(default)]
    pub instead: Vec<Step>,
    /// What helps from the server's next start on; the same break is made again then.
    #[serde(default)]
    pub restart: Option<Restart>,
    /// What is said to help and does not: tried before the remedy.
    #[serde(default)]
    pub in_vain: Vec<InVain>,
    /// So much memory the server takes, MiB; [`FREE_MIB_MIN`] must stay available besides.
    #[serde(default)]
    pub memory_mib: u64,
    /// The server has the function of [`crate::Churn`].
    #[serde(default)]
    pub churn: bool,
}

/// A change that the server must be started anew for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restart {
    /// What it is, in a few words.
    pub what: String,
    /// Arguments that the server gets from then on, after those that it has.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The name of an [`crate::Allocator`] that it gets.
    #[serde(default)]
    pub allocator: Option<String>,
    /// Statements that make it warm again.
    #[serde(default)]
    pub warm: Vec<String>,
}

/// Settings that are said to help.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InVain {
    /// What it is, in a few words.
    pub what: String,
    /// What sets it.
    pub statements: Vec<String>,
    /// What sets it back.
    pub undo: Vec<String>,
    /// Ids of causes that it makes: they may be named in the break after it.
    #[serde(default)]
    pub also: Vec<String>,
}

/// Another break than the first one, in which one cause of it must be gone.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// What is done about the first one, in a few words.
    pub what: String,
    /// The id of the cause that is gone by it.
    pub cause: String,
    /// What is done instead of the first break.
    #[serde(rename = "break")]
    pub steps: Vec<Step>,
}

/// What helps, and is proven by a comparison of the break with the same time afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Help {
    /// Those who do it stop: the break is not made again, or [`Scenario::instead`] is done.
    Gone,
    /// `freezeframe fix --apply` makes the changes at once, and the same break is made again, or [`Scenario::instead`].
    Fix,
}

/// Statements that clients send.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// The name of a [`crate::Mix`]; else `statements`.
    #[serde(default)]
    pub mix: Option<String>,
    /// Texts, equally often, as [`crate::Load::statements`] explains them.
    #[serde(default)]
    pub statements: Vec<String>,
    /// Clients at the same time.
    pub clients: usize,
    /// Texts a second of all of them; else as fast as it goes.
    #[serde(default)]
    pub rate: Option<f64>,
    /// They speak the compressed protocol.
    #[serde(default)]
    pub compress: bool,
    /// Each text goes over a connection of its own.
    #[serde(default)]
    pub reconnect: bool,
    /// They come from this address; else from 127.0.0.1.
    #[serde(default)]
    pub from: Option<Ipv4Addr>,
}

/// One part of a break.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// More clients.
    Load(Traffic),
    /// Statements that the server's source is told once, one after another, see [`Scenario::source`].
    Source {
        /// What it is told.
        statements: Vec<String>,
    },
    /// Clients that must read what they know to be on the source: each waits until the server has it.
    CausalReads {
        /// How many.
        clients: usize,
        /// What they read then.
        statement: String,
    },
    /// One session or several that say something and stay, their transactions open, until the break is over.
    Session {
        /// What it says; `lab: wait 5` is a pause of 5 seconds, and of `lab: unread` with a statement behind it the answer
        /// is not taken.
        statements: Vec<String>,
        /// How many sessions say it.
        #[serde(default = "one")]
        sessions: usize,
        /// How long the next step waits for it, so that its locks are held, in seconds.
        #[serde(default)]
        settle_seconds: f64,
    },
    /// Connections that ask for nothing.
    Idle {
        /// How many.
        connections: usize,
    },
    /// The server stands still (SIGSTOP).
    Pause,
    /// The server that follows it stands still, see [`Scenario::replica`].
    PauseReplica,
    /// Each fsync and fdatasync of the server takes this much longer.
    SlowSync {
        /// Milliseconds.
        milliseconds: u32,
        /// Only of files whose path has this in it.
        #[serde(default)]
        files: Option<String>,
    },
    /// Each look-up of a client's name takes so long and fails, as with a resolver that drops the
    /// questions. The server looks up none for 127.0.0.1: see [`Traffic::from`].
    SlowNames {
        /// Milliseconds.
        milliseconds: u32,
    },
    /// Transparent huge pages of the host: the two switches below `/sys/kernel/mm/transparent_hugepage`.
    HugePages {
        /// `enabled`
        enabled: String,
        /// `defrag`
        defrag: String,
    },
    /// A process of the lab keeps the host's free memory in pieces of 4 KiB.
    Fragment {
        /// So much memory stays available, MiB.
        keep_free_mib: u64,
        /// So much of it in holes between pages that are in use, MiB.
        holes_mib: u64,
    },
    /// The server's control group may use so many processors.
    CpuQuota {
        /// How many; 0.5 is half a one.
        cpus: f64,
    },
    /// The server's control group may have so much memory for files, besides what the server has allocated.
    MemoryLimit {
        /// MiB.
        mib: u64,
        /// Who finds none waits until there is some, instead of being killed.
        #[serde(default)]
        waits: bool,
    },
    /// The server's control group may have so many threads more than it has.
    ThreadLimit {
        /// How many.
        more: u64,
    },
    /// The server's control group may write so often a second to its disk, which must be its own.
    WriteLimit {
        /// How often.
        per_second: u32,
    },
    /// It may read so often a second from its own disk.
    ReadLimit {
        /// How often.
        per_second: u32,
    },
    /// Somebody writes a file of so many MiB to the server's own disk, through the page cache, and over it again and
    /// again.
    Copy {
        /// MiB.
        mib: u64,
    },
    /// So many agents at a time read `/proc/PID/smaps` of the server, again and again.
    ReadMaps {
        /// How many.
        readers: usize,
    },
    /// The server's memory goes to a swap file of so many MiB, again and again.
    Swap {
        /// MiB.
        mib: u64,
    },
    /// The server's own disk is filled.
    FillDisk {
        /// What stays free, MiB.
        leave_mib: u64,
    },
}

impl Step {
    /// Whether it touches more than the server and its clients.
    pub fn is_of_host(&self) -> bool {
        match self {
            Self::Load(_)
            | Self::Source { .. }
            | Self::CausalReads { .. }
            | Self::Session { .. }
            | Self::Idle { .. }
            | Self::Pause
            | Self::PauseReplica
            | Self::SlowSync { .. }
            | Self::SlowNames { .. } => false,
            Self::HugePages { .. }
            | Self::Fragment { .. }
            | Self::CpuQuota { .. }
            | Self::MemoryLimit { .. }
            | Self::ThreadLimit { .. }
            | Self::WriteLimit { .. }
            | Self::ReadLimit { .. }
            | Self::Copy { .. }
            | Self::ReadMaps { .. }
            | Self::Swap { .. }
            | Self::FillDisk { .. } => true,
        }
    }
}

fn one() -> usize {
    1
}

/// What must be said, and what may be.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truth {
    /// The cause's id.
    pub cause: String,
    /// Ids of causes that may be named beside it, because they are there as well.
    #[serde(default)]
    pub also: Vec<String>,
    /// Ids of causes that must be named as its effects: what everybody waits for, and whose holder waits for it.
    #[serde(default)]
    pub through: Vec<String>,
}

impl Truth {
    /// Whether this cause, which is another, is there as well.
    pub fn expects(&self, cause: &str) -> bool {
        let mut expected = self.also.iter().chain(&self.through);
        expected.any(|expected| expected == cause)
    }
}

impl Scenario {
    /// The steps that touch more than the server and its clients, those of the set-up first.
    pub fn host_steps(&self) -> impl Iterator<Item = &Step> {
        self.setup
            .iter()
            .chain(&self.steps)
            .chain(&self.instead)
            .filter(|step| step.is_of_host())
    }

    /// The servers of it.
    pub fn kinds(&self) -> Vec<ServerKind> {
        ServerKind::ALL
            .into_iter()
            .filter(|kind| self.servers.iter().any(|name| name == kind.need()))
            .collect()
    }
}

/// Every scenario, by name.
pub fn scenarios() -> Result<Vec<Scenario>, Error> {
    FILES
        .iter()
        .map(|(file, text)| read(file, text))
        .collect::<Result<_, _>>()
}

/// The scenario of that name.
pub fn scenario(name: &str) -> Result<Option<Scenario>, Error> {
    Ok(scenarios()?
        .into_iter()
        .find(|scenario| scenario.name == name))
}

/// The scenario in a file of one's own, which is named like it.
pub fn scenario_file(path: &Path) -> Result<Scenario, Error> {
    let text = read_small(path)?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    read(&file, &text)
}

/// A file of settings: not more than [`FILE_BYTES_MAX`].
pub(crate) fn read_small(path: &Path) -> Result<String, Error> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text))
        .map_err(Error::io(format!("read {}", path.display())))?;
    Ok(text)
}

fn read(file: &str, text: &str) -> Result<Scenario, Error> {
    let wrong = |problem: String| Error::Scenario {
        file: file.to_owned(),
        problem,
    };
    let scenario: Scenario =
        toml::from_str(text).map_err(|error| wrong(error.to_string().trim().to_owned()))?;
    if format!("{}.toml", scenario.name) != file {
        return Err(wrong(format!("its name is '{}'", scenario.name)));
    }
    check(file, scenario)
}

/// What the types do not say already.
pub(crate) fn check(file: &str, scenario: Scenario) -> Result<Scenario, Error> {
    let wrong = |problem: String| Error::Scenario {
        file: file.to_owned(),
        problem,
    };
    let unknown = scenario
        .servers
        .iter()
        .find(|name| ServerKind::ALL.iter().all(|kind| kind.need() != *name));
    if let Some(name) = unknown {
        return Err(wrong(format!("there is no server '{name}'")));
    }
    if scenario.servers.is_empty() || scenario.steps.is_empty() {
        return Err(wrong("it has no server or no break".to_owned()));
    }
    if scenario.seconds == 0 || scenario.seconds > SECONDS_MAX {
        return Err(wrong(format!("seconds must be 1 to {SECONDS_MAX}")));
    }
    if let Some(name) = scenario
        .restart
        .as_ref()
        .and_then(|restart| restart.allocator.as_deref())
        && crate::Allocator::named(name).is_none()
    {
        return Err(wrong(format!("there is no allocator '{name}'")));
    }
    if scenario.remedy.is_none() && !(scenario.instead.is_empty() && scenario.then.is_empty()) {
        return Err(wrong("instead and then need `remedy` above".to_owned()));
    }
    let slow = |step: &Step| matches!(step, Step::SlowSync { .. } | Step::SlowNames { .. });
    if scenario.steps.iter().any(slow) && !scenario.slow_sync {
        return Err(wrong(
            "slow_sync and slow_names need `slow_sync = true` above".to_owned(),
        ));
    }
    let own = |step: &Step| {
        matches!(
            step,
            Step::WriteLimit { .. }
                | Step::ReadLimit { .. }
                | Step::Copy { .. }
                | Step::FillDisk { .. }
        )
    };
    if scenario.host_steps().any(own) && scenario.own_disk_mib.is_none() {
        return Err(wrong("it needs `own_disk_mib` above".to_owned()));
    }
    let two = scenario.source.is_some() || scenario.replica;
    if two && !scenario.kinds().into_iter().all(ServerKind::can_follow) {
        return Err(wrong("a source and a replica must be MariaDB".to_owned()));
    }
    let of_source = |step: &Step| matches!(step, Step::Source { .. } | Step::CausalReads { .. });
    if scenario.steps.iter().any(of_source) && scenario.source.is_none() {
        return Err(wrong(
            "source and causal_reads need `source = {...}` above".to_owned(),
        ));
    }
    let of_replica = |step: &Step| matches!(step, Step::PauseReplica);
    if scenario.steps.iter().any(of_replica) && !scenario.replica {
        return Err(wrong(
            "pause_replica needs `replica = true` above".to_owned(),
        ));
    }
    if !scenario.setup.iter().all(Step::is_of_host) {
        return Err(wrong("setup has steps of the host only".to_owned()));
    }
    let little = |step: &Step| matches!(step, Step::Fragment { keep_free_mib, .. } if *keep_free_mib < FREE_MIB_MIN);
    if scenario.host_steps().any(little) {
        return Err(wrong(format!(
            "keep_free_mib must be {FREE_MIB_MIN} or more"
        )));
    }
    Ok(scenario)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_can_be_read() {
        let all = scenarios().unwrap();
        assert!(all.len() >= 10, "{}", all.len());
        for scenario in &all {
            assert!(!scenario.kinds().is_empty(), "{}", scenario.name);
            let stages = scenario.then.iter().flat_map(|stage| &stage.steps);
            let steps = scenario.steps.iter().chain(stages);
            let mixes = steps.filter_map(|step| match step {
                Step::Load(traffic) => Some(traffic),
                _ => None,
            });
            for traffic in mixes.chain([&scenario.healthy]) {
                match &traffic.mix {
                    Some(name) => assert!(crate::mix(name).is_some(), "{name}"),
                    None => assert!(!traffic.statements.is_empty(), "{}", scenario.name),
                }
            }
        }
    }

    #[test]
    fn a_file_of_the_users_own_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mine.toml");
        let text = "name = 'mine'\nwhat = ''\nservers = ['server']\nseconds = 1\nhealthy = {clients = 1}\nbreak = [{do = 'pause'}]\ntruth = {cause = 'x'}";
        std::fs::write(&path, text).unwrap();
        assert_eq!(scenario_file(&path).unwrap().name, "mine");
        let error = scenario_file(&dir.path().join("none.toml")).unwrap_err();
        assert!(error.to_string().contains("none.toml"), "{error}");
    }

    #[test]
    fn what_is_wrong_is_said_with_the_file() {
        let error = read("x.toml", "name = 1").unwrap_err().to_string();
        assert!(error.starts_with("x.toml: "), "{error}");
        let text = "name = 'y'\nwhat = ''\nservers = ['server']\nseconds = 1\nhealthy = {clients = 1}\nbreak = [{do = 'pause'}]\ntruth = {cause = 'x'}";
        let error = read("x.toml", text).unwrap_err().to_string();
        assert_eq!(error, "x.toml: its name is 'y'");
        let error = read("y.toml", &text.replace("'server'", "'oracle'"))
            .unwrap_err()
            .to_string();
        assert_eq!(error, "y.toml: there is no server 'oracle'");
        let with = |step: &str| text.replace("{do = 'pause'}", step);
        let wrong = |step: &str| read("y.toml", &with(step)).unwrap_err().to_string();
        assert_eq!(
            wrong("{do = 'causal_reads', clients = 1, statement = ''}"),
            "y.toml: source and causal_reads need `source = {...}` above"
        );
        let instead = format!("{text}\ninstead = [{{do = 'pause'}}]");
        assert_eq!(
            read("y.toml", &instead).unwrap_err().to_string(),
            "y.toml: instead and then need `remedy` above"
        );
        let source = text
            .replace("['server']", "['mysql-9']")
            .replace("seconds", "source = {clients = 1}\nseconds");
        assert_eq!(
            read("y.toml", &source).unwrap_err().to_string(),
            "y.toml: a source and a replica must be MariaDB"
        );
        assert_eq!(
            wrong("{do = 'fill_disk', leave_mib = 1}"),
            "y.toml: it needs `own_disk_mib` above"
        );
        assert_eq!(
            wrong("{do = 'fragment', keep_free_mib = 100, holes_mib = 1}"),
            "y.toml: keep_free_mib must be 4096 or more"
        );
        let quota = read("y.toml", &with("{do = 'cpu_quota', cpus = 0.5}")).unwrap();
        assert_eq!(quota.host_steps().count(), 1);
        assert!(!Step::Pause.is_of_host());
    }
}
