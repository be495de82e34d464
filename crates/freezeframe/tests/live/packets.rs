//! Statements from packets against the general log of real servers: the same statements, as often.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use model::{PER_CONNECTION, QueryDigest};
use mysql::prelude::Queryable;
use recorder::packets::{Captured, Collector, PacketCapture, PacketOptions};
use server::wire::{STATEMENT_BYTES_MAX, Statement, StatementKind};
use testbed::{Address, Login, Options, PrivateServer, ServerKind};

use crate::packets_zstd::ZstdClient;
use crate::tool::{started, wait_until};

const TIMEOUT: Duration = Duration::from_secs(60);

/// Nothing that a test starts outlives this.
const CAPTURE_MAX: Duration = Duration::from_secs(300);

/// A statement that does not fit what is kept of one.
const LONG_ROWS: usize = 20_000;

/// Something seen: command and fingerprint.
type Counts = BTreeMap<(String, String), u64>;

/// A statement as seen on the wire.
#[derive(Debug, Clone)]
struct Seen {
    kind: StatementKind,
    text: String,
    connection: u64,
    connection_id: Option<u32>,
    user: Option<String>,
    database: Option<String>,
    program: Option<String>,
    error: Option<u16>,
    rows: Option<u64>,
    affected: Option<u64>,
    warnings: Option<u16>,
    response_us: Option<u64>,
    whole_us: Option<u64>,
    compressed: bool,
    guessed: bool,
    cut: bool,
}

impl Seen {
    fn of(statement: &Statement<'_>) -> Self {
        Self {
            kind: statement.kind,
            text: String::from_utf8_lossy(statement.text).into_owned(),
            connection: statement.connection,
            connection_id: statement.connection_id,
            user: statement.user.map(str::to_owned),
            database: statement.database.map(str::to_owned),
            program: statement.program.map(str::to_owned),
            error: statement.error,
            rows: statement.rows,
            affected: statement.affected,
            warnings: statement.warnings,
            response_us: statement.response_us,
            whole_us: statement.whole_us,
            compressed: statement.compressed,
            guessed: statement.guessed,
            cut: statement.cut,
        }
    }
}

/// A capture on its own thread, as the recorder runs it.
struct Running {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(Vec<Seen>, Captured, QueryDigest)>,
}

