//! Several servers by name from one process: each alone, and exchanged while the others go on.

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use testbed::{Answers, FakeServers};

use crate::harness::{Recorder, files, run, server};
use crate::retention::metrics;

/// Waits for all of these events of these servers, in any order.
fn all_of(recorder: &Recorder, wanted: &[(&str, &str)]) -> Vec<Value> {
    let mut missing = wanted.to_vec();
    let mut seen = Vec::new();
    while !missing.is_empty() {
        let is_missing = |event: &Value| {
            missing
                .iter()
                .any(|(name, of)| event["event"] == *name && event["server"] == *of)
        };
        let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
        let event = recorder.event_of(&names, is_missing);
        missing.retain(|(name, of)| event["event"] != *name || event["server"] != *of);
        seen.push(event);
    }
    seen
}

fn histories(dir: &Path) -> Vec<String> {
    files(&dir.join("targets"))
}

#[test]
fn targets_come_and_go_and_none_waits_for_another() {
    let server = server(&[]);
    // It takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap().port();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("targets.toml");
    let state = dir.path().join("state");
    let target = |name: &str, way: &str| format!("[[targets]]\nname = '{name}'\n{way}\n");
    let socket = format!("socket = '{}'", server.socket().display());
    let one = target("one", &format!("{socket}\nlabels = {{ team = 'shop' }}"));
    let hung = target("hung", &format!("port = {silent}"));
    let wrong = target(
        "wrong",
        &format!("{socket}\npassword_file = '/nonexistent'"),
    );
    std::fs::write(&file, format!("{one}{hung}{wrong}")).unwrap();
    let mut recorder = Recorder::start_named("--targets", &file, &state, &[]);
    let begun = [
        ("started", "one"),
        ("started", "hung"),
        ("not-started", "wrong"),
        ("version", "one"),
    ];
    for event in all_of(&recorder, &begun) {
        match (event["event"].as_str(), event["server"].as_str()) {
            (Some("not-started"), _) => {
                let error = event["error"].as_str().unwrap();
                assert!(error.contains("/nonexistent"), "{error}");
            }
            (Some("started"), Some("one")) => assert_eq!(event["labels"]["team"], "shop"),
            (Some("started"), name) => assert_eq!(event["name"].as_str(), name),
            _ => {}
        }
    }
    assert_eq!(histories(&state), ["hung", "one"]);

    // A mistake changes nothing.
    std::fs::write(&file, "[[targets]]\nname = 'x'\n").unwrap();
    recorder.signal(Signal::HUP);
    let end = Instant::now() + Duration::from_secs(30);
    while !recorder.said().contains("the targets stay as they are") {
        assert!(Instant::now() < end, "{}", recorder.said());
        std::thread::sleep(Duration::from_millis(100));
    }

    // One goes, one comes, one goes on.
    let two = target("two", &socket);
    std::fs::write(&file, format!("{one}{two}")).unwrap();
    recorder.signal(Signal::HUP);
    let exchanged = [("stopped", "hung"), ("started", "two"), ("version", "two")];
    all_of(&recorder, &exchanged);
    recorder.signal(Signal::USR1);
    all_of(&recorder, &[("asked", "one"), ("asked", "two")]);
    std::thread::sleep(Duration::from_secs(2));
    let rest = recorder.stop();
    let again = rest.iter().filter(|event| event["event"] == "started");
    assert_eq!(again.count(), 0, "one was not begun anew");
    let written: Vec<&Value> = rest
        .iter()
        .filter(|event| event["event"] == "written")
        .collect();
    assert_eq!(written.len(), 2, "{rest:#?}");
    assert_eq!(histories(&state), ["hung", "one", "two"]);

    let state = state.to_str().unwrap();
    let listed = run(&["incidents", "--dir", state]);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(
        listed.contains("one-2") && listed.contains("two-2"),
        "{listed}"
    );
    let told = run(&[
        "explain", "--at", "5s", "--for", "5s", "--server", "two", "--dir", state,
    ]);
    assert!(told.status.success(), "{told:?}");
}

/// Servers of one process, and those of them that hang.
const MANY: usize = 12;
const HUNG: usize = 4;

