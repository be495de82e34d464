use std::time::Duration;

use kernel::accept_queue::{self, AcceptQueue};
use model::{Absent, Reading, Reason, Unit};

use super::Outcome;
use super::host::HostState;
use super::{absent, readings};

/// The kernel answers sock_diag at once; this is for the case that it does not.
const NETLINK_TIMEOUT: Duration = Duration::from_millis(500);

pub(crate) fn netstat(state: &mut HostState) -> Outcome {
    // Of the server's own network namespace when it is in another one: ours would be the counters
    // of a different system under the same name.
    let elsewhere = state
        .shared
        .process()
        .filter(|process| process.same_net_namespace == Some(false));
    let path = match elsewhere {
        Some(process) => state.proc.of(process.pid, "net/netstat"),
        None => state.proc.file("net/netstat"),
    };
    let bytes = kernel::procfs::netstat::read(&path).map_err(|error| absent("netstat", &error))?;
    let wanted = [
        ("ListenOverflows", "net.listen_overflows"),
        ("ListenDrops", "net.listen_drops"),
    ];
    Ok(readings(
        kernel::procfs::netstat::counters(&bytes)
            .filter_map(|(group, name, value)| {
                let (_, signal) = wanted.iter().find(|(wanted, _)| *wanted == name)?;
                (group == "TcpExt").then(|| Reading::counter(*signal, Unit::Count, value as f64))
            })
            .collect(),
    ))
}

/// Connections that the kernel has accepted and the server has not.
pub(crate) fn accept_queue(state: &mut HostState) -> Outcome {
    let what = "accept queue";
    let Some(process) = state.shared.process() else {
        return Err(state.shared.no_process(what));
    };
    if process.same_net_namespace == Some(false) {
        let detail = "the server is in another network namespace";
        return Err(Absent::new(what, Reason::Unsupported, detail));
    }
    let failed =
        |error: kernel::netlink::NetlinkError| Absent::new(what, Reason::Failed, error.to_string());
    let mut tcp: Vec<AcceptQueue> = Vec::new();
    let mut ports: Vec<u16> = process.tcp_ports.iter().map(|(_, port)| *port).collect();
    ports.sort_unstable();
    ports.dedup();
    // The lowest port is the classic protocol's; the others have queues of their own.
    if let Some(port) = ports.first() {
        tcp = accept_queue::tcp(*port, NETLINK_TIMEOUT).map_err(failed)?;
    }
    let mut unix = Vec::new();
    for socket in process.unix_sockets.iter().take(4) {
        unix.extend(accept_queue::unix_by_inode(socket.inode, NETLINK_TIMEOUT).map_err(failed)?);
    }
    let mut out = Vec::new();
    for (names, queues) in [
        (["accept_queue.tcp.length", "accept_queue.tcp.limit"], tcp),
        (
            ["accept_queue.unix.length", "accept_queue.unix.limit"],
            unix,
        ),
    ] {
        // The fullest one: of several sockets one suffices to refuse clients.
        if let Some(queue) = queues.iter().max_by_key(|queue| queue.pending) {
            out.push(Reading::gauge(
                names[0],
                Unit::Count,
                f64::from(queue.pending),
            ));
            out.push(Reading::gauge(
                names[1],
                Unit::Count,
                f64::from(queue.limit),
            ));
        }
    }
    if out.is_empty() {
        let detail = "no listening socket of the server was found";
        return Err(Absent::new(what, Reason::Unsupported, detail));
    }
    Ok(readings(out))
}
