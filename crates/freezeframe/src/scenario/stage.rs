//! The server of a scenario, ready to be broken.

use std::time::Duration;

use anyhow::Result;
use lab::{Churn, PrivateServer, Scenario, ServerKind, SlowSync};
use tempfile::TempDir;

use super::host::Host;
use super::steps::{Scene, Taken, take};

/// How long one statement of the preparation may take.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(120);

/// What a run changes on the host goes back after this at the latest.
const LONGEST: Duration = Duration::from_secs(20 * 60);

/// In a scenario's statements this is the password of the lab's account.
const PASSWORD: &str = "{password}";

/// A server, and what the scenario needs besides. It ends when this is dropped, and what was changed
/// on the host goes back after it.
pub(super) struct Stage {
    pub(super) server: PrivateServer,
    slow: Option<SlowSync>,
    churn: Option<Churn>,
    pub(super) host: Option<Host>,
    pub(super) scratch: TempDir,
}

impl Stage {
    /// Starts the server.
    pub(super) fn set(scenario: &Scenario, kind: ServerKind) -> Result<Self> {
        let scratch = tempfile::tempdir()?;
        let slow = scenario
            .slow_sync
            .then(|| SlowSync::build(scratch.path()))
            .transpose()?;
        let churn = scenario
            .churn
            .then(|| Churn::build(scratch.path()))
            .transpose()?;
        let touches_host =
            scenario.own_disk_mib.is_some() || scenario.host_steps().next().is_some();
        let host = touches_host
            .then(|| Host::begin(scenario, scratch.path(), LONGEST))
            .transpose()?;
        let mut environment: Vec<(String, String)> =
            scenario.environment.clone().into_iter().collect();
        environment.extend(slow.iter().flat_map(SlowSync::environment));
        let mut arguments: Vec<String> = churn.iter().map(Churn::argument).collect();
        arguments.extend(scenario.arguments.clone());
        let server = PrivateServer::start(&lab::Options {
            kind,
            arguments,
            environment,
            base: host.as_ref().and_then(Host::disk),
            ..lab::Options::default()
        })?;
        if let Some(host) = &host {
            host.group(scenario, &server)?;
        }
        Ok(Self {
            server,
            slow,
            churn,
            host,
            scratch,
        })
    }

    /// Takes the steps of the set-up, which are to be taken back in the end, and makes the tables.
    pub(super) fn prepare(&self, scenario: &Scenario) -> Result<Vec<Taken<'_>>> {
        let set_up = scenario
            .setup
            .iter()
            .map(|step| take(step, self.scene(), LONGEST))
            .collect::<Result<_>>()?;
        for mix in lab::MIXES {
            mix.prepare(&self.server.login())?;
        }
        if let Some(churn) = &self.churn {
            churn.install(&self.server.login())?;
        }
        let password = self.server.tcp_login().password.unwrap_or_default();
        let prepare: Vec<String> = scenario
            .prepare
            .iter()
            .map(|statement| statement.replace(PASSWORD, &password))
            .collect();
        lab::say(&self.server.login(), &prepare, PREPARE_TIMEOUT)?;
        Ok(set_up)
    }

    /// What steps are taken on.
    pub(super) fn scene(&self) -> Scene<'_> {
        Scene {
            server: &self.server,
            slow: self.slow.as_ref(),
            host: self.host.as_ref(),
            scratch: self.scratch.path(),
        }
    }

    /// Ends the server and puts the host back, and says when that could not be done.
    pub(super) fn end(self) -> Result<()> {
        drop(self.server);
        match self.host {
            Some(host) => host.end(),
            None => Ok(()),
        }
    }
}