impl Running {
    /// `None` where packets may not be captured, which is said.
    fn start(port: u16) -> Option<Self> {
        let options = PacketOptions {
            loopback_only: true,
            ..PacketOptions::of_ports(&[port])
        };
        let mut capture = match PacketCapture::open(&options) {
            Err(error @ recorder::packets::CaptureError::Refused(_)) => {
                eprintln!("skipped: {error}");
                return None;
            }
            other => other.unwrap(),
        };
        let stop = Arc::new(AtomicBool::new(false));
        let until = stop.clone();
        let thread = std::thread::spawn(move || {
            let (mut all, mut collector) = (Vec::new(), Collector::default());
            let mut each = |statement: &Statement<'_>| {
                all.push(Seen::of(statement));
                collector.take(statement);
            };
            capture.run(CAPTURE_MAX, &until, &mut each).unwrap();
            let captured = capture.finish(&mut each).unwrap();
            let digest = collector.finish(&captured, Vec::new());
            (all, captured, digest)
        });
        Some(Self { stop, thread })
    }

    fn end(self) -> (Vec<Seen>, Captured, QueryDigest) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn start(kind: ServerKind) -> Option<PrivateServer> {
    let server = started(&Options {
        kind,
        arguments: [
            "--log-output=TABLE",
            "--general-log=1",
            "--local-infile=1",
            // Else a newer MySQL logs nothing that it cannot parse.
            "--loose-log-raw=1",
            "--max-allowed-packet=64M",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..Options::default()
    })?;
    let mut control = server.login().connect(false, TIMEOUT).unwrap();
    control.query_drop("TRUNCATE mysql.general_log").unwrap();
    Some(server)
}

/// What the general log has of connections that began over TCP since it was emptied, and of those that are named.
fn logged(server: &PrivateServer, open_before: &[u64]) -> Counts {
    let mut control = server.login().connect(false, TIMEOUT).unwrap();
    let sql = "SELECT thread_id, command_type, CONVERT(argument USING utf8) FROM mysql.general_log";
    let rows: Vec<(u64, String, String)> = control.query(sql).unwrap();
    let mut threads = open_before.to_vec();
    let logins = rows
        .iter()
        .filter(|(_, command, text)| command == "Connect" && !text.contains("@localhost"));
    threads.extend(logins.map(|(thread, ..)| *thread));
    let mut counts = Counts::new();
    for (thread, command, text) in rows {
        if threads.contains(&thread) {
            *counts.entry(class(&command, &text)).or_default() += 1;
        }
    }
    counts
}

fn seen(all: &[Seen]) -> Counts {
    let mut counts = Counts::new();
    // A ping is not logged.
    let logged = |one: &&Seen| one.kind != StatementKind::Administrator("Ping");
    for one in all.iter().filter(logged) {
        *counts.entry(class(one.kind.name(), &one.text)).or_default() += 1;
    }
    counts
}

fn class(command: &str, text: &str) -> (String, String) {
    // No more of a long one than is kept, with the attributes before it.
    let end = text.floor_char_boundary(STATEMENT_BYTES_MAX - 64);
    let text = match command {
        "Query" | "Prepare" | "Execute" => sql::fingerprint(&text[..end]),
        "Init DB" => text.to_owned(),
        _ => String::new(),
    };
    (command.to_owned(), text)
}

fn tcp(server: &PrivateServer, compressed: bool) -> mysql::Conn {
    server.tcp_login().connect(compressed, TIMEOUT).unwrap()
}

/// Statements of many kinds and sizes.
fn ask(connection: &mut mysql::Conn) {
    connection
        .query_drop("CREATE DATABASE IF NOT EXISTS ff")
        .unwrap();
    connection.select_db("ff").unwrap();
    connection.query_drop("USE ff").unwrap();
    connection.query_drop("DROP TABLE IF EXISTS t").unwrap();
    connection
        .query_drop("CREATE TABLE t (id INT PRIMARY KEY, c VARCHAR(200))")
        .unwrap();
    let rows: Vec<String> = (0..LONG_ROWS)
        .map(|id| format!("({id}, 'row number {id}')"))
        .collect();
    connection
        .query_drop(format!("INSERT INTO t VALUES {}", rows.join(", ")))
        .unwrap();
    for id in 0..50 {
        connection
            .query_drop(format!("SELECT c FROM t WHERE id = {id}"))
            .unwrap();
        connection.query_drop("SHOW WARNINGS").unwrap();
    }
    // Results of several sizes, one of them none.
    for limit in [0, 1, 10, 300, 20_000] {
        connection
            .query_drop(format!(
                "SELECT id, REPEAT(c, 3) FROM t ORDER BY id LIMIT {limit}"
            ))
            .unwrap();
    }
    connection.query_drop("SELEC nonsense").unwrap_err();
    connection.query_drop("SELECT * FROM nowhere").unwrap_err();
    connection
        .query_drop("UPDATE t SET c = 'äöü' WHERE id < 7")
        .unwrap();
    connection
        .query_drop("SELECT CAST('12abc' AS SIGNED)")
        .unwrap();
    connection
        .query_drop("DROP PROCEDURE IF EXISTS two")
        .unwrap();
    connection
        .query_drop("CREATE PROCEDURE two() BEGIN SELECT 1; SELECT 2, 3; END")
        .unwrap();
    connection.query_drop("CALL two()").unwrap();
    let select = connection
        .prep("SELECT c FROM t WHERE id = ? OR c = ?")
        .unwrap();
    for id in 0..20 {
        connection.exec_drop(&select, (id, "x")).unwrap();
    }
    let insert = connection.prep("INSERT INTO t VALUES (?, ?)").unwrap();
    connection
        .exec_drop(&insert, (100_000, "y".repeat(150)))
        .unwrap();
    connection
        .exec_drop(&insert, (100_000, "twice"))
        .unwrap_err();
    connection.close(select).unwrap();
    connection.ping().unwrap();
    let long = format!("SELECT LENGTH('{}')", "z".repeat(3_000_000));
    connection.query_drop(long).unwrap();
    connection.set_local_infile_handler(Some(mysql::LocalInfileHandler::new(|_, file| {
        use std::io::Write;
        for id in 200_000..205_000 {
            writeln!(file, "{id}\tfrom a file")?;
        }
        Ok(())
    })));
    connection
        .query_drop("LOAD DATA LOCAL INFILE 'made-up' INTO TABLE t")
        .unwrap();
    connection.query_drop("SELECT COUNT(*) FROM t").unwrap();
}

fn of_text<'a>(all: &'a [Seen], start: &str) -> Vec<&'a Seen> {
    all.iter()
        .filter(|one| one.text.starts_with(start))
        .collect()
}

