//! What is told to others when an incident begins, ends and is explained: programs that are run
//! and addresses that are posted to. Nothing here can hold up a recorder: events go to a queue on
//! disk, and a thread for each hook takes them from there.
//!
//! **Hooks are fed from the thread that prints**, which already does what may block (pages, standard output);
//! recorders only ever send to a channel. Each hook has a queue of files and a thread, so a receiver that hangs holds
//! up nobody else. https goes through curl.

mod address;
mod config;
mod curl;
mod event_kind;
mod failure;
mod format;
mod leftovers;
mod otlp;
mod post;
mod program;
mod queue;
mod words;
mod worker;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cli::output;
use serde_json::Value;

use config::Hook;
pub(crate) use config::HookConfig;
use event_kind::EventKind;
use leftovers::Leftovers;
use queue::Queue;
use worker::Worker;

/// Events that may wait for a hook's thread to write them down.
const WAITING_MAX: usize = 256;

/// How long the end of the recording waits for what is still to be delivered; the rest stays in
/// the queue for the next start. Nothing is recorded meanwhile.
const LAST_DELIVERY: Duration = Duration::from_secs(1);

/// Something that hooks are told.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    /// What happened.
    on: EventKind,
    /// What a hook is given.
    body: Value,
    /// The variables of a program that is run.
    environment: BTreeMap<&'static str, String>,
}

impl Event {
    /// A stall was noticed.
    pub(crate) fn start(body: Value) -> Self {
        Self::new(EventKind::Start, body)
    }

    /// A first verdict while the stall lasts.
    pub(crate) fn preliminary(body: Value) -> Self {
        Self::new(EventKind::Preliminary, body)
    }

    /// The stall is over.
    pub(crate) fn end(body: Value) -> Self {
        Self::new(EventKind::End, body)
    }

    /// The incident's file is written and explained.
    pub(crate) fn verdict(body: Value) -> Self {
        Self::new(EventKind::Verdict, body)
    }

    fn new(on: EventKind, mut body: Value) -> Self {
        body["event"] = Value::from(on.name());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let verdict = &body["verdict"];
        let environment = BTreeMap::from([
            ("FREEZEFRAME_EVENT", on.name().to_owned()),
            ("FREEZEFRAME_INCIDENT", text(&body["id"])),
            ("FREEZEFRAME_SERVER", text(&body["server"])),
            ("FREEZEFRAME_FILE", text(&body["path"])),
            ("FREEZEFRAME_HTML", text(&body["html"])),
            ("FREEZEFRAME_CAUSE", text(&verdict["findings"][0]["cause"])),
            ("FREEZEFRAME_SENTENCE", text(&verdict["sentence"])),
        ]);
        Self {
            on,
            body,
            environment,
        }
    }
}

/// Whether a hook is well formed.
pub(crate) fn check(config: &HookConfig) -> Result<()> {
    Hook::new(config).map(|_| ())
}

/// What keeps hooks from telling anybody, a line each.
pub(crate) fn problems(configs: &[HookConfig]) -> Vec<String> {
    let each = configs.iter().map(|config| match Hook::new(config) {
        Ok(hook) => hook.problem(),
        Err(error) => Some(format!("{error:#}")),
    });
    each.flatten().collect()
}

/// What hooks are told and nobody else may know: the content of their files of secrets.
pub(crate) fn secrets(configs: &[HookConfig]) -> Vec<String> {
    configs.iter().flat_map(HookConfig::secrets).collect()
}

/// How a hook does.
#[derive(Debug, Default)]
pub(crate) struct HookState {
    pub(crate) name: String,
    queued: AtomicU64,
    delivered: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
}

impl HookState {
    /// Events in the queue, delivered, given up, and dropped for want of room.
    pub(crate) fn counts(&self) -> [u64; 4] {
        [&self.queued, &self.delivered, &self.failed, &self.dropped]
            .map(|count| count.load(Ordering::Relaxed))
    }
}

struct Running {
    on: Vec<EventKind>,
    state: Arc<HookState>,
    events: SyncSender<Event>,
    thread: JoinHandle<()>,
}

