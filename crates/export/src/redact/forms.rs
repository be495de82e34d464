//! Regular expressions that are made ready when they are looked for, and can be given up again.
//!
//! One that knows the letters of all languages takes hundreds of KiB when it is ready. A command ends after its work. A
//! recorder that sends to a fleet meets a new name now and then, and runs for months beside a server: so each is made in
//! two ways. In a text of ASCII alone both find the same, and the one that knows no other letters takes a tenth.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use regex::bytes::{Captures, Regex, RegexBuilder};

/// Those that are ready.
static READY: Mutex<Vec<&'static Form>> = Mutex::new(Vec::new());

/// One way in which a form is made, ready or not.
type Made = RwLock<Option<Arc<Regex>>>;

/// A regular expression, ready or not.
pub(super) struct Form {
    /// For texts of ASCII alone.
    ascii: Made,
    /// For all others.
    any: Made,
}

impl Form {
    /// One that is not ready.
    pub(super) const fn new() -> Self {
        Self {
            ascii: RwLock::new(None),
            any: RwLock::new(None),
        }
    }

    /// This form, always the same of one place, to be looked for in a text; none when it is no expression.
    pub(super) fn on<'t>(&'static self, form: &str, text: &'t str) -> Option<Search<'t>> {
        self.made_on(|| form.to_owned(), text)
    }

    /// The same with a form that is written when it is needed.
    pub(super) fn made_on<'t>(
        &'static self,
        form: impl FnOnce() -> String,
        text: &'t str,
    ) -> Option<Search<'t>> {
        let is_ascii = knows_ascii_only(text);
        let made = match is_ascii {
            true => &self.ascii,
            false => &self.any,
        };
        if let Some(ready) = &*made.read().unwrap_or_else(PoisonError::into_inner) {
            return Some(Search {
                form: ready.clone(),
                text,
            });
        }
        let mut place = made.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread was as late.
        if let Some(ready) = &*place {
            return Some(Search {
                form: ready.clone(),
                text,
            });
        }
        let ready = Arc::new(compiled(&form(), is_ascii)?);
        *place = Some(ready.clone());
        drop(place);
        READY
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(self);
        Some(Search { form: ready, text })
    }
}

/// A form that knows the letters of ASCII or of all languages; none when it is no expression.
fn compiled(form: &str, is_ascii: bool) -> Option<Regex> {
    RegexBuilder::new(form).unicode(!is_ascii).build().ok()
}

/// Whether the smaller form finds in a text what the larger one does.
fn knows_ascii_only(text: &str) -> bool {
    #[cfg(test)]
    if both::is_large() {
        return false;
    }
    text.is_ascii()
}

/// Gives up what was made ready for texts that were searched: for whoever has none for a while. It is made ready again
/// when it is needed.
pub fn forget_forms() {
    let ready = std::mem::take(&mut *READY.lock().unwrap_or_else(PoisonError::into_inner));
    for form in ready {
        for made in [&form.ascii, &form.any] {
            *made.write().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

/// A form and the text that it is looked for in, and in no other: it may not know the letters of that.
pub(super) struct Search<'t> {
    form: Arc<Regex>,
    text: &'t str,
}

impl<'t> Search<'t> {
    /// Whether it is in the text.
    pub(super) fn is_match(&self) -> bool {
        self.form.is_match(self.text.as_bytes())
    }

    /// The first in the text.
    pub(super) fn find(&self) -> Option<Part<'t>> {
        let found = self.form.find(self.text.as_bytes())?;
        Some(Part {
            text: self.text,
            range: found.range(),
        })
    }

    /// The first in the text, with its groups.
    pub(super) fn captures(&self) -> Option<Found<'t>> {
        self.captures_at(0)
    }

    /// The first from this byte on, which is not behind the end of the text; what stands before it still counts as such.
    pub(super) fn captures_at(&self, at: usize) -> Option<Found<'t>> {
        let groups = self.form.captures_at(self.text.as_bytes(), at)?;
        Some(Found {
            groups,
            text: self.text,
        })
    }

    /// All in the text, one behind the other.
    pub(super) fn all(&self) -> impl Iterator<Item = Found<'t>> {
        let text = self.text;
        let all = self.form.captures_iter(text.as_bytes());
        all.map(move |groups| Found { groups, text })
    }
}

