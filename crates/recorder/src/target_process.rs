//! Which process is the server that is meant: after a restart, where several run, where their sockets are hidden.

use kernel::servers::ServerProcess;
use server::Address;

/// Whether a server's sockets could not be read: without a privilege, or before it listens.
pub(crate) fn is_unseen(process: &ServerProcess) -> bool {
    process.unix_sockets.is_empty() && process.tcp_ports.is_empty()
}

/// The server that listens on one of these addresses; or the only one whose sockets are not seen,
/// when nobody is seen to listen there.
pub(crate) fn owner_of(found: Vec<ServerProcess>, addresses: &[Address]) -> Option<ServerProcess> {
    let (seen, mut unseen): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|server| !is_unseen(server));
    let owner = seen
        .into_iter()
        .find(|server| listens_on(server, addresses));
    owner.or_else(|| {
        if unseen.len() == 1 {
            unseen.pop()
        } else {
            None
        }
    })
}

/// Whether a server that was taken for the wanted one, because it was the only one whose sockets
/// were not seen, may still be it. Without addresses the process itself was wanted.
pub(crate) fn may_be_target(server: &ServerProcess, addresses: &[Address]) -> bool {
    addresses.is_empty() || is_unseen(server) || listens_on(server, addresses)
}

/// Whether a server listens on one of these.
pub(crate) fn listens_on(server: &ServerProcess, addresses: &[Address]) -> bool {
    addresses.iter().any(|address| match address {
        Address::Socket(path) => {
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            server
                .unix_sockets
                .iter()
                .any(|socket| socket.host_path == *path || socket.host_path == real)
        }
        Address::Tcp(_, port) => {
            server.same_net_namespace != Some(false)
                && server.tcp_ports.iter().any(|(_, own)| own == port)
        }
    })
}

/// Whether a process is the successor of one that was recorded: the same program of the same user
/// on a socket or port of the same name, in a container as well.
pub(crate) fn is_successor(old: &ServerProcess, new: &ServerProcess) -> bool {
    let same_socket = new.unix_sockets.iter().any(|socket| {
        old.unix_sockets
            .iter()
            .any(|known| known.path == socket.path)
    });
    let same_port = new
        .tcp_ports
        .iter()
        .any(|port| old.tcp_ports.contains(port));
    let same_network = old.same_net_namespace == new.same_net_namespace;
    may_succeed(old, new)
        && same_network
        && (same_socket || same_port || (is_unseen(old) && is_unseen(new)))
}

/// Whether a process that does not listen yet, or not for our eyes, may be the one that was there
/// before: on a host with two servers, one that begins while the other is down is not its successor.
pub(crate) fn may_succeed(old: &ServerProcess, new: &ServerProcess) -> bool {
    let same_data = match (&old.datadir, &new.datadir) {
        (Some(old), Some(new)) => old.path == new.path,
        _ => true,
    };
    old.program == new.program && old.uid == new.uid && same_data
}

#[cfg(test)]
pub(crate) mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use kernel::servers::{Datadir, DatadirSource, UnixListener};

    use super::*;

    pub(crate) fn process(pid: u32, socket: &str, host_socket: &str, port: u16) -> ServerProcess {
        ServerProcess {
            pid,
            start_time_ticks: 1,
            exe: None,
            via_loader: false,
            program: "mariadbd".to_owned(),
            uid: Some(999),
            unix_sockets: vec![UnixListener {
                path: socket.into(),
                host_path: host_socket.into(),
                inode: 7,
            }],
            tcp_ports: vec![(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port)],
            same_net_namespace: Some(true),
            datadir: None,
            absent: Vec::new(),
        }
    }

    fn hidden(pid: u32) -> ServerProcess {
        ServerProcess {
            unix_sockets: Vec::new(),
            tcp_ports: Vec::new(),
            same_net_namespace: None,
            ..process(pid, "", "", 0)
        }
    }

    #[test]
    fn a_container_restarted_is_the_same_server_and_another_one_is_not() {
        let socket = "/run/mysqld/mysqld.sock";
        let in_container = |pid: u32| ServerProcess {
            same_net_namespace: Some(false),
            ..process(pid, socket, &format!("/proc/{pid}/root{socket}"), 3306)
        };
        assert!(is_successor(&in_container(5), &in_container(6)));
        assert!(
            !is_successor(&in_container(5), &process(6, socket, socket, 3306)),
            "the host's"
        );
        assert!(!is_successor(
            &process(5, "/a", "/a", 1),
            &process(6, "/b", "/b", 2)
        ));
    }

    #[test]
    fn another_server_that_begins_is_no_successor() {
        let with_data = |pid: u32, path: &str| ServerProcess {
            datadir: Some(Datadir {
                path: path.into(),
                source: DatadirSource::CommandLine,
            }),
            ..hidden(pid)
        };
        let old = with_data(1, "/var/lib/mysql");
        assert!(may_succeed(&old, &with_data(2, "/var/lib/mysql")));
        assert!(!may_succeed(&old, &with_data(2, "/var/lib/mysql2")));
        assert!(
            may_succeed(&old, &hidden(2)),
            "its data directory is unknown"
        );
        let other_user = ServerProcess {
            uid: Some(1000),
            ..with_data(2, "/var/lib/mysql")
        };
        assert!(!may_succeed(&old, &other_user));
    }

    #[test]
    fn a_wanted_socket_is_the_only_hidden_servers_and_nobodys_of_two() {
        let wanted = [Address::Socket("/nonexistent/wanted.sock".into())];
        let seen = || process(1, "/other", "/other", 3306);
        let found = owner_of(vec![seen(), hidden(2)], &wanted).unwrap();
        assert_eq!(found.pid, 2);
        assert!(owner_of(vec![hidden(2), hidden(3)], &wanted).is_none());
        let port = [Address::Tcp("127.0.0.1".to_owned(), 3306)];
        assert_eq!(owner_of(vec![seen(), hidden(2)], &port).unwrap().pid, 1);
        let elsewhere = ServerProcess {
            same_net_namespace: Some(false),
            ..seen()
        };
        assert!(
            owner_of(vec![elsewhere], &port).is_none(),
            "the port of another network"
        );
    }

    #[test]
    fn a_server_that_begins_to_listen_elsewhere_was_not_meant() {
        let wanted = [Address::Socket("/wanted".into())];
        assert!(may_be_target(&hidden(2), &wanted));
        assert!(may_be_target(&process(2, "/wanted", "/wanted", 1), &wanted));
        let elsewhere = process(2, "/other", "/other", 1);
        assert!(!may_be_target(&elsewhere, &wanted));
        assert!(may_be_target(&elsewhere, &[]));
    }
}