/// All hooks of a configuration.
#[derive(Default)]
pub(crate) struct Hooks {
    running: Vec<Running>,
    stop: Arc<AtomicBool>,
}

impl Hooks {
    /// Starts a thread for each hook; what an earlier recorder left in the queue goes out first.
    pub(crate) fn start(configs: &[HookConfig], dir: &Path) -> Result<Self> {
        let mut hooks = Self::default();
        let dir = std::path::absolute(dir.join("hooks"))?;
        let mut keys = Vec::new();
        for config in configs {
            let hook = Hook::new(config)?;
            keys.push(hook.key());
            let queue = Queue::open(&dir.join(hook.key()));
            let state = Arc::new(HookState {
                name: hook.name.clone(),
                ..HookState::default()
            });
            let given_up = queue.given_up();
            if given_up > 0 {
                state.failed.fetch_add(given_up, Ordering::Relaxed);
                output::note(&format!(
                    "hook {}: gave up events of an earlier start: {given_up} (unreadable, or more than 500)",
                    hook.name
                ));
            }
            let (sender, events) = sync_channel(WAITING_MAX);
            let on = hook.on.clone();
            let worker = Worker::new(hook, queue, events, state.clone(), hooks.stop.clone());
            let thread = kernel::own_threads::start("ff-hook", move || worker.run())
                .context("a hook's thread cannot be started")?;
            hooks.running.push(Running {
                on,
                state,
                events: sender,
                thread,
            });
        }
        Leftovers::new(dir, keys)
            .give_end(hooks.stop.clone())
            .context("a thread for hooks cannot be started")?;
        Ok(hooks)
    }

