//! The server of a scenario, ready to be broken.

use std::time::Duration;

use anyhow::Result;
use lab::{Churn, PrivateServer, Scenario, ServerKind, SlowSync};
use tempfile::TempDir;

/// How long one statement of the preparation may take.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(120);

/// In a scenario's statements this is the password of the lab's account.
const PASSWORD: &str = "{password}";

/// A server with the tables, and what the scenario needs besides. It ends when this is dropped.
pub(super) struct Stage {
    pub(super) server: PrivateServer,
    pub(super) slow: Option<SlowSync>,
    pub(super) scratch: TempDir,
}

impl Stage {
    pub(super) fn set(scenario: &Scenario, kind: ServerKind) -> Result<Self> {
        let scratch = tempfile::tempdir()?;
        let slow = scenario
            .slow_sync
            .then(|| SlowSync::build(scratch.path()))
            .transpose()?;
        let mut environment: Vec<(String, String)> =
            scenario.environment.clone().into_iter().collect();
        environment.extend(slow.iter().flat_map(SlowSync::environment));
        let churn = scenario
            .churn
            .then(|| Churn::build(scratch.path()))
            .transpose()?;
        let mut arguments: Vec<String> = churn.iter().map(Churn::argument).collect();
        arguments.extend(scenario.arguments.clone());
        let server = PrivateServer::start(&lab::Options {
            kind,
            arguments,
            environment,
            ..lab::Options::default()
        })?;
        for mix in lab::MIXES {
            mix.prepare(&server.login())?;
        }
        if let Some(churn) = &churn {
            churn.install(&server.login())?;
        }
        let password = server.tcp_login().password.unwrap_or_default();
        let prepare: Vec<String> = scenario
            .prepare
            .iter()
            .map(|statement| statement.replace(PASSWORD, &password))
            .collect();
        lab::say(&server.login(), &prepare, PREPARE_TIMEOUT)?;
        Ok(Self {
            server,
            slow,
            scratch,
        })
    }
}
