//! Hooks: an event goes the whole way, through the queue on the disk to a receiver of our own on loopback. The receivers
//! of the configuration are not told anything.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{CheckResult, TestSetup};
use crate::hooks::{self, Event, Hooks};

/// How long the receiver waits for the event.
const PATIENCE: Duration = Duration::from_secs(2);

/// Bytes of a request that are read.
const REQUEST_BYTES_MAX: usize = 64 << 10;

pub(super) fn deliver(scene: &TestSetup) -> Vec<CheckResult> {
    const CHECK: &str = "hooks";
    let begin = Instant::now();
    let mut found = vec![match delivered(scene) {
        Ok(()) => {
            let took = begin.elapsed().as_millis();
            CheckResult::works(
                CHECK,
                format!("sent an event to a receiver on loopback in {took} ms"),
            )
        }
        Err(error) => {
            let to_do = "hooks need loopback and a writable directory";
            CheckResult::failed(CHECK, error, to_do)
        }
    }];
    for problem in hooks::problems(&scene.config.hooks) {
        found.push(CheckResult::failed(
            CHECK,
            problem,
            "correct [[hooks]]: docs/reference/configuration.md",
        ));
    }
    found
}

fn delivered(scene: &TestSetup) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let listener = TcpListener::bind("127.0.0.1:0").map_err(text)?;
    let address = listener.local_addr().map_err(text)?;
    let dir = tempfile::Builder::new()
        .prefix(".self-test-")
        .tempdir_in(&scene.dir)
        .map_err(|error| format!("{}: {error}", scene.dir.display()))?;
    let receiver = std::thread::spawn(move || received(&listener));
    let config = hooks::HookConfig::posting_to(format!("http://{address}/self-test"));
    let hooks = Hooks::start(&[config], dir.path()).map_err(|error| format!("{error:#}"))?;
    hooks.send(&Event::start(
        json!({"id": "self-test", "server": "self-test"}),
    ));
    let end = Instant::now() + PATIENCE;
    while !receiver.is_finished() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    if !receiver.is_finished() {
        return Err(format!("nothing arrived at {address}: is loopback up?"));
    }
    hooks.finish();
    let got = receiver
        .join()
        .map_err(|_| "the receiver ended".to_owned())?;
    let got = got.map_err(text)?;
    match got.contains("\"id\":\"self-test\"") && got.contains("\"event\":\"start\"") {
        true => Ok(()),
        false => Err("something else arrived at the receiver".to_owned()),
    }
}

/// The first request; it is answered with 204.
fn received(listener: &TcpListener) -> std::io::Result<String> {
    let (mut stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut got = Vec::new();
    let mut buffer = [0; 4096];
    while got.len() < REQUEST_BYTES_MAX && !is_whole(&got) {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        got.extend(buffer.iter().take(count));
    }
    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n")?;
    Ok(String::from_utf8_lossy(&got).into_owned())
}

/// The head is there, and as many bytes behind it as it says.
fn is_whole(got: &[u8]) -> bool {
    let text = String::from_utf8_lossy(got);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .and_then(|length| length.trim().parse::<usize>().ok());
    length.is_some_and(|length| body.len() >= length)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::self_test::State;

    #[test]
    fn an_event_goes_the_whole_way_and_a_program_that_is_not_there_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let config: Config = toml::from_str(
            "[[hooks]]\nprogram = ['/nonexistent/page']\n[[hooks]]\nprogram = ['/bin/true']\n",
        )
        .unwrap();
        let scene = TestSetup {
            dir: dir.path().to_owned(),
            config,
        };
        let found = deliver(&scene);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].state, State::Works, "{found:?}");
        assert_eq!(found[1].state, State::Failed);
        assert!(found[1].says.contains("/nonexistent/page"), "{found:?}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let nowhere = TestSetup {
            dir: "/dev/null".into(),
            config: Config::default(),
        };
        assert_eq!(deliver(&nowhere)[0].state, State::Failed);
    }
}