    /// Tells those hooks that want it. Never waits.
    pub(crate) fn send(&self, event: &Event) {
        for hook in self
            .running
            .iter()
            .filter(|hook| hook.on.contains(&event.on))
        {
            if hook.events.try_send(event.clone()).is_err() {
                hook.state.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// How each of them does.
    pub(crate) fn states(&self) -> Vec<Arc<HookState>> {
        self.running.iter().map(|hook| hook.state.clone()).collect()
    }

    /// Gives them a little time for what was told last.
    pub(crate) fn finish(self) {
        let end = Instant::now() + LAST_DELIVERY;
        let mut threads = Vec::new();
        for hook in self.running {
            // Without a sender the thread ends when everything was tried once.
            drop(hook.events);
            threads.push(hook.thread);
        }
        while threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.stop.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;
    use std::sync::mpsc::{Receiver, channel};

    use serde_json::json;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// What a receiver does with a request: nothing until the client goes, or an answer.
    #[derive(Clone, Copy)]
    enum Does {
        Hangs,
        Closes,
        Answers(u16),
    }

    /// One that does these in turn, the last for ever; it hands over each body it was sent, with what it answered.
    fn receiver(listener: TcpListener, does: Vec<Does>) -> Receiver<(u16, Value)> {
        let (sender, got) = channel();
        std::thread::spawn(move || {
            let mut turn = 0;
            let mut hanging = Vec::new();
            while let Ok((stream, _)) = listener.accept() {
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
                let body: Value = serde_json::from_slice(&body).unwrap();
                let now = does[turn.min(does.len() - 1)];
                turn += 1;
                let code = match now {
                    Does::Answers(code) => code,
                    Does::Hangs | Does::Closes => 0,
                };
                let mut stream = stream;
                if sender.send((code, body)).is_err() {
                    return;
                }
                match now {
                    Does::Hangs => hanging.push(stream),
                    Does::Closes => drop(stream),
                    Does::Answers(code) => {
                        let _ = write!(stream, "HTTP/1.1 {code} X\r\n\r\n");
                    }
                }
            }
        });
        got
    }

    fn config(text: &str) -> HookConfig {
        toml::from_str(text).unwrap()
    }

    fn start(id: &str) -> Event {
        Event::start(
            json!({"id": id, "host": "db1", "server": "3306", "says": "it hangs",
            "onset": "2026-09-21T13:33:20Z", "rule": "work-stops"}),
        )
    }

    fn end(id: &str) -> Event {
        Event::end(json!({"id": id, "host": "db1", "server": "3306",
            "onset": "2026-09-21T13:33:20Z", "end": "2026-09-21T13:34:00Z"}))
    }

    #[test]
    fn what_fails_hangs_or_is_busy_is_tried_again_and_each_alert_is_opened_then_resolved() {
        let dir = tempfile::tempdir().unwrap();
        let key = dir.path().join("key");
        std::fs::write(&key, "R0UTE\n").unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let hook = config(&format!(
            "name = 'pager'\nformat = 'pagerduty'\nsecret_file = '{}'\nurl = 'http://127.0.0.1:{port}/v2/enqueue'\n\
             deadline_seconds = 1",
            key.display()
        ));
        let does = [
            Does::Answers(500),
            Does::Hangs,
            Does::Answers(429),
            Does::Closes,
            Does::Answers(202),
        ];
        let got = receiver(listener, does.into());
        let hooks = Hooks::start(std::slice::from_ref(&hook), dir.path()).unwrap();
        let state = hooks.states().remove(0);
        for event in [start("3306-a"), end("3306-a")] {
            hooks.send(&event);
        }
        let mut attempts = Vec::new();
        while attempts.iter().filter(|(code, _)| *code == 202).count() < 2 {
            attempts.push(got.recv_timeout(PATIENCE).unwrap());
        }
        let codes: Vec<u16> = attempts.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes, [500, 0, 429, 0, 202, 202]);
        // The same alert each time, byte for byte, and only then its end.
        assert!(attempts[..5].iter().all(|(_, body)| *body == attempts[0].1));
        let told = |at: usize| {
            let body: &Value = &attempts[at].1;
            (
                body["event_action"].as_str().unwrap(),
                body["dedup_key"].as_str().unwrap(),
            )
        };
        assert_eq!(told(4), ("trigger", "freezeframe/db1/3306-a"));
        assert_eq!(told(5), ("resolve", "freezeframe/db1/3306-a"));
        let until = Instant::now() + PATIENCE;
        while state.counts() != [0, 2, 0, 0] {
            assert!(Instant::now() < until, "{:?}", state.counts());
            std::thread::sleep(Duration::from_millis(10));
        }
        hooks.finish();
    }

    #[test]
    fn what_waits_survives_a_restart_and_what_is_refused_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        let port = {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            free.local_addr().unwrap().port()
        };
        let hook = |path: &str| {
            config(&format!(
                "format = 'alertmanager'\nurl = 'http://127.0.0.1:{port}{path}'"
            ))
        };
        // Nobody listens: it stays on the disk.
        let hooks = Hooks::start(&[hook("/api/v2/alerts")], dir.path()).unwrap();
        hooks.send(&start("3306-b"));
        hooks.send(&end("3306-b"));
        let begin = Instant::now();
        hooks.finish();
        assert!(begin.elapsed() < Duration::from_secs(20));
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let does = vec![Does::Answers(200), Does::Answers(200), Does::Answers(400)];
        let got = receiver(listener, does);
        let hooks = Hooks::start(&[hook("/api/v2/alerts")], dir.path()).unwrap();
        let (_, opened) = got.recv_timeout(PATIENCE).unwrap();
        let (_, closed) = got.recv_timeout(PATIENCE).unwrap();
        assert_eq!(opened[0]["labels"], closed[0]["labels"]);
        assert_eq!(opened[0]["labels"]["incident"], "3306-b");
        assert_eq!(closed[0]["endsAt"], "2026-09-21T13:34:00Z");
        // A request that the receiver calls wrong stays wrong.
        hooks.send(&start("3306-c"));
        assert_eq!(got.recv_timeout(PATIENCE).unwrap().0, 400);
        let state = hooks.states().remove(0);
        let until = Instant::now() + PATIENCE;
        while state.counts() != [0, 2, 1, 0] {
            assert!(Instant::now() < until, "{:?}", state.counts());
            std::thread::sleep(Duration::from_millis(10));
        }
        hooks.finish();
        let left = std::fs::read_dir(dir.path().join("hooks")).unwrap().next();
        let left = std::fs::read_dir(left.unwrap().unwrap().path()).unwrap();
        assert_eq!(left.count(), 0);
    }
}
