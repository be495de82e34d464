use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kernel::roots::ProcRoot;
use kernel::servers::{self, ServerProcess};
use model::{Absent, Reason};
use server::{Address, Login, OwnStatements};
use thiserror::Error;

use crate::meant;

/// Which server the user wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The server that listens on this unix socket.
    pub socket: Option<PathBuf>,
    /// The server that listens on this TCP port.
    pub port: Option<u16>,
    /// The server with this process id.
    pub pid: Option<u32>,
}

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
    #[error("process {0} is not a mysqld or mariadbd, or is gone")]
    NotAServer(u32),
    /// The processes cannot be listed.
    #[error("cannot look for servers: {0}")]
    Unreadable(#[from] kernel::read::ReadError),
}

impl Target {
    /// The first way to reach it: a unix socket before TCP.
    pub fn first_address(&self) -> Option<Address> {
        let of_process = || known_addresses(self.process.as_ref()?).into_iter().next();
        self.addresses.first().cloned().or_else(of_process)
    }
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
    };
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
        return Ok(vec![target(meant::owner_of(found, &fixed), fixed)]);
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
    if !meant::is_unseen(process) {
        return Vec::new();
    }
    let usual = USUAL_SOCKETS
        .iter()
        .map(PathBuf::from)
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
    let word: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    word.trim_matches('-').to_owned()
}

/// The port of the classic protocol: the lowest; X protocol (33060), admin (33062) and Galera
/// (4567) are above it by default.
fn main_port(process: &ServerProcess) -> Option<(std::net::IpAddr, u16)> {
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
    /// The processlist shows that the server follows another one.
    pub(crate) follows: AtomicBool,
    /// A stall lasts: what is seen now is not usual.
    pub(crate) stalled: AtomicBool,
    /// How often the server was seen to answer, or to accept a connection, after it had not.
    pub(crate) revivals: AtomicU64,
    /// When the last stall was known to be over.
    pub(crate) stall_over_at: AtomicU64,
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
            follows: AtomicBool::new(false),
            stalled: AtomicBool::new(false),
            revivals: AtomicU64::new(0),
            stall_over_at: AtomicU64::new(0),
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
            true => Absent::new(what, Reason::Gone, "the server's process is not there"),
            false => Absent::new(
                what,
                Reason::Unsupported,
                "the server's process is not known: not there, hidden from this user, in another container, or on another host",
            ),
        }
    }

    /// Looks for the server's process again when it is gone or was never found. True when there
    /// is one now.
    pub(crate) fn refresh(&self, proc: &ProcRoot) -> bool {
        if let Some(known) = self.process()
            && servers::is_alive(proc, known.pid, known.start_time_ticks)
        {
            if !meant::is_unseen(&known) || !self.looks_again() {
                return true;
            }
            // It may have begun to listen since it was first seen, and then perhaps elsewhere.
            let now = servers::server(proc, known.pid).unwrap_or(known);
            if meant::may_be_meant(&now, &self.target.addresses) {
                *self.lock() = Some(now);
                return true;
            }
            // It never was the one: nothing has to be like it.
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        let mut found = servers::discover(proc).map_or_else(|_| Vec::new(), |found| found.servers);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        found.retain(|server| {
            let before = last.as_ref();
            !meant::is_unseen(server)
                || before.is_none_or(|before| meant::may_succeed(before, server))
        });
        let successor = match (&self.target.process, &self.target.addresses[..]) {
            (Some(first), []) => found
                .into_iter()
                .find(|server| meant::is_successor(first, server)),
            (_, addresses) => meant::owner_of(found, addresses),
        };
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

    /// The ways to the server: a unix socket before TCP, for it works without a network.
    pub(crate) fn addresses(&self) -> Vec<Address> {
        if !self.target.addresses.is_empty() {
            return self.target.addresses.clone();
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
        let mut addresses = self.addresses();
        if self.target.addresses.is_empty() {
            addresses.sort_by_key(|address| matches!(address, Address::Socket(_)));
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

fn known_addresses(process: &ServerProcess) -> Vec<Address> {
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
    use crate::meant::tests::process;

    fn target(process: ServerProcess) -> Target {
        Target {
            label: label(Some(&process), &[]),
            addresses: Vec::new(),
            login: Login {
                user: "u".to_owned(),
                password: None,
                from: String::new(),
            },
            process: Some(process),
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
    fn a_process_that_was_never_found_is_not_gone() {
        let known = Shared::new(target(process(1, "/s", "/s", 3306)));
        assert_eq!(known.no_process("x").reason, Reason::Gone);
        let unknown = Shared::new(Target {
            process: None,
            ..target(process(1, "/s", "/s", 3306))
        });
        let absent = unknown.no_process("x");
        assert_eq!(absent.reason, Reason::Unsupported);
        assert!(absent.detail.contains("not known"), "{}", absent.detail);
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