/// What only the wire tells.
fn check_details(all: &[Seen], compressed: bool) {
    for one in all.iter().filter(|one| one.kind != StatementKind::Connect) {
        assert_eq!(one.compressed, compressed, "{one:?}");
        assert_eq!(one.user.as_deref(), Some("root"), "{one:?}");
        assert!(one.connection_id.is_some() && !one.guessed);
    }
    let answered = all.iter().filter(|one| {
        !matches!(
            one.kind,
            StatementKind::Administrator("Quit" | "Close stmt" | "Long Data")
        )
    });
    for one in answered {
        assert!(one.response_us.is_some(), "{one:?}");
        assert!(one.whole_us >= one.response_us, "{one:?}");
    }
    let one = |start| of_text(all, start)[0].clone();
    assert_eq!(one("SELEC nonsense").error, Some(1064));
    assert_eq!(one("SELECT * FROM nowhere").error, Some(1146));
    assert_eq!(one("UPDATE t").affected, Some(7));
    assert_eq!(one("UPDATE t").database.as_deref(), Some("ff"));
    assert_eq!(one("SELECT CAST").warnings, Some(1));
    let insert = one("INSERT INTO t VALUES (0,");
    assert!(
        insert.cut && insert.affected == Some(LONG_ROWS as u64),
        "{:?}",
        insert.affected
    );
    assert!(one("SELECT LENGTH").cut);
    assert_eq!(one("CALL two()").rows, Some(2));
    assert_eq!(one("LOAD DATA").affected, Some(5_000));
    assert_eq!(one("SELECT COUNT").rows, Some(1));
    let errors = |kind| {
        let of_kind = all.iter().filter(|one| one.kind == kind);
        of_kind.filter_map(|one| one.error).collect::<Vec<u16>>()
    };
    assert_eq!(errors(StatementKind::Execute), [1062]);
    // Results that are copied whole have their rows; of larger ones they are not known, and never wrong.
    for (limit, rows) in [
        ("0", 0),
        ("1", 1),
        ("10", 10),
        ("300", 300),
        ("20000", 20_000),
    ] {
        let text = format!("SELECT id, REPEAT(c, 3) FROM t ORDER BY id LIMIT {limit}");
        let found = all.iter().find(|one| one.text == text).unwrap();
        assert!(found.rows.is_none_or(|found| found == rows), "{found:?}");
        if rows <= 1 {
            assert_eq!(found.rows, Some(rows), "{found:?}");
        }
        assert_eq!(found.error, None);
    }
}

fn same_as_log(kind: ServerKind, compressed: bool) {
    let Some(server) = start(kind) else { return };
    let Some(running) = Running::start(server.port()) else {
        return;
    };
    let mut connection = tcp(&server, compressed);
    ask(&mut connection);
    drop(connection);
    let mut log = wait_for_log(&server, 1, &[]);
    if kind == ServerKind::MySql55 {
        // It logs an execution after it went well.
        *log.entry(class("Execute", "INSERT INTO t VALUES (1, 2)"))
            .or_default() += 1;
    }
    let (all, captured, digest) = running.end();
    assert_eq!(captured.lost, 0);
    assert_eq!(seen(&all), log);
    check_details(&all, compressed);
    let connections = captured.connections;
    assert_eq!((connections.seen, connections.guessed), (1, 0));
    assert_eq!(connections.compressed, u64::from(compressed));
    assert_eq!(digest.count, all.len() as u64);
    let warnings = digest
        .classes
        .iter()
        .find(|class| class.kind == "SHOW WARNINGS")
        .unwrap();
    assert_eq!(warnings.count, 50);
    let per_connection = warnings
        .measures
        .iter()
        .find(|measure| measure.name == PER_CONNECTION)
        .unwrap();
    assert_eq!((per_connection.count, per_connection.max), (1, Some(50.0)));
    assert_eq!(warnings.users[0].name, "root");
    let samples = serde_json::to_string(&digest).unwrap();
    assert!(!samples.contains("row number") && !samples.contains("zzzz"));
}

/// Until so many connections have quit.
fn wait_for_log(server: &PrivateServer, quits: u64, open_before: &[u64]) -> Counts {
    let mut log = Counts::new();
    crate::tool::wait_until("the general log", || {
        log = logged(server, open_before);
        log.get(&("Quit".to_owned(), String::new())) == Some(&quits)
    });
    log
}

