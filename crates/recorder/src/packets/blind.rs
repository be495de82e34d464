//! What packets do not tell, counted where it can be.

use std::collections::BTreeSet;

use kernel::procfs::net::{UnixName, unix_sockets};
use kernel::read;
use kernel::roots::ProcRoot;
use kernel::servers::ServerProcess;
use model::{Absent, Reason};
use server::wire::{CONNECTIONS_MAX, Captured, Connections};

use super::options::PacketOptions;

/// Room for some 80,000 unix sockets.
const UNIX_BYTES_MAX: usize = 8 << 20;

/// What this capture did not see.
pub fn blind_spots(options: &PacketOptions, captured: &Captured) -> Vec<Absent> {
    let mut blind = Vec::new();
    let mut tell = |what: &str, reason, detail: String| {
        blind.push(Absent::new(what, reason, detail));
    };
    let seen = captured.connections;
    if seen.tls > 0 {
        tell(
            "statements of encrypted connections",
            Reason::Unsupported,
            format!("{} of {} connections use TLS", seen.tls, seen.seen),
        );
    }
    match options.process.as_ref().map(unix_clients) {
        Some(Some(0)) => {}
        Some(Some(count)) => tell(
            "statements over the unix socket",
            Reason::Unsupported,
            match count {
                1 => "1 client uses it, and it has no packets".to_owned(),
                _ => format!("{count} clients use it, and it has no packets"),
            },
        ),
        Some(None) | None => tell(
            "statements over the unix socket",
            Reason::Unsupported,
            "it has no packets; how many clients use it is unknown".to_owned(),
        ),
    }
    if seen.guessed > 0 {
        tell(
            "users of connections that were open before",
            Reason::NotRecorded,
            before_words(&seen),
        );
    }
    if seen.replication > 0 {
        tell(
            "events for replicas",
            Reason::Unsupported,
            format!("{} connections are of replicas", seen.replication),
        );
    }
    if captured.lost > 0 {
        tell(
            "packets",
            Reason::Limit,
            format!(
                "{} of {} packets were lost: statements are missing",
                captured.lost,
                captured.lost + captured.packets
            ),
        );
    }
    if seen.segments_left_out > 0 {
        tell(
            "connections",
            Reason::Limit,
            format!("only {CONNECTIONS_MAX} at a time were followed"),
        );
    }
    let process = options.process.as_ref();
    if process.is_some_and(|process| process.same_net_namespace == Some(false)) {
        tell(
            "packets",
            Reason::Unsupported,
            "the server is in another network namespace: only packets that pass through this one are seen"
                .to_owned(),
        );
    }
    blind
}

fn before_words(seen: &Connections) -> String {
    let before = format!(
        "{} of {} connections began before the capture: their protocol was guessed",
        seen.guessed, seen.seen
    );
    let named = seen.named.min(seen.guessed);
    if named == 0 && seen.prepared == 0 {
        return format!("{before}, their prepared statements have no text");
    }
    format!(
        "{before}; the server reported the users and databases of {named} and the texts of {} prepared statements (up to 1,024 bytes each)",
        seen.prepared
    )
}

/// Connections that the server has accepted on its unix sockets: they have the listening socket's name. `None` when the
/// list cannot be read. The kernel goes on by position from one piece of the list to the next (net/unix/af_unix.c,
/// unix_next_socket), so that one socket may stand in it twice while others come.
fn unix_clients(process: &ServerProcess) -> Option<usize> {
    let path = ProcRoot::default().of(process.pid, "net/unix");
    let bytes = read::whole(&path, UNIX_BYTES_MAX).ok()?;
    let clients: BTreeSet<u64> = unix_sockets(&bytes)
        .filter(|socket| !socket.listening)
        .filter(|socket| match socket.name {
            UnixName::Path(path) => process.unix_sockets.iter().any(|one| one.path == path),
            UnixName::Abstract(_) | UnixName::Unnamed => false,
        })
        .map(|socket| socket.inode)
        .collect();
    Some(clients.len())
}
