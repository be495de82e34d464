//! The statements of a scenario as a load.

use std::time::Duration;

use anyhow::{Context, Result};
use testbed::{Address, Load, PrivateServer, Traffic};

/// How long a client waits for an answer before it connects again: longer than any break, because
/// a client that gives up is another load than one that waits.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// The statements of a scenario as a load.
pub(crate) fn load(server: &PrivateServer, traffic: &Traffic, duration: Duration) -> Result<Load> {
    let statements = match &traffic.mix {
        Some(name) => testbed::mix(name)
            .with_context(|| format!("there is no mix '{name}'"))?
            .statements(),
        None => traffic
            .statements
            .iter()
            .map(|text| (1, text.clone()))
            .collect(),
    };
    let mut login = server.tcp_login();
    if let (Some(from), Address::Tcp(host, port)) = (traffic.from, &login.address) {
        login.address = Address::TcpFrom(host.clone(), *port, from.into());
    }
    Ok(Load {
        login,
        clients: traffic.clients,
        rate_per_second: traffic.rate,
        compression: traffic.compress,
        reconnect: traffic.reconnect,
        statements,
        duration,
        timeout: PATIENCE,
    })
}
