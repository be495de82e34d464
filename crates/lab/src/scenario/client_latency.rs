//! What a server's clients feel of a break, beside a watcher or none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use testbed::{PrivateServer, Scenario, ServerKind};

use super::stage::Stage;
use super::steps::{take, undo_all};
use super::traffic::load;
use crate::background::Background;

/// Ordinary load before the break: the watcher must know what is usual.
const HEALTHY: Duration = Duration::from_secs(15);

/// The usual load and what a step began end by themselves after this, should we not end them.
const BOUND: Duration = Duration::from_secs(300);

/// Time from an answer to the next question.
const PROBE_EVERY: Duration = Duration::from_millis(20);

/// A question may wait for a whole break.
const DEADLINES: server::Deadlines = server::Deadlines {
    connect: Duration::from_secs(20),
    answer: Duration::from_secs(300),
};

/// What clients felt in a stretch of time.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct ClientLatency {
    /// Statements of all clients that were answered, a second.
    pub(crate) per_second: f64,
    /// The longest time that a `SELECT 1` on a connection of its own took, milliseconds.
    pub(crate) probe_worst_ms: f64,
}

/// Before the break, and in it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) healthy: ClientLatency,
    pub(crate) broken: ClientLatency,
}

/// A program that watches while a scenario runs.
pub(crate) trait Watcher {
    /// Begins to watch the server.
    fn start(&mut self, server: &PrivateServer) -> Result<()>;
    /// The break begins now.
    fn broken(&mut self) {}
    /// The break is over.
    fn end(&mut self) -> Result<()>;
}

/// Nobody watches.
pub(super) struct Nobody;

impl Watcher for Nobody {
    fn start(&mut self, _: &PrivateServer) -> Result<()> {
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Makes the break on a server of its own and measures what its clients feel.
pub(crate) fn measure(
    scenario: &Scenario,
    kind: ServerKind,
    watcher: &mut dyn Watcher,
) -> Result<Measured> {
    let mut stage = Stage::set(std::slice::from_ref(scenario), kind)?;
    let set_up = stage.set_up(scenario)?;
    stage.prepare(std::slice::from_ref(scenario))?;
    let (server, scene) = (&stage.server, stage.scene());
    watcher.start(server)?;

    let probe = Probe::start(server)?;
    let usual = Background::start(load(server, &scenario.healthy, BOUND)?)?;
    std::thread::sleep(HEALTHY);
    let usual = usual.end()?;
    let healthy = ClientLatency {
        per_second: usual.per_second,
        probe_worst_ms: probe.end()?,
    };

    let probe = Probe::start(server)?;
    let usual = Background::start(load(server, &scenario.healthy, BOUND)?)?;
    watcher.broken();
    let begin = Instant::now();
    let length = Duration::from_secs(scenario.seconds);
    let mut taken = Vec::new();
    for step in &scenario.steps {
        taken.push(take(step, scene, BOUND)?);
    }
    std::thread::sleep(length.saturating_sub(begin.elapsed()));
    usual.tell_to_end();
    let mut statements: u64 = undo_all(taken)?
        .iter()
        .map(|result| result.statements)
        .sum();
    statements += usual.end()?.statements;
    let broken = ClientLatency {
        per_second: statements as f64 / begin.elapsed().as_secs_f64(),
        probe_worst_ms: probe.end()?,
    };
    watcher.end()?;
    stage.tear_down(set_up)?;
    stage.end()?;
    Ok(Measured { healthy, broken })
}

/// An impatient client.
struct Probe {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Duration>,
}

impl Probe {
    fn start(server: &PrivateServer) -> Result<Self> {
        let login = server::Login {
            user: "root".to_owned(),
            password: None,
            from: "the lab".to_owned(),
            tls: server::Tls::default(),
        };
        let address = server::Address::Socket(server.socket());
        let connect = move || server::Session::connect(&address, &login, DEADLINES);
        let mut session = Some(connect()?);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::Builder::new()
            .name("lab-probe".to_owned())
            .spawn(move || {
                let mut worst = Duration::ZERO;
                let mut asked = Instant::now();
                while !stopped.load(Ordering::Relaxed) {
                    // A server that is killed and comes back did not answer meanwhile.
                    let answer = session.as_mut().map(server::Session::ping);
                    match answer {
                        Some(Ok(_)) => {
                            worst = worst.max(asked.elapsed());
                            std::thread::sleep(PROBE_EVERY);
                            asked = Instant::now();
                        }
                        Some(Err(_)) | None => {
                            std::thread::sleep(PROBE_EVERY);
                            session = connect().ok();
                        }
                    }
                }
                match session {
                    Some(_) => worst,
                    None => worst.max(asked.elapsed()),
                }
            })?;
        Ok(Self { stop, thread })
    }

    /// The longest answer, milliseconds.
    fn end(self) -> Result<f64> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.join() {
            Ok(worst) => Ok(worst.as_secs_f64() * 1000.0),
            Err(_) => bail!("the probe failed"),
        }
    }
}
