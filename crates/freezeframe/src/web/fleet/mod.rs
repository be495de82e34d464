//! The fleet's pages: its store is asked anew for each of them, and only read.
//!
//! **A store may hang**: a disk, a network, a server with too much to do. So each page asks it on a thread of its own, and
//! its reader waits for so long and no longer. These pages have workers of their own, which other pages never wait for.

mod asked;
mod overview;
mod stall;

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use anyhow::Result;
use fleet::any_store::{Access, AnyError, AnyStore};
use fleet::url::StoreUrl;
use report::served::{self, Page, Views};

use self::asked::Asked;
use super::HTML;
use super::index::Index;
use super::query::Query;
use super::workers::Workers;
use crate::args;
use crate::config::Config;
use crate::fleet::store_url;
use crate::listen::{Answer, Reply};

/// How long a reader waits for the store.
const PATIENCE: Duration = Duration::from_secs(10);

/// The store itself gives up a little later, so that whoever waits hears of it in the same words each time.
const GRACE: Duration = Duration::from_secs(1);

/// Threads that may ask the store: more than there are readers at a time, as some may hang.
const ASKING_MAX: usize = 4;

/// What every page of a view with a fleet has.
const VIEWS: Views = Views { has_fleet: true };

/// The fleet's pages.
pub(super) struct FleetPages {
    store: Arc<Store>,
    workers: Workers,
}

/// The store, and who asks it.
struct Store {
    url: StoreUrl,
    access: Access,
    /// How people call it, without user and password.
    name: String,
    asking: Arc<AtomicUsize>,
}

/// Why there is no page.
enum Trouble {
    /// The store's complaint, a line.
    Store(String),
    /// It has no such incident.
    NotFound,
}

/// A thread that asks, for as long as it does.
struct Asking(Arc<AtomicUsize>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl FleetPages {
    /// Those of the store that was named, or is configured; none where neither is.
    pub(super) fn new(
        args: &args::Web,
        config: &Config,
        wake: &UnixStream,
    ) -> Result<Option<Self>> {
        let place = match &args.fleet {
            Some(url) => {
                let url = store_url::parse(url)?;
                let access = store_url::access(&url, args.fleet_ca_file.as_deref())?;
                Some((url, access))
            }
            None => config.fleet.stored()?,
        };
        let Some((url, access)) = place else {
            return Ok(None);
        };
        Ok(Some(Self {
            store: Arc::new(Store {
                name: store_url::shown(&url),
                url,
                access,
                asking: Arc::default(),
            }),
            workers: Workers::start(wake, "ff-fleet")?,
        }))
    }

    /// The page of a path below `/fleet`; none where there is no such page.
    pub(super) fn page(
        &self,
        path: &str,
        query: &Query,
        index: &Arc<Index>,
        head_only: bool,
    ) -> Option<Reply> {
        let up = if path == "/fleet" { "" } else { "../" };
        let asked = match Asked::from_query(path, query)? {
            Ok(asked) => asked,
            Err(wrong) => {
                let answer = answer(400, served::problem_page("Bad request", &wrong, up, VIEWS));
                return Some(Reply::Now(answer.bytes(head_only).into()));
            }
        };
        let (store, index) = (self.store.clone(), index.clone());
        Some(
            self.workers
                .make(head_only, move || match made(&store, asked, &index) {
                    Ok(page) => answer(200, page),
                    Err(Trouble::NotFound) => {
                        let says = "The fleet's store has no such incident. It may be too old.";
                        answer(404, served::problem_page("Not found", says, up, VIEWS))
                    }
                    Err(Trouble::Store(why)) => {
                        let title = "The fleet's store does not answer";
                        answer(503, served::problem_page(title, &why, up, VIEWS))
                    }
                }),
        )
    }
}

fn answer(code: u16, page: Page) -> Answer {
    Answer {
        policy: page.policy,
        ..Answer::new(code, HTML, page.html)
    }
}

fn made(store: &Store, asked: Asked, index: &Index) -> Result<Page, Trouble> {
    let name = store.name.clone();
    match asked {
        Asked::Overview(asked) => {
            let view = store.ask(move |store| overview::view(store, &asked))?;
            Ok(served::fleet_page(&served::FleetView {
                store: name,
                ..view
            }))
        }
        Asked::Stalls(asked) => {
            let view = store.ask(move |store| stall::stalls(store, &asked))?;
            Ok(served::fleet_stalls_page(&served::StallsView {
                store: name,
                stalls: stall::found_here(view.stalls, index),
                ..view
            }))
        }
        Asked::Incident(id) => {
            let view = store.ask(move |store| stall::incident(store, &id))?;
            let view = stall::beside(view.ok_or(Trouble::NotFound)?, index);
            Ok(served::fleet_incident_page(&served::FleetIncident {
                store: name,
                ..view
            }))
        }
    }
}

impl Store {
    /// Asks the store, and waits for [`PATIENCE`].
    fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&AnyStore) -> Result<T, AnyError> + Send + 'static,
    ) -> Result<T, Trouble> {
        let asking = Asking(self.asking.clone());
        if self.asking.fetch_add(1, Ordering::SeqCst) >= ASKING_MAX {
            let why = "earlier questions have no answer yet; try again in a minute";
            return Err(Trouble::Store(format!("{}: {why}", self.name)));
        }
        let (url, access) = (self.url.clone(), self.access.clone());
        let (sender, receiver) = sync_channel(1);
        let thread = std::thread::Builder::new().name("ff-fleet-ask".to_owned());
        let started = thread.spawn(move || {
            let _asking = asking;
            let end = Instant::now() + PATIENCE + GRACE;
            let answer = AnyStore::open_to_read_until(&url, access, end);
            let answer = answer.and_then(|store| ask(&store));
            // Nobody may wait any more.
            let _ = sender.send(answer.map_err(|error| error.to_string()));
        });
        let told = |why: String| Trouble::Store(format!("{}: {why}", self.name));
        started.map_err(|error| told(error.to_string()))?;
        match receiver.recv_timeout(PATIENCE) {
            Ok(answer) => answer.map_err(Trouble::Store),
            Err(RecvTimeoutError::Timeout) => Err(told(format!(
                "no answer in {} s; try again, or ask for a shorter time",
                PATIENCE.as_secs()
            ))),
            Err(RecvTimeoutError::Disconnected) => {
                Err(told("internal error; please report it".to_owned()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store at this address.
    fn store(url: &str) -> Store {
        Store {
            url: url.parse().unwrap(),
            access: Access::default(),
            name: "fleet".to_owned(),
            asking: Arc::default(),
        }
    }

    fn why<T>(trouble: Result<T, Trouble>) -> String {
        match trouble {
            Err(Trouble::Store(why)) => why,
            _ => String::new(),
        }
    }

    #[test]
    fn who_asks_is_counted_until_the_answer_and_too_many_are_told() {
        let store = store("sqlite:/nonexistent/fleet.db");
        let told = why(store.ask(|_| Ok(())));
        assert!(told.contains("/nonexistent/fleet.db"), "{told}");
        let end = Instant::now() + PATIENCE;
        while store.asking.load(Ordering::SeqCst) > 0 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(store.asking.load(Ordering::SeqCst), 0);
        store.asking.store(ASKING_MAX, Ordering::SeqCst);
        assert!(why(store.ask(|_| Ok(()))).contains("try again"));
        assert_eq!(store.asking.load(Ordering::SeqCst), ASKING_MAX);
    }
}
