//! What screens derive from rows, kept with what it was derived from. A key that moves within a screen, and a screen that
//! is drawn again, are about the same rows: nothing is made of them a second time.
//!
//! **One place.** Whoever derives something dear names it ([`Part`]) and what it depends on besides the rows (the key).
//! Of each the last one is kept. What was read anew is another model, which has nothing yet.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::keys::Screen;

/// What is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// What a screen is: its lines and its table.
    Body(Screen),
    /// All signals against the time before.
    Departures,
    /// The samples of a moment.
    Samples,
    /// The tree of the flame graph.
    Flame,
    /// The sessions of a moment.
    Sessions,
    /// Those of the time before.
    SessionsBefore,
}

/// A value with the key that it was made for.
#[derive(Debug)]
struct Kept {
    key: Box<dyn Any + Send>,
    value: Arc<dyn Any + Send + Sync>,
}

/// What was derived from a model.
#[derive(Debug, Default)]
pub(crate) struct Derived {
    kept: Mutex<HashMap<Part, Kept>>,
    made: AtomicUsize,
}

/// A copy of a model may be changed: it derives anew.
impl Clone for Derived {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Derived {
    /// What `make` makes; made again where the key is another one.
    pub(crate) fn of<K, T>(&self, part: Part, key: K, make: impl FnOnce() -> T) -> Arc<T>
    where
        K: PartialEq + Send + 'static,
        T: Send + Sync + 'static,
    {
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept().get(&part)
            && known.key.downcast_ref::<K>() == Some(&key)
            && let Ok(value) = known.value.clone().downcast()
        {
            return value;
        }
        // Not under the lock: what is made may be made of other parts.
        let value = Arc::new(make());
        self.made.fetch_add(1, Ordering::Relaxed);
        let known = Kept {
            key: Box::new(key),
            value: value.clone(),
        };
        kept().insert(part, known);
        value
    }

    /// How often something was made.
    pub(crate) fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_once_for_its_key() {
        let derived = Derived::default();
        let of = |part, key: u64| *derived.of(part, key, || derived.made());
        assert_eq!(of(Part::Samples, 7), 0);
        assert_eq!(of(Part::Flame, 7), 1);
        assert_eq!(of(Part::Samples, 7), 0);
        assert_eq!(of(Part::Samples, 8), 2);
        assert_eq!(of(Part::Samples, 7), 3);
        assert_eq!(derived.made(), 4);
        assert_eq!(derived.clone().made(), 0);
    }
}
