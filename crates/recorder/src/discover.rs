//! Which servers are to be recorded, and what they are called.

use std::path::PathBuf;

use kernel::roots::ProcRoot;
use kernel::servers::{self, ServerProcess, path_from_here};
use server::{Address, Login};
use thiserror::Error;

use crate::claims::Claims;
use crate::target::{Target, main_port};
use crate::target_process;

/// The port of a server that is named without one.
const USUAL_PORT: u16 = 3306;

/// Which server the user wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The server that listens on this unix socket.
    pub socket: Option<PathBuf>,
    /// The server that listens on this TCP port.
    pub port: Option<u16>,
    /// The server on this host, which is not ours.
    pub other_host: Option<String>,
    /// The server with this process id.
    pub pid: Option<u32>,
}

/// Why there is no server to record.
#[derive(Debug, Error)]
pub enum TargetError {
    /// No server runs here.
    #[error(
        "no mysqld or mariadbd runs here; name one with --socket PATH or --port N (it may start later)"
    )]
    NoServer,
    /// The process is not a server.
    #[error("process {0} is not a mysqld or mariadbd, or has ended")]
    NotAServer(u32),
    /// The processes cannot be listed.
    #[error("cannot look for servers: {0}")]
    Unreadable(#[from] kernel::read::ReadError),
}

/// Finds the servers to record: the one that is wanted, or all on the host. A wanted socket or
/// port need not be there yet.
pub fn discover_targets(
    wanted: &Wanted,
    login: &Login,
    option_file_address: Option<&Address>,
) -> Result<Vec<Target>, TargetError> {
    let proc = ProcRoot::default();
    let target = |process: Option<ServerProcess>, addresses: Vec<Address>| Target {
        label: label(process.as_ref(), &addresses),
        addresses,
        login: login.clone(),
        process,
        other_host: None,
        is_named: false,
        metrics: None,
        claims: Claims::default(),
    };
    if let (Some(host), None, None) = (&wanted.other_host, &wanted.pid, &wanted.socket) {
        let port = wanted.port.or(match option_file_address {
            Some(Address::Tcp(_, port)) => Some(*port),
            _ => None,
        });
        return Ok(vec![elsewhere(host, port.unwrap_or(USUAL_PORT), login)]);
    }
    if let Some(pid) = wanted.pid {
        let process = servers::server(&proc, pid).ok_or(TargetError::NotAServer(pid))?;
        let addresses = guessed_addresses(&process, option_file_address);
        return Ok(vec![target(Some(process), addresses)]);
    }
    let found = servers::discover(&proc)?.servers;
    let mut fixed = Vec::new();
    fixed.extend(wanted.socket.clone().map(Address::Socket));
    fixed.extend(
        wanted
            .port
            .map(|port| Address::Tcp("127.0.0.1".to_owned(), port)),
    );
    if !fixed.is_empty() {
        let owner = target_process::owner_of(found, &fixed);
        let mut one = target(owner, fixed);
        one.addresses.extend(own_socket(&one));
        return Ok(vec![one]);
    }
    if found.is_empty() {
        let address = option_file_address.ok_or(TargetError::NoServer)?;
        return Ok(vec![target(None, vec![address.clone()])]);
    }
    // With several servers nobody knows whose the option file's address or the usual socket is.
    let alone = found.len() == 1;
    let mut targets: Vec<Target> = found
        .into_iter()
        .map(|process| {
            let addresses = if alone {
                guessed_addresses(&process, option_file_address)
            } else {
                Vec::new()
            };
            target(Some(process), addresses)
        })
        .collect();
    make_labels_unique(&mut targets);
    Ok(targets)
}

/// A server that began while others are recorded, under a label that none of them has.
pub fn newcomer<'a>(
    process: ServerProcess,
    login: &Login,
    labels: impl Iterator<Item = &'a str> + Clone,
) -> Target {
    let usual = label(Some(&process), &[]);
    let is_free = |label: &str| !labels.clone().any(|other| other == label);
    let label = match is_free(&usual) {
        true => usual,
        false => format!("{usual}-pid{}", process.pid),
    };
    Target {
        label,
        addresses: match labels.clone().next() {
            // With several servers nobody knows whose the usual socket is.
            Some(_) => Vec::new(),
            None => guessed_addresses(&process, None),
        },
        login: login.clone(),
        process: Some(process),
        other_host: None,
        is_named: false,
        metrics: None,
        claims: Claims::default(),
    }
}

/// A server of which we know the way only.
fn elsewhere(host: &str, port: u16, login: &Login) -> Target {
    Target {
        label: format!("{}-{port}", word(host)),
        addresses: vec![Address::Tcp(host.to_owned(), port)],
        login: login.clone(),
        process: None,
        other_host: Some(host.to_owned()),
        is_named: false,
        metrics: None,
        claims: Claims::default(),
    }
}

