//! Regular expressions that are made ready when they are looked for, and can be given up again.
//!
//! Most of them know the letters of all languages, and one that is ready takes hundreds of KiB. A command ends after its
//! work. A recorder that sends to a fleet meets a new name now and then, and runs for months beside a server.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use regex::Regex;

/// Those that are ready.
static READY: Mutex<Vec<&'static Form>> = Mutex::new(Vec::new());

/// A regular expression, ready or not.
pub(super) struct Form(RwLock<Option<Arc<Regex>>>);

impl Form {
    /// One that is not ready.
    pub(super) const fn new() -> Self {
        Self(RwLock::new(None))
    }

    /// Made of this text where it is not ready, always the same of a form; none when the text is no expression.
    pub(super) fn of(&'static self, text: &str) -> Option<Arc<Regex>> {
        self.made_of(|| text.to_owned())
    }

    /// The same with a text that is made when it is needed.
    pub(super) fn made_of(&'static self, text: impl FnOnce() -> String) -> Option<Arc<Regex>> {
        if let Some(ready) = &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            return Some(ready.clone());
        }
        let mut place = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread was as late.
        if let Some(ready) = &*place {
            return Some(ready.clone());
        }
        let ready = Arc::new(Regex::new(&text()).ok()?);
        *place = Some(ready.clone());
        drop(place);
        READY
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(self);
        Some(ready)
    }
}

/// Gives up what was made ready for texts that were searched: for whoever has none for a while. It is made ready again
/// when it is needed.
pub fn forget_forms() {
    let ready = std::mem::take(&mut *READY.lock().unwrap_or_else(PoisonError::into_inner));
    for form in ready {
        *form.0.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_made_once_until_it_is_forgotten() {
        static DIGITS: Form = Form::new();
        static NONE: Form = Form::new();
        let first = DIGITS.of(r"\d+").unwrap();
        let second = DIGITS.made_of(|| unreachable!("it is ready")).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        assert!(NONE.of("(").is_none());
        drop(second);
        forget_forms();
        // Nobody else has it any more.
        assert_eq!(Arc::strong_count(&first), 1);
        let again = DIGITS.of(r"\d+").unwrap();
        assert!(!Arc::ptr_eq(&first, &again));
        assert_eq!(again.find("a 12").unwrap().as_str(), "12");
        forget_forms();
        forget_forms();
        assert_eq!(Arc::strong_count(&again), 1);
    }
}
