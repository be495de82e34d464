//! Everything that is asked of a server, asked of every kind of server that the lab can start.
//! Those that `scripts/need` has not fetched are skipped, and that is said.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::{DEADLINES, TIMEOUT, start};
use model::{Reason, TextKind, ThreadSession};
use server::{Address, Login, Session};
use testbed::{IdleConnections, PrivateServer, ServerKind};

fn ways(server: &PrivateServer) -> [(Address, Login); 2] {
    [server.login(), server.tcp_login()].map(|way| {
        let address = match way.address {
            testbed::Address::Socket(path) => Address::Socket(path),
            testbed::Address::Tcp(host, port)
            | testbed::Address::TcpFrom(host, port, _)
            | testbed::Address::TcpElsewhere(host, port) => Address::Tcp(host, port),
        };
        let login = Login {
            user: way.user,
            password: way.password,
            from: "the test".to_owned(),
            tls: server::Tls::default(),
        };
        (address, login)
    })
}

fn session(server: &PrivateServer) -> Session {
    let [(address, login), _] = ways(server);
    Session::connect_quiet(&address, &login, DEADLINES).unwrap()
}

/// Runs a statement on a connection of its own until the guard is dropped, when the server ends
/// it with an error.
struct Working {
    connection: u64,
    killer: Session,
    thread: Option<thread::JoinHandle<()>>,
}

