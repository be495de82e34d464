//! Which server is meant. What an incident advises is for its own server: another one that happens to run here is neither
//! looked at nor changed, unless it is named.

use anyhow::{Result, bail};
use cli::output;
use model::Incident;
use recorder::{Target, host_name};
use remedy::fix::{Access, Root};
use remedy::{ProcessId, ServerLogin};
use server::Login;

use super::selection::SelectedCause;
use crate::args::Fix;
use crate::config::Config;
use crate::{journals, targets};

/// The server that is meant, as far as it was found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) process: Option<kernel::servers::ServerProcess>,
    pub(super) access: Option<Access>,
    /// What a recorder calls it.
    pub(super) label: Option<String>,
}

/// The server that is meant. None is no error: settings of the host need none.
pub(super) fn found(
    args: &Fix,
    config: &Config,
    root: &Root,
    what: &SelectedCause,
) -> Result<Found> {
    if !root.is_real() && args.server.socket.is_none() && args.server.port.is_none() {
        // What runs outside of that tree is none of its business.
        let found = kernel::servers::discover(&root.proc()).unwrap_or_default();
        return Ok(Found {
            process: found.servers.into_iter().next(),
            ..Found::default()
        });
    }
    let said = &args.server;
    let named = said.socket.is_some() || said.port.is_some() || said.pid.is_some();
    let here = host_name();
    let incident = what.incident.as_ref().filter(|_| !named);
    if args.apply
        && let Some(incident) = incident.filter(|incident| is_of_other_host(incident, &here))
    {
        bail!(
            "the incident is of host {}, and this is {here}: run `freezeframe fix` there. To change this host all the same, name the cause: freezeframe fix {} --apply",
            incident.host,
            what.cause.id
        );
    }
    let mut all = match targets::find_listening(said, config) {
        Ok(all) => all,
        Err(error) if named => return Err(error),
        Err(error) => {
            output::note(&format!("{error}; looking at the host only"));
            return Ok(Found::default());
        }
    };
    let may_be = |target: &Target| {
        target.other_host.is_some()
            || incident.is_none_or(|incident| may_be_of(incident, target, &here))
    };
    let is_other = !all.iter().any(may_be);
    if !is_other {
        all.retain(may_be);
    }
    let is_unclear = all.len() > 1 || is_other && !all.is_empty();
    if is_unclear {
        let labels: Vec<&str> = all.iter().map(|target| target.label.as_str()).collect();
        let why = unclear(&labels, incident.filter(|_| is_other), &here);
        if !what.needs_server() && !named {
            output::note(&format!(
                "{why}; this fix is for the host, so no server was looked at"
            ));
            return Ok(Found::default());
        }
        if named || args.apply {
            bail!("{why}: name one with --port, --socket or --pid");
        }
        // The steps are worth reading wherever the incident is read.
        output::note(&format!(
            "{why}, so none was looked at; to look at one, name it with --port, --socket or --pid"
        ));
        return Ok(Found::default());
    }
    let Some(target) = all.pop() else {
        return Ok(Found::default());
    };
    // What is changed is this host's, and what was read of a server elsewhere says nothing of it.
    if let Some(host) = &target.other_host {
        bail!("the server runs on {host}: run `freezeframe fix` there");
    }
    let access = target.first_address().map(|address| {
        let way = ServerLogin {
            address: (&address).into(),
            process: target.process.as_ref().map(|process| ProcessId {
                pid: process.pid,
                start_time_ticks: process.start_time_ticks,
            }),
            login: journals::login_way(said, config, &target.login.user),
        };
        let login: Login = target.login.clone();
        Access::new(way, login)
    });
    Ok(Found {
        process: target.process,
        access,
        label: Some(target.label),
    })
}

/// Captures of other tools do not tell their host.
fn is_of_other_host(incident: &Incident, here: &str) -> bool {
    !incident.host.is_empty() && incident.host != here
}

/// Whether a server that runs here may be the one of an incident: by its process, a way to it, or its name. Of a server of
/// captures nothing is known that tells it from others.
fn may_be_of(incident: &Incident, target: &Target, here: &str) -> bool {
    let then = &incident.server;
    if incident.host.is_empty() || then.address.is_empty() {
        return true;
    }
    if is_of_other_host(incident, here) {
        return false;
    }
    let pid = target.process.as_ref().map(|process| process.pid);
    let ways = target.candidate_addresses();
    pid.is_some() && pid == then.pid
        || ways.iter().any(|way| way.to_string() == then.address)
        || target.label == then.label
}

/// Why it is not known which of the servers that run here is meant. `other` is an incident that is of none of them.
fn unclear(labels: &[&str], other: Option<&Incident>, here: &str) -> String {
    let labels = labels.join(", ");
    match other {
        Some(incident) => {
            let of_host = match is_of_other_host(incident, here) {
                true => format!(" on {}", incident.host),
                false => String::new(),
            };
            format!(
                "the incident is of server {}{of_host}, which is none of those that run here ({labels})",
                incident.server.label
            )
        }
        None => format!("several servers run here ({labels})"),
    }
}

#[cfg(test)]
mod tests {
    use recorder::Claims;
    use server::{Address, Tls};

    use super::*;

    fn here(label: &str, address: Address) -> Target {
        Target {
            label: label.to_owned(),
            addresses: vec![address],
            login: Login {
                user: "u".to_owned(),
                password: None,
                from: String::new(),
                tls: Tls::default(),
            },
            process: None,
            other_host: None,
            is_named: false,
            metrics: None,
            claims: Claims::default(),
        }
    }

    /// Of server 3306 on db1, by `/run/mysqld/mysqld.sock`.
    fn incident() -> Incident {
        testbed::made_incident(&testbed::IncidentSize::small())
    }

    #[test]
    fn a_server_is_the_incident_s_by_its_name_or_a_way_to_it() {
        let socket = || Address::Socket("/run/mysqld/mysqld.sock".into());
        let other_socket = || Address::Socket("/tmp/mysql.sock".into());
        let incident = incident();
        for (label, way, host, may_be) in [
            ("3306", other_socket(), "db1", true),
            // The recorder knew it by another name: a target of the configuration, or one whose ports it did not see.
            ("shop", socket(), "db1", true),
            ("3307", other_socket(), "db1", false),
            // Every host has a server on port 3306.
            ("3306", socket(), "laptop", false),
        ] {
            let target = here(label, way);
            assert_eq!(may_be_of(&incident, &target, host), may_be, "{target:?}");
        }
        // A file of captures is called like its server on no host.
        let imported = Incident {
            host: String::new(),
            server: model::Server {
                label: "ticket".to_owned(),
                ..model::Server::default()
            },
            ..incident
        };
        assert!(may_be_of(&imported, &here("3307", other_socket()), "db1"));
    }

    #[test]
    fn it_is_said_whose_the_incident_is() {
        let incident = incident();
        for (here, words) in [
            (
                "db1",
                "the incident is of server 3306, which is none of those that run here (3307)",
            ),
            (
                "laptop",
                "the incident is of server 3306 on db1, which is none of those that run here (3307)",
            ),
        ] {
            assert_eq!(unclear(&["3307"], Some(&incident), here), words);
        }
        assert_eq!(
            unclear(&["3306", "3307"], None, "db1"),
            "several servers run here (3306, 3307)"
        );
    }
}
