//! A lock table of what the server tells of waits at a moment.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use model::{
    ChainLink, Holder, HolderBy, LockRow, LockTable, NamedBy, OrderBy, StackEnd, StackTable,
    WaitChain, WaitCounting,
};

use super::waits::{Known, UNKNOWN, Wait};

/// Locks and holders of one lock that are kept, most waits first.
const LOCKS_MAX: usize = 100;
const HOLDERS_MAX: usize = 10;
/// Chains, and links of one.
const CHAINS_MAX: usize = 10;
const LINKS_MAX: usize = 16;

/// The table; `None` where nobody waits.
pub(super) fn table(
    waits: &mut [Wait],
    known: &Known,
    by: &str,
    book: &mut StackTable,
) -> Option<LockTable> {
    if waits.is_empty() {
        return None;
    }
    waits.order_by(|a, b| (&a.lock, a.waiter).cmp(&(&b.lock, b.waiter)));
    let scene = Scene::new(waits);
    // Nothing is known of the threads' stacks: one that is cut before its first frame.
    let none = book.intern(Vec::new(), StackEnd::FrameLimit);
    let holder = |tid: u64| Holder {
        tid: u32::try_from(tid).unwrap_or(u32::MAX),
        name: match known.names.get(&tid) {
            Some(name) => name.clone(),
            None => format!("connection {tid}"),
        },
        by: HolderBy::Server,
        snapshots: 1,
        stack: none,
        doing: known.doing.get(&tid).cloned().unwrap_or_default(),
    };
    let mut locks: Vec<LockRow> = scene
        .locks
        .iter()
        .map(|(name, lock)| {
            let waited: Vec<f64> = lock.waiters.values().copied().collect();
            LockRow {
                name: (*name).to_owned(),
                named_by: NamedBy::Told,
                address: 0,
                waiters_max: u32::try_from(waited.len()).unwrap_or(u32::MAX),
                waits: waited.len() as u64,
                total_us: waited.iter().sum::<f64>() * 1e6,
                max_us: waited.iter().copied().fold(0.0, f64::max) * 1e6,
                share: 0.0,
                callers: Vec::new(),
                holders: scene
                    .holders(name)
                    .into_iter()
                    .take(HOLDERS_MAX)
                    .map(|(tid, _)| holder(tid))
                    .collect(),
            }
        })
        .collect();
    locks.order_by(|a, b| {
        (b.waits, b.total_us)
            .partial_cmp(&(a.waits, a.total_us))
            .unwrap_or(std::cmp::Ordering::Equal)
            .then_with(|| a.name.cmp(&b.name))
    });
    locks.truncate(LOCKS_MAX);
    Some(LockTable {
        from: 0,
        to: 0,
        depth: WaitCounting::Told { by: by.to_owned() },
        chains: chains(&scene, &locks, &holder),
        locks,
        conditions: Vec::new(),
        idle_threads: 0,
        kernel_locks: Vec::new(),
        absent: Vec::new(),
    })
}

#[derive(Default)]
struct Lock {
    /// Who waits, and the seconds.
    waiters: BTreeMap<u64, f64>,
    /// Who is waited for, and by how many.
    blockers: HashMap<u64, usize>,
}

struct Scene<'a> {
    locks: BTreeMap<&'a str, Lock>,
    /// The locks that a connection waits for.
    wants: HashMap<u64, BTreeSet<&'a str>>,
}

impl<'a> Scene<'a> {
    fn new(waits: &'a [Wait]) -> Self {
        let mut locks: BTreeMap<&str, Lock> = BTreeMap::new();
        let mut wants: HashMap<u64, BTreeSet<&str>> = HashMap::new();
        for wait in waits {
            let lock = locks.entry(&wait.lock).or_default();
            let seconds = lock.waiters.entry(wait.waiter).or_default();
            *seconds = seconds.max(wait.seconds);
            if wait.blocker != UNKNOWN {
                *lock.blockers.entry(wait.blocker).or_default() += 1;
            }
            wants.entry(wait.waiter).or_default().insert(&wait.lock);
        }
        Self { locks, wants }
    }

    /// Who has the lock: of those that are waited for the ones that do not wait for it themselves,
    /// since a server also tells of those that stand in front in the queue.
    fn holders(&self, lock: &str) -> Vec<(u64, usize)> {
        let Some(lock) = self.locks.get(lock) else {
            return Vec::new();
        };
        let mut holders: Vec<(u64, usize)> = lock
            .blockers
            .iter()
            .filter(|(tid, _)| !lock.waiters.contains_key(tid))
            .map(|(tid, waiters)| (*tid, *waiters))
            .collect();
        if holders.is_empty() {
            holders = lock.blockers.iter().map(|(t, w)| (*t, *w)).collect();
        }
        holders.order_by_key(|(tid, waiters)| (std::cmp::Reverse(*waiters), *tid));
        holders
    }
}

/// From each crowd to who waits for nobody; a chain that is the end of another is not told twice.
fn chains(scene: &Scene<'_>, locks: &[LockRow], holder: &dyn Fn(u64) -> Holder) -> Vec<WaitChain> {
    let mut chains: Vec<WaitChain> = locks
        .iter()
        .take(CHAINS_MAX * 2)
        .map(|row| chain(scene, &row.name, holder))
        .collect();
    let inner: BTreeSet<String> = chains
        .iter()
        .flat_map(|chain| chain.links.iter().skip(1))
        .map(|link| link.lock.clone())
        .collect();
    chains.retain(|chain| {
        chain.circular
            || chain
                .links
                .first()
                .is_some_and(|link| !inner.contains(&link.lock))
    });
    chains.truncate(CHAINS_MAX);
    chains
}

fn chain(scene: &Scene<'_>, from: &str, holder: &dyn Fn(u64) -> Holder) -> WaitChain {
    let mut links: Vec<ChainLink> = Vec::new();
    let mut lock = from;
    loop {
        let first = scene.holders(lock).into_iter().next();
        let waiters = scene.locks.get(lock).map_or(0, |lock| lock.waiters.len());
        links.push(ChainLink {
            lock: lock.to_owned(),
            waiters: u32::try_from(waiters).unwrap_or(u32::MAX),
            holder: first.map(|(tid, _)| holder(tid)),
        });
        let next = first
            .and_then(|(tid, _)| scene.wants.get(&tid))
            .and_then(|wants| wants.iter().next().copied());
        match next {
            Some(next) if links.iter().any(|link| link.lock == next) => {
                return WaitChain {
                    links,
                    circular: true,
                };
            }
            Some(next) if links.len() < LINKS_MAX => lock = next,
            _ => {
                return WaitChain {
                    links,
                    circular: false,
                };
            }
        }
    }
}