#[test]
fn plain_mariadb() {
    same_as_log(ServerKind::MariaDb, false);
}

#[test]
fn zlib_mariadb() {
    same_as_log(ServerKind::MariaDb, true);
}

#[test]
fn plain_mysql_9() {
    same_as_log(ServerKind::MySql9, false);
}

#[test]
fn zlib_mysql_9() {
    same_as_log(ServerKind::MySql9, true);
}

#[test]
fn plain_mysql_5_5() {
    same_as_log(ServerKind::MySql55, false);
}

#[test]
fn zstd_mysql_9() {
    let Some(server) = start(ServerKind::MySql9) else {
        return;
    };
    let mut control = server.login().connect(false, TIMEOUT).unwrap();
    control.query_drop("CREATE USER zs@127.0.0.1").unwrap();
    control
        .query_drop("GRANT ALL ON *.* TO zs@127.0.0.1")
        .unwrap();
    let Some(running) = Running::start(server.port()) else {
        return;
    };
    let mut client = ZstdClient::connect(server.port(), "zs");
    client.query("CREATE DATABASE zz");
    client.query("CREATE TABLE zz.t (id INT PRIMARY KEY, c VARCHAR(200))");
    let rows: Vec<String> = (0..3000)
        .map(|id| format!("({id}, REPEAT('ab{id}', 20))"))
        .collect();
    client.query(&format!("INSERT INTO zz.t VALUES {}", rows.join(", ")));
    for id in 0..40 {
        client.query(&format!("SELECT c FROM zz.t WHERE id = {id}"));
        client.query("SHOW WARNINGS");
    }
    let answer = client.query("SELECT * FROM zz.t");
    assert_eq!(answer.len(), 1 + 2 + 3000 + 1);
    let answer = client.query("SELECT nonsense FROM zz.t WHERE id IN (1, 2, 3, 4, 5, 6, 7)");
    assert_eq!(answer[0][0], 0xff);
    client.query("SHOW SESSION STATUS LIKE 'Compression_algorithm'");
    client.quit();
    let log = wait_for_log(&server, 1, &[]);
    let (all, captured, _) = running.end();
    assert_eq!(captured.lost, 0);
    assert_eq!(seen(&all), log);
    assert_eq!(captured.connections.compressed, 1);
    for one in all.iter().filter(|one| one.kind != StatementKind::Connect) {
        assert!(one.compressed && one.response_us.is_some() || one.kind.name() == "Quit");
        assert_eq!(one.program.as_deref(), Some("zstd-example"));
    }
    assert_eq!(of_text(&all, "SELECT nonsense")[0].error, Some(1054));
    assert_eq!(of_text(&all, "SELECT c")[7].rows, Some(1));
    assert_eq!(of_text(&all, "INSERT")[0].affected, Some(3000));
}

#[test]
fn connections_that_were_open_before() {
    for kind in [ServerKind::MariaDb, ServerKind::MySql9] {
        let Some(server) = start(kind) else { continue };
        let mut open: Vec<mysql::Conn> = [false, true, false, true]
            .map(|compressed| tcp(&server, compressed))
            .into();
        let ids: Vec<u64> = open
            .iter_mut()
            .map(|one| one.query_first("SELECT CONNECTION_ID()").unwrap().unwrap())
            .collect();
        let prepared = open[0].prep("SELECT ? + 1").unwrap();
        let mut control = server.login().connect(false, TIMEOUT).unwrap();
        control.query_drop("TRUNCATE mysql.general_log").unwrap();
        let Some(running) = Running::start(server.port()) else {
            return;
        };
        for round in 0..30 {
            for connection in &mut open {
                connection.query_drop("SHOW WARNINGS").unwrap();
                let sql = format!("SELECT {round}, 'something that is longer than fifty bytes'");
                connection.query_drop(sql).unwrap();
            }
            open[0].exec_drop(&prepared, (round,)).unwrap();
        }
        drop(open);
        let mut log = wait_for_log(&server, 4, &ids);
        let (all, captured, _) = running.end();
        // The server may log what came before the log was emptied behind that.
        log.remove(&class("Prepare", "SELECT 1 + 1"));
        // Nobody saw it prepared: its text is not known.
        let executed = log.remove(&class("Execute", "SELECT 1 + 1"));
        let expected = (class("Execute", ""), executed.unwrap());
        log.extend([expected]);
        // `prepared` was closed with its connection, if at all.
        assert_eq!(seen(&all), log, "{kind:?}");
        let connections = captured.connections;
        assert_eq!((connections.seen, connections.guessed), (4, 4));
        assert_eq!(connections.compressed, 2);
        assert!(all.iter().all(|one| one.guessed && one.user.is_none()));
        let compressed = all.iter().filter(|one| one.compressed).count();
        assert_eq!(compressed, 2 * (60 + 1));
    }
}

