//! Making and checking the tables, on a server.

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fleet::clickhouse::{Address, Layout, Store, Then, VERSION, ddl};
use fleet::sqlite::Initialised;

use super::live;

#[test]
fn init_makes_the_tables_once_and_brings_older_ones_up() {
    let Some(store) = live::store("init") else {
        return;
    };
    let open = || Store::open(live::address(&live::url().unwrap(), "init"));
    let failure = open().unwrap_err();
    assert!(
        failure
            .said
            .contains("no store of a fleet; `freezeframe fleet init`"),
        "{failure}"
    );
    let init = || store.init(&Layout::Single, 1_795_000_000, "0.1.0");
    assert_eq!(init().unwrap(), Initialised::Made);
    assert_eq!(init().unwrap(), Initialised::Unchanged);
    open().unwrap();
    let tables = live::run(
        "SELECT count() FROM system.tables WHERE database = 'freezeframe_test_init' AND engine LIKE '%MergeTree'",
    );
    // And the hours that are due.
    assert_eq!(tables.parse::<usize>().unwrap(), ddl::tables().count() + 1);
    // As an older version: a column less, and what says which version it is.
    live::run("ALTER TABLE freezeframe_test_init.incidents DROP COLUMN heaviest");
    live::run("TRUNCATE TABLE freezeframe_test_init.schema_version");
    assert_eq!(init().unwrap(), Initialised::Made);
    live::run("SELECT heaviest FROM freezeframe_test_init.incidents");
    // Of a newer program.
    let newer = VERSION + 1;
    live::run(&format!(
        "INSERT INTO freezeframe_test_init.schema_version VALUES ({newer}, now(), 'x')"
    ));
    let failure = init().unwrap_err();
    assert!(
        failure.said.contains("made by a newer freezeframe"),
        "{failure}"
    );
}

#[test]
fn tables_that_remember_no_tokens_are_found() {
    let Some(store) = live::store("window") else {
        return;
    };
    store.init(&Layout::Single, 1_795_000_000, "0.1.0").unwrap();
    live::run(
        "ALTER TABLE freezeframe_test_window.signals RESET SETTING non_replicated_deduplication_window",
    );
    let failure = store
        .init(&Layout::Single, 1_795_000_000, "0.1.0")
        .unwrap_err();
    assert_eq!(failure.then, Then::Stop);
    assert!(
        failure.said.contains("table 'signals' remembers no tokens"),
        "{failure}"
    );
}

/// There is no cluster here: the engine reads the statements, and runs none.
#[test]
fn statements_for_a_cluster_are_understood() {
    if live::url().is_none() {
        return;
    }
    let layout = Layout::replicated("fleet").unwrap();
    let statements = ddl::all(&layout);
    assert_eq!(statements.len(), 2 * ddl::tables().count() + 4);
    for statement in statements
        .into_iter()
        .chain([ddl::index_earlier_rows(&layout)])
    {
        live::run(&format!("EXPLAIN AST {statement}"));
    }
}

/// Debian's server of 2018 answers by http, and has none of what is needed.
#[test]
fn a_real_old_server_is_too_old() {
    if !live::is_wanted() {
        eprintln!("skipped: make test-fleet fetches an old server");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let mut child = Command::new(live::script())
        .arg("run-old")
        .arg(dir.path())
        .arg(port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let store = Store::at(Address::parse(&format!("http://127.0.0.1:{port}/f")).unwrap());
    let end = Instant::now() + Duration::from_secs(60);
    let failure = loop {
        let failure = store.init(&Layout::Single, 0, "1").unwrap_err();
        let ended = child.try_wait().unwrap().map(|status| status.code());
        if ended == Some(Some(3)) {
            eprintln!("skipped: there is no old server: scripts/fleet-server fetch-old");
            return;
        }
        assert!(
            ended.is_none() && Instant::now() < end,
            "{ended:?}: {failure}"
        );
        if failure.then != Then::Retry {
            break failure;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    child.kill().unwrap();
    child.wait().unwrap();
    let wanted = format!(
        "http://127.0.0.1:{port}/f: ClickHouse 18.16.1 is too old: 24.10 or newer is needed. Upgrade it, or name another server"
    );
    assert_eq!(failure.said, wanted);
}
