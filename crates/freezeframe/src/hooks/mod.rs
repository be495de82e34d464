//! What is told to others when an incident begins, ends and is explained: programs that are run
//! and addresses that are posted to. Nothing here can hold up a recorder: events go to a queue on
//! disk, and a thread for each hook takes them from there.
//!
//! **Hooks are fed from the thread that prints**, which already does what may block (pages, standard output);
//! recorders only ever send to a channel. Each hook has a queue of files and a thread, so a receiver that hangs holds
//! up nobody else. https goes through curl.

mod config;
mod curl;
mod failure;
mod post;
mod program;
mod queue;
mod worker;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

pub(crate) use config::HookConfig;
use config::{Hook, On};
use queue::Queue;
use worker::Worker;

/// Events that may wait for a hook's thread to write them down.
const WAITING_MAX: usize = 256;

/// How long the end of the recording waits for what is still to be delivered; the rest stays in
/// the queue for the next start.
const LAST_DELIVERY: Duration = Duration::from_secs(3);

/// Something that hooks are told.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    /// What happened.
    on: On,
    /// What a hook is given.
    body: Value,
    /// The variables of a program that is run.
    environment: BTreeMap<&'static str, String>,
}

impl Event {
    /// A stall was noticed.
    pub(crate) fn start(body: Value) -> Self {
        Self::new(On::Start, body)
    }

    /// A first verdict while the stall lasts.
    pub(crate) fn preliminary(body: Value) -> Self {
        Self::new(On::Preliminary, body)
    }

    /// The stall is over.
    pub(crate) fn end(body: Value) -> Self {
        Self::new(On::End, body)
    }

    /// The incident's file is written and explained.
    pub(crate) fn verdict(body: Value) -> Self {
        Self::new(On::Verdict, body)
    }

    fn new(on: On, mut body: Value) -> Self {
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
    on: Vec<On>,
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
        for config in configs {
            let hook = Hook::new(config)?;
            let dir = std::path::absolute(dir.join("hooks").join(hook.key()))?;
            let state = Arc::new(HookState {
                name: hook.name.clone(),
                ..HookState::default()
            });
            let (sender, events) = sync_channel(WAITING_MAX);
            let on = hook.on.clone();
            let worker = Worker::new(
                hook,
                Queue::open(&dir),
                events,
                state.clone(),
                hooks.stop.clone(),
            );
            let thread = std::thread::Builder::new()
                .name("ff-hook".to_owned())
                .spawn(move || worker.run())
                .context("a hook's thread cannot be started")?;
            hooks.running.push(Running {
                on,
                state,
                events: sender,
                thread,
            });
        }
        Ok(hooks)
    }

    /// Tells those hooks that want it. Never waits.
    pub(crate) fn tell(&self, event: &Event) {
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
