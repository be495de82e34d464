//! The server of a scenario, or of several in turn, ready to be broken.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;
use testbed::{Churn, Login, PrivateServer, Scenario, ServerKind, SlowSync};

use super::host::{Host, OnHost};
use super::partner::Partner;
use super::steps::Scene;
use super::verification::Fixes;
use crate::product::{Recorder, Share};

/// How long one statement of the preparation may take.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(300);

/// What one scenario changes on the host goes back after this at the latest.
const LONGEST: Duration = Duration::from_secs(20 * 60);

/// In a scenario's statements this is the password of the lab's account.
const PASSWORD: &str = "{password}";

/// Incidents that end soon, and as many as there are.
const CONFIG: &str = "[detect]\nsame_incident_seconds = 5\nincidents_per_hour = 1000\n[incident]\nmax_seconds = 60\n";
const AFTER: &str = "3s";

/// Starts the recorder beside the server of a scenario.
pub(crate) fn start_recorder(
    server: &PrivateServer,
    dir: &Path,
    trigger: Option<&str>,
) -> Result<Recorder> {
    let mut arguments = vec!["--after", AFTER];
    if let Some(trigger) = trigger {
        arguments.extend(["--trigger", trigger]);
    }
    Recorder::start(server, dir, CONFIG, &arguments)
}

/// The same with the share of the processors that its unit gives it.
pub(crate) fn start_service(server: &PrivateServer, dir: &Path) -> Result<Recorder> {
    Recorder::start_with(server, dir, (CONFIG, &["--after", AFTER]), Share::Own)
}

/// A server, and what its scenarios need besides. It ends when this is dropped, and what was changed
/// on the host goes back after it.
pub(crate) struct Stage {
    pub(crate) server: PrivateServer,
    /// What it was started with.
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) slow: Option<SlowSync>,
    churn: Option<Churn>,
    host: Option<Host>,
    partner: Option<Partner>,
    pub(crate) scratch: TempDir,
}

impl Stage {
    /// Starts the server for the first of these, with what any of them needs.
    pub(crate) fn set(acts: &[Scenario], kind: ServerKind) -> Result<Self> {
        let first = acts.first().context("there is no scenario")?;
        let scratch = tempfile::tempdir()?;
        let slow = acts
            .iter()
            .any(|act| act.slow_sync)
            .then(|| SlowSync::build(scratch.path()))
            .transpose()?;
        let churn = acts
            .iter()
            .any(|act| act.churn)
            .then(|| Churn::build(scratch.path()))
            .transpose()?;
        let touches_host = acts
            .iter()
            .any(|act| act.own_disk_mib.is_some() || act.host_steps().next().is_some());
        let longest = LONGEST * u32::try_from(acts.len()).unwrap_or(1);
        let host = touches_host
            .then(|| Host::begin(acts, scratch.path(), longest))
            .transpose()?;
        let mut environment = first.environment.clone();
        environment.extend(slow.iter().flat_map(SlowSync::environment));
        let partner = Partner::for_acts(acts, kind)?;
        let mut arguments: Vec<String> = churn.iter().map(Churn::argument).collect();
        arguments.extend(partner.iter().flat_map(Partner::arguments));
        arguments.extend(first.arguments.clone());
        let server = PrivateServer::start(&testbed::Options {
            kind,
            arguments: arguments.clone(),
            environment: environment.clone().into_iter().collect(),
            base: host.as_ref().and_then(Host::disk),
            ..testbed::Options::default()
        })?;
        if let Some(host) = &host {
            host.group(acts, &server)?;
        }
        Ok(Self {
            server,
            arguments,
            environment,
            slow,
            churn,
            host,
            partner,
            scratch,
        })
    }

    /// Makes the tables of all of them, and lets the server follow its source, or its replica follow it.
    pub(crate) fn prepare(&mut self, acts: &[Scenario]) -> Result<()> {
        if let Some(churn) = &self.churn {
            churn.install(&self.server.login())?;
        }
        let password = self.server.tcp_login().password.unwrap_or_default();
        let statements: Vec<String> = acts
            .iter()
            .flat_map(|act| &act.prepare)
            .map(|statement| statement.replace(PASSWORD, &password))
            .collect();
        prepare(&self.server.login(), &statements)?;
        match &mut self.partner {
            Some(partner) => {
                prepare(&partner.server.login(), &statements)?;
                partner.join(&self.server, LONGEST)
            }
            None => Ok(()),
        }
    }

    /// Sets the host up wrongly, as the scenario says.
    pub(crate) fn set_up(&self, act: &Scenario) -> Result<Vec<OnHost>> {
        act.setup
            .iter()
            .map(|step| {
                let host = self
                    .host
                    .as_ref()
                    .context("there is no lease of the host")?;
                host.take(step, self.scratch.path())
            })
            .collect()
    }

    /// Takes the set-up back.
    pub(crate) fn tear_down(&self, set_up: Vec<OnHost>) -> Result<()> {
        let Some(host) = &self.host else {
            return Ok(());
        };
        set_up
            .into_iter()
            .rev()
            .try_for_each(|step| host.undo(step))
    }

    /// Starts the server anew with other arguments and variables.
    pub(crate) fn restart(
        &mut self,
        arguments: Vec<String>,
        environment: BTreeMap<String, String>,
    ) -> Result<()> {
        self.server
            .change(arguments.clone(), environment.clone().into_iter().collect());
        (self.arguments, self.environment) = (arguments, environment);
        self.server.restart()?;
        match &self.host {
            Some(host) => host.enter_groups(&self.server),
            None => Ok(()),
        }
    }

    /// The fixes of this run, which go back first should it be killed.
    pub(crate) fn fixes(&self) -> Result<Fixes> {
        let fixes = Fixes::new(self.scratch.path(), &self.server)?;
        if let Some(host) = &self.host {
            host.add_fixes(fixes.dir())?;
        }
        Ok(fixes)
    }

    /// What steps are taken on.
    pub(crate) fn scene(&self) -> Scene<'_> {
        Scene {
            server: &self.server,
            partner: self.partner.as_ref(),
            slow: self.slow.as_ref(),
            host: self.host.as_ref(),
            scratch: self.scratch.path(),
        }
    }

    /// Ends the server and puts the host back, and says when that could not be done.
    pub(crate) fn end(self) -> Result<()> {
        drop(self.server);
        drop(self.partner);
        match self.host {
            Some(host) => host.end(),
            None => Ok(()),
        }
    }
}

/// Makes the tables of all loads, and says what a scenario needs besides.
fn prepare(login: &Login, statements: &[String]) -> Result<()> {
    for mix in testbed::MIXES {
        mix.prepare(login)?;
    }
    Ok(testbed::say(login, statements, PREPARE_TIMEOUT)?)
}
