//! How often each connection asked a class.

use std::collections::HashMap;

use super::names::Folding;

/// Pairs of a class and a connection that are counted; further ones are left out.
const PAIRS_MAX: usize = 100_000;

/// Bytes that one takes, with the room that a table leaves free.
const PAIR_BYTES: usize = 32;

/// Bits of a pair that are the connection's; classes are fewer than the others can tell.
const CONNECTION_BITS: u32 = 40;

/// Counts by [`pair_of`].
#[derive(Debug, Default)]
pub(super) struct Connections(HashMap<u64, u64, Folding>);

impl Connections {
    pub(super) fn count(&mut self, place: usize, connection: u64, count: u64, room: &mut usize) {
        let pair = pair_of(place, connection);
        if let Some(known) = self.0.get_mut(&pair) {
            *known += count;
        } else if self.0.len() < PAIRS_MAX && *room >= PAIR_BYTES {
            *room -= PAIR_BYTES;
            self.0.insert(pair, count);
        }
    }

    /// Adds what another counted, whose classes have these places here.
    pub(super) fn merge(&mut self, other: Self, places: &[Option<usize>], room: &mut usize) {
        for (pair, count) in other.0 {
            if let Some(place) = places.get(place_in(pair)).copied().flatten() {
                self.count(place, connection_in(pair), count, room);
            }
        }
    }

    /// The places of classes, each as often as connections asked it, with how often they did.
    pub(super) fn take(&mut self) -> impl Iterator<Item = (usize, u64)> + use<> {
        let counts = std::mem::take(&mut self.0);
        counts
            .into_iter()
            .map(|(pair, count)| (place_in(pair), count))
    }
}

/// A class's place and a connection as one number. Servers number connections with 32 bits, decoders from zero on.
fn pair_of(place: usize, connection: u64) -> u64 {
    (place as u64) << CONNECTION_BITS | connection_in(connection)
}

fn place_in(pair: u64) -> usize {
    (pair >> CONNECTION_BITS) as usize
}

fn connection_in(pair: u64) -> u64 {
    pair & ((1 << CONNECTION_BITS) - 1)
}