#[test]
fn a_refused_login_and_a_tls_connection() {
    let Some(server) = start(ServerKind::MySql9) else {
        return;
    };
    let Some(running) = Running::start(server.port()) else {
        return;
    };
    let nobody = Login {
        address: Address::Tcp("127.0.0.1".to_owned(), server.port()),
        user: "nobody".to_owned(),
        password: Some("wrong".to_owned()),
    };
    nobody.connect(false, TIMEOUT).unwrap_err();
    // The SSL request of a client that goes away then.
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    use std::io::{Read, Write};
    let read = stream.read(&mut [0; 512]).unwrap();
    assert!(read > 40);
    let mut request = vec![32, 0, 0, 1, 0x05, 0xae, 0x0f, 0];
    request.resize(36, 0);
    stream.write_all(&request).unwrap();
    stream
        .write_all(&[0x16, 3, 1, 0, 5, 1, 2, 3, 4, 5])
        .unwrap();
    let _ = stream.read(&mut [0; 64]);
    drop(stream);
    let (all, captured, _) = running.end();
    assert_eq!(captured.connections.seen, 2);
    assert_eq!(captured.connections.tls, 1);
    // The client says goodbye, perhaps before the server has refused it.
    let mut logins = all.iter().filter(|one| one.kind == StatementKind::Connect);
    let login = logins.next().unwrap();
    assert!(logins.next().is_none(), "{all:?}");
    assert!(all.iter().all(|one| one.connection == 0), "{all:?}");
    assert_eq!(login.error, Some(1045));
    assert_eq!(login.user.as_deref(), Some("nobody"));
}

#[test]
fn clients_past_the_ports_are_counted() {
    for kind in [ServerKind::MariaDb, ServerKind::MySql9] {
        let Some(server) = start(kind) else { continue };
        let proc = kernel::roots::ProcRoot::default();
        let process = kernel::servers::server(&proc, server.pid().unwrap()).unwrap();
        let options = PacketOptions::of_process(&process).unwrap();
        assert_eq!(options.ports, [server.port()]);
        assert!(options.loopback_only);
        let mut open: Vec<mysql::Conn> = (0..3)
            .map(|_| server.login().connect(false, TIMEOUT).unwrap())
            .collect();
        // Those who asked whether it has started leave when the server finds the time.
        wait_until("three clients are connected", || {
            let status: Option<(String, u64)> = open[0]
                .query_first("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
                .unwrap();
            status.is_some_and(|(_, connected)| connected == 3)
        });
        let stop = AtomicBool::new(false);
        let (time, mut collector) = (Duration::from_millis(300), Collector::default());
        let captured = recorder::packets::capture(&options, time, &stop, || None, &mut |one| {
            collector.take(one);
        });
        let captured = match captured {
            Err(error @ recorder::packets::CaptureError::Refused(_)) => {
                eprintln!("skipped: {error}");
                return;
            }
            other => other.unwrap(),
        };
        let blind = recorder::packets::blind_spots(&options, &captured);
        let digest = collector.finish(&captured, blind);
        assert_eq!((digest.count, digest.lost), (0, 0), "{kind:?}: {digest:?}");
        let [blind] = &digest.blind[..] else {
            panic!("{:?}", digest.blind)
        };
        assert!(blind.what.contains("unix socket"), "{blind:?}");
        assert!(blind.detail.starts_with("3 clients"), "{kind:?}: {blind:?}");
        drop(open);
    }
}

#[test]
fn a_refusal_names_what_is_missing() {
    // Capabilities belong to threads: this one gives them up.
    let refused = std::thread::spawn(|| {
        use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
        let mut sets = capabilities(None).unwrap();
        sets.effective -= CapabilitySet::NET_RAW;
        set_capabilities(None, sets).unwrap();
        PacketCapture::open(&PacketOptions::of_ports(&[3306])).err()
    });
    let error = refused.join().unwrap().unwrap().to_string();
    assert!(
        error.contains("CAP_NET_RAW") && error.contains("setcap"),
        "{error}"
    );
}
