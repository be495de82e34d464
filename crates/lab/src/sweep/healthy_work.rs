//! The pieces of healthy work: what each is, and how it is done.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use testbed::{Load, PrivateServer, ServerKind};

use crate::background::Background;
use crate::healthy::work::{self, Running};
use crate::scenario::host::begin_lease;
use lab::host::{HostChange, HostLease};

/// A compiler has something to do.
const FUNCTIONS: usize = 3000;

/// Who comes all at once.
const BURST_CLIENTS: usize = 10;

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How far the clock is set back: of every other stage. By an hour it is another clock, by half a minute a step that
/// puts a drift right.
const CLOCK_BACK: [Duration; 2] = [Duration::from_secs(3600), Duration::from_secs(30)];

/// One piece of work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Item {
    Compilation,
    CopyOfFiles,
    Dump,
    Analyze,
    Alter,
    Report,
    Burst,
    /// The users send so many times as much.
    Factor(f64),
    FlushLogs,
    Checkpoint,
    Restart,
    Replica,
    ClockSetBack,
    Neighbours,
}

impl Item {
    pub(super) const ALL: [Self; 16] = [
        Self::Compilation,
        Self::CopyOfFiles,
        Self::Dump,
        Self::Analyze,
        Self::Alter,
        Self::Report,
        Self::Burst,
        Self::Factor(10.0),
        Self::Factor(0.1),
        Self::Factor(0.0),
        Self::FlushLogs,
        Self::Checkpoint,
        Self::Restart,
        Self::Neighbours,
        Self::Replica,
        Self::ClockSetBack,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Compilation => "a compiler on the same host",
            Self::CopyOfFiles => "its files are copied",
            Self::Dump => "a dump",
            Self::Analyze => "ANALYZE TABLE",
            Self::Alter => "online ALTER TABLE",
            Self::Report => "long reports",
            Self::Burst => "ten clients more for 5 s",
            Self::Factor(factor) if factor > 1.0 => "ten times the load",
            Self::Factor(factor) if factor > 0.0 => "a tenth of the load",
            Self::Factor(_) => "no load",
            Self::FlushLogs => "FLUSH LOGS",
            Self::Checkpoint => "a checkpoint",
            Self::Restart => "clean restart",
            Self::Replica => "it catches up with its source",
            Self::ClockSetBack => "the clock is set back",
            Self::Neighbours => "neighbours at nice 19",
        }
    }

    /// How long it lasts, where that is part of it.
    pub(super) fn time(self) -> Option<Duration> {
        (self == Self::Burst).then_some(Duration::from_secs(5))
    }

    /// Why it cannot be done here.
    pub(super) fn why_not(self, kind: ServerKind, may_set_clock: bool) -> Option<String> {
        match self {
            Self::ClockSetBack if !may_set_clock => {
                Some("changes this host's clock: only with --set-clock".to_owned())
            }
            Self::Replica if !kind.can_follow() => {
                Some("the lab cannot create a replica of this server".to_owned())
            }
            _ => None,
        }
    }
}

/// The clock of the host, set back until this ends, whatever becomes of us.
pub(super) fn clock_back(stage: usize, time: Duration) -> Result<HostLease> {
    let by = CLOCK_BACK.get(stage % CLOCK_BACK.len()).copied();
    let mut lease = begin_lease(2 * time)?;
    lease.make(HostChange::clock_back(by.unwrap_or_default()))?;
    Ok(lease)
}

/// Work that is going on.
#[derive(Default)]
pub(super) struct Work {
    loads: Vec<Background>,
    running: Option<Running>,
    programs: Vec<Program>,
}

impl Work {
    pub(super) fn start(
        item: Item,
        server: &PrivateServer,
        rate: f64,
        scratch: &Path,
    ) -> Result<Self> {
        let mut work = Self::default();
        match item {
            Item::Compilation => {
                let source = scratch.join("made.c");
                let text: String = (0..FUNCTIONS)
                    .map(|n| format!("int f{n}(int a, int b) {{ int s = {n}; for (int i = 0; i < a; i++) s = s * 31 + (b ^ i) % (a + 7); return s; }}\n"))
                    .collect();
                std::fs::write(&source, text)?;
                for _ in 0..2 {
                    work.shell(
                        "while :; do cc -O2 -c \"$1\" -o /dev/null; done",
                        &[source.as_os_str()],
                    )?;
                }
            }
            Item::CopyOfFiles => {
                let (from, to) = (server.datadir(), scratch.join("copy"));
                work.shell(
                    "while :; do rm -rf \"$2\"; cp -a \"$1\" \"$2\"; done",
                    &[from.as_os_str(), to.as_os_str()],
                )?;
            }
            Item::Neighbours => {
                for _ in 0..4 {
                    work.shell("exec nice -n 19 sh -c 'while :; do :; done'", &[])?;
                }
                let file = scratch.join("written");
                work.shell(
                    "while :; do nice -n 19 dd if=/dev/zero of=\"$1\" bs=1M count=128 conv=fsync; done",
                    &[file.as_os_str()],
                )?;
            }
            Item::Dump => work.running = Some(work::beside("backup by mysqldump", server)?),
            Item::Alter => work.running = Some(work::beside("index build", server)?),
            Item::Report => work.running = Some(work::beside("nightly report", server)?),
            Item::Replica => work.running = Some(work::beside("replica of a busy source", server)?),
            Item::Analyze => {
                let text = "ANALYZE TABLE freezeframe_lab.t;\nANALYZE TABLE freezeframe_lab.wide";
                work.say(server, text, 1, Some(1.0))?;
            }
            Item::FlushLogs => work.say(server, "FLUSH LOGS", 1, Some(1.0))?,
            Item::Checkpoint => {
                let text = "SET GLOBAL innodb_max_dirty_pages_pct = 0;\nDO SLEEP(5);\n\
                            SET GLOBAL innodb_max_dirty_pages_pct = 90;\nDO SLEEP(5)";
                work.say(server, text, 1, None)?;
            }
            Item::Burst => {
                let text =
                    "SELECT id, k, c FROM freezeframe_lab.t WHERE id BETWEEN {row} AND {row} + 99";
                work.say(server, text, BURST_CLIENTS, Some(5.0 * rate))?;
            }
            Item::Factor(_) | Item::Restart | Item::ClockSetBack => {}
        }
        Ok(work)
    }

    fn say(
        &mut self,
        server: &PrivateServer,
        text: &str,
        clients: usize,
        rate: Option<f64>,
    ) -> Result<()> {
        self.loads.push(Background::start(Load {
            login: server.tcp_login(),
            clients,
            rate_per_second: rate,
            compression: false,
            reconnect: false,
            statements: vec![(1, text.to_owned())],
            duration: 10 * PATIENCE,
            timeout: PATIENCE,
        })?);
        Ok(())
    }

    fn shell(&mut self, script: &str, arguments: &[&OsStr]) -> Result<()> {
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--", "sh", "-c", script, "sh"])
            .args(arguments)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("a program of the machine cannot be started")?;
        self.programs.push(Program(child));
        Ok(())
    }

    pub(super) fn end(self) -> Result<()> {
        drop(self.programs);
        for load in self.loads {
            load.end()?;
        }
        self.running.map_or(Ok(()), Running::end)
    }
}

/// A program of the machine, which ends with all that it started.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let group = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            // It may have ended by itself.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}