/// What was found, in its groups.
pub(super) struct Found<'t> {
    groups: Captures<'t>,
    text: &'t str,
}

impl<'t> Found<'t> {
    /// The group of this number; 0 is the whole.
    pub(super) fn get(&self, number: usize) -> Option<Part<'t>> {
        let group = self.groups.get(number)?;
        Some(self.part(group.range()))
    }

    /// The group of this name.
    pub(super) fn name(&self, name: &str) -> Option<Part<'t>> {
        let group = self.groups.name(name)?;
        Some(self.part(group.range()))
    }

    fn part(&self, range: Range<usize>) -> Part<'t> {
        Part {
            text: self.text,
            range,
        }
    }
}

/// A part of a text.
pub(super) struct Part<'t> {
    text: &'t str,
    range: Range<usize>,
}

impl<'t> Part<'t> {
    pub(super) fn as_str(&self) -> &'t str {
        self.text.get(self.range()).unwrap_or_default()
    }

    pub(super) fn start(&self) -> usize {
        self.range.start
    }

    pub(super) fn end(&self) -> usize {
        self.range.end
    }

    pub(super) fn range(&self) -> Range<usize> {
        self.range.clone()
    }
}

/// Both ways in which a form is made, for tests that hold one against the other.
#[cfg(test)]
pub(super) mod both {
    use std::cell::Cell;

    thread_local! {
        static LARGE: Cell<bool> = const { Cell::new(false) };
    }

    /// Whether this thread is within [`with_large_forms`].
    pub(super) fn is_large() -> bool {
        LARGE.get()
    }

    /// What comes of it when each form knows the letters of all languages, as for a text that has some of them.
    pub(in super::super) fn with_large_forms<T>(run: impl FnOnce() -> T) -> T {
        LARGE.set(true);
        let made = run();
        LARGE.set(false);
        made
    }

    /// Whether a form can be made in both ways.
    pub(in super::super) fn can_be_made(form: &str) -> bool {
        [true, false]
            .iter()
            .all(|is_ascii| super::compiled(form, *is_ascii).is_some())
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
        let first = DIGITS.on(r"\d+", "a 12").unwrap();
        let second = DIGITS
            .made_on(|| unreachable!("it is ready"), "34")
            .unwrap();
        assert!(Arc::ptr_eq(&first.form, &second.form));
        assert!(NONE.on("(", "a").is_none() && NONE.on("(", "é").is_none());
        drop(second);
        forget_forms();
        // Nobody else has it any more.
        assert_eq!(Arc::strong_count(&first.form), 1);
        let again = DIGITS.on(r"\d+", "a 12").unwrap();
        assert!(!Arc::ptr_eq(&first.form, &again.form));
        assert_eq!(again.find().unwrap().as_str(), "12");
        forget_forms();
        forget_forms();
        assert_eq!(Arc::strong_count(&again.form), 1);
    }

    #[test]
    fn a_text_with_other_letters_has_a_form_that_knows_them() {
        static WORDS: Form = Form::new();
        let found = |text| -> Vec<(usize, &str)> {
            let all = WORDS.on(r"(?P<it>\b\w+)!", text).unwrap();
            let words = all.all().map(|found| {
                let it = found.name("it").unwrap();
                assert_eq!(found.get(0).unwrap().start(), it.start());
                assert_eq!(it.range(), it.start()..it.end());
                (it.start(), it.as_str())
            });
            words.collect()
        };
        assert_eq!(
            found("über! 東京! ab!"),
            [(0, "über"), (7, "東京"), (15, "ab")]
        );
        assert_eq!(found("uber! - ab!"), [(0, "uber"), (8, "ab")]);
        assert!(
            WORDS
                .on(r"(?P<it>\b\w+)!", "ü")
                .unwrap()
                .captures_at(2)
                .is_none()
        );
    }
}