impl Working {
    fn start(server: &PrivateServer, sql: &'static str) -> Self {
        let mut session = session(server);
        let connection = session.id();
        let thread = thread::spawn(move || {
            let _ = session.execute(sql);
        });
        Self {
            connection,
            killer: self::session(server),
            thread: Some(thread),
        }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let _ = self.killer.execute(&format!("KILL {}", self.connection));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn asks_everything(kind: ServerKind, version: &str) {
    let Some(lab_server) = start(kind, &[]) else {
        return;
    };
    for (address, login) in ways(&lab_server) {
        let probe = server::probe_connect(
            &address,
            &login,
            DEADLINES,
            &server::OwnStatements::default(),
        );
        assert_eq!(probe.error, None, "{address}");
        let mut kept = None;
        let probe = server::probe_query(&mut kept, &address, &login, DEADLINES);
        assert_eq!(probe.error, None, "{address}");
        assert!(kept.is_some());
    }
    let mut session = session(&lab_server);
    let says = server::version(&mut session).unwrap();
    assert!(says.starts_with(version), "{says}");
    let _working = Working::start(&lab_server, "SELECT SLEEP(60), 'secret'");

    let status = server::status(&mut session).unwrap();
    let value = |name: &str| {
        let reading = status.readings.iter().find(|reading| reading.name == name);
        reading.map(|reading| reading.value)
    };
    assert!(value("status.Threads_connected").is_some_and(|n| n >= 2.0));
    assert!(value("status.Com_select").is_some_and(|n| n >= 1.0));
    let mut seen = None;
    let facts = server::variables(&mut session, &mut seen).unwrap();
    // The same again is no news, and what changed is.
    assert_eq!(server::variables(&mut session, &mut seen).unwrap(), []);
    session.execute("SET GLOBAL max_connections = 123").unwrap();
    let again = server::variables(&mut session, &mut seen).unwrap();
    let is_told = |fact: &model::Fact| {
        (fact.name.as_str(), fact.value.as_str()) == ("variables.max_connections", "123")
    };
    assert!(again.iter().any(is_told), "{again:?}");
    assert!(
        facts
            .iter()
            .any(|fact| fact.name == "variables.innodb_buffer_pool_size")
    );

    let innodb = server::innodb_status(&mut session).unwrap();
    let texts: Vec<TextKind> = innodb.texts.iter().map(|text| text.kind()).collect();
    // MariaDB has no counters in its section, so without a wait it says nothing of waits.
    let known = [TextKind::InnodbStatus, TextKind::Semaphores];
    let is_mariadb = kind != ServerKind::MySql55 && kind != ServerKind::MySql9;
    assert!(
        texts == known || is_mariadb && texts == known[..1],
        "{texts:?}"
    );
    assert!(
        innodb.texts[0].body().contains("BACKGROUND THREAD"),
        "{innodb:?}"
    );
    assert!(innodb.readings.len() >= 5, "{:?}", innodb.readings);

    let own = session.id();
    let list = until(|| {
        let list = server::processlist(&mut session, &[own], |_| Vec::new()).unwrap();
        let body = list.texts[0].body();
        body.contains("SLEEP").then(|| body.to_owned())
    });
    assert!(!list.contains("secret"), "{list}");
}

/// The first answer; the questions go on until there is one.
fn until<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    for _ in 0..500 {
        if let Some(answer) = ask() {
            return answer;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("not seen in 10 s");
}

fn threads_of(server: &PrivateServer) -> Vec<u32> {
    let tasks = Path::new("/proc")
        .join(server.pid().unwrap().to_string())
        .join("task");
    let entries = std::fs::read_dir(tasks).unwrap();
    entries
        .map(|entry| {
            entry
                .unwrap()
                .file_name()
                .to_str()
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect()
}

fn by_connection(sessions: &HashMap<u32, ThreadSession>) -> BTreeMap<u64, (u32, &ThreadSession)> {
    sessions
        .iter()
        .map(|(tid, session)| (session.connection, (*tid, session)))
        .collect()
}

fn tells_threads(kind: ServerKind, arguments: &[&str]) {
    let Some(server) = start(kind, arguments) else {
        return;
    };
    let idle = IdleConnections::open(&server.login(), 20, TIMEOUT).unwrap();
    let working = Working::start(&server, "/* app */ SELECT SLEEP(60), 'secret'");
    let mut session = session(&server);
    let sessions = until(|| {
        let sessions = server::thread_sessions(&mut session).unwrap();
        let works = by_connection(&sessions).contains_key(&working.connection)
            && sessions.values().any(|session| {
                session.statement_class == "select" && session.connection == working.connection
            });
        works.then_some(sessions)
    });
    let threads = threads_of(&server);
    for tid in sessions.keys() {
        assert!(threads.contains(tid), "{tid} is no thread of the server");
    }
    let found = by_connection(&sessions);
    let (_, works) = found[&working.connection];
    assert_eq!(works.command, "Query");
    assert!(works.seconds < 60.0);
    assert!(found.contains_key(&session.id()));
    assert!(!format!("{sessions:?}").contains("secret"));
    for id in idle.ids() {
        assert_eq!(found[&u64::from(id)].1.command, "Sleep");
    }
}

#[test]
fn the_installed_mariadb() {
    asks_everything(ServerKind::MariaDb, "1");
    tells_threads(ServerKind::MariaDb, &[]);
    tells_threads(ServerKind::MariaDb, &["--performance-schema=ON"]);
    let pool = "--thread-handling=pool-of-threads";
    for arguments in [&[pool][..], &[pool, "--performance-schema=ON"]] {
        let server = start(ServerKind::MariaDb, arguments).unwrap();
        let absent = server::thread_sessions(&mut session(&server)).unwrap_err();
        assert_eq!(absent.reason, Reason::Unsupported);
        assert!(absent.detail.contains("a pool of threads"), "{absent:?}");
    }
}

#[test]
fn mariadb_11() {
    asks_everything(ServerKind::MariaDb11, "11.4.5");
    tells_threads(ServerKind::MariaDb11, &[]);
}

#[test]
fn mysql_9() {
    asks_everything(ServerKind::MySql9, "9.");
    tells_threads(ServerKind::MySql9, &[]);
    let Some(server) = start(ServerKind::MySql9, &["--performance-schema=OFF"]) else {
        return;
    };
    let absent = server::thread_sessions(&mut session(&server)).unwrap_err();
    assert_eq!(absent.reason, Reason::Unsupported);
    assert!(
        absent.detail.contains("performance_schema is off"),
        "{absent:?}"
    );
}

#[test]
fn mysql_9_without_the_privilege() {
    let Some(server) = start(ServerKind::MySql9, &[]) else {
        return;
    };
    session(&server)
        .execute("CREATE USER nobody@localhost")
        .unwrap();
    let [(address, login), _] = ways(&server);
    let login = Login {
        user: "nobody".to_owned(),
        ..login
    };
    let mut session = Session::connect(&address, &login, DEADLINES).unwrap();
    let absent = server::thread_sessions(&mut session).unwrap_err();
    assert_eq!(absent.reason, Reason::Permission, "{absent:?}");
}

#[test]
fn mysql_5_5() {
    asks_everything(ServerKind::MySql55, "5.5.9");
    let Some(server) = start(ServerKind::MySql55, &[]) else {
        return;
    };
    let absent = server::thread_sessions(&mut session(&server)).unwrap_err();
    assert_eq!(absent.reason, Reason::Unsupported, "{absent:?}");
}
