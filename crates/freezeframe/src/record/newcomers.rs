//! All servers of this host, those that begin later too: on a node whose pods come and go the recorder is there first.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;
use cli::output;
use kernel::roots::ProcRoot;
use recorder::{Claims, Newcomers, Target, newcomer};
use server::Login;

use super::fleet::{Fleet, NAP};

/// How often it is looked whether a server has begun: some ten microseconds for each process of the host.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// A server in a container whose process is gone for so long has gone for good, with its container: another one would
/// have been taken for the next of it. A server of the host itself is missed as long as it is away.
const GONE_AFTER: Duration = Duration::from_secs(600);

/// What is looked for, and what was seen.
struct Watch {
    newcomers: Newcomers,
    claims: Claims,
    login: Login,
    /// Since when the processes of targets are gone, by their labels.
    gone: HashMap<String, Instant>,
}

impl Fleet {
    /// Records these, and on a thread of its own looks for others that begin.
    pub(super) fn record_all(
        mut self,
        targets: Vec<Target>,
        login: Login,
    ) -> Result<JoinHandle<()>> {
        let claims = Claims::default();
        for target in targets {
            self.record_found(target, &claims)?;
        }
        if self.len() == 0 {
            output::note("no mysqld or mariadbd runs here yet; waiting for one to start");
        }
        let mut watch = Watch {
            newcomers: Newcomers::new(claims.clone()),
            claims,
            login,
            gone: HashMap::new(),
        };
        let look_after = move || {
            let mut next = Instant::now();
            while !self.stop.load(Ordering::Relaxed) {
                if self.len() == 0
                    && let Some(service) = &self.around.service
                {
                    service.waits();
                }
                if Instant::now() >= next {
                    watch.look(&mut self);
                    next = Instant::now() + LOOK_EVERY;
                }
                std::thread::sleep(NAP);
            }
            self.finish();
        };
        Ok(kernel::own_threads::start("ff-newcomers", look_after)?)
    }

    fn record_found(&mut self, mut target: Target, claims: &Claims) -> Result<()> {
        target.claims = claims.clone();
        self.record_until(target, Arc::new(AtomicBool::new(false)))
    }
}

impl Watch {
    fn look(&mut self, fleet: &mut Fleet) {
        self.end_gone(fleet);
        let recorded = fleet.running.iter().filter_map(|one| one.found.as_ref());
        for process in self.newcomers.look(recorded) {
            let labels = fleet.running.iter().map(|one| one.label.as_str());
            let target = newcomer(process, &self.login, labels);
            let label = target.label.clone();
            if let Err(error) = fleet.record_found(target, &self.claims) {
                fleet.around.not_started(&label, &error);
            }
        }
    }

    /// Ends the recording of servers whose containers are gone.
    fn end_gone(&mut self, fleet: &mut Fleet) {
        let proc = ProcRoot::default();
        for running in &fleet.running {
            let Some(target) = &running.found else {
                continue;
            };
            if self.claims.is_alive(&running.label, &proc) || !is_of_container(target) {
                self.gone.remove(&running.label);
                continue;
            }
            let since = self.gone.entry(running.label.clone());
            let since = *since.or_insert_with(Instant::now);
            if since.elapsed() >= GONE_AFTER && !running.stop.swap(true, Ordering::Relaxed) {
                fleet.around.is_unwanted(running.number);
            }
        }
        let around = &fleet.around;
        let (claims, gone) = (&self.claims, &mut self.gone);
        fleet.running.retain(|running| {
            let is_over = running.stop.load(Ordering::Relaxed) && running.thread.is_finished();
            if is_over {
                around.forget(&running.label);
                claims.give_up(&running.label);
                gone.remove(&running.label);
            }
            !is_over
        });
    }
}

/// It was found in a container: its files are reached through its process.
fn is_of_container(target: &Target) -> bool {
    let process = target.process.as_ref();
    process.is_some_and(|process| {
        let mut sockets = process.unix_sockets.iter();
        process.same_net_namespace == Some(false)
            || sockets.any(|socket| socket.host_path.starts_with(Path::new("/proc")))
    })
}
