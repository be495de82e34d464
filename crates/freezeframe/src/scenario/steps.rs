//! The steps of a break, each taken back when it is dropped.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use lab::{HeldSession, IdleConnections, Load, PrivateServer, SlowSync, Step, Traffic};

use super::host::{Host, OnHost};
use crate::background::Background;

/// How long a client waits for an answer before it connects again: longer than any break, because
/// a client that gives up is another load than one that waits.
const PATIENCE: Duration = Duration::from_secs(120);

/// The same for a connect.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// A step that was taken.
pub(super) enum Taken<'a> {
    Load(Background),
    Session(HeldSession),
    Idle(IdleConnections),
    Paused(&'a PrivateServer),
    SlowSync(&'a SlowSync),
    Host(&'a Host, OnHost),
}

/// What steps are taken on.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) server: &'a PrivateServer,
    pub(super) slow: Option<&'a SlowSync>,
    pub(super) host: Option<&'a Host>,
    /// For what a step needs.
    pub(super) scratch: &'a Path,
}

/// Does one step.
pub(super) fn take<'a>(step: &Step, scene: Scene<'a>, duration: Duration) -> Result<Taken<'a>> {
    let server = scene.server;
    Ok(match step {
        Step::Load(traffic) => Taken::Load(Background::start(load(server, traffic, duration)?)?),
        Step::Session {
            statements,
            settle_seconds,
        } => {
            let session = HeldSession::begin(&server.login(), statements, PATIENCE)?;
            std::thread::sleep(Duration::from_secs_f64(settle_seconds.clamp(0.0, 60.0)));
            Taken::Session(session)
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
        Step::SlowSync { milliseconds } => {
            let slow = scene.slow.context("the scenario has no slow_sync")?;
            slow.set(*milliseconds)?;
            Taken::SlowSync(slow)
        }
        Step::HugePages { .. }
        | Step::Fragment { .. }
        | Step::CpuQuota { .. }
        | Step::MemoryLimit { .. }
        | Step::WriteLimit { .. }
        | Step::FillDisk { .. } => {
            let host = scene
                .host
                .context("the scenario has no lease of the host")?;
            Taken::Host(host, host.take(step, scene.scratch)?)
        }
    })
}

/// Takes a step back.
pub(super) fn undo(taken: Taken) -> Result<()> {
    match taken {
        Taken::Load(load) => load.end().map(|_| ()),
        Taken::Session(session) => {
            drop(session);
            Ok(())
        }
        Taken::Idle(connections) => {
            drop(connections);
            Ok(())
        }
        Taken::Paused(server) => Ok(server.resume()?),
        Taken::SlowSync(slow) => Ok(slow.set(0)?),
        Taken::Host(host, taken) => host.undo(taken),
    }
}

/// The statements of a scenario as a load.
pub(super) fn load(server: &PrivateServer, traffic: &Traffic, duration: Duration) -> Result<Load> {
    let statements = match &traffic.mix {
        Some(name) => lab::mix(name)
            .with_context(|| format!("there is no mix '{name}'"))?
            .statements(),
        None => traffic
            .statements
            .iter()
            .map(|text| (1, text.clone()))
            .collect(),
    };
    Ok(Load {
        login: server.tcp_login(),
        clients: traffic.clients,
        rate_per_second: traffic.rate,
        compression: traffic.compress,
        reconnect: traffic.reconnect,
        statements,
        duration,
        timeout: PATIENCE,
    })
}
