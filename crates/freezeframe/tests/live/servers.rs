//! `stacks`, `locks` and `profile` of real servers under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use testbed::{Error, IdleConnections, Load, LoadResult, Options, PrivateServer, ServerKind, mix};

use crate::tool::{
    as_nobody, bpf_permitted, error_line, json, may_sample, methods, started, strings,
};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Clients that work, and connections that do nothing.
const CLIENTS: usize = 16;
const IDLE: usize = 300;

/// Texts a second of all clients: some of them are at work in each snapshot. As fast as they can, they would take both
/// processors of a small machine from the tests beside them and from what looks at them.
const RATE: f64 = 500.0;

/// Share of the threads whose stack has to be complete; and of those that were on no processor.
const COMPLETE_MIN: f64 = 0.99;
const OFF_PROCESSOR_MIN: f64 = 0.995;

/// With more processors more of the clients run at a time. Their stacks come from samples, which
/// not every one of them has in the millisecond of a snapshot.
const PROCESSORS_MAX: usize = 4;

/// A busy server. The load ends with it.
struct Busy {
    server: PrivateServer,
    idle: Option<IdleConnections>,
    stop: Arc<AtomicBool>,
    load: Option<JoinHandle<Result<LoadResult, Error>>>,
}

impl Busy {
    fn start(kind: ServerKind, name: &str, arguments: &[&str]) -> Option<Self> {
        Self::with(kind, (name, CLIENTS, Some(RATE)), arguments, &[])
    }

