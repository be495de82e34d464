//! The second server of a scenario: the source that its server follows, or the replica that follows it.

use std::time::Duration;

use anyhow::Result;
use testbed::{PrivateServer, Scenario, ServerKind, Traffic};

use super::traffic::load;
use crate::background::Background;

/// A replica acknowledges what it has received, should its source want that.
const ACKNOWLEDGE: &str = "--rpl-semi-sync-slave-enabled=ON";

/// Another server of the same kind.
pub(crate) struct Partner {
    pub(crate) server: PrivateServer,
    role: Role,
    load: Option<Background>,
}

enum Role {
    /// And what it is asked all the time.
    Source(Traffic),
    Replica,
}

impl Partner {
    /// Starts it, where any of these has one.
    pub(crate) fn for_acts(acts: &[Scenario], kind: ServerKind) -> Result<Option<Self>> {
        let source = acts.iter().find_map(|act| act.source.clone());
        let role = match source {
            Some(traffic) => Role::Source(traffic),
            None if acts.iter().any(|act| act.replica) => Role::Replica,
            None => return Ok(None),
        };
        let arguments = match role {
            Role::Source(_) => testbed::SOURCE_ARGUMENTS.to_vec(),
            Role::Replica => [&testbed::REPLICA_ARGUMENTS[..], &[ACKNOWLEDGE]].concat(),
        };
        let server = PrivateServer::start(&testbed::Options {
            kind,
            arguments: arguments.into_iter().map(str::to_owned).collect(),
            ..testbed::Options::default()
        })?;
        Ok(Some(Self {
            server,
            role,
            load: None,
        }))
    }

    /// What the scenario's own server must be started with beside it.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let arguments = match self.role {
            Role::Source(_) => &testbed::REPLICA_ARGUMENTS[..],
            Role::Replica => &testbed::SOURCE_ARGUMENTS[..],
        };
        arguments.iter().map(|text| (*text).to_owned()).collect()
    }

    /// Begins the replication between the two, which have been prepared alike, and the source's load.
    pub(crate) fn join(&mut self, server: &PrivateServer, longest: Duration) -> Result<()> {
        match &self.role {
            Role::Source(traffic) => {
                testbed::follow(server, &self.server)?;
                let load = load(&self.server, traffic, longest)?;
                self.load = Some(Background::start(load)?);
            }
            Role::Replica => testbed::follow(&self.server, server)?,
        }
        Ok(())
    }

    /// It, when it is the source.
    pub(crate) fn source(&self) -> Option<&PrivateServer> {
        matches!(self.role, Role::Source(_)).then_some(&self.server)
    }

    /// It, when it is the replica.
    pub(crate) fn replica(&self) -> Option<&PrivateServer> {
        matches!(self.role, Role::Replica).then_some(&self.server)
    }
}
