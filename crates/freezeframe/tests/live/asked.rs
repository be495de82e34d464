//! What the recorder's incidents hold of the statements that the server was asked.

use std::path::Path;
use std::time::Duration;

use model::{Incident, QueryMethod};
use mysql::prelude::Queryable;
use testbed::{Address, Load, Login, PrivateServer};

use crate::harness::{Recorder, incident, server};

const TIMEOUT: Duration = Duration::from_secs(60);

/// SHOW WARNINGS a second in the made flood, and those that are none.
const FLOOD: f64 = 400.0;

/// A recorder that only the flood triggers.
fn recorder(server: &PrivateServer, dir: &Path, config: &str) -> Recorder {
    let path = dir.join("freezeframe.toml");
    let calm = "[detect]\nprobe_limit_ms = 20000\nsystem_share_min = 2.0\n";
    std::fs::write(&path, format!("{calm}{config}")).unwrap();
    let trigger = "rate(status.Com_show_warnings) > 100 for 2s";
    let path = path.to_str().unwrap();
    Recorder::start(server, dir, &["--config", path, "--trigger", trigger])
}

fn flood(login: Login, seconds: u64, statements: &[&str]) -> std::thread::JoinHandle<()> {
    let load = Load {
        login,
        clients: 4,
        rate_per_second: Some(FLOOD),
        compression: false,
        reconnect: false,
        statements: statements
            .iter()
            .map(|statement| (1, (*statement).to_owned()))
            .collect(),
        duration: Duration::from_secs(seconds),
        timeout: TIMEOUT,
    };
    std::thread::spawn(move || {
        let never = std::sync::atomic::AtomicBool::new(false);
        testbed::run(&load, &never).unwrap();
    })
}

/// How often a second the digests of this way saw SHOW WARNINGS in the stall.
fn rate(incident: &Incident, way: QueryMethod) -> Option<f64> {
    let stall = incident.stall_window();
    let mut found = None;
    for timed in &incident.queries {
        let inside = timed.window.from + 1000 >= stall.from && timed.window.to <= stall.to + 1000;
        if timed.digest.method != way || !inside {
            continue;
        }
        let seconds = (timed.window.to - timed.window.from) as f64 / 1000.0;
        let classes = &timed.digest.classes;
        let flood = classes
            .iter()
            .find(|class| class.fingerprint == "show warnings");
        let rate = flood.map_or(0.0, |class| class.count as f64) / seconds;
        found = Some(found.map_or(rate, |found: f64| found.max(rate)));
    }
    found
}

fn near(rate: Option<f64>) -> bool {
    // A busy machine sends fewer, and clients catch up a second of their schedule: what is counted in a window of a few
    // seconds may be so much more, but is never more than was sent.
    rate.is_some_and(|rate| (FLOOD * 0.1..FLOOD * 1.35).contains(&rate))
}

#[test]
fn a_flood_is_seen_on_the_wire_and_in_the_servers_own_counts() {
    let server = server(&["--performance-schema=ON"]);
    let dir = tempfile::tempdir().unwrap();
    let recorder = recorder(&server, dir.path(), "");
    recorder.warm_up(12);
    // What begins now is in one second of the recorder's, not at the edge of two: the first of it is in the stall.
    std::thread::sleep(Duration::from_millis(400));
    let flooding = flood(
        server.tcp_login(),
        26,
        &["SHOW WARNINGS", "SELECT 'secret'"],
    );
    recorder.event("triggered");
    flooding.join().unwrap();
    let incident = incident(&recorder.event("written"));
    recorder.stop();

    for way in [
        QueryMethod::StatementCounters,
        QueryMethod::PerformanceSchema,
    ] {
        assert!(
            near(rate(&incident, way)),
            "{way:?}: {:?}",
            incident.queries
        );
    }
    let refused = incident
        .absent
        .iter()
        .find(|timed| timed.absent.what == "packets");
    match refused {
        Some(timed) => eprintln!("skipped: {}", timed.absent.detail),
        None => {
            assert!(
                near(rate(&incident, QueryMethod::Packets)),
                "{:?}",
                incident.queries
            );
            let senders = incident.fact("packets.show_warnings.senders");
            assert!(
                senders.is_some_and(|it| it.contains("127.0.0.1")),
                "{senders:?}"
            );
        }
    }
    let calm = incident
        .queries
        .iter()
        .find(|timed| timed.window.to <= incident.stall.onset)
        .unwrap();
    // On a busy machine the flood begins slowly: a second in which it is too little for the trigger is none of the stall.
    let before = calm.digest.classes.iter();
    let before = before.filter(|class| class.fingerprint == "show warnings");
    let sent: u64 = before.map(|class| class.count).sum();
    assert!((sent as f64) < FLOOD, "{sent} before the stall: {calm:?}");
    assert!(!format!("{:?}", incident.queries).contains("secret"));
}

/// Both at a time: nearly all of it is waiting.
#[test]
fn the_general_log_is_leased_only_where_it_is_permitted_and_nothing_else_sees() {
    std::thread::scope(|scope| {
        for permitted in [false, true] {
            scope.spawn(move || is_leased_only_where(permitted));
        }
    });
}

fn is_leased_only_where(permitted: bool) {
    let settings = "SELECT @@GLOBAL.general_log, @@GLOBAL.log_output, @@GLOBAL.general_log_file";
    // No packets on a unix socket, and MariaDB's performance_schema is off.
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let by_socket = Login {
        address: Address::Socket(server.socket()),
        ..server.login()
    };
    let mut admin = by_socket.connect(false, TIMEOUT).unwrap();
    let mut now = || -> (String, String, String) { admin.query_first(settings).unwrap().unwrap() };
    let before = now();
    let config = format!("[queries]\ngeneral_log = {permitted}\ngeneral_log_seconds = 4\n");
    let recorder = recorder(&server, dir.path(), &config);
    recorder.warm_up(8);
    // Three seconds to the trigger, three for the gentler ways, four for the lease, and some for a busy machine.
    let flooding = flood(by_socket.clone(), 14, &["SHOW WARNINGS"]);
    recorder.event("triggered");
    flooding.join().unwrap();
    let incident = incident(&recorder.event("written"));
    recorder.stop();
    assert_eq!(now(), before);
    let leases = dir.path().join("leases");
    let left = std::fs::read_dir(leases).map_or(0, |entries| {
        let names = entries.map(|entry| entry.unwrap().file_name());
        names
            .filter(|name| name.to_string_lossy().ends_with(".json"))
            .count()
    });
    assert_eq!(
        left, 0,
        "the lease is given back, so it is not written down any more"
    );
    let seen = rate(&incident, QueryMethod::GeneralLog);
    if permitted {
        assert!(near(seen), "{:?}, {:?}", incident.queries, incident.absent);
    } else {
        assert_eq!(seen, None);
    }
}