    /// With so many clients of this mix, and their rate: without one they work as fast as they can. `None` when the server was
    /// not fetched, which is said.
    fn with(
        kind: ServerKind,
        (name, clients, rate_per_second): (&str, usize, Option<f64>),
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Option<Self> {
        let mut all = vec!["--max-connections=500".to_owned()];
        all.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        let server = started(&Options {
            kind,
            arguments: all,
            environment: environment
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..Options::default()
        })?;
        let mix = mix(name).unwrap();
        mix.prepare(&server.login()).unwrap();
        let load = Load {
            login: server.login(),
            clients,
            rate_per_second,
            compression: false,
            reconnect: false,
            statements: mix.statements(),
            duration: Duration::from_secs(600),
            timeout: TIMEOUT,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let until = stop.clone();
        let idle = IdleConnections::open(&server.login(), IDLE, TIMEOUT).unwrap();
        Some(Self {
            load: Some(std::thread::spawn(move || testbed::run(&load, &until))),
            idle: Some(idle),
            server,
            stop,
        })
    }

    fn pid(&self) -> String {
        self.server.pid().unwrap().to_string()
    }

    /// Ends the load, which has to have gone on undisturbed.
    fn end(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let result = self.load.take().unwrap().join().unwrap().unwrap();
        assert!(result.errors.is_empty(), "{result:?}");
        assert!(result.statements > 0, "{result:?}");
        self.idle = None;
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(load) = self.load.take() {
            let _ = load.join();
        }
    }
}

fn snapshots(pid: &str, method: &str) -> Value {
    json(&[
        "stacks",
        "--pid",
        pid,
        "--user",
        "root",
        "--json",
        "--method",
        method,
        "--samples",
        "10",
        "--interval",
        "100ms",
    ])
}

/// Snapshots of which nearly all stacks are whole. On a busy machine some take longer, and they are taken again.
fn whole_snapshots(pid: &str, method: &str) -> Value {
    let mut taken = (0..3).map(|_| snapshots(pid, method));
    let whole = taken.find(|document| nearly_all_complete(document, method));
    whole.unwrap_or_else(|| panic!("by {method}: too many stacks are cut"))
}

/// Whether nearly all stacks are whole; why the others are not is said.
fn nearly_all_complete(document: &Value, method: &str) -> bool {
    let number = |value: &Value| value.as_f64().unwrap();
    let (complete, threads) = (number(&document["complete"]), number(&document["threads"]));
    assert!(threads >= (10 * (CLIENTS + IDLE)) as f64, "{threads}");
    let groups = document["groups"].as_array().unwrap();
    let cut: Vec<String> = groups
        .iter()
        .filter(|group| !group["end"].is_null())
        .map(|group| {
            let (count, end, first) = (&group["count"], &group["end"], &group["threads"][0]);
            format!(
                "{count} {end}, {} in {}",
                first["name"], first["syscall"]["name"]
            )
        })
        .collect();
    eprintln!("by {method}: {complete} of {threads} stacks complete; cut: {cut:?}");
    let on_processor: f64 = groups
        .iter()
        .filter(|group| group["end"] == "on-processor")
        .map(|group| number(&group["count"]))
        .sum();
    let processors = std::thread::available_parallelism().unwrap().get();
    complete / (threads - on_processor) >= OFF_PROCESSOR_MIN
        && (processors > PROCESSORS_MAX || complete / threads >= COMPLETE_MIN)
}

/// Threads with a connection, each once: connection, command and statement class.
fn sessions(document: &Value) -> Vec<(u64, String, String)> {
    let groups = document["groups"].as_array().unwrap();
    let threads = groups
        .iter()
        .flat_map(|group| group["threads"].as_array().unwrap());
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let mut sessions: Vec<(u64, String, String)> = threads
        .map(|thread| &thread["session"])
        .filter(|session| !session.is_null())
        .map(|session| {
            let connection = session["connection"].as_u64().unwrap();
            (
                connection,
                word(&session["command"]),
                word(&session["statement_class"]),
            )
        })
        .collect();
    sessions.sort();
    sessions.dedup();
    sessions
}

/// The connections that we know to be idle are joined to threads that idle.
fn joined(document: &Value, busy: &Busy) {
    let sessions = sessions(document);
    for id in busy.idle.as_ref().unwrap().ids() {
        let found = sessions.iter().find(|(known, ..)| *known == u64::from(id));
        let Some((_, command, class)) = found else {
            panic!("connection {id} has no thread among {sessions:?}");
        };
        assert_eq!((command.as_str(), class.as_str()), ("Sleep", ""), "{id}");
    }
    // The clients of the load besides.
    assert!(sessions.len() >= IDLE + CLIENTS, "{}", sessions.len());
}

fn looked_at(kind: ServerKind, arguments: &[&str], with_sessions: bool) {
    let Some(busy) = Busy::start(kind, "transactions", arguments) else {
        return;
    };
    let pid = busy.pid();
    for method in methods() {
        let document = whole_snapshots(&pid, method);
        assert_eq!(document["method"], *method);
        assert_eq!(document["stopped_ms"], 0.0);
        if with_sessions {
            joined(&document, &busy);
        } else {
            assert!(sessions(&document).is_empty());
        }
    }
    if may_sample() {
        // A hundred samples would make a failure of a single one that is cut.
        let profile = json(&[
            "profile",
            "--pid",
            &pid,
            "--seconds",
            "4",
            "--hz",
            "499",
            "--json",
        ]);
        let number = |key: &str| profile[key].as_f64().unwrap();
        assert!(
            number("samples") > 0.0 && number("kernel") > 0.0,
            "{profile}"
        );
        let share = 1.0 - number("cut") / number("samples");
        assert!(share >= COMPLETE_MIN, "{share} of the samples complete");
    }
    let locks = json(&["locks", "--pid", &pid, "--seconds", "1", "--json"]);
    idle_connections_do_not_contend(&locks);
    if bpf_permitted() {
        let exact = json(&[
            "locks",
            "--pid",
            &pid,
            "--seconds",
            "1",
            "--json",
            "--exact",
        ]);
        assert!(exact["events"].as_u64() > Some(0), "{exact}");
        idle_connections_do_not_contend(&exact);
    }
    busy.end();
}

/// Hundreds of threads that wait for their client, and the server's own that wait for work.
fn idle_connections_do_not_contend(table: &Value) {
    assert!(
        table["idle_threads"].as_u64() >= Some(IDLE as u64),
        "{}",
        table["idle_threads"]
    );
    for lock in table["locks"].as_array().unwrap() {
        let waiters = lock["waiters_max"].as_u64().unwrap();
        assert!(waiters <= 2 * CLIENTS as u64, "{lock}");
    }
}

#[test]
fn the_installed_mariadb() {
    looked_at(ServerKind::MariaDb, &[], true);
}

#[test]
fn mariadb_with_performance_schema() {
    let Some(busy) = Busy::start(
        ServerKind::MariaDb,
        "point-selects",
        &["--performance-schema=ON"],
    ) else {
        return;
    };
    joined(&snapshots(&busy.pid(), "proc"), &busy);
    busy.end();
}

/// It does not tell which thread works for which connection.
#[test]
fn mysql_5_5() {
    looked_at(ServerKind::MySql55, &[], false);
}

/// Windows of counting in which each of the locks must have been fought for once.
const WINDOWS: usize = 8;

/// The stories' locks, on their server, with the allocator of their day.
#[test]
fn mysql_5_5_fights_for_kernel_mutex_and_for_memory() {
    let tunables = "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0";
    let environment = [("GLIBC_TUNABLES", tunables)];
    let kind = ServerKind::MySql55;
    if !bpf_permitted() {
        return;
    }
    let Some(busy) = Busy::with(kind, ("transactions", 64, None), &[], &environment) else {
        return;
    };
    let pid = busy.pid();
    let mut seen: Vec<Value> = Vec::new();
    let named = |seen: &[Value], name: &str| seen.iter().any(|lock| lock["name"] == name);
    for _ in 0..WINDOWS {
        let table = json(&[
            "locks",
            "--pid",
            &pid,
            "--seconds",
            "2",
            "--exact",
            "--json",
            "--limit",
            "0",
        ]);
        seen.extend(table["locks"].as_array().unwrap().iter().cloned());
        if named(&seen, "kernel_mutex") && named(&seen, "malloc arena main_arena") {
            break;
        }
    }
    let of = |name: &str| {
        let lock = seen.iter().find(|lock| lock["name"] == name);
        lock.unwrap_or_else(|| panic!("no {name} in {seen:#?}"))
    };
    let mutex = of("kernel_mutex");
    assert!(
        ["symbol", "call-path"].contains(&mutex["named_by"].as_str().unwrap()),
        "{mutex}"
    );
    assert!(mutex["waits"].as_u64() > Some(0), "{mutex}");
    let arena = of("malloc arena main_arena");
    assert_eq!(arena["named_by"], "arena");
    let callers = arena["callers"].as_array().unwrap().iter();
    let paths: Vec<Vec<String>> = callers.map(|caller| strings(&caller["path"])).collect();
    // The last row may be the rest of many.
    let asked: Vec<&Vec<String>> = paths
        .iter()
        .filter(|path| !path[0].starts_with('('))
        .collect();
    let allocator = ["malloc", "free", "realloc", "calloc"];
    assert!(
        asked
            .iter()
            .all(|path| allocator.contains(&path[0].as_str())),
        "{asked:?}"
    );
    assert!(
        asked.iter().any(|path| path.len() > 1),
        "nobody called it: {asked:?}"
    );
    busy.end();
}

#[test]
fn mysql_9() {
    looked_at(ServerKind::MySql9, &[], true);
}

#[test]
fn mariadb_11() {
    looked_at(ServerKind::MariaDb11, &[], true);
}

#[test]
fn a_server_of_somebody_else_says_what_would_help() {
    let server = crate::harness::server(&[]);
    let pid = server.pid().unwrap().to_string();
    for (command, cure) in [
        (
            &["stacks", "--pid", &pid, "--no-login"][..],
            "CAP_SYS_PTRACE",
        ),
        (
            &["locks", "--pid", &pid, "--seconds", "1"],
            "CAP_SYS_PTRACE",
        ),
        (&["profile", "--pid", &pid, "--seconds", "1"], "CAP_PERFMON"),
    ] {
        let Some(output) = as_nobody(command) else {
            return;
        };
        let line = error_line(&output);
        assert!(
            line.contains(cure) && line.contains("root") || line.contains("sysctl"),
            "{line}"
        );
    }
}
