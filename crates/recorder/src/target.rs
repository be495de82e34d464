//! A server that is recorded: its name, its process, its addresses, and what the workers know of it together.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kernel::roots::ProcRoot;
use kernel::servers::{self, ServerProcess};
use model::{Absent, OrderBy, Reason, SOURCES, SourceSpec};
use server::{Address, Login, OwnStatements};

use crate::claims::Claims;
use crate::host::host_name;
use crate::metrics::MetricsFrom;
use crate::target_process;

/// A server to record: how it is named, found again, and reached.
#[derive(Debug, Clone)]
pub struct Target {
    /// Short name, unique on the host; part of file names.
    pub label: String,
    /// Fixed ways to reach it; empty: those of its process.
    pub addresses: Vec<Address>,
    /// Who we are to it.
    pub login: Login,
    /// The process, when it was found.
    pub process: Option<ServerProcess>,
    /// The host that the server runs on, where that is not this one: nothing of this host is evidence then.
    pub other_host: Option<String>,
    /// Its label is a name that a person gave it: told as it is.
    pub is_named: bool,
    /// What its operator says of its host, where that is not this one.
    pub metrics: Option<MetricsFrom>,
    /// Who else finds servers by itself: what another one records is none of ours.
    pub claims: Claims,
}

impl Target {
    /// Host and label, so that servers of many hosts can be told apart; a name that it was given.
    pub fn name(&self) -> String {
        if self.is_named {
            return self.label.clone();
        }
        display_name(self.other_host.as_deref(), &self.label)
    }

    /// The first way to reach it: a unix socket before TCP.
    pub fn first_address(&self) -> Option<Address> {
        self.candidate_addresses().into_iter().next()
    }

    /// All ways to reach it: those that were said, else a unix socket before TCP.
    pub fn candidate_addresses(&self) -> Vec<Address> {
        if !self.addresses.is_empty() {
            return self.addresses.clone();
        }
        let process = self.process.as_ref();
        process.map_or_else(Vec::new, known_addresses)
    }
}

/// What a server is called where servers of other hosts are, too: its host, a colon, its label.
fn display_name(other_host: Option<&str>, label: &str) -> String {
    match other_host {
        Some(host) => {
            let port = label.rsplit_once('-').map_or(label, |(_, port)| port);
            format!("{host}:{port}")
        }
        None => format!("{}:{label}", host_name()),
    }
}

/// The port of the classic protocol: the lowest; X protocol (33060), admin (33062) and Galera
/// (4567) are above it by default.
pub(crate) fn main_port(process: &ServerProcess) -> Option<(std::net::IpAddr, u16)> {
    process
        .tcp_ports
        .iter()
        .copied()
        .min_by_key(|(_, port)| *port)
}

/// MySQL's document store speaks another protocol there.
const X_PROTOCOL_PORT: u16 = 33_060;

/// Further ports that are tried on a full server.
const EXTRA_PORTS_MAX: usize = 3;

/// What the workers know of the server together.
#[derive(Debug)]
pub(crate) struct Shared {
    target: Target,
    process: Mutex<Option<ServerProcess>>,
    /// The last one that there was.
    last: Mutex<Option<ServerProcess>>,
    /// There was a process at some time.
    was_found: AtomicBool,
    /// The recorder's own kept connections, left out of the processlist.
    own_connections: [AtomicU64; 3],
    /// What the recorder asks the server itself.
    pub(crate) own: OwnStatements,
    looks: AtomicU64,
    /// A stall was just noticed: heavier evidence is wanted at once.
    pub(crate) burst: AtomicBool,
    /// A client logs in for longer than from one look to the next: whether the server has greeted it is wanted at once.
    pub(crate) knocks: AtomicBool,
    /// When the server last listed its sessions.
    pub(crate) sessions_at: AtomicU64,
    /// The processlist shows that the server follows another one.
    pub(crate) follows: AtomicBool,
    /// A stall lasts: what is seen now is not usual.
    pub(crate) stalled: AtomicBool,
    /// How often the server was seen to answer, or to accept a connection, after it had not.
    pub(crate) revivals: AtomicU64,
    /// When the last stall was known to be over.
    pub(crate) stall_over_at: AtomicU64,
    /// Ways on which our login was refused, since one was let in: they are tried last, for each refusal is a line in the
    /// server's error log.
    denied: Mutex<Vec<Address>>,
    /// What the sessions do, and what was learnt of their statements.
    sessions: Mutex<detect::Sessions>,
}

