//! The thread of one hook: delivers its queue, and tries again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use cli::output;
use serde_json::Value;

use super::config::{Action, Hook};
use super::failure::Failure;
use super::queue::{EVENT_BYTES_MAX, Queue, Queued};
use super::{Event, HookState, curl, format, post, program};

/// The first pause after a failure, and the longest; each is twice the one before.
const PAUSE_MIN: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 1000 });
const PAUSE_MAX: Duration = Duration::from_secs(300);

/// How long an event is tried.
pub(super) const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// How often a thread that waits looks whether the recording ends.
const NAP: Duration = Duration::from_millis(100);

/// The thread of one hook.
pub(super) struct Worker {
    hook: Hook,
    queue: Queue,
    events: Receiver<Event>,
    state: Arc<HookState>,
    stop: Arc<AtomicBool>,
    next_try: Instant,
    pause: Duration,
    told: bool,
}

impl Worker {
    pub(super) fn new(
        hook: Hook,
        queue: Queue,
        events: Receiver<Event>,
        state: Arc<HookState>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self {
            hook,
            queue,
            events,
            state,
            stop,
            next_try: Instant::now(),
            pause: PAUSE_MIN,
            told: false,
        }
    }

    pub(super) fn run(mut self) {
        let mut recording = true;
        while !self.stop.load(Ordering::Relaxed) {
            self.state
                .queued
                .store(self.queue.len() as u64, Ordering::Relaxed);
            let due = self.queue.len() > 0 && Instant::now() >= self.next_try;
            if due {
                self.deliver_first();
            } else if !recording && (self.queue.len() == 0 || self.told) {
                // What failed stays for the next start.
                return;
            }
            if recording {
                recording = self.take(if due { Duration::ZERO } else { NAP });
            } else if !due {
                std::thread::sleep(NAP);
            }
        }
    }

    /// Writes down what was told meanwhile; false when nothing will be told any more.
    fn take(&mut self, wait: Duration) -> bool {
        match self.events.recv_timeout(wait) {
            Ok(event) => {
                let dropped = self.queue.push(queued(event));
                self.state.dropped.fetch_add(dropped, Ordering::Relaxed);
                true
            }
            Err(RecvTimeoutError::Timeout) => true,
            Err(RecvTimeoutError::Disconnected) => false,
        }
    }

    fn deliver_first(&mut self) {
        let Some((name, queued)) = self.queue.first() else {
            return;
        };
        let name = name.clone();
        let age_ms = kernel::clock::wall_ms().saturating_sub(queued.told_wall_ms);
        let age = Duration::from_millis(u64::try_from(age_ms).unwrap_or(0));
        let result = deliver(&self.hook, &name, queued, &self.queue.output_file());
        let given_up = match &result {
            Ok(()) => {
                self.state.delivered.fetch_add(1, Ordering::Relaxed);
                self.pause = PAUSE_MIN;
                self.told = false;
                self.queue.remove(&name);
                return;
            }
            Err(Failure::Never(_)) => true,
            Err(Failure::Later(_)) => age > PATIENCE,
        };
        let (Err(Failure::Later(why) | Failure::Never(why)), hook) = (&result, &self.hook.name)
        else {
            return;
        };
        if given_up {
            self.state.failed.fetch_add(1, Ordering::Relaxed);
            self.queue.remove(&name);
            output::note(&format!("hook {hook}: gave up: {why}"));
        } else {
            if !self.told {
                output::note(&format!("hook {hook}: {why}; trying again"));
            }
            self.told = true;
            self.next_try = Instant::now() + self.pause;
            self.pause = (self.pause * 2).min(PAUSE_MAX);
        }
    }
}

fn queued(event: Event) -> Queued {
    let mut body = event.body;
    if body.to_string().len() > EVENT_BYTES_MAX {
        body["verdict"] = Value::Null;
        body["verdict_left_out"] = Value::from("larger than 1 MiB; it is in the incident");
    }
    Queued {
        body,
        environment: event
            .environment
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        told_wall_ms: kernel::clock::wall_ms(),
    }
}

fn deliver(hook: &Hook, name: &str, queued: &Queued, output_file: &Path) -> Result<(), Failure> {
    let mut body = queued.body.clone();
    // The same for every attempt, so that a receiver can tell one that came twice.
    let delivery = name.trim_end_matches(".json");
    body["delivery"] = Value::from(delivery);
    if let Action::Run(program) = &hook.action {
        let input = body.to_string();
        return program::run(
            program,
            &queued.environment,
            input.as_bytes(),
            hook.deadline,
            output_file,
        );
    }
    let now_ms = kernel::clock::wall_ms();
    let secret = hook.secret.as_deref();
    let Some(message) = format::message(hook.format, secret, &body, now_ms) else {
        return Ok(());
    };
    let headers = [hook.headers.as_slice(), &message.headers].concat();
    match &hook.action {
        Action::Post(address) => post::post(address, &headers, &message.body, hook.deadline),
        Action::Curl(target) => curl::post(target, &headers, &message.body, hook.deadline),
        Action::Run(_) => Ok(()),
    }
}
