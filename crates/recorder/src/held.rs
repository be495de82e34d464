//! How many incidents are in memory at once, of all servers that this process records.
//!
//! An incident is a copy of the ring, of some MiB, and lasts until its file is written and its verdict told. Where a switch
//! between the recorder and two hundred servers hangs, all of them stall at one moment; a copy of each, three times within
//! half a minute, would take more than recording does and end the recorder by its limit of memory, in the stall that counts.
//! So there are some places. Who finds none goes on capturing, which costs nothing, and asks again.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

use model::Incident;

/// Places. Verdicts are found one after another, some ten a second.
const PLACES: usize = 8;

/// How many places are taken.
#[derive(Debug)]
struct Taken(AtomicUsize);

/// Of this process.
static TAKEN: Taken = Taken(AtomicUsize::new(0));

/// A place of an incident, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place(&'static Taken);

impl Taken {
    fn one_if_free(&'static self) -> Option<Place> {
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
                (taken < PLACES).then_some(taken + 1)
            });
        taken.is_ok().then(|| Place(self))
    }

    fn one_more(&'static self) -> Place {
        self.0.fetch_add(1, Ordering::Relaxed);
        Place(self)
    }
}

impl Place {
    /// A place if one is free.
    pub(crate) fn take() -> Option<Self> {
        TAKEN.one_if_free()
    }

    /// A place for what cannot wait.
    pub(crate) fn take_anyway() -> Self {
        TAKEN.one_more()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An incident with its place.
#[derive(Debug)]
pub struct HeldIncident {
    incident: Incident,
    _place: Option<Place>,
}

impl HeldIncident {
    pub(crate) fn new(incident: Incident, place: Place) -> Self {
        Self {
            incident,
            _place: Some(place),
        }
    }
}

/// One that is made when nothing is recorded yet, or for a test.
impl From<Incident> for HeldIncident {
    fn from(incident: Incident) -> Self {
        Self {
            incident,
            _place: None,
        }
    }
}

impl Deref for HeldIncident {
    type Target = Incident;

    fn deref(&self) -> &Incident {
        &self.incident
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_so_many_places_and_what_cannot_wait_takes_another() {
        static TAKEN: Taken = Taken(AtomicUsize::new(0));
        let mut places: Vec<Place> = std::iter::from_fn(|| TAKEN.one_if_free()).collect();
        assert_eq!(places.len(), PLACES);
        places.push(TAKEN.one_more());
        places.pop();
        assert!(TAKEN.one_if_free().is_none());
        places.pop();
        assert!(TAKEN.one_if_free().is_some());
        drop(places);
        assert_eq!(TAKEN.0.load(Ordering::Relaxed), 0);
    }
}
