//! TCP: the host's counters, connections of the server, its accept queue.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use detect::RequestRow;
use kernel::accept_queue::{self, AcceptQueue};
use kernel::connections;
use kernel::servers::ServerProcess;
use model::{Absent, Millis, Reading, Reason, SourceData, Unit};

use super::host::{ConnectionsReading, HostState};
use super::{Outcome, Reader, absent, readings, signals};
use crate::target::Shared;

/// The kernel answers sock_diag at once; this is for the case that it does not.
const NETLINK_TIMEOUT: Duration = Duration::from_millis(500);

#[rustfmt::skip]
pub(crate) static NETSTAT: Reader<HostState> = Reader {
    source: "netstat",
    signals: &[
        signals(&["net.listen_overflows", "net.listen_drops"], "c", "in the server's network namespace"),
    ],
    read: netstat,
};

fn netstat(state: &mut HostState) -> Outcome {
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

/// The largest part of a core that looking at connections takes. The kernel looks through the table of
/// all its connections for them, which is large on a large host.
const CONNECTIONS_SHARE_MAX: f64 = 0.001;

/// The same while nobody else tells of the clients' work, or one of them has waited for an answer for long.
const WITNESS_SHARE_MAX: f64 = 0.004;

/// The same while a client waits for its login.
const KNOCKS_SHARE_MAX: f64 = 0.01;

/// Sessions that were listed so long ago tell nothing of now, milliseconds.
const SESSIONS_OLD_MS: Millis = 3000;

/// Where they cannot be looked at it is tried again after this: a server may begin to listen.
const ABSENT_REST: Duration = Duration::from_secs(10);

#[rustfmt::skip]
pub(crate) static CONNECTIONS: Reader<HostState> = Reader {
    source: "connections",
    signals: &[
        signals(&["connections.established", "connections.waiting", "connections.hung", "connections.hung_workers", "connections.answered", "connections.going"], "g", "the server's TCP connections: all; with a request and no answer; so for 1 s or longer; of these, answered in 3 of their last 64 seconds; answered since the last reading; of these, those of that kind"),
        signals(&["connections.ungreeted", "connections.ungreeted_oldest_ms"], "g", "connected and without the server's first word; for how long the first"),
        signals(&["connections.hung_oldest_ms", "connections.since_answer_ms"], "g", "age of the oldest request without an answer; how long ago any was answered"),
    ],
    read: connections,
};

/// Who has sent something to the server and has no answer.
fn connections(state: &mut HostState) -> Outcome {
    let what = "connections";
    if let Some(last) = &state.connections_look
        && last.rests(share_max(&state.shared, last, state.clock.now()))
    {
        return Ok(SourceData::default());
    }
    if state
        .connections_absent_until
        .is_some_and(|until| Instant::now() < until)
    {
        return Ok(SourceData::default());
    }
    // Each absence is a row of the history.
    let port = connections_port(state, what).inspect_err(|_| {
        state.connections_absent_until = Some(Instant::now() + ABSENT_REST);
    })?;
    let begin = kernel::clock::thread_cpu();
    let found = connections::established(port, NETLINK_TIMEOUT)
        .map_err(|error| Absent::new(what, Reason::Failed, error.to_string()))?;
    let cost = kernel::clock::thread_cpu().saturating_sub(begin);
    // The probes' own connections are no clients.
    let own = server::own_clients();
    let rows: Vec<RequestRow> = found
        .iter()
        .filter(|connection| !own.contains(&connection.peer))
        .map(|connection| RequestRow {
            id: connection.cookie,
            sent_ms: connection.sent_ms.into(),
            received_ms: connection.received_ms.into(),
            acknowledged_ms: connection.acknowledged_ms.into(),
            is_unread: connection.unread_bytes > 0,
            is_ungreeted: connection.segments.is_some_and(|counted| counted.data == 0),
            segments: connection
                .segments
                .map(|counted| (counted.data, counted.bare_acknowledgements)),
        })
        .collect();
    let told = state.requests.observe(state.clock.now(), &rows);
    let hung = told.iter().find(|told| told.name == "connections.hung");
    state.connections_look = Some(ConnectionsReading {
        at: Instant::now(),
        cost,
        somebody_hangs: hung.is_some_and(|hung| hung.value > 0.0),
    });
    Ok(readings(told))
}

/// The part of a core that looking at connections may take now.
fn share_max(shared: &Shared, last: &ConnectionsReading, now: Millis) -> f64 {
    let sessions_at = shared.sessions_at.load(Ordering::Relaxed);
    let are_sessions_known = sessions_at > 0 && now.saturating_sub(sessions_at) < SESSIONS_OLD_MS;
    if shared.knocks.swap(false, Ordering::Relaxed) {
        KNOCKS_SHARE_MAX
    } else if last.somebody_hangs || !are_sessions_known {
        WITNESS_SHARE_MAX
    } else {
        CONNECTIONS_SHARE_MAX
    }
}

fn connections_port(state: &HostState, what: &'static str) -> Result<u16, Absent> {
    classic_port(&of_this_network(state, what)?).ok_or_else(|| {
        let detail = "the server listens on no TCP port";
        Absent::new(what, Reason::Unsupported, detail)
    })
}

/// The server's process, when it is in our network namespace: the kernel tells of no other.
fn of_this_network(state: &HostState, what: &'static str) -> Result<ServerProcess, Absent> {
    let Some(process) = state.shared.process() else {
        return Err(state.shared.no_process(what));
    };
    if process.same_net_namespace == Some(false) {
        let detail = "the server is in another network namespace";
        return Err(Absent::new(what, Reason::Unsupported, detail));
    }
    Ok(process)
}

/// The lowest port is the classic protocol's; the others have clients of their own.
fn classic_port(process: &ServerProcess) -> Option<u16> {
    process.tcp_ports.iter().map(|(_, port)| *port).min()
}

#[rustfmt::skip]
pub(crate) static ACCEPT_QUEUE: Reader<HostState> = Reader {
    source: "accept-queue",
    signals: &[
        signals(&["accept_queue.tcp.length", "accept_queue.tcp.limit", "accept_queue.unix.length", "accept_queue.unix.limit"], "g", "waiting to be accepted, of the fullest queue; its limit"),
    ],
    read: accept_queue,
};

/// Connections that the kernel has accepted and the server has not.
fn accept_queue(state: &mut HostState) -> Outcome {
    let what = "accept queue";
    let process = of_this_network(state, what)?;
    let failed =
        |error: kernel::netlink::NetlinkError| Absent::new(what, Reason::Failed, error.to_string());
    let mut tcp: Vec<AcceptQueue> = Vec::new();
    if let Some(port) = classic_port(&process) {
        tcp = accept_queue::tcp(port, NETLINK_TIMEOUT).map_err(failed)?;
    }
    let mut unix = Vec::new();
    for socket in process.unix_sockets.iter().take(4) {
        unix.extend(accept_queue::unix_by_inode(socket.inode, NETLINK_TIMEOUT).map_err(failed)?);
    }
    let waiting = tcp.iter().chain(&unix).map(|queue| queue.pending).sum();
    // Who waits there leaves it only by being accepted: a server that did not accept does so again.
    if waiting < std::mem::replace(&mut state.waiting_to_be_accepted, waiting) {
        state.shared.revivals.fetch_add(1, Ordering::Relaxed);
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