#[test]
fn those_that_hang_at_once_hold_up_no_others() {
    let fakes = FakeServers::start(MANY, Answers::small(20)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("targets.toml");
    let names: Vec<String> = (0..MANY).map(|number| format!("fake-{number}")).collect();
    let targets = names.iter().zip(fakes.ports()).map(|(name, port)| {
        format!("[[targets]]\nname = '{name}'\nport = {port}\nremote = true\n")
    });
    std::fs::write(&file, targets.collect::<String>()).unwrap();
    let state = dir.path().join("state");
    let recorder = Recorder::start_named("--targets", &file, &state, &[]);
    let of = |event: &'static str, names: &'static [String]| -> Vec<(&'static str, &'static str)> {
        names.iter().map(|name| (event, name.as_str())).collect()
    };
    let names: &'static [String] = names.leak();
    all_of(&recorder, &of("version", names));

    for index in 0..HUNG {
        fakes.hang(index, true);
    }
    all_of(&recorder, &of("triggered", &names[..HUNG]));
    let asked = || -> Vec<u64> { (0..MANY).map(|index| fakes.statements(index)).collect() };
    let before = asked();
    std::thread::sleep(Duration::from_secs(4));
    let after = asked();
    for index in 0..MANY {
        let more = after[index] - before[index];
        // Each is asked seven times a second; the one that hangs is asked once more at the most by each connection.
        let is_fine = if index < HUNG { more <= 4 } else { more >= 8 };
        assert!(is_fine, "{index}: {more} statements in 4 s");
    }
    for index in 0..HUNG {
        fakes.hang(index, false);
    }
    all_of(&recorder, &of("ended", &names[..HUNG]));
    recorder.stop();
}

/// The value of a metric of a server.
fn value(told: &str, metric: &str, server: &str) -> Option<f64> {
    let begin = format!("freezeframe_{metric}{{server=\"{server}\"}} ");
    let mut lines = told.lines();
    lines.find_map(|line| line.strip_prefix(&begin)?.parse().ok())
}

/// Waits until the metrics are as they should be.
fn until(address: &str, is_so: impl Fn(&str) -> bool) -> String {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let told = metrics(address);
        if is_so(&told) {
            return told;
        }
        assert!(Instant::now() < end, "{told}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn metrics_have_the_values_of_each_target() {
    let fakes = FakeServers::start(2, Answers::small(20)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("targets.toml");
    let target = |(name, port): (&str, u16)| {
        format!(
            "[[targets]]\nname = '{name}'\nport = {port}\nremote = true\nlabels = {{ team = 'of {name}' }}\n"
        )
    };
    let mut targets: Vec<String> = ["a", "b"]
        .into_iter()
        .zip(fakes.ports())
        .map(target)
        .collect();
    std::fs::write(&file, targets.concat()).unwrap();
    let state = dir.path().join("state");
    let recorder = Recorder::start_named("--targets", &file, &state, &["--listen", "127.0.0.1:0"]);
    let address = recorder.event("listening")["address"].clone();
    let address = address.as_str().unwrap();
    all_of(&recorder, &[("version", "a"), ("version", "b")]);

    let is_ready = |told: &str| value(told, "recorder_ring_bytes", "a").is_some_and(|n| n > 0.0);
    let first = until(address, is_ready);
    let again = until(address, |told| {
        let samples = |told| value(told, "recorder_samples_total", "a").unwrap();
        samples(told) >= samples(&first) + 5.0
    });
    for server in ["a", "b"] {
        let of = |metric| value(&again, metric, server);
        assert_eq!((of("up"), of("stalled")), (Some(1.0), Some(0.0)));
        let zeros = [
            "stalled_seconds",
            "stalls_suppressed_total",
            "recorder_lost_samples_total",
        ];
        assert!(
            zeros.iter().all(|metric| of(metric) == Some(0.0)),
            "{again}"
        );
        let beat = of("recorder_beat_age_seconds").unwrap();
        assert!((0.0..5.0).contains(&beat), "{beat}");
        // What this host would tell is absent.
        assert!(of("recorder_absent_evidence").unwrap() >= 1.0, "{again}");
        assert!(of("recorder_ring_signals").unwrap() >= 20.0, "{again}");
        assert_eq!(of("last_incident_timestamp_seconds"), None);
        let info =
            format!("freezeframe_target_info{{server=\"{server}\",team=\"of {server}\"}} 1\n");
        assert!(again.contains(&info), "{again}");
    }
    let line = |told: &str, name: &str| -> f64 {
        let begin = format!("freezeframe_recorder_{name} ");
        let mut lines = told.lines();
        let value = lines.find_map(|line| line.strip_prefix(&begin)).unwrap();
        value.parse().unwrap()
    };
    assert!(line(&again, "cpu_seconds_total") >= line(&first, "cpu_seconds_total"));
    assert!(line(&again, "resident_bytes") > 4e6, "{again}");

    // One stalls; the other one's values stay.
    fakes.hang(0, true);
    let stalled = until(address, |told| {
        let silent = value(told, "probe_unanswered_seconds", "a");
        value(told, "stalled_seconds", "a").is_some_and(|s| s > 0.5)
            && silent.is_some_and(|s| s > 1.0)
    });
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let age = now.unwrap().as_secs_f64()
        - value(&stalled, "last_incident_timestamp_seconds", "a").unwrap();
    assert!((-1.0..60.0).contains(&age), "{age}");
    assert_eq!(value(&stalled, "stalled", "a"), Some(1.0));
    assert_eq!(value(&stalled, "stalled", "b"), Some(0.0));
    assert_eq!(
        value(&stalled, "last_incident_timestamp_seconds", "b"),
        None
    );
    fakes.hang(0, false);
    until(address, |told| {
        let now = (
            value(told, "stalled", "a"),
            value(told, "probe_unanswered_seconds", "a"),
        );
        now == (Some(0.0), Some(0.0))
    });

    // One that is taken off the list has no values any more.
    targets.truncate(1);
    std::fs::write(&file, targets.concat()).unwrap();
    recorder.signal(Signal::HUP);
    let fewer = until(address, |told| value(told, "up", "b") != Some(1.0));
    assert_eq!(value(&fewer, "up", "a"), Some(1.0));
    recorder.stop();
}

#[test]
fn a_server_and_targets_are_not_named_together() {
    let told = run(&["record", "--targets", "/nonexistent", "--port", "3306"]);
    assert_eq!(told.status.code(), Some(2));
    let told = run(&["record", "--targets", "/nonexistent"]);
    assert_eq!(told.status.code(), Some(1));
    let text = String::from_utf8_lossy(&told.stderr);
    assert!(text.contains("/nonexistent: No such file"), "{text}");
}
