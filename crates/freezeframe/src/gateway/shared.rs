//! What all connections share, and what each may take of it.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::hosts::Hosts;
use super::keeper::Keeper;
use super::state::{State, locked};

/// Connections of one host that bring a batch: a recorder has one, and one that it gave up.
const OF_HOST_MAX: usize = 2;

/// Bytes of all bodies that are read at the moment.
const BODIES_BYTES_MAX: usize = 128 << 20;

/// What all connections share.
pub(super) struct Shared {
    pub(super) salt: Vec<u8>,
    pub(super) hosts: Mutex<Hosts>,
    pub(super) keeper: Keeper,
    pub(super) state: Arc<State>,
    /// One batch at a time is unpacked: that takes the most memory.
    pub(super) unpacking: Mutex<()>,
    /// Those that have shown no token, by their number.
    unknown: Mutex<BTreeMap<u64, TcpStream>>,
    open: AtomicUsize,
    body_bytes: AtomicUsize,
    of_hosts: Mutex<BTreeMap<String, usize>>,
}

impl Shared {
    pub(super) fn new(salt: Vec<u8>, hosts: Hosts, keeper: Keeper, state: Arc<State>) -> Self {
        Self {
            salt,
            hosts: Mutex::new(hosts),
            keeper,
            state,
            unpacking: Mutex::new(()),
            unknown: Mutex::default(),
            open: AtomicUsize::new(0),
            body_bytes: AtomicUsize::new(0),
            of_hosts: Mutex::default(),
        }
    }

    /// How many connections are open.
    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    fn count(&self, more: isize) {
        let more = more.cast_unsigned();
        let before = self.open.fetch_add(more, Ordering::Relaxed);
        let now = before.wrapping_add(more);
        self.state.connections.store(now as u64, Ordering::Relaxed);
    }

    /// Ends the oldest connection that has shown no token; whether there was one.
    pub(super) fn make_room(&self) -> bool {
        // One that is over by itself gives its place by itself.
        while let Some((_, stream)) = locked(&self.unknown).pop_first() {
            if stream.shutdown(Shutdown::Both).is_ok() {
                return true;
            }
        }
        false
    }

    /// A place for a connection that has shown no token, for as long as the answer lives.
    pub(super) fn place(self: &Arc<Self>, number: u64, stream: &TcpStream) -> Place {
        if let Ok(other) = stream.try_clone() {
            locked(&self.unknown).insert(number, other);
        }
        self.count(1);
        Place {
            shared: self.clone(),
            number,
        }
    }

    /// It has shown a token, or is over.
    pub(super) fn forget(&self, number: u64) {
        locked(&self.unknown).remove(&number);
    }

    /// Memory for a body, for as long as the answer lives; none when there is too little.
    pub(super) fn room(&self, bytes: usize) -> Option<Room<'_>> {
        let before = self.body_bytes.fetch_add(bytes, Ordering::Relaxed);
        let room = Room {
            shared: self,
            bytes,
        };
        (before.saturating_add(bytes) <= BODIES_BYTES_MAX).then_some(room)
    }

    /// A place for a batch of this host, for as long as the answer lives; none when it has all of its.
    pub(super) fn of_host(&self, host: &str) -> Option<OfHost<'_>> {
        let mut of_hosts = locked(&self.of_hosts);
        let count = of_hosts.entry(host.to_owned()).or_default();
        if *count >= OF_HOST_MAX {
            return None;
        }
        *count += 1;
        Some(OfHost {
            shared: self,
            host: host.to_owned(),
        })
    }
}

/// A place that a connection has.
pub(super) struct Place {
    pub(super) shared: Arc<Shared>,
    pub(super) number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.forget(self.number);
        self.shared.count(-1);
    }
}

/// Memory that a body takes.
pub(super) struct Room<'a> {
    shared: &'a Shared,
    bytes: usize,
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.shared
            .body_bytes
            .fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A place that a host has.
pub(super) struct OfHost<'a> {
    shared: &'a Shared,
    host: String,
}

impl Drop for OfHost<'_> {
    fn drop(&mut self) {
        let mut of_hosts = locked(&self.shared.of_hosts);
        if let Some(count) = of_hosts.get_mut(&self.host) {
            *count -= 1;
            if *count == 0 {
                of_hosts.remove(&self.host);
            }
        }
    }
}