/// The unix socket of a server that was named by its port alone: an account of this host is often let in there only.
fn own_socket(target: &Target) -> Option<Address> {
    let process = target.process.as_ref()?;
    let named_by_port = target
        .addresses
        .iter()
        .all(|address| matches!(address, Address::Tcp(..)));
    // One whose sockets are not seen may be another server.
    if !named_by_port || !target_process::listens_on(process, &target.addresses) {
        return None;
    }
    crate::target::known_addresses(process)
        .into_iter()
        .find(|address| matches!(address, Address::Socket(_)))
}

/// Two servers may have the same port: in containers, or on different addresses. Their files must
/// not mix.
fn make_labels_unique(targets: &mut [Target]) {
    let labels: Vec<String> = targets.iter().map(|target| target.label.clone()).collect();
    for target in targets {
        let same = labels
            .iter()
            .filter(|label| **label == target.label)
            .count();
        if same > 1
            && let Some(process) = &target.process
        {
            target.label = format!("{}-pid{}", target.label, process.pid);
        }
    }
}

/// Where a server's socket is by default (Debian, Red Hat, upstream).
const USUAL_SOCKETS: [&str; 3] = [
    "/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
];

/// Ways to a server whose own sockets we may not see; empty when they are seen.
fn guessed_addresses(process: &ServerProcess, option_file: Option<&Address>) -> Vec<Address> {
    if !target_process::is_unseen(process) {
        return Vec::new();
    }
    // In a container the usual place is that container's: at ours another server may listen.
    let root = ProcRoot::default().of(process.pid, "root");
    let root = root.read_dir().is_ok().then_some(root.as_path());
    let usual = USUAL_SOCKETS
        .iter()
        .map(|path| path_from_here(root, path.as_ref()))
        .find(|path| path.exists())
        .map(Address::Socket);
    option_file.cloned().or(usual).into_iter().collect()
}

fn label(process: Option<&ServerProcess>, addresses: &[Address]) -> String {
    let port = addresses
        .iter()
        .find_map(|address| match address {
            Address::Tcp(_, port) => Some(*port),
            Address::Socket(_) => None,
        })
        .or_else(|| Some(main_port(process?)?.1));
    if let Some(port) = port {
        return port.to_string();
    }
    let socket = addresses
        .iter()
        .find_map(|address| match address {
            Address::Socket(path) => Some(path.clone()),
            Address::Tcp(..) => None,
        })
        .or_else(|| Some(process?.unix_sockets.first()?.path.clone()));
    let text = match (socket, process) {
        (Some(path), _) => path.to_string_lossy().into_owned(),
        (None, Some(process)) => format!("pid{}", process.pid),
        (None, None) => "server".to_owned(),
    };
    word(&text)
}

/// What can be part of a file's name.
fn word(text: &str) -> String {
    let word: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    word.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target_process::tests::process;

    fn login() -> Login {
        Login {
            user: "u".to_owned(),
            password: None,
            from: String::new(),
            tls: server::Tls::default(),
        }
    }

    fn target(process: ServerProcess) -> Target {
        Target {
            label: label(Some(&process), &[]),
            addresses: Vec::new(),
            login: login(),
            process: Some(process),
            other_host: None,
            is_named: false,
            metrics: None,
            claims: Claims::default(),
        }
    }

    #[test]
    fn servers_with_the_same_port_have_files_of_their_own() {
        let mut targets = [
            target(process(11, "/a", "/a", 3306)),
            target(process(12, "/b", "/b", 3306)),
            target(process(13, "/c", "/c", 3307)),
        ];
        make_labels_unique(&mut targets);
        let labels: Vec<&str> = targets.iter().map(|target| target.label.as_str()).collect();
        assert_eq!(labels, ["3306-pid11", "3306-pid12", "3307"]);
    }

    #[test]
    fn a_server_of_another_host_has_that_hosts_name_and_nothing_of_ours() {
        let wanted = Wanted {
            other_host: Some("db7.example".to_owned()),
            ..Wanted::default()
        };
        let file = Address::Tcp("db7.example".to_owned(), 3307);
        let found = discover_targets(&wanted, &login(), Some(&file)).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].label, "db7-example-3307");
        assert_eq!(found[0].name(), "db7.example:3307");
        assert_eq!(found[0].addresses, [file]);
        assert!(found[0].process.is_none());
        let named = Wanted {
            port: Some(3310),
            ..wanted
        };
        let found = discover_targets(&named, &login(), None).unwrap();
        assert_eq!(found[0].name(), "db7.example:3310");
    }

    #[test]
    fn a_server_named_by_its_port_is_reached_by_its_socket_too() {
        let by_port = Target {
            addresses: vec![Address::Tcp("127.0.0.1".to_owned(), 3306)],
            ..target(process(1, "/s", "/s", 3306))
        };
        assert_eq!(own_socket(&by_port), Some(Address::Socket("/s".into())));
        let other = Target {
            addresses: vec![Address::Tcp("127.0.0.1".to_owned(), 3307)],
            ..by_port.clone()
        };
        assert_eq!(own_socket(&other), None, "perhaps another server's socket");
        let by_socket = Target {
            addresses: vec![Address::Socket("/t".into())],
            ..by_port
        };
        assert_eq!(own_socket(&by_socket), None);
    }
}