/// A slot of the recorder's own connections.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OwnConnection {
    Status,
    QueryProbe,
    Replica,
}

impl Shared {
    pub(crate) fn new(target: Target) -> Self {
        if let Some(process) = &target.process {
            target.claims.claim(&target.label, process);
        }
        Self {
            process: Mutex::new(target.process.clone()),
            last: Mutex::new(target.process.clone()),
            was_found: AtomicBool::new(target.process.is_some()),
            target,
            own_connections: Default::default(),
            own: OwnStatements::default(),
            looks: AtomicU64::new(0),
            burst: AtomicBool::new(false),
            knocks: AtomicBool::new(false),
            sessions_at: AtomicU64::new(0),
            follows: AtomicBool::new(false),
            stalled: AtomicBool::new(false),
            revivals: AtomicU64::new(0),
            stall_over_at: AtomicU64::new(0),
            denied: Mutex::default(),
            sessions: Mutex::default(),
        }
    }

    fn sessions(&self) -> MutexGuard<'_, detect::Sessions> {
        // Counts of the past: what a panic left of them is still good for a comparison.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a processlist says of the server's work, without our own connections.
    pub(crate) fn look_at_sessions(
        &self,
        at: model::Millis,
        rows: &[server::Row],
        own: &[u64],
    ) -> Vec<model::Reading> {
        let rows: Vec<detect::SessionRow<'_>> = rows
            .iter()
            .map(|row| detect::SessionRow {
                id: row.get("id").parse().unwrap_or(0),
                user: row.get("user"),
                command: row.get("command"),
                seconds: row.get("time").parse().unwrap_or(0.0),
                state: row.get("state"),
                statement: row.get("info"),
            })
            .filter(|row| !own.contains(&row.id))
            .collect();
        self.sessions_at.store(at, Ordering::Relaxed);
        let calm = !self.stalled.load(Ordering::Relaxed);
        let readings = self.sessions().observe(at, &rows, calm);
        let mut oldest = readings
            .iter()
            .filter(|reading| reading.name == "processlist.logging_in_oldest_ms");
        if oldest.any(|reading| reading.value > 0.0) {
            self.knocks.store(true, Ordering::Relaxed);
        }
        readings
    }

    /// Whether the sessions should be looked at again before the next second.
    /// `is_worse`: as in [`detect::Sessions::looks_held`].
    pub(crate) fn sessions_look_held(&self, is_worse: bool) -> bool {
        !self.stalled.load(Ordering::Relaxed) && self.sessions().looks_held(is_worse)
    }

    /// Learns what the server counted of its statements in a window without a stall.
    pub(crate) fn learn_times(&self, window: model::Window, digest: &model::QueryDigest) {
        let is_stalled = self.stalled.load(Ordering::Relaxed);
        if !is_stalled && window.from >= self.stall_over_at.load(Ordering::Relaxed) {
            self.sessions().counted(window.to, digest);
        }
    }

    /// What was learnt of the server's statements.
    pub(crate) fn learnt_classes(&self) -> detect::LearntClasses {
        self.sessions().learnt()
    }

    /// Begins with what an earlier recorder learnt.
    pub(crate) fn know_classes(&self, learnt: &detect::LearntClasses) {
        *self.sessions() = detect::Sessions::with_learnt(learnt);
    }

    fn lock(&self) -> MutexGuard<'_, Option<ServerProcess>> {
        // A plain value: a panic elsewhere cannot have left it half-written.
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn login(&self) -> &Login {
        &self.target.login
    }

    pub(crate) fn process(&self) -> Option<ServerProcess> {
        self.lock().clone()
    }

    /// Why there is no process to look at: gone, or never found although the server may answer.
    pub(crate) fn no_process(&self, what: &str) -> Absent {
        match self.was_found.load(Ordering::Relaxed) {
            true => Absent::new(what, Reason::Gone, "the server's process does not exist"),
            false => Absent::new(
                what,
                Reason::Unsupported,
                "the server's process was not found: it may not run, be hidden from this user, or run in another container or on another host",
            ),
        }
    }

