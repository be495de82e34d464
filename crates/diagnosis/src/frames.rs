//! The frames of a record against patterns: each name is tested once against each pattern, and each
//! stack with what came out.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use model::{Side, StackBook, StackId};

use crate::names::{NamePattern, Names};

/// Which frames of a book a pattern matches.
struct Matching {
    /// By number of the frame.
    frames: Vec<bool>,
    /// At least one does. Most patterns of a catalogue match nothing in a record, and then no stack
    /// need be looked at.
    any: bool,
}

impl Matching {
    fn get(&self, frame: usize) -> bool {
        self.frames.get(frame).copied().unwrap_or(false)
    }
}

/// The frames of a record.
pub(crate) struct Frames<'a> {
    book: &'a StackBook,
    names: OnceCell<Names<'a>>,
    tested: RefCell<HashMap<String, Rc<Matching>>>,
}

impl<'a> Frames<'a> {
    pub(crate) fn new(book: &'a StackBook) -> Self {
        Self {
            book,
            names: OnceCell::new(),
            tested: RefCell::default(),
        }
    }

    /// For each frame of the book whether its name matches.
    fn matching(&self, pattern: &NamePattern) -> Rc<Matching> {
        let mut tested = self.tested.borrow_mut();
        if let Some(done) = tested.get(pattern.text()) {
            return Rc::clone(done);
        }
        let names = self.names.get_or_init(|| {
            let frames = self.book.frames().iter();
            Names::new(frames.map(|frame| frame.name.as_str()))
        });
        let frames = pattern.matches(names);
        let done = Rc::new(Matching {
            any: frames.contains(&true),
            frames,
        });
        tested.insert(pattern.text().to_owned(), Rc::clone(&done));
        done
    }

    /// Stacks that go through frames that match these patterns, innermost first, with any frames
    /// between them.
    pub(crate) fn path(&self, patterns: &[NamePattern]) -> Path<'a> {
        Path {
            book: self.book,
            steps: patterns
                .iter()
                .map(|pattern| self.matching(pattern))
                .collect(),
            direct: false,
        }
    }

    /// The innermost frame of a stack that matches `pattern` on one side of the system call boundary
    /// and has a caller that matches `under`. With `only_self` it must be the stack's innermost.
    pub(crate) fn innermost(
        &self,
        pattern: &NamePattern,
        under: Option<&NamePattern>,
        side: Option<Side>,
        only_self: bool,
    ) -> Innermost<'a> {
        Innermost {
            book: self.book,
            functions: self.matching(pattern),
            callers: under.map(|under| self.matching(under)),
            side,
            only_self,
        }
    }
}

/// See [`Frames::path`].
pub(crate) struct Path<'a> {
    book: &'a StackBook,
    steps: Vec<Rc<Matching>>,
    direct: bool,
}

impl Path<'_> {
    /// With no frames between those that match: each calls the one before.
    pub(crate) fn direct(self, direct: bool) -> Self {
        Self { direct, ..self }
    }

    /// Each pattern matches some frame: where one does not, no stack goes through them all.
    pub(crate) fn is_possible(&self) -> bool {
        self.steps.iter().all(|matching| matching.any)
    }

    /// Whether this stack goes there.
    pub(crate) fn is_of(&self, stack: StackId) -> bool {
        let frames = &self.book.stack(stack).frames;
        if self.direct {
            return frames.windows(self.steps.len().max(1)).any(|frames| {
                let mut pairs = frames.iter().zip(&self.steps);
                pairs.all(|(frame, matching)| matching.get(frame.0 as usize))
            });
        }
        let mut frames = frames.iter();
        self.steps
            .iter()
            .all(|matching| matching.any && frames.any(|frame| matching.get(frame.0 as usize)))
    }
}

/// See [`Frames::innermost`].
pub(crate) struct Innermost<'a> {
    book: &'a StackBook,
    functions: Rc<Matching>,
    callers: Option<Rc<Matching>>,
    side: Option<Side>,
    only_self: bool,
}

impl<'a> Innermost<'a> {
    /// Some frame of the record matches.
    pub(crate) fn is_possible(&self) -> bool {
        self.functions.any
    }

    /// The name of this stack's frame.
    pub(crate) fn of(&self, stack: StackId) -> Option<&'a str> {
        let frames = &self.book.stack(stack).frames;
        let depth = if self.only_self { 1 } else { frames.len() };
        for (index, id) in frames.iter().enumerate().take(depth) {
            if !self.functions.get(id.0 as usize) {
                continue;
            }
            let Some(frame) = self.book.frame(*id) else {
                continue;
            };
            let this = self.side.is_none_or(|side| frame.side == side)
                && self.callers.as_ref().is_none_or(|callers| {
                    let mut outer = frames.iter().skip(index + 1);
                    outer.any(|caller| callers.get(caller.0 as usize))
                });
            if this {
                return Some(&frame.name);
            }
        }
        None
    }
}
