//! The steps of a break, each taken back when it is dropped.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use cli::output;
use testbed::{
    CausalReads, HeldSession, IdleConnections, LoadResult, PrivateServer, Slow, SlowSync, Step,
};

use super::host::{Host, OnHost};
use super::partner::Partner;
use super::traffic::{PATIENCE, load};
use crate::background::Background;

/// The same for a connect.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// A step that was taken.
pub(crate) enum Taken<'a> {
    Load(Background),
    /// It is over already.
    Said,
    Reads(CausalReads),
    Sessions(Vec<HeldSession>),
    Idle(IdleConnections),
    Paused(&'a PrivateServer),
    SlowSync(&'a SlowSync),
    Host(&'a Host, OnHost),
}

/// What steps are taken on.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) server: &'a PrivateServer,
    /// The server that it follows, or that follows it.
    pub(crate) partner: Option<&'a Partner>,
    pub(crate) slow: Option<&'a SlowSync>,
    pub(crate) host: Option<&'a Host>,
    /// For what a step needs.
    pub(crate) scratch: &'a Path,
}

/// Does one step.
pub(crate) fn take<'a>(step: &Step, scene: Scene<'a>, duration: Duration) -> Result<Taken<'a>> {
    let server = scene.server;
    Ok(match step {
        Step::Load(traffic) => Taken::Load(Background::start(load(server, traffic, duration)?)?),
        Step::Source { statements } => {
            let source = source(scene)?;
            testbed::say(&source.login(), statements, PATIENCE)?;
            Taken::Said
        }
        Step::CausalReads { clients, statement } => {
            let reads = CausalReads::begin(server, source(scene)?, *clients, statement)?;
            Taken::Reads(reads)
        }
        Step::Session {
            statements,
            sessions,
            settle_seconds,
        } => {
            let held = (0..*sessions)
                .map(|_| {
                    HeldSession::begin_telling(&server.login(), statements, PATIENCE, output::note)
                })
                .collect::<Result<_, _>>()?;
            std::thread::sleep(Duration::from_secs_f64(settle_seconds.clamp(0.0, 60.0)));
            Taken::Sessions(held)
        }
        Step::Idle { connections } => Taken::Idle(IdleConnections::open(
            &server.tcp_login(),
            *connections,
            CONNECT_PATIENCE,
        )?),
        Step::Pause => {
            server.pause()?;
            Taken::Paused(server)
        }
        Step::PauseReplica => {
            let replica = scene.partner.and_then(Partner::replica);
            let replica = replica.context("the scenario has no replica")?;
            replica.pause()?;
            Taken::Paused(replica)
        }
        Step::SlowSync {
            milliseconds,
            files,
        } => slower(
            scene.slow,
            &Slow {
                sync_ms: *milliseconds,
                files: files.clone(),
                ..Slow::default()
            },
        )?,
        Step::SlowNames { milliseconds } => slower(
            scene.slow,
            &Slow {
                names_ms: *milliseconds,
                ..Slow::default()
            },
        )?,
        Step::HugePages { .. }
        | Step::Fragment { .. }
        | Step::CpuQuota { .. }
        | Step::MemoryLimit { .. }
        | Step::ThreadLimit { .. }
        | Step::WriteLimit { .. }
        | Step::ReadLimit { .. }
        | Step::Copy { .. }
        | Step::ReadMaps { .. }
        | Step::Swap { .. }
        | Step::FillDisk { .. } => {
            let host = scene
                .host
                .context("the scenario has no lease of the host")?;
            Taken::Host(host, host.take(step, scene.scratch)?)
        }
    })
}

fn source<'a>(scene: Scene<'a>) -> Result<&'a PrivateServer> {
    let source = scene.partner.and_then(Partner::source);
    source.context("the scenario has no source")
}

fn slower<'a>(slow: Option<&'a SlowSync>, what: &Slow) -> Result<Taken<'a>> {
    let slow = slow.context("the scenario has no slow_sync")?;
    slow.set(what)?;
    Ok(Taken::SlowSync(slow))
}

/// Takes the steps back, the last one first. Clients that wait for what another step holds end when it
/// lets go: so all are told to end, then the others are taken back, and then the clients are waited for.
pub(crate) fn undo_all(taken: Vec<Taken>) -> Result<Vec<LoadResult>> {
    let mut loads = Vec::new();
    let mut others = Vec::new();
    for step in taken.into_iter().rev() {
        match step {
            Taken::Load(load) => {
                load.tell_to_end();
                loads.push(load);
            }
            other => others.push(other),
        }
    }
    for step in others {
        undo(step)?;
    }
    loads.into_iter().map(Background::end).collect()
}

fn undo(taken: Taken) -> Result<()> {
    match taken {
        Taken::Load(load) => drop(load.end()?),
        Taken::Said => {}
        Taken::Reads(reads) => drop(reads),
        Taken::Sessions(held) => drop(held),
        Taken::Idle(connections) => drop(connections),
        Taken::Paused(server) => server.resume()?,
        Taken::SlowSync(slow) => slow.back()?,
        Taken::Host(host, taken) => host.undo(taken)?,
    }
    Ok(())
}