    /// Looks for the server's process again when it is gone or was never found. True when there
    /// is one now.
    pub(crate) fn refresh(&self, proc: &ProcRoot) -> bool {
        if self.is_elsewhere() {
            return false;
        }
        if let Some(known) = self.process()
            && servers::is_alive(proc, known.pid, known.start_time_ticks)
        {
            if !target_process::is_unseen(&known) || !self.looks_again() {
                return true;
            }
            // It may have begun to listen since it was first seen, and then perhaps elsewhere.
            let now = servers::server(proc, known.pid).unwrap_or(known);
            if target_process::may_be_target(&now, &self.target.addresses) {
                *self.lock() = Some(now);
                return true;
            }
            // It never was the one: nothing has to be like it.
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        let mut found = servers::discover(proc).map_or_else(|_| Vec::new(), |found| found.servers);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let Target { claims, label, .. } = &self.target;
        found.retain(|server| {
            let before = last.as_ref();
            let may_be = !target_process::is_unseen(server)
                || before.is_none_or(|before| target_process::may_succeed(before, server));
            may_be && !claims.is_others(label, server)
        });
        let successor = match (&self.target.process, &self.target.addresses[..]) {
            (Some(first), []) => found
                .into_iter()
                .find(|server| target_process::is_successor(first, server)),
            (_, addresses) => target_process::owner_of(found, addresses),
        };
        let successor = successor.filter(|server| claims.claim(label, server));
        let there = successor.is_some();
        if there {
            last.clone_from(&successor);
        }
        self.was_found.fetch_or(there, Ordering::Relaxed);
        *self.lock() = successor;
        there
    }

    /// Whether to read again what a server hides, with growing pauses: reading its command line
    /// takes its mmap_lock.
    fn looks_again(&self) -> bool {
        (self.looks.fetch_add(1, Ordering::Relaxed) + 1).is_power_of_two()
    }

    /// It runs on another host: what this one does is no evidence.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.target.other_host.is_some()
    }

    /// What the server's operator says of its host.
    pub(crate) fn metrics(&self) -> Option<&MetricsFrom> {
        self.target.metrics.as_ref().filter(|_| self.is_elsewhere())
    }

    /// Whether a source is read of this server.
    pub(crate) fn reads(&self, row: &SourceSpec) -> bool {
        let is_named = !row.is_named_by_target() || self.metrics().is_some();
        row.is_read(self.is_elsewhere()) && is_named
    }

    /// Whether a source is missed: not read of this server, and no other one brings the same.
    pub(crate) fn misses(&self, row: &SourceSpec) -> bool {
        let brings = |other: &SourceSpec| other.stands_for().contains(&row.name);
        row.is_missed(self.is_elsewhere())
            && !SOURCES
                .iter()
                .any(|other| brings(other) && self.reads(other))
    }

    /// The host that the server runs on.
    pub(crate) fn host(&self) -> String {
        self.target.other_host.clone().unwrap_or_else(host_name)
    }

    /// Our login was refused there.
    pub(crate) fn was_denied(&self, address: &Address) {
        let mut denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        if !denied.contains(address) {
            denied.push(address.clone());
        }
    }

    /// The ways to the server: a unix socket before TCP, for it works without a network; those that refused us last.
    pub(crate) fn addresses(&self) -> Vec<Address> {
        let mut addresses = self.candidate_addresses();
        let denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        addresses.order_by_key(|address| denied.contains(address));
        addresses
    }

    fn candidate_addresses(&self) -> Vec<Address> {
        if !self.target.addresses.is_empty() {
            return match self.process().filter(|_| !self.is_elsewhere()) {
                Some(process) => named_addresses(&self.target.addresses, &process),
                None => self.target.addresses.clone(),
            };
        }
        match self.process().or_else(|| self.target.process.clone()) {
            Some(process) => known_addresses(&process),
            None => Vec::new(),
        }
    }

