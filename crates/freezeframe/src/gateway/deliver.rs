//! From the journal to the store: batches of many hosts at once, the same ones until it has them.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ::fleet::any_store::{AnyError, AnyStore};
use ::fleet::batch_bytes;
use ::fleet::gateway::{Group, GroupLimits, Journal};
use anyhow::{Context, Result};

use super::state::{Part, State, add, locked};
use crate::fleet::now_ms;
use crate::fleet::pause::Pause;
use crate::gateway_config::Settings;

/// What goes together: the rows of hundreds of hosts' minute, a few hundred MB of memory at the most. A server takes a
/// hundred pieces of a table at once, which are days here.
const LIMITS: GroupLimits = GroupLimits {
    batches: 2_000,
    cells: 2_000_000,
    bytes: 16 << 20,
    days: 60,
};

/// How long a batch waits for others, seconds.
const LINGER: i64 = 2;

/// How often it is looked for what waits.
const NAP: Duration = Duration::from_millis(200);

/// How often a store that does not do so by itself deletes what is too old.
const EXPIRE_EVERY: Duration = Duration::from_secs(6 * 3600);

/// Brings one journal to one store.
pub(super) struct Delivery {
    settings: Settings,
    journal: Arc<Mutex<Journal>>,
    state: Arc<State>,
    store: Option<AnyStore>,
    pause: Pause,
    expired: Option<Instant>,
}

impl Delivery {
    pub(super) fn new(
        settings: &Settings,
        journal: Arc<Mutex<Journal>>,
        state: Arc<State>,
    ) -> Self {
        Self {
            settings: settings.clone(),
            journal,
            state,
            store: None,
            pause: Pause::default(),
            expired: None,
        }
    }

    pub(super) fn start(mut self) -> Result<()> {
        kernel::own_threads::start("ff-deliver", move || {
            loop {
                if !self.turn() {
                    std::thread::sleep(NAP);
                }
            }
        })
        .context("cannot start the thread that writes to the store")?;
        Ok(())
    }

    /// Brings the next group, if it is time; whether another one may be due at once.
    fn turn(&mut self) -> bool {
        if !self.pause.is_over() || !self.is_due() {
            return false;
        }
        let group = match locked(&self.journal).group(&LIMITS) {
            Ok(Some(group)) => group,
            Ok(None) => return false,
            Err(error) => {
                self.state.trouble(Part::Store, &error.to_string());
                return false;
            }
        };
        let now = now_ms() / 1000;
        let batches = self.batches(&group);
        let count = batches.len();
        let sent = self
            .store(now)
            .and_then(|store| store.insert_all(batches, now));
        kernel::heap::give_back();
        if let Err(error) = sent {
            // Whatever is wrong with it is looked for anew.
            self.store = None;
            self.pause.failed(error.then());
            add(&self.state.failures, 1);
            self.state.trouble(Part::Store, &error.to_string());
            return false;
        }
        if let Err(error) = locked(&self.journal).done(&group) {
            self.state.trouble(Part::Store, &error.to_string());
            return false;
        }
        add(&self.state.stored, count);
        add(&self.state.inserts, 1);
        self.state.look_at(&self.journal);
        self.state.works(Part::Store);
        // There is room again, and the disk took that.
        self.state.works(Part::Journal);
        self.pause = Pause::default();
        self.expire(now);
        true
    }

    /// Enough waits, or the oldest has waited long enough.
    fn is_due(&self) -> bool {
        let waiting = self.state.waiting();
        let now = now_ms() / 1000;
        let is_old = waiting
            .oldest_at
            .is_some_and(|at| now - at >= LINGER || at > now);
        waiting.batches > 0
            && (is_old
                || waiting.batches >= LIMITS.batches as u64
                || waiting.bytes >= LIMITS.bytes as u64)
    }

    /// What the disk has damaged since costs itself only.
    fn batches(&self, group: &Group) -> Vec<fleet::Batch> {
        let mut batches = Vec::with_capacity(group.batches.len());
        for bytes in &group.batches {
            match batch_bytes::from_bytes(bytes) {
                Ok(batch) => batches.push(batch),
                Err(error) => {
                    add(&self.state.damaged, 1);
                    cli::output::note(&format!("gateway: lost: a batch of the journal: {error}"));
                }
            }
        }
        batches
    }

    fn store(&mut self, now: i64) -> Result<&mut AnyStore, AnyError> {
        let opened = match self.store.take() {
            Some(store) => store,
            None => {
                let (url, access) = (&self.settings.store, self.settings.access.clone());
                AnyStore::open_or_init(url, access, now, env!("CARGO_PKG_VERSION"))?
            }
        };
        Ok(self.store.insert(opened))
    }

    fn expire(&mut self, now: i64) {
        if self.expired.is_some_and(|at| at.elapsed() < EXPIRE_EVERY) {
            return;
        }
        self.expired = Some(Instant::now());
        if let Some(Err(error)) = self.store.as_mut().map(|store| store.expire(now)) {
            self.state.trouble(Part::Store, &error.to_string());
        }
    }
}
