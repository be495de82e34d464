//! What the functions of a record's stacks mean, by the lexicon.

use std::cell::OnceCell;

use lexicon::{Entry, Kind, Lexicon, Role};
use model::{StackId, StackTable};

/// What the functions of a record mean, each looked up once.
pub(crate) struct Meanings<'b> {
    book: &'b StackTable,
    /// By number of the frame, when it is first asked for.
    of: Vec<OnceCell<Option<&'static Entry>>>,
}

impl<'b> Meanings<'b> {
    pub(crate) fn new(book: &'b StackTable) -> Self {
        let of = vec![OnceCell::new(); book.frames().len()];
        Self { book, of }
    }

    /// The frames of a stack, innermost first.
    pub(crate) fn frames(
        &self,
        stack: StackId,
    ) -> impl Iterator<Item = (&'b str, Option<&'static Entry>)> {
        let frames = self.book.stack(stack).frames.iter();
        frames.filter_map(|id| {
            let name = self.book.frame(*id)?.name.as_str();
            let look = || Lexicon::get().lookup(Kind::Function, name);
            let entry = self.of.get(id.0 as usize).map(|of| *of.get_or_init(look));
            Some((name, entry.flatten()))
        })
    }

    /// Whether a thread idles. The function in which a client's thread begins is where it is parked without a client,
    /// too: what it called tells whether it is.
    pub(crate) fn is_idle(&self, stack: StackId) -> bool {
        let mut known = self.frames(stack).filter_map(|(_, entry)| entry);
        let tells = |entry: &&Entry| entry.role == Role::Idle || !lexicon::is_general(entry.layer);
        known
            .find(tells)
            .is_some_and(|first| first.role == Role::Idle)
    }

    /// Whether a thread waits for a lock or a condition of the program: its innermost function does, whatever it is for.
    pub(crate) fn waits_for_lock(&self, stack: StackId) -> bool {
        let mut known = self.frames(stack).filter_map(|(_, entry)| entry);
        let first = known.next();
        first.is_some_and(|entry| entry.role == Role::Waits && lexicon::is_general(entry.layer))
    }
}