    /// Further TCP ports of the server, for when the main one is full: admin_port, extra_port.
    pub(crate) fn extra_addresses(&self) -> Vec<Address> {
        let Some(process) = self.process() else {
            return Vec::new();
        };
        if process.same_net_namespace == Some(false) {
            return Vec::new();
        }
        let main = main_port(&process).map(|(_, port)| port);
        let mut ports: Vec<u16> = process
            .tcp_ports
            .iter()
            .map(|(_, port)| *port)
            .filter(|port| Some(*port) != main && *port != X_PROTOCOL_PORT)
            .collect();
        ports.sort_unstable();
        ports.dedup();
        let address = |port| Address::Tcp("127.0.0.1".to_owned(), port);
        ports
            .into_iter()
            .take(EXTRA_PORTS_MAX)
            .map(address)
            .collect()
    }

    /// The ways for the connect probe: TCP first, because that is where clients are refused.
    pub(crate) fn connect_addresses(&self) -> Vec<Address> {
        let mut addresses = self.candidate_addresses();
        if self.target.addresses.is_empty() {
            addresses.order_by_key(|address| matches!(address, Address::Socket(_)));
        }
        addresses
    }

    pub(crate) fn set_own_connection(&self, slot: OwnConnection, id: u64) {
        self.own_connections[slot as usize].store(id, Ordering::Relaxed);
    }

    pub(crate) fn own_connections(&self) -> Vec<u64> {
        self.own_connections
            .iter()
            .map(|id| id.load(Ordering::Relaxed))
            .filter(|id| *id != 0)
            .collect()
    }

    /// The server as incidents describe it.
    pub(crate) fn describe(&self, version: &str) -> model::Server {
        model::Server {
            label: self.target.label.clone(),
            version: version.to_owned(),
            pid: self.process().map(|process| process.pid),
            address: self
                .addresses()
                .first()
                .map_or_else(String::new, Address::to_string),
        }
    }
}

/// The ways that were named, and the unix socket of the process that has them now: an account of this host is often let
/// in there only. A socket that is reached through `/proc/PID/root` is gone with its process, so it is that of the next.
fn named_addresses(named: &[Address], process: &ServerProcess) -> Vec<Address> {
    let is_through =
        |address: &Address| matches!(address, Address::Socket(path) if path.starts_with("/proc"));
    let mut ways = named.to_vec();
    ways.retain(|way| !is_through(way));
    let known = known_addresses(process);
    let mut sockets = known
        .into_iter()
        .filter(|address| matches!(address, Address::Socket(_)));
    let has_socket = ways.iter().any(|way| matches!(way, Address::Socket(_)));
    if ways.is_empty() || !has_socket && target_process::listens_on(process, &ways) {
        ways.extend(sockets.next());
    }
    if ways.is_empty() {
        return named.to_vec();
    }
    ways
}

