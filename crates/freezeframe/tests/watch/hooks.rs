//! A server that is stopped: the status address says so, and every hook is told once, also one
//! whose receiver comes back after the recorder was restarted.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::{Recorder, server};

const PATIENCE: Duration = Duration::from_secs(60);

fn ask(address: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    (code, body.to_owned())
}

fn wait_for(address: SocketAddr, path: &str, wanted: u16) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let (code, body) = ask(address, path);
        if code == wanted {
            return serde_json::from_str(&body).unwrap();
        }
        assert!(Instant::now() < end, "{path} stays {code}: {body}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn address(recorder: &Recorder) -> SocketAddr {
    let event = recorder.event("listening");
    event["address"].as_str().unwrap().parse().unwrap()
}

/// What a program was given, one object a line.
fn lines(path: &Path) -> Vec<Value> {
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn names(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect()
}

/// Runs on when the test fails.
struct Stopped(Pid);

impl Stopped {
    fn new(pid: u32) -> Self {
        let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

/// Takes posts until `count` are there; answers 503 to the first.
fn receive(listener: &TcpListener, count: usize) -> Vec<Value> {
    let mut got = Vec::new();
    let mut refused = false;
    while got.len() < count {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.strip_prefix("Content-Length: ") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mut stream = stream;
        if refused {
            got.push(serde_json::from_slice(&body).unwrap());
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        } else {
            refused = true;
            stream
                .write_all(b"HTTP/1.1 503 Service Unavailable\r\n\r\n")
                .unwrap();
        }
    }
    got
}

#[test]
fn a_stall_is_told_once_to_everybody() {
    let withheld = testbed::Withheld::start();
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let got = dir.path().join("got.jsonl");
    // An address where nobody listens yet.
    let port = {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let config = dir.path().join("freezeframe.toml");
    let text = format!(
        "listen = \"127.0.0.1:0\"\n\
         [detect]\nprobe_limit_ms = 1000\nsystem_share_min = 2.0\n\
         [[hooks]]\nname = \"lines\"\non = [\"start\", \"preliminary\", \"end\", \"verdict\"]\n\
         shell = '''cat >> {got}; echo >> {got}; echo \"$FREEZEFRAME_EVENT $FREEZEFRAME_FILE\" >> {got}.env'''\n\
         [[hooks]]\nname = \"away\"\nurl = \"http://127.0.0.1:{port}/told\"\n",
        got = got.display()
    );
    std::fs::write(&config, text).unwrap();
    let arguments = ["--config", config.to_str().unwrap()];
    let recorder = Recorder::start(&server, dir.path(), &arguments);
    let status = address(&recorder);
    recorder.warm_up(6);
    let label = {
        let health = wait_for(status, "/healthz", 200);
        health["servers"][0]["server"].as_str().unwrap().to_owned()
    };
    // Elsewhere it is told with its host.
    let name = format!("{}:{label}", recorder::host_name());
    let path = format!("/healthz/{label}");

    let stopped = Stopped::new(server.pid().unwrap());
    let health = wait_for(status, &path, 503);
    assert_eq!(health["ok"], false, "{health}");
    assert_ne!(health["reason"], Value::Null, "{health}");
    let triggered = recorder.event("triggered");
    let stall = wait_for(status, "/healthz", 503);
    assert_eq!(stall["servers"][0]["stalled"], true, "{stall}");
    let metrics = ask(status, "/metrics").1;
    let gauge = format!("freezeframe_stalled{{server=\"{name}\"}} 1\n");
    assert!(metrics.contains(&gauge), "{metrics}");
    recorder.event("preliminary");
    drop(stopped);
    wait_for(status, &path, 200);
    let written = recorder.event("written");
    assert_eq!(written["id"], triggered["id"]);

    let end = Instant::now() + PATIENCE;
    while lines(&got).len() < 4 {
        assert!(Instant::now() < end, "{:?}", lines(&got));
        std::thread::sleep(Duration::from_millis(100));
    }
    let metrics = ask(status, "/metrics").1;
    assert!(
        metrics.contains(&format!(
            "freezeframe_incidents_total{{server=\"{name}\",cause=\"server-stopped\"}} 1\n"
        )),
        "{metrics}"
    );
    assert!(
        metrics.contains("freezeframe_hook_delivered_total{hook=\"lines\"} 4\n")
            && metrics.contains("freezeframe_hook_queued{hook=\"away\"} 3\n"),
        "{metrics}"
    );
    recorder.stop();
    let told = lines(&got);
    assert_eq!(names(&told), ["start", "preliminary", "end", "verdict"]);
    for event in &told {
        assert_eq!(event["id"], triggered["id"], "{event}");
    }
    let last = told.last().unwrap();
    let first = withheld.others(&last["verdict"]["findings"])[0];
    assert_eq!(first["cause"], "server-stopped");
    for said in ["felt", "do_now"] {
        let said = last[said].as_str().unwrap_or_default();
        assert!(!said.is_empty(), "{last}");
    }
    let environment = std::fs::read_to_string(format!("{}.env", got.display())).unwrap();
    let file = written["path"].as_str().unwrap();
    assert!(
        environment.ends_with(&format!("verdict {file}\n")),
        "{environment}"
    );

    // The receiver is back, and so is the recorder: what was not delivered is, in its order.
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let receiver = std::thread::spawn(move || receive(&listener, 3));
    let recorder = Recorder::start(&server, dir.path(), &arguments);
    let status = address(&recorder);
    let received = receiver.join().unwrap();
    assert_eq!(names(&received), ["start", "end", "verdict"]);
    let mut deliveries: Vec<&str> = received
        .iter()
        .map(|event| event["delivery"].as_str().unwrap())
        .collect();
    deliveries.dedup();
    assert_eq!(deliveries.len(), 3, "{deliveries:?}");
    let end = Instant::now() + PATIENCE;
    while !ask(status, "/metrics")
        .1
        .contains("freezeframe_hook_delivered_total{hook=\"away\"} 3\n")
    {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(100));
    }
    recorder.stop();
    assert_eq!(lines(&got).len(), 4, "the program was told again");
}

#[test]
fn a_wrong_hook_and_a_taken_port_are_told_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("f.toml");
    std::fs::write(&config, "[[hooks]]\non = [\"start\"]\n").unwrap();
    let output = crate::harness::run(&["record", "--config", config.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("f.toml:1: hooks: each hook needs one of"),
        "{said}"
    );
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = crate::harness::run(&["record", "--listen", &address, "--for", "1s"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("listen {address}")), "{said}");
}