pub(crate) fn known_addresses(process: &ServerProcess) -> Vec<Address> {
    let mut addresses: Vec<Address> = process
        .unix_sockets
        .iter()
        .filter(|socket| !socket.path.to_string_lossy().contains("mysqlx"))
        .map(|socket| Address::Socket(socket.host_path.clone()))
        .take(1)
        .collect();
    if process.same_net_namespace != Some(false)
        && let Some((ip, port)) = main_port(process)
    {
        let host = match ip {
            ip if ip.is_unspecified() && ip.is_ipv4() => "127.0.0.1".to_owned(),
            ip if ip.is_unspecified() => "::1".to_owned(),
            ip => ip.to_string(),
        };
        addresses.push(Address::Tcp(host, port));
    }
    addresses
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::{IpAddr, Ipv4Addr};
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;
    use crate::target_process::tests::process;

    fn target(process: ServerProcess) -> Target {
        Target {
            label: "label".to_owned(),
            addresses: Vec::new(),
            login: Login {
                user: "u".to_owned(),
                password: None,
                from: String::new(),
                tls: server::Tls::default(),
            },
            process: Some(process),
            other_host: None,
            is_named: false,
            metrics: None,
            claims: Claims::default(),
        }
    }

    #[test]
    fn a_process_that_was_never_found_is_not_gone() {
        let known = Shared::new(target(process(1, "/s", "/s", 3306)));
        assert_eq!(known.no_process("x").reason, Reason::Gone);
        let unknown = Shared::new(Target {
            process: None,
            ..target(process(1, "/s", "/s", 3306))
        });
        let absent = unknown.no_process("x");
        assert_eq!(absent.reason, Reason::Unsupported);
        assert!(absent.detail.contains("not found"), "{}", absent.detail);
    }

    #[test]
    fn the_way_to_a_server_prefers_the_socket_and_the_classic_port() {
        let mut server = process(1, "/s", "/s", 33_062);
        server
            .tcp_ports
            .push((IpAddr::V4(Ipv4Addr::UNSPECIFIED), 3306));
        server
            .tcp_ports
            .push((IpAddr::V4(Ipv4Addr::UNSPECIFIED), X_PROTOCOL_PORT));
        let shared = Shared::new(target(server));
        let tcp = |port| Address::Tcp("127.0.0.1".to_owned(), port);
        assert_eq!(
            shared.addresses(),
            [Address::Socket("/s".into()), tcp(3306)]
        );
        assert_eq!(
            shared.connect_addresses(),
            [tcp(3306), Address::Socket("/s".into())]
        );
        assert_eq!(shared.extra_addresses(), [tcp(33_062)]);
    }

    #[test]
    fn a_server_that_was_named_by_its_port_has_the_socket_of_its_process() {
        let tcp = Address::Tcp("127.0.0.1".to_owned(), 3306);
        let socket = |pid: u32| Address::Socket(format!("/proc/{pid}/root/s").into());
        let of = |named: &[Address], pid: u32, port: u16| {
            let host_path = format!("/proc/{pid}/root/s");
            named_addresses(named, &process(pid, "/s", &host_path, port))
        };
        let both = [tcp.clone(), socket(7)];
        assert_eq!(of(std::slice::from_ref(&tcp), 7, 3306), both);
        assert_eq!(of(&both, 7, 3306), both);
        // Another process has another root.
        assert_eq!(of(&both, 8, 3306), [tcp.clone(), socket(8)]);
        assert_eq!(of(&[socket(7)], 8, 3306), [socket(8)]);
        // Who does not listen there is another server.
        assert_eq!(of(std::slice::from_ref(&tcp), 7, 3307), [tcp]);
        let named = [Address::Socket("/run/s".into())];
        assert_eq!(of(&named, 7, 3306), named);
    }

    /// A server in a `/proc` made up, whose sockets are not seen.
    fn begins(proc: &Path, pid: u32, uid: u32) {
        let of = proc.join(pid.to_string());
        fs::create_dir_all(of.join("fd")).unwrap();
        let stat =
            format!("{pid} (mariadbd) S 1 1 1 0 -1 0 5 0 6 0 7 8 0 0 20 0 1 0 {pid}00 0 0 0\n");
        fs::write(of.join("stat"), stat).unwrap();
        fs::write(of.join("cmdline"), "/usr/sbin/mariadbd\0").unwrap();
        let status = format!("Name:\tmariadbd\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n");
        fs::write(of.join("status"), status).unwrap();
        symlink("/usr/sbin/mariadbd", of.join("exe")).unwrap();
    }

    /// It listens on port 3306 from now on.
    fn listens(proc: &Path, pid: u32) {
        let of = proc.join(pid.to_string());
        symlink("socket:[500]", of.join("fd/20")).unwrap();
        fs::create_dir(of.join("net")).unwrap();
        let row = "0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000 999 0 500 1 0 100";
        fs::write(
            of.join("net/tcp"),
            format!("  sl  local_address\n   {row}\n"),
        )
        .unwrap();
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn a_server_that_listens_elsewhere_in_the_end_was_not_the_one() {
        let dir = tempfile::tempdir().unwrap();
        let proc = ProcRoot::at(dir.path());
        let shared = Shared::new(Target {
            process: None,
            addresses: vec![Address::Tcp("127.0.0.1".to_owned(), 4000)],
            ..target(process(1, "/s", "/s", 4000))
        });
        let pid = || shared.process().map(|process| process.pid);
        assert!(!shared.refresh(&proc));
        begins(dir.path(), 7, 999);
        assert!(shared.refresh(&proc));
        assert_eq!(
            pid(),
            Some(7),
            "the only one, and it may come to listen there"
        );
        listens(dir.path(), 7);
        assert!(!shared.refresh(&proc));
        assert_eq!(pid(), None);
        // Of another user: a successor of the first could not be.
        begins(dir.path(), 8, 112);
        assert!(shared.refresh(&proc));
        assert_eq!(pid(), Some(8));
    }
}
